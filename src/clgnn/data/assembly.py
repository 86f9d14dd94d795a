"""The sparse rows of a graph from a stream of edges, in bounded memory: an external sort.

The ends of the edges are written to a file as they come (:func:`write_pairs`). :func:`assemble` counts how
many edges each node has, cuts the nodes into ranges whose edges fit into memory, writes the edges of each
range to a file of its own, and then sorts and merges range after range. All files are read and written in
order. How much memory there is changes the time, and not a bit of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from clgnn.data.arrays import ArrayWriter

Pair: TypeAlias = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]], NDArray[np.float64] | None]
Progress: TypeAlias = Callable[[int, int], None]  # done, of so many

CHUNK = 1 << 20  # edges that are read at a time
ENTRY = 96  # bytes that an edge takes while its range is sorted


@dataclass(frozen=True)
class Assembled:
    """What became of the edges; the counts are those of :class:`clgnn.data.links.Edges`.

    Attributes:
        edges: how many the rows hold, each direction for itself.
        duplicates: the rows of the table that repeated an edge of the same direction.
        both_ways: the pairs of an undirected graph that came as a-b and as b-a.
    """

    edges: int
    duplicates: int
    both_ways: int


def merged(
    keys: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Equal keys as one, sorted; their weights add up in the order in which they come.

    Example:
        >>> merged(np.array([7, 3, 7]), np.array([1.0, 2.0, 4.0]))
        (array([3, 7]), array([2., 5.]))
    """
    if weights is None:  # np.unique goes through a hash table, which takes longer
        keys = np.sort(keys)
        return keys[_first(keys)], None
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = _first(keys)
    added = np.bincount(np.cumsum(first) - 1, weights[order], int(first.sum()))
    return keys[first], added.astype(np.float64, copy=False)


def _first(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of sorted keys differ from the one before."""
    first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return first


def write_pairs(path: Path, chunks: Iterable[Pair], weighted: bool) -> tuple[int, int]:
    """Writes the ends of edges, and their weights, to a file.

    Args:
        path: the file.
        chunks: the sources, targets and weights of some edges at a time.
        weighted: whether there are weights.

    Returns:
        How many edges were written, and how many joined a node with itself and were dropped.
    """
    rows = loops = 0
    with path.open("wb") as file:
        for source, target, weight in chunks:
            kept = source != target
            loops += int((~kept).sum())
            record = np.empty(int(kept.sum()), _record(weighted))
            record["source"], record["target"] = source[kept], target[kept]
            if weight is not None:
                record["weight"] = weight[kept]
            record.tofile(file)
            rows += len(record)
    return rows, loops


def assemble(
    pairs: Path,
    folder: Path,
    num_nodes: int,
    undirected: bool,
    weighted: bool,
    memory: int = 1 << 30,
    progress: Progress = lambda done, total: None,
) -> Assembled:
    """Writes ``indptr.npy``, ``indices.npy`` and, with weights, ``weight.npy``: one row per target.

    Edges of the same direction count once and their weights add up; in an undirected graph a-b and b-a are
    one edge in both directions, whose weight is the sum of the two.

    Args:
        pairs: what :func:`write_pairs` wrote.
        folder: for the arrays; a folder ``ranges`` is in it meanwhile.
        num_nodes: N.
        undirected: whether an edge counts in both directions.
        weighted: whether the pairs have weights.
        memory: bytes for the edges that are sorted at a time.
        progress: is told how many edges are done, and of how many.
    """
    first, total = _ranges(pairs, num_nodes, undirected, weighted, max(memory // ENTRY, 1))
    room = folder / "ranges"
    room.mkdir(exist_ok=True)
    for old in room.iterdir():
        old.unlink()
    _scatter(pairs, room, first, undirected, weighted)
    one_way = rows = done = 0
    with (
        ArrayWriter(folder / "indptr.npy", np.int64) as indptr,
        ArrayWriter(folder / "indices.npy", np.int32) as indices,
        ArrayWriter(folder / "weight.npy", np.float32) as weight,
    ):
        indptr.append(np.zeros(1, np.int64))
        for i, (begin, end) in enumerate(zip(first, [*first[1:], num_nodes], strict=True)):
            ways = [_sorted(room / f"{i}.{way}", num_nodes, weighted) for way in range(1 + undirected)]
            rows, one_way = rows + ways[0][0], one_way + len(ways[0][1])
            done += sum(count for count, _, _ in ways)
            keys, values = ways[0][1:]
            if undirected:
                parts = [keys, ways[1][1]]
                both = None if values is None else np.concatenate([values, ways[1][2]])
                keys, values = merged(np.concatenate(parts), both)
            degree = np.bincount(keys // num_nodes - begin, minlength=int(end - begin))
            indptr.append(indices.length + np.cumsum(degree))
            indices.append(keys % num_nodes)
            if values is not None:
                weight.append(values)
            progress(done, total)
    if not weighted:
        (folder / "weight.npy").unlink()
    room.rmdir()
    return Assembled(indices.length, rows - one_way, one_way - indices.length // 2 if undirected else 0)


def _record(weighted: bool) -> np.dtype[Any]:
    ends = [("source", "<i4"), ("target", "<i4")]
    return np.dtype([*ends, ("weight", "<f8")] if weighted else ends)


def _chunks(path: Path, weighted: bool) -> Iterator[NDArray[Any]]:
    with path.open("rb") as file:
        while len(chunk := np.fromfile(file, _record(weighted), CHUNK)):
            yield chunk


def _ranges(
    pairs: Path, num_nodes: int, undirected: bool, weighted: bool, capacity: int
) -> tuple[list[int], int]:
    """The first node of each range, and how many entries there are; a range has about ``capacity``."""
    degree = np.zeros(num_nodes, np.int64)
    for chunk in _chunks(pairs, weighted):
        for end in ("target", "source")[: 1 + undirected]:
            degree += np.bincount(chunk[end], minlength=num_nodes)
    before = np.cumsum(degree) - degree
    total = int(degree.sum())
    starts = np.searchsorted(before, np.arange(0, max(total, 1), capacity))
    return np.unique(starts[starts < num_nodes]).tolist(), total


def _scatter(pairs: Path, room: Path, first: list[int], undirected: bool, weighted: bool) -> None:
    """Writes each edge to the file of its target's range; if undirected, also the other way round."""
    for i in range(len(first)):
        for way in range(1 + undirected):
            (room / f"{i}.{way}").touch()
    for chunk in _chunks(pairs, weighted):
        for way in range(1 + undirected):
            if way:
                chunk["source"], chunk["target"] = chunk["target"].copy(), chunk["source"].copy()
            place = np.searchsorted(first, chunk["target"], side="right") - 1
            order = np.argsort(place, kind="stable")
            cuts = np.searchsorted(place[order], np.arange(len(first) + 1))
            for i in np.flatnonzero(np.diff(cuts)).tolist():
                with (room / f"{i}.{way}").open("ab") as file:
                    chunk[order[cuts[i] : cuts[i + 1]]].tofile(file)


def _sorted(
    path: Path, num_nodes: int, weighted: bool
) -> tuple[int, NDArray[np.int64], NDArray[np.float64] | None]:
    """How many entries a range has, and the entries themselves: target * N + source, each once."""
    entries = np.fromfile(path, _record(weighted))
    path.unlink()
    keys = entries["target"].astype(np.int64) * num_nodes + entries["source"]
    return (len(entries), *merged(keys, entries["weight"].copy() if weighted else None))
