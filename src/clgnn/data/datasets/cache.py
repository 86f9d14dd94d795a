"""Parsed copies: what a raw file holds, as tensors in a safetensors file that loads in milliseconds."""

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from clgnn.data.datasets.files import cache_folder
from clgnn.files import written

VERSION = "1"  # of the parsers; another one makes older copies stale
_log = logging.getLogger(__name__)


def parsed(name: str, source: str, parse: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
    """What ``parse`` gives, from a copy if there is an intact one of the same source and version.

    A copy that is damaged or stale is made anew. Where no copy can be written, there is none.

    Args:
        name: the dataset's name.
        source: the checksum of the raw files.
        parse: reads the raw files; gives dense or sparse CSR tensors of any shape.
    """
    path = cache_folder() / "parsed" / f"{name.replace('/', '-')}.safetensors"
    try:
        return _join(_read(path, source))
    except FileNotFoundError:
        pass
    except (OSError, SafetensorError, ValueError) as error:
        _log.info("%s is made anew: %s", path, error)
    tensors = parse()
    parts = _apart(tensors)
    try:
        with written(path) as temporary:
            about = {"version": VERSION, "source": source, "digest": _digest(parts)}
            save_file(parts, temporary, metadata=about)
    except (OSError, SafetensorError) as error:
        _log.info("no copy at %s: %s", path, error)
    return tensors


def _apart(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Dense tensors only, which is all that safetensors knows: a CSR tensor is taken apart into four."""
    parts = {}
    for name, tensor in tensors.items():
        if tensor.layout == torch.sparse_csr:
            parts[f"{name}.rows"] = tensor.crow_indices()
            parts[f"{name}.columns"] = tensor.col_indices()
            parts[f"{name}.values"] = tensor.values()
            parts[f"{name}.shape"] = torch.tensor(tensor.shape)
        else:
            parts[name] = tensor.contiguous()
    return parts


def _join(parts: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that :func:`_apart` took apart."""
    tensors = {name: part for name, part in parts.items() if "." not in name}
    for name in [part.removesuffix(".shape") for part in parts if part.endswith(".shape")]:
        tensors[name] = torch.sparse_csr_tensor(
            parts[f"{name}.rows"],
            parts[f"{name}.columns"],
            parts[f"{name}.values"],
            size=parts[f"{name}.shape"].tolist(),
            check_invariants=True,
        )
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
