"""A model that a command uses: how it is named and opened, and what it is shown."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from clgnn.cli.graphs import graph_option
from clgnn.cli.hetero import hetero_gnn
from clgnn.cli.options import Command, gnn, option
from clgnn.cli.tables import add_start, read_schema, say_unseen, start_option, table_options, unseen_classes

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor
    from torch_geometric.data import Data

    from clgnn.data.tables import Schema
    from clgnn.estimators.node import NodeEstimator


def model_options(command: Command) -> Command:
    """The model, and the tables that it looks at; a model that can't be used is damaged."""

    inner = command

    @wraps(inner)
    def using(model: str, **options: Any) -> Any:
        try:
            return inner(model=model, **options)
        except (TypeError, KeyError, AttributeError, IndexError, ZeroDivisionError, OverflowError) as error:
            raise ValueError(
                f"{model} is damaged, or of another GNN ({type(error).__name__}: {error}); fit it again"
            ) from error

    command = using  # type: ignore[assignment]
    command = option("--gnn", "gnn_name", group="The model", help="Give your own GNN again, module:attr, if "
                     "the model was fitted with one.")(command)  # fmt: skip
    command = start_option(table_options(fitting=False, required=False)(graph_option(command)))
    text = "Use the model in this folder."
    return option("--model", required=True, type=click.Path(), group="The model", help=text)(command)


def open_model(path: str, gnn_name: str | None) -> tuple[NodeEstimator, Schema, frozenset[str] | None]:
    """A model that ``clgnn fit`` wrote, its schema, and the marks of the nodes that it learned from.

    Models of version 0.1 do not have them: None.
    """
    from clgnn import baselines
    from clgnn.data.hetero_tables import HeteroSchema
    from clgnn.estimators import persistence

    content = persistence.read(path)
    schema = read_schema(path, content)
    own = None if gnn_name is None else gnn(gnn_name)
    if isinstance(schema, HeteroSchema) and own is None:  # GraphSAGE is made anew for the types
        own = hetero_gnn({**content["parameters"], "gnn": "sage"}, schema)
    if content["parameters"].get("gnn", "") is None and own is None:
        raise ValueError(f"{path} was fitted with a GNN of your own; name it again with --gnn module:attr")
    learned = content["extra"].get("learned_from")
    return baselines.load(path, own), schema, None if learned is None else frozenset(learned)


def give_start(
    estimator: NodeEstimator, data: Data, path: str | None, nodes: pd.DataFrame, schema: Schema
) -> None:
    """Gives the graph the first predictions that a model was fitted with, and only such a model."""
    wanted = estimator.get_params(deep=False).get("start") == "given"
    if wanted and path is None:
        raise ValueError("the model starts from given predictions; give them again with --start-predictions")
    if path is not None:
        if not wanted:
            raise ValueError("--start-predictions is given, and the model was fitted without: leave it out")
        add_start(data, path, nodes, schema, estimator.classes_.tolist())


def shown_labels(
    estimator: NodeEstimator, schema: Schema, model: str, data: Data, label: str | tuple[str, ...] | None
) -> Tensor | None:
    """The labels that are shown: those of a class that the model knows."""
    from clgnn.data.graph import as_list, known

    if label is None:
        return None
    if estimator.refuses_labels():
        raise ValueError(
            f"--label {label} shows labels, and {model} was fitted for graphs without: fit it with "
            "--test-labels partial, or leave --label out"
        )
    (y,) = (graph.y for graph in as_list(data))
    unseen = unseen_classes(estimator, schema, y)
    say_unseen(unseen, y, schema, "labels are not shown")
    return known(y) & ~unseen
