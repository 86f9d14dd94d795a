"""``clgnn run``: a plain GNN and its boosted self, side by side on a dataset."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from clgnn import datasets, relational, splits
from clgnn.cli.options import Bars, console, output_options, parameters, print_json, set_threads, settings
from clgnn.cli.report import check_out
from clgnn.estimator import CollectiveClassifier, all_epochs
from clgnn.graph import Graphs

_TRAIN_LABELS = {"digits": 200, "citations": 85}  # of the two that the paper does not have


@click.command()
@click.option("--dataset", default="digits", help="A dataset; `clgnn datasets` lists them.")
@click.option("--splits", "num_splits", default=5, type=click.IntRange(min=1), help="How many random splits.")
@click.option("--method", "methods", multiple=True, type=click.Choice(list(relational.METHODS)),
              help="A rival to run beside them; may be repeated.")  # fmt: skip
@click.option("--train-labels", type=click.IntRange(min=2), help="Training labels.  [default: the dataset's]")
@click.option("--report", "report_path", type=click.Path(dir_okay=False, path_type=Path),
              help="An HTML page of the result to write; a file that is there stays.")  # fmt: skip
@settings
@output_options
def run(
    dataset: str,
    num_splits: int,
    methods: tuple[str, ...],
    train_labels: int | None,
    report_path: Path | None,
    quiet: bool,
    as_json: bool,
    threads: int | None,
    **options: Any,
) -> None:
    """Train a GNN plain and boosted, and compare them.

    Both are trained by the same loop with the same settings, the same number of gradient steps and the
    same patience in all, on connected training sets: all known labels lie in one part of the graph.
    """
    if report_path is not None:
        check_out(report_path, False, "--report")
    given = parameters(options)
    given["num_iterations"] = max(1, given["num_iterations"])
    sees_labels = given["test_labels"] == "partial"
    data = datasets.load(dataset)
    set_threads(threads, data, given["num_samples"])
    as_many = {**given, **all_epochs(given)}  # for a plain GNN
    contenders: dict[str, Callable[[int], Any]] = {
        "plain": lambda seed: CollectiveClassifier(**{**as_many, "num_iterations": 0, "seed": seed}),
        "boosted": lambda seed: CollectiveClassifier(**{**given, "seed": seed}),
        **{name: partial(_rival, name, as_many if name in relational.PLAIN else given) for name in methods},
    }
    metric = given["metric"] or "accuracy"
    rows = []
    page = None
    if report_path is not None:
        from clgnn.report import Comparison

        page = Comparison(data)
    with Bars(quiet, metric) as bars:
        for trial in range(num_splits):
            split = _split(dataset, data, train_labels, sees_labels, trial)
            row: dict[str, Any] = {"split": trial}
            for name, make in contenders.items():
                model = make(given["seed"] + trial)
                began = time.perf_counter()
                iterations, epochs = getattr(model, "num_iterations", 0), getattr(model, "max_epochs", 1)
                with bars.fit(f"split {trial} {name}", iterations, epochs) as on_epoch:
                    shown = split.val_observed_mask if sees_labels else None
                    model.fit(data, split.train_mask, split.val_mask, observed_mask=shown, on_epoch=on_epoch)
                observed = split.observed_mask if sees_labels else None
                row[name] = model.score(data, split.test_mask, observed)
                row[f"{name}_seconds"] = time.perf_counter() - began
                if page is not None:
                    page.add(name, model, split, observed)
            row["gain"] = row["boosted"] - row["plain"]
            rows.append(row)
    gains = [row["gain"] for row in rows]
    error = float(np.std(gains, ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else None
    summary = {name: float(np.mean([row[name] for row in rows])) for name in rows[0] if name != "split"}
    if page is not None and report_path is not None:
        from clgnn.report import write

        write(report_path, page.content(dataset, metric, rows, _name(given["gnn"]), 50 if sees_labels else 0))
    if as_json:
        print_json({"dataset": dataset, "metric": metric, "splits": rows, "mean": summary, "gain_se": error})
        return
    _show(dataset, metric, _name(given["gnn"]), rows, summary, error)
    if methods:
        _show_methods(["plain", "boosted", *methods], metric, rows)
    if report_path is not None:
        console.print(f"The report is {report_path}.", highlight=False)


def _rival(name: str, given: dict[str, Any], seed: int) -> relational.Rival:
    return relational.make(name, **{**given, "seed": seed})


def _name(gnn: Any) -> str:
    return gnn if isinstance(gnn, str) else getattr(gnn, "__name__", type(gnn).__name__)


def _split(
    name: str, data: Graphs, train_labels: int | None, sees_labels: bool, trial: int
) -> splits.Split[Any]:
    if name in _TRAIN_LABELS:
        labels = train_labels or _TRAIN_LABELS[name]
        return splits.connected(
            data, labels, labels if sees_labels else 0, test_nodes=500, val_nodes=300, seed=trial
        )
    percent = 50 if sees_labels else 0
    return splits.paper(name, train_labels, test_label_percent=percent, trial=trial, data=data)


def _percent(value: float, sign: str = "") -> str:
    return f"{100 * value:{sign}.2f}"


def _show(
    dataset: str,
    metric: str,
    gnn: str,
    rows: list[dict[str, Any]],
    mean: dict[str, float],
    error: float | None,
) -> None:
    table = Table(title=f"{dataset}: {gnn} plain and boosted, test {metric.replace('_', ' ')} in %")
    for name in ("split", "plain", "boosted", "gain", "s.e.", "seconds plain", "boosted"):
        table.add_column(name, justify="right")
    for row in [*rows, {"split": "mean", **mean}]:
        last = row["split"] == "mean"
        if last:
            table.add_section()
        table.add_row(
            str(row["split"]),
            _percent(row["plain"]),
            _percent(row["boosted"]),
            _percent(row["gain"], "+"),
            _percent(error) if last and error is not None else "",
            f"{row['plain_seconds']:.1f}",
            f"{row['boosted_seconds']:.1f}",
            style="bold" if last else None,
        )
    console.print(table)


def _show_methods(names: list[str], metric: str, rows: list[dict[str, Any]]) -> None:
    """A method a row, so that any number of them fits."""
    table = Table(title=f"all methods, test {metric.replace('_', ' ')} in %")
    table.add_column("method")
    for heading in ("mean", "s.e.", "seconds"):
        table.add_column(heading, justify="right")
    for name in names:
        values = np.array([row[name] for row in rows])
        error = _percent(float(values.std(ddof=1) / np.sqrt(len(values)))) if len(values) > 1 else ""
        seconds = float(np.mean([row[f"{name}_seconds"] for row in rows]))
        table.add_row(name, _percent(float(values.mean())), error, f"{seconds:.1f}")
    console.print(table)
