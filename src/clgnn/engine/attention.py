"""Attention for all samples at once: a weight for each edge and sample, never a row for each of them.

With K samples, what the edges carry is ``[E, K, h]``, by far the largest thing in a step. Both things that
attention does with it can be had without writing it down: sums of neighbours with a weight for each edge,
:func:`attend`, and products of the two ends of each edge, :func:`dots`. Each is the gradient of the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from clgnn.data.derived import derived

PIECE = 2**18
"""So many numbers of the rows of edges are written down at a time, which stay in the cache."""


SPREAD = 2**23
"""So many pairs of an edge and a sample are summed up at once; their places are kept."""


@dataclass(frozen=True, eq=False)
class Order:
    """Edges sorted by one of their ends.

    Attributes:
        edges: their numbers in that order, int32 ``[E]``.
        others: their other ends, int32 ``[E]``.
        pointers: where those of each node begin, and the end, int32 ``[n + 1]``.
        spread: the same of the pairs of an edge and a sample, by the number of samples.
    """

    edges: Tensor
    others: Tensor
    pointers: Tensor
    spread: dict[int, Order] = field(default_factory=dict)

    def for_samples(self, count: int) -> Order:
        """The edges of S samples as one graph: edge e of sample s is e S + s, and so are nodes."""
        if count == 1:
            return self
        if count not in self.spread:
            begin, degree, sample = self.pointers[:-1].long(), self.pointers.diff(), torch.arange(count)
            pointers = (begin * count).unsqueeze(1) + degree.unsqueeze(1) * sample  # [n, S]
            node = torch.repeat_interleave(degree)
            inside = torch.arange(len(node)) - begin[node]
            place = (pointers[node] + inside.unsqueeze(1)).view(-1)  # of the pairs [E, S]

            def placed(numbers: Tensor) -> Tensor:
                found = torch.empty_like(place, dtype=torch.int32)
                found[place] = (numbers.long().unsqueeze(1) * count + sample).view(-1).int()
                return found

            end = torch.tensor([len(place)])
            pointers = torch.cat([pointers.view(-1), end]).int()
            self.spread[count] = Order(placed(self.edges), placed(self.others), pointers)
        return self.spread[count]


class Ends(NamedTuple):
    """Both ends of each edge, ``[E]``, and the edges sorted by either."""

    left: Tensor
    right: Tensor
    by_left: Order
    by_right: Order


_store: ContextVar[list[Ends] | None] = ContextVar("store", default=None)


@contextmanager
def keeping(edge_index: Tensor) -> Iterator[None]:
    """Edges that are sorted in here stay sorted while this tensor lives."""
    token = _store.set(derived(edge_index).setdefault("ends", []))
    try:
        yield
    finally:
        _store.reset(token)


def ends(left: Tensor, right: Tensor, rows: tuple[int, int]) -> Ends:
    """Edges by their two ends ``[E]``, which are of so many nodes each; sorted once for a graph.

    Layers that add loops make other tensors of the same content in every call.
    """
    kept = _store.get()
    for one in kept or ():
        same = tuple(len(order.pointers) - 1 for order in (one.by_left, one.by_right)) == rows
        if same and torch.equal(one.left, left) and torch.equal(one.right, right):
            return one
    made = Ends(left, right, _order(left, right, rows[0]), _order(right, left, rows[1]))
    if kept is not None:
        kept.append(made)
    return made


def sorted_by(index: Tensor, rows: int) -> Order | None:
    """Edges by an end of theirs, if they stay sorted; else None."""
    kept = _store.get()
    if kept is None or index.device.type != "cpu":
        return None
    for one in kept:
        for end, order in ((one.left, one.by_left), (one.right, one.by_right)):
            if len(order.pointers) == rows + 1 and torch.equal(end, index):
                return order
    order = _order(index, index, rows)
    kept.append(Ends(index, index, order, order))
    return order


def _order(end: Tensor, other: Tensor, rows: int) -> Order:
    edges = end.argsort(stable=True)
    counts = torch.bincount(end, minlength=rows)
    pointers = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return Order(edges.int(), other[edges].int(), pointers.int())


def rows_to_edges(x: Tensor, index: Tensor) -> Tensor:
    """``x.index_select(0, index)``, whose gradient is summed over sorted edges, which is faster."""
    order = sorted_by(index, len(x)) if x.requires_grad and x.is_floating_point() else None
    if order is None or not x.numel():
        return x.index_select(0, index)
    result: Tensor = _Rows.apply(order, index, x)  # type: ignore[no-untyped-call]
    return result


def sums_of_edges(x: Tensor, index: Tensor, rows: int) -> Tensor:
    """Adds row e of x ``[E, ..]`` to row ``index[e]`` of ``[rows, ..]``."""
    order = sorted_by(index, rows) if x.is_floating_point() else None
    if order is None or not x.numel():
        return x.new_zeros(rows, *x.shape[1:]).index_add(0, index, x)
    result: Tensor = _RowSums.apply(order, index, x)  # type: ignore[no-untyped-call]
    return result


def largest_of_edges(x: Tensor, index: Tensor, rows: int) -> Tensor | None:
    """The largest of the rows that belong together, 0 if there are none; None if that has no fast way."""
    order = sorted_by(index, rows) if x.dtype in (torch.float32, torch.float64) else None
    if order is None or x.requires_grad or not x.numel():
        return None
    ones = x.new_ones(len(order.edges))
    each = torch.sparse_csr_tensor(
        order.pointers, order.edges, ones, (rows, len(ones)), check_invariants=False
    )
    found: Tensor = torch.sparse.mm(each, x.reshape(len(x), -1), "amax")
    return found.view(rows, *x.shape[1:])


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, order: Order, index: Tensor, x: Tensor) -> Tensor:
        ctx.order = order
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, _added_up(ctx.order, grads[0])


class _RowSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, order: Order, index: Tensor, x: Tensor) -> Tensor:
        ctx.index = index
        return _added_up(order, x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, grads[0].index_select(0, ctx.index)


def _added_up(order: Order, x: Tensor) -> Tensor:
    columns = x.detach().reshape(len(x), -1)
    found = F.embedding_bag(order.edges, columns, order.pointers, mode="sum", include_last_offset=True)
    return found.view(-1, *x.shape[1:])


def attend(of: Ends, weight: Tensor, x: Tensor) -> Tensor:
    r"""For each left node i and sample, :math:`\sum_e w_e x_{j(e)}` over its edges e to right nodes j.

    Args:
        of: E edges between n and N nodes.
        weight: ``[E, S]``, for S samples (of each head).
        x: ``[N, S, c]``.

    Returns:
        ``[n, S, c]``.

    Example:
        >>> two = ends(torch.tensor([0, 0]), torch.tensor([1, 0]), (1, 2))
        >>> attend(two, torch.tensor([[1.0], [10.0]]), torch.tensor([[[1.0]], [[2.0]]]))
        tensor([[[12.]]])
    """
    result: Tensor = _Attend.apply(of, *_of_one_type(weight, x))  # type: ignore[no-untyped-call]
    return result


def dots(of: Ends, left: Tensor, right: Tensor) -> Tensor:
    r"""For each edge between i and j, and each sample, :math:`\langle l_i, r_j \rangle`: ``[E, S]``.

    Args:
        of: E edges between n and N nodes.
        left: ``[n, S, c]``.
        right: ``[N, S, c]``.

    Example:
        >>> two = ends(torch.tensor([0, 0]), torch.tensor([1, 0]), (1, 2))
        >>> dots(two, torch.tensor([[[3.0]]]), torch.tensor([[[1.0]], [[2.0]]]))
        tensor([[6.],
                [3.]])
    """
    result: Tensor = _Dots.apply(of, *_of_one_type(left, right))  # type: ignore[no-untyped-call]
    return result


def _of_one_type(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the larger of their types: under autocast one of them may be bfloat16."""
    dtype = torch.promote_types(one.dtype, other.dtype)
    return one.to(dtype), other.to(dtype)


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, of: Ends, weight: Tensor, x: Tensor) -> Tensor:
        ctx.of = of
        ctx.save_for_backward(weight, x)
        return _sums(of.by_left, weight, x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (weight, x), of, (grad,) = ctx.saved_tensors, ctx.of, grads
        of_weight = _products(of.left, grad, of.right, x) if ctx.needs_input_grad[1] else None
        of_x = _sums(of.by_right, weight, grad) if ctx.needs_input_grad[2] else None
        return None, of_weight, of_x


class _Dots(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, of: Ends, left: Tensor, right: Tensor) -> Tensor:
        ctx.of = of
        ctx.save_for_backward(left, right)
        return _products(of.left, left, of.right, right)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (left, right), of, (grad,) = ctx.saved_tensors, ctx.of, grads
        of_left = _sums(of.by_left, grad, right) if ctx.needs_input_grad[1] else None
        of_right = _sums(of.by_right, grad, left) if ctx.needs_input_grad[2] else None
        return None, of_left, of_right


def _sums(order: Order, weight: Tensor, x: Tensor) -> Tensor:
    """Gathers, weighs and adds up in one pass for all samples, or for some at a time, ``[n, S, c]``."""
    weight, x = weight.detach(), x.detach()
    (_, samples, c), n = x.shape, len(order.pointers) - 1
    together = max(1, min(samples, SPREAD // max(1, len(order.edges))))
    parts = []
    for first in range(0, samples, together):
        some = slice(first, min(samples, first + together))
        pairs = order.for_samples(some.stop - first)
        found = F.embedding_bag(
            pairs.others,
            x[:, some].reshape(-1, c),
            pairs.pointers,
            mode="sum",
            per_sample_weights=weight[:, some].reshape(-1).index_select(0, pairs.edges),
            include_last_offset=True,
        )
        parts.append(found.view(n, -1, c))
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def _products(i: Tensor, left: Tensor, j: Tensor, right: Tensor) -> Tensor:
    """The dot products of rows i and j, some edges at a time, ``[E, S]``."""
    step = max(1, PIECE // max(1, left[0].numel()))
    found = left.new_empty(len(i), left.size(1))
    for some in range(0, len(i), step):
        here = slice(some, some + step)
        both = left.index_select(0, i[here]).mul_(right.index_select(0, j[here]))
        torch.sum(both, dim=-1, out=found[here])
    return found
