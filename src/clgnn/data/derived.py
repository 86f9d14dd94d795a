"""What is derived from a tensor (a layout, an operator, a product) and kept while that tensor lives."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

_kept: WeakIdKeyDictionary = WeakIdKeyDictionary()


def derived(tensor: Tensor) -> dict[Any, Any]:
    """A dictionary of what was derived from a tensor; empty again after a change in place.

    Example:
        >>> import torch
        >>> x = torch.ones(3)
        >>> derived(x)["sum"] = x.sum()
        >>> derived(x)
        {'sum': tensor(3.)}
        >>> _ = x.add_(1)
        >>> derived(x)
        {}
    """
    if tensor.is_inference():  # made in torch.inference_mode: it has no version to tell a change by
        return {}
    known: tuple[int, dict[Any, Any]] | None = _kept.get(tensor)
    if known is None or known[0] != tensor._version:  # new, or changed in place
        known = _kept[tensor] = (tensor._version, {})
    return known[1]
