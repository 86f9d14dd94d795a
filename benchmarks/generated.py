"""Power-law graphs of any size, straight to files: as the arrays of a ``StoredGraph``, or as tables.

Endpoints are drawn so that degrees fall off as a power law, mean degree 10; seven of ten edges stay within
a class. Each node has 64 features with a weak signal of its class. 1 % of the nodes are training nodes, half
a percent validation nodes and 1 % test nodes. All draws are seeded by block, so that memory is bounded and
the graph is the same at every call.

``python -m benchmarks.generated 1e7 FOLDER [--tables]`` writes one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from clgnn.data.arrays import ArrayWriter, mapped
from clgnn.data.assembly import assemble, write_pairs
from clgnn.data.stored import PARTS, StoredGraph

DEGREE, FEATURES, CLASSES, BLOCK = 10, 64, 5, 1 << 18
HOMOPHILY, SIGNAL = 0.7, 0.25
_STEP = 2_654_435_761  # a prime: i -> i * _STEP mod N mixes the nodes, so that hubs are not the first ones


def _blocks(count: int) -> Iterator[tuple[int, int]]:
    for begin in range(0, count, BLOCK):
        yield begin, min(begin + BLOCK, count)


def classes(nodes: NDArray[np.int64], num_nodes: int) -> NDArray[np.int64]:
    """The true class of nodes."""
    rank = nodes * pow(_STEP, -1, num_nodes) % num_nodes
    return rank % CLASSES


def pairs(num_edges: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], None]]:
    """The undirected edges of a graph with about ``num_edges`` directed ones, a block at a time."""
    n = num_edges // DEGREE
    for begin, end in _blocks(num_edges // 2):
        rng = np.random.default_rng([1, begin])
        ranks = (n * rng.random((2, end - begin)) ** 2).astype(np.int64)  # density falls as rank ** -1/2
        alike = rng.random(end - begin) < HOMOPHILY
        near = ranks[1] - ranks[1] % CLASSES + ranks[0] % CLASSES
        ranks[1] = np.where(alike, np.minimum(near, n - 1), ranks[1])
        source, target = ranks * (_STEP % n) % n
        yield source, target, None


def features(begin: int, end: int, num_nodes: int) -> NDArray[np.float32]:
    """The features of a block of nodes ``[begin, end)``."""
    centres = np.random.default_rng(0).standard_normal((CLASSES, FEATURES), np.float32)
    noise = np.random.default_rng([2, begin]).standard_normal((end - begin, FEATURES), np.float32)
    return noise + np.float32(SIGNAL) * centres[classes(np.arange(begin, end), num_nodes)]


def parts(begin: int, end: int) -> NDArray[np.int8]:
    """Which nodes of a block are of which part."""
    u = np.random.default_rng([3, begin]).random(end - begin)
    order = [PARTS.index(name) for name in ("train", "val", "test", "")]
    return np.array(order, np.int8)[np.searchsorted([0.01, 0.015, 0.025], u, side="right")]


def write_arrays(folder: Path, num_edges: int) -> StoredGraph:
    """Writes a graph as ``.npy`` files, and gives it with mapped arrays; y is known for all nodes."""
    folder.mkdir(parents=True, exist_ok=True)
    n = num_edges // DEGREE
    if not (folder / "done").exists():
        write_pairs(folder / "pairs", pairs(num_edges), False)
        assemble(folder / "pairs", folder, n, undirected=True, weighted=False)
        (folder / "pairs").unlink()
        with (
            ArrayWriter(folder / "x.npy", np.float32, (FEATURES,)) as x,
            ArrayWriter(folder / "y.npy", np.int64) as y,
            ArrayWriter(folder / "split.npy", np.int8) as split,
        ):
            for begin, end in _blocks(n):
                x.append(features(begin, end, n))
                y.append(classes(np.arange(begin, end), n))
                split.append(parts(begin, end))
        (folder / "done").touch()
    names = ("indptr", "indices", "x", "y", "split")
    return StoredGraph(**{name: mapped(folder / f"{name}.npy") for name in names})


def write_tables(folder: Path, num_edges: int) -> tuple[Path, Path]:
    """Writes a graph as two folders of Parquet files with text ids; 1 % of the nodes have a label."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = num_edges // DEGREE
    nodes, edges = folder / "nodes", folder / "edges"
    for path in (nodes, edges):
        path.mkdir(parents=True, exist_ok=True)
    for i, (begin, end) in enumerate(_blocks(n)):
        x = features(begin, end, n)
        labels = np.char.add("class ", classes(np.arange(begin, end), n).astype(str))
        columns = {"id": _names(np.arange(begin, end))}
        columns |= {f"x{j}": pa.array(x[:, j]) for j in range(FEATURES)}
        columns["label"] = pa.array(labels, mask=parts(begin, end) != PARTS.index("train"))
        pq.write_table(pa.table(columns), nodes / f"part-{i:05}.parquet")
    for i, (source, target, _) in enumerate(pairs(num_edges)):
        table = pa.table({"source": _names(source), "target": _names(target)})
        pq.write_table(table, edges / f"part-{i:05}.parquet")
    return nodes, edges


def _names(nodes: NDArray[np.int64]) -> NDArray[np.str_]:
    return np.char.add("node-", np.char.zfill(nodes.astype(str), 9))


@click.command()
@click.argument("edges", type=float)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--tables", is_flag=True, help="Write Parquet tables with text ids instead of arrays.")
def main(edges: float, folder: Path, tables: bool) -> None:
    """Write a generated graph with about so many directed EDGES to a FOLDER."""
    (write_tables if tables else write_arrays)(folder, int(edges))


if __name__ == "__main__":
    main()
