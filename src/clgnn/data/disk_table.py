"""A table that stays on disk: one column at a time as a whole, or all rows block by block.

Parquet is read where it is. A CSV file is first written as Parquet, after a pass that finds what each column
holds, so that a cell is read as :func:`clgnn.data.reading.read_table` reads it from the whole file.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from clgnn.data.reading import csv_reading, is_parquet, reading, without

BLOCK = 1 << 16  # rows that are in memory at a time


class DiskTable:
    """A table with columns, like a ``DataFrame``, that is read when it is asked for.

    Args:
        path: a Parquet file, or a folder of Parquet parts.
        blank: the texts that stand for a blank.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "nodes.parquet"
        >>> pd.DataFrame({"id": ["a", "b"], "age": [1, 2]}).to_parquet(path)
        >>> table = DiskTable(path)
        >>> list(table.columns), len(table), table["age"].tolist()
        (['id', 'age'], 2, [1, 2])
    """

    def __init__(self, path: str | PathLike[str], blank: tuple[str, ...] = ()) -> None:
        self.path, self.blank = Path(path), blank
        with reading(self.path):
            parts = ds.HivePartitioning.discover(infer_dictionary=True)
            self._rows = ds.dataset(self.path, format="parquet", partitioning=parts)
            self.columns: pd.Index[Any] = self._rows.schema.empty_table().to_pandas().columns
            self._length: int = self._rows.count_rows()

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, name: str, /) -> pd.Series[Any]:
        """A whole column."""
        with reading(self.path):
            return without(pd.read_parquet(self.path, columns=[name]), self.blank)[name]

    def blocks(self, names: list[str]) -> Iterator[pd.DataFrame]:
        """Some of the columns, some rows at a time; the index goes on from block to block."""
        begin = 0
        whole = self._gaps(names)
        with reading(self.path):
            for batch in self._rows.to_batches(
                columns=list(dict.fromkeys(names)), batch_size=BLOCK, batch_readahead=1, fragment_readahead=1
            ):
                block = pa.Table.from_batches([batch]).to_pandas(ignore_metadata=True)
                block.index = pd.RangeIndex(begin, begin + len(block))
                begin += len(block)
                yield without(block.astype(whole), self.blank)

    def _gaps(self, names: list[str]) -> dict[str, type[float]]:
        """The columns of whole numbers that are read as floats since one of them, in any block, is blank."""
        types = {name: self._rows.schema.field(name).type for name in names}
        return {
            name: float
            for name, kind in types.items()
            if pa.types.is_integer(kind) and self._rows.count_rows(filter=pc.is_null(pc.field(name)))
        }


def open_table(
    path: str | PathLike[str],
    room: Path,
    text: tuple[str, ...] = (),
    *,
    blank: tuple[str, ...] = (),
    delimiter: str | None = None,
    encoding: str | None = None,
) -> DiskTable:
    """A table on disk, CSV or Parquet; what it says equals what :func:`read_table` reads.

    Args:
        path, text, blank, delimiter, encoding: see :func:`clgnn.data.reading.read_table`.
        room: the Parquet file that is made of a CSV file; one that is there is taken.
    """
    file = Path(path)
    with reading(file):
        csv = not is_parquet(file)
        if csv and not room.exists():
            with csv_reading(file, text, blank, delimiter, encoding) as options:
                _convert(file, room, options)
    return DiskTable(room) if csv else DiskTable(file, blank)


def _convert(file: Path, room: Path, options: dict[str, Any]) -> None:
    """Writes a CSV file as Parquet."""
    found: dict[str, set[str]] = {}
    with pd.read_csv(file, chunksize=BLOCK, **options) as blocks:
        for block in blocks:
            for name in block.columns:
                found.setdefault(name, set()).update(_holds(block[name]))
    kinds = {name: _kind(held) for name, held in found.items()}
    declared = {name: kind for name, kind in kinds.items() if kind != "boolean"} | options["dtype"]
    arrow = {"boolean": pa.bool_(), "str": pa.large_string(), "int64": pa.int64(), "uint64": pa.uint64()}
    types = {name: arrow.get(declared.get(name, kind), pa.float64()) for name, kind in kinds.items()}
    schema = pa.schema(list(types.items()))
    unfinished = room.with_name(room.name + ".new")
    with (
        pq.ParquetWriter(unfinished, schema) as writer,
        pd.read_csv(file, chunksize=BLOCK, **{**options, "dtype": declared}) as blocks,
    ):
        for block in blocks:
            writer.write_table(pa.Table.from_pandas(block, schema, preserve_index=False))
    unfinished.rename(room)


def _holds(series: pd.Series[Any]) -> set[str]:
    """What pandas read from some rows of a column: a type, ``boolean``, or ``blank``."""
    held = {"blank"} if series.isna().any() else set()
    if series.isna().all():
        return held
    kind = pd.api.types.infer_dtype(series, skipna=True) if series.dtype == object else series.dtype.name
    return held | {{"bool": "boolean", "string": "str"}.get(kind, kind)}


def _kind(held: set[str]) -> str:
    """What pandas would have read from all rows at once."""
    kinds = held - {"blank"}
    if kinds <= {"int64", "uint64"} and "blank" not in held and kinds:
        return "uint64" if "uint64" in kinds else "int64"
    if kinds <= {"int64", "uint64", "float64"}:
        return "float64"
    return "boolean" if kinds == {"boolean"} else "str"
