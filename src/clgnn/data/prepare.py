"""Two tables of any size as a graph on disk, in steps of bounded memory.

In memory at a time are one column of the nodes' table, the ids, or a block of rows. The graph is the one that
:meth:`clgnn.data.tables.Schema.graph` makes of the same tables in memory, to the bit.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from clgnn.data.arrays import ArrayWriter, mapped
from clgnn.data.assembly import CHUNK, Pair, assemble, write_pairs
from clgnn.data.described import Counts, dropped
from clgnn.data.disk_table import DiskTable, open_table
from clgnn.data.folder import FORMAT, IDS, write_meta, write_schema
from clgnn.data.graph import known
from clgnn.data.joined import ids_of
from clgnn.data.links import edge_weights
from clgnn.data.parts import split_parts
from clgnn.data.reading import is_parquet, require
from clgnn.data.steps import Steps, state_of
from clgnn.data.stored import PARTS
from clgnn.data.tables import Schema
from clgnn.data.values import quoted

Progress: TypeAlias = Callable[[str, int, int], None]
"""Is told what is done, how far it is, and of how much."""

GIB = 1 << 30


class Preparation:
    """The way from two tables to the folder of a graph; a kill loses the current step and no other.

    Args:
        out: the folder that is to be.
        tables: the two files or folders.
        made_from: what else the result depends on, as plain values.
        memory: GiB to work in, about; ids and one column of the nodes' table must fit.
        progress: is told how far it is.
    """

    def __init__(
        self,
        out: Path,
        tables: tuple[str, str],
        made_from: Any,
        memory: float = 4.0,
        progress: Progress = lambda what, done, total: None,
    ) -> None:
        self.steps = Steps(out, {"format": FORMAT, "tables": state_of(tables), "options": made_from})
        self.out, self.memory, self.progress = out, memory, progress
        self._tables = [Path(os.path.abspath(table)) for table in tables]

    def table(self, path: str, text: tuple[str, ...] = (), **reading: Any) -> DiskTable:
        """A table, which stays on disk; of CSV a Parquet file is made in the folder of the steps."""
        place = Path(os.path.abspath(path))
        name = ("nodes", "edges")[self._tables.index(place)]
        room = self.steps.folder / f"{name}.parquet"

        def converted() -> None:
            self._check_space(place.stat().st_size, "")
            self.steps.begin()
            self.progress(f"{name} from CSV", 0, 1)
            open_table(path, room, text, **reading)
            self.progress(f"{name} from CSV", 1, 1)

        if place.is_file() and not is_parquet(place):
            self.steps.once(f"{name} from CSV", converted)
        return open_table(path, room, text, **reading)

    def schema(self, nodes: DiskTable, edges: DiskTable, learn: Callable[[], Schema]) -> Schema:
        """How the tables are read; then there must be room on the disk for what they become."""

        def checked() -> Any:
            schema = learn()
            if schema.edge_features or schema.edge_type is not None:
                raise ValueError(
                    "--edge-features and --edge-type can't be kept in a graph on disk, which has weights "
                    "alone; leave them out, or fit from the tables"
                )
            self._check_space(*_needed(schema, len(nodes), len(edges)))
            return schema.to_json()

        return Schema.from_json(self.steps.once("schema", checked))

    def write(
        self, nodes: DiskTable, edges: DiskTable, schema: Schema, label: str | None, split: str | None,
        force: bool = False,
    ) -> Counts:  # fmt: skip
        """Writes the graph; what was finished earlier is not done again.

        Args:
            nodes, edges: the tables.
            schema: how they are read.
            label, split: the columns of the nodes' table with the labels and the parts, if there are any.
            force: whether a graph that is there is replaced.
        """
        once = self.steps.once
        loops = once("edges", lambda: self._pairs(nodes, edges, schema))
        made = once("rows", lambda: self._rows(len(nodes), schema))
        once("x", lambda: self._x(nodes, schema))
        labels = once("labels", lambda: self._labels(nodes, schema, label, split))
        said = (schema.source, schema.target, schema.weight)
        unused = tuple(str(name) for name in edges.columns if name not in said)
        features = int(mapped(self.steps.result / "x.npy").shape[1])
        told = dropped(loops, made["duplicates"], made["both_ways"])
        counts = Counts(len(nodes), made["edges"], features, labels, told, unused)
        write_schema(self.steps.result, schema)
        self.progress("checking", 0, 1)
        once("meta", lambda: write_meta(self.steps.result, counts))
        self.progress("checking", 1, 1)
        self.steps.finish(force)
        return counts

    def _pairs(self, nodes: DiskTable, edges: DiskTable, schema: Schema) -> int:
        """Writes the ends of the edges as numbers of nodes; how many joined a node with itself."""
        room, total = self.steps.folder, len(edges)
        ids = ids_of(nodes, schema.id, room, self.memory)
        nodes[schema.id].to_frame().to_parquet(self.steps.result / IDS, index=False)
        ends = []
        for name, option in ((schema.source, "--source"), (schema.target, "--target")):
            require(edges, name, "edges", option)
            places = open_memmap(room / f"{option[2:]}.npy", "w+", np.int32, (total,)) if total else None

            def blocks(name: str = name) -> Iterator[pd.Series[Any]]:
                done = 0
                for block in edges.blocks([name]):
                    yield block[name]
                    done += len(block)
                    self.progress(f"ids of {name}", done, total)

            ids.find(blocks, np.empty(0, np.int32) if places is None else places)
            ends.append(places)
        del ids
        weighted = schema.weight is not None
        if schema.weight is not None:
            require(edges, schema.weight, "edges", "--weight")
        _, loops = write_pairs(room / "pairs", _joined(ends, edges, schema.weight), weighted)
        for option in ("source", "target"):
            (room / f"{option}.npy").unlink(missing_ok=True)
        return loops

    def _rows(self, num_nodes: int, schema: Schema) -> dict[str, int]:
        """Writes the sparse rows."""
        made = assemble(
            self.steps.folder / "pairs",
            self.steps.result,
            num_nodes,
            schema.undirected,
            schema.weight is not None,
            int(self.memory * GIB / 8),
            lambda done, total: self.progress("edges", done, total),
        )
        return vars(made)

    def _x(self, nodes: DiskTable, schema: Schema) -> None:
        """Writes the features."""
        (self.steps.folder / "pairs").unlink(missing_ok=True)
        schema.check_features(nodes)
        names = [feature.name for feature in schema.features]
        width = sum(feature.width for feature in schema.features) or 1
        with ArrayWriter(self.steps.result / "x.npy", np.float32, (width,)) as file:
            for block in nodes.blocks(names or [schema.id]):
                file.append(schema.x(block, dense=True).numpy())
                self.progress("features", file.length, len(nodes))

    def _labels(self, nodes: DiskTable, schema: Schema, label: str | None, split: str | None) -> int:
        """Writes labels and parts; how many labels are known."""
        y = schema.labels(nodes, label) if label is not None else schema.unknown(len(nodes))
        kind = np.float64 if y.is_floating_point() else np.int64
        with ArrayWriter(self.steps.result / "y.npy", kind) as file:
            file.append(y.numpy())
        if split is not None:
            with ArrayWriter(self.steps.result / "split.npy", np.int8) as file:
                file.append(split_parts(nodes, split).map(PARTS.index).to_numpy())
        return int(known(y).sum())

    def _check_space(self, needed: int, remedy: str) -> None:
        folder = next(folder for folder in self.out.absolute().parents if folder.exists())
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise ValueError(
                f"--out {self.out} needs about {needed / GIB:,.1f} GiB while it is made, and {folder} has "
                f"{free / GIB:,.1f} GiB free; free some, or choose another --out{remedy}"
            )


def _joined(ends: Sequence[NDArray[np.int32] | None], edges: DiskTable, weight: str | None) -> Iterator[Pair]:
    """The sources, targets and weights of some edges at a time."""
    source, target = ends
    if source is None or target is None:
        return
    if weight is None:
        for begin in range(0, len(source), CHUNK):
            yield source[begin : begin + CHUNK], target[begin : begin + CHUNK], None
        return
    begin = 0
    for block in edges.blocks([weight]):
        end = begin + len(block)
        yield source[begin:end], target[begin:end], edge_weights(block[weight])
        begin = end


def _needed(schema: Schema, num_nodes: int, num_edges: int) -> tuple[int, str]:
    """The bytes that the files take at the worst moment, and what could be left out."""
    width = sum(feature.width for feature in schema.features) or 1
    result = num_nodes * (4 * width + 64)
    ways, entry = 1 + schema.undirected, 8 if schema.weight is None else 16
    edges = num_edges * (entry * (1 + ways) + ways * (4 if schema.weight is None else 8) + 8)
    largest = max(schema.features, key=lambda feature: feature.width, default=None)
    if largest is None or largest.width * 2 < width or largest.width < 100:
        return result + edges, ""
    return result + edges, (
        f"; column {largest.name!r} alone becomes {largest.width:,} columns of numbers: --ignore "
        f"{quoted(largest.name)} leaves it out"
    )
