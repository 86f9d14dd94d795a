"""The paper's tables from our trials, with its numbers under ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from clgnn.experiments.methods import CELL, ablation, base, gnn_of
from clgnn.experiments.published import published, running_times
from clgnn.experiments.statistics import best, by_iteration, cells, with_first
from clgnn.files import written
from clgnn.report import names, notes
from clgnn.report.headline import count_gains
from clgnn.report.rendering import MISSING, Cell, ResultTable, Row, to_csv, to_latex, to_markdown

Column = tuple[str, int, int]
"""A dataset, its training labels, and the percent of test labels that are observed."""


def tables(trials: pd.DataFrame) -> dict[str, ResultTable]:
    """The tables that there are trials for, by name.

    Args:
        trials: one row per trial, from :func:`clgnn.experiments.ledger.read`.
    """
    found = cells(trials)
    made = (
        main(found),
        over_first(trials),
        learning_curve(found),
        ablation_uniform(found),
        ablation_predicted(trials),
        running_time(found),
    )
    return {table.name: table for table in made if table is not None}


def write(folder: str | PathLike[str], trials: pd.DataFrame) -> list[Path]:
    """Writes every table that there are trials for as Markdown, CSV and LaTeX; returns the paths."""
    paths = []
    for name, table in tables(trials).items():
        for suffix, render in ((".md", to_markdown), (".csv", to_csv), (".tex", to_latex)):
            path = Path(folder) / f"{name}{suffix}"
            with written(path) as temporary:
                temporary.write_text(render(table), encoding="utf-8")
            paths.append(path)
    return paths


def main(found: pd.DataFrame, rivals: bool = True) -> ResultTable | None:
    """The main table, from :func:`~clgnn.experiments.statistics.cells`; None without trials for it.

    Without ``rivals``, the paper's numbers are of GNNs alone.
    """
    paper = published("main")
    found = found[~found["method"].map(ablation).astype(bool)]
    curves = {(dataset, count) for dataset, counts in names.CURVES for count in counts}
    there = set(zip(found["dataset"], found["train_labels"], strict=True))
    others = sorted(there - curves - set(names.MAIN))
    columns = [(dataset, count, percent) for dataset, count in [*names.MAIN, *others] for percent in (0, 50)]
    headers = {(d, n, p): (f"{names.dataset(d)} {n}", f"{p} %") for d, n, p in columns}
    table = _results(
        "main",
        "Node classification with unlabelled and with partially labelled test graphs, in %",
        ("training labels", "test labels"),
        headers,
        found,
        paper if rivals else paper[paper["method"].map(gnn_of).notna()],
    )
    if table is None:
        return None
    gains = count_gains(table.data)
    return replace(table, notes=(gains.sentence, *table.notes)) if gains.ours.cells else table


def over_first(trials: pd.DataFrame) -> ResultTable | None:
    """The gains over iteration 0: the plain GNN of the paper's protocol has the epochs of one iteration."""
    table = main(cells(with_first(trials)), rivals=False)
    if table is None:
        return None
    return replace(
        table,
        name="over-first",
        title="Gains over iteration 0, the plain GNN with the epochs of one iteration, in %",
        notes=(*table.notes, "Here a plain GNN is iteration 0 of its boosted self."),
    )


def learning_curve(found: pd.DataFrame) -> ResultTable | None:
    """The paper's tables with more training labels, from ``cells``; None without trials for them."""
    headers = {
        (d, n, p): (f"{names.dataset(d)}, {p} %", str(n))
        for d, counts in names.CURVES
        for p in (0, 50)
        for n in counts
    }
    found = found[~found["method"].map(ablation).astype(bool)]
    more = found["train_labels"].isin({n for _, counts in names.CURVES for n in counts[1:]})
    found = found[found["method"].isin(found.loc[more, "method"])]  # others are in the main table alone
    if found.empty:
        return None
    found = found.assign(best=best(found))
    return _results(
        "learning-curve",
        "Node classification by number of training labels, in %",
        ("test labels", "training labels"),
        headers,
        found,
        published("learning_curve"),
    )


def ablation_uniform(found: pd.DataFrame) -> ResultTable | None:
    """The paper's ablation with labels drawn at random, from ``cells``; None without trials for it."""
    curves = [(dataset, count) for dataset, counts in names.CURVES for count in counts]
    columns = curves + [column for column in names.MAIN if column not in curves]
    found = found[found["test_label_percent"] == 0]
    uniform = found[found["method"].str.endswith("+cl-uniform")]
    keys = set(zip(uniform["dataset"], uniform["train_labels"], uniform["base"], strict=True))
    bases = [m if b is None else b for m, b in zip(found["method"], found["base"], strict=True)]
    wanted = [key in keys for key in zip(found["dataset"], found["train_labels"], bases, strict=True)]
    plain_or_uniform = found["base"].isna() | found["method"].str.endswith("+cl-uniform")
    return _results(
        "ablation-uniform",
        "The ablation with labels drawn uniformly at random, unlabelled test graphs, in %",
        ("dataset", "training labels"),
        {(d, n, 0): (names.dataset(d), str(n)) for d, n in columns},
        found[plain_or_uniform & pd.Series(wanted, found.index, dtype=bool)],
        published("ablation_uniform"),
        stars=False,  # as in the paper
    )


