"""``clgnn compare``: which method is best on one's own tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clgnn.cli.asked import numbered
from clgnn.cli.options import (
    COUNT,
    GroupedCommand,
    asked_for,
    console,
    errors,
    option,
    output_options,
    parameters,
    print_json,
    set_threads,
    settings,
    worker_options,
)
from clgnn.cli.reproduce import name_failed, names_in, progress
from clgnn.cli.tables import (
    feature_options,
    label_option,
    learn_schema,
    one_table,
    show_tables,
    table_options,
)
from clgnn.estimators.settings import CollectiveSettings

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor
    from torch_geometric.data import Data

    from clgnn.data.splits import Split
    from clgnn.data.tables import Schema
    from clgnn.experiments.compare import Comparison
    from clgnn.experiments.plan import Trial

_GROUP = "Comparison"
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command(cls=GroupedCommand)
@table_options(fitting=True)
@label_option("Learn the labels of this column; a blank is unknown.", required=True, several=False)
@feature_options
@option("--undirected/--directed", default=True, group="Columns", help="Count edges in both directions.")
@option("--methods", group=_GROUP, help="Compare only these, separated by commas, such as "
        "gcn,gcn+cl,label_propagation,hist_gradient_boosting.  [default: all that apply]")  # fmt: skip
@option("--splits", "num_splits", type=COUNT, group=_GROUP,
        help="Draw this many splits.  [default: 10; one for each --split]")  # fmt: skip
@option("--split-kind", default="random", type=click.Choice(["random", "connected"]), group=_GROUP,
        help="Split the labels at random, by class; or let all labels to learn from lie in one part of the "
        "graph.")  # fmt: skip
@option("--split", "columns", multiple=True, group=_GROUP, help="Take train, val, test and observed from "
        "this column instead; may be repeated.")  # fmt: skip
@option("--test-share", default=0.2, type=_SHARE, group=_GROUP, help="Judge on this share of the labels.")
@option("--val-share", default=0.2, type=_SHARE, group=_GROUP,
        help="Choose epochs and the like on this share of the labels.")  # fmt: skip
@option("--train-labels", type=click.IntRange(min=2), group=_GROUP,
        help="Learn from only this many labels.  [default: all others]")  # fmt: skip
@option("--task", default="auto", type=click.Choice(["auto", "classification", "regression"]), group=_GROUP,
        help="Predict classes or numbers; auto: numbers, if the labels have fractions.")  # fmt: skip
@option("--class-weight", type=click.Choice(["balanced"]), group=_GROUP, help="Weight rare classes more.")
@worker_options("fits", _GROUP)
@option("--out", default="comparison", type=click.Path(file_okay=False, path_type=Path), group=_GROUP,
        help="Keep every result in this folder; the same command goes on after a stop.")  # fmt: skip
@partial(settings, hidden=("seed",), test_labels="partial")
@output_options
@click.pass_context
def compare(
    context: click.Context,
    /,
    label: str,
    methods: str | None,
    num_splits: int | None,
    split_kind: str,
    columns: tuple[str, ...],
    class_weight: str | None,
    jobs: int,
    backend: str,
    address: str | None,
    out: Path,
    quiet: bool,
    as_json: bool,
    threads: int | None,
    **options: Any,
) -> None:
    """Find out which method is best on your own tables.

    Every method is fitted to the same splits of the known labels and judged on the labels that were left
    out. The folder of --out gets the ledger, the leaderboard as CSV, and a page. `clgnn fit --method best
    --from FOLDER` then fits what won.
    """
    from clgnn.experiments import compare as library

    given = _given(options, class_weight)
    own, metric = given.pop("gnn", None), given.pop("metric", None)
    one_table(options)
    name = Path(options["nodes"]).stem
    shares = {share: options.pop(share) for share in ("test_share", "val_share", "train_labels")}
    nodes, data, schema = _read(label, columns, options, show=not (as_json or quiet))
    used = metric if schema.classes is None else numbered(metric, schema.classes)
    if threads is not None or jobs == 1:
        set_threads(threads, data, given.get("num_samples", CollectiveSettings.num_samples))
    run = partial(
        library.compare, data, _contenders(methods, own, given, schema), num_splits=num_splits,
        split=_splits(data, nodes, columns) or split_kind, test_labels=given.pop("test_labels", "partial"),
        metric=used, settings=given, folder=out, jobs=jobs, backend=backend, address=address, name=name,
        watch=partial(_watch, out, jobs, quiet), **shares,
    )  # fmt: skip
    try:
        found = run()
    except KeyboardInterrupt:
        errors.print("Interrupted; the same command goes on with what is missing.")
        raise click.exceptions.Exit(130) from None
    if used is not None and metric is not None:  # classes are called as the table calls them
        found = replace(found, metric=metric, trials=found.trials.rename(columns={used: metric}))
    name_failed(found.failed, "failed")
    if not (found.trials["status"] == "done").any():
        context.exit(1)
    files = _write(found, out)
    if as_json:
        print_json(_as_json(found, files))
    else:
        _show(found, out)


def _given(options: dict[str, Any], class_weight: str | None) -> dict[str, Any]:
    """The settings that the user asked for; each method has its own defaults for the others."""
    given = asked_for(parameters(options))
    if "seed" in given:
        raise ValueError(f"--seed is {given['seed']}; each split has its own, from 0 on: leave it out")
    return given if class_weight is None else {**given, "class_weight": class_weight}


def _read(
    label: str, columns: Sequence[str], options: dict[str, Any], show: bool
) -> tuple[pd.DataFrame, Data, Schema]:
    """The tables as a graph; what is read how is shown first."""
    from clgnn.data.described import counted

    options |= {"split": None, "ignore": (*options["ignore"], *columns)}
    nodes, edges, schema = learn_schema(label, options)
    links = schema.edges(nodes, edges)
    data = schema.graph(nodes, links, label)
    if show:
        show_tables(schema, counted(data, links))
    return nodes, data, schema


def _splits(data: Data, nodes: pd.DataFrame, columns: Sequence[str]) -> list[Split[Tensor]]:
    from clgnn.data.parts import column_split

    return [column_split(data.y, nodes, column) for column in columns]


def _contenders(
    methods: str | None, own: Any, given: dict[str, Any], schema: Schema
) -> list[str] | dict[str, Any] | None:
    """The names of the methods; with a GNN of the user's own, plain and boosted, beside them."""
    from clgnn.estimators.collective import CollectiveClassifier, CollectiveRegressor
    from clgnn.estimators.settings import as_plain
    from clgnn.experiments.compare import applicable

    numbers, test_labels = schema.classes is None, given.get("test_labels", "partial")
    wanted = None if methods is None else names_in(methods)
    if own is None:
        return wanted
    names = applicable(numbers, test_labels) if wanted is None else wanted
    if isinstance(own, str):
        return list(dict.fromkeys([*names, own, f"{own}+cl"]))
    sys.path.insert(0, str(Path.cwd()))  # other processes import the user's module from there
    called = getattr(own, "__name__", type(own).__name__)
    kind = CollectiveRegressor if numbers else CollectiveClassifier
    boosted = kind(**{"gnn": own, **given})
    plain = kind(**as_plain(boosted.get_params(deep=False)))
    return {**dict.fromkeys(names), called: plain, f"{called}+cl": boosted}


