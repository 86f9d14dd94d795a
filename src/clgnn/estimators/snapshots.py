"""An iteration in the middle, in one file: nested tensors and plain values as safetensors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from clgnn.files import written

FILE = "snapshot.safetensors"
_TENSOR = "__tensor__"


def write(path: Path, snapshot: dict[str, Any]) -> None:
    """Writes a snapshot as a whole, or not at all; none if an optimiser of one's own keeps other things."""
    tensors: dict[str, Tensor] = {}
    try:
        told = json.dumps(_taken_out(snapshot, tensors))
    except TypeError:
        return
    with written(path) as temporary:
        temporary.write_bytes(save(tensors, metadata={"snapshot": told}))


def read(path: Path) -> dict[str, Any] | None:
    """The snapshot that was written; None if there is none.

    Raises:
        ValueError: if it is damaged.
    """
    try:
        with safe_open(path, "pt") as file:
            told = json.loads((file.metadata() or {})["snapshot"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        found: dict[str, Any] = _put_back(told, tensors)
    except FileNotFoundError:
        return None
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"{path} is damaged ({reason}); remove it to go on from the last iteration"
        ) from error
    return found


def _taken_out(value: Any, tensors: dict[str, Tensor]) -> Any:
    """The same with a name in place of each tensor; dictionaries are pairs, as keys may be numbers."""
    if isinstance(value, Tensor):
        name = str(len(tensors))
        tensors[name] = value.detach().cpu().clone().contiguous()
        return {_TENSOR: name}
    if isinstance(value, dict):
        return {"pairs": [[key, _taken_out(item, tensors)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return [_taken_out(item, tensors) for item in value]
    return value


def _put_back(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, dict):
        if _TENSOR in value:
            return tensors[value[_TENSOR]]
        return {key: _put_back(item, tensors) for key, item in value["pairs"]}
    if isinstance(value, list):
        return [_put_back(item, tensors) for item in value]
    return value
