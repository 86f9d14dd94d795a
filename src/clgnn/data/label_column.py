"""The column of labels: which classes it has, and which other columns would give them away."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clgnn.data.columns import mostly_numbers
from clgnn.data.values import kind_of, numbers, quoted, texts

Task = Literal["auto", "classification", "regression"]
MAX_CLASSES = 100
FEW_LABELS = 10  # with fewer, a column may equal the label by chance


def refuse_leak(series: pd.Series[Any], labels: pd.Series[Any]) -> None:
    """Refuses a feature with the label's values wherever the label is known: a second column of labels."""
    rows = labels.notna().to_numpy()
    if rows.sum() < FEW_LABELS:
        return
    known, cells = labels[rows], series[rows]
    # most columns differ in the first rows
    if all((texts(part) == known.iloc[: len(part)]).all() for part in (cells.iloc[:FEW_LABELS], cells)):
        name = series.name
        raise ValueError(
            f"column {name!r} has the same values as the label column {labels.name!r} wherever a label "
            f"is known, so that it would leak the label: say --ignore {quoted(name)}, or --feature "
            f"{quoted(name)} if it is known for new nodes too"
        )


def zeros_and_ones(series: pd.Series[Any]) -> NDArray[np.float64]:
    """One of several labels as 0, 1 and NaN, ``[N]``."""
    cells = texts(series).str.lower()
    values = cells.map({"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1, "no": 0, "yes": 1})
    wrong = np.flatnonzero(cells.notna() & values.isna())
    if len(wrong):
        raise ValueError(
            f"row {wrong[0] + 1} of the label column {series.name!r} has {series.iloc[wrong[0]]!r}; expected "
            "0 or 1 (no or yes), or a blank for unknown, where several columns are labels"
        )
    if values.isna().all():
        raise ValueError(f"no node has a label in column {series.name!r}; expected some")
    return np.asarray(values, dtype=np.float64)


def listed(names: tuple[str, ...]) -> str:
    """The first names, for an error."""
    return ", ".join(names[:10]) + (", .." if len(names) > 10 else "")


def learn_classes(series: pd.Series[Any], task: Task) -> tuple[str, ...] | None:
    """The classes of a label column; None for regression."""
    cells = texts(series)
    known = cells.dropna().set_axis(np.flatnonzero(cells.notna()) + 1)
    if known.empty:
        raise ValueError(f"no node has a label in column {series.name!r}; expected some")
    found = pd.api.types.infer_dtype(series, skipna=True)
    numeric = kind_of(series) == "number" and found != "boolean"
    if task == "regression" or (task == "auto" and numeric and bool((numbers(series) % 1 > 0).any())):
        numbers(series)
        return None
    if task == "auto" and not numeric and (slips := mostly_numbers(known)) is not None:
        count, first, row = slips
        raise ValueError(
            f"the label column {series.name!r} holds numbers, but {count} of its {len(known)} labels are "
            f"not: {first!r} in row {row} is the first; correct them, or say --blank {quoted(first)} or "
            "--task classification"
        )
    names = list(known.unique())
    if task == "auto" and len(names) > MAX_CLASSES:
        raise ValueError(
            f"the label column {series.name!r} has {len(names)} different values; say --task classification "
            "or --task regression"
        )
    if len(names) == 1:
        raise ValueError(
            f"all labels in column {series.name!r} are {names[0]!r}; expected two classes or more"
        )
    return tuple(sorted(names, key=float) if numeric else sorted(names))
