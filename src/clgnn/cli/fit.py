"""``clgnn fit``: a model from a table of nodes and a table of edges."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clgnn.baselines import METHODS
from clgnn.cli.options import (
    Bars,
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
)
from clgnn.cli.tables import add_start, feature_options, read_new, start_option, table_options

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor
    from torch_geometric.data import Data

    from clgnn.data.tables import Edges, Schema
    from clgnn.estimators.node import NodeEstimator

_MODEL = "The model"
SHOWN = 20
"""So many columns are shown before training; of the others only how many there are of each kind."""


@click.command(cls=GroupedCommand)
@table_options(fitting=True)
@option(
    "--label", required=True, group="Columns", help="Learn the labels of this column; a blank is unknown."
)
@feature_options
@option("--undirected/--directed", default=True, group="Columns", help="Count edges in both directions.")
@option("--out", required=True, type=click.Path(path_type=Path), group=_MODEL, help="Write the model to this "
        "folder.")  # fmt: skip
@option("--force", is_flag=True, group=_MODEL, help="Replace a model that is there.")
@option("--resume", is_flag=True, group=_MODEL, help="Go on after the last iteration that an interrupted fit "
        "finished.")  # fmt: skip
@option("--method", default="collective", type=click.Choice(["collective", *METHODS]), group=_MODEL,
        help="Use collective learning, or one of its rivals.")  # fmt: skip
@option("--task", default="auto", type=click.Choice(["auto", "classification", "regression"]), group=_MODEL,
        help="Predict classes or numbers; auto: numbers, if the labels have fractions.")  # fmt: skip
@option("--split", group=_MODEL, help="Take train, val, test and observed from this column.")
@option("--val-share", default=0.2, type=click.FloatRange(0, 1, max_open=True), group=_MODEL,
        help="Without --split: keep this share of the labels to choose epoch and iteration.")  # fmt: skip
@option("--class-weight", type=click.Choice(["balanced"]), group=_MODEL, help="Weight rare classes more.")
@start_option
@settings
@output_options
def fit(
    label: str, out: Path, force: bool, resume: bool, method: str, quiet: bool, as_json: bool, **options: Any
) -> None:
    """Fit a model to your own graph.

    Labels that are blank are unknown. --test-labels says whether the graphs you will predict on have labels:
    none, or some (partial), which the model then learns to use.
    """
    from clgnn.data.marks import marks
    from clgnn.estimators import checkpoints

    out = Path(out.absolute().resolve())
    interrupted = out.with_name(out.name + ".partial")
    _check_output(out, interrupted, resume, force)
    given = {**parameters(options), "class_weight": options.pop("class_weight")}
    nodes, edges, schema = _schema(label, options)
    links = schema.edges(nodes, edges)
    data = schema.graph(nodes, links, label)
    del edges
    set_threads(options["threads"], data, given["num_samples"])
    masks = _masks(data, nodes, options["split"], options["val_share"], given["seed"])
    train, validation, observed = masks
    _check_classes(schema, data.y, train, validation)
    if options["start_predictions"] is not None:
        given["start"] = "given"
        add_start(data, options["start_predictions"], nodes, schema, data.y[train].unique().tolist())
    model = _model(method, schema, given)
    if not as_json and not quiet:
        _show_tables(schema, data, links, int(train.sum()), int(validation.sum()))
    if resume and not model.resumable:
        raise ValueError(f"--resume is for fits in iterations, and --method {method} has none; leave it out")
    if force and not resume and model.resumable:
        checkpoints.discard(interrupted)
    try:
        _fit(model, data, *masks, interrupted, quiet)
    except KeyboardInterrupt:
        hint = "; the same command with --resume goes on after the last iteration that was finished"
        errors.print(f"Interrupted{hint if interrupted.exists() else ''}.", highlight=False)
        raise click.exceptions.Exit(130) from None
    learned = train if observed is None or not model.trains_on_observed else train | observed
    seen = (learned | validation).numpy()
    known_as = marks(nodes[schema.id], data.x)
    extra = {"table": schema.to_json(), "learned_from": [known_as[i] for i in seen.nonzero()[0]]}
    model.save(out, force, extra=extra)
    if model.resumable:
        checkpoints.discard(interrupted)
    if as_json:
        counts = {"train": int(train.sum()), "validation": int(validation.sum())}
        print_json({
            "model": str(out), "nodes": data.num_nodes, "labels": counts, "metric": model.metric_name,
            "best": _best(model), "best_iteration": model.best_iteration_,
        })  # fmt: skip
        return
    _show(model, out)


def _schema(label: str, options: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame, Schema]:
    """The tables, and how they are read."""
    from clgnn.data.tables import Schema, column

    nodes, edges, fields = read_new(options)
    split = options["split"]
    if split is not None:
        column(nodes, split, "nodes", "--split")
    ignore = (*options.pop("ignore"), *((split,) if split else ()))
    kinds = {name: options.pop(name) for name in ("categorical", "numeric", "date", "features")}
    undirected, task = options.pop("undirected"), options.pop("task")
    id_column = fields.pop("id")
    schema = Schema.learn(nodes, label, id_column, ignore, task, **kinds, undirected=undirected, **fields)
    return nodes, edges, schema


def _fit(
    model: NodeEstimator,
    data: Data,
    train: Tensor,
    validation: Tensor,
    observed: Tensor | None,
    interrupted: Path,
    quiet: bool,
) -> None:
    chosen = validation if bool(validation.any()) else None
    resumable: dict[str, Any] = {"checkpoint": interrupted} if model.resumable else {}
    with Bars(quiet, model.metric_name) as bars, bars.fit("fit", model) as on_epoch:
        model.fit(data, train, chosen, observed_mask=observed, on_epoch=on_epoch, **resumable)


def _model(method: str, schema: Schema, given: dict[str, Any]) -> NodeEstimator:
    from clgnn import baselines
    from clgnn.estimators.collective import CollectiveClassifier, CollectiveRegressor

    if schema.classes is not None:
        given = {**given, "metric": _numbered(given["metric"], schema.classes)}
        if method == "collective":
            return CollectiveClassifier(**given)
        return baselines.make(method, **asked_for(given))  # what is not asked for is as the rival has it
    if method != "collective":
        raise ValueError(f"--method {method} is for classes, and {schema.label!r} holds numbers")
    return CollectiveRegressor(**{name: value for name, value in given.items() if name != "class_weight"})


def _numbered(metric: str | None, classes: Sequence[str]) -> str | None:
    """``f1:CLASS`` with the number of the class that the table calls so."""
    if metric is None or not metric.startswith("f1:"):
        return metric
    name = metric.removeprefix("f1:")
    if name not in classes:
        raise ValueError(f"metric is {metric!r}; expected a class after f1:, one of {', '.join(classes)}")
    return f"f1:{classes.index(name)}"


def _check_output(out: Path, interrupted: Path, resume: bool, force: bool) -> None:
    for folder in out.parents:
        if folder.exists():
            if not folder.is_dir() or not os.access(folder, os.W_OK):
                raise ValueError(f"--out {out} can't be written: {folder} is no folder that you may write to")
            break
    if out.is_file():
        raise ValueError(f"--out {out} is a file; expected a folder for the model: choose another")
    if out.is_dir() and any(out.iterdir()):
        if not (out / "model.json").is_file():
            raise ValueError(f"--out {out} is a folder with files in it, and no model; choose another")
        if not force:
            raise ValueError(f"{out} exists; choose another --out, or --force to replace the model in it")
    if (interrupted / "checkpoint.json").exists() and not (resume or force):
        raise ValueError(
            f"{interrupted} holds a fit that was interrupted; --resume goes on with it, --force starts anew"
        )


def _masks(
    data: Data, nodes: pd.DataFrame, split: str | None, share: float, seed: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The labels to learn from, to choose by, and to show while validating (None: those to learn from)."""
    from clgnn.data.parts import hold_out, split_masks

    return (*hold_out(data.y, share, seed), None) if split is None else split_masks(data.y, nodes, split)


