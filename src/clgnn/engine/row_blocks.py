"""Rows of the operator of a large graph: what a few nodes gather, and from whom."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clgnn.engine.packed import Packed
from clgnn.engine.propagation import Normalization, SparseMatrix
from clgnn.engine.streamed import Streamed

SMALL = 2**30
"""Label columns are gathered from a quarter of a byte each, if these take no more bytes than this."""


class RowBlock:
    """Some rows of an operator, ``[n, N]``: ``scale * (A + loop)``.

    They are never written out. The rows that a node gathers are added up by ``embedding_bag``, which reads
    ahead in memory, and so is faster than a sparse product.

    Args:
        first: the number of the first row.
        offsets: where the sources of each row begin, and where the last ones end, int32 ``[n + 1]``.
        sources: whom the rows gather from, int32 ``[e]``.
        weight: of the sources, ``[e]``; None for 1.
        loop: the weight of each node itself, ``[n]``, or one for all; 0 if it does not gather from itself.
        scale: of each row, ``[n]``; None for 1.
    """

    def __init__(
        self,
        first: int,
        offsets: Tensor,
        sources: Tensor,
        weight: Tensor | None,
        loop: Tensor | float,
        scale: Tensor | None,
    ) -> None:
        self.offsets, self.sources, self.weight, self.loop, self.scale = offsets, sources, weight, loop, scale
        self.own = slice(first, first + len(offsets) - 1)

    def __matmul__(self, h: Tensor) -> Tensor:
        """``A @ H`` for H of shape ``[N, ...]``; the trailing dimensions are columns."""
        if not h.numel():
            return h.new_zeros(len(self.offsets) - 1, *h.shape[1:])
        found = F.embedding_bag(
            self.sources, h.reshape(len(h), -1).float(), self.offsets,
            mode="sum", per_sample_weights=self.weight, include_last_offset=True,
        )  # fmt: skip
        return self._finished(found.view(-1, *h.shape[1:]), h)

    def gather(self, labels: Packed) -> Tensor:
        """``A @ Y`` for label columns Y ``[N, K, C]``."""
        n, k, c = labels.shape
        if self.sources.is_cuda:
            return self @ labels.written_out
        if n * k * c // 4 > SMALL:
            return self._finished(self._counts(labels), labels)
        found: Tensor = torch.ops.quantized.embedding_bag_2bit_rowwise_offsets(
            labels.quarters, self.sources, self.offsets, False, 0, False, self.weight, None, True
        )
        return self._finished(found[:, : k * c].reshape(-1, k, c), labels)

    def _counts(self, labels: Packed) -> Tensor:
        """For each row and sample, the weight of each column; from the draws of the sources."""
        _, k, c = labels.shape
        codes = labels.codes[self.sources].t().int().reshape(-1)  # [K * e]
        begin = len(self.sources) * torch.arange(k, dtype=torch.int32).unsqueeze(1)
        offsets = (self.offsets[:-1] + begin).view(-1)  # [K * n]
        weight = None if self.weight is None else self.weight.repeat(k)
        found = F.embedding_bag(codes, labels.of_code, offsets, mode="sum", per_sample_weights=weight)
        return found.view(k, -1, c).transpose(0, 1)

    def _finished(self, found: Tensor, h: Tensor | Packed) -> Tensor:
        shape = -1, *[1] * (found.dim() - 1)
        if isinstance(self.loop, Tensor):
            found = found.addcmul_(h[self.own], self.loop.view(shape))
        elif self.loop:
            found = found.add_(h[self.own], alpha=self.loop)
        return found if self.scale is None else found.mul_(self.scale.view(shape))


Operator: TypeAlias = SparseMatrix | RowBlock
"""What gathers neighbours: for all nodes, or for some of them."""


def gather(a: Operator, labels: Tensor | Packed) -> Tensor:
    """``A @ Y`` for label columns ``[N, K, C]``, packed or not."""
    if isinstance(labels, Tensor):
        return a @ labels
    assert isinstance(a, RowBlock)
    return a.gather(labels)


def own_rows(a: Operator, h: Tensor | Packed) -> Tensor:
    """The rows of h ``[N, ..]`` of the nodes that the operator gathers for; all of them, if it is for all."""
    if a.own is not None:
        return h[a.own]
    assert isinstance(h, Tensor)
    return h


def row_block(graph: Streamed, first: int, last: int, normalization: Normalization) -> RowBlock:
    """Rows ``first`` to ``last`` of the operator that :func:`clgnn.engine.propagation.propagation` gives.

    Example:
        >>> from clgnn.data.graph import Graph
        >>> from clgnn.engine.streamed import streamed
        >>> line = Graph(torch.ones(3, 1), torch.tensor([[0, 1], [1, 2]]), None, (3,))
        >>> row_block(streamed(line, torch.device("cpu")), 1, 3, "row") @ torch.eye(3)
        tensor([[0.5000, 0.5000, 0.0000],
                [0.0000, 0.5000, 0.5000]])
    """
    stored = graph.stored
    indptr = np.asarray(stored.indptr[first : last + 1])
    begin, end = int(indptr[0]), int(indptr[-1])
    offsets = torch.from_numpy((indptr - begin).astype(np.int32))
    sources = torch.from_numpy(np.array(stored.indices[begin:end]))
    weight = None if stored.weight is None else torch.from_numpy(np.array(stored.weight[begin:end]))
    loop: Tensor | float = 0.0
    scale = None
    if normalization == "sym":
        weight = graph.root[sources] if weight is None else weight * graph.root[sources]
        loop = scale = graph.root[first:last].to(graph.device)
    elif normalization != "sum":
        degree = offsets.diff() if weight is None else graph.in_weight[first:last]
        if normalization == "row":
            loop, degree = 1.0, degree + 1
        scale = torch.where(degree > 0, 1 / degree, 0).float().to(graph.device)
    if weight is not None:
        weight = weight.to(graph.device)
    return RowBlock(first, offsets.to(graph.device), sources.to(graph.device), weight, loop, scale)
