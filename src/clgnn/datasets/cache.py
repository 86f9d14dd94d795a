"""Parsed copies: what a raw file holds, as tensors in a safetensors file that loads in milliseconds."""

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from clgnn.datasets.files import cache_folder, replacing

VERSION = "1"  # of the parsers; another one makes older copies stale
_log = logging.getLogger(__name__)


def parsed(name: str, source: str, parse: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
    """What ``parse`` gives, from a copy if there is an intact one of the same source and version.

    A copy that is damaged or stale is made anew. Where no copy can be written, there is none.
    """
    path = cache_folder() / "parsed" / f"{name.replace('/', '-')}.safetensors"
    try:
        return _read(path, source)
    except FileNotFoundError:
        pass
    except (OSError, SafetensorError, ValueError) as error:
        _log.info("%s is made anew: %s", path, error)
    tensors = {part: tensor.contiguous() for part, tensor in parse().items()}
    try:
        with replacing(path) as target:
            about = {"version": VERSION, "source": source, "digest": _digest(tensors)}
            save_file(tensors, target, metadata=about)
    except (OSError, SafetensorError) as error:
        _log.info("no copy at %s: %s", path, error)
    return tensors


def _read(path: Path, source: str) -> dict[str, Tensor]:
    with safe_open(path, framework="pt") as file:
        about = file.metadata() or {}
        if (about.get("version"), about.get("source")) != (VERSION, source):
            raise ValueError("it is of another version or source")
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if about.get("digest") != _digest(tensors):
        raise ValueError("it is damaged")
    return tensors


def _digest(tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)}".encode())
        digest.update(tensors[name].numpy().tobytes())
    return digest.hexdigest()
