"""The device that a user names, or a GPU if there is one."""

from __future__ import annotations

import torch


def find_device(name: str) -> torch.device:
    """The device of that name; ``"auto"`` is a GPU if there is one.

    Raises:
        ValueError: if it can't be used here.

    Example:
        >>> find_device("cpu")
        device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        if reason.startswith("Expected one of"):
            reason = "there is no such kind of device"
        here = "'auto', 'cpu' or 'cuda'" if torch.cuda.is_available() else "'auto' or 'cpu'"
        raise ValueError(
            f"device is {name!r}, which can't be used here ({reason}); expected {here}"
        ) from error
    return device
