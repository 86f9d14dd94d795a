"""Random guesses: what any method must beat."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from clgnn.baselines.rival import Rival
from clgnn.collective.learning import Validation
from clgnn.data.graph import Graph
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
