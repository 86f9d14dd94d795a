"""Rivals that are settings of the collective estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from clgnn.estimators.collective import CollectiveClassifier

Labels = Literal["sampled", "soft", "uniform", "observed"]


class _Variant(CollectiveClassifier):
    """The collective classifier with another input in place of draws."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.num_iterations < 1:
            raise ValueError("num_iterations is 0; expected 1 or more, as 0 is the plain GNN")


@dataclass(repr=False, eq=False)
class LabelReuse(_Variant):
    r"""True labels as input of a GNN, nothing is drawn: masked label prediction, as in UniMP.

    .. math:: P(y_v | X, Y_L * M) = \sigma(W \, \mathrm{GNN}([X | Y_L * M], A)_v + b)

    In each gradient step a random half of the training labels is shown, and the other half learned; a
    prediction sees all observed labels. It is :class:`~clgnn.CollectiveClassifier` with
    ``labels="observed"`` and one mask that shows all in prediction. Its iterations are further rounds of the
    same training, each from the best weights of the last: with the T of collective learning it has as many
    gradient steps. Without observed labels it is a GNN on X alone. Other parameters are those of the
    collective classifier.

    Cost: T + 1 trainings of the GNN; T is 1 by default.

    References:
        Shi et al.: Masked Label Prediction: Unified Message Passing Model for Semi-Supervised
        Classification, 2021. Wang et al.: Bag of Tricks for Node Classification with Graph Neural Networks,
        2021 (label reuse).

    Example:
        >>> from clgnn import datasets, splits
        >>> data = datasets.load("citations", num_nodes=300)
        >>> split = splits.random(data, train_labels=60, test_nodes=100, val_nodes=50)
        >>> model = LabelReuse(max_epochs=10).fit(data, split.train_mask, split.val_mask)
        >>> model.predict_proba(data, observed_mask=split.train_mask).shape
        torch.Size([300, 5])
    """

    num_iterations: int = 1
    labels: Labels = "observed"
    test_labels: Literal["none", "partial"] = "partial"
    inference_masks: Literal["sampled", "all"] = "all"

    fixed: ClassVar[frozenset[str]] = frozenset({"labels", "inference_masks"})


@dataclass(repr=False, eq=False)
class RCC(_Variant):
    r"""Recurrent collective classification: soft predictions are fed back, nothing is drawn.

    .. math:: \hat Y^{(t)}_v = \sigma(W \, \mathrm{GNN}([X | \hat Y^{(t-1)}], A; \Theta_t)_v + b)

    :class:`~clgnn.CollectiveClassifier` with ``labels="soft"``. By the paper's corollary it is no more
    expressive than its GNN: it shows what the draws are worth. Fan and Huang unroll the recursion and train
    through it end to end; here it is trained one iteration after the other, as collective learning is, so
    that the two differ in the draws alone. Other parameters are those of the collective classifier.

    Cost: T + 1 trainings of the GNN.

    References:
        Fan and Huang: Recurrent Collective Classification, 2019.

    Example:
        >>> from clgnn import datasets
        >>> data = datasets.load("citations", num_nodes=300)
        >>> RCC(num_iterations=1, max_epochs=10).fit(data, range(60)).predict_proba(data).shape
        torch.Size([300, 5])
    """

    labels: Labels = "soft"
    test_labels: Literal["none", "partial"] = "partial"

    fixed: ClassVar[frozenset[str]] = frozenset({"labels"})


@dataclass(repr=False, eq=False)
class RNI(_Variant):
    r"""Random node features, drawn anew in every step, and the GNN's outputs averaged over K draws.

    .. math::
        P(y_v | X) = \sigma\Big(W \frac{1}{K} \sum_k \mathrm{GNN}([X | R_k], A)_v + b\Big), \qquad
        R_{k,v} \sim \mathrm{Uniform}(\{e_1, .., e_C\})

    :class:`~clgnn.CollectiveClassifier` with ``labels="uniform"``: one-hot features, as many as there are
    classes, so that it has the input, the draws and the cost of one iteration of collective learning and
    differs in what the draws know. (Sato et al. draw from a discrete uniform distribution too, Abboud et al.
    from a Gaussian.) Random features make a GNN more expressive as well. Labels are never input. Other
    parameters are those of the collective classifier.

    Cost: a training of the GNN, and T (1 by default) with K draws.

    References:
        Murphy, Srinivasan, Rao and Ribeiro: Relational Pooling for Graph Representations, 2019. Sato,
        Yamada and Kashima: Random Features Strengthen Graph Neural Networks, 2021 (rGIN). Abboud et al.: The
        Surprising Power of Graph Neural Networks with Random Node Initialization, 2021.

    Example:
        >>> from clgnn import datasets
        >>> data = datasets.load("citations", num_nodes=300)
        >>> RNI(max_epochs=10).fit(data, range(60)).predict_proba(data).shape
        torch.Size([300, 5])
    """

    num_iterations: int = 1
    labels: Labels = "uniform"

    fixed: ClassVar[frozenset[str]] = frozenset({"labels", "test_labels"})

    def sees_labels(self) -> bool:
        return False

    def refuses_labels(self) -> bool:
        return False


@dataclass(repr=False, eq=False)
class GNNAllLabels(CollectiveClassifier):
    """The plain GNN, trained on the labels of the training and of the test graph together.

    On a single graph, "50 % test labels" gives collective learning labels that the plain GNN has never
    seen, so that a gain mixes the method with the labels. Here the GNN learns from them: from
    ``train_mask``, V_L(tr), and from the ``observed_mask`` of ``fit``, V_L(te). It is
    :class:`~clgnn.CollectiveClassifier` with ``learn_observed`` and ``num_iterations=0``; its prediction
    needs no labels, and an ``observed_mask`` there changes nothing.

    Cost: one training of the GNN, for every test graph anew.

    Example:
        >>> from clgnn import datasets, splits
        >>> data = datasets.load("citations", num_nodes=300)
        >>> split = splits.random(data, train_labels=40, observed_labels=40, test_nodes=100, val_nodes=50)
        >>> model = GNNAllLabels(max_epochs=10)
        >>> model = model.fit(data, split.train_mask, split.val_mask, observed_mask=split.observed_mask)
        >>> model.predict_proba(data).shape
        torch.Size([300, 5])
    """

    num_iterations: int = 0
    learn_observed: bool = True

    fixed: ClassVar[frozenset[str]] = frozenset({"num_iterations", "start", "learn_observed"})


@dataclass(repr=False, eq=False)
class CLAllLabels(CollectiveClassifier):
    """Collective learning on the labels of the training and of the test graph together.

    What stands beside :class:`GNNAllLabels`: the same labels, learned from in the same way (``train_mask``
    and the ``observed_mask`` of ``fit``), and boosted. To keep a model that was fitted on V_L(tr) and go
    on with V_L(te), see :meth:`clgnn.CollectiveClassifier.adapt`.

    Cost: that of collective learning, for every test graph anew.

    Example:
        >>> from clgnn import datasets, splits
        >>> data = datasets.load("citations", num_nodes=300)
        >>> split = splits.random(data, train_labels=40, observed_labels=40, test_nodes=100, val_nodes=50)
        >>> model = CLAllLabels(num_iterations=1, max_epochs=10)
        >>> model = model.fit(data, split.train_mask, split.val_mask, observed_mask=split.observed_mask)
        >>> model.predict_proba(data, observed_mask=split.observed_mask).shape
        torch.Size([300, 5])
    """

    test_labels: Literal["none", "partial"] = "partial"
    learn_observed: bool = True

    fixed: ClassVar[frozenset[str]] = frozenset({"learn_observed"})
