"""The part of the graph that the outputs at a few nodes depend on: their receptive field.

A GNN of L layers sees L hops. Where few nodes have a label, a gradient step needs the L-hop neighbourhood
of the targets alone, and gives the same as on the whole graph, gradients included. So does the validation of
a few nodes.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import k_hop_subgraph

from clgnn.data.graph import Graph
from clgnn.engine.rings import WORTHWHILE, Layered, at_outputs, rings, rows_of
from clgnn.engine.runner import Runner


def receptive_field(runner: Runner, graph: Graph, targets: Tensor, columns: int) -> tuple[Graph, Tensor]:
    """The part of a graph that the representation of the targets depends on.

    Our GNNs compute each layer at no more nodes than the next one needs (:mod:`clgnn.engine.rings`). How far
    another GNN looks is its attribute ``hops``, which yours may have. For other PyG modules it is the number
    of their message passing layers, or one more where they look at degrees. In every case the part is taken
    only if the representations then are what they are on the whole graph. With running statistics, which
    look at all nodes, or when in doubt, the part is the whole.

    Args:
        runner: runs the GNN.
        graph: N nodes.
        targets: bool ``[N]``.
        columns: label columns, C.

    Returns:
        The part, and its nodes ``[n]`` as indices into the graph's.

    Example:
        >>> import torch
        >>> from clgnn.nn import GCN
        >>> line = Graph(torch.rand(9, 3), torch.stack([torch.arange(8), torch.arange(1, 9)]), None, (9,))
        >>> receptive_field(Runner(GCN(3, 8, 2)), line, torch.arange(9) == 6, 0)[1]
        tensor([6, 5, 4])
    """
    everything = torch.arange(graph.num_nodes, device=graph.x.device)
    if graph.hetero is not None:  # its other nodes would have to be taken apart too
        return graph, everything
    if isinstance(runner.gnn, Layered) and "edge_type" not in runner.edge_arguments(graph):
        found = rings(runner.gnn, graph, targets)
        if found is not None and _same(runner, graph, *found, targets, columns):
            return found
        return graph, everything
    declared = getattr(runner.gnn, "hops", None)
    if not isinstance(declared, int):
        declared = None
    layers = _message_passing(runner.gnn)
    reaches = [layers, layers + 1] if layers else []
    if declared is not None and not _looks_everywhere(runner.gnn):
        reaches = [declared]
    for hops in reaches:
        nodes, edge_index, _, kept = k_hop_subgraph(
            targets.nonzero().squeeze(1),
            hops,
            graph.edge_index,
            relabel_nodes=True,
            num_nodes=graph.num_nodes,
        )
        if len(nodes) > WORTHWHILE * graph.num_nodes:
            break
        weight, attr, types = (None if of is None else of[kept] for of in graph.of_edges())
        part = Graph(rows_of(graph.x, nodes), edge_index, weight, (len(nodes),), attr, None, types)
        if _same(runner, graph, part, nodes, targets, columns):
            return part, nodes
    return graph, everything


def _message_passing(gnn: torch.nn.Module) -> int:
    """The number of layers that look one hop further; 0 if something looks everywhere."""
    return (
        0 if _looks_everywhere(gnn) else sum(isinstance(module, MessagePassing) for module in gnn.modules())
    )


def _looks_everywhere(gnn: torch.nn.Module) -> bool:
    """Whether running statistics see all nodes, or a layer keeps the edges of the first graph that it saw."""
    return next(gnn.buffers(), None) is not None or any(getattr(m, "cached", False) for m in gnn.modules())


@torch.no_grad()
def _same(runner: Runner, graph: Graph, part: Graph, nodes: Tensor, targets: Tensor, columns: int) -> bool:
    """Whether the part gives the representations of the whole, for some labels, without dropout.

    It is tried with other weights: those that a GNN begins with may hide how far it looks, behind a gate that
    is still closed.
    """
    runner = copy.deepcopy(runner)
    generator = torch.Generator().manual_seed(0)
    for parameter in runner.gnn.parameters():
        noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
        parameter.add_(0.1 * noise.to(parameter.device))
    labels = torch.linspace(-1, 1, graph.num_nodes * columns, device=graph.x.device)
    labels = labels.sin().view(graph.num_nodes, 1, columns)
    runner.gnn.eval()
    try:
        whole = runner.mean(graph, labels)[targets]
        of_part = runner.mean(part, labels[nodes])[at_outputs(part, targets[nodes])]
    except Exception:  # whatever a module wants with the whole graph
        return False
    return torch.allclose(whole, of_part, rtol=1e-4, atol=1e-5 * max(1.0, float(whole.abs().max())))
