"""The label columns of all nodes of a large graph, in one byte for each draw."""

from __future__ import annotations

from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from clgnn.data.arrays import empty

ROWS = 65_536
"""So many nodes are packed at a time."""


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
    def of_code(self) -> Tensor:
        """The columns of each code, ``[C + 1, C]``."""
        return torch.eye(self.columns + 1, device=self.codes.device)[:, 1:].contiguous()

    @cached_property
    def written_out(self) -> Tensor:
        """The label columns of all nodes."""
        return self[:]

    @cached_property
    def quarters(self) -> Tensor:
        """The label columns in a quarter of a byte each, as PyTorch has rows of 2-bit numbers.

        Four columns lie in a byte, and behind all of them scale and offset of the row, 1 and 0 in float16.
        Zeros are added up to a multiple of eight columns, which are summed faster: uint8
        ``[N, 2 * ceil(K * C / 8) + 4]``.
        """
        n, k, c = self.shape
        width = 2 * -(-k * c // 8)
        made = empty((n, width + 4), torch.uint8)
        made[:, width:] = torch.tensor([1, 0], dtype=torch.float16).view(torch.uint8)
        column = torch.arange(1, c + 1, dtype=torch.uint8)
        place = torch.tensor([1, 4, 16, 64], dtype=torch.uint8)
        for first in range(0, n, ROWS):
            rows = slice(first, first + ROWS)
            written = (self.codes[rows].unsqueeze(2) == column).view(torch.uint8).view(-1, k * c)
            fours = F.pad(written, (0, 4 * width - k * c)).view(-1, width, 4)
            made[rows, :width] = (fours * place).sum(dim=2, dtype=torch.uint8)
        return made

    def __getitem__(self, rows: slice | Tensor) -> Tensor:
        return F.embedding(self.codes[rows].int(), self.of_code)


def codes(labels: Tensor) -> Tensor:
    """What :class:`Packed` holds of label columns ``[n, K, C]``."""
    best, column = labels.max(dim=2)
    return torch.where(best > 0, column + 1, 0).to(torch.uint8)
