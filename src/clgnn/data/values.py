"""What the cells of a column say, as texts, numbers, days or vectors; every blank is a missing value.

A cell that can't be read as asked is an error that names the column and the row, the first below the names
being row 1.
"""

from __future__ import annotations

import shlex
from numbers import Number
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

Kind: TypeAlias = Literal["number", "text", "date", "embedding"]
LARGEST = 1e100  # the squares of larger numbers can't be added up
_KINDS: dict[str, Kind] = {  # what pandas finds in a column of Python objects
    **dict.fromkeys(("boolean", "integer", "floating", "mixed-integer-float", "decimal"), "number"),
    **dict.fromkeys(("date", "datetime", "datetime64"), "date"),
    "string": "text",
}


def kind_of(series: pd.Series[Any]) -> Kind:
    """What a column holds, by its type and, where that says nothing, by its values.

    Raises:
        ValueError: if a column holds what can't be a feature, such as times of day or records.

    Example:
        >>> kind_of(pd.Series([1, 2])), kind_of(pd.Series(["a", None])), kind_of(pd.Series([[1, 2], [3, 4]]))
        ('number', 'text', 'embedding')
    """
    if series.isna().all() or (types.is_numeric_dtype(series) and not types.is_complex_dtype(series)):
        return "number"
    if types.is_datetime64_any_dtype(series):
        return "date"
    if isinstance(series.dtype, pd.CategoricalDtype) or types.is_string_dtype(series.dropna()):
        return "text"
    found: str = types.infer_dtype(series, skipna=True)
    if found in _KINDS:
        return _KINDS[found]
    if series.dtype == object:
        values = series.dropna()
        if isinstance(values.iloc[0], list | tuple | np.ndarray):
            return "embedding"
        if all(isinstance(value, str | Number) for value in values):
            return "text"
    raise ValueError(
        f"column {series.name!r} is of type {found if series.dtype == object else series.dtype}; expected "
        f"numbers, texts, dates or lists: convert it, or say --ignore {quoted(series.name)}"
    )


def texts(series: pd.Series[Any]) -> pd.Series[Any]:
    """The cells as texts ``[N]`` without the space around them; a whole number has no ``.0``.

    Example:
        >>> texts(pd.Series([1.0, 2.5, None])).tolist(), texts(pd.Series([" a", ""])).tolist()
        (['1', '2.5', nan], ['a', nan])
    """
    if series.isna().all():
        return series.astype("str").where(series.notna())
    stripped = series.astype("str").str.strip()
    if types.is_float_dtype(series):
        stripped = stripped.str.replace(r"\.0$", "", regex=True)
    return stripped.where(series.notna() & (stripped != ""))


def numbers(series: pd.Series[Any]) -> NDArray[np.float64]:
    """The cells as numbers ``[N]``, NaN for a blank.

    Raises:
        ValueError: if a cell is no number, infinite, or too large to be squared.

    Example:
        >>> numbers(pd.Series(["1.5", ""])).tolist()
        [1.5, nan]
    """
    if types.infer_dtype(series, skipna=True) == "boolean":
        series = series.astype("boolean")
    if types.is_numeric_dtype(series):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    else:
        cells = texts(series)
        values = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
        _check(series, cells, np.isnan(values), "a number")
    if np.isinf(values).any():
        row = row_of(series, np.flatnonzero(np.isinf(values))[0])
        raise ValueError(f"column {series.name!r} is infinite in row {row}; expected numbers, or a blank")
    if (np.abs(values) > LARGEST).any():
        at = np.flatnonzero(np.abs(values) > LARGEST)[0]
        raise ValueError(
            f"column {series.name!r} has {values[at]:g} in row {row_of(series, at)}; expected numbers from "
            f"{-LARGEST:g} to {LARGEST:g}: give it in another unit, or say --ignore {quoted(series.name)}"
        )
    return values


def days(series: pd.Series[Any]) -> NDArray[np.float64]:
    """Dates and times as days since 1970 ``[N]``, NaN for a blank.

    Texts are ISO dates, such as ``2024-03-01`` or ``2024-03-01T12:00``. A time without a zone counts as UTC.

    Raises:
        ValueError: if a cell is no date.

    Example:
        >>> days(pd.Series(["1970-01-02", "1970-01-01T12:00", None])).tolist()
        [1.0, 0.5, nan]
    """
    cells = series if kind_of(series) == "date" else texts(series)
    moments = pd.to_datetime(cells, utc=True, errors="coerce", format=None if cells is series else "ISO8601")
    _check(series, cells, moments.isna().to_numpy(), "a date such as 2024-03-01")
    past = (moments - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    return np.asarray(past, np.float64)


def _check(series: pd.Series[Any], cells: pd.Series[Any], lost: NDArray[np.bool_], expected: str) -> None:
    """Refuses cells that hold something which was lost on the way."""
    wrong = np.flatnonzero(cells.notna().to_numpy() & lost)
    if len(wrong):
        cell, row = str(cells.iloc[wrong[0]]), row_of(series, wrong[0])
        raise ValueError(
            f"column {series.name!r} has {cell!r} in row {row} ({len(wrong)} such rows); expected "
            f"{expected} or a blank: correct it, or say --blank {quoted(cell)}"
        )


def vectors(series: pd.Series[Any]) -> NDArray[np.float32]:
    """Lists of numbers ``[N, d]``, NaN for a blank.

    Raises:
        ValueError: if the lists have different lengths, or hold anything but finite numbers.

    Example:
        >>> vectors(pd.Series([[1, 2], None])).tolist()
        [[1.0, 2.0], [nan, nan]]
    """
    rows = np.flatnonzero(series.notna()).tolist()
    lists = [_vector(series, row) for row in rows]
    for row, value in zip(rows, lists, strict=True):
        if len(value) != len(lists[0]):
            raise ValueError(
                f"column {series.name!r} has a list of {len(value)} in row {row_of(series, row)}, and of "
                f"{len(lists[0])} in row {row_of(series, rows[0])}; expected lists of equal length: correct "
                f"it, or say --ignore {quoted(series.name)}"
            )
    read = np.full((len(series), len(lists[0]) if lists else 0), np.nan, np.float32)
    if lists:
        read[rows] = lists
    return read


def _vector(series: pd.Series[Any], row: int) -> NDArray[np.float32]:
    value = series.iloc[row]
    try:
        given = np.asarray(value)
        if given.ndim == 1 and given.dtype.kind in "biufO":  # an object may be a blank or a decimal
            vector = given.astype(np.float32)
            if not np.isinf(vector).any():
                return vector
    except (ValueError, TypeError):
        pass
    raise ValueError(
        f"column {series.name!r} has {_short(value)} in row {row_of(series, row)}; expected a list of "
        f"numbers, as in other rows: correct it, or say --ignore {quoted(series.name)}"
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def row_of(series: pd.Series[Any], position: int | np.integer[Any]) -> int:
    """The number of a row in its table, the first being 1; a block of a table knows where it begins.

    Example:
        >>> table = pd.Series(["a", "b", "c"])
        >>> row_of(table, 2), row_of(table[1:], 1)
        (3, 3)
    """
    index = series.index
    first = index.start if isinstance(index, pd.RangeIndex) and index.step == 1 else 0
    return int(first + position) + 1


def quoted(name: object) -> str:
    """A name or a text as one types it in a shell."""
    return shlex.quote(str(name))
