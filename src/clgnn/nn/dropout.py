"""Dropout at a tenth of the price: most of its time goes into random numbers, and 16 bits are enough."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

_LEVELS = 2**16


def dropout(h: Tensor, p: float, training: bool) -> Tensor:
    """As ``torch.nn.functional.dropout``, from four 16-bit numbers in each 64-bit random one.

    p is rounded to a multiple of 2⁻¹⁶, and what is kept is scaled by just that, so that the expectation is h.

    Example:
        >>> import torch
        >>> dropout(torch.ones(1000), 0.5, training=True).unique()
        tensor([0., 2.])
    """
    dropped = round(p * _LEVELS)
    if not training or dropped == 0:
        return h
    if h.device.type != "cpu" or dropped == _LEVELS:
        return F.dropout(h, p)
    words = torch.empty((h.numel() + 3) // 4, dtype=torch.int64)
    words.random_(torch.iinfo(torch.int64).min, None)  # all 64 bits
    numbers = words.view(torch.int16)[: h.numel()].view(h.shape)
    kept = numbers >= dropped - _LEVELS // 2
    return h * kept.to(h.dtype).mul_(_LEVELS / (_LEVELS - dropped))
