"""Classifiers of scikit-learn on each node's own columns: what one has without a GNN."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from clgnn.baselines.arrays import Features, Floats, adjacency, features, softmax, tensor
from clgnn.baselines.rival import Rival
from clgnn.collective.learning import Validation
from clgnn.data.graph import Graph
from clgnn.estimators.node import OnEpoch
from clgnn.estimators.settings import ABOVE_0, Expected, count, number

_BLOCK = 2**24  # numbers at a time: 128 MiB
_C = (1.0, 0.001, 0.01, 0.1, 10.0, 100.0, 1000.0, 10000.0)


class _OnColumns(Rival):
    """Does not look at labels of neighbours, whatever is observed."""

    def sees_labels(self) -> bool:
        return False

    def refuses_labels(self) -> bool:
        return False


def columns(graph: Graph, neighbors: bool) -> Features:
    """X ``[N, p]``; with ``neighbors``, beside the mean of the neighbours' columns, ``[N, 2 p]``.

    Example:
        >>> graph = Graph(torch.tensor([[1.0], [3.0], [5.0]]), torch.tensor([[0, 2], [1, 1]]), None, (3,))
        >>> columns(graph, neighbors=True).tolist()
        [[1.0, 0.0], [3.0, 3.0], [5.0, 0.0]]
    """
    x = features(graph)
    if not neighbors:
        return x
    a = adjacency(graph)
    degree = np.asarray(a.sum(axis=1)).reshape(-1)
    mean = sp.diags_array(1 / np.where(degree > 0, degree, 1)) @ a @ x
    if isinstance(x, np.ndarray):
        return np.hstack([x, np.asarray(mean, dtype=x.dtype)])
    return sp.csr_array(sp.hstack([x, sp.csr_array(mean).astype(x.dtype)]))


@dataclass(repr=False, eq=False)
class Logistic(_OnColumns):
    r"""Logistic regression on each node's columns, :math:`P(y_v | x_v) = \sigma(W x_v + b)`.

    Args:
        neighbors: whether the mean of the neighbours' columns stands beside a node's own.
        C: the inverse regularisation, as in scikit-learn; None lets validation choose from 0.001 .. 10000 (1
            without it).
        class_weight: None, ``"balanced"``, or a weight for each class.
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`; nothing is random.

    Cost: a logistic regression for each candidate, on the labelled nodes.

    Example:
        >>> from clgnn import datasets
        >>> data = datasets.load("citations", num_nodes=300)
        >>> Logistic(neighbors=True).fit(data, range(60)).predict_proba(data).shape
        torch.Size([300, 5])
    """

    neighbors: bool = False
    C: float | None = None
    class_weight: Any = None

    _learned: ClassVar[tuple[str, ...]] = ("coef_", "intercept_")
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"neighbors": (True, False)}
    _expected: ClassVar[dict[str, Expected]] = {
        "C": number("a number above 0", lambda v: v > 0, or_none=True),
    }

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        x, labels = columns(graph, self.neighbors), y.cpu().numpy()
        train = np.flatnonzero(labels >= 0)

        def candidates() -> Iterator[tuple[dict[str, Any], tuple[Floats, Floats]]]:
            for c in _C if self.C is None else (self.C,):
                yield {"C": c}, regression(x[train], labels[train], c, self._class_weights)

        def judge(model: tuple[Floats, Floats]) -> Tensor:
            return tensor(softmax(np.asarray(x @ model[0].T.astype(x.dtype) + model[1])))

        weight, bias = self._choose(candidates(), judge, validation)
        self.coef_, self.intercept_ = tensor(weight), tensor(bias)

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        x = columns(graph, self.neighbors)
        return tensor(softmax(np.asarray(x @ self.coef_.numpy().T.astype(x.dtype) + self.intercept_.numpy())))


def regression(
    z: Features, y: NDArray[np.int64], c: float, weights: tuple[float, ...] | None
) -> tuple[Floats, Floats]:
    """W ``[C, d]`` and b ``[C]`` of a logistic regression, one row for each class also if there are two."""
    class_weight = None if weights is None else dict(enumerate(weights))
    model = LogisticRegression(C=c, max_iter=300, class_weight=class_weight)
    with warnings.catch_warnings():  # after 300 steps, a weakly regularised one is good enough
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(z, y)
    weight, bias = np.asarray(model.coef_), np.asarray(model.intercept_)
    if len(bias) == 1:  # two classes: scikit-learn has the second's scores, the first's are 0
        weight, bias = np.vstack([0 * weight, weight]), np.append(0 * bias, bias)
    return weight, bias


@dataclass(repr=False, eq=False)
class GradientBoosting(_OnColumns):
    r"""Gradient-boosted trees on each node's columns: scikit-learn's histogram gradient boosting.

    .. math:: P(y_v | x_v) = \sigma\Big(b + \sum_{i=1}^n \mathrm{tree}_i(x_v)\Big)

    The trees are kept as plain arrays, so that a saved model can be read without running code.

    Args:
        neighbors: whether the mean of the neighbours' columns stands beside a node's own.
        max_trees: how many rounds of boosting there are; validation chooses the best number of them.
        learning_rate: by which each tree is shrunk.
        class_weight: None, ``"balanced"``, or a weight for each class.
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`.

    Cost: one boosting on the labelled nodes.

    References:
        Ke et al.: LightGBM: A Highly Efficient Gradient Boosting Decision Tree, 2017.

    Example:
        >>> from clgnn import datasets
        >>> data = datasets.load("digits")
        >>> GradientBoosting(max_trees=5).fit(data, range(200)).predict_proba(data).shape
        torch.Size([1797, 10])
    """

    neighbors: bool = False
    max_trees: int = 100
    learning_rate: float = 0.1
    class_weight: Any = None

    _learned: ClassVar[tuple[str, ...]] = ("trees_", "values_", "baseline_")
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"neighbors": (True, False)}
    _expected: ClassVar[dict[str, Expected]] = {"max_trees": count(), "learning_rate": ABOVE_0}

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        x, labels = columns(graph, self.neighbors), y.cpu().numpy()
        train = np.flatnonzero(labels >= 0)
        weights = self._class_weights
        model = HistGradientBoostingClassifier(
            max_iter=self.max_trees,
            learning_rate=self.learning_rate,
            early_stopping=False,
            min_samples_leaf=max(1, min(20, len(train) // 10)),
            class_weight=None if weights is None else dict(enumerate(weights)),
            random_state=self.seed,
        ).fit(dense(x[train]), labels[train])
        trees, values = as_arrays(model)
        self.baseline_ = tensor(np.asarray(model._baseline_prediction).reshape(-1))
        counts = numbers_of_rounds(len(trees))
        sums = {} if validation is None else totals(trees, values, x, counts)

        def judge(kept: int) -> Tensor:
            return tensor(_probabilities(self.baseline_.numpy() + sums[kept]))

        best = self._choose((({"trees": kept}, kept) for kept in counts), judge, validation)
        self.trees_ = torch.from_numpy(np.ascontiguousarray(trees[:best]))
        self.values_ = torch.from_numpy(np.ascontiguousarray(values[:best]))

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        x, rounds = columns(graph, self.neighbors), len(self.trees_)
        scores = totals(self.trees_.numpy(), self.values_.numpy(), x, [rounds])[rounds]
        return tensor(_probabilities(self.baseline_.numpy() + scores))


def as_arrays(model: Any) -> tuple[NDArray[np.int64], Floats]:
    """The trees as arrays: feature, left, right, leaf ``[n, k, nodes, 4]``; threshold, value ``[.., 2]``."""
    size = max(len(tree.nodes) for rounds in model._predictors for tree in rounds)
    shape = (len(model._predictors), len(model._predictors[0]), size)
    places, values = np.zeros((*shape, 4), np.int64), np.zeros((*shape, 2))
    for i, rounds in enumerate(model._predictors):
        for j, tree in enumerate(rounds):
            nodes = tree.nodes
            for f, name in enumerate(("feature_idx", "left", "right", "is_leaf")):
                places[i, j, : len(nodes), f] = nodes[name]
            values[i, j, : len(nodes), 0] = nodes["num_threshold"]
            values[i, j, : len(nodes), 1] = nodes["value"]
    return places, values


def numbers_of_rounds(most: int) -> list[int]:
    """Those that validation chooses from: ten or so, the largest first.

    Example:
        >>> numbers_of_rounds(100)
        [100, 90, 80, 70, 60, 50, 40, 30, 20, 10]
    """
    return list(range(most, 0, -max(1, most // 10)))


def totals(
    places: NDArray[np.int64], values: Floats, x: Features, counts: Sequence[int]
) -> dict[int, Floats]:
    """The scores ``[N, k]`` after each of these numbers of rounds.

    It takes a block of rows at a time, so that neither a sparse X is dense nor what all rounds add is there
    for all nodes at once.
    """
    rounds, k = places.shape[:2]
    rows = max(1, _BLOCK // max(x.shape[1], rounds * k))
    wanted = np.asarray(counts) - 1
    blocks = [
        added(places, values, dense(x[first : first + rows])).cumsum(axis=0)[wanted]
        for first in range(0, x.shape[0], rows)
    ]
    return dict(zip(counts, np.concatenate(blocks, axis=1), strict=True))


def added(places: NDArray[np.int64], values: Floats, x: Floats) -> Floats:
    """What each round adds to the scores, ``[n, N, k]``: all nodes go down a tree at once."""
    rounds, k = places.shape[:2]
    out, rows = np.zeros((rounds, len(x), k)), np.arange(len(x))
    for i in range(rounds):
        for j in range(k):
            at = np.zeros(len(x), np.int64)
            while (inner := places[i, j, at, 3] == 0).any():
                left = x[rows, places[i, j, at, 0]] <= values[i, j, at, 0]
                at = np.where(inner, np.where(left, places[i, j, at, 1], places[i, j, at, 2]), at)
            out[i, :, j] = values[i, j, at, 1]
    return out


def dense(x: Features) -> Floats:
    return np.asarray(x if isinstance(x, np.ndarray) else x.toarray(), dtype=np.float64)


def _probabilities(scores: Floats) -> Floats:
    """Of the scores of each class, or of the second of two, ``[N, C]``."""
    return softmax(np.hstack([0 * scores, scores]) if scores.shape[1] == 1 else scores)


@dataclass(repr=False, eq=False)
class LogisticNeighbors(Logistic):
    """:class:`Logistic` on each node's columns beside the mean of its neighbours'.

    Example:
        >>> LogisticNeighbors().neighbors
        True
    """

    neighbors: bool = True

    fixed: ClassVar[frozenset[str]] = frozenset({"neighbors"})


@dataclass(repr=False, eq=False)
class GradientBoostingNeighbors(GradientBoosting):
    """:class:`GradientBoosting` on each node's columns beside the mean of its neighbours'.

    Example:
        >>> GradientBoostingNeighbors().neighbors
        True
    """

    neighbors: bool = True

    fixed: ClassVar[frozenset[str]] = frozenset({"neighbors"})
