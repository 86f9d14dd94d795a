"""``--graph``: the folder of ``clgnn prepare`` in place of two tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from clgnn.cli.hetero import learn_hetero, several_types
from clgnn.cli.options import Command, option
from clgnn.cli.tables import learn_schema, read_known

if TYPE_CHECKING:
    import pandas as pd

    from clgnn.data.described import Counts
    from clgnn.data.stored import StoredGraph
    from clgnn.data.tables import Schema

# what a folder says of itself
_OF_TABLES = (
    "nodes", "edges", "delimiter", "encoding", "blank", "id_column", "source", "target", "weight", "ignore",
    "categorical", "numeric", "date", "features", "edge_features", "edge_type", "undirected", "task", "split",
)  # fmt: skip


def graph_option(command: Command) -> Command:
    """``--graph``."""
    text = "Read the graph from this folder, which `clgnn prepare` wrote, in place of --nodes and --edges."
    return option("--graph", type=click.Path(), group="Tables", help=text)(command)


LARGE = 5_000_000
"""Above so many edges, or numbers in x, predictions go through a graph on disk in a stream."""


def as_input(graph: StoredGraph, in_parts: bool = False) -> Any:
    """What an estimator is given: the graph in memory, or as it is where only parts of it are to be there."""
    return graph if in_parts else graph.to_data()


def is_large(graph: StoredGraph) -> bool:
    """Whether a graph is better left on disk."""
    return bool(graph.num_edges > LARGE or graph.x.size > LARGE)


def read_to_fit(
    label: str | tuple[str, ...] | None, options: dict[str, Any], in_parts: bool = False
) -> tuple[pd.DataFrame, Any, Schema, Counts]:
    """The table of nodes, the graph, how it is read and what was dropped, from tables or from a folder.

    Of a folder the table has the ids and the split, which ``options["split"]`` then names. With ``in_parts``
    its graph is a ``StoredGraph``.
    """
    from clgnn.data.described import counted

    path = options.pop("graph")
    if path is None:
        _require_tables(options, label)
        nodes, edges, schema = (learn_hetero if several_types(options) else learn_schema)(label, options)
        links = schema.edges(nodes, edges)
        data = schema.graph(nodes, links, label)
        return nodes, data, schema, counted(data, links)
    nodes, graph, schema = _opened(path, options)
    if not schema.label:
        raise ValueError(f"--graph {path} has no labels; prepare it with --label to fit a model")
    _check_label(path, schema, label)
    assert graph.counts is not None
    return nodes, as_input(graph, in_parts), schema, graph.counts


def read_graph(
    schema: Schema,
    label: str | tuple[str, ...] | None,
    options: dict[str, Any],
    judged: bool = False,
    in_parts: bool = False,
) -> tuple[pd.DataFrame, Any, Schema]:
    """The table of nodes and the graph; a label that was a feature in training is refused.

    Of a folder the table has the ids and the split, which ``options["split"]`` then names.

    Args:
        schema: how the model reads tables.
        label: the column with the labels, several, or None.
        options: of the command.
        judged: whether there must be labels; without ``label`` those of the folder are taken.
        in_parts: whether a large graph on disk may be given as it is, as a ``StoredGraph``.
    """
    features = {feature.name for feature in schema.features}
    for name in label if isinstance(label, tuple) else (label,):
        if name is not None and name in features:
            raise ValueError(
                f"--label {name} was a feature in training, so the model has seen it in every node; "
                f"fit again with --ignore {name}"
            )
    path = options.pop("graph")
    if path is None:
        _require_tables(options, label if judged else "")
        nodes, edges, schema = read_known(schema, options)
        return nodes, schema.graph(nodes, edges, label), schema
    nodes, graph, found = _opened(path, options)
    if found.features != schema.features:
        raise ValueError(
            f"--graph {path} was prepared with other readings of its columns than the model has; prepare it "
            "again with --model, which takes those of the model"
        )
    if judged and not found.label:
        raise ValueError(f"--graph {path} has no labels to judge by; prepare it again with --label")
    if label is not None or judged:
        _check_label(path, found, label)
        if found.classes != schema.classes:
            raise ValueError(
                f"--graph {path} numbers other classes than the model; prepare it again with --model"
            )
    return nodes, as_input(graph, in_parts and is_large(graph)), found


def _opened(path: str, options: dict[str, Any]) -> tuple[pd.DataFrame, StoredGraph, Schema]:
    import numpy as np
    import pandas as pd

    from clgnn.data.folder import open_graph
    from clgnn.data.stored import PARTS

    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "") != ParameterSource.DEFAULT
        if parameter.name in _OF_TABLES and given:
            raise ValueError(
                f"--graph and {parameter.opts[0]} are given; a graph on disk knows how its tables were read: "
                "leave one out"
            )
    graph = open_graph(path)
    assert graph.schema is not None
    nodes = graph.ids.to_frame()
    if graph.split is not None:
        options["split"] = "split" if graph.schema.id != "split" else "split_"
        nodes[options["split"]] = pd.Categorical.from_codes(np.asarray(graph.split), pd.Index(PARTS))
    return nodes, graph, graph.schema


def _check_label(path: str, schema: Schema, label: str | tuple[str, ...] | None) -> None:
    if label is not None and label != schema.label:
        there = f"those of {schema.label!r}" if schema.label else "none"
        raise ValueError(
            f"--graph {path} has no labels of {label!r}, but {there}; prepare it again with --label {label}"
        )


def _require_tables(options: dict[str, Any], label: str | tuple[str, ...] | None = "") -> None:
    for name, value in (("nodes", options["nodes"]), ("edges", options["edges"]), ("label", label)):
        if value is None:
            context = click.get_current_context()
            raise click.MissingParameter(ctx=context, param_hint=f"'--{name}'", param_type="option")
