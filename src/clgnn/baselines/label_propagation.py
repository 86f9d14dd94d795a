"""Label propagation, which keeps the labels that are known (Zhu and Ghahramani 2002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.nn import LabelPropagation as Propagate
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from clgnn.baselines.rival import Rival
from clgnn.collective.learning import Validation
from clgnn.data.graph import Graph, known
from clgnn.estimators.node import OnEpoch
from clgnn.estimators.settings import Expected, count, number

_ALPHA = (0.9, 0.5, 0.7, 0.8, 0.95, 0.99, 1.0)


@dataclass(repr=False, eq=False)
class LabelPropagation(Rival):
    r"""Observed labels spread along the edges; no features, nothing to train.

    .. math::
        Y^{(l+1)} = \alpha D^{-1/2} A D^{-1/2} Y^{(l)} + (1 - \alpha) Y^{(0)}, \qquad
        Y^{(l+1)}_v = Y^{(0)}_v \text{ where } v \text{ is observed},

    with :math:`Y^{(0)}` one-hot for observed nodes and 0 elsewhere; the rows are then normalised. This is
    PyG's ``LabelPropagation``, with the observed labels put back in place after each step. What no label
    reaches gets the class rates of the training labels; so does every node when no label is observed.

    Args:
        alpha: how far labels spread; None lets validation choose from 0.5 .. 1 (0.9 without it).
        num_steps: propagation steps.
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`; nothing is random.

    Cost: O(L E C).

    References:
        Zhu and Ghahramani: Learning from Labeled and Unlabeled Data with Label Propagation, 2002. Zhou et
        al.: Learning with Local and Global Consistency, 2004 (the normalisation and alpha).

    Example:
        >>> from clgnn import datasets, splits
        >>> data = datasets.load("citations", num_nodes=300)
        >>> split = splits.random(data, train_labels=60, test_nodes=100, val_nodes=50)
        >>> model = LabelPropagation().fit(data, split.train_mask, split.val_mask)
        >>> model.predict_proba(data, observed_mask=split.train_mask).shape
        torch.Size([300, 5])
    """

    alpha: float | None = None
    num_steps: int = 50

    fixed: ClassVar[frozenset[str]] = frozenset({"num_layers"})  # of propagation, not of a GNN
    _learned: ClassVar[tuple[str, ...]] = ("rates_", "alpha_")
    _expected: ClassVar[dict[str, Expected]] = {
        "alpha": number("a number from 0 to 1", lambda v: 0 <= v <= 1, or_none=True),
        "num_steps": count(),
    }

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        counted = y[known(y)].bincount(minlength=self._num_classes)
        self.rates_ = counted / counted.sum()

        def judge(alpha: float) -> Tensor:
            assert validation is not None
            return self._propagate(graph, validation.y, alpha)

        alphas = _ALPHA if self.alpha is None else (self.alpha,)
        self.alpha_: float = self._choose((({"alpha": a}, a) for a in alphas), judge, validation)

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        return self._propagate(graph, y, self.alpha_)

    def _propagate(self, graph: Graph, y: Tensor, alpha: float) -> Tensor:
        truth, observed = F.one_hot(y + 1, self._num_classes + 1)[:, 1:].float(), known(y)
        spread = propagate(graph, truth, self.num_steps, alpha, observed)
        total = spread.sum(dim=1, keepdim=True)
        return torch.where(total > 0, spread / total.clamp(min=1e-30), self.rates_)


def normalised_edges(graph: Graph) -> tuple[Tensor, Tensor]:
    """The edges of D^-1/2 A D^-1/2, and their weights: PyG's label propagation leaves given weights alone."""
    edge_index, edge_weight = gcn_norm(
        graph.edge_index, graph.edge_weight, graph.num_nodes, add_self_loops=False
    )
    return edge_index, edge_weight


def propagate(graph: Graph, start: Tensor, num_steps: int, alpha: float, kept: Tensor) -> Tensor:
    """PyG's label propagation of ``start`` ``[N, C]``; the rows of ``kept``, bool ``[N]``, stay."""

    def keep(now: Tensor) -> Tensor:
        return torch.where(kept.unsqueeze(1), start, now.clamp(0, 1))

    edge_index, edge_weight = normalised_edges(graph)
    spread: Tensor = Propagate(num_steps, alpha)(start, edge_index, edge_weight=edge_weight, post_step=keep)
    return spread
