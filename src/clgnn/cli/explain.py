"""``clgnn explain``: what the prediction of one node rests on, in the words of the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from clgnn.cli.graphs import read_graph
from clgnn.cli.models import give_start, model_options, open_model, shown_labels
from clgnn.cli.options import (
    COUNT,
    GroupedCommand,
    as_rich,
    console,
    option,
    output_options,
    print_json,
    set_threads,
)
from clgnn.cli.tables import label_option

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor
    from torch_geometric.data import Data

    from clgnn.data.tables import Schema
    from clgnn.estimators.explanation import Explanation
    from clgnn.estimators.node import NodeEstimator


@click.command(cls=GroupedCommand)
@model_options
@option("--node", required=True, group="The node", help="Explain the prediction of the node with this id.")
@option("--algorithm", default="gnn_explainer", type=click.Choice(["gnn_explainer", "captum"]),
        group="The node", help="Choose how; captum needs to be installed.")  # fmt: skip
@option("--top", default=10, type=COUNT, group="Output", help="Show this many rows of each table.")
@label_option("Show the model the labels of this column; without it, none.")
@output_options
def explain(
    model: str,
    gnn_name: str | None,
    node: str,
    algorithm: str,
    top: int,
    label: str | tuple[str, ...] | None,
    quiet: bool,
    as_json: bool,
    threads: int | None,
    **options: Any,
) -> None:
    """Explain the prediction of a node.

    Prints the edges, the columns and the labels of other nodes that it rests on most.
    """
    estimator, schema, _ = open_model(model, gnn_name)
    start = options.pop("start_predictions")
    nodes, data, schema = read_graph(schema, label, options)
    give_start(estimator, data, start, nodes, schema)
    set_threads(threads, data, getattr(estimator, "num_samples", 1))
    observed = shown_labels(estimator, schema, model, data, label)
    found = explanation(estimator, schema, nodes, data, observed, node, algorithm=algorithm)
    _show(found, node, top, as_json)


def explanation(
    estimator: NodeEstimator,
    schema: Schema,
    nodes: pd.DataFrame,
    data: Data,
    observed: Tensor | None,
    node: str,
    option: str = "--node",
    algorithm: str = "gnn_explainer",
) -> Explanation:
    """The explanation of the node with an id, in the words of the tables."""
    if not hasattr(estimator, "explain"):
        kind = type(estimator).__name__
        raise ValueError(f"the model is a {kind}; expected one of collective learning to explain: see fit")
    ids = nodes[schema.id].astype(str).tolist()
    if node not in ids:
        some = ", ".join(ids[:3])
        raise ValueError(
            f"{option} {node} is no id of the nodes table; expected one of its ids, such as {some}"
        )
    found = estimator.explain(data, ids.index(node), observed, algorithm=algorithm)
    classes = None if schema.classes is None else dict(enumerate(schema.classes))
    return renamed(found, ids, column_names(schema), classes)


def column_names(schema: Schema) -> list[str]:
    """What the columns of x are called: a category is ``column = text``, a dimension ``column[3]``."""
    from clgnn.data.columns import EmbeddingColumn, TextColumn

    names: list[str] = []
    for feature in schema.features:
        if isinstance(feature, TextColumn):
            names += [f"{feature.name} = {text}" for text in feature.categories]
        elif isinstance(feature, EmbeddingColumn):
            names += [f"{feature.name}[{i}]" for i in range(len(feature.mean))]
        else:
            names.append(feature.name)
    return names or ["(constant)"]


def renamed(
    found: Explanation, ids: Any, columns: list[str], classes: Mapping[int, str] | None
) -> Explanation:
    """An explanation in the words of a user's tables.

    Args:
        found: with the numbers of nodes, columns and classes.
        ids: of the nodes.
        columns: the names of the columns of x.
        classes: the names of the classes by their numbers; None for numbers to predict.
    """
    import numpy as np

    ids = np.asarray(ids)
    edges = found.edges.assign(**{end: ids[found.edges[end].to_numpy(int)] for end in ("source", "target")})
    features = found.features.assign(column=np.array(columns)[found.features["column"].to_numpy(int)])
    labels = found.labels.assign(node=ids[found.labels["node"].to_numpy(int)])
    prediction: Any = found.prediction
    if classes is not None:
        prediction = classes[int(found.prediction)]
        labels["label"] = [classes[int(one)] for one in found.labels["label"]]
        labels = labels.rename(columns={f"p({number})": f"p({name})" for number, name in classes.items()})
    return replace(found, prediction=prediction, edges=edges, features=features, labels=labels)


def _show(found: Explanation, node: str, top: int, as_json: bool) -> None:
    tables = {name: getattr(found, name).head(top) for name in ("edges", "features", "labels")}
    if as_json:
        rows = {name: table.to_dict(orient="records") for name, table in tables.items()}
        print_json({"node": node, "prediction": found.prediction, "iteration": found.iteration, **rows})
        return
    said = f"Node {node} is predicted to be {found.prediction}, by iteration {found.iteration}. It rests on:"
    console.print(said, soft_wrap=True)
    for name, table in tables.items():
        if table.empty:
            why = "the plain GNN sees none" if name == "labels" and found.iteration == 0 else "none counts"
            console.print(f"no {name}: {why}.")
        else:
            console.print(as_rich(name, table))
