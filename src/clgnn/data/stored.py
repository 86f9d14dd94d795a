"""A graph as plain arrays, which may lie in memory or be mapped from files.

Row v of the sparse matrix lists the sources u of the edges u → v: what v gathers from. Node ids are int32, so
that an edge takes four bytes. Nothing here asks whether an array is mapped, so that code that goes through
rows in order, or takes a few of them, works on graphs that are larger than the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from clgnn.data.arrays import shared

if TYPE_CHECKING:
    from clgnn.data.described import Counts
    from clgnn.data.tables import Schema


@dataclass(frozen=True, eq=False)
class StoredGraph:
    """Topology, features and labels of N nodes and E edges.

    Attributes:
        indptr: where the row of each node begins in ``indices``, int64 ``[N + 1]``.
        indices: the sources of the edges into each node, in order, each once; int32 ``[E]``.
        x: the features, float32 ``[N, p]``.
        y: the labels ``[N]``: int64 classes, -1 if unknown; or float numbers, NaN if unknown.
        weight: of the edges, float32 ``[E]``, or None where each is 1. Edges that were given several times
            have the sum of their weights.
        split: the part of each node, int8 ``[N]``, an index into :data:`PARTS`; None if there is no split.
        folder, schema, counts: where the graph lies, how its tables were read, and what became of them; None
            if it was made in memory.

    Example:
        >>> import torch
        >>> edges = torch.tensor([[0, 2, 2], [1, 1, 0]])
        >>> graph = stored(Data(x=torch.ones(3, 1), edge_index=edges, y=torch.tensor([0, 1, -1])))
        >>> graph.indices[graph.indptr[1] : graph.indptr[2]]
        array([0, 2], dtype=int32)
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    x: NDArray[np.float32]
    y: NDArray[np.int64] | NDArray[np.float32] | NDArray[np.float64]
    weight: NDArray[np.float32] | None = None
    split: NDArray[np.int8] | None = None
    folder: Path | None = None
    schema: Schema | None = None
    counts: Counts | None = None

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        return len(self.indices)

    @cached_property
    def ids(self) -> pd.Series[Any]:
        """The id of each node, as its table had it; the number of its row if there was no table."""
        if self.folder is None or self.schema is None:
            return pd.Series(np.arange(self.num_nodes), name="id")
        try:
            ids = pd.read_parquet(self.folder / "ids.parquet")[self.schema.id]
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(
                f"{self.folder} is damaged: its ids.parquet can't be read ({error}); prepare it again"
            ) from error
        if len(ids) != self.num_nodes:
            raise ValueError(
                f"{self.folder} is damaged: its ids.parquet has {len(ids)} ids; expected {self.num_nodes}"
            )
        return ids

    def part(self, name: str) -> Tensor:
        """Which nodes the split gives to a part, bool ``[N]``: to one of :data:`PARTS`."""
        if self.split is None:
            raise ValueError("the graph has no split; prepare it with --split")
        return torch.from_numpy(self.split == PARTS.index(name))

    def to_data(self) -> Data:
        """The graph in memory, with its edges in the order in which tables give them: by source.

        Example:
            >>> edges = torch.tensor([[0, 2, 2], [1, 0, 1]])
            >>> data = Data(x=torch.ones(3, 1), edge_index=edges, y=torch.tensor([0, 1, -1]))
            >>> stored(data).to_data().edge_index.tolist()
            [[0, 2, 2], [1, 0, 1]]
        """
        n = self.num_nodes
        values = np.ones(self.num_edges, np.int8) if self.weight is None else self.weight
        a = sp.csr_array((values, self.indices, self.indptr), shape=(n, n)).tocsc()
        source = np.repeat(np.arange(n), np.diff(a.indptr))
        edge_index = torch.from_numpy(np.stack([source, a.indices.astype(np.int64)]))
        data = Data(x=torch.from_numpy(np.array(self.x)), edge_index=edge_index)
        data.y = torch.from_numpy(np.array(self.y))
        if self.weight is not None:
            data.edge_weight = torch.from_numpy(a.data)
        return data


PARTS = ("", "train", "val", "test", "observed")
"""The parts of a split, by their number; 0 is a node without one."""


def outline(graph: StoredGraph) -> Data:
    """The labels of a stored graph and the masks of its split; x as it is, and no edges.

    Example:
        >>> import torch
        >>> data = Data(x=torch.ones(2, 3), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0, 1]))
        >>> outline(stored(data)).x.shape
        torch.Size([2, 3])
    """
    data = Data(x=shared(graph.x), y=torch.from_numpy(np.array(graph.y)))
    if graph.split is not None:
        for name in ("train", "val"):
            data[f"{name}_mask"] = torch.from_numpy(np.asarray(graph.split) == PARTS.index(name))
    return data


def stored(data: Data) -> StoredGraph:
    """The arrays of a PyG ``Data``, in memory; features become dense, edges that occur twice add up."""
    n = data.num_nodes
    source, target = data.edge_index.cpu().numpy()
    given = data.edge_weight
    values = np.ones(len(source), np.float32) if given is None else given.float().cpu().numpy()
    a = sp.csr_array((values, (target, source)), shape=(n, n))
    a.sum_duplicates()
    x: Tensor = data.x if data.x.layout == data.y.layout else data.x.to_dense()
    y = data.y.cpu().numpy()
    return StoredGraph(
        a.indptr.astype(np.int64),
        a.indices.astype(np.int32),
        x.float().cpu().numpy(),
        y.astype(np.float32 if np.issubdtype(y.dtype, np.floating) else np.int64),
        None if (a.data == 1).all() else a.data.astype(np.float32),
    )