def _check_classes(schema: Schema, y: Tensor, train: Tensor, validation: Tensor) -> None:
    """Says by its name which class is alone in training, or missing there."""
    if schema.classes is None:
        return
    learned, judged = ({schema.classes[c] for c in y[mask].tolist()} for mask in (train, validation))
    if len(learned) < 2:
        raise ValueError(f"all labels to learn from are {learned.pop()!r}; expected two classes or more")
    if judged - learned:
        name = min(judged - learned)
        raise ValueError(
            f"class {name!r} is in the validation part, and not in the training part; add it there"
        )


def _best(model: NodeEstimator) -> list[float | None]:
    """The best validation metric of each iteration; of the whole, for a method without iterations."""
    from clgnn.estimators.metrics import LOWER_IS_BETTER

    name = f"val_{model.metric_name}"
    if "iteration" not in model.history_:
        return [model.best_score_]
    groups = model.history_.groupby("iteration")[name]
    values = groups.min() if model.metric_name in LOWER_IS_BETTER else groups.max()
    return [None if value != value else float(value) for value in values]


def _show_tables(schema: Schema, data: Data, links: Edges, train: int, validation: int) -> None:
    """How every column is read, and what was dropped: to be looked at before training."""
    from rich.table import Table

    table = Table("column", "read as", "", box=None, pad_edge=False)
    rows = schema.describe()
    for row in rows[:SHOWN]:
        table.add_row(*row)
    if len(rows) > SHOWN:
        kinds = Counter(how for _, how, _ in rows[SHOWN:])
        table.add_row(
            f"{len(rows) - SHOWN:,} more", ", ".join(f"{n:,} {how}" for how, n in kinds.items()), ""
        )
    console.print(table)
    count = data.edge_index.size(1) // (2 if schema.undirected else 1)
    kind = "undirected" if schema.undirected else "directed"
    dropped = [
        f"{number:,} {what}"
        for number, what in (
            (links.self_loops, "self-loops dropped"),
            (links.duplicates, "duplicate rows added up"),
            (links.both_ways, "pairs given in both directions"),
        )
        if number
    ]
    told = f" ({', '.join(dropped)})" if dropped else ""
    console.print(
        f"{data.num_nodes:,} nodes, {count:,} {kind} edges{told}, "
        f"{data.x.size(1):,} feature columns; {train:,} labels to learn from, {validation:,} to choose epoch "
        "and iteration.",
        highlight=False,
    )


def _show(model: NodeEstimator, out: Path) -> None:
    from rich.table import Table

    best, metric = _best(model), model.metric_name.replace("_", " ")
    if len(best) == 1 and best[0] is not None:
        console.print(f"Validation {metric}: {best[0]:.4f}.", highlight=False)
    elif best[0] is not None:
        table = Table("iteration", f"validation {metric}")
        for t, value in enumerate(best):
            name = f"{t} (no predicted labels)" if t == 0 and len(best) > 1 else str(t)
            chosen = t == model.best_iteration_ and len(best) > 1
            table.add_row(f"{name}, predicts" if chosen else name, "–" if value is None else f"{value:.4f}")
        console.print(table)
    console.print(f"The model is in {out}.", highlight=False, soft_wrap=True)
