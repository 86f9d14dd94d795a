"""The content of a report on a ledger: our numbers beside the paper's, and what is behind each of them."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clgnn.data.datasets import FACEBOOK100
from clgnn.estimators.metrics import LOWER_IS_BETTER
from clgnn.experiments.methods import CELL, GNNS, RIVALS, TRAINS_ON_TEST_GRAPH, gnn_of
from clgnn.experiments.published import running_times
from clgnn.experiments.statistics import by_iteration, cells, metric
from clgnn.report import names
from clgnn.report.calibration import pooled
from clgnn.report.headline import count_gains
from clgnn.report.notes import PAPER_TRIALS, best, daggers, too_few
from clgnn.report.printed import printed


def describe(method: str) -> dict[str, Any]:
    """How a page calls a method: its name, its family and kind, and whether it needs a dagger.

    Example:
        >>> describe("sage+cl-uniform")["name"], describe("gnn_all_labels")["dagger"]
        ('GraphSAGE + CL, random labels', True)
    """
    gnn, plus, variant = method.partition("+")
    family = gnn if plus else gnn_of(method)
    papers = family in GNNS or method in RIVALS
    return {
        "name": names.method(method),
        "family": family,
        "family_name": None if family is None else names.method(gnn),
        "kind": "other" if family is None else variant or "plain",
        "dagger": method in TRAINS_ON_TEST_GRAPH,
        "group": "The paper's methods" if papers else "Methods since the paper, and controls",
    }


def describe_dataset(name: str, metric: str, share: bool) -> dict[str, Any]:
    """How a page calls a dataset that is not the paper's, and its metric.

    Example:
        >>> describe_dataset("mine", "log_loss", share=False)
        {'name': 'mine', 'metric': 'log loss', 'unit': '', 'lower': True, 'mark': ''}
    """
    return {
        "name": name,
        "metric": metric.replace("_", " "),
        "unit": "%" if share else "",
        "lower": metric in LOWER_IS_BETTER,
        "mark": "",
    }


def from_trials(trials: pd.DataFrame, graph: dict[str, Any] | None = None) -> dict[str, Any]:
    """The content of a page on a ledger.

    Args:
        trials: one row per trial, from :func:`clgnn.experiments.ledger.read`.
        graph: the graph of one trial, from :func:`clgnn.report.graph_view.view_trials`.

    Returns:
        The content, for :func:`clgnn.report.page.page`.

    Raises:
        ValueError: if no trial is done.
    """
    if not len(trials):
        raise ValueError("there are no trials; expected some in the ledger: run `clgnn reproduce` first")
    done, failed = trials[trials["status"] == "done"], trials[trials["status"] != "done"]
    if not len(done):
        raise ValueError(
            f"all {len(trials)} trials failed; expected one that is done: the first error is "
            f"{last_line(failed['error'].iloc[0])!r}"
        )
    found, papers = cells(trials), printed()
    curves = {tuple(key): curve for key, curve in by_iteration(trials).groupby(CELL)}
    rows = [_cell(row, done, failed, papers, curves) for row in _records(found)]
    rows.sort(key=_order)
    datasets = {cell["dataset"]: _dataset(cell["dataset"]) for cell in rows}
    methods = sorted({cell["method"] for cell in rows}, key=names.method_order)
    return {
        "kind": "trials",
        "title": "Collective learning, reproduced",
        "headline": count_gains(found).sentence,
        "lead": "The tables of “A Collective Learning Framework to Boost GNN Expressiveness” (Hang, Neville "
        "and Ribeiro, 2020), computed again with clgnn. + CL is a GNN boosted by collective learning.",
        "facts": _facts(trials, done, failed),
        "notes": _notes(datasets, methods),
        "best": best(methods, too_few(found)),
        "datasets": datasets,
        "methods": {method: describe(method) for method in methods},
        "cells": rows,
        "times": _times(datasets, papers),
        "failures": [
            [*(row[name] for name in [*CELL, "trial"]), last_line(row["error"])] for row in _records(failed)
        ],
        "graph": graph,
    }


def _order(cell: dict[str, Any]) -> tuple[Any, ...]:
    column = names.dataset_order(cell["dataset"]), cell["labels"], cell["percent"]
    return *column, names.method_order(cell["method"])


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _dataset(name: str) -> dict[str, Any]:
    return {
        "name": names.dataset(name),
        "metric": metric(name).replace("_", " "),
        "unit": "%",
        "lower": False,
        "mark": "‡" if name == FACEBOOK100 else "",
    }


def _notes(datasets: dict[str, Any], methods: list[str]) -> list[str]:
    notes = [f"‡ {names.STAND_IN}"] if FACEBOOK100 in datasets else []
    if "friendster" in datasets:
        notes.append("The metric is accuracy; on Friendster it is balanced accuracy, as in the paper.")
    return [
        *notes,
        *daggers(methods),
        "Gains are paired by trial, and negative for a loss. Intervals are 95 % by Student's t; those of the "
        f"paper come from its standard errors and {PAPER_TRIALS} trials. p is of a two-sided paired t-test; "
        "Holm's p corrects it for all gains of this page.",
    ]


def _facts(trials: pd.DataFrame, done: pd.DataFrame, failed: pd.DataFrame) -> list[list[str]]:
    facts = [
        ["Trials", f"{len(done):,} done, {len(failed):,} failed"],
        ["Last trial", str(trials["finished"].dropna().max())[:16].replace("T", " ") + " UTC"],
        ["Time", f"{done['seconds'].sum() / 3600:,.1f} hours of fits"],
    ]
    seen: dict[str, set[str]] = {}
    for versions in trials["versions"]:
        for name, version in (versions if isinstance(versions, dict) else {}).items():
            seen.setdefault(str(name), set()).add(str(version))
    if seen:
        facts.append(
            ["Versions", ", ".join(f"{name} {' / '.join(sorted(found))}" for name, found in seen.items())]
        )
    revisions = sorted({value[:10] for value in trials["revision"] if isinstance(value, str) and value})
    if revisions:
        facts.append(["Source", "revision " + ", ".join(revisions)])
    return facts


def _cell(
    row: dict[str, Any],
    done: pd.DataFrame,
    failed: pd.DataFrame,
    papers: dict[Any, dict[str, Any]],
    curves: dict[tuple[Any, ...], pd.DataFrame],
) -> dict[str, Any]:
    """What a page shows of a row of :func:`~clgnn.experiments.statistics.cells`, and of what is behind it."""
    key = tuple(row[name] for name in CELL)
    base = row["base"] if isinstance(row["base"], str) else None
    ours = _of(done, key).sort_values("trial")
    settings = [value if isinstance(value, dict) else {} for value in ours["settings"]]
    common, varying = _shared(settings)
    plain = _of(done, (*key[:3], base)).set_index("trial")
    return {
        **dict(zip(("dataset", "labels", "percent", "method"), key, strict=True)),
        "base": base,
        "n": int(row["n"]),
        "failed": len(_of(failed, key)),
        "mean": row["mean"],
        "se": row["standard_error"],
        **{name: row[name] for name in ("gain", "gain_se", "low", "high", "p", "p_holm")},
        "significant": bool(row["significant"]),
        "best": bool(row["best"]),
        "seconds": row["seconds"],
        "memory": row["peak_memory"],
        "published": papers.get(key),
        "settings": common,
        "trials": [
            _trial(trial, {name: values.get(name) for name in varying}, plain[metric(key[0])])
            for trial, values in zip(_records(ours), settings, strict=True)
        ],
        "iterations": _curve(curves.get(key)),
        "reliability": pooled(ours["reliability"]),
    }


def _trial(trial: dict[str, Any], settings: dict[str, Any], plain: pd.Series[Any]) -> dict[str, Any]:
    """One trial of a cell; its gain is over the plain trial with the same number."""
    value, number = trial[metric(trial["dataset"])], trial["trial"]
    return {
        "trial": int(number),
        "value": 100 * value,
        "gain": 100 * (value - plain[number]) if number in plain.index else None,
        **{name: trial[name] for name in ("validation", "seconds", "predict_seconds")},
        "settings": settings,
    }


def _of(trials: pd.DataFrame, cell: tuple[Any, ...]) -> pd.DataFrame:
    """The trials of a cell."""
    return trials[(trials[CELL] == list(cell)).all(axis=1)]


def _shared(settings: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """The settings that all trials share, and the names of those that differ."""
    names = list(dict.fromkeys(name for values in settings for name in values))
    same = [name for name in names if all(s.get(name) == settings[0].get(name) for s in settings)]
    return {name: settings[0].get(name) for name in same}, [name for name in names if name not in same]


def _curve(curve: pd.DataFrame | None) -> dict[str, list[float]] | None:
    """The mean and the standard error after each iteration; None if there is at most one."""
    if curve is None or len(curve) < 2:
        return None
    return {"mean": curve["mean"].tolist(), "se": curve["standard_error"].tolist()}


def _times(datasets: dict[str, Any], papers: dict[Any, dict[str, Any]]) -> list[dict[str, Any]]:
    """The paper's running times, which it has for the first columns of its main table."""
    found = []
    for row in _records(running_times()):
        columns = [key for key in papers if key[0] == row["dataset"] and key[3] == row["gnn"]]
        if row["dataset"] not in datasets or not columns:
            continue
        labels = min(key[1] for key in columns)
        for percent, boosted in ((0, "cl_unlabeled_minutes"), (50, "cl_partial_minutes")):
            for method, minutes in ((row["gnn"], "base_minutes"), (row["gnn"] + "+cl", boosted)):
                value = papers.get((row["dataset"], labels, percent, method))
                if value is not None:
                    found.append({
                        "dataset": row["dataset"], "labels": labels, "percent": percent, "method": method,
                        "seconds": 60 * row[minutes], "mean": value["mean"],
                    })  # fmt: skip
    return found


def last_line(error: Any) -> str:
    """The last line of an error, which says what went wrong."""
    said = error.strip() if isinstance(error, str) else ""
    return said.splitlines()[-1][:300] if said else "no message"
