"""Rivals that are a GNN of their own, or a GNN with another input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from clgnn.baselines.variants import Labels, _Variant
from clgnn.collective.component import GNN
from clgnn.collective.learning import Problem
from clgnn.collective.sampling import LabelInput
from clgnn.estimators.collective import CollectiveClassifier
from clgnn.estimators.settings import Expected, count


@dataclass(repr=False, eq=False)
class HOPF(_Variant):
    r"""HOPF: a kernel that keeps a node's own information, in stages that see the labels of the last one.

    .. math::
        h^{k,t}_v = \mathrm{ReLU}\Big(W_\phi^{k,t} [x_v | \hat y_v^{t-1}] + W_\psi^{k,t}
        \frac{1}{|N(v)|} \sum_{u \in N(v)} h^{k-1,t}_u + b\Big), \qquad
        h^{0,t}_v = [x_v | \hat y_v^{t-1}]

    It is the authors' I-NIP-mean: :class:`clgnn.nn.NIPMean` with ``num_layers`` hops, boosted by its own
    soft predictions, which bring news from T + 1 times as many hops. It is
    :class:`~clgnn.CollectiveClassifier` with ``gnn="nip"`` and ``labels="soft"``. The authors show predicted
    labels to the neighbours, in every layer. Here they are a part of what a node says of itself, which its
    neighbours hear in the next layer. Other parameters are those of the collective classifier.

    Cost: T + 1 trainings of the GNN; T is 5 by default, as the authors have it.

    References:
        Vijayan, Chandak, Khapra, Parthasarathy and Ravindran: HOPF: Higher Order Propagation Framework for
        Deep Collective Classification, 2018.

    Example:
        >>> from clgnn import datasets
        >>> data = datasets.load("citations", num_nodes=300)
        >>> HOPF(num_iterations=1, max_epochs=10).fit(data, range(60)).predict_proba(data).shape
        torch.Size([300, 5])
    """

    gnn: GNN = "nip"
    num_iterations: int = 5
    labels: Labels = "soft"
    test_labels: Literal["none", "partial"] = "partial"

    fixed: ClassVar[frozenset[str]] = frozenset({"gnn", "labels"})


@dataclass(repr=False, eq=False)
class ColumnNetworkClassifier(CollectiveClassifier):
    r"""A column network: many highway layers that share their weights, with neighbours' means in each.

    .. math::
        h_v^t &= \alpha_v^t \, \mathrm{ReLU}\Big(W h_v^{t-1} + \sum_r V_r c_{vr}^t + b\Big)
        + (1 - \alpha_v^t) h_v^{t-1}

        c_{vr}^t &= \frac{1}{|N_r(v)|} \sum_{u \in N_r(v)} h_u^{t-1}, \qquad
        \alpha_v^t = \sigma\Big(W_\alpha h_v^{t-1} + \sum_r V_{\alpha r} c_{vr}^t + b_\alpha\Big)

    :class:`~clgnn.CollectiveClassifier` with ``gnn="column"`` (:class:`clgnn.nn.ColumnNetwork`) and no
    iterations. Labels are never input: what makes it collective is its depth. Edges of
    different types r (``data.edge_type``) have means and weights of their own; without types there is one.
    Other parameters are those of the collective classifier; ``num_layers`` is 4 by default.

    Cost: one training of a GNN with ``num_layers`` hops.

    References:
        Pham, Tran, Phung and Venkatesh: Column Networks for Collective Classification, 2017.

    Example:
        >>> from clgnn import datasets
        >>> data = datasets.load("citations", num_nodes=300)
        >>> ColumnNetworkClassifier(max_epochs=10).fit(data, range(60)).predict_proba(data).shape
        torch.Size([300, 5])
    """

    gnn: GNN = "column"
    num_iterations: int = 0
    hidden_channels: int = 50

    fixed: ClassVar[frozenset[str]] = frozenset({"gnn", "num_iterations", "start"})


@dataclass(repr=False, eq=False)
class RelationalPooling(_Variant):
    r"""Relational pooling: a GNN that sees a random numbering of the nodes, averaged over numberings.

    .. math::
        P(y_v | X) = \sigma\Big(W \frac{1}{K} \sum_k \mathrm{GNN}([X | I_{\pi_k}], A)_v + b\Big), \qquad
        (I_\pi)_v = e_{\pi(v) \bmod m}, \qquad \pi_k \sim \mathrm{Uniform}(S_N)

    A GNN that knows who is who is more expressive than one that does not; the mean over all numberings does
    not depend on how nodes are numbered. Each gradient step has one numbering (the authors' π-SGD), a
    prediction the mean of ``num_samples``. Iteration 0 is the GNN on X alone. Iteration 1 has identifiers
    and weights of its own: from those of a GNN that gives the same to all nodes, identifiers are hardly
    learned. Validation chooses between the two (``keep_best``, ``caution``). Labels are never input. Other
    parameters are those of the collective classifier.

    Args:
        num_identifiers: m. As many as nodes make all identifiers unique, as in full relational pooling; a
            few are enough to tell a node's neighbours apart, and can be learned from a few labels.

    Cost: two trainings of the GNN; a step of the second has one draw.

    References:
        Murphy, Srinivasan, Rao and Ribeiro: Relational Pooling for Graph Representations, 2019.

    Example:
        >>> from clgnn import datasets
        >>> data = datasets.load("citations", num_nodes=300)
        >>> RelationalPooling(max_epochs=10).fit(data, range(60)).predict_proba(data).shape
        torch.Size([300, 5])
    """

    num_iterations: int = 1
    num_samples: int = 20
    labels: Labels = "uniform"
    carry_weights: bool = False
    num_identifiers: int = 10

    fixed: ClassVar[frozenset[str]] = frozenset({"labels"})
    _expected: ClassVar[dict[str, Expected]] = {"num_identifiers": count(2)}

    def sees_labels(self) -> bool:
        return False

    def refuses_labels(self) -> bool:
        return False

    def _label_input(self, t: int) -> LabelInput:
        """Identifiers in place of labels; the plain GNN, t = 0, has none."""
        given = super()._label_input(t)
        if given.labels == "uniform":
            given = replace(given, labels="identifiers")
        return replace(given, num_identifiers=int(self.num_identifiers))

    def _problem(self, *given: Any, **named: Any) -> Problem:
        """One draw for a gradient step; K for a prediction, which validation judges."""
        problem = super()._problem(*given, **named)
        return replace(problem, label_input=replace(problem.label_input, num_samples=1))
