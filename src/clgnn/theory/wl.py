"""What can be told apart: by 1-WL colour refinement, within d hops, and at all (orbits)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import WLConv


def classes(rows: Tensor, tolerance: float = 0.0) -> Tensor:
    """Which rows are alike: the class of each, numbered as they first appear.

    Args:
        rows: ``[N, p]``, features or representations.
        tolerance: how much alike rows may differ, in the largest of their columns.

    Returns:
        ``[N]`` of 0, 1, ..

    Example:
        >>> import torch
        >>> classes(torch.tensor([[0.5], [2.0], [0.5]]))
        tensor([0, 1, 0])
    """
    rows = rows.double()
    alike = torch.cdist(rows, rows, p=float("inf")) <= tolerance
    numbers: Tensor = torch.unique(alike.int().argmax(dim=1), return_inverse=True)[1]
    return numbers


def initial_colours(data: Data) -> Tensor:
    """Colours ``[N]`` before the first round: nodes with equal features and labels have the same."""
    return classes(torch.cat([data.x.double(), data.y.double().unsqueeze(1)], dim=1))


def refine(edge_index: Tensor, colours: Tensor, rounds: int | None = None) -> Tensor:
    r"""1-WL colour refinement, the limit of every message-passing GNN.

    .. math:: c_v' = \mathrm{hash}(c_v, \{\{c_u : u \in N(v)\}\})

    Args:
        edge_index: ``[2, E]``.
        colours: the initial ones, ``[N]``.
        rounds: d for a GNN of d layers; None goes on until the partition is stable.

    Returns:
        The colours ``[N]``, numbered as they first appear.

    Example:
        A path of five nodes: one round sees the ends, two its middle.

        >>> import torch
        >>> path = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2, 3]])
        >>> refine(path, torch.zeros(5, dtype=torch.long), rounds=1)
        tensor([0, 1, 1, 1, 0])
        >>> refine(path, torch.zeros(5, dtype=torch.long))
        tensor([0, 1, 2, 1, 0])
    """
    for _ in range(len(colours) if rounds is None else rounds):
        finer: Tensor = WLConv()(colours, edge_index)
        if rounds is None and len(finer.unique()) == len(colours.unique()):
            break
        colours = finer
    return classes(colours.unsqueeze(1))


def isomorphic(data: Data, u: int, v: int, hops: int | None = None) -> bool:
    """Whether an isomorphism takes u to v, keeping edges, features and labels.

    Args:
        data: an undirected graph.
        u, v: two of its nodes.
        hops: compares the egonets of this radius (the nodes within that many hops and all edges between
            them); None compares u and v in the whole graph.

    Example:
        >>> from clgnn.theory.graphs import undirected
        >>> path = undirected([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], 6)
        >>> isomorphic(path, 1, 2, hops=1), isomorphic(path, 1, 2, hops=2), isomorphic(path, 1, 4)
        (True, False, True)
    """
    import networkx as nx

    views = [_rooted(data, node, hops) for node in (u, v)]
    alike = nx.algorithms.isomorphism.categorical_node_match(["colour", "root"], [None, False])
    return bool(nx.is_isomorphic(*views, node_match=alike))


def orbits(data: Data) -> Tensor:
    """The class ``[N]`` of each node under the automorphisms of a small undirected graph.

    Nodes of one orbit can't be told apart by anything that does not depend on how nodes are numbered.

    Example:
        >>> from clgnn.theory.graphs import undirected
        >>> orbits(undirected([(0, 1), (1, 2), (2, 3)], 4))
        tensor([0, 1, 1, 0])
    """
    colours = refine(data.edge_index, initial_colours(data)).tolist()
    first: list[int] = []
    for v, colour in enumerate(colours):
        earlier = (u for u in sorted(set(first)) if colours[u] == colour and isomorphic(data, u, v))
        first.append(next(earlier, v))
    return classes(torch.tensor(first).unsqueeze(1))


def _rooted(data: Data, root: int, hops: int | None) -> Any:
    """The networkx graph around a node, which is marked."""
    import networkx as nx

    network = nx.Graph(data.edge_index.t().tolist())
    network.add_nodes_from((v, {"colour": colour}) for v, colour in enumerate(initial_colours(data).tolist()))
    network.nodes[root]["root"] = True
    return network if hops is None else nx.ego_graph(network, root, radius=hops)
