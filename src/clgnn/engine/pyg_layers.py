"""PyG's ``BasicGNN`` models (GCN, GraphSAGE, GIN, GAT, ..) on a large graph, layer by layer.

As in PyG's ``BasicGNN.inference``, a layer is run on nodes with all of their neighbours, some nodes after the
other, and what it gives for all of them is the input of the next one. Here the K samples go together.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import BatchNorm, GCNConv, SAGEConv
from torch_geometric.nn.models.basic_gnn import GAT, GCN, GIN, PNA, BasicGNN, EdgeCNN, GraphSAGE

from clgnn.engine import processes
from clgnn.engine.features import LabelledFeatures, whole
from clgnn.engine.neighbors import ALL, Field, few, fields
from clgnn.engine.packed import Packed
from clgnn.engine.runner import Runner
from clgnn.engine.streamed import Streamed, by_rows

KINDS = (GCN, GraphSAGE, GIN, GAT, PNA, EdgeCNN)


def has_layers(gnn: nn.Module, graph: Streamed) -> bool:
    """Whether a module is one of PyG's models, with layers that look at neighbours alone."""
    if not isinstance(gnn, BasicGNN) or type(gnn) not in KINDS:
        return False
    if not all(_row_by_row(norm) for norm in gnn.norms):
        return False
    if any(getattr(conv, "cached", False) or conv.flow != "source_to_target" for conv in gnn.convs):
        return False
    if isinstance(gnn, GCN) and gnn.convs[0].add_self_loops:
        # what PyG makes of loops that are there already, and of weights for new ones, is left to PyG
        return not gnn.convs[0].improved and not graph.has_loops
    return True


def _row_by_row(norm: nn.Module) -> bool:
    """Whether a normalisation does to each row what it does to it alone."""
    if isinstance(norm, BatchNorm):
        norm = norm.module
    if isinstance(norm, nn.BatchNorm1d):
        return norm.running_mean is not None and not norm.training
    return isinstance(norm, nn.Identity | nn.LayerNorm)


@torch.no_grad()
def mean_of_layers(
    runner: Runner, graph: Streamed, labels: Tensor | Packed, finish: Callable[[Tensor], Tensor]
) -> Tensor:
    """What ``finish`` makes of the mean over the samples, ``[N, d]``, for every node.

    Args:
        runner: of a module for which :func:`has_layers` is true.
        graph: N nodes.
        labels: the label columns ``[N, K, C]``.
        finish: row by row.
    """
    gnn: Any = runner.gnn
    at_once = _runs_at_once(runner, graph, labels)
    split = processes.ranges(list(graph.chunks()))
    mine = split[processes.rank()] or split[-1][:1]
    nodes, parts = torch.arange(graph.num_nodes), [range(*piece) for piece in mine]
    kept: list[Tensor] = []  # [N, K, d] of the layers that are still needed
    for i in range(gnn.num_layers):
        # the rows of the layer before are features
        x = kept[-1].flatten(1).numpy() if i else graph.stored.x
        found = fields(replace(graph, stored=replace(graph.stored, x=x)), nodes, parts, [ALL])
        samples = kept[-1].size(1) if i else 0

        def rows(_: int, __: int, i: int = i, found: Iterator[Field] = found, k: int = samples) -> Tensor:
            field = next(found)
            inputs = field.graph.x.unflatten(1, (k, -1)) if i else labels[field.nodes].to(graph.device)
            z = _layer(gnn, i, inputs, None if i else field.graph.x, _edges(gnn, i, graph, field), at_once)
            z = z[: field.asked]
            if gnn.jk_mode is None and i == gnn.num_layers - 1:
                return finish(z.mean(dim=1))
            return z.mean(dim=1, keepdim=True) if _affine_from(gnn, i + 1) else z

        h = by_rows(graph, split, rows)
        kept = [*kept, h] if hasattr(gnn, "jk") else [h]
    if gnn.jk_mode is None:
        return kept[-1]

    def jumped(first: int, last: int) -> Tensor:
        xs = [h[first:last].to(graph.device).flatten(0, 1) for h in kept]
        z = gnn.lin(gnn.jk(xs) if hasattr(gnn, "jk") else xs[-1])
        return finish(z.view(last - first, -1, z.size(1)).mean(dim=1))

    return by_rows(graph, split, jumped)


def _runs_at_once(runner: Runner, graph: Streamed, labels: Tensor | Packed) -> bool:
    """Whether one call does all samples, as the runner sees on a few nodes."""
    if runner.at_once is None:
        part = few(graph)
        runner.mean(part, labels[torch.arange(part.num_nodes) % len(labels)].to(graph.device))
    return bool(runner.at_once)


def _layer(
    gnn: BasicGNN,
    i: int,
    each: Tensor,
    shared: Tensor | None,
    edges: tuple[Tensor, dict[str, Tensor]],
    at_once: bool,
) -> Tensor:
    """Layer i of ``BasicGNN.forward`` on samples ``[n, K, d]``, behind columns that all of them share."""

    def run(x: Tensor) -> Any:
        conv = gnn.convs[i]
        if isinstance(conv, GCNConv):
            conv = copy.copy(conv)
            conv.normalize = False  # the weights are normalised already
        x = conv(x, edges[0], **edges[1])
        if i == gnn.num_layers - 1 and gnn.jk_mode is None:
            return x
        if gnn.act is not None and gnn.act_first:
            x = gnn.act(x)
        x = gnn.norms[i](x)
        return x if gnn.act is None or gnn.act_first else gnn.act(x)

    if at_once:
        return whole(run(LabelledFeatures(each, shared)))
    samples = each.unbind(dim=1)
    inputs = samples if shared is None else [torch.cat([shared, one], dim=1) for one in samples]
    return torch.stack([run(one) for one in inputs], dim=1)


def _edges(gnn: BasicGNN, i: int, graph: Streamed, field: Field) -> tuple[Tensor, dict[str, Tensor]]:
    """The edges into the nodes that were asked for, and what the layer takes of them."""
    part, conv = field.graph, gnn.convs[i]
    edge_index = part.edge_index
    given = {name: getattr(part, name) for name in ("edge_weight", "edge_attr")}
    taken = {
        name: value for name, value in given.items() if value is not None and getattr(gnn, f"supports_{name}")
    }
    if not isinstance(conv, GCNConv) or not conv.normalize:
        return edge_index, taken
    # degrees are those of the whole graph: a part does not have all edges into the neighbours
    degree = graph.in_weight[field.nodes].to(part.x.device) + float(conv.add_self_loops)
    root = torch.where(degree > 0, degree.rsqrt(), 0).to(part.x.dtype)
    weight = part.edge_weight if part.edge_weight is not None else root.new_ones(edge_index.size(1))
    if conv.add_self_loops:
        own = torch.arange(field.asked, device=edge_index.device)
        edge_index = torch.cat([edge_index, own.expand(2, -1)], dim=1)
        weight = torch.cat([weight, weight.new_ones(field.asked)])
    return edge_index, {"edge_weight": weight * root[edge_index[0]] * root[edge_index[1]]}


def _affine_from(gnn: BasicGNN, i: int) -> bool:
    """Whether layer i is the last step and affine, so that the mean over the samples may come before it."""
    if i != gnn.num_layers - 1 or gnn.jk_mode is not None:
        return False
    conv = gnn.convs[i]
    if isinstance(conv, SAGEConv):
        return conv.aggr in ("mean", "sum", "add") and not conv.normalize and not conv.project
    return isinstance(conv, GCNConv)
