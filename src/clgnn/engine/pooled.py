"""A hidden layer of all samples that is never written down: only its mean over the samples is needed.

``[N, K, h]`` is the largest thing in a step of a GNN with two layers. On a large graph most of a step went
into writing and reading it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from clgnn.engine.dropout import dropout_mask, kept_factor

PIECE = 2**19
"""About so many numbers are worked on at a time, which stay in the cache."""


def pieces(nodes: int, samples: int, width: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Ranges of nodes with about ``size`` numbers, and of their rows; a node has one row for each sample.

    They are multiples of 64 nodes, so that pieces draw the same bits for dropout as all rows at once do.

    Example:
        >>> [nodes for nodes, _ in pieces(100, 2, 4, size=512)]
        [slice(0, 64, None), slice(64, 100, None)]
    """
    step = max(1, size // (64 * samples * width)) * 64
    for first in range(0, nodes, step):
        last = min(nodes, first + step)
        yield slice(first, last), slice(first * samples, last * samples)


def mean_of_relu(features: Tensor, labels: Tensor, weight: Tensor, p: float) -> Tensor:
    r"""The mean over the samples of :math:`\mathrm{dropout}(\mathrm{ReLU}(F + Y_k W^\top))`.

    Args:
        features: F, the same for all samples, ``[n, h]``.
        labels: Y, ``[n, K, C]``.
        weight: W, ``[h, C]``.
        p: the share that is dropped.

    Returns:
        ``[n, h]``.

    Example:
        >>> mean_of_relu(torch.tensor([[1.0]]), torch.tensor([[[0.0], [-3.0]]]), torch.ones(1, 1), 0.0)
        tensor([[0.5000]])
    """
    result: Tensor = _MeanOfReLU.apply(features, labels, weight, p)  # type: ignore[no-untyped-call]
    return result


class _MeanOfReLU(torch.autograd.Function):
    """Keeps a byte for each number: whether it is positive and not dropped."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, labels: Tensor, weight: Tensor, p: float) -> Tensor:
        (n, k, c), h = labels.shape, features.size(1)
        y, out = labels.reshape(n * k, c), torch.empty_like(features)
        room = _room(features, k)
        alive = features.new_empty(n * k if any(ctx.needs_input_grad) else 0, h, dtype=torch.bool)
        for nodes, rows in pieces(n, k, h, PIECE):
            z = room[: rows.stop - rows.start]
            z.view(-1, k, h).copy_(features[nodes].unsqueeze(1))
            z.addmm_(y[rows], weight.t()).relu_()
            kept = dropout_mask(z, p)
            if kept is not None:
                z.mul_(kept)
            torch.mean(z.view(-1, k, h), dim=1, out=out[nodes])
            if len(alive):
                torch.gt(z, 0, out=alive[rows])
        ctx.save_for_backward(alive, y, weight)
        ctx.samples, ctx.factor = k, kept_factor(p, features.device)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (alive, y, weight), k = ctx.saved_tensors, ctx.samples
        each = grads[0] * (ctx.factor / k)  # of each sample
        n, h = each.shape
        of_features, of_weight, room = torch.empty_like(each), each.new_zeros(y.size(1), h), _room(each, k)
        of_labels = torch.empty_like(y) if ctx.needs_input_grad[1] else None
        for nodes, rows in pieces(n, k, h, PIECE):
            z = room[: rows.stop - rows.start]
            torch.mul(alive[rows].view(-1, k, h), each[nodes].unsqueeze(1), out=z.view(-1, k, h))
            torch.sum(z.view(-1, k, h), dim=1, out=of_features[nodes])
            of_weight.addmm_(y[rows].t(), z)
            if of_labels is not None:
                torch.mm(z, weight, out=of_labels[rows])
        return of_features, None if of_labels is None else of_labels.view(n, k, -1), of_weight.t(), None


def _room(features: Tensor, samples: int) -> Tensor:
    """Memory for the largest piece."""
    n, h = features.shape
    first = next(pieces(n, samples, h, PIECE), None)
    return features.new_empty(0 if first is None else first[1].stop, h)
