"""The graphs of the paper's proofs, and circular skip links.

The paper describes its graphs in pictures and in the text of the proofs; these are built from the text.
Node i of the paper is row i - 1. Nodes have no features, that is a constant one; labels are 0 and 1, and -1
where they are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)
"""The skip lengths r of the ten classes of CSL(41, r)."""


def undirected(edges: Iterable[tuple[int, int]], num_nodes: int, y: Sequence[int] | None = None) -> Data:
    """A graph with a constant feature.

    Args:
        edges: each in one direction.
        num_nodes: N.
        y: labels, -1 for unknown; None if all are.

    Example:
        >>> undirected([(0, 1)], 2).edge_index
        tensor([[0, 1],
                [1, 0]])
    """
    edge_index = torch.tensor(list(edges), dtype=torch.long).reshape(-1, 2).t().contiguous()
    labels = torch.full((num_nodes,), -1) if y is None else torch.tensor(y)
    return Data(
        x=torch.ones(num_nodes, 1), edge_index=to_undirected(edge_index, num_nodes=num_nodes), y=labels
    )


def theorem_2(labelled: bool = True) -> Data:
    """Two triangles and two squares over one edge, 9-10, whose ends are labelled (or not).

    From the proof: the white nodes 1..8 each have one white and one yellow neighbour, so that the colouring
    is stable; {1..4} and {5..8} are two orbits; from 2, node 1 is one hop away and two hops through 9; from
    6, node 5 is one hop away and three hops through 10 and 9. Hence the edges 1-2 1-9 2-9 and 3-4 3-10 4-10
    (triangles), 5-6 5-9 6-10 and 7-8 7-9 8-10 (squares over 9-10).

    Example:
        >>> from clgnn.theory.wl import initial_colours, orbits, refine
        >>> data = theorem_2()
        >>> refine(data.edge_index, initial_colours(data))
        tensor([0, 0, 0, 0, 0, 0, 0, 0, 1, 1])
        >>> orbits(data)
        tensor([0, 0, 0, 0, 1, 1, 1, 1, 2, 2])
    """
    triangles = [(1, 2), (1, 9), (2, 9), (3, 4), (3, 10), (4, 10)]
    squares = [(5, 6), (5, 9), (6, 10), (7, 8), (7, 9), (8, 10)]
    edges = [(u - 1, v - 1) for u, v in [*triangles, *squares, (9, 10)]]
    return undirected(edges, 10, [-1] * 8 + [0, 0] if labelled else None)


def proposition_1() -> Data:
    """The line 7-1-3-5-9-10-6-4-2-8, with one more node, 11, at 9.

    From the proof: within d = 2 hops, 1 and 2 are alike, 3 and 4 are, and 7 and 8 are; but 5 and 6, which 1
    and 2 see at the rim, differ. Here it is by node 11, which is two hops from 5 and three from 6; so 1 and
    2 differ within four hops.

    Example:
        >>> from clgnn.theory.wl import isomorphic
        >>> [isomorphic(proposition_1(), 0, 1, hops) for hops in (2, 4)]
        [True, False]
    """
    line = [7, 1, 3, 5, 9, 10, 6, 4, 2, 8]
    edges = [*pairwise(line), (9, 11)]
    return undirected([(u - 1, v - 1) for u, v in edges], 11)


def csl(skip: int, num_nodes: int = 41) -> Data:
    """Circular skip links CSL(n, r): a cycle of n nodes, each linked to those r steps away too.

    All nodes of all of them have four neighbours, and all nodes of one are in one orbit.

    Args:
        skip: r.
        num_nodes: n.

    Example:
        >>> csl(2).edge_index.shape
        torch.Size([2, 164])
    """
    import networkx as nx

    if not 1 < skip < num_nodes - 1:
        raise ValueError(f"skip is {skip}; expected 2 to {num_nodes - 2}, for {num_nodes} nodes")
    return undirected(nx.circulant_graph(num_nodes, [1, skip]).edges, num_nodes)
