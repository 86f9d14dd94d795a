"""Exact predictions for every node of a large graph: layer by layer, or block by block."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from clgnn.data.arrays import shared
from clgnn.engine import processes
from clgnn.engine.neighbors import ALL, fields, hops_of
from clgnn.engine.packed import Packed
from clgnn.engine.propagation import Normalization
from clgnn.engine.pyg_layers import has_layers, mean_of_layers
from clgnn.engine.row_blocks import Operator, row_block
from clgnn.engine.runner import Runner
from clgnn.engine.streamed import Streamed, by_rows

FIELD_NODES = 1024
"""A module that can't be run layer by layer is run around so many nodes at a time."""
FEW = 50
"""One node of so many: for fewer nodes than that, their neighbourhoods cost less than a pass over all."""


@runtime_checkable
class Layerwise(Protocol):
    """A GNN that can be run layer by layer: each node's row of a layer comes from rows of the layer before.

    ``forward`` is ``h = features(x)``, then ``h = layer(i, a, h, labels)`` for each layer, on all nodes.
    """

    @property
    def normalization(self) -> Normalization:
        """Of the operator that it gathers with."""

    @property
    def depth(self) -> int:
        """How many layers it has."""

    def features(self, x: Tensor) -> Tensor:
        """What the first layer needs of the features ``[n, p]``, row by row, ``[n, d]``."""

    def layer(self, i: int, a: Operator, h: Tensor, labels: Tensor | Packed) -> Tensor:
        """Layer i, for the nodes that the operator a ``[n, N]`` gathers for.

        Args:
            i: its number; the last one gives ``[n, out_channels]``, the mean over the samples.
            a: rows of the operator.
            h: what the layer before gave (:meth:`features` for the first), ``[N, ..]``.
            labels: ``[N, K, C]``, which the first layer takes.
        """


def outputs(runner: Runner, head: nn.Module, graph: Streamed, labels: Tensor | Packed) -> Tensor:
    """What a GNN and its head give for every node, without dropout; the mean over K samples.

    Args:
        runner: runs the GNN.
        head: from the GNN's representation to the outputs.
        graph: N nodes.
        labels: the label columns ``[N, K, C]``.

    Returns:
        ``[N, outputs]``; in a temporary file if the graph is in files.
    """
    gnn = runner.gnn
    if has_layers(gnn, graph):
        return mean_of_layers(runner, graph, labels, head)
    if not isinstance(gnn, Layerwise):
        return outputs_at(runner, head, graph, torch.arange(graph.num_nodes), labels)
    x, labels = graph.stored.x, labels.to(graph.device)
    split = processes.ranges(list(graph.chunks()))
    h = by_rows(graph, split, lambda a, b: gnn.features(shared(x[a:b]).to(graph.device)))
    for i in range(gnn.depth):
        h = h.to(graph.device)
        last = i == gnn.depth - 1

        def layer(a: int, b: int, i: int = i, h: Tensor = h, last: bool = last) -> Tensor:
            found = gnn.layer(i, row_block(graph, a, b, gnn.normalization), h, labels)
            return head(found) if last else found

        h = by_rows(graph, split, layer)
    return h


@torch.no_grad()
def outputs_at(
    runner: Runner, head: nn.Module, graph: Streamed, nodes: Tensor, labels: Tensor | Packed
) -> Tensor:
    """As :func:`outputs`, for some of the nodes: ``[n, outputs]``, from their whole neighbourhoods."""
    in_layers = isinstance(runner.gnn, Layerwise) or has_layers(runner.gnn, graph)
    if in_layers and len(nodes) * FEW > graph.num_nodes:
        return outputs(runner, head, graph, labels)[nodes]
    hops = hops_of(runner, graph, labels.size(2))
    pieces = [(a, min(a + FIELD_NODES, len(nodes))) for a in range(0, len(nodes), FIELD_NODES)]
    split = processes.ranges(pieces)
    mine = split[processes.rank()] or pieces[:1]
    made: Tensor | None = None
    for piece, field in zip(
        mine, fields(graph, nodes, [range(*piece) for piece in mine], [ALL] * hops), strict=True
    ):
        z = runner.mean(field.graph, labels[field.nodes].to(graph.device))[: field.asked]
        rows = head(z)
        if made is None:
            made = graph.room(len(nodes), *rows.shape[1:])
        made[slice(*piece)] = rows
    assert made is not None
    return processes.shared(made, split)
