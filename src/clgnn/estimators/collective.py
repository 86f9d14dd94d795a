"""The two estimators of collective learning: CollectiveClassifier and CollectiveRegressor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from torch import Tensor

from clgnn.estimators.labelling import Classes, Labelling, Numbers
from clgnn.estimators.recursion import Collective
from clgnn.estimators.settings import preset


@dataclass(repr=False, eq=False)
class CollectiveClassifier(Collective):
    """Boosts a GNN by collective learning, to classify the nodes of partially labelled graphs.

    Iteration 0 is the plain GNN, on the features alone. Iteration 1 goes on from its weights, with labels
    drawn from its predictions next to the features, averaged over K draws; iteration t = 2..T with labels
    drawn from the predictions of iteration t-1. Prediction replays the iterations, on any graph. Validation
    chooses which of them predicts: where predicted labels do not help, it is the plain GNN.

    Args:
        gnn: the component GNN: ``"gcn"``, ``"sage"``, ``"snowball"`` (``"tk"`` in the paper),
            ``"krylov"``, ``"gin"``, ``"nip"`` or ``"column"``; any ``torch.nn.Module`` that is called as
            ``gnn(x, edge_index)`` and gives one row per node (its input channels are the features plus one
            column per class); or a factory ``(in_channels, out_channels) -> Module``.
        num_samples: K, the label draws that are averaged.
        num_iterations: T; 0 is the plain GNN, trained by the same loop. With another start than the GNN's
            own, 0 is that start alone.
        start: where the first predicted labels come from. ``"plain"``: the plain GNN. ``"paper"``: iteration
            0 has label columns, which show nothing yet, and all iterations have ``max_epochs``. The name of a
            rival (``"pl_em"``, ``"gmnn"``, ``"ica"``, ..), an estimator of nodes, or a classifier of
            scikit-learn on each node's columns: fitted on the training labels, it gives the first
            predictions, and is kept with the model (a classifier of scikit-learn as its parameters and its
            training rows). A list of these: their mean. ``"auto"``: validation chooses among the plain GNN,
            PL-EM, GMNN, the mean of these three, and boosted trees on each node's columns. ``"given"``: the
            probabilities ``[N, C]`` that each graph has as ``data.start_proba``.
        num_masks: J, the masks that a prediction on a partially labelled graph is averaged over, with K
            samples for each. None, the default, gives each of the K samples a mask of its own.
        labels: what stands in for unknown labels in the input: ``"sampled"`` predictions, the ``"soft"``
            probabilities, ``"uniform"`` random labels, or nothing (``"observed"``: true labels only).
        test_labels: ``"none"`` if the graphs you will predict on have no labels, ``"partial"`` if they have
            some, which are then shown to the model; in training a random part of the labels is shown, and
            the others are learned.
        shown_share: the part of the labels that a mask shows, for ``test_labels="partial"``.
        inference_masks: ``"sampled"``, or ``"all"`` for one mask that shows every observed label.
        sampling: ``"systematic"`` draws (less variance) or ``"iid"`` ones (the paper's).
        hidden_channels, num_layers, dropout: of the GNN, if it is given by name; ``hidden_channels`` also is
            the ``out_channels`` that a factory gets. ``num_layers=None`` is 2, 4 for a
            column network, and 10 for Snowball and Krylov.
        lr, weight_decay, optimizer: of the optimiser, ``"adam"``, ``"adamw"`` or ``"rmsprop"``; or your own,
            a function ``(parameters) -> optimizer``, which then has its own rate.
        scheduler: a function ``(optimizer) -> scheduler`` of learning rates, as ``torch.optim.lr_scheduler``
            has them, for each iteration; it steps after every epoch.
        loss: a function ``(outputs [n, C], labels [n]) -> loss`` in place of the cross-entropy.
        max_epochs: gradient steps of the plain GNN, at most.
        patience: its training ends after so many epochs without a better validation metric.
        iteration_epochs, iteration_patience: those of each iteration with predicted labels, which goes on
            from trained weights; a quarter of the plain GNN's by default.
        eval_every: how often validation looks, in epochs; the others are faster without it.
        max_grad_norm: gradients are clipped to this norm.
        carry_weights: whether an iteration starts from the weights of the one before it, or anew.
        keep_best: whether the iteration with the best validation metric predicts, or always the last (the
            paper's). Within an iteration, validation chooses the epoch anyway.
        caution: with ``keep_best``, that iteration predicts if it is better than the start by more than so
            many standard errors of their difference; else the start does. With 0 it just has to be better,
            and so with a metric that can't be had of a part of the validation nodes.
        calibrate: whether the probabilities are calibrated on the validation labels, by a temperature and a
            share of doubt. No predicted class changes. Without validation nothing is calibrated.
        learn_observed: whether the ``observed_mask`` of ``fit`` is learned from as well. On one partly
            labelled graph, where all known labels may be learned from, this is the most accurate.
        metric: what validation maximises: ``"accuracy"`` (the default), ``"balanced_accuracy"``,
            ``"macro_f1"``; or minimises: ``"log_loss"``, ``"brier"``, ``"calibration_error"``.
        propagation: ``"auto"`` gives a PyG module a sparse adjacency matrix in place of ``edge_index``, which
            is faster, if its layers take one and give the same with it; ``"edge_index"`` never does.
        memory_budget: GiB that the samples may keep for a gradient step; None for no limit. Samples that do
            not fit run in chunks, which takes more time. Without dropout and batch normalisation the result
            is the same. With dropout, chunks drop other elements than one pass does, and batch normalisation
            is over each chunk: another budget then is like another seed. The same budget and the same seed
            give the same bits, however much memory is free.
        precision: ``"bfloat16"`` runs the GNN under ``torch.autocast``, which takes less time on machines
            that multiply such numbers faster. Weights and results stay float32, and so do predictions of a
            ``StoredGraph`` in a stream.
        device: ``"auto"`` takes a GPU if there is one.
        seed: the same seed gives the same model on the same machine.
        class_weight: None, ``"balanced"``, or a dict with one weight for each class, in the loss.

    Attributes:
        classes_: the classes, ``[C]``.
        components_: Θ_0, .., Θ_T.
        best_iteration_: the last of them that prediction uses.
        stage_scores_: the validation metric of the start and of each iteration; ``stage_errors_`` is the
            standard error of its difference to the start.
        starts_: the fitted estimators, other than the GNN itself, whose mean the recursion starts from;
            ``starts_with_plain_`` says whether the plain GNN is in that mean.
        temperature_: by which the outputs are divided to calibrate them; 1 without validation.
        doubt_: the weight of the uniform distribution in the calibrated probabilities; 0 without validation.
        best_score_: the validation metric of that iteration; None without validation.
        history_: one row for each epoch of each iteration.
        n_features_in_: the columns of x.

    References:
        Hang, Neville and Ribeiro: A Collective Learning Framework to Boost GNN Expressiveness, 2020.

    Example:
        >>> from clgnn import CollectiveClassifier, datasets, splits
        >>> data = datasets.load("citations", num_nodes=300)
        >>> split = splits.connected(data, train_labels=40, test_nodes=100, val_nodes=100)
        >>> model = CollectiveClassifier(num_iterations=1, max_epochs=20)
        >>> model = model.fit(data, split.train_mask, split.val_mask)
        >>> model.predict_proba(data).shape
        torch.Size([300, 5])
    """

    class_weight: Any = None

    @classmethod
    def preset(cls, name: str, **settings: Any) -> Self:
        """An estimator with settings that belong together; ``"paper"`` has all as the paper has it.

        Example:
            >>> CollectiveClassifier.preset("paper", gnn="sage").start
            'paper'
        """
        return cls(**{**preset(name, settings.get("test_labels", cls.test_labels)), **settings})

    def _learn_labels(self, y: Tensor) -> Labelling:
        return Classes.learn(y, self.class_weight)


@dataclass(repr=False, eq=False)
class CollectiveRegressor(Collective):
    """Boosts a GNN by collective learning, to predict a number for the nodes of partially labelled graphs.

    As :class:`CollectiveClassifier`, with a Gaussian in place of the Categorical: the head gives a mean and a
    standard deviation for each node, predictions are drawn from them, and labels enter as one standardised
    column. ``y`` is real, NaN where unknown; the parameters are the same, without ``class_weight``, and
    ``metric`` is ``"rmse"`` (the default), ``"mae"``, ``"r2"`` or ``"log_loss"``.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> line = torch.arange(29)
        >>> data = Data(x=torch.rand(30, 2), edge_index=torch.stack([line, line + 1]), y=torch.rand(30))
        >>> model = CollectiveRegressor(num_iterations=1, max_epochs=5).fit(data, train_mask=range(20))
        >>> model.predict(data).shape, model.predict_proba(data).shape
        (torch.Size([30]), torch.Size([30, 2]))
    """

    _labelling: ClassVar[Any] = Numbers
