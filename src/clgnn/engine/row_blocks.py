"""Rows of the operator of a large graph: what a few nodes gather, and from whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clgnn.engine.packed import Packed
from clgnn.engine.propagation import Normalization, SparseMatrix
from clgnn.engine.streamed import Streamed

SMALL = 2**28
"""Label columns that take no more bytes than this are written out, once for all rows."""


class RowBlock(SparseMatrix):
    """Some rows of an operator, ``[n, N]``.

    Args:
        csr: the rows.
        first: the number of the first one.

    Attributes:
        own: the nodes that the rows are of, among those that the columns are of.
    """

    def __init__(self, csr: Tensor, first: int) -> None:
        super().__init__(csr)
        self.own: slice | Tensor = slice(first, first + csr.size(0))


def gather(a: SparseMatrix, labels: Tensor | Packed) -> Tensor:
    """``A @ Y`` for label columns ``[N, K, C]``, packed or not."""
    if isinstance(labels, Tensor):
        return a @ labels
    n, k, c = labels.shape
    return a @ labels.written_out if n * k * c * 4 <= SMALL else _counts(a.csr, labels)


def own_rows(a: SparseMatrix, h: Tensor | Packed) -> Tensor:
    """The rows of h ``[N, ..]`` of the nodes that the operator gathers for; all of them, if it is for all."""
    if isinstance(a, RowBlock):
        return h[a.own]
    assert isinstance(h, Tensor)
    return h


def _counts(csr: Tensor, labels: Packed) -> Tensor:
    """``A @ Y`` for one-hot Y ``[N, K, C]``: for each row and sample, the weight of each column."""
    (_, k, c), n = labels.shape, csr.size(0)
    rows = torch.repeat_interleave(csr.crow_indices().diff())
    places = torch.arange(k, device=rows.device) + k * rows.unsqueeze(1)  # [E, K]
    places = places * (c + 1) + labels.codes[csr.col_indices().long()]
    weight = csr.values().unsqueeze(1).expand(-1, k)
    found = torch.bincount(places.view(-1), weight.reshape(-1), minlength=n * k * (c + 1))
    return found.view(n, k, c + 1)[..., 1:].to(csr.dtype)


def row_block(graph: Streamed, first: int, last: int, normalization: Normalization) -> RowBlock:
    """Rows ``first`` to ``last`` of the operator that :func:`clgnn.engine.propagation.propagation` gives.

    Example:
        >>> from clgnn.data.graph import Graph
        >>> from clgnn.engine.streamed import streamed
        >>> line = Graph(torch.ones(3, 1), torch.tensor([[0, 1], [1, 2]]), None, (3,))
        >>> row_block(streamed(line, torch.device("cpu")), 1, 3, "row").csr.to_dense()
        tensor([[0.5000, 0.5000, 0.0000],
                [0.0000, 0.5000, 0.5000]])
    """
    stored = graph.stored
    begin, end = int(stored.indptr[first]), int(stored.indptr[last])
    indptr: NDArray[np.int64] = np.asarray(stored.indptr[first : last + 1]) - begin
    indices: NDArray[np.int32] = np.asarray(stored.indices[begin:end])
    given = None if stored.weight is None else np.asarray(stored.weight[begin:end], np.float64)
    values = np.ones(len(indices)) if given is None else given
    if normalization in ("row", "sym"):  # and each node itself, at the end of its row
        counts, indptr = np.diff(indptr), indptr + np.arange(last - first + 1)
        others = np.ones(len(indices) + last - first, dtype=bool)
        others[indptr[1:] - 1] = False
        own = np.arange(first, last)
        indices, values = _merged(others, indices, own), _merged(others, values, np.ones(len(counts)))
    if normalization != "sum":
        rows = np.repeat(np.arange(last - first), np.diff(indptr))
        degree = np.bincount(rows, values, minlength=last - first)
        degree = np.where(degree > 0, degree, 1)
        if normalization == "sym":
            values = values * degree[rows] ** -0.5 * (graph.in_weight[indices] + 1.0) ** -0.5
        else:
            values = values / degree[rows]
    csr = torch.sparse_csr_tensor(
        torch.from_numpy(indptr.astype(np.int32)),
        torch.from_numpy(indices.astype(np.int32)),
        torch.from_numpy(values.astype(np.float32)),
        (last - first, graph.num_nodes),
        check_invariants=False,
    )
    return RowBlock(csr.to(graph.device), first)


def _merged(first: NDArray[np.bool_], a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Both arrays in one: the elements of a where ``first`` is set, those of b elsewhere."""
    made = np.empty(len(first), a.dtype)
    made[first], made[~first] = a, b
    return made
