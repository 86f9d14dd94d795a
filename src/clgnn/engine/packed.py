"""The label columns of all nodes of a large graph, in one byte for each draw."""

from __future__ import annotations

from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor


class Packed:
    """Label columns ``[N, K, C]`` that are one-hot or all zero, as the number of the column plus one, or 0.

    Args:
        codes: uint8 ``[N, K]``.
        columns: C, at most 255.

    Example:
        >>> packed = Packed(torch.tensor([[2], [0]], dtype=torch.uint8), 3)
        >>> packed[:]
        tensor([[[0., 1., 0.]],
                [[0., 0., 0.]]])
    """

    def __init__(self, codes: Tensor, columns: int) -> None:
        self.codes, self.columns = codes, columns

    @property
    def shape(self) -> torch.Size:
        return torch.Size((*self.codes.shape, self.columns))

    def size(self, dim: int) -> int:
        return self.shape[dim]

    def __len__(self) -> int:
        return len(self.codes)

    def to(self, device: torch.device) -> Packed:
        return self if self.codes.device == device else Packed(self.codes.to(device), self.columns)

    def split(self, size: int, dim: int = 1) -> list[Packed]:
        """So many samples at a time."""
        return [Packed(part, self.columns) for part in self.codes.split(size, dim)]

    @cached_property
    def written_out(self) -> Tensor:
        """The label columns of all nodes."""
        return self[:]

    def __getitem__(self, rows: slice | Tensor) -> Tensor:
        return F.one_hot(self.codes[rows].long(), self.columns + 1)[..., 1:].float()


def codes(labels: Tensor) -> Tensor:
    """What :class:`Packed` holds of label columns ``[n, K, C]``."""
    best, column = labels.max(dim=2)
    return torch.where(best > 0, column + 1, 0).to(torch.uint8)
