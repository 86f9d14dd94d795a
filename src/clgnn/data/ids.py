"""The ids of nodes, which are texts, and the rows of the table where they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clgnn.data.values import row_of, texts


class Ids:
    """The ids of the nodes, and where they stand in the nodes' table.

    Where one table has ``100.0`` all over and the other ``100``, they are the same ids.

    Args:
        ids: of each node, ``[N]``.

    Raises:
        ValueError: if there is none, or one is blank or double.

    Example:
        >>> places = np.empty(3, np.int32)
        >>> Ids(pd.Series(["a", "b"])).find(lambda: [pd.Series(["b", "b"]), pd.Series(["a"])], places)
        >>> places.tolist()
        [1, 1, 0]
    """

    def __init__(self, ids: pd.Series[Any]) -> None:
        self.index = _index(ids, "nodes")
        _refuse_double(self.index)

    def __len__(self) -> int:
        return len(self.index)

    def find(self, blocks: Callable[[], Iterable[pd.Series[Any]]], places: NDArray[np.int32]) -> None:
        """Where the ids of a column of the edges stand.

        Args:
            blocks: gives the column, block by block, as often as it is asked.
            places: what is found, int32 ``[E]``, is written here.

        Raises:
            ValueError: if one of them is blank, or is no id.
        """
        found = _fill(places, self.index, blocks(), whole=False)
        if found is None:
            return
        whole = _whole(self.index)
        if whole.is_unique:  # 100.0 in one table, 100 in the other
            dotted = all(_dotted(_index(block, "edges")) for block in blocks())
            if _fill(places, whole, blocks(), whole=dotted) is None:
                return
        count, row, name, end = found
        other = end.removesuffix(".0") if end.endswith(".0") else f"{end}.0"
        remedy = "add the node, or drop the edge"
        if other in self.index:
            remedy = f"there is {other!r}: write ids alike in both tables"
        raise ValueError(
            f"row {row} of the edges table has {name} {end!r}, which is no id of the nodes table ({count} "
            f"such rows); {remedy}"
        )


def id_texts(series: pd.Series[Any]) -> list[str]:
    """The ids of a column as texts, written alike: ``100.0`` all over is ``100``.

    Example:
        >>> id_texts(pd.Series(["100.0", "7.0"], name="id"))
        ['100', '7']
    """
    return [str(one) for one in _whole(_index(series, "nodes"))]


def _index(series: pd.Series[Any], what: str) -> pd.Index[Any]:
    cells = texts(series)
    if cells.isna().any():
        row = row_of(series, np.flatnonzero(cells.isna())[0])
        raise ValueError(f"row {row} of the {what} table has no id in column {series.name!r}; expected one")
    index: pd.Index[Any] = pd.Index(cells)
    return index


def _refuse_double(ids: pd.Index[Any]) -> None:
    if len(ids) == 0:
        raise ValueError("the nodes table is empty; expected one row per node")
    if not ids.is_unique:
        double = ids[ids.duplicated()]
        raise ValueError(
            f"id {double[0]!r} stands in more than one row of the nodes table ({len(double)} rows too many); "
            "expected one row per node"
        )


def _fill(
    places: NDArray[np.int32], ids: pd.Index[Any], blocks: Iterable[pd.Series[Any]], whole: bool
) -> tuple[int, int, object, str] | None:
    """Writes where the ids of a column stand; None, or how many are unknown, and row, column and id of one.

    Args:
        places: is written to.
        ids: of the nodes.
        blocks: the column.
        whole: whether its ids lose their .0.
    """
    begin = count = 0
    first = None
    for block in blocks:
        ends = _index(block, "edges")
        found = ids.get_indexer(_undotted(ends) if whole else ends)
        places[begin : begin + len(found)] = found
        begin += len(found)
        unknown = np.flatnonzero(found < 0)
        count += len(unknown)
        if len(unknown) and first is None:
            first = row_of(block, unknown[0]), block.name, str(ends[unknown[0]])
    return None if first is None else (count, *first)


def _whole(ids: pd.Index[Any]) -> pd.Index[Any]:
    """Ids without their .0, if all of them have it."""
    return _undotted(ids) if _dotted(ids) else ids


def _dotted(ids: pd.Index[Any]) -> bool:
    return bool(ids.str.fullmatch(r"-?\d+\.0+").all())


def _undotted(ids: pd.Index[Any]) -> pd.Index[Any]:
    return ids.str.replace(r"\.0+$", "", regex=True)
