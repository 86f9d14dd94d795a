"""``clgnn predict`` and ``clgnn evaluate``: a model on another pair of tables, or on the same ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clgnn.cli.graphs import read_graph
from clgnn.cli.models import give_start, model_options, open_model, shown_labels
from clgnn.cli.options import (
    GroupedCommand,
    as_rich,
    console,
    errors,
    option,
    output_options,
    print_json,
    said_of_majority,
    said_of_threshold,
    set_threads,
)
from clgnn.cli.report import check_out
from clgnn.cli.tables import (
    check_table,
    label_option,
    say_unseen,
    unseen_classes,
    write_tables,
)

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor
    from torch_geometric.data import Data

    from clgnn.data.tables import Schema
    from clgnn.estimators.node import NodeEstimator


@click.command(cls=GroupedCommand)
@model_options
@option("--out", required=True, type=click.Path(path_type=Path), group="Output",
        help="Write the predictions to this CSV or Parquet file.")  # fmt: skip
@label_option("Show the model the labels of this column; without it, none.")
@option("--force", is_flag=True, group="Output", help="Replace a file that is there.")
@output_options
def predict(
    model: str,
    gnn_name: str | None,
    out: Path,
    label: str | tuple[str, ...] | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    threads: int | None,
    **options: Any,
) -> None:
    """Predict the labels of a graph.

    Writes one row per node: the id, the prediction, a probability for each class and the confidence (mean
    and std for regression), the spread over the label samples, and whether the label was known.
    """
    check_table(out, force)
    estimator, schema, _ = open_model(model, gnn_name)
    start = options.pop("start_predictions")
    streams = estimator.takes_stored and start is None
    nodes, data, schema = read_graph(schema, label, options, in_parts=streams)
    give_start(estimator, data, start, nodes, schema)
    set_threads(threads, data, getattr(estimator, "num_samples", 1))
    observed = shown_labels(estimator, schema, model, data, label)

    from clgnn.estimators.predictions import in_batches

    names = schema.several or schema.classes
    tables = in_batches(estimator, data, observed, ids=nodes[schema.id], id_name=schema.id, classes=names)
    write_tables(tables, out)
    seen = 0 if observed is None else int(observed.sum())
    if as_json:
        print_json({"predictions": str(out), "nodes": len(nodes), "labels_seen": seen})
    elif not quiet:
        said = f"{len(nodes):,} nodes predicted, {seen:,} labels seen; in {out}."
        console.print(said, soft_wrap=True)


@click.command(cls=GroupedCommand)
@model_options
@label_option(
    "Judge by the true labels of this column; a blank is not judged.  [required, but not with --graph]"
)
@option("--split", group="Columns", help="Judge only the rows that say test in this column; show those that "
        "say train or observed to a model for partially labelled graphs.")  # fmt: skip
@option("--report", "report_path", type=click.Path(dir_okay=False, path_type=Path), group="Output",
        help="Write an HTML page of the result to this new file.")  # fmt: skip
@option("--explain", "explained", group="Output", help="Explain the node with this id on that page.")
@output_options
def evaluate(
    model: str,
    gnn_name: str | None,
    label: str | tuple[str, ...] | None,
    split: str | None,
    report_path: Path | None,
    explained: str | None,
    quiet: bool,
    as_json: bool,
    threads: int | None,
    **options: Any,
) -> None:
    """Judge a model where the labels are known.

    Nodes that the model learned from, or that chose its epoch, are never judged.
    """
    from clgnn.data.graph import as_list, known
    from clgnn.estimators.metrics import majority

    if report_path is not None:
        check_out(report_path, False, "--report")
        if isinstance(label, tuple):
            raise ValueError("--report is for one label, and --label names several; leave it out")
    elif explained is not None:
        raise ValueError("--explain is for the page of --report; name it, or see `clgnn explain`")
    estimator, schema, learned_from = open_model(model, gnn_name)
    start = options.pop("start_predictions")
    options["split"] = split
    streams = estimator.takes_stored and start is None and report_path is None
    nodes, data, schema = read_graph(schema, label, options, judged=True, in_parts=streams)
    (outline,) = as_list(data)
    y = outline.y
    split, label = options["split"], label or schema.label
    give_start(estimator, data, start, nodes, schema)
    set_threads(threads, data, getattr(estimator, "num_samples", 1))
    if learned_from is None and split is None:
        errors.print(
            f"{model} was written by clgnn 0.1 and does not say which nodes it learned from: all nodes with "
            "a label are judged, those of training too. Name the test nodes with --split.",
        )
    parts, judged, observed = _parts(estimator, schema, nodes, outline, split, learned_from or frozenset())
    unseen = unseen_classes(estimator, schema, y)
    strange = judged & unseen
    judged, observed = judged & ~unseen, None if observed is None else observed & ~unseen
    left_out = int((known(y) & _is(parts, "learned")).sum())
    if not bool(judged.any()):
        raise ValueError(
            f"nothing is left to judge: the model learned from all {left_out:,} nodes that have a label in "
            f"{label!r}; give it other tables, or labels that it has not seen"
            if left_out
            else f"no node to judge has a label in {label!r} that training had too; expected some"
        )
    say_unseen(strange, y, schema, "nodes are not judged")
    values = estimator.evaluate(data, judged, observed)
    seen = 0 if observed is None else int(observed.sum())
    if report_path is not None:
        _report(report_path, Path(model).name, estimator, schema, nodes, data, parts, judged, observed,
                values, explained)  # fmt: skip
    truth = y[judged]
    by_label = _by_label(estimator, data, judged, observed, schema.several)
    if as_json:
        found = None if schema.classes is None else majority(truth)[1]
        print_json({
            "judged": len(truth), "left_out": left_out, "labels_seen": seen,
            "threshold": estimator.threshold_, "majority_accuracy": found, **values,
            **({} if by_label is None else {"by_label": by_label.to_dict(orient="records")}),
        })  # fmt: skip
        return
    if by_label is not None:
        console.print(as_rich("by label", by_label))
    _show(estimator, schema, values, truth, left_out, seen)
    if report_path is not None:
        console.print(f"The report is {report_path}.", soft_wrap=True)


def _by_label(
    estimator: NodeEstimator, data: Data, judged: Tensor, observed: Tensor | None, names: tuple[str, ...]
) -> pd.DataFrame | None:
    """The scores of each of several labels; None where there is one."""
    from clgnn.estimators.multilabel import CollectiveMultiLabelClassifier

    if not isinstance(estimator, CollectiveMultiLabelClassifier):
        return None
    return estimator.evaluate_labels(data, judged, observed, names)


def _parts(
    estimator: NodeEstimator,
    schema: Schema,
    nodes: pd.DataFrame,
    data: Data,
    split: str | None,
    learned_from: frozenset[str],
) -> tuple[Any, Tensor, Tensor | None]:
    """What each node is (test, train, .., or learned), which are judged, and which labels are shown."""
    import numpy as np

    from clgnn.data.graph import known
    from clgnn.data.marks import marks
    from clgnn.data.parts import split_parts

    parts = np.full(len(nodes), "test", dtype=object)
    if split is not None:
        parts = split_parts(nodes, split).to_numpy(dtype=object, copy=True)
    observed = None
    if split is not None and not estimator.refuses_labels():
        observed = known(data.y) & (_is(parts, "train") | _is(parts, "observed"))
    learned = np.array([one in learned_from for one in marks(nodes[schema.id], data.x)])
    parts[learned & (parts == "test")] = "learned"
    return parts, known(data.y) & _is(parts, "test"), observed


def _is(parts: Any, name: str) -> Tensor:
    import torch

    return torch.from_numpy(parts == name)


def _show(
    estimator: NodeEstimator, schema: Schema, values: dict[str, float], y: Tensor, left_out: int, seen: int
) -> None:
    from rich.table import Table

    console.print(f"{len(y):,} nodes judged, {seen:,} labels seen.")
    table = Table("metric", "value")
    for name, value in values.items():
        table.add_row(name.replace("_", " "), f"{value:.4f}")
    console.print(table)
    told = [said_of_threshold(estimator, schema.classes)]
    if schema.classes is not None:
        told.append(said_of_majority(values["accuracy"], y, schema.classes, "judged"))
    if left_out:
        told.append(f"{left_out:,} nodes with a label were left out: the model learned from them.")
    for sentence in told:
        if sentence is not None:
            console.print(sentence, soft_wrap=True)


def _report(
    path: Path,
    name: str,
    estimator: NodeEstimator,
    schema: Schema,
    nodes: pd.DataFrame,
    data: Data,
    parts: Any,
    judged: Tensor,
    observed: Tensor | None,
    values: dict[str, float],
    explained: str | None,
) -> None:
    """Writes the page of an evaluation."""
    from torch import Tensor

    from clgnn.cli.explain import explanation
    from clgnn.data.graph import known
    from clgnn.report.evaluation import explanation_tables, from_evaluation
    from clgnn.report.graph_view import view
    from clgnn.report.page import write

    proba = estimator.predict_proba(data, observed)
    assert isinstance(proba, Tensor)
    drawn = decided = None
    if schema.classes is not None:  # a class that no training label had has no probability
        every = proba.new_zeros(len(proba), len(schema.classes))
        proba = every.index_copy(1, estimator.classes_, proba)
        decided, spread = estimator.predict(data, observed), estimator.spread(data, observed)
        assert isinstance(decided, Tensor)
        assert isinstance(spread, Tensor)
        roles = {part: _is(parts, part) for part in ("train", "observed", "val", "learned")}
        roles |= {"unlabelled": _is(parts, "test") & ~known(data.y), "test": judged}
        drawn = view(
            data, {"predicted": decided}, roles, schema.classes, nodes[schema.id].astype(str).tolist(),
            probabilities={"predicted": proba}, spread={"predicted": spread},
        )  # fmt: skip
    settings = {"kind": type(estimator).__name__, **estimator.get_params(deep=False)}
    seen = 0 if observed is None else int(observed.sum())
    content = from_evaluation(
        values, data.y[judged], proba[judged], settings, classes=schema.classes, labels_seen=seen, name=name,
        graph=drawn, decided=None if decided is None else decided[judged],
    )  # fmt: skip
    if explained is not None:
        found = explanation(estimator, schema, nodes, data, observed, explained, "--explain")
        content["tables"] += explanation_tables(found, explained)
    write(path, content)
