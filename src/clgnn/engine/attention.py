"""Attention for all samples at once: a weight for each edge and sample, never a row for each of them.

With K samples, what the edges carry is ``[E, K, h]``, by far the largest thing in a step. Both things that
attention does with it can be had without writing it down: sums of neighbours with a weight for each edge,
:func:`attend`, and products of the two ends of each edge, :func:`dots`. Each is the gradient of the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from clgnn.data.derived import derived

PIECE = 2**18
"""So many numbers of the rows of edges are written down at a time, which stay in the cache."""


class Order(NamedTuple):
    """Edges sorted by one of their ends.

    Attributes:
        edges: their numbers in that order, ``[E]``.
        others: their other ends, ``[E]``.
        pointers: where those of each node begin, and the end, ``[n + 1]``.
    """

    edges: Tensor
    others: Tensor
    pointers: Tensor


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


def _order(end: Tensor, other: Tensor, rows: int) -> Order:
    edges = end.argsort(stable=True)
    counts = torch.bincount(end, minlength=rows)
    return Order(edges, other[edges], torch.cat([counts.new_zeros(1), counts.cumsum(0)]))


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
    result: Tensor = _Attend.apply(of, weight, x)  # type: ignore[no-untyped-call]
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
    result: Tensor = _Dots.apply(of, left, right)  # type: ignore[no-untyped-call]
    return result


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
    """Gathers, weighs and adds up in one pass for each sample, ``[n, S, c]``."""
    weights = weight.detach().index_select(0, order.edges).t().contiguous()  # [S, E]
    tables = x.detach().transpose(0, 1).contiguous()  # [S, N, c]
    found = x.new_empty(len(order.pointers) - 1, *x.shape[1:])
    for s, (table, of_edges) in enumerate(zip(tables, weights, strict=True)):
        found[:, s] = F.embedding_bag(
            order.others,
            table,
            order.pointers,
            mode="sum",
            per_sample_weights=of_edges,
            include_last_offset=True,
        )
    return found


def _products(i: Tensor, left: Tensor, j: Tensor, right: Tensor) -> Tensor:
    """The dot products of rows i and j, some edges at a time, ``[E, S]``."""
    step = max(1, PIECE // max(1, left[0].numel()))
    found = left.new_empty(len(i), left.size(1))
    for some in range(0, len(i), step):
        here = slice(some, some + step)
        both = left.index_select(0, i[here]).mul_(right.index_select(0, j[here]))
        torch.sum(both, dim=-1, out=found[here])
    return found
