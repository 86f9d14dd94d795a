"""Several processes that work on the same fit, through ``torch.distributed``; one where it is not set up.

What comes out does not depend on how many there are: sums have a fixed order, and rows are only moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

Item = TypeVar("Item")


def number() -> int:
    """How many processes there are."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Which of them this one is, from 0 on."""
    return dist.get_rank() if number() > 1 else 0


def own(items: Sequence[Item]) -> list[tuple[int, Item]]:
    """Every item that this process does, with its number: they are dealt out in turn.

    Example:
        >>> own(["a", "b"])
        [(0, 'a'), (1, 'b')]
    """
    return list(enumerate(items))[rank() :: number()]


def summed(found: Mapping[int, Tensor], count: int, like: Tensor) -> Tensor:
    """The sum of vectors number 0, .., count - 1, in this order, of which each process has its :func:`own`.

    Args:
        found: the vectors ``[d]`` that this process has; one that nobody has is zero.
        count: how many there are in all.
        like: a vector ``[d]`` on the device.

    Example:
        >>> summed({0: torch.ones(2), 2: torch.ones(2)}, 3, torch.zeros(2))
        tensor([2., 2.])
    """
    size, me = number(), rank()
    zero = torch.zeros_like(like)
    mine = torch.stack([found.get(i, zero) for i in range(me, me + -(-count // size) * size, size)])
    rows = [mine]
    if size > 1:
        rows = [torch.empty_like(mine) for _ in range(size)]
        dist.all_gather(rows, mine)
    total = rows[0][0].clone()
    for i in range(1, count):
        total += rows[i % size][i // size]
    return total


def ranges(pieces: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Ranges of rows, in order, as each of the processes does them: neighbours stay together."""
    size = number()
    bounds = [len(pieces) * i // size for i in range(size + 1)]
    return [list(pieces[a:b]) for a, b in pairwise(bounds)]


def shared(rows: Tensor, split: Sequence[Sequence[tuple[int, int]]]) -> Tensor:
    """Rows ``[N, ..]`` of which each process has made its :func:`ranges`: now all have all of them."""
    if number() > 1:
        for source, pieces in enumerate(split):
            if pieces:
                dist.broadcast(rows[pieces[0][0] : pieces[-1][1]], source)
    return rows


def wait() -> None:
    """Until all processes are here."""
    if number() > 1:
        dist.barrier()
