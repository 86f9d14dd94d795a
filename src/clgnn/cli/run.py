"""``clgnn run``: a plain GNN and its boosted self, side by side on a dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from clgnn.baselines import METHODS
from clgnn.cli.options import (
    COUNT,
    GroupedCommand,
    console,
    option,
    output_options,
    parameters,
    print_json,
    set_threads,
    settings,
)
from clgnn.cli.progress import Bars
from clgnn.cli.report import check_out

if TYPE_CHECKING:
    from clgnn.data.graph import Graphs
    from clgnn.report.comparison import Comparison

_GROUP = "Comparison"


@click.command(cls=GroupedCommand)
@option("--dataset", default="digits", group=_GROUP, help="Use this dataset; `clgnn datasets` lists them.")
@option("--splits", "num_splits", default=5, type=COUNT, group=_GROUP, help="Draw this many random splits.")
@option("--train-labels", type=click.IntRange(min=2), group=_GROUP,
        help="Train on this many labels.  [default: what is usual for the dataset]")  # fmt: skip
@option("--method", "methods", multiple=True, type=click.Choice(list(METHODS)), group=_GROUP,
        help="Run a rival beside them; may be repeated.")  # fmt: skip
@option("--report", "report_path", type=click.Path(dir_okay=False, path_type=Path), group=_GROUP,
        help="Write an HTML page of the result to this new file.")  # fmt: skip
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
    from clgnn.data import datasets
    from clgnn.experiments.comparison import compare, summary

    given = parameters(options)
    data = datasets.load(dataset)
    set_threads(threads, data, given["num_samples"])
    page = None if report_path is None else _page(data)
    metric = given["metric"] or "accuracy"
    with Bars(quiet, metric) as bars:
        rows = compare(
            data, dataset, given, methods, num_splits, train_labels,
            watch=bars.fit, on_fitted=None if page is None else page.add,
        )  # fmt: skip
    found, gnn = summary(rows), _name(given["gnn"])
    if page is not None and report_path is not None:
        from clgnn.report.page import write

        percent = 50 if given["test_labels"] == "partial" else 0
        write(report_path, page.content(dataset, metric, rows, gnn, percent))
    if as_json:
        print_json({"dataset": dataset, "metric": metric, "splits": rows, **found})
        return
    _show(f"{dataset}: {gnn} plain and boosted", metric, rows, found)
    if methods:
        _show_methods(["plain", "boosted", *methods], metric, rows)
    if report_path is not None:
        console.print(f"The report is {report_path}.", soft_wrap=True)


def _page(data: Graphs) -> Comparison:
    from clgnn.report.comparison import Comparison

    return Comparison(data)


def _name(gnn: Any) -> str:
    return gnn if isinstance(gnn, str) else getattr(gnn, "__name__", type(gnn).__name__)


def _format(metric: str) -> tuple[str, Callable[..., str]]:
    """What stands after the name of a metric, and how its values are written."""
    from clgnn.experiments.comparison import SHARES

    if metric in SHARES:
        return " in %", lambda value, sign="": f"{100 * value:{sign}.2f}"
    return "", lambda value, sign="": f"{value:{sign}.4f}"


def _show(title: str, metric: str, rows: Sequence[Mapping[str, Any]], found: Mapping[str, Any]) -> None:
    unit, text = _format(metric)
    table = Table(title=f"{title}, test {metric.replace('_', ' ')}{unit}")
    for name in ("split", "plain", "boosted", "gain", "s.e.", "seconds plain", "boosted"):
        table.add_column(name, justify="right")
    for row in [*rows, {"split": "mean", **found["mean"]}]:
        last = row["split"] == "mean"
        if last:
            table.add_section()
        table.add_row(
            str(row["split"]),
            text(row["plain"]),
            text(row["boosted"]),
            text(row["gain"], "+"),
            text(found["gain_se"]) if last and found["gain_se"] is not None else "",
            f"{row['plain_seconds']:.1f}",
            f"{row['boosted_seconds']:.1f}",
            style="bold" if last else None,
        )
    console.print(table)


def _show_methods(names: Sequence[str], metric: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints a table with one row per method, so that any number of them fits."""
    from clgnn.experiments.statistics import standard_error

    unit, text = _format(metric)
    table = Table(title=f"all methods, test {metric.replace('_', ' ')}{unit}")
    table.add_column("method")
    for heading in ("mean", "s.e.", "seconds"):
        table.add_column(heading, justify="right")
    for name in names:
        values = [row[name] for row in rows]
        error = text(standard_error(values)) if len(rows) > 1 else ""
        seconds = sum(row[f"{name}_seconds"] for row in rows) / len(rows)
        table.add_row(name, text(sum(values) / len(values)), error, f"{seconds:.1f}")
    console.print(table)
