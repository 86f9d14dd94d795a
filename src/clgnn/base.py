"""What both estimators do: fit, adapt, predict_proba, uncertainty, evaluate, save, load."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn
from torch_geometric.data import Data

from clgnn import persistence
from clgnn.collective.inference import infer, infer_samples, stages
from clgnn.collective.learning import Epoch, Schedule, Validation, learn
from clgnn.collective.masking import choose_mask, draw_mask
from clgnn.collective.sampling import LabelInput
from clgnn.component import GNN, Component, Propagation, build
from clgnn.graph import Graph, Graphs, Mask, as_graph, as_mask, known, labels_to_learn, visible_labels
from clgnn.labelling import Labelling, measure
from clgnn.metrics import LOWER_IS_BETTER

Nodes: TypeAlias = Tensor | list[Tensor]
"""A row for each node; a list of them when a list of graphs was given."""

_OPTIMIZERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "rmsprop": torch.optim.RMSprop}

CHOICES = {
    "labels": ("sampled", "soft", "uniform", "observed"),
    "test_labels": ("none", "partial"),
    "inference_masks": ("sampled", "all"),
    "sampling": ("systematic", "iid"),
    "optimizer": tuple(_OPTIMIZERS),
    "propagation": ("auto", "edge_index"),
}
# name: (what is expected, whether it is)
_RANGES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "num_samples": ("an integer, 1 or more", lambda v: isinstance(v, int) and v >= 1),
    "num_iterations": ("an integer, 0 (the plain GNN) or more", lambda v: isinstance(v, int) and v >= 0),
    "num_masks": ("an integer, 1 or more", lambda v: isinstance(v, int) and v >= 1),
    "shown_share": ("a number from 0 to 1", lambda v: 0 <= v <= 1),
    "hidden_channels": ("an integer, 1 or more", lambda v: isinstance(v, int) and v >= 1),
    "num_layers": ("None or an integer, 1 or more", lambda v: v is None or (isinstance(v, int) and v >= 1)),
    "dropout": ("a number from 0 to below 1", lambda v: 0 <= v < 1),
    "lr": ("a number above 0", lambda v: v > 0),
    "weight_decay": ("a number, 0 or more", lambda v: v >= 0),
    "max_epochs": ("an integer, 1 or more", lambda v: isinstance(v, int) and v >= 1),
    "patience": ("an integer, 1 or more", lambda v: isinstance(v, int) and v >= 1),
    "eval_every": ("an integer, 1 or more", lambda v: isinstance(v, int) and v >= 1),
    "max_grad_norm": ("a number above 0", lambda v: v > 0),
    "memory_budget": ("None or a number of GiB above 0", lambda v: v is None or v > 0),
    "seed": ("an integer, 0 or more", lambda v: isinstance(v, int) and v >= 0),
}


@dataclass(repr=False, eq=False)
class Collective(BaseEstimator):  # type: ignore[misc]
    """The parameters are explained in :class:`clgnn.CollectiveClassifier`."""

    gnn: GNN = "gcn"
    num_samples: int = 10
    num_iterations: int = 3
    num_masks: int = 10
    labels: Literal["sampled", "soft", "uniform", "observed"] = "sampled"
    test_labels: Literal["none", "partial"] = "none"
    shown_share: float = 0.5
    inference_masks: Literal["sampled", "all"] = "sampled"
    sampling: Literal["systematic", "iid"] = "systematic"
    hidden_channels: int = 16
    num_layers: int | None = None
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 5e-4
    optimizer: Literal["adam", "adamw", "rmsprop"] = "adam"
    max_epochs: int = 500
    patience: int = 100
    eval_every: int = 1
    max_grad_norm: float = 5.0
    carry_weights: bool = True
    keep_best: bool = True
    metric: str | None = None
    propagation: Propagation = "auto"
    memory_budget: float | None = None
    device: str = "auto"
    seed: int = 0

    _default_metric: ClassVar[str]
    _metrics: ClassVar[Iterable[str]]

    @abstractmethod
    def _learn_labels(self, y: Tensor) -> Labelling:
        """What the labels are, from the training labels ``[N]``."""

    @abstractmethod
    def predict(self, data: Graphs, observed_mask: Mask | None = None) -> Nodes:
        """One label a node."""

    # Learning

    def fit(
        self,
        data: Graphs,
        train_mask: Mask,
        val_mask: Mask | None = None,
        *,
        observed_mask: Mask | None = None,
        masks: Any = None,
        checkpoint: str | PathLike[str] | None = None,
        on_epoch: Callable[[Epoch], Any] = lambda epoch: None,
    ) -> Self:
        """Learns Θ_0, .., Θ_T.

        Args:
            data: a graph or a list of graphs; labels outside of the masks are never looked at.
            train_mask: the labels to learn from: a bool mask ``[N]`` or node indices (a list of them for a
                list of graphs).
            val_mask: the labels that choose the best epoch of each iteration; they are never input.
                Without them, the last epoch is kept.
            observed_mask: the labels that are shown while validating, when ``test_labels="partial"``; those
                of ``train_mask`` if not given. Validation graphs of their own have labels of their own.
            masks: a set of masks, bool ``[J, N]``, to draw from in place of random ones.
            checkpoint: a folder that each finished iteration is written to. If it holds iterations of the
                same fit, which was interrupted, it goes on after them and ends with the same result.
            on_epoch: called with each :class:`~clgnn.collective.learning.Epoch`.

        Returns:
            self
        """
        self._check_parameters()
        graph = as_graph(data, self._device())
        train = as_mask(train_mask, data, "train_mask")
        visible = labels_to_learn(data, train)
        self.labelling_: Labelling = self._learn_labels(visible)
        self.n_features_in_: int = graph.x.size(1)
        y = self.labelling_.encode(visible, "train_mask").to(graph.x.device)
        validation = self._validation(data, train, val_mask, observed_mask, graph)

        def start(before: Sequence[Component]) -> Component:
            return copy.deepcopy(before[-1]) if before and self.carry_weights else self._build(graph)

        finished: list[Component] = []
        epochs: list[Epoch] = []
        key = ""
        if checkpoint is not None:
            others = {"val_mask": val_mask, "observed_mask": observed_mask}
            seen = [
                None if m is None else visible_labels(data, as_mask(m, data, n)) for n, m in others.items()
            ]
            given = None if masks is None else torch.as_tensor(masks)
            inputs = (graph.x, graph.edge_index, graph.edge_weight, y, *seen, given)
            key = persistence.fingerprint(self.get_params(deep=False), inputs)
            finished, epochs = persistence.resume(checkpoint, key, partial(self._build, graph))
        iterations = learn(
            graph,
            y,
            self._label_input(),
            self.num_iterations,
            start,
            self._schedule(),
            self._mask_drawer(y, masks),
            validation,
            self.seed,
            list(finished),
            on_epoch,
        )
        for iteration in iterations:
            finished.append(iteration.component)
            epochs += iteration.epochs
            if checkpoint is not None:
                persistence.checkpoint(checkpoint, key, finished, epochs)
        self.components_: list[Component] = finished
        self.history_: pd.DataFrame = self._history(epochs)
        return self

    def adapt(
        self,
        data: Graphs,
        observed_mask: Mask,
        val_mask: Mask | None = None,
        *,
        on_epoch: Callable[[Epoch], Any] = lambda epoch: None,
    ) -> Self:
        """Goes on training, on a new graph's known labels, from the weights that were learned.

        The objective is that of ``fit``: labels that the mask of a step hides are its targets. Known labels
        are worth more as targets than as input alone, so this is what to do where one may train on the
        graph to predict.

        Args:
            data: a graph or a list of graphs, with the features of the training graph.
            observed_mask: its labels that may be seen.
            val_mask: labels that choose the best epoch of each iteration; without them the last is kept.
            on_epoch: called with each :class:`~clgnn.collective.learning.Epoch`.

        Returns:
            self
        """
        self._check_parameters()
        graph = self._known_graph(data)
        observed = as_mask(observed_mask, data, "observed_mask")
        y = self.labelling_.encode(visible_labels(data, observed), "observed_mask").to(graph.x.device)
        if not bool(known(y).any()):
            raise ValueError("none of the nodes of observed_mask has a label; there is nothing to adapt to")
        learned = self.components_
        iterations = learn(
            graph,
            y,
            self._label_input(),
            self.num_iterations,
            lambda before: copy.deepcopy(learned[len(before)]),
            self._schedule(),
            self._mask_drawer(y, None),
            self._validation(data, observed, val_mask, None, graph),
            self.seed,
            on_epoch=on_epoch,
        )
        adapted = list(iterations)
        self.components_ = [iteration.component for iteration in adapted]
        self.history_ = self._history([epoch for iteration in adapted for epoch in iteration.epochs])
        return self

    # Prediction

    def predict_proba(self, data: Graphs, observed_mask: Mask | None = None) -> Nodes:
        """The label distribution of each node, by the recursion on any graph (equation 5).

        Args:
            data: a graph or a list of graphs, of any size.
            observed_mask: the labels that may be seen, when ``test_labels="partial"``; none are if it is
                not given. What is predicted for an observed node is the model's word too, not its label.

        Returns:
            For a classifier the probabilities ``[N, C]``, in the order of ``classes_``; for a regressor the
            means and standard deviations ``[N, 2]``. A list of them for a list of graphs.
        """
        outputs = self._infer(infer, data, observed_mask).cpu()
        return by_graph(self.labelling_.decode(outputs), data)

    def staged_predict_proba(self, data: Graphs, observed_mask: Mask | None = None) -> Iterator[Nodes]:
        """The predictions of each of the iterations 0, .., T; that of ``best_iteration_`` is the result."""
        for outputs in self._infer(stages, data, observed_mask):
            yield by_graph(self.labelling_.decode(outputs.cpu()), data)

    def uncertainty(self, data: Graphs, observed_mask: Mask | None = None) -> Nodes:
        """How much the samples differ, one number a node.

        The standard deviation, over the K samples and J masks of the last iteration, of the probability of
        the predicted class (of the mean, in regression), ``[N]``. It is 0 where nothing is drawn: for the
        plain GNN, where iteration 0 predicts, and for soft labels.
        """
        samples = self._infer(infer_samples, data, observed_mask).cpu()
        return by_graph(self.labelling_.spread(samples), data)

    def evaluate(self, data: Graphs, mask: Mask, observed_mask: Mask | None = None) -> dict[str, float]:
        """All metrics on the nodes of the mask, none of which may be an observed one."""
        chosen = as_mask(mask, data, "mask")
        if observed_mask is not None:
            _disjoint(chosen, as_mask(observed_mask, data, "observed_mask"), "mask", "observed_mask")
        outputs = self._infer(infer, data, observed_mask).cpu()
        y = self.labelling_.encode(visible_labels(data, chosen), "mask")
        judged = known(y)
        if not bool(judged.any()):
            raise ValueError("none of the nodes of mask has a label; there is nothing to evaluate")
        names = self.labelling_.metrics
        return {name: measure(self.labelling_, name, y[judged], outputs[judged]) for name in names}

    def score(
        self, data: Graphs, mask: Mask, observed_mask: Mask | None = None, metric: str | None = None
    ) -> float:
        """One metric on the nodes of the mask, by default the one that chooses the epochs."""
        chosen = self.metric or self._default_metric if metric is None else metric
        values = self.evaluate(data, mask, observed_mask)
        if chosen not in values:
            raise ValueError(f"metric is {chosen!r}; expected one of {', '.join(values)}")
        return values[chosen]

    # Persistence

    def save(self, path: str | PathLike[str], force: bool = False) -> None:
        """Writes the model to a new folder: weights as safetensors, the rest as JSON.

        Args:
            path: the folder.
            force: replaces a model that is there.

        Raises:
            FileExistsError: if the folder exists and ``force`` is not set.
        """
        self._check_fitted()
        persistence.save(self, path, force)

    @classmethod
    def load(cls, path: str | PathLike[str], gnn: GNN | None = None) -> Self:
        """Reads a model from its folder.

        Args:
            path: where :meth:`save` wrote it.
            gnn: the module or factory that it was fitted with, if that was not one of ours: code is never
                taken from a folder.
        """
        return persistence.load(cls, path, gnn)

    @abstractmethod
    def _restore_labels(self, learned: dict[str, Any]) -> Labelling:
        """What :meth:`_learn_labels` gave, from its fields."""

    def _restore(self, learned: dict[str, Any], num_features: int, history: dict[str, list[Any]]) -> None:
        self.labelling_ = self._restore_labels(learned)
        self.n_features_in_ = int(num_features)
        self.history_ = pd.DataFrame(history)

    def _blank(self) -> Component:
        """A component of the right shape, whose weights are yet to be read."""
        x, no_edges = torch.zeros(1, self.n_features_in_), torch.empty(2, 0, dtype=torch.long)
        return self._build(Graph(x, no_edges, None, (1,)))

    # Helpers

    def _device(self) -> torch.device:
        if self.device != "auto":
            return torch.device(self.device)
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def _build(self, graph: Graph) -> Component:
        label_input = self._label_input()
        component = build(
            self.gnn,
            graph.x,
            graph.edge_index,
            label_input.columns,
            label_input.family.outputs,
            self.hidden_channels,
            self.num_layers,
            self.dropout,
        ).to(graph.x.device)
        component.propagation = self.propagation
        component.memory_budget = None if self.memory_budget is None else self.memory_budget * 2**30
        if graph.edge_weight is not None and not component.takes_edge_weight:
            name = type(component.gnn).__name__
            warnings.warn(f"{name} takes no edge_weight: the graph's are not used", stacklevel=4)
        return component

    def _label_input(self) -> LabelInput:
        kind = "none" if self.num_iterations == 0 else self.labels
        return LabelInput(self.labelling_.family, kind, self.num_samples, self.sampling)

    def _schedule(self) -> Schedule:
        optimizer = partial(_OPTIMIZERS[self.optimizer], lr=self.lr, weight_decay=self.weight_decay)
        return Schedule(self.max_epochs, self.patience, optimizer, self.max_grad_norm, self.eval_every)

    def _sees_labels(self) -> bool:
        return self.test_labels == "partial" and self.num_iterations > 0

    def _mask_drawer(self, y: Tensor, masks: Any) -> Callable[[torch.Generator], Tensor] | None:
        """What draws the mask of a gradient step; None for M = 0."""
        if not self._sees_labels():
            return None
        observed = known(y)
        if masks is None:
            return partial(draw_mask, observed, self.shown_share)
        given = torch.as_tensor(masks).to(y.device)
        if given.dtype != torch.bool or given.dim() != 2 or given.size(1) != len(y) or not len(given):
            raise ValueError(f"masks is {given.dtype} {tuple(given.shape)}; expected bool [J, {len(y)}]")
        if bool((observed & ~given).sum(dim=1).eq(0).any()):
            raise ValueError("a mask shows every training label; each must hide one at least, as the target")
        return partial(choose_mask, given, observed)

    def _validation(
        self, data: Graphs, train: Tensor, val_mask: Mask | None, observed_mask: Mask | None, graph: Graph
    ) -> Validation | None:
        if val_mask is None:
            return None
        metric = self.metric or self._default_metric
        val = as_mask(val_mask, data, "val_mask")
        observed = train if observed_mask is None else as_mask(observed_mask, data, "observed_mask")
        _disjoint(train, val, "train_mask", "val_mask")
        _disjoint(observed, val, "observed_mask", "val_mask")
        y_val = self.labelling_.encode(visible_labels(data, val), "val_mask").to(graph.x.device)
        judged = known(y_val)
        if not bool(judged.any()):
            raise ValueError("none of the nodes of val_mask has a label; leave it out, or choose others")
        y = self.labelling_.encode(visible_labels(data, observed), "observed_mask").to(graph.x.device)
        shown = known(y) if self._sees_labels() else torch.zeros_like(judged)
        family = self.labelling_.family

        truth = y_val[judged]

        def score(outputs: Tensor) -> tuple[float, float]:
            return measure(self.labelling_, metric, truth, outputs), family.loss(outputs, truth).item()

        return Validation(y, shown, judged, score, metric not in LOWER_IS_BETTER)

    def _known_graph(self, data: Graphs) -> Graph:
        """A graph for a model that was fitted, which moves to the same device."""
        self._check_fitted()
        graph = as_graph(data, self._device(), self.n_features_in_)
        for component in self.components_:
            component.to(graph.x.device)
        return graph

    def _infer(self, how: Callable[..., Any], data: Graphs, observed_mask: Mask | None) -> Any:
        graph = self._known_graph(data)
        y = self.labelling_.unknown(graph.num_nodes)
        if observed_mask is not None:
            if self.test_labels == "none" and self.num_iterations > 0:
                raise ValueError(
                    "observed_mask is given, but the model was fitted with test_labels='none', for graphs "
                    "without labels; fit it with test_labels='partial', or leave observed_mask out"
                )
            visible = visible_labels(data, as_mask(observed_mask, data, "observed_mask"))
            y = self.labelling_.encode(visible, "observed_mask")
        y = y.to(graph.x.device)
        seed = int(np.random.SeedSequence([self.seed, self.num_iterations + 1]).generate_state(1)[0])
        generator = torch.Generator(graph.x.device).manual_seed(seed)
        observed = known(y)
        masks = [observed if self._sees_labels() else torch.zeros_like(observed)]
        if self.inference_masks == "sampled" and self._sees_labels() and bool(observed.any()):
            masks = [draw_mask(observed, self.shown_share, generator) for _ in range(self.num_masks)]
        used = self.components_ if how is stages else self.components_[: self.best_iteration_ + 1]
        return how(used, graph, y, masks, self._label_input(), generator)

    @property
    def best_iteration_(self) -> int:
        """The iteration t whose Θ_t predicts: with ``keep_best`` the one of the best validation metric.

        The later one of equals; the last, T, without validation.
        """
        self._check_fitted()
        (name,) = (str(column) for column in self.history_ if str(column).startswith("val_"))
        by_iteration = self.history_.groupby("iteration")[name]
        lower = name.removeprefix("val_") in LOWER_IS_BETTER
        best = (-by_iteration.min() if lower else by_iteration.max()).to_numpy()
        if not self.keep_best or np.isnan(best).all():
            return len(self.components_) - 1
        return len(best) - 1 - int(np.argmax(best[::-1]))

    def _history(self, epochs: Sequence[Epoch]) -> pd.DataFrame:
        name = f"val_{self.metric or self._default_metric}"
        return pd.DataFrame([asdict(epoch) for epoch in epochs]).rename(columns={"metric": name})

    def _check_fitted(self) -> None:
        if not hasattr(self, "components_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")

    def _check_parameters(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected one of {', '.join(choices)}")
        for name, (expected, holds) in _RANGES.items():
            value = getattr(self, name)
            if isinstance(value, bool | str) or not holds(value):
                raise ValueError(f"{name} is {value!r}; expected {expected}")
        if self.metric is not None and self.metric not in self._metrics:
            raise ValueError(f"metric is {self.metric!r}; expected one of {', '.join(self._metrics)}")
        if not isinstance(self.gnn, str | nn.Module) and not callable(self.gnn):
            raise ValueError(f"gnn is a {type(self.gnn).__name__}; expected a name, a module or a factory")


def by_graph(rows: Tensor, data: Graphs) -> Nodes:
    if isinstance(data, Data):
        return rows
    return list(rows.split([graph.x.size(0) for graph in data]))


def _disjoint(a: Tensor, b: Tensor, a_name: str, b_name: str) -> None:
    shared = int((a & b).sum())
    if shared:
        raise ValueError(
            f"{shared} nodes are both in {a_name} and in {b_name}; a label can't be "
            "learned from or shown, and judged too: take them out of one"
        )
