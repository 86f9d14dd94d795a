"""The paper's numbers by their cells, with an interval of each gain."""

from __future__ import annotations

from functools import cache
from typing import Any

from scipy import stats

from clgnn.experiments.methods import CELL, Cell
from clgnn.experiments.published import TABLES, published
from clgnn.experiments.statistics import LEVEL
from clgnn.report.notes import PAPER_TRIALS


@cache
def printed() -> dict[Cell, dict[str, Any]]:
    """The paper's numbers by their cells, with a 95 % interval of each gain.

    Example:
        >>> found = printed()["cora", 85, 0, "gcn+cl"]
        >>> found["gain"], round(found["low"], 2), round(found["high"], 2)
        (6.29, 2.15, 10.43)
    """
    critical = float(stats.t.ppf(1 - LEVEL / 2, PAPER_TRIALS - 1))
    found: dict[Cell, dict[str, Any]] = {}
    for row in (row for table in TABLES for row in published(table).to_dict("records")):
        reach = critical * row["gain_se"]
        cell: Any = tuple(row[name] for name in CELL)
        found.setdefault(
            cell,
            {
                "se": row["standard_error"],
                **{name: row[name] for name in ("mean", "gain", "gain_se")},
                **{name: bool(row[name]) for name in ("significant", "best")},
                "low": row["gain"] - reach,
                "high": row["gain"] + reach,
            },
        )
    return found
