"""ICA, the iterative classification algorithm (Lu and Getoor 2003; Sen et al. 2008)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch import Tensor

from clgnn.baselines.arrays import Features, Floats, adjacency, features, one_hot, softmax, tensor
from clgnn.baselines.rival import Rival
from clgnn.baselines.tabular import regression
from clgnn.collective.learning import Validation
from clgnn.data.graph import Graph
from clgnn.estimators.node import OnEpoch
from clgnn.estimators.settings import Expected, count, number

Aggregator = Literal["proportion", "count", "mode", "binary"]
AGGREGATORS: tuple[Aggregator, ...] = ("proportion", "count", "mode", "binary")
_C = (10.0, 0.001, 0.01, 0.1, 1.0, 100.0, 1000.0, 10000.0)


@dataclass(frozen=True)
class _Logistic:
    """P(y | z) = softmax(W z + b): W ``[C, d]``, b ``[C]``."""

    weight: Floats
    bias: Floats


@dataclass(frozen=True)
class _Relational(_Logistic):
    """On z = [x | aggregated neighbour labels]."""

    aggregator: Aggregator


@dataclass(frozen=True)
class _Sweep:
    """A sweep in steps: the nodes in order, where each step ends, and their rows of the adjacency."""

    nodes: NDArray[np.int64]
    ends: list[int]
    rows: sp.csr_array


@dataclass(repr=False, eq=False)
class ICA(Rival):
    r"""The iterative classification algorithm: logistic regression on features and neighbours' labels.

    It models the label of a node given its features and the labels of its neighbours,

    .. math::
        P(y_v | x_v) = \sigma(W x_v + b), \qquad
        P(y_v | x_v, y_{N(v)}) = \sigma(W' [x_v | \mathrm{agg}(\{y_u : u \in N(v)\})] + b').

    The first, the local classifier, learns from the training labels. The second learns from them too; its
    neighbour labels are the training labels, and local predictions where there is none. Inference starts
    from the local predictions; then each node in turn, in random order, takes the most probable class
    given its neighbours' current ones, ``num_sweeps`` times over or until nothing changes. Observed
    labels stay. What is predicted is the second classifier's probabilities at the end.

    A sweep is exactly the sequential one, and vectorised: nodes that don't depend on each other in the
    random order are updated together.

    Args:
        aggregator: of the neighbours' labels: ``"count"`` of each class, its ``"proportion"``, the
            ``"mode"`` (the most frequent one), ``"binary"`` (whether it is there at all); None lets
            validation choose (``"proportion"`` without it).
        C: the inverse regularisation of both logistic regressions, as in scikit-learn; None lets
            validation choose from 0.001 .. 10000 (10 without it): the three best local ones, then what
            predicts best of each of these with each of the others.
        num_sweeps: at most.
        class_weight: None, ``"balanced"``, or a weight for each class, in the logistic regressions.
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`.

    Cost: a logistic regression for each candidate, on the labelled nodes; a sweep is O(E C).

    References:
        Lu and Getoor: Link-based Classification, 2003. Sen et al.: Collective Classification in Network
        Data, 2008.

    Example:
        >>> from clgnn import datasets, splits
        >>> data = datasets.load("citations", num_nodes=300)
        >>> split = splits.connected(data, train_labels=60, test_nodes=100, val_nodes=50)
        >>> model = ICA(C=10).fit(data, split.train_mask, split.val_mask)
        >>> model.predict_proba(data, observed_mask=split.train_mask).shape
        torch.Size([300, 5])
    """

    aggregator: Aggregator | None = None
    C: float | None = None
    num_sweeps: int = 10
    class_weight: Any = None

    _learned: ClassVar[tuple[str, ...]] = (
        "local_coef_",
        "local_intercept_",
        "coef_",
        "intercept_",
        "aggregator_",
    )
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"aggregator": (None, *AGGREGATORS)}
    _expected: ClassVar[dict[str, Expected]] = {
        "C": number("a number above 0", lambda v: v > 0, or_none=True),
        "num_sweeps": count(0),
    }

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        x, a, labels = features(graph), adjacency(graph), y.cpu().numpy()
        train = labels >= 0
        known = x[train]
        grid = _C if self.C is None else (self.C,)

        def locals_() -> Iterator[tuple[dict[str, Any], _Logistic]]:
            for c in grid:
                yield {"step": "local", "C": c}, self._regress(known, labels[train], c)

        starts = self._best(locals_(), lambda model: tensor(softmax(_scores(model, x))), validation, 3)

        def pairs() -> Iterator[tuple[dict[str, Any], tuple[_Logistic, _Relational]]]:
            for place, local in enumerate(starts):
                first = _scores(local, x).argmax(axis=1)
                counts = a @ one_hot(np.where(train, labels, first), self._num_classes)
                for aggregator in AGGREGATORS if self.aggregator is None else (self.aggregator,):
                    inputs = _beside(known, aggregate(counts[train], aggregator))
                    for c in grid:
                        fitted = self._regress(inputs, labels[train], c)
                        settings = {"step": "relational", "local": place, "aggregator": aggregator, "C": c}
                        yield settings, (local, _Relational(fitted.weight, fitted.bias, aggregator))

        shown = (y if validation is None else validation.y).cpu().numpy()
        sweeps = [] if validation is None else self._sweeps(a, shown < 0)  # the same for all candidates
        local, chosen = self._choose(
            pairs(), lambda models: tensor(self._infer(x, a, *models, shown, sweeps)), validation
        )
        self.local_coef_, self.local_intercept_ = tensor(local.weight), tensor(local.bias)
        self.coef_, self.intercept_ = tensor(chosen.weight), tensor(chosen.bias)
        self.aggregator_: Aggregator = chosen.aggregator

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        local = _Logistic(self.local_coef_.numpy(), self.local_intercept_.numpy())
        chosen = _Relational(self.coef_.numpy(), self.intercept_.numpy(), self.aggregator_)
        x, a, observed = features(graph), adjacency(graph), y.cpu().numpy()
        return tensor(self._infer(x, a, local, chosen, observed, self._sweeps(a, observed < 0)))

    def _sweeps(self, a: sp.csr_array, free: NDArray[np.bool_]) -> list[_Sweep]:
        both_ways, rng = sp.csr_array(a + a.T), self._rng(1)
        schedules = (schedule(both_ways, rng.permutation(len(free)), free) for _ in range(self.num_sweeps))
        return [_Sweep(nodes, ends, a[nodes]) for nodes, ends in schedules]

    def _regress(self, z: Features, y: NDArray[np.int64], c: float) -> _Logistic:
        return _Logistic(*regression(z, y, c, self._class_weights))

    def _infer(
        self,
        x: Features,
        a: sp.csr_array,
        local: _Logistic,
        model: _Relational,
        observed: NDArray[np.int64],
        sweeps: list[_Sweep],
    ) -> Floats:
        """The probabilities ``[N, C]`` after the sweeps; ``observed`` labels ``[N]`` stay."""
        start = _scores(local, x)
        num_classes = start.shape[1]
        labels = one_hot(np.where(observed < 0, start.argmax(axis=1), observed), num_classes)
        own = _scores(_Logistic(model.weight[:, :-num_classes], model.bias), x)
        from_neighbours = model.weight[:, -num_classes:].T
        for sweep in sweeps:
            changed = 0
            for begin, end in pairwise([0, *sweep.ends]):
                nodes = sweep.nodes[begin:end]
                seen = aggregate(sweep.rows[begin:end] @ labels, model.aggregator)
                new = np.eye(num_classes)[(own[nodes] + seen @ from_neighbours).argmax(axis=1)]
                changed += int((new != labels[nodes]).any(axis=1).sum())
                labels[nodes] = new
            if not changed:
                break
        return softmax(own + aggregate(a @ labels, model.aggregator) @ from_neighbours)


def aggregate(counts: Floats, aggregator: Aggregator) -> Floats:
    """What a node sees of its neighbours' labels, ``[N, C]``, from the (weighted) count of each class.

    Example:
        >>> import numpy as np
        >>> [aggregate(np.array([[3.0, 1.0]]), name).tolist() for name in AGGREGATORS]
        [[[0.75, 0.25]], [[3.0, 1.0]], [[1.0, 0.0]], [[1.0, 1.0]]]
    """
    if aggregator == "count":
        return counts
    if aggregator == "binary":
        return np.asarray(counts > 0, float)
    total = counts.sum(axis=1, keepdims=True)
    if aggregator == "mode":
        return np.asarray(np.eye(counts.shape[1])[counts.argmax(axis=1)] * (total > 0))
    return np.asarray(counts / np.where(total > 0, total, 1))


def schedule(
    a: sp.csr_array, rank: NDArray[np.int64], free: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], list[int]]:
    """A sequential sweep as few parallel steps with the same result.

    A node's step comes after those of its neighbours with a lower rank, and before those of the others.
    So when it is updated, exactly the neighbours that precede it in the sequence have been.

    Args:
        a: which nodes are neighbours, symmetric, ``[N, N]``.
        rank: the place of each node in the sequence, ``[N]``.
        free: the nodes to update, bool ``[N]``.

    Returns:
        The nodes to update, step by step, and where each step ends.

    Example:
        >>> import numpy as np, scipy.sparse as sp
        >>> path = sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
        >>> order, ends = schedule(path, np.array([0, 2, 1]), np.ones(3, bool))
        >>> order.tolist(), ends
        ([0, 2, 1], [2, 3])
    """
    row, col = a.tocoo().coords
    after = (rank[col] < rank[row]) & free[col] & free[row]
    waits = sp.csr_array((np.ones(after.sum()), (row[after], col[after])), shape=a.shape)
    waiting = waits @ np.ones(len(rank))
    done = ~free
    steps: list[NDArray[np.int64]] = []
    while not done.all():
        ready = ~done & (waiting == 0)
        steps.append(np.flatnonzero(ready))
        waiting -= waits @ ready.astype(float)
        done |= ready
    ends = np.cumsum([len(step) for step in steps]).tolist()
    return (np.concatenate(steps) if steps else np.empty(0, np.int64)), ends


def _scores(model: _Logistic, x: Features) -> Floats:
    return np.asarray(x @ model.weight.T.astype(x.dtype) + model.bias)


def _beside(x: Features, columns: Floats) -> Features:
    if isinstance(x, np.ndarray):
        return np.hstack([x, columns.astype(x.dtype)])
    return sp.csr_array(sp.hstack([x, sp.csr_array(columns.astype(x.dtype))]))
