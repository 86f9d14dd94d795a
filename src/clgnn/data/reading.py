"""A table from a file: CSV in any of the usual spellings, or Parquet.

Delimiter and encoding are found from the first bytes. What can't be told is an error that says which option
to use, never a guess that would misread the table.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import difflib
import gzip
import lzma
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

_HEAD = 1 << 16  # bytes that are looked at
_RATIO, _FREE = 200, 1 << 26  # tables shrink to a tenth or less, hardly ever to a hundredth
_DELIMITERS = ",;\t|"
_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".tsv")
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_DAMAGED = (zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)  # what unpacking raises
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
# The first bytes of files that are no text, what they are, and what to do with them.
_NO_TEXT = (
    (b"\x1f\x8b", "compressed by gzip", "add .gz to its name"),
    (b"PK\x03\x04", "a zip archive or an Excel file", "unpack it, or save it as CSV"),
    (b"PAR1", "a Parquet file", "add .parquet to its name"),
)


def read_table(
    path: str | PathLike[str],
    text: tuple[str, ...] = (),
    *,
    blank: tuple[str, ...] = (),
    delimiter: str | None = None,
    encoding: str | None = None,
) -> pd.DataFrame:
    """A CSV file (``.csv``, ``.tsv``, also compressed), a Parquet file, or a folder of Parquet parts.

    Only an empty cell is a blank: ``NA``, ``None`` and ``nan`` are texts like any other.

    Args:
        path: the file or the folder. A CSV file may also end in ``.gz``, ``.bz2``, ``.xz`` or ``.zip``.
        text: the columns that are read as text, such as ids: 007 is not 7.
        blank: the texts that stand for a blank, besides the empty cell.
        delimiter: what separates the cells of a CSV file; by default the comma, semicolon, tab or bar that
            the first 64 KiB have. A ``.tsv`` file has tabs.
        encoding: of a CSV file; by default UTF-8, or UTF-16 with a byte order mark.

    Raises:
        ValueError: if there is no such file, or it can't be read; the message says what to do.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "nodes.csv"
        >>> _ = path.write_text("id;age;land\\n007;30;NA\\n008;;DE\\n")
        >>> read_table(path, text=("id",))
            id   age land
        0  007  30.0   NA
        1  008   NaN   DE
    """
    file = Path(path)
    with reading(file):
        if is_parquet(file):
            refuse_bomb(file)
            return without(pd.read_parquet(file), blank)
        with csv_reading(file, text, blank, delimiter, encoding) as options:
            table: pd.DataFrame = pd.read_csv(file, **options)
            return table


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """Turns what goes wrong while a table is read into an error that names the file."""
    if file.is_dir():
        if not any(part.suffix.lower() in _PARQUET for part in file.rglob("*")):
            raise ValueError(
                f"{file} is a folder without Parquet files; expected a file, or a folder of them"
            )
    elif not file.is_file():
        raise ValueError(f"{file} is not there; expected a CSV or Parquet file")
    try:
        yield
    except (ValueError, OSError, EOFError, *_DAMAGED) as error:
        raise ValueError(f"{file} could not be read: {' '.join(str(error).split())}") from error


def is_parquet(file: Path) -> bool:
    """Whether a table is Parquet; if not, it must be CSV."""
    if file.is_dir() or file.suffix.lower() in _PARQUET:
        return True
    if _kind(file) not in _CSV:
        raise ValueError(f"it ends in {file.suffix or 'nothing'}; expected .csv, .tsv, .parquet or .pq")
    return False


class Columns(Protocol):
    """A table whose columns can be taken one by one: a ``DataFrame``, or one that lies on disk."""

    @property
    def columns(self) -> pd.Index[Any]:
        """The names."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, name: str, /) -> Any: ...


def column(table: Columns, name: str, what: str, option: str) -> pd.Series[Any]:
    """A column of a table, or an error that says which there are.

    Args:
        table: the table.
        name: the column's name.
        what: which table it is, for the message: ``"nodes"`` or ``"edges"``.
        option: the command's option that names the column, for the message.
    """
    require(table, name, what, option)
    found: pd.Series[Any] = table[name]
    return found


def require(table: Columns, name: str, what: str, option: str) -> None:
    """Refuses a table without such a column; the arguments are those of :func:`column`."""
    if name not in table.columns:
        names = [str(name) for name in table.columns]
        close = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1)
        near = [n for n in names if n.lower() in close]
        there = (
            f"did you mean {near[0]!r}?" if near else ", ".join(names[:10]) + (", .." if names[10:] else "")
        )
        raise ValueError(
            f"the {what} table has no column {name!r} ({there}); name one with {option}{_suspect(names)}"
        )


def _suspect(names: list[str]) -> str:
    """What else may be wrong with a table that has such names."""
    if len(names) == 1 and any(delimiter in names[0] for delimiter in _DELIMITERS):
        return ", or another --delimiter: it was read as a single column"
    if pd.to_numeric(pd.Series(names), errors="coerce").notna().any():
        return ", or add a first line with the names: there seem to be values in it"
    return ""


def without(table: pd.DataFrame, blank: tuple[str, ...]) -> pd.DataFrame:
    """The table with these texts as missing values."""
    for name in table.columns if blank else ():
        if not pd.api.types.is_numeric_dtype(table[name]):
            found = [isinstance(value, str) and value.strip() in blank for value in table[name]]
            table[name] = table[name].mask(np.array(found, bool))
    return table


def _kind(file: Path) -> str:
    """The ending of a file's name, before that of its compression."""
    compressed = file.suffix.lower() in (*_OPENERS, ".zip")
    return (Path(file.stem) if compressed else file).suffix.lower()


