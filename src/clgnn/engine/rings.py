"""Which rows each layer has to compute: the targets, those within one hop of them, within two, and so on.

The last layer of a GNN is needed at the targets alone, the one before it at their neighbours, and only the
first needs all but the outermost nodes. If the nodes are put in the order of their distance from the targets,
each of these sets is the beginning of the next, and so are the rows of the operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clgnn.data.graph import Graph
from clgnn.data.sparse import scipy_csr, torch_csr
from clgnn.engine.propagation import Normalization, SparseMatrix, propagation

WORTHWHILE = 0.7
"""A part with a larger share of the nodes than this is not worth taking."""
SAVING = 0.9
"""With more than this share of all rows, in the mean of the layers, neither are rings."""


@runtime_checkable
class Layered(Protocol):
    """A GNN whose layers each gather once, with an operator that it is given."""

    @property
    def normalization(self) -> Normalization:
        """Of the operator."""

    @property
    def depth(self) -> int:
        """How many layers it has."""

    def run(self, x: Tensor, operators: Sequence[SparseMatrix], labels: Tensor) -> Tensor:
        """The mean over the samples, ``[n, out_channels]``, for the n rows of the last operator.

        Args:
            x: ``[N, p]``.
            operators: one for each layer; its columns are the rows of the one before, or the N nodes.
            labels: ``[N, K, C]``.
        """


@dataclass(frozen=True)
class Rings(Graph):
    """A part of a graph that is computed at its targets alone.

    It has no ``edge_index``: the operators are rows of those of the whole graph, and therefore exact.

    Attributes:
        operators: one for each layer, the first layer first.
        outputs: the targets, ``[n]``, as indices into the nodes of the part, in ascending order.
    """

    operators: tuple[SparseMatrix, ...] = ()
    outputs: Tensor | None = None


def at_outputs(graph: Graph, of_nodes: Tensor) -> Tensor:
    """Of values for each node of a graph, those of the nodes that a GNN gives an output for."""
    return of_nodes if not isinstance(graph, Rings) or graph.outputs is None else of_nodes[graph.outputs]


def rings(gnn: Layered, graph: Graph, targets: Tensor) -> tuple[Rings, Tensor] | None:
    """The part of a graph that the targets depend on, layer by layer; None if it is nearly all of it.

    Args:
        gnn: says how many layers there are, and what they gather with.
        graph: N nodes.
        targets: bool ``[N]``.

    Returns:
        The part, and its nodes ``[n]`` as indices into the graph's: those of the part by distance from the
        targets; or all of them, if the outermost ring is most of the graph.

    Example:
        >>> from clgnn.nn import GCN
        >>> line = Graph(torch.rand(9, 3), torch.stack([torch.arange(8), torch.arange(1, 9)]), None, (9,))
        >>> part, nodes = rings(GCN(3, 8, 2), line, torch.arange(9) == 6)
        >>> nodes, [tuple(operator.csr.shape) for operator in part.operators]
        (tensor([6, 5, 4]), [(2, 3), (1, 2)])
    """
    device, n, dtype = graph.x.device, graph.num_nodes, graph.x.dtype
    whole = propagation(graph.edge_index, n, graph.edge_weight, gnn.normalization, dtype=dtype)
    index = np.int32 if whole.csr.col_indices().dtype == torch.int32 else np.int64
    matrix = scipy_csr(whole.csr, index)
    found = targets.nonzero().squeeze(1)
    nodes, sizes = _by_distance(matrix.indptr, matrix.indices, found.cpu().numpy(), gnn.depth)
    if sum(sizes[:-1]) > SAVING * gnn.depth * n:
        return None
    place = np.full(n, -1, index)
    place[nodes] = np.arange(len(nodes), dtype=index)
    rows = matrix[nodes[: sizes[-2]]]

    def block(columns: NDArray[Any], last: int, width: int, own: slice | Tensor) -> SparseMatrix:
        """The first rows, with columns of other numbers."""
        entries = int(rows.indptr[last])
        taken = rows[:last] if last < rows.shape[0] else rows.copy()
        taken = type(rows)((taken.data, columns[:entries], taken.indptr), shape=(last, width))
        taken.sort_indices()
        return SparseMatrix(torch_csr(taken, dtype, device, index), own=own)

    relabelled = place[rows.indices]
    beginning = slice(0, sizes[-2])
    if sizes[-1] > WORTHWHILE * n:  # a copy of the features would save nothing: all nodes as they are
        first = block(rows.indices.copy(), sizes[-2], n, torch.from_numpy(nodes[beginning]).to(device))
        x, outputs, everything = graph.x, found, torch.arange(n, device=device)
    else:
        first = block(relabelled, sizes[-2], sizes[-1], beginning)
        everything = torch.from_numpy(nodes).to(device)
        x, outputs = rows_of(graph.x, everything), torch.arange(len(found), device=device)
    operators = [first]
    if gnn.depth > 1:
        inner = first if x is not graph.x else block(relabelled, sizes[-3], sizes[-2], slice(0, sizes[-3]))
        operators += _beginnings(inner, sizes[:-1])
    no_edges = torch.empty(2, 0, dtype=torch.long, device=device)
    part = Rings(x, no_edges, None, (len(everything),), operators=tuple(operators), outputs=outputs)
    return part, everything


def _by_distance(
    indptr: NDArray[np.signedinteger], indices: NDArray[np.signedinteger], hop: NDArray[np.int64], hops: int
) -> tuple[NDArray[np.int64], list[int]]:
    """The nodes within so many hops, the nearest first, and how many are within 0, 1, .. of them."""
    seen = np.zeros(len(indptr) - 1, dtype=bool)
    seen[hop] = True
    nodes, sizes = [hop], [len(hop)]
    for _ in range(hops):
        counts = (indptr[hop + 1] - indptr[hop]).astype(np.int64)
        entries = np.repeat(indptr[hop] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        sources = indices[entries]
        hop = np.unique(sources[~seen[sources]]).astype(np.int64)
        seen[hop] = True
        nodes.append(hop)
        sizes.append(sizes[-1] + len(hop))
    return np.concatenate(nodes), sizes


def in_order(gnn: Layered, graph: Graph, sizes: Sequence[int]) -> Rings:
    """A part of a graph whose nodes come by their distance from the first ones already.

    Args:
        gnn: says how many layers there are, and what they gather with.
        graph: the part, with all edges into its nodes but the outermost ones.
        sizes: how many nodes are within 0, 1, .. hops; as many hops as layers, or more.
    """
    a = propagation(
        graph.edge_index, graph.num_nodes, graph.edge_weight, gnn.normalization, dtype=graph.x.dtype
    )
    within = [*sizes[: gnn.depth], graph.num_nodes]
    outputs = torch.arange(sizes[0], device=graph.x.device)
    operators = tuple(_beginnings(a, within))
    return Rings(graph.x, graph.edge_index, None, graph.sizes, operators=operators, outputs=outputs)


def _beginnings(whole: SparseMatrix, sizes: Sequence[int]) -> list[SparseMatrix]:
    """The rows of each layer, the outermost first, of nodes within so many hops; ``[rows, the next size]``.

    Nothing is copied. Where a ring is empty, the operator is that of the layer before.
    """
    made: dict[tuple[int, int], SparseMatrix] = {}
    shapes = list(pairwise(sizes))[::-1]
    for rows, columns in shapes:
        if (rows, columns) not in made:
            crow, entries = whole.csr.crow_indices(), int(whole.csr.crow_indices()[rows])
            parts = crow[: rows + 1], whole.csr.col_indices()[:entries], whole.csr.values()[:entries]
            csr = torch.sparse_csr_tensor(*parts, (rows, columns), check_invariants=False)
            made[rows, columns] = SparseMatrix(csr, own=slice(0, rows))
    return [made[shape] for shape in shapes]


def rows_of(x: Tensor, nodes: Tensor) -> Tensor:
    """Rows of x, dense or sparse."""
    if x.layout == torch.strided:
        return x[nodes]
    return torch_csr(scipy_csr(x)[nodes.cpu().numpy()], x.dtype, x.device)
