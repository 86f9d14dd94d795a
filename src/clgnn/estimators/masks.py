"""The masks of a fit, of its gradient steps, and of predictions on partially labelled graphs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from clgnn.collective.masking import choose_mask, draw_mask, draw_shown
from clgnn.collective.sampling import stream
from clgnn.data.graph import ONE, Graphs, Mask, as_list

MASKS = 2**31 + 1
"""Sets masks apart from the draws of labels."""
POOL = 10
"""So many masks the steps choose from, where the first predictions must be made for each of them."""


def default_masks(data: Graphs, train_mask: Mask | None, val_mask: Mask | None) -> tuple[Mask, Mask | None]:
    """The masks of a fit: those that are given, or else those that the graphs have themselves.

    Only if no ``train_mask`` is given, ``data.train_mask`` is taken, and with it ``data.val_mask``, if it is
    there and no other is given. So a ``train_mask`` alone still means: no validation.

    Raises:
        ValueError: if there is neither a ``train_mask`` nor a ``data.train_mask``.

    Example:
        >>> from torch_geometric.data import Data, HeteroData
        >>> data = Data(x=torch.ones(2, 1), train_mask=torch.tensor([True, False]))
        >>> default_masks(data, None, None)
        (tensor([ True, False]), None)
        >>> default_masks(data, [1], None)
        ([1], None)
    """
    if train_mask is not None:
        return train_mask, val_mask
    graphs = as_list(data)
    own = {name: [getattr(one, name, None) for one in graphs] for name in ("train_mask", "val_mask")}
    for name, masks in own.items():
        several = next((m for m in masks if isinstance(m, Tensor) and m.dim() == 2), None)
        if several is not None:
            raise ValueError(
                f"the graph has {several.size(1)} splits, {name} of shape {tuple(several.shape)}; expected "
                f"one: fit(data, data.train_mask[:, 0], data.val_mask[:, 0])"
            )
    if any(mask is None for mask in own["train_mask"]):
        raise ValueError(
            "no train_mask is given, and the graph has none of its own; expected one of them: a bool mask "
            "[N] or the indices of the nodes to learn from"
        )
    if val_mask is None and all(mask is not None for mask in own["val_mask"]):
        val_mask = own["val_mask"][0] if isinstance(data, ONE) else own["val_mask"]
    return own["train_mask"][0] if isinstance(data, ONE) else own["train_mask"], val_mask


def step_masks(
    observed: Tensor, share: float, masks: Any, pooled: bool, seed: int
) -> Callable[[torch.Generator], Tensor]:
    """What draws the mask M of a gradient step.

    Args:
        observed: the labels to learn from, bool ``[N]``.
        share: the part of them that a mask shows.
        masks: a set of masks to choose from, bool ``[J, N]``; None for random ones.
        pooled: whether random ones come from a pool of a few, drawn once, because predictions under each of
            them cost much.
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
