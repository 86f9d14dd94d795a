"""``clgnn predict`` and ``clgnn evaluate``: a model on another pair of tables, or on the same ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from rich.table import Table
from torch import Tensor
from torch_geometric.data import Data

from clgnn import persistence, relational
from clgnn.cli.fit import split_parts
from clgnn.cli.options import Command, console, gnn, output_options, print_json, set_threads
from clgnn.cli.report import check_out
from clgnn.estimator import CollectiveClassifier, CollectiveRegressor
from clgnn.graph import known
from clgnn.tables import Schema, read_table

Model = CollectiveRegressor | relational.Rival


def model_options(command: Command) -> Command:
    command = click.option("--gnn", "gnn_name", help="module:attr, if the model was fitted with one.")(
        command
    )
    command = click.option("--edges", required=True, type=click.Path(), help="Table of edges.")(command)
    command = click.option("--nodes", required=True, type=click.Path(), help="Table of nodes.")(command)
    return click.option("--model", required=True, type=click.Path(), help="Folder of the model.")(command)


def open_model(path: str, gnn_name: str | None) -> tuple[Model, Schema]:
    content = persistence.read(path)
    table = (content.get("extra") or {}).get("table")
    if table is None:
        raise ValueError(f"{path} was not fitted from tables; expected a model that `clgnn fit` wrote")
    own = None if gnn_name is None else gnn(gnn_name)
    if content["parameters"].get("gnn", "") is None and own is None:
        raise ValueError(f"{path} was fitted with a GNN of your own; name it again with --gnn module:attr")
    schema = Schema.from_json(table)
    for kind in (CollectiveClassifier, CollectiveRegressor):
        if content["kind"] == kind.__name__:
            return kind.load(path, own), schema
    return relational.load(path, own), schema


def read_graph(schema: Schema, nodes: str, edges: str, label: str | None) -> tuple[pd.DataFrame, Data]:
    node_table = read_table(nodes, text=(schema.id,))
    edge_table = read_table(edges, text=(schema.source, schema.target))
    return node_table, schema.graph(node_table, edge_table, label)


@click.command()
@model_options
@click.option("--out", required=True, type=click.Path(path_type=Path), help="CSV or Parquet file to write.")
@click.option("--label", help="Column of labels that may be seen; without it, none are.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@output_options
def predict(
    model: str,
    nodes: str,
    edges: str,
    gnn_name: str | None,
    out: Path,
    label: str | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    threads: int | None,
) -> None:
    """Predict the labels of a graph.

    Writes a row a node: id, label, a probability for each class (mean and std for regression), and
    uncertainty, the spread over the label samples.
    """
    if out.exists() and not force:
        raise ValueError(f"{out} exists; choose another --out, or --force to replace it")
    if out.suffix.lower() not in (".csv", ".parquet", ".pq"):
        raise ValueError(f"{out} ends in {out.suffix or 'nothing'}; expected .csv, .parquet or .pq")
    estimator, schema = open_model(model, gnn_name)
    node_table, data = read_graph(schema, nodes, edges, label)
    set_threads(threads, data, getattr(estimator, "num_samples", 1))
    ours = isinstance(estimator, CollectiveRegressor) or type(estimator) is CollectiveClassifier
    if label is not None and ours and estimator.test_labels == "none" and estimator.num_iterations > 0:
        raise ValueError(
            f"--label {label} shows labels, and {model} was fitted for graphs without: fit it with "
            "--test-labels partial, or leave --label out"
        )
    observed = None if label is None else known(data.y)
    table = predictions(estimator, schema, node_table[schema.id], data, observed)
    with persistence.written(out) as temporary:
        if out.suffix.lower() == ".csv":
            table.to_csv(temporary, index=False)
        else:
            table.to_parquet(temporary, index=False)
    seen = 0 if observed is None else int(observed.sum())
    if as_json:
        print_json({"predictions": str(out), "nodes": len(table), "labels_seen": seen})
    elif not quiet:
        console.print(f"{len(table):,} nodes predicted, {seen:,} labels seen; in {out}.", highlight=False)


def predictions(
    estimator: Model, schema: Schema, ids: pd.Series[Any], data: Data, observed: Tensor | None
) -> pd.DataFrame:
    """A row a node, in the order of the nodes' table."""
    proba = estimator.predict_proba(data, observed)
    assert isinstance(proba, Tensor)
    columns: dict[str, Any] = {schema.id: ids.to_numpy()}
    if schema.classes is None:
        columns |= {schema.label: proba[:, 0].numpy(), "std": proba[:, 1].numpy()}
    else:
        assert not isinstance(estimator, CollectiveRegressor)
        names = [schema.classes[c] for c in estimator.classes_.tolist()]
        columns[schema.label] = np.array(names)[proba.argmax(dim=1).numpy()]
        columns |= {f"p({name})": proba[:, i].numpy() for i, name in enumerate(names)}
    if not isinstance(estimator, relational.Relational):
        uncertainty = estimator.uncertainty(data, observed)
        assert isinstance(uncertainty, Tensor)
        columns["uncertainty"] = uncertainty.numpy()
    return pd.DataFrame(columns)


