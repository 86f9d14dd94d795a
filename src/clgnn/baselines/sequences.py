"""Nodes as sequences: the neighbours in a random order, and the node itself at the end."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from clgnn.baselines.arrays import adjacency
from clgnn.data.graph import Graph


@dataclass(frozen=True)
class Neighbors:
    """The neighbours of each node, to draw orders of them.

    Attributes:
        start: where each node's neighbours begin, ``[N + 1]``.
        neighbor: the neighbours, ``[E]``.
        weight: of the edges, ``[E]``.
    """

    start: Tensor
    neighbor: Tensor
    weight: Tensor

    @classmethod
    def of(cls, graph: Graph) -> Neighbors:
        """Those of a graph; an edge without weight is no edge."""
        a = adjacency(graph)
        a.eliminate_zeros()
        a.sort_indices()
        device = graph.x.device
        start, neighbor = (torch.from_numpy(part).long().to(device) for part in (a.indptr, a.indices))
        return cls(start, neighbor, torch.from_numpy(a.data).to(device))

    def keys(self, generator: torch.Generator) -> Tensor:
        """A random number from 0 to 1 for each edge, ``[E]``; smaller ones come first."""
        return _keys(self.weight, generator)

    def sequences(self, nodes: Tensor, order: Tensor | torch.Generator, most: int) -> tuple[Tensor, Tensor]:
        """The sequences of some nodes, for all of them at once.

        Args:
            nodes: ``[n]``; a node may be there several times.
            order: :meth:`keys`, which give a node the same order whatever the others are; or a generator,
                which gives a new order to each place of ``nodes``.
            most: so many neighbours of a node at most, the first ones of the order.

        Returns:
            The nodes of each sequence ``[n, L]``, the node itself last, and the lengths ``[n]``; what
            comes after a sequence's end means nothing.

        Example:
            >>> data = Graph(torch.ones(3, 1), torch.tensor([[0, 1, 1], [1, 0, 2]]), None, (3,))
            >>> around = Neighbors.of(data)
            >>> around.sequences(torch.arange(3), around.keys(torch.Generator().manual_seed(0)), most=5)
            (tensor([[1, 0],
                    [0, 1],
                    [1, 2]]), tensor([2, 2, 2]))
        """
        first, degree = self.start[nodes], self.start[nodes + 1] - self.start[nodes]
        row = torch.repeat_interleave(degree)
        place = torch.arange(len(row), device=nodes.device) - (degree.cumsum(0) - degree)[row]
        edge = first[row] + place
        keys = order[edge] if isinstance(order, Tensor) else _keys(self.weight[edge], order)
        edge = edge[(row + keys).argsort()]  # keys are below 1: rows stay together
        kept = place < most
        lengths = degree.clamp(max=most) + 1
        index = torch.zeros(len(nodes), int(lengths.max()), dtype=torch.long, device=nodes.device)
        index[row[kept], place[kept]] = self.neighbor[edge[kept]]
        index[torch.arange(len(nodes), device=nodes.device), lengths - 1] = nodes
        return index, lengths


def _keys(weight: Tensor, generator: torch.Generator) -> Tensor:
    """1 - u^(1/w): the first ones then are a draw without replacement, heavier edges being more likely."""
    u = torch.rand(len(weight), generator=generator, device=generator.device, dtype=torch.double)
    return (1 - u ** (1 / weight)).clamp_(max=1 - 1e-9)
