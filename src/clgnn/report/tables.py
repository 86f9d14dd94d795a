"""The paper's tables from our trials, its numbers under ours; :mod:`clgnn.report.rendering` writes them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from clgnn.experiments.published import CELL, published, running_times
from clgnn.experiments.statistics import LEVEL, base, by_iteration, cells
from clgnn.persistence import written
from clgnn.report import names
from clgnn.report.rendering import (
    MISSING,
    Cell,
    ResultTable,
    Row,
    parts,
    to_csv,
    to_latex,
    to_markdown,
    to_rich,
)

__all__ = [
    "Cell",
    "ResultTable",
    "Row",
    "ablation_predicted",
    "ablation_uniform",
    "learning_curve",
    "main",
    "parts",
    "running_time",
    "tables",
    "to_csv",
    "to_latex",
    "to_markdown",
    "to_rich",
    "with_and_without_predicted",
    "write",
]

_TRIALS = 5  # the paper's

Column = tuple[str, int, int]
"""A dataset, its training labels, and the percent of test labels that are observed."""


def tables(trials: pd.DataFrame) -> dict[str, ResultTable]:
    """The tables that there are trials for, by name."""
    found = cells(trials)
    made = (
        main(found),
        learning_curve(found),
        ablation_uniform(found),
        ablation_predicted(trials),
        running_time(found),
    )
    return {table.name: table for table in made if table is not None}


def write(folder: str | PathLike[str], trials: pd.DataFrame) -> list[Path]:
    """Writes ``<name>.md``, ``.csv`` and ``.tex`` of every table that there are trials for; the paths."""
    paths = []
    for name, table in tables(trials).items():
        for suffix, render in ((".md", to_markdown), (".csv", to_csv), (".tex", to_latex)):
            path = Path(folder) / f"{name}{suffix}"
            with written(path) as temporary:
                temporary.write_text(render(table), encoding="utf-8")
            paths.append(path)
    return paths


def main(found: pd.DataFrame) -> ResultTable | None:
    """The main table, from :func:`~clgnn.experiments.statistics.cells`; None without trials for it."""
    found = found[~found["method"].str.contains("+cl-", regex=False)]
    curves = {(dataset, count) for dataset, counts in names.CURVES for count in counts}
    there = set(zip(found["dataset"], found["train_labels"], strict=True))
    others = sorted(there - curves - set(names.MAIN))
    columns = [(dataset, count, percent) for dataset, count in [*names.MAIN, *others] for percent in (0, 50)]
    headers = {(d, n, p): (f"{names.dataset(d)} {n}", f"{p} %") for d, n, p in columns}
    return _results(
        "main",
        "Node classification with unlabelled and with partially labelled test graphs, in %",
        ("training labels", "test labels"),
        headers,
        found,
        published("main"),
    )


def learning_curve(found: pd.DataFrame) -> ResultTable | None:
    """The paper's tables with more training labels, from ``cells``; None without trials for them."""
    headers = {
        (d, n, p): (f"{names.dataset(d)}, {p} %", str(n))
        for d, counts in names.CURVES
        for p in (0, 50)
        for n in counts
    }
    found = found[~found["method"].str.contains("+cl-", regex=False)]
    more = {n for _, counts in names.CURVES for n in counts[1:]}
    if not found["train_labels"].isin(more).any():  # else it would be a part of the main table
        return None
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
    notes = (
        "Mean (standard error) in %. The paper shows this as a figure, of 10 trials.",
        _trial_note((int(n), label) for n, label in _by_label(found, found["n"])),
        *_dataset_notes(found["dataset"]),
    )
    columns = tuple(("iteration", str(t)) for t in range(last + 1))
    title = "With predicted labels as input, and with true labels only, by iteration"
    return ResultTable(
        "ablation-predicted", title, ("", "training and test labels"), columns, tuple(rows), notes, found
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
    notes = (
        "Minutes of a fit, mean of the trials, on the machine that ran them. Published: on the paper's.",
        "Unlabelled, partial: 0 % and 50 % of the test labels are observed.",
        *_dataset_notes((row["dataset"] for row in data), metric=False),
    )
    table = pd.DataFrame(data).drop(columns=["plain_ratio", "published_plain_ratio"])
    return ResultTable(
        "running-time", "Running times", ("", "dataset, training labels"), columns, tuple(rows), notes, table
    )


def _minutes(found: pd.DataFrame, dataset: str, count: int, gnn: str) -> tuple[float, float, float]:
    """Of the plain GNN, of the boosted one without test labels, and with them; NaN where there are none."""
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
    ours = {(*column, method): row for (*column, method), row in _records(found) if tuple(column) in headers}
    theirs = dict(_records(paper))
    columns = [column for column in headers if any(key[:3] == column for key in ours)]
    methods = sorted({key[3] for key in ours}, key=names.method_order)
    if not columns:
        return None
    best = _best(ours) if stars else set()
    rows: list[Row] = []
    before = "", False
    for method in methods:
        family = method.split("+")[0]
        boosted = any(base(other) == family for other in methods)
        section = bool(rows) and family != before[0] and (boosted or before[1])
        before = family, boosted
        made = [_cell(ours.get((*column, method)), (*column, method) in best) for column in columns]
        rows.append(Row(names.method(method), tuple(made), section=section))
        printed = [theirs.get((*column, method)) for column in columns]
        if any(row is not None for row in printed):
            made = [_cell(row, row is not None and bool(row["best"])) for row in printed]
            rows.append(Row("published", tuple(made), published=True))
    shown = found.loc[[key in ours for key in found[CELL].itertuples(index=False, name=None)]]
    data = shown.merge(paper.set_index(CELL).add_prefix("published_"), "left", CELL)
    data = data.sort_values(CELL, key=_order, kind="stable")
    for flag in ("published_significant", "published_best"):
        data[flag] = data[flag].astype("boolean")
    notes = [
        "Accuracy in % (standard error); + CL: the gain over the plain GNN in points (its standard error), "
        "bold where significant in a paired t-test (p < 0.05). Published: the paper's numbers, below ours.",
        *_star_note(methods, stars),
        *_missing_notes(headers, columns, methods, theirs, shown),
        _trial_note(_by_label(shown, shown["n"].where(shown["gain"].isna(), shown["pairs"]))),
        *_holm_note(shown),
        *_dataset_notes(shown["dataset"]),
    ]
    header = tuple(headers[column] for column in columns)
    return ResultTable(name, title, stub, header, tuple(rows), tuple(notes), data.reset_index(drop=True))


def _cell(row: dict[str, Any] | None, best: bool) -> Cell:
    if row is None:
        return Cell(MISSING)
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


def _best(ours: dict[tuple[Any, ...], dict[str, Any]]) -> set[tuple[Any, ...]]:
    """The best of each column among those that can be compared; of equals, all."""
    highest: dict[tuple[Any, ...], float] = defaultdict(float)
    fair = {key: row["mean"] for key, row in ours.items() if key[3] not in names.TRAINS_ON_TEST_GRAPH}
    for key, mean in fair.items():
        highest[key[:3]] = max(highest[key[:3]], mean)
    return {key for key, mean in fair.items() if mean == highest[key[:3]]}


def _star_note(methods: Iterable[str], stars: bool) -> list[str]:
    marked = bool(set(methods) & set(names.TRAINS_ON_TEST_GRAPH))
    notes = ["*: the best of its column" + (", but for †." if marked else ".")] if stars else []
    if marked:
        notes.append("†: trains on the observed labels of the test graph as well, which the others do not.")
    return notes


def _missing_notes(
    headers: dict[Column, tuple[str, str]],
    columns: Sequence[Column],
    methods: Sequence[str],
    theirs: dict[tuple[Any, ...], dict[str, Any]],
    shown: pd.DataFrame,
) -> list[str]:
    notes = []
    printed = {key[:3] for key in theirs} - set(columns)
    absent = [", ".join(header) for column, header in headers.items() if column in printed]
    rows = sorted({key[3] for key in theirs} - set(methods), key=names.method_order)
    absent += [names.method(method) for method in rows]
    if absent:
        notes.append(f"In the paper and not run: {'; '.join(absent)}.")
    if (shown["base"].notna() & shown["gain"].isna()).any():
        notes.append("+ CL without a sign is an accuracy: the plain GNN was not run on the same trials.")
    return notes


def _trial_note(counts: Iterable[tuple[int, str]]) -> str:
    """How many trials most cells have; the others by name."""
    by_count: dict[int, list[str]] = defaultdict(list)
    for n, label in counts:
        by_count[n].append(label)
    usual = max(by_count, key=lambda n: (len(by_count[n]), n))
    note = f"{usual} trial{'s' * (usual != 1)} a cell"
    note += f" (the paper: {_TRIALS})" if usual < _TRIALS else ""
    others = [
        f"{n} in {'; '.join(dict.fromkeys(labels))}"
        for n, labels in sorted(by_count.items(), reverse=True)
        if n != usual
    ]
    return f"{note}, but {', and '.join(others)}." if others else f"{note}."


def _by_label(found: pd.DataFrame, counts: pd.Series[Any]) -> list[tuple[int, str]]:
    """The number of trials of each cell; of a dataset at once, if it has several and they have as many."""
    keys = found[CELL].itertuples(index=False, name=None)
    alike = counts.groupby(found["dataset"]).agg(lambda some: len(some) > 1 and some.nunique() == 1)
    return [
        (
            int(n),
            f"all of {names.dataset(dataset)}"
            if alike[dataset]
            else f"{names.method(method)} on {names.dataset(dataset)} {count}, {percent} %",
        )
        for (dataset, count, percent, method), n in zip(keys, counts, strict=True)
    ]


def _holm_note(shown: pd.DataFrame) -> list[str]:
    bold = shown[shown["significant"]]
    if shown["p"].isna().all():
        return []
    stay = int((bold["p_holm"] < LEVEL).sum())
    return [
        f"{stay} of {len(bold)} bold gains stay significant with Holm's correction for all gains that were "
        "tested; the CSV file has both p-values, and intervals."
    ]


def _dataset_notes(datasets: Iterable[str], metric: bool = True) -> list[str]:
    there = set(datasets)
    notes = [names.STAND_IN] if "facebook100/johns_hopkins55" in there else []
    return notes + (["Friendster: balanced accuracy."] if metric and "friendster" in there else [])


def _records(found: pd.DataFrame) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    rows: list[dict[Any, Any]] = found.to_dict("records")
    return [(tuple(row[name] for name in CELL), row) for row in rows]


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
