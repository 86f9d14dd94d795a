"""The mask M: which observed labels are input and which are target.

With a mask M over the observed labels Y_L, the labels shown are Y_L * M and the loss is over
Y_L * (1 - M): a target never is an input in the same step. When the graphs to predict have no labels
(test-unlabelled) M = 0; when they have some (test-partial) M is drawn anew for each gradient step.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def draw_mask(observed: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """A random mask M of a gradient step: it shows ``share`` of the labels, and always hides one at least.

    Args:
        observed: bool ``[N]``, V_L.
        share: of V_L that is shown, between 0 and 1.
        generator: where the randomness comes from.

    Returns:
        bool ``[N]``, a subset of ``observed``.

    Example:
        >>> import torch
        >>> observed = torch.tensor([True, True, False, True, True])
        >>> mask = draw_mask(observed, 0.5, torch.Generator().manual_seed(0))
        >>> int(mask.sum()), bool(mask[2])
        (2, False)
    """
    nodes = observed.nonzero().squeeze(1)
    return _shown(observed, nodes, max(0, min(round(share * len(nodes)), len(nodes) - 1)), generator)


def draw_shown(observed: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """A random mask M of a prediction: it shows ``share`` of the labels, in the mean over many masks.

    Nothing is a target here, so a mask may show every label; a single label is shown by ``share`` of the
    masks. Arguments and result are those of :func:`draw_mask`.

    Example:
        >>> import torch
        >>> generator = torch.Generator().manual_seed(0)
        >>> one = torch.tensor([False, True])
        >>> sorted({int(draw_shown(one, 0.5, generator).sum()) for _ in range(20)})
        [0, 1]
    """
    nodes = observed.nonzero().squeeze(1)
    chance = torch.rand((), generator=generator, device=generator.device).item()
    return _shown(observed, nodes, min(math.floor(share * len(nodes) + chance), len(nodes)), generator)


def _shown(observed: Tensor, nodes: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """A mask that shows ``count`` of the nodes."""
    order = torch.randperm(len(nodes), generator=generator, device=generator.device)
    mask = torch.zeros_like(observed)
    mask[nodes[order[:count].to(nodes.device)]] = True
    return mask


def choose_mask(masks: Tensor, observed: Tensor, generator: torch.Generator) -> Tensor:
    """M ~ Uniform of a given set of masks ``[J, N]``; only observed labels can be shown."""
    j = int(torch.randint(len(masks), (1,), generator=generator, device=generator.device))
    return masks[j] & observed
