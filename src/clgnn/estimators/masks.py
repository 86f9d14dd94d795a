"""The masks of gradient steps and of predictions, on partially labelled graphs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from clgnn.collective.masking import choose_mask, draw_mask, draw_shown
from clgnn.collective.sampling import stream

MASKS = 2**31 + 1
"""Sets masks apart from the draws of labels."""
POOL = 10
"""So many masks the steps choose from, where the first predictions must be made for each of them."""


def step_masks(
    observed: Tensor, share: float, masks: Any, pooled: bool, seed: int
) -> Callable[[torch.Generator], Tensor]:
    """What draws the mask M of a gradient step.

    Args:
        observed: the labels to learn from, bool ``[N]``.
        share: the part of them that a mask shows.
        masks: a set of masks to choose from, bool ``[J, N]``; None for random ones.
        pooled: whether random ones come from a pool of a few, drawn once.
        seed: of the pool.
    """
    if masks is None and not pooled:
        return partial(draw_mask, observed, share)
    if masks is None:
        generator = stream(observed.device, seed, MASKS, 1)
        pool = [draw_mask(observed, share, generator) for _ in range(POOL)]
        return partial(choose_mask, torch.stack(pool), observed)
    given = torch.as_tensor(masks).to(observed.device)
    if given.dtype != torch.bool or given.dim() != 2 or given.size(1) != len(observed) or not len(given):
        raise ValueError(f"masks is {given.dtype} {tuple(given.shape)}; expected bool [J, {len(observed)}]")
    if bool((observed & ~given).sum(dim=1).eq(0).any()):
        raise ValueError("a mask shows every training label; each must hide one at least, as the target")
    return partial(choose_mask, given, observed)


def prediction_masks(
    observed: Tensor, share: float, num_masks: int | None, num_samples: int, seed: int
) -> list[Tensor]:
    """The masks of a prediction: J masks ``[N]``, or one mask for each of K samples, ``[N, K]``."""
    generator = stream(observed.device, seed, MASKS)
    count = num_samples if num_masks is None else num_masks
    masks = [draw_shown(observed, share, generator) for _ in range(count)]
    return [torch.stack(masks, dim=1)] if num_masks is None else masks
