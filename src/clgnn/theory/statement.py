"""What a computed statement is, and when outputs count as equal or apart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

LAYERS = 2
"""d, the layers of every GNN here."""

TOLERANCE = 1e-10
"""Outputs that differ by less are equal: rounding makes less than 1e-14, random weights more than 1e-8."""

STANDARD_ERRORS = 4.0
"""Half the width of a confidence interval: it misses once in 16,000 times."""


@dataclass(frozen=True)
class Statement:
    """A statement of the paper, what was computed about it, and whether that bears it out.

    Attributes:
        name: where it is in the paper.
        claim: in a few words.
        computed: what was computed, by name.
        holds: whether it is as claimed.
    """

    name: str
    claim: str
    computed: Mapping[str, float | int | str]
    holds: bool


def spread(outputs: Tensor) -> float:
    """The largest distance between rows ``[N, C]``, in any column.

    Example:
        >>> import torch
        >>> spread(torch.tensor([[0.0, 1.0], [0.5, 1.0]]))
        0.5
    """
    return float((outputs.amax(dim=0) - outputs.amin(dim=0)).max())


def count(colours: Tensor) -> int:
    """How many classes there are."""
    return len(colours.unique())


def standard_error(samples: Tensor) -> Tensor:
    """The standard error of the mean of independent samples ``[R, ...]``, over their first dimension."""
    return samples.std(dim=0) / math.sqrt(len(samples))
