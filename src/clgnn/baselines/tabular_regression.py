"""Regressors of scikit-learn on each node's own columns: what one has for numbers without a GNN.

Each gives a mean for every node, and one standard deviation for all of them: that of its errors in training,
calibrated on the validation labels.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge as RidgeRegression
from torch import Tensor

from clgnn.baselines.arrays import Floats, tensor
from clgnn.baselines.tabular import _OnColumns, as_arrays, columns, dense, numbers_of_rounds, totals
from clgnn.collective.learning import Validation
from clgnn.data.graph import Graph, known
from clgnn.estimators.labelling import Classes, Labelling, Numbers
from clgnn.estimators.node import OnEpoch
from clgnn.estimators.settings import ABOVE_0, Expected, count, number

_PENALTIES = (1.0, 0.001, 0.01, 0.1, 10.0, 100.0, 1000.0)


class _Regression(_OnColumns):
    """Means from the columns, and the deviation that they have in common."""

    _labelling: ClassVar[type[Classes] | type[Numbers]] = Numbers

    def _learn_labels(self, y: Tensor) -> Labelling:
        return Numbers.learn(y)

    @abstractmethod
    def _learn_means(self, graph: Graph, y: Tensor, validation: Validation | None) -> None:
        """Learns from standardised labels ``[N]``, NaN where unknown or hidden."""

    @abstractmethod
    def _means(self, graph: Graph) -> Tensor:
        """Standardised, ``[N]``."""

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        self.deviation_ = 1.0
        self._learn_means(graph, y, validation)
        train, means = known(y).cpu(), self._means(graph)
        self.deviation_ = max(float((y.cpu() - means)[train].square().mean().sqrt()), 0.05)
        if validation is not None:
            parameters = self.labelling_.parameters(self._distribution(graph, y))
            self.deviation_ *= validation.calibrate(parameters[validation.judged.cpu()])[0]
            self.best_score_ = validation.judge(self._distribution(graph, y)).metric

    def _with_deviation(self, means: Tensor) -> Tensor:
        """Means and standard deviations in the units of the labels, ``[N, 2]``."""
        assert isinstance(self.labelling_, Numbers)
        deviation = torch.full_like(means, self.deviation_ * self.labelling_.std)
        return torch.stack([self.labelling_.restore(means), deviation], dim=1).float()

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        return self._with_deviation(self._means(graph))


@dataclass(repr=False, eq=False)
class Mean(_Regression):
    """Says the mean of the training labels for every node; a model that does no better has learned nothing.

    Cost: none.

    Example:
        >>> from torch_geometric.data import Data
        >>> edges = torch.tensor([[0, 1], [1, 2]])
        >>> data = Data(x=torch.ones(3, 1), edge_index=edges, y=torch.tensor([1.0, 3.0, torch.nan]))
        >>> Mean().fit(data, train_mask=range(2)).predict(data)
        tensor([2., 2., 2.])
    """

    _learned: ClassVar[tuple[str, ...]] = ("deviation_",)

    def _learn_means(self, graph: Graph, y: Tensor, validation: Validation | None) -> None:
        pass

    def _means(self, graph: Graph) -> Tensor:
        return torch.zeros(graph.num_nodes)


@dataclass(repr=False, eq=False)
class Ridge(_Regression):
    r"""Ridge regression on each node's columns, :math:`\hat y_v = w^\top x_v + b`.

    Args:
        neighbors: whether the mean of the neighbours' columns stands beside a node's own.
        penalty: of the squared weights, ``alpha`` in scikit-learn; None lets validation choose from 0.001 ..
            1000 (1 without it).
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`; nothing is random.

    Cost: a ridge regression for each candidate, on the labelled nodes.

    Example:
        >>> from torch_geometric.data import Data
        >>> x = torch.arange(40.0).unsqueeze(1)
        >>> data = Data(x=x, edge_index=torch.tensor([[0], [1]]), y=2 * x.squeeze(1) + 1)
        >>> model = Ridge(penalty=0.001).fit(data, range(0, 40, 2))
        >>> model.predict(data)[[1, 39]].round()
        tensor([ 3., 79.])
    """

    neighbors: bool = False
    penalty: float | None = None

    _learned: ClassVar[tuple[str, ...]] = ("coef_", "intercept_", "deviation_")
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"neighbors": (True, False)}
    _expected: ClassVar[dict[str, Expected]] = {
        "penalty": number("a number above 0", lambda v: v > 0, or_none=True),
    }

    def _learn_means(self, graph: Graph, y: Tensor, validation: Validation | None) -> None:
        x, labels = columns(graph, self.neighbors), y.cpu().numpy()
        train = np.flatnonzero(~np.isnan(labels))

        def candidates() -> Iterator[tuple[dict[str, Any], tuple[Floats, float]]]:
            for penalty in _PENALTIES if self.penalty is None else (self.penalty,):
                model = RidgeRegression(alpha=penalty).fit(x[train], labels[train])
                yield {"penalty": penalty}, (np.asarray(model.coef_), float(model.intercept_))

        def judge(model: tuple[Floats, float]) -> Tensor:
            return self._with_deviation(tensor(np.asarray(x @ model[0] + model[1])))

        weight, bias = self._choose(candidates(), judge, validation)
        self.coef_, self.intercept_ = tensor(weight), bias

    def _means(self, graph: Graph) -> Tensor:
        x = columns(graph, self.neighbors)
        return tensor(np.asarray(x @ self.coef_.numpy() + self.intercept_)).float()


@dataclass(repr=False, eq=False)
class GradientBoostingRegression(_Regression):
    r"""Gradient-boosted trees on each node's columns: scikit-learn's histogram gradient boosting.

    .. math:: \hat y_v = b + \sum_{i=1}^n \mathrm{tree}_i(x_v)

    The trees are kept as plain arrays, so that a saved model can be read without running code.

    Args:
        neighbors: whether the mean of the neighbours' columns stands beside a node's own.
        max_trees: how many rounds of boosting there are; validation chooses the best number of them.
        learning_rate: by which each tree is shrunk.
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`.

    Cost: one boosting on the labelled nodes.

    References:
        Ke et al.: LightGBM: A Highly Efficient Gradient Boosting Decision Tree, 2017.

    Example:
        >>> from torch_geometric.data import Data
        >>> x = torch.arange(200.0).unsqueeze(1)
        >>> data = Data(x=x, edge_index=torch.tensor([[0], [1]]), y=(x.squeeze(1) > 100).float())
        >>> GradientBoostingRegression().fit(data, range(0, 200, 2)).predict(data)[[1, 199]].round()
        tensor([0., 1.])
    """

    neighbors: bool = False
    max_trees: int = 100
    learning_rate: float = 0.1

    _learned: ClassVar[tuple[str, ...]] = ("trees_", "values_", "baseline_", "deviation_")
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"neighbors": (True, False)}
    _expected: ClassVar[dict[str, Expected]] = {"max_trees": count(), "learning_rate": ABOVE_0}

    def _learn_means(self, graph: Graph, y: Tensor, validation: Validation | None) -> None:
        x, labels = columns(graph, self.neighbors), y.cpu().numpy()
        train = np.flatnonzero(~np.isnan(labels))
        model = HistGradientBoostingRegressor(
            max_iter=self.max_trees,
            learning_rate=self.learning_rate,
            early_stopping=False,
            min_samples_leaf=max(1, min(20, len(train) // 10)),
            random_state=self.seed,
        ).fit(dense(x[train]), labels[train])
        trees, values = as_arrays(model)
        self.baseline_ = float(np.asarray(model._baseline_prediction).item())
        counts = numbers_of_rounds(len(trees))
        sums = {} if validation is None else totals(trees, values, x, counts)

        def judge(kept: int) -> Tensor:
            return self._with_deviation(tensor(self.baseline_ + sums[kept][:, 0]))

        best = self._choose((({"trees": kept}, kept) for kept in counts), judge, validation)
        self.trees_ = torch.from_numpy(np.ascontiguousarray(trees[:best]))
        self.values_ = torch.from_numpy(np.ascontiguousarray(values[:best]))

    def _means(self, graph: Graph) -> Tensor:
        x, rounds = columns(graph, self.neighbors), len(self.trees_)
        total = totals(self.trees_.numpy(), self.values_.numpy(), x, [rounds])[rounds]
        return tensor(self.baseline_ + total[:, 0]).float()


@dataclass(repr=False, eq=False)
class RidgeNeighbors(Ridge):
    """:class:`Ridge` on each node's columns beside the mean of its neighbours'.

    Example:
        >>> RidgeNeighbors().neighbors
        True
    """

    neighbors: bool = True

    fixed: ClassVar[frozenset[str]] = frozenset({"neighbors"})


@dataclass(repr=False, eq=False)
class GradientBoostingRegressionNeighbors(GradientBoostingRegression):
    """:class:`GradientBoostingRegression` on each node's columns beside the mean of its neighbours'.

    Example:
        >>> GradientBoostingRegressionNeighbors().neighbors
        True
    """

    neighbors: bool = True

    fixed: ClassVar[frozenset[str]] = frozenset({"neighbors"})