def _watch(out: Path, jobs: int, quiet: bool, planned: Sequence[Trial]) -> AbstractContextManager[None]:
    from clgnn.experiments.ledger import Ledger

    return progress(Ledger(out), jobs, quiet, "compare", planned)


def _write(found: Comparison, out: Path) -> list[Path]:
    """The leaderboard and the trials as tables, and the page."""
    from clgnn.experiments.ledger import Ledger
    from clgnn.files import written
    from clgnn.report import names
    from clgnn.report.leaderboard import from_leaderboard
    from clgnn.report.page import write

    board, page, trials = out / "leaderboard.csv", out / "report.html", out / "trials.csv"
    with written(board) as temporary:
        found.leaderboard.to_csv(temporary, index=False, float_format="%.6g")
    Ledger(out).export(trials)
    values = found.trials.assign(value=found.trials[found.metric])
    content = from_leaderboard(
        found.leaderboard,
        name=found.name,
        metric=found.metric,
        recommendation=found.recommendation(names.method),
        trials=values[["method", "trial", "value", "seconds", "status", "error"]],
        settings=found.splits,
    )
    write(page, content)
    return [board, trials, page]


def _as_json(found: Comparison, files: Sequence[Path]) -> dict[str, Any]:
    from clgnn.report import names

    board = found.leaderboard.astype(object)
    return {
        "metric": found.metric,
        "best": found.best,
        "recommendation": found.recommendation(names.method),
        "leaderboard": board.where(board.notna(), None).to_dict("records"),
        "failed": found.failed[["method", "trial", "error"]].to_dict("records"),
        "files": [str(path) for path in files],
    }


def _show(found: Comparison, out: Path) -> None:
    """Prints the leaderboard and the recommendation."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from clgnn.experiments.leaderboard import is_share
    from clgnn.report import names

    scale, digits = (100, 1) if is_share(found.metric) else (1, 4)

    def text(row: Any, name: str, sign: str = "") -> str:
        if row[name] != row[name]:
            return ""
        reach = scale * (row[f"{name}_high"] - row[name])
        said = f"{scale * row[name]:{sign}.{digits}f}"
        return said if reach != reach else f"{said} ± {reach:.{digits}f}"

    unit = " in %" if scale == 100 else ""
    title = f"{found.name}: test {found.metric.replace('_', ' ')}{unit}, mean ± 95 % interval"
    table = Table(title=title, box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("method")
    wide = console.width >= 100
    for heading in ("mean", "to the best", "over plain", "better", *(("seconds", "MiB") if wide else ())):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in found.leaderboard.rename(columns={"high": "mean_high"}).to_dict("records"):
        compared = isinstance(row["base"], str)
        cost = [f"{row['seconds']:.1f}", "" if row["peak_memory"] is None else f"{row['peak_memory']:,.0f}"]
        table.add_row(
            names.method(row["method"]),
            text(row, "mean"),
            "" if row["method"] == found.best else text(row, "to_best", "+"),
            text(row, "gain", "+") if compared else "",
            f"{row['wins']} / {row['n']}" if compared else "",
            *(cost if wide else ()),
        )
    console.print(table)
    for said in (
        found.recommendation(names.method),
        f"The page is {out / 'report.html'}; `clgnn fit --method best --from {out}` fits the best.",
    ):
        console.print(said, soft_wrap=True)