def ablation_predicted(trials: pd.DataFrame) -> ResultTable | None:
    """With predicted labels as input and with true ones alone, by iteration; None without trials for it."""
    found = with_and_without_predicted(trials)
    if found.empty:
        return None
    last = int(found["iteration"].max())
    rows: list[Row] = []
    for *cell, method in _keys(found):
        dataset, count, percent = cell
        here = found[(found[CELL] == [*cell, method]).all(axis=1)].set_index("iteration")
        label = f"{names.dataset(dataset)} {count}, {percent} %: {names.method(method)}"
        texts = [
            Cell(_number(here["mean"][t], here["standard_error"][t]) if t in here.index else MISSING)
            for t in range(last + 1)
        ]
        rows.append(Row(label, tuple(texts), section=bool(rows) and not method.endswith("-observed")))
    said = (
        "Mean (standard error) in %. The paper shows this as a figure, of 10 trials.",
        notes.number_of_trials(found, found["n"]),
        *notes.on_datasets(found["dataset"]),
    )
    columns = tuple(("iteration", str(t)) for t in range(last + 1))
    title = "With predicted labels as input, and with true labels only, by iteration"
    return ResultTable(
        "ablation-predicted", title, ("", "training and test labels"), columns, tuple(rows), said, found
    )


def with_and_without_predicted(trials: pd.DataFrame) -> pd.DataFrame:
    """:func:`~clgnn.experiments.statistics.by_iteration` of boosted GNNs whose ablation was run as well."""
    found = by_iteration(trials)
    observed = found[found["method"].str.endswith("+cl-observed")]
    wanted = {(*cell, method.removesuffix("-observed")) for *cell, method in _keys(observed)}
    wanted &= set(_keys(found))
    wanted |= {(*cell, f"{method}-observed") for *cell, method in wanted}
    found = found.loc[[key in wanted for key in found[CELL].itertuples(index=False, name=None)]]
    return found.reset_index(drop=True)


def running_time(found: pd.DataFrame) -> ResultTable | None:
    """Minutes of the plain GNNs and of the boosted ones, from ``cells``; None without boosted ones."""
    found = found[found["seconds"] > 0]
    boosted = found[found["method"].str.endswith("+cl")]
    paper = {(row.dataset, row.gnn): row[3:] for row in running_times().itertuples()}
    rows: list[Row] = []
    data: list[dict[str, Any]] = []
    for dataset, count in names.MAIN:
        here = boosted[(boosted["dataset"] == dataset) & (boosted["train_labels"] == count)]
        for gnn in sorted(here["base"].unique(), key=names.method_order):
            ours, theirs = _minutes(found, dataset, count, gnn), paper.get((dataset, gnn))
            label = f"{names.dataset(dataset)} {count}, {names.method(gnn)}"
            rows.append(Row(label, _times(ours, 3), section=bool(rows) and data[-1]["dataset"] != dataset))
            if theirs is not None:
                rows.append(Row("published", _times(theirs, 2), published=True))
            numbers = {"": ours, "published_": theirs or (math.nan,) * 3}
            data.append({"dataset": dataset, "train_labels": count, "gnn": gnn})
            for prefix, minutes in numbers.items():
                for kind, value in zip(("plain", "cl_unlabelled", "cl_partial"), minutes, strict=True):
                    data[-1][f"{prefix}{kind}_minutes"] = value
                    data[-1][f"{prefix}{kind}_ratio"] = value / minutes[0]
    if not rows:
        return None
    columns = (
        *(("minutes", kind) for kind in ("plain", "+ CL, unlabelled", "+ CL, partial")),
        *(("times the plain GNN", kind) for kind in ("+ CL, unlabelled", "+ CL, partial")),
    )
    said = (
        "Minutes of a fit, mean of the trials, on the machine that ran them. Published: on the paper's.",
        "Unlabelled, partial: 0 % and 50 % of the test labels are observed.",
        *notes.on_datasets((row["dataset"] for row in data), metric=False),
    )
    table = pd.DataFrame(data).drop(columns=["plain_ratio", "published_plain_ratio"])
    return ResultTable(
        "running-time", "Running times", ("", "dataset, training labels"), columns, tuple(rows), said, table
    )


def _minutes(found: pd.DataFrame, dataset: str, count: int, gnn: str) -> tuple[float, float, float]:
    """Minutes of the plain GNN, and of the boosted one without and with test labels; NaN for none."""
    here = found[(found["dataset"] == dataset) & (found["train_labels"] == count)]
    plain = here[here["method"] == gnn]  # it is trained alike for both kinds of test graph: their mean
    boosted = here[here["method"] == f"{gnn}+cl"].set_index("test_label_percent")["seconds"]
    total = float((plain["seconds"] * plain["n"]).sum())
    return (
        total / float(plain["n"].sum()) / 60 if len(plain) else math.nan,
        float(boosted.get(0, math.nan)) / 60,
        float(boosted.get(50, math.nan)) / 60,
    )