@click.command()
@model_options
@click.option("--label", required=True, help="Column with the true labels; a blank is not judged.")
@click.option("--split", help="Column with train, val, test, observed: only test is judged; train and "
              "observed labels are shown to a model for partially labelled graphs.")  # fmt: skip
@click.option("--report", "report_path", type=click.Path(dir_okay=False, path_type=Path),
              help="An HTML page of the result to write; a file that is there stays.")  # fmt: skip
@output_options
def evaluate(
    model: str,
    nodes: str,
    edges: str,
    gnn_name: str | None,
    label: str,
    split: str | None,
    report_path: Path | None,
    quiet: bool,
    as_json: bool,
    threads: int | None,
) -> None:
    """Judge a model where the labels are known."""
    if report_path is not None:
        check_out(report_path, False, "--report")
    estimator, schema = open_model(model, gnn_name)
    node_table, data = read_graph(schema, nodes, edges, label)
    set_threads(threads, data, getattr(estimator, "num_samples", 1))
    judged, observed = known(data.y), None
    parts = np.full(len(data.y), "test")
    if split is not None:
        parts = split_parts(node_table, split).to_numpy()
        if estimator.test_labels == "partial":
            observed = known(data.y) & torch.from_numpy(np.isin(parts, ["train", "observed"]))
        judged = judged & torch.from_numpy(parts == "test")
    values = estimator.evaluate(data, judged, observed)
    seen = 0 if observed is None else int(observed.sum())
    if report_path is not None:
        from clgnn.report import from_evaluation, write

        proba = estimator.predict_proba(data, observed)
        assert isinstance(proba, Tensor)
        drawn = None
        if schema.classes is not None:
            proba = _every_class(estimator, schema, proba)
            drawn = _drawn(node_table[schema.id], schema, data, proba, parts)
        settings = {"kind": type(estimator).__name__, **estimator.get_params(deep=False)}
        content = from_evaluation(
            values, data.y[judged], proba[judged], settings, classes=schema.classes, labels_seen=seen,
            name=Path(model).name, graph=drawn,
        )  # fmt: skip
        write(report_path, content)
    if as_json:
        print_json({"judged": int(judged.sum()), "labels_seen": seen, **values})
        return
    table = Table("metric", "value", title=f"{int(judged.sum()):,} nodes judged, {seen:,} labels seen")
    for name, value in values.items():
        table.add_row(name.replace("_", " "), f"{value:.4f}")
    console.print(table)
    if report_path is not None:
        console.print(f"The report is {report_path}.", highlight=False)


def _every_class(estimator: Model, schema: Schema, proba: Tensor) -> Tensor:
    """Probabilities of all classes of the table ``[N, C]``; one that no training label had has none."""
    assert schema.classes is not None
    assert not isinstance(estimator, CollectiveRegressor)
    return proba.new_zeros(len(proba), len(schema.classes)).index_copy(1, estimator.classes_, proba)


def _drawn(
    ids: pd.Series[Any], schema: Schema, data: Data, proba: Tensor, parts: NDArray[Any]
) -> dict[str, Any]:
    """The graph around a test node, for the report."""
    from clgnn.report import view

    roles = {name: torch.from_numpy(parts == name) for name in ("train", "observed", "val", "test")}
    return view(
        data, {"predicted": proba.argmax(dim=1)}, roles, schema.classes, ids.astype(str).tolist(),
        "Ringed nodes are predicted wrong.",
    )  # fmt: skip