@contextmanager
def csv_reading(
    file: Path, text: tuple[str, ...], blank: tuple[str, ...], delimiter: str | None, encoding: str | None
) -> Iterator[dict[str, Any]]:
    """How ``pandas.read_csv`` is to read a file; what it refuses is said in our words."""
    head = _head(file)
    if len(head) == _HEAD and not set(b"\r\n") & set(head):
        raise ValueError(f"its first line has more than {_HEAD:,} bytes; expected the names of the columns")
    known = _encoding(head, encoding)
    separator = _delimiter(file, head, known) if delimiter is None else delimiter.replace("\\t", "\t")
    if len(separator) != 1:
        raise ValueError(f"the delimiter {delimiter!r} can't be; expected one character, such as , or ;")
    refuse_bomb(file)
    _refuse_double_names(head.decode(known, errors="ignore"), separator)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield {
                "sep": separator,
                "encoding": known,
                "dtype": dict.fromkeys(text, "str"),
                "keep_default_na": False,
                "na_values": ["", *blank],
                "skipinitialspace": True,
                "index_col": False,
                "low_memory": False,
            }
    except UnicodeError as error:
        if encoding is None:
            raise _no_utf8() from error
        raise ValueError(f"it is not {encoding} ({error}); name another --encoding") from error
    except pd.errors.ParserError as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise ValueError(f"{reason}; correct this line, or name another --delimiter") from error
    except pd.errors.ParserWarning as error:
        raise ValueError(
            "its rows have more values than its first line has names; expected one name for each column: "
            "add the missing names, or say --delimiter"
        ) from error


def refuse_bomb(file: Path) -> None:
    """Refuses a file that would unpack to far more than any table does: to 200 times its size and 64 MiB.

    Of Parquet, which keeps equal values once, the rows are counted, as each has an id or two ends.
    """
    parts = [part for part in file.rglob("*") if part.suffix.lower() in _PARQUET] if file.is_dir() else [file]
    for part in parts:
        size = part.stat().st_size
        limit = _RATIO * size + _FREE
        if part.suffix.lower() in _PARQUET:
            from pyarrow.parquet import read_metadata

            found = read_metadata(part).num_rows
        elif part.suffix.lower() == ".zip":
            with zipfile.ZipFile(part) as archive:
                found = sum(inside.file_size for inside in archive.infolist())
        elif part.suffix.lower() in _OPENERS:
            found = 0
            with _OPENERS[part.suffix.lower()](part, "rb") as stream:
                while found <= limit and (block := stream.read(1 << 20)):
                    found += len(block)
        else:
            continue
        if found > limit:
            what = "rows" if part.suffix.lower() in _PARQUET else "bytes"
            raise ValueError(
                f"its {size:,} bytes unpack to {found:,} {what} or more, as if made to fill the memory: "
                "unpack it yourself, if you trust it"
            )


def _refuse_double_names(text: str, separator: str) -> None:
    """Refuses an empty file, and two columns of one name, which pandas would rename."""
    lines = (line for line in text.splitlines(keepends=True) if line.strip())
    names = [name.strip() for name in next(csv.reader(lines, delimiter=separator), [])]
    if not names:
        raise ValueError("it is empty; expected a first line with the names of the columns")
    double = [name for name, count in Counter(names).items() if name and count > 1]
    if double:
        raise ValueError(
            f"two of its columns are called {double[0]!r}; expected a name of its own for each: rename one, "
            "or add the line with the names, if it is missing"
        )


def _head(file: Path) -> bytes:
    """The first bytes, unpacked."""
    suffix = file.suffix.lower()
    try:
        if suffix == ".zip":
            with zipfile.ZipFile(file) as archive, archive.open(archive.namelist()[0]) as stream:
                return stream.read(_HEAD)
        with _OPENERS.get(suffix, open)(file, "rb") as stream:
            head: bytes = stream.read(_HEAD)
    except (OSError, EOFError, IndexError, *_DAMAGED) as error:
        if suffix not in (*_OPENERS, ".zip"):
            raise
        raise ValueError(
            f"it is no {suffix} file, or a damaged one ({error}); correct its name, or copy it again"
        ) from error
    for magic, what, remedy in _NO_TEXT:
        if head.startswith(magic):
            raise ValueError(f"it is {what}, and not text: {remedy}")
    return head


def _encoding(head: bytes, chosen: str | None) -> str:
    if chosen is not None:
        try:
            b" ".decode(chosen, errors="ignore")  # refuses what is no encoding of texts, such as hex
            return codecs.lookup(chosen).name
        except (LookupError, UnicodeError) as error:
            raise ValueError(f"there is no encoding {chosen!r}; expected one such as latin-1") from error
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        raise _no_utf8()
    return "utf-8"


def _no_utf8() -> ValueError:
    return ValueError("it is not UTF-8 text; name its --encoding, such as latin-1, cp1252 or utf-16")


def _delimiter(file: Path, head: bytes, encoding: str) -> str:
    """The delimiter that the first line has; if it has several, the one that the next lines agree on."""
    if _kind(file) == ".tsv":
        return "\t"
    text = head.decode(encoding, errors="ignore")
    lines = [line for line in text.splitlines() if line.strip()] or [""]
    there = [delimiter for delimiter in _DELIMITERS if delimiter in lines[0]]
    if len(there) < 2:
        return there[0] if there else ","
    if len(head) == _HEAD:
        lines = lines[:-1] or lines  # the last one may be cut
    try:
        return csv.Sniffer().sniff("\n".join(lines), "".join(there)).delimiter
    except csv.Error:
        return max(there, key=lines[0].count)