def _results(
    name: str,
    title: str,
    stub: tuple[str, str],
    headers: dict[Column, tuple[str, str]],
    found: pd.DataFrame,
    paper: pd.DataFrame,
    stars: bool = True,
) -> ResultTable | None:
    """A table of accuracies and gains: the columns and rows that we have, the paper's numbers under ours."""
    shown = found.loc[[key in headers for key in found[CELL[:3]].itertuples(index=False, name=None)]]
    if shown.empty:
        return None
    ours, theirs = _records(shown), _records(paper)
    columns = [column for column in headers if any(key[:3] == column for key in ours)]
    methods = sorted({key[3] for key in ours}, key=names.method_order)
    data = shown.merge(paper.set_index(CELL).add_prefix("published_"), "left", CELL)
    data = data.sort_values(CELL, key=_order, kind="stable").reset_index(drop=True)
    for flag in ("published_significant", "published_best"):
        data[flag] = data[flag].astype("boolean")
    said = [
        notes.GAINS,
        *([f"*: {notes.best(methods, notes.too_few(shown))}."] if stars else []),
        *notes.daggers(methods),
        *_missing(headers, columns, methods, theirs, shown),
        notes.number_of_trials(shown, shown["n"].where(shown["gain"].isna(), shown["pairs"])),
        *notes.holm(shown),
        *notes.on_datasets(shown["dataset"]),
    ]
    header = tuple(headers[column] for column in columns)
    rows = _rows(columns, methods, ours, theirs, stars)
    return ResultTable(name, title, stub, header, rows, tuple(said), data)


def _rows(
    columns: Sequence[Column],
    methods: Sequence[str],
    ours: dict[tuple[Any, ...], dict[str, Any]],
    theirs: dict[tuple[Any, ...], dict[str, Any]],
    stars: bool,
) -> tuple[Row, ...]:
    """A row for each method, and under it one with the paper's numbers, if it has any."""
    rows: list[Row] = []
    before = "", False
    for method in methods:
        family = method.split("+")[0]
        boosted = any(base(other) == family for other in methods)
        section = bool(rows) and family != before[0] and (boosted or before[1])
        before = family, boosted
        made = [_cell(ours.get((*column, method)), stars) for column in columns]
        rows.append(Row(names.method(method), tuple(made), section=section))
        printed = [theirs.get((*column, method)) for column in columns]
        if any(row is not None for row in printed):
            rows.append(Row("published", tuple(_cell(row, True) for row in printed), published=True))
    return tuple(rows)


def _cell(row: dict[str, Any] | None, star: bool) -> Cell:
    if row is None:
        return Cell(MISSING)
    best = star and bool(row["best"])
    if pd.notna(row["gain"]):
        return Cell(_number(row["gain"], row["gain_se"], "+"), bold=bool(row["significant"]), star=best)
    return Cell(_number(row["mean"], row["standard_error"]), star=best)


def _number(value: float, error: float, sign: str = "") -> str:
    return f"{value:{sign}.2f} ({MISSING if pd.isna(error) else f'{error:.2f}'})"


def _times(minutes: Sequence[float], digits: int) -> tuple[Cell, ...]:
    """Minutes, and what the boosted GNNs take as a multiple of the plain one."""
    texts = [MISSING if pd.isna(m) else f"{m:.{2 if m >= 1 else digits}f}" for m in minutes]
    ratios = [m / minutes[0] for m in minutes[1:]]
    texts += [MISSING if pd.isna(ratio) else f"{ratio:.1f}" for ratio in ratios]
    return tuple(Cell(text) for text in texts)


def _missing(
    headers: dict[Column, tuple[str, str]],
    columns: Sequence[Column],
    methods: Sequence[str],
    theirs: dict[tuple[Any, ...], dict[str, Any]],
    shown: pd.DataFrame,
) -> list[str]:
    """What the paper's table has and ours does not."""
    said = []
    printed = {key[:3] for key in theirs} - set(columns)
    absent = [", ".join(header) for column, header in headers.items() if column in printed]
    rows = sorted({key[3] for key in theirs} - set(methods), key=names.method_order)
    absent += [names.method(method) for method in rows]
    if absent:
        said.append(f"In the paper and not run: {'; '.join(absent)}.")
    if (shown["base"].notna() & shown["gain"].isna()).any():
        said.append("+ CL without a sign is an accuracy: the plain GNN was not run on the same trials.")
    return said


def _records(found: pd.DataFrame) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The rows of a frame by their cells."""
    rows: list[dict[Any, Any]] = found.to_dict("records")
    return {tuple(row[name] for name in CELL): row for row in rows}


def _keys(found: pd.DataFrame) -> list[tuple[Any, ...]]:
    """The cells of a frame, each once, in the order of the tables."""
    once = found[CELL].drop_duplicates().sort_values(CELL, key=_order, kind="stable")
    return list(once.itertuples(index=False, name=None))


def _order(column: pd.Series[Any]) -> pd.Series[Any]:
    keys: dict[Any, Callable[[str], tuple[Any, ...]]] = {
        "dataset": names.dataset_order,
        "method": names.method_order,
    }
    return column.map(keys[column.name]) if column.name in keys else column
