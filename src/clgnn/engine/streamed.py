"""A graph that is gone through in pieces: its rows lie in memory or in files, never taken together."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clgnn.data.arrays import empty
from clgnn.data.graph import Graph
from clgnn.data.stored import StoredGraph
from clgnn.engine import processes

CHUNK_EDGES = 2**17
"""So many edges are gone through at a time: what their rows give stays in the cache of a processor."""
IN_MEMORY = 2**30
"""What takes fewer bytes than this is kept in memory, also of a graph in files."""


@dataclass(frozen=True, eq=False)
class Streamed:
    """What a :class:`~clgnn.data.graph.Graph` is to a step, for graphs of which a step takes a part.

    Attributes:
        stored: features, and the sources of the edges into each node. Its labels are never looked at.
        device: where the parts go.
        sizes: the number of nodes of each of the graphs that it was made of.
        edge_attr, edge_type: of the edges in the order of ``stored.indices``, or None.
    """

    stored: StoredGraph
    device: torch.device
    sizes: tuple[int, ...]
    edge_attr: Tensor | None = None
    edge_type: Tensor | None = None
    hetero: None = None
    start_proba: None = None

    @property
    def num_nodes(self) -> int:
        return self.stored.num_nodes

    @property
    def num_features(self) -> int:
        return int(self.stored.x.shape[1])

    @property
    def home(self) -> torch.device:
        """Where labels and predictions of all nodes are: not on a GPU, which gets the rows of parts."""
        return torch.device("cpu")

    @property
    def edge_weight(self) -> NDArray[np.float32] | None:
        return self.stored.weight

    def of_edges(self) -> tuple[Any, ...]:
        """What the graph has of its edges: weights, features and types."""
        return self.stored.weight, self.edge_attr, self.edge_type

    @property
    def edge_index(self) -> NoReturn:
        raise ValueError(
            "this needs all edges in memory at once, and the graph is a StoredGraph, of which only "
            "parts are; expected a Data: predict, predict_proba, evaluate and score take both"
        )

    x = edge_index

    @cached_property
    def in_weight(self) -> Tensor:
        """The weight of the edges into each node, float64 ``[N]``."""
        indptr, weight = self.stored.indptr, self.stored.weight
        if weight is None:
            return torch.from_numpy(np.diff(indptr)).double()
        rows = (np.repeat(np.arange(b - a), np.diff(indptr[a : b + 1])) for a, b in self.chunks())
        sums = [
            np.bincount(row, weight[int(indptr[a]) : int(indptr[b])], minlength=b - a)
            for (a, b), row in zip(self.chunks(), rows, strict=True)
        ]
        return torch.from_numpy(np.concatenate(sums))

    @cached_property
    def root(self) -> Tensor:
        """One by the root of each node's degree, itself counted, ``[N]``."""
        return (self.in_weight + 1).rsqrt().float()

    @cached_property
    def has_loops(self) -> bool:
        """Whether there is an edge from a node to itself."""
        for a, b in self.chunks():
            rows = np.repeat(np.arange(a, b), np.diff(self.stored.indptr[a : b + 1]))
            if (rows == self.stored.indices[self.stored.indptr[a] : self.stored.indptr[b]]).any():
                return True
        return False

    def chunks(self, most: int | None = None) -> Iterator[tuple[int, int]]:
        """Ranges of rows, in order, of at most so many edges (:data:`CHUNK_EDGES`) and one row at least."""
        indptr, n, first = np.asarray(self.stored.indptr), self.num_nodes, 0
        most = most or CHUNK_EDGES
        while first < n:
            # a row counts as one edge more, so that rows without edges are bounded too
            low, high = first + 1, min(n, first + most)
            while low < high:
                middle = (low + high + 1) // 2
                if int(indptr[middle]) - int(indptr[first]) + middle - first <= most:
                    low = middle
                else:
                    high = middle - 1
            yield first, low
            first = low

    def room(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Room for rows of this shape: in memory, or in a temporary file if the graph is in files.

        The file has no name, so that nothing is left of it, however the process ends.
        """
        small = math.prod(shape) * dtype.itemsize < IN_MEMORY
        if small or not isinstance(self.stored.indices, np.memmap):
            return empty(shape, dtype)
        kind = torch.zeros(0, dtype=dtype).numpy().dtype
        with tempfile.TemporaryFile() as file:
            return torch.from_numpy(np.memmap(file, kind, "w+", shape=shape))


def streamed(graph: Graph | StoredGraph, device: torch.device) -> Streamed:
    """A graph as one to go through in pieces.

    Edges that were given several times stay several, as in ``edge_index``.

    Example:
        >>> edges = torch.tensor([[0, 2, 2], [1, 1, 0]])
        >>> streamed(Graph(torch.ones(3, 1), edges, None, (3,)), torch.device("cpu")).stored.indices
        array([2, 0, 2], dtype=int32)
    """
    if isinstance(graph, StoredGraph):
        return Streamed(graph, device, (graph.num_nodes,))
    source, target = graph.edge_index.cpu().numpy()
    order = np.lexsort((source, target))
    counts = np.bincount(target, minlength=graph.num_nodes)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    weight, attr, types = (None if of is None else of.cpu()[order] for of in graph.of_edges())
    stored = StoredGraph(
        indptr,
        source[order].astype(np.int32),
        graph.dense_x.cpu().numpy(),
        np.full(graph.num_nodes, -1),
        None if weight is None else weight.numpy(),
    )
    return Streamed(stored, device, graph.sizes, attr, types)


@torch.no_grad()
def by_rows(
    graph: Streamed, split: Sequence[Sequence[tuple[int, int]]], make: Callable[[int, int], Tensor]
) -> Tensor:
    """The rows of all nodes, range by range; each process makes its own, and gets those of the others.

    Args:
        graph: N nodes.
        split: the ranges of each process, as :func:`clgnn.engine.processes.ranges` gives them.
        make: the rows of a range.
    """
    made: Tensor | None = None
    for first, last in split[processes.rank()] or split[-1][:1]:
        rows = make(first, last)
        if made is None:
            made = graph.room(graph.num_nodes, *rows.shape[1:], dtype=rows.dtype)
        made[first:last] = rows
    assert made is not None
    return processes.shared(made, split)
