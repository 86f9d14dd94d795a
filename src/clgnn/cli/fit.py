"""``clgnn fit``: a model from a table of nodes and a table of edges."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import torch
from rich.table import Table
from torch import Tensor
from torch_geometric.data import Data

from clgnn import relational
from clgnn.cli.options import (
    Bars,
    console,
    errors,
    output_options,
    parameters,
    print_json,
    set_threads,
    settings,
)
from clgnn.estimator import CollectiveClassifier, CollectiveRegressor
from clgnn.graph import known
from clgnn.metrics import LOWER_IS_BETTER
from clgnn.tables import Schema, column, read_table

PARTS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


def split_parts(nodes: pd.DataFrame, split: str) -> pd.Series[Any]:
    """The split column as ``train``, ``val``, ``test``, ``observed`` or a blank."""
    allowed = {**PARTS, "observed": "observed", "": ""}
    values = column(nodes, split, "nodes", "--split")
    texts = values.where(values.notna(), "").astype(str).str.strip().str.lower()
    wrong = sorted(set(texts) - set(allowed))
    if wrong:
        raise ValueError(f"the split column {split!r} has {wrong[0]!r}; expected train, val, test or a blank")
    return texts.map(allowed)


def hold_out(y: Tensor, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """Training and validation masks over the known labels: ``share`` of each class, but never all."""
    generator = np.random.default_rng(seed)
    labels = known(y).nonzero().squeeze(1).numpy()
    groups = [labels]
    if not y.is_floating_point():
        classes = y[labels].numpy()
        groups = [labels[classes == c] for c in np.unique(classes)]
    validation = torch.zeros(len(y), dtype=torch.bool)
    for nodes in groups:
        count = min(round(share * len(nodes)), len(nodes) - 1)
        validation[generator.permutation(nodes)[:count]] = True
    return known(y) & ~validation, validation


@click.command()
@click.option("--nodes", required=True, type=click.Path(), help="Table of nodes, CSV or Parquet.")
@click.option("--edges", required=True, type=click.Path(), help="Table of edges, CSV or Parquet.")
@click.option("--label", required=True, help="Column with the labels; a blank is unknown.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the model.")
@click.option("--id", "id_column", default="id", help="Column with the node ids.")
@click.option("--ignore", multiple=True, help="Column that is no feature; may be repeated.")
@click.option("--split", help="Column that says train, val or test.")
@click.option("--val-share", default=0.2, type=click.FloatRange(0, 1, max_open=True),
              help="Without --split: the share of the labels that choose the epoch.")  # fmt: skip
@click.option("--task", default="auto", type=click.Choice(["auto", "classification", "regression"]),
              help="auto: numbers with fractions are for regression.")  # fmt: skip
@click.option("--method", default="collective", type=click.Choice(["collective", *relational.METHODS]),
              help="Collective learning, or one of its rivals.")  # fmt: skip
@click.option("--source", default="source", help="Column with an edge's source id.")
@click.option("--target", default="target", help="Column with an edge's target id.")
@click.option("--weight", help="Column with an edge's weight.  [default: weight, if there is one]")
@click.option("--undirected/--directed", default=True, help="Whether edges count in both directions.")
@click.option("--class-weight", type=click.Choice(["balanced"]), help="Weigh rare classes more.")
@click.option(
    "--resume", is_flag=True, help="Go on after the last iteration that an interrupted fit finished."
)
@click.option("--force", is_flag=True, help="Replace a model that is there.")
@settings
@output_options
def fit(
    nodes: str,
    edges: str,
    label: str,
    out: Path,
    id_column: str,
    ignore: tuple[str, ...],
    split: str | None,
    val_share: float,
    task: Any,
    method: str,
    source: str,
    target: str,
    weight: str | None,
    undirected: bool,
    class_weight: str | None,
    resume: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
    threads: int | None,
    **options: Any,
) -> None:
    """Fit a model to your own graph.

    Labels that are blank are unknown. --test-labels says what the graphs to come will have: none, or some
    (partial), which the model then learns to use.
    """
    given = parameters(options)
    interrupted = out.with_name(out.name + ".partial")
    _check_output(out, interrupted, resume, force)
    node_table = read_table(nodes, text=(id_column,))
    edge_table = read_table(edges, text=(source, target))
    if weight is None and "weight" in edge_table.columns:
        weight = "weight"
    dropped = (*ignore, split) if split else ignore
    schema = Schema.learn(
        node_table, label, id_column, dropped, task,
        undirected=undirected, source=source, target=target, weight=weight,
    )  # fmt: skip
    data = schema.graph(node_table, edge_table, label)
    set_threads(threads, data, given["num_samples"])
    train, validation = _masks(data, node_table, split, val_share, given["seed"])
    model = _model(method, schema, {**given, "class_weight": class_weight})
    metric = model.metric or ("rmse" if schema.classes is None else "accuracy")
    if force and not resume and interrupted.exists():
        shutil.rmtree(interrupted)
    chosen = validation if bool(validation.any()) else None
    resumable = {} if isinstance(model, relational.Relational) else {"checkpoint": interrupted}
    iterations, epochs = getattr(model, "num_iterations", 0), getattr(model, "max_epochs", 1)
    try:
        with Bars(quiet, metric) as bars, bars.fit("fit", iterations, epochs) as on_epoch:
            model.fit(data, train, chosen, on_epoch=on_epoch, **resumable)
    except KeyboardInterrupt:
        if interrupted.exists():
            errors.print("Interrupted. The same command with --resume goes on after the last iteration.")
        raise
    relational.save(model, out, force, extra={"table": schema.to_json()})
    shutil.rmtree(interrupted, ignore_errors=True)
    best, predicts = _best(model, metric), getattr(model, "best_iteration_", 0)  # rivals have none
    if as_json:
        counts = {"train": int(train.sum()), "validation": int(validation.sum())}
        print_json(
            {
                "model": str(out),
                "nodes": len(data.x),
                "labels": counts,
                "metric": metric,
                "best": best,
                "best_iteration": predicts,
            }
        )
        return
    _show(out, data, int(train.sum()), int(validation.sum()), metric, best, predicts)


def _model(method: str, schema: Schema, given: dict[str, Any]) -> Any:
    if schema.classes is not None:
        return CollectiveClassifier(**given) if method == "collective" else relational.make(method, **given)
    if method != "collective":
        raise ValueError(f"--method {method} is for classes, and {schema.label!r} holds numbers")
    return CollectiveRegressor(**{name: value for name, value in given.items() if name != "class_weight"})


def _check_output(out: Path, interrupted: Path, resume: bool, force: bool) -> None:
    if out.exists() and not force:
        raise ValueError(f"{out} exists; choose another --out, or --force to replace it")
    if interrupted.exists() and not (resume or force):
        raise ValueError(
            f"{interrupted} holds a fit that was interrupted; --resume goes on with it, --force starts anew"
        )


def _masks(
    data: Data, nodes: pd.DataFrame, split: str | None, share: float, seed: int
) -> tuple[Tensor, Tensor]:
    if split is None:
        return hold_out(data.y, share, seed)
    parts = split_parts(nodes, split).to_numpy()
    labelled = known(data.y)
    return labelled & torch.from_numpy(parts == "train"), labelled & torch.from_numpy(parts == "val")


def _best(model: Any, metric: str) -> list[float | None]:
    """The best validation metric of each iteration."""
    if "iteration" not in model.history_:
        return [None]
    groups = model.history_.groupby("iteration")[f"val_{metric}"]
    values = groups.min() if metric in LOWER_IS_BETTER else groups.max()
    return [None if np.isnan(value) else float(value) for value in values]


def _show(
    out: Path, data: Data, train: int, val: int, metric: str, best: list[float | None], predicts: int
) -> None:
    console.print(
        f"{len(data.x):,} nodes, {data.edge_index.size(1):,} directed edges, {data.x.size(1):,} features; "
        f"{train:,} labels to learn from, {val:,} to choose the epoch.",
        highlight=False,
    )
    if best[0] is not None:
        table = Table("iteration", f"validation {metric}")
        for t, value in enumerate(best):
            name = f"{t} (no predicted labels)" if t == 0 else str(t)
            table.add_row(f"{name}, predicts" if t == predicts and len(best) > 1 else name, f"{value:.4f}")
        console.print(table)
    console.print(f"The model is in {out}.", highlight=False)
