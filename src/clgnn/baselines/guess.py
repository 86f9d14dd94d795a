"""Guesses: what any method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from clgnn.baselines.rival import Rival
from clgnn.collective.learning import Validation
from clgnn.data.graph import Graph, known
from clgnn.estimators.node import OnEpoch


@dataclass(repr=False, eq=False)
class Random(Rival):
    """Guesses a class for each node, all alike: the first row of the paper's tables.

    Its probabilities are 1/C, but for a thousandth that breaks the ties at random: the accuracy is that of
    a guess, the log loss that of knowing nothing.

    Cost: none.

    Example:
        >>> from clgnn import datasets
        >>> data = datasets.load("citations", num_nodes=300)
        >>> Random().fit(data, train_mask=range(60)).predict_proba(data)[0].round(decimals=3)
        tensor([0.2000, 0.2000, 0.2000, 0.2000, 0.2000])
    """

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        pass

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        generator = torch.Generator().manual_seed(int(self.seed))
        noise = torch.rand(graph.num_nodes, self._num_classes, generator=generator)
        return (1e-3 * noise).softmax(dim=1)


@dataclass(repr=False, eq=False)
class Majority(Rival):
    r"""Says the most frequent class of the training labels for every node.

    .. math:: P(y_v = c) = n_c / n

    for :math:`n_c` of :math:`n` training labels. A model that does no better has learned nothing.

    Cost: none.

    Example:
        >>> from torch_geometric.data import Data
        >>> edges = torch.tensor([[0, 1], [1, 2]])
        >>> data = Data(x=torch.ones(3, 1), edge_index=edges, y=torch.tensor([0, 1, 1]))
        >>> Majority().fit(data, train_mask=range(3)).predict(data)
        tensor([1, 1, 1])
    """

    _learned: ClassVar[tuple[str, ...]] = ("rates_",)

    def sees_labels(self) -> bool:
        return False

    def refuses_labels(self) -> bool:
        return False

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        counted = y[known(y)].bincount(minlength=self._num_classes)
        self.rates_ = counted / counted.sum()

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        return self.rates_.expand(graph.num_nodes, -1)
