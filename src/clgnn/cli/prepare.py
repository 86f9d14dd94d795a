"""``clgnn prepare``: two tables of any size as a graph on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from clgnn.cli.options import (
    ABOVE_0,
    GroupedCommand,
    check_writable,
    console,
    errors,
    option,
    print_json,
)
from clgnn.cli.progress import progress_bar
from clgnn.cli.tables import (
    counts_json,
    feature_options,
    learned,
    one_table,
    read_known,
    read_new,
    read_schema,
    show_tables,
    table_options,
)

_GRAPH = "The graph"
_OF_A_FIT = (
    "ignore",
    "categorical",
    "numeric",
    "date",
    "features",
    "edge_features",
    "edge_type",
    "task",
    "undirected",
)


@click.command(cls=GroupedCommand)
@table_options(fitting=True)
@option("--label", group="Columns", help="Take the labels from this column; a blank is unknown.")
@feature_options
@option("--undirected/--directed", default=True, group="Columns", help="Count edges in both directions.")
@option("--split", group="Columns", help="Take train, val, test and observed from this column.")
@option("--task", default="auto", type=click.Choice(["auto", "classification", "regression"]),
        group="Columns",
        help="Predict classes or numbers; auto: numbers, if the labels have fractions.")  # fmt: skip
@option("--model", type=click.Path(), group="Columns", help="Read the columns as the model in this folder "
        "does, to predict with it.")  # fmt: skip
@option("--out", required=True, type=click.Path(path_type=Path), group=_GRAPH, help="Write the graph to this "
        "folder, such as graph.clg.")  # fmt: skip
@option("--force", is_flag=True, group=_GRAPH, help="Replace a graph that is there.")
@option("--memory", default=4.0, type=ABOVE_0, group=_GRAPH, help="Work in about this many GiB; the ids of "
        "the nodes must fit, and one column of their table.")  # fmt: skip
@option("--quiet", is_flag=True, group=_GRAPH, help="Show no progress.")
@option("--json", "as_json", is_flag=True, group=_GRAPH, help="Print the result as JSON.")
def prepare(
    label: str | None,
    split: str | None,
    model: str | None,
    out: Path,
    force: bool,
    memory: float,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Write two tables as a graph on disk, which may be larger than memory.

    `clgnn fit`, `predict` and `evaluate` take it with --graph, and clgnn.data.open in Python. The tables are
    read as `clgnn fit` reads them. If it is stopped, the same command goes on after the last step that was
    finished; if a table has changed since, it begins again.
    """
    from clgnn.data.prepare import Preparation

    one_table(options)
    out = Path(out.absolute().resolve())
    _check_output(out, force)
    made_from = {**options, "label": label, "split": split, "model": model}
    tables = (options["nodes"], options["edges"])
    with progress_bar(quiet) as bar:
        tasks: dict[str, Any] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, detail="")
            bar.update(tasks[what], completed=done, total=total)

        work = Preparation(out, tables, made_from, memory, progress)
        if work.steps.finished:
            done = ", ".join(work.steps.finished)
            errors.print(f"Going on after what was finished earlier: {done}.")
        if model is None:
            nodes, edges, fields = read_new(options, work.table)
            schema = work.schema(
                nodes, edges, lambda: learned(nodes, label, fields, {**options, "split": split})
            )
        else:
            nodes, edges, schema = read_known(_of_model(model, options), options, work.table)
            labelled = replace(schema, label=label or "")
            schema = work.schema(nodes, edges, lambda: labelled)
        counts = work.write(nodes, edges, schema, label, split, force)
    if as_json:
        print_json({"graph": str(out), **counts_json(schema, counts)})
        return
    if not quiet:
        show_tables(schema, counts)
    console.print(f"The graph is in {out}.", soft_wrap=True)


def _of_model(path: str, options: dict[str, Any]) -> Any:
    """The schema of a model; the names of columns are as in training unless they are given."""
    from clgnn.data.hetero_tables import HeteroSchema
    from clgnn.estimators import persistence

    context = click.get_current_context()
    given = {name for name in options if context.get_parameter_source(name) != ParameterSource.DEFAULT}
    if wrong := [name for name in _OF_A_FIT if name in given]:
        raise ValueError(
            f"--{wrong[0].replace('_', '-')} and --model are given; a model knows how it reads columns: "
            "leave one out"
        )
    for name in ("id_column", "source", "target", "weight"):
        if name not in given:
            options[name] = None
    schema = read_schema(path, persistence.read(path))
    if isinstance(schema, HeteroSchema):
        raise ValueError(
            f"--model {path} knows several types of nodes, and a graph on disk has one; give the tables "
            "themselves to `clgnn predict`"
        )
    return schema


def _check_output(out: Path, force: bool) -> None:
    from clgnn.data.folder import is_graph

    check_writable(out)
    if out.is_file():
        raise ValueError(f"--out {out} is a file; expected a folder for the graph: choose another")
    if out.is_dir() and any(out.iterdir()):
        if not is_graph(out):
            raise ValueError(f"--out {out} is a folder with files in it, and no graph; choose another")
        if not force:
            raise ValueError(f"{out} exists; choose another --out, or --force to replace the graph in it")
