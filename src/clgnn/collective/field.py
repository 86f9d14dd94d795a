"""The part of the graph that the outputs at a few nodes depend on: their receptive field.

A GNN of L layers sees L hops. Where few nodes have a label, a gradient step needs the L-hop neighbourhood
of the targets alone, and is the same to the last gradient as on the whole graph; so is the validation of a
few nodes.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import k_hop_subgraph

from clgnn.collective.averaging import average
from clgnn.component import Component
from clgnn.graph import Graph
from clgnn.nn.propagation import scipy_csr, torch_csr

WORTHWHILE = 0.7
"""A part that has more of the nodes than this is no gain."""


def receptive_field(
    component: Component, graph: Graph, targets: Tensor, columns: int
) -> tuple[Graph, Tensor]:
    """The part of a graph that the outputs at the targets depend on.

    How far a GNN looks is its attribute ``hops``, which ours have and yours may have. For other PyG modules
    it is the number of their message passing layers, or one more where they look at degrees, *if* the outputs
    then are what they are on the whole graph; with running statistics, which look at all nodes, or when in
    doubt, the part is the whole.

    Args:
        component: the GNN and its head.
        graph: N nodes.
        targets: bool ``[N]``.
        columns: label columns, C.

    Returns:
        The part, and its nodes ``[n]`` as indices into the graph's.

    Example:
        >>> import torch
        >>> from clgnn.component import build
        >>> line = Graph(torch.rand(9, 3), torch.stack([torch.arange(8), torch.arange(1, 9)]), None, (9,))
        >>> gcn = build("gcn", line.x, line.edge_index, 0, 2, 8, None, 0.5)
        >>> receptive_field(gcn, line, torch.arange(9) == 6, 0)[1]
        tensor([4, 5, 6])
    """
    declared = getattr(component.gnn, "hops", None)
    layers = _message_passing(component.gnn) if declared is None else 0
    for hops in [declared] if declared is not None else [layers, layers + 1] if layers else []:
        nodes, edge_index, _, kept = k_hop_subgraph(
            targets.nonzero().squeeze(1),
            hops,
            graph.edge_index,
            relabel_nodes=True,
            num_nodes=graph.num_nodes,
        )
        if len(nodes) > WORTHWHILE * graph.num_nodes:
            break
        weight = None if graph.edge_weight is None else graph.edge_weight[kept]
        part = Graph(_rows(graph.x, nodes), edge_index, weight, (len(nodes),))
        if declared is not None or _same(component, graph, part, nodes, targets, columns):
            return part, nodes
    return graph, torch.arange(graph.num_nodes, device=graph.x.device)


def _message_passing(gnn: torch.nn.Module) -> int:
    """The number of layers that look one hop further.

    0 if running statistics look everywhere, or if a layer keeps the edges of the first graph that it saw.
    """
    if next(gnn.buffers(), None) is not None or any(getattr(m, "cached", False) for m in gnn.modules()):
        return 0
    return sum(isinstance(module, MessagePassing) for module in gnn.modules())


def _rows(x: Tensor, nodes: Tensor) -> Tensor:
    if x.layout == torch.strided:
        return x[nodes]
    return torch_csr(scipy_csr(x)[nodes.cpu().numpy()], like=x)


@torch.no_grad()
def _same(
    component: Component, graph: Graph, part: Graph, nodes: Tensor, targets: Tensor, columns: int
) -> bool:
    """Whether the part gives the outputs of the whole, for some labels, without dropout."""
    labels = torch.linspace(-1, 1, graph.num_nodes * columns, device=graph.x.device)
    labels = labels.sin().view(graph.num_nodes, 1, columns)
    training = component.training
    component.eval()
    try:
        whole = average(component, graph, labels)[targets]
        of_part = average(component, part, labels[nodes])[targets[nodes]]
    except Exception:  # whatever a module wants with the whole graph
        return False
    finally:
        component.train(training)
    return torch.allclose(whole, of_part, rtol=1e-4, atol=1e-5 * max(1.0, float(whole.abs().max())))
