"""The content of a report on many methods on the same splits of one graph, the best first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from clgnn.estimators.metrics import LOWER_IS_BETTER
from clgnn.experiments.leaderboard import is_share
from clgnn.report import names, notes
from clgnn.report.evaluation import made_now, plain_setting
from clgnn.report.trials import describe, describe_dataset, last_line

_COLOURS = 7  # families that have a colour of their own


def from_leaderboard(
    board: pd.DataFrame,
    *,
    name: str,
    metric: str,
    recommendation: str,
    trials: pd.DataFrame,
    settings: Mapping[str, Any],
    graph: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The content of a page on many methods, the best first.

    Args:
        board: one row per method, best first, from :func:`clgnn.experiments.leaderboard.leaderboard`.
        name: what the methods were compared on.
        metric: its name; shares are shown in percent.
        recommendation: the sentence that the page begins with.
        trials: one row per method and split: ``method``, ``trial``, ``value``, ``seconds``, ``status`` and
            ``error``.
        settings: what all methods share.
        graph: from :func:`clgnn.report.graph_view.view`.

    Returns:
        The content, for :func:`clgnn.report.page.page`.
    """
    share = is_share(metric)
    scale = 100.0 if share else 1.0
    methods = [str(method) for method in board["method"]]
    known = trials[["method", "trial", "value", "seconds", "status", "error"]]
    done, failed = known[known["status"] == "done"], known[known["status"] != "done"]
    best = methods[0] if methods else None
    splits = sorted(done["trial"].unique())
    cells = [_cell(row, scale, name, best, done, failed) for row in _records(board)]
    called = metric.replace("_", " ")
    return {
        "kind": "leaderboard",
        "title": f"{name}: {len(methods)} method{'s' if len(methods) != 1 else ''} compared",
        "headline": recommendation,
        "lead": f"All methods on the same {len(splits)} split{'s' if len(splits) != 1 else ''}: each learns "
        "from the same nodes and is judged on the same nodes.",
        "facts": [
            ["Splits", str(len(splits))],
            *made_now(),
            ["Time", f"{done['seconds'].sum():,.0f} seconds of fits"],
        ],
        "notes": _notes(metric, methods, len(splits)),
        "best": "the best of its column",
        "datasets": {name: describe_dataset(name, metric, share)},
        "methods": _methods(methods),
        "cells": cells,
        "tables": [_table(board, scale, called, best), _by_split(done, methods, splits, scale, called)],
        "settings": {key: plain_setting(value) for key, value in settings.items()},
        "failures": [
            [str(row["method"]), str(row["trial"]), last_line(row["error"])] for row in _records(failed)
        ],
        "graph": graph,
    }  # fmt: skip


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table; what is missing is None."""
    return [
        {str(name): None if pd.isna(value) else value for name, value in row.items()}
        for row in table.to_dict("records")
    ]


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else scale * float(value)


def _cell(
    row: dict[str, Any], scale: float, name: str, best: str | None, done: pd.DataFrame, failed: pd.DataFrame
) -> dict[str, Any]:
    """The numbers of a method; those in the unit of the metric are scaled."""
    numbers = {
        "mean": "mean", "se": "standard_error", "mean_low": "low", "mean_high": "high", "gain": "gain",
        "low": "gain_low", "high": "gain_high", "to_best": "to_best", "to_best_low": "to_best_low",
        "to_best_high": "to_best_high",
    }  # fmt: skip
    method = str(row["method"])
    own = done[done["method"] == row["method"]].sort_values("trial")
    return {
        "dataset": name,
        "labels": 0,
        "percent": 0,
        "method": method,
        "base": row["base"],
        "n": int(row["n"]),
        "failed": int((failed["method"] == row["method"]).sum()),
        **{ours: _scaled(row[theirs], scale) for ours, theirs in numbers.items()},
        "wins": None if row["wins"] is None else int(row["wins"]),
        "seconds": row["seconds"],
        "memory": row["peak_memory"],
        "best": method == best,
        "trials": [
            {"trial": int(trial), "value": _scaled(value, scale)}
            for trial, value in zip(own["trial"], own["value"], strict=True)
        ],
    }


def _methods(methods: list[str]) -> dict[str, dict[str, Any]]:
    """How the page calls the methods; a plain GNN and its boosted selves share a colour."""
    stems = [method.partition("+")[0] for method in methods]
    families = list(dict.fromkeys(stem for stem in stems if stems.count(stem) > 1))
    colours = {stem: f"c{i % _COLOURS}" for i, stem in enumerate(families)}
    found = {}
    for method, stem in zip(methods, stems, strict=True):
        found[method] = {**describe(method), "group": "", "colour": colours.get(stem)}
        if stem in colours and method == stem:  # also a GNN of the user's own
            found[method] |= {"family": stem, "family_name": names.method(stem), "kind": "plain"}
    return found


def _notes(metric: str, methods: list[str], splits: int) -> list[str]:
    said = (
        "Intervals are 95 %, by Student's t over the splits. Differences are paired by split."
        if splits > 1
        else "One split gives no intervals: with more splits the page says how sure the order is."
    )
    if metric in LOWER_IS_BETTER:
        said += f" {metric.replace('_', ' ').capitalize()} is the better the lower it is."
    return [said, *notes.daggers(methods)]


def _format(scale: float) -> Callable[..., str]:
    digits = 1 if scale == 100 else 4

    def text(value: float | None, sign: str = "") -> str:
        return "–" if value is None else f"{scale * float(value):{sign}.{digits}f}"

    return text


def _interval(low: str, high: str) -> str:
    return "–" if "–" in (low, high) else f"{low} to {high}"


def _table(board: pd.DataFrame, scale: float, metric: str, best: str | None) -> dict[str, Any]:
    """The leaderboard itself."""
    text = _format(scale)
    unit = " in %" if scale == 100 else ""

    def line(row: dict[str, Any]) -> list[str]:
        first = row["method"] == board["method"].iloc[0]
        compared = describe(str(row["base"]))["name"] if row["base"] is not None else "–"
        return [
            describe(str(row["method"]))["name"],
            text(row["mean"]),
            _interval(text(row["low"]), text(row["high"])),
            "–" if first else text(row["to_best"], "+"),
            "–" if first else _interval(text(row["to_best_low"], "+"), text(row["to_best_high"], "+")),
            compared,
            text(row["gain"], "+"),
            _interval(text(row["gain_low"], "+"), text(row["gain_high"], "+")),
            "–" if row["wins"] is None else f"{row['wins']} of {row['n']}",
            "–" if row["seconds"] is None else f"{row['seconds']:.1f}",
            "–" if row["peak_memory"] is None else f"{row['peak_memory']:,.0f}",
        ]

    rows = _records(board)
    return {
        "title": "Leaderboard",
        "caption": f"Test {metric}{unit}, the best first; differences to the first method and to the plain "
        "one, paired by split",
        "columns": [
            "method", metric, "95 % interval", "to the first", "95 % interval", "compared with", "gain",
            "95 % interval", "better in", "seconds", "MiB",
        ],
        "rows": [line(row) for row in rows],
        "strong": [i for i, row in enumerate(rows) if row["method"] == best],
        "text": [5],
    }  # fmt: skip


def _by_split(
    done: pd.DataFrame, methods: list[str], splits: list[Any], scale: float, metric: str
) -> dict[str, Any]:
    """One row per method, one column per split."""
    text = _format(scale)
    values = {(row["method"], row["trial"]): row["value"] for row in _records(done)}
    return {
        "title": "By split",
        "caption": f"Test {metric}{' in %' if scale == 100 else ''} in each split",
        "columns": ["method", *(f"split {split}" for split in splits)],
        "rows": [
            [describe(method)["name"], *(text(values.get((method, split))) for split in splits)]
            for method in methods
        ],
    }
