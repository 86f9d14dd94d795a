"""The content of a report on a ledger: our numbers beside the paper's, and what is behind each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from clgnn import relational
from clgnn.experiments.published import published, running_times
from clgnn.experiments.statistics import cells, metric
from clgnn.report import names

_STAND_IN = "facebook100/johns_hopkins55"
_PAPERS = ("random", "ica", "pl_em", "gmnn")
_PAPER_TRIALS = 5  # of each published number
_COLUMN = ["dataset", "train_labels", "test_label_percent"]


def describe(method: str) -> dict[str, Any]:
    """How a page calls a method: its name, its family and kind, and whether it needs a dagger.

    Example:
        >>> describe("sage+cl-uniform")["name"], describe("gnn_all_labels")["dagger"]
        ('GraphSAGE + CL, random labels', True)
    """
    gnn, _, variant = method.partition("+")
    family = None if method in relational.METHODS else gnn
    papers = family is not None or method in _PAPERS
    return {
        "name": names.method(method),
        "family": family,
        "family_name": None if family is None else names.method(gnn),
        "kind": "other" if family is None else variant or "plain",
        "dagger": method in names.TRAINS_ON_TEST_GRAPH,
        "group": "The paper's methods" if papers else "Methods since the paper, and controls",
    }


def from_trials(trials: pd.DataFrame, graph: dict[str, Any] | None = None) -> dict[str, Any]:
    """The content of a page on a ledger.

    Args:
        trials: a row a trial, as :func:`clgnn.experiments.ledger.read` gives them.
        graph: of one trial, from :func:`clgnn.report.graph_view.view`.

    Returns:
        The content, for :func:`~clgnn.report.page`.

    Raises:
        ValueError: if there are no trials.
    """
    if not len(trials):
        raise ValueError(
            "there are no trials; expected a ledger that `clgnn reproduce` wrote to: run it first"
        )
    done, failed = trials[trials["status"] == "done"], trials[trials["status"] != "done"]
    if not len(done):
        raise ValueError(
            f"none of the {len(trials)} trials is done, all failed; expected some: the first says "
            f"{_first_line(failed['error'].iloc[0])!r}"
        )
    numbers = cells(trials)
    printed = _published()
    rows = [_cell(row, done, failed, printed) for row in _records(numbers)]
    rows.sort(
        key=lambda cell: (
            names.dataset_order(cell["dataset"]),
            cell["labels"],
            cell["percent"],
            names.method_order(cell["method"]),
        )
    )
    datasets = {cell["dataset"]: _dataset(cell["dataset"]) for cell in rows}
    methods = sorted({cell["method"] for cell in rows}, key=names.method_order)
    return {
        "kind": "trials",
        "title": "Collective learning, reproduced",
        "lead": "The tables of “A Collective Learning Framework to Boost GNN Expressiveness” (Hang, Neville "
        "and Ribeiro, 2020), computed again with clgnn. + CL is a GNN boosted by collective learning.",
        "facts": _facts(trials, done, failed),
        "notes": _notes(datasets, methods),
        "datasets": datasets,
        "methods": {method: describe(method) for method in methods},
        "cells": rows,
        "times": _times(datasets, printed),
        "failures": [
            [
                row["dataset"],
                row["train_labels"],
                row["test_label_percent"],
                row["method"],
                row["trial"],
                _first_line(row["error"]),
            ]
            for row in _records(failed)
        ],
        "graph": graph,
    }


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _dataset(name: str) -> dict[str, Any]:
    return {
        "name": names.dataset(name),
        "metric": metric(name).replace("_", " "),
        "unit": "%",
        "mark": "‡" if name == _STAND_IN else "",
    }


def _notes(datasets: dict[str, Any], methods: list[str]) -> list[str]:
    notes = []
    if _STAND_IN in datasets:
        notes.append(f"‡ {names.STAND_IN}")
    if "friendster" in datasets:
        notes.append(
            "On Friendster the metric is balanced accuracy, as in the paper; elsewhere it is accuracy."
        )
    if set(names.TRAINS_ON_TEST_GRAPH) & set(methods):
        notes.append(
            "† These train on labels of the test graph, which the others see in prediction, or not at all."
        )
    notes.append(
        "Gains are paired by trial. Intervals are 95 % by Student's t; the published ones are from their "
        f"standard errors and {_PAPER_TRIALS} trials. p is of a two-sided paired t-test, Holm's p corrects "
        "it for all gains of this page."
    )
    return notes


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
    row: dict[str, Any], done: pd.DataFrame, failed: pd.DataFrame, printed: dict[Any, dict[str, Any]]
) -> dict[str, Any]:
    column = tuple(row[name] for name in _COLUMN)
    dataset, labels, percent = column
    here = _of(done, column)
    ours = here[here["method"] == row["method"]].sort_values("trial")
    reported = metric(str(dataset))
    base = row["base"] if isinstance(row["base"], str) else None
    plain = here[here["method"] == base].set_index("trial")[reported] if base else pd.Series(dtype=float)
    settings = [value if isinstance(value, dict) else {} for value in ours["settings"]]
    common, varying = _shared(settings)
    return {
        "dataset": dataset,
        "labels": int(labels),
        "percent": int(percent),
        "method": row["method"],
        "base": base,
        "n": int(row["n"]),
        "failed": int((_of(failed, column)["method"] == row["method"]).sum()),
        "mean": row["mean"],
        "se": row["standard_error"],
        **{name: row[name] for name in ("gain", "gain_se", "low", "high", "p", "p_holm")},
        "significant": bool(row["significant"]),
        "best": bool(row["best"]),
        "seconds": row["seconds"],
        "memory": row["peak_memory"],
        "published": printed.get((*column, row["method"])),
        "settings": common,
        "trials": [
            {
                "trial": int(trial["trial"]),
                "value": 100 * trial[reported],
                "gain": 100 * (trial[reported] - plain[trial["trial"]])
                if trial["trial"] in plain.index
                else None,
                "validation": trial["validation"],
                "seconds": trial["seconds"],
                "predict_seconds": trial["predict_seconds"],
                "settings": {name: values.get(name) for name in varying},
            }
            for trial, values in zip(_records(ours), settings, strict=True)
        ],
        "iterations": _iterations(ours["iterations"].tolist()),
        "reliability": pooled(ours["reliability"].tolist()),
    }


def _of(trials: pd.DataFrame, column: tuple[Any, ...]) -> pd.DataFrame:
    chosen = np.ones(len(trials), dtype=bool)
    for name, value in zip(_COLUMN, column, strict=True):
        chosen &= (trials[name] == value).to_numpy(dtype=bool)
    return trials[chosen]


def _shared(settings: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """The settings that all trials share, and the names of those that differ."""
    names = list(dict.fromkeys(name for values in settings for name in values))
    same = [name for name in names if all(s.get(name) == settings[0].get(name) for s in settings)]
    return {name: settings[0].get(name) for name in same}, [name for name in names if name not in same]


def _iterations(curves: list[Any]) -> dict[str, list[float]] | None:
    """The mean and standard error, in percent, after each iteration; over trials with as many iterations."""
    found = [curve for curve in curves if isinstance(curve, list) and len(curve) > 1]
    if not found:
        return None
    length = max(len(curve) for curve in found)
    values = 100 * np.array([curve for curve in found if len(curve) == length], dtype=float)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.zeros(length)
    return {"mean": values.mean(axis=0).tolist(), "se": error.tolist()}


def pooled(tables: list[Any]) -> dict[str, list[Any]] | None:
    """Reliability over several trials: bins are added up.

    Example:
        >>> one = {"confidence": [0.25, 0.8], "accuracy": [0.0, 0.5], "count": [1, 2]}
        >>> pooled([one, {"confidence": [None, 0.6], "accuracy": [None, 1.0], "count": [0, 2]}])
        {'confidence': [0.25, 0.7], 'accuracy': [0.0, 0.75], 'count': [1, 4]}
    """
    found = [table for table in tables if isinstance(table, dict) and table.get("count")]
    if not found:
        return None
    count = np.array([table["count"] for table in found], dtype=float)
    total = count.sum(axis=0)

    def mean(name: str) -> list[float | None]:
        values = np.nan_to_num(np.array([table[name] for table in found], dtype=float))
        sums = (values * count).sum(axis=0)
        return [float(round(s / n, 6)) if n else None for s, n in zip(sums, total, strict=True)]

    return {"confidence": mean("confidence"), "accuracy": mean("accuracy"), "count": [int(n) for n in total]}


def _published() -> dict[Any, dict[str, Any]]:
    """The paper's numbers by dataset, training labels, test labels and method."""
    critical = float(stats.t.ppf(0.975, _PAPER_TRIALS - 1))
    found: dict[Any, dict[str, Any]] = {}
    for table in ("main", "learning_curve", "ablation_uniform"):
        for row in _records(published(table)):
            gain, error = row["gain"], row["gain_se"]
            key = (row["dataset"], int(row["train_labels"]), int(row["test_label_percent"]), row["method"])
            found.setdefault(key, {
                "mean": row["mean"],
                "se": row["standard_error"],
                "gain": gain,
                "gain_se": error,
                "low": gain - critical * error,
                "high": gain + critical * error,
                "significant": row["significant"] is True or row["significant"] == "yes",
                "best": row["best"] is True or row["best"] == "yes",
            })  # fmt: skip
    return found


def _times(datasets: dict[str, Any], printed: dict[Any, dict[str, Any]]) -> list[dict[str, Any]]:
    """The paper's running times, which it has for the first columns of its main table."""
    found = []
    for row in _records(running_times()):
        columns = [key for key in printed if key[0] == row["dataset"] and key[3] == row["gnn"]]
        if row["dataset"] not in datasets or not columns:
            continue
        labels = min(key[1] for key in columns)
        for percent, boosted in ((0, "cl_unlabeled_minutes"), (50, "cl_partial_minutes")):
            for method, minutes in ((row["gnn"], "base_minutes"), (row["gnn"] + "+cl", boosted)):
                value = printed.get((row["dataset"], labels, percent, method))
                if value is not None:
                    found.append({
                        "dataset": row["dataset"], "labels": labels, "percent": percent, "method": method,
                        "seconds": 60 * row[minutes], "mean": value["mean"],
                    })  # fmt: skip
    return found


def _first_line(error: Any) -> str:
    return (
        str(error).strip().splitlines()[-1][:300]
        if isinstance(error, str) and error.strip()
        else "no message"
    )
