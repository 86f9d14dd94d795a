"""Where ids stand in the nodes' table, by a join in DuckDB, which spills to disk what memory can't hold.

DuckDB comes with ``pip install 'clgnn[scale]'``. Without it, or where a join finds a blank, double
or unknown id, :class:`clgnn.data.ids.Ids` does the work, or says what is wrong.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from clgnn.data.disk_table import BLOCK, DiskTable
from clgnn.data.ids import Ids
from clgnn.data.values import texts

_SCHEMA = pa.schema([("row", pa.int64()), ("name", pa.large_string())])


def ids_of(nodes: DiskTable, name: str, room: Path, memory: float) -> Ids | JoinedIds:
    """The ids of a table of nodes.

    Args:
        nodes, name: the table and its column.
        room: a folder for what does not fit into memory.
        memory: GiB for DuckDB.
    """
    if importlib.util.find_spec("duckdb") is None:
        return Ids(nodes[name])
    joined = JoinedIds(nodes, name, room, memory)
    return joined if joined.sound else Ids(nodes[name])


class JoinedIds:
    """The ids of the nodes as a table of DuckDB; ``sound`` says whether each is there once."""

    def __init__(self, nodes: DiskTable, name: str, room: Path, memory: float) -> None:
        import duckdb

        self._nodes, self._name = nodes, name
        settings = {
            "memory_limit": f"{max(int(memory * 128), 128)}MiB",
            "temp_directory": str(room / "duckdb"),
        }
        self._database = duckdb.connect(config=settings)
        rows = _rows(block[name] for block in nodes.blocks([name]))
        self._database.register("given", rows)
        self._database.execute("CREATE TABLE ids AS SELECT name, row::INTEGER AS place FROM given")
        self._database.unregister("given")
        found = self._database.sql("SELECT count(*), count(DISTINCT name) FROM ids").fetchall()[0]
        self.sound = found[0] == found[1] > 0

    def find(self, blocks: Callable[[], Iterable[pd.Series[Any]]], places: NDArray[np.int32]) -> None:
        """See :meth:`clgnn.data.ids.Ids.find`."""
        self._database.register("ends", _rows(blocks()))
        ordered = "SELECT coalesce(place, -1) AS place FROM ends LEFT JOIN ids USING (name) ORDER BY row"
        begin, known = 0, True
        for batch in self._database.sql(ordered).to_arrow_reader(BLOCK):
            found = batch.column(0).to_numpy(zero_copy_only=False)
            places[begin : begin + len(found)] = found
            begin += len(found)
            known = known and bool((found >= 0).all())
        self._database.unregister("ends")
        if not known:
            Ids(self._nodes[self._name]).find(blocks, places)


def _rows(blocks: Iterable[pd.Series[Any]]) -> pa.RecordBatchReader:
    """The ids of a column as texts, with the numbers of their rows."""

    def batches() -> Iterator[pa.RecordBatch]:
        begin = 0
        for block in blocks:
            names = pa.array(texts(block), pa.large_string())
            yield pa.record_batch([pa.array(np.arange(begin, begin + len(names))), names], schema=_SCHEMA)
            begin += len(names)

    return pa.RecordBatchReader.from_batches(_SCHEMA, batches())
