"""A graph as a folder of plain files: what is in it, and how it is opened.

Arrays are ``.npy`` files, which are mapped to memory and not read; nothing in the folder can run. The file
``meta.json`` is written last. It has the version of the format, the counts, and size and checksum of all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import clgnn
from clgnn.data.arrays import mapped
from clgnn.data.described import Counts
from clgnn.data.stored import PARTS, StoredGraph
from clgnn.data.tables import Schema
from clgnn.files import written

FORMAT = 1
_META, _SCHEMA, IDS = "meta.json", "schema.json", "ids.parquet"
_ARRAYS: dict[str, tuple[type[np.generic], ...]] = {  # the types that each may have
    "indptr": (np.int64,),
    "indices": (np.int32,),
    "x": (np.float32,),
    "y": (np.int64, np.float64),
    "weight": (np.float32,),
    "split": (np.int8,),
}
_OPTIONAL = ("weight", "split")
_PART = 1 << 22


def write_schema(folder: Path, schema: Schema) -> None:
    """Writes how the tables were read."""
    with written(folder / _SCHEMA) as temporary:
        temporary.write_text(
            json.dumps(schema.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )


def write_meta(folder: Path, counts: Counts) -> None:
    """Writes ``meta.json`` for the files that lie in a folder."""
    names = [*(f"{name}.npy" for name in _ARRAYS), _SCHEMA, IDS]
    files = [folder / name for name in names if (folder / name).is_file()]
    told = {file.name: {"bytes": file.stat().st_size, "sha256": _checksum(file)} for file in files}
    content = {
        "kind": "clgnn graph",
        "format": FORMAT,
        "clgnn": clgnn.__version__,
        "counts": asdict(counts),
        "files": told,
    }
    with written(folder / _META) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def is_graph(path: str | os.PathLike[str]) -> bool:
    """Whether a folder says of itself that it is a graph of ours."""
    try:
        return bool(json.loads((Path(path) / _META).read_text("utf-8"))["kind"] == "clgnn graph")
    except (OSError, ValueError, KeyError, TypeError):
        return False


def open_graph(path: str | os.PathLike[str], verify: bool = False) -> StoredGraph:
    """The graph of a folder that ``clgnn prepare`` wrote; its arrays are mapped, and not read.

    Args:
        path: the folder.
        verify: whether to read all files and compare their checksums too. Sizes are always compared.

    Raises:
        ValueError: if it is no such folder, or a file in it is missing, cut, swapped or of another graph.
    """
    folder = Path(path)
    counts, files = _read_meta(folder)
    for name, told in files.items():
        file = folder / name
        if not file.is_file():
            raise ValueError(f"{folder} is damaged: {name} is missing; copy it again, or prepare it again")
        if (size := file.stat().st_size) != told["bytes"]:
            raise ValueError(
                f"{folder} is damaged: {name} has {size:,} bytes; expected {told['bytes']:,}: copy it again, "
                "or prepare it again"
            )
        if verify and _checksum(file) != told["sha256"]:
            raise ValueError(
                f"{folder} is damaged: {name} has another checksum than meta.json says; copy it again, or "
                "prepare it again"
            )
    arrays = {name: _array(folder, name) for name in _ARRAYS if f"{name}.npy" in files}
    _check_shapes(folder, arrays, counts)
    graph = StoredGraph(**arrays)  # type: ignore[arg-type]
    return replace(graph, folder=folder, schema=_read_schema(folder), counts=counts)


def _read_meta(folder: Path) -> tuple[Counts, dict[str, dict[str, Any]]]:
    try:
        content = json.loads((folder / _META).read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ValueError(
            f"{folder} is no graph: it has no {_META}; expected a folder that `clgnn prepare` wrote"
        ) from error
    except (ValueError, OSError) as error:
        raise ValueError(f"{folder} is damaged: {_META} can't be read ({error}); prepare it again") from error
    if not isinstance(content, dict) or content.get("kind") != "clgnn graph":
        raise ValueError(f"{folder} is no graph by its {_META}; expected a folder that `clgnn prepare` wrote")
    if content.get("format") != FORMAT:
        raise ValueError(
            f"{folder} has format {content.get('format')!r}; this version reads {FORMAT}: prepare the graph "
            "again, or update clgnn"
        )
    try:
        counts = Counts(**{**content["counts"], "unused": tuple(content["counts"]["unused"])})
        files = {str(name): dict(told) for name, told in content["files"].items()}
        needed = {f"{name}.npy" for name in _ARRAYS if name not in _OPTIONAL} | {_SCHEMA, IDS}
        known = needed | {f"{name}.npy" for name in _OPTIONAL}
        whole = needed <= files.keys() <= known and all(
            isinstance(told["bytes"], int) and isinstance(told["sha256"], str) for told in files.values()
        )
        if not whole or not all(isinstance(n, int) for n in (counts.nodes, counts.edges, counts.features)):
            raise ValueError("its entries are not those of a graph")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{folder} is damaged: {_META} is not whole ({error}); prepare it again") from error
    return counts, files


def _array(folder: Path, name: str) -> NDArray[Any]:
    try:
        found = mapped(folder / f"{name}.npy")
    except (ValueError, OSError, EOFError) as error:
        said = " ".join(str(error).split())
        raise ValueError(
            f"{folder} is damaged: {name}.npy is no array ({said}); copy it again, or prepare it again"
        ) from error
    if found.dtype not in _ARRAYS[name]:
        expected = " or ".join(kind.__name__ for kind in _ARRAYS[name])
        raise ValueError(
            f"{folder} is damaged: {name}.npy holds {found.dtype}; expected {expected}: prepare it again"
        )
    return found


def _check_shapes(folder: Path, arrays: dict[str, NDArray[Any]], counts: Counts) -> None:
    n, e = counts.nodes, counts.edges
    shapes = {"indptr": (n + 1,), "x": (n, counts.features), "y": (n,), "split": (n,)}
    for name, array in arrays.items():
        if array.shape != (expected := shapes.get(name, (e,))):
            raise ValueError(
                f"{folder} is damaged: {name}.npy has shape {array.shape}; expected {expected} by {_META}: "
                "prepare it again"
            )
    indptr, indices = arrays["indptr"], arrays["indices"]
    wrong = None
    if indptr[0] != 0 or indptr[-1] != e or any((np.diff(part) < 0).any() for part in _parts(indptr, 1)):
        wrong = f"indptr.npy does not rise from 0 to {e}"
    elif not _within(indices, n):
        wrong = f"indices.npy has nodes outside of 0 to {n - 1}"
    elif "split" in arrays and any(
        part.min() < 0 or part.max() >= len(PARTS) for part in _parts(arrays["split"])
    ):
        wrong = f"split.npy has parts outside of 0 to {len(PARTS) - 1}"
    if wrong is not None:
        raise ValueError(f"{folder} is damaged: {wrong}; copy it again, or prepare it again")


def _within(array: NDArray[Any], count: int) -> bool:
    return all(part.min() >= 0 and part.max() < count for part in _parts(array))


def _parts(array: NDArray[Any], overlap: int = 0) -> Iterator[NDArray[Any]]:
    """Some entries of an array at a time, so that a map of a large file never is in memory as a whole."""
    for begin in range(0, len(array) - overlap, _PART):
        yield array[begin : begin + _PART + overlap]


def _read_schema(folder: Path) -> Schema:
    try:
        return Schema.from_json(json.loads((folder / _SCHEMA).read_text("utf-8")))
    except (ValueError, OSError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{folder} is damaged: {_SCHEMA} can't be read ({error}); prepare it again"
        ) from error


def _checksum(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
