"""Options about the tables of nodes and edges, the same on every command that reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from clgnn.cli.options import Command, option

if TYPE_CHECKING:
    import pandas as pd
    from torch_geometric.data import Data

    from clgnn.data.tables import Schema

_TABLES, _COLUMNS = "Tables", "Columns"
_NAMES = ("id_column", "source", "target", "weight")
_DEFAULTS = {"id_column": "id", "source": "source", "target": "target"}


def table_options(fitting: bool) -> Callable[[Command], Command]:
    """The two tables, how their files are read, and the names of their columns.

    A command that does not fit takes from the model what is not given.
    """

    def default(name: str) -> str | None:
        return _DEFAULTS.get(name) if fitting else None

    of_model = "" if fitting else "  [default: as in training]"
    options = [
        option("--nodes", required=True, type=click.Path(), group=_TABLES,
               help="Read the nodes from this table, CSV or Parquet, one row per node."),
        option("--edges", required=True, type=click.Path(), group=_TABLES,
               help="Read the edges from this table, CSV or Parquet, one row per edge."),
        option("--delimiter", group=_TABLES, help="Split CSV rows at this character.  [default: detected]"),
        option("--encoding", group=_TABLES, help="Read CSV files in this encoding.  [default: UTF-8]"),
        option("--blank", multiple=True, group=_TABLES,
               help=f"Read this text as an empty cell; may be repeated.{of_model}"),
        option("--id", "id_column", default=default("id_column"), group=_COLUMNS,
               help=f"Take the node ids from this column.{of_model}"),
        option("--source", default=default("source"), group=_COLUMNS,
               help=f"Take an edge's source id from this column.{of_model}"),
        option("--target", default=default("target"), group=_COLUMNS,
               help=f"Take an edge's target id from this column.{of_model}"),
        option("--weight", group=_COLUMNS, help="Take an edge's weight from this column.  "
               + ("[default: weight, if there is one]" if fitting else of_model.strip())),
    ]  # fmt: skip

    def decorate(command: Command) -> Command:
        for add in reversed(options):
            command = add(command)
        return command

    return decorate


def feature_options(command: Command) -> Command:
    """Which columns are features, and how they are read."""
    many: dict[str, Any] = {"multiple": True, "group": _COLUMNS}
    for add in (
        option("--feature", "features", help="Use this column, even if it equals the label.", **many),
        option("--date", help="Read this column as ISO dates; may be repeated.", **many),
        option("--numeric", help="Read this column as numbers; may be repeated.", **many),
        option("--categorical", help="Read this column as categories; may be repeated.", **many),
        option("--ignore", help="Leave this column out; may be repeated.", **many),
    ):
        command = add(command)
    return command


def start_option(command: Command) -> Command:
    """``--start-predictions``."""
    text = "Start from these predictions: a table with the ids and one column p(CLASS) for each class."
    return option("--start-predictions", type=click.Path(), group=_TABLES, help=text)(command)


def add_start(data: Data, path: str, nodes: pd.DataFrame, schema: Schema, classes: list[int]) -> None:
    """Gives a graph the first predictions of a table, in the order of the classes that the model knows."""
    from clgnn.data.tables import read_table
    from clgnn.estimators.predictions import read_probabilities

    names = schema.classes
    if names is None:
        raise ValueError(f"--start-predictions is for classes, and {schema.label!r} holds numbers")
    table = read_table(path, text=(schema.id,))
    wanted = [names[c] for c in classes]
    data.start_proba = read_probabilities(table, nodes[schema.id].tolist(), schema.id, wanted, path)


def read_new(options: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """The two tables of a fit, and the fields of the schema about edges."""
    from clgnn.data.tables import read_table

    reading = {name: options.pop(name) for name in ("delimiter", "encoding", "blank")}
    names = {name: options.pop(name) for name in _NAMES}
    text = tuple(options["categorical"])
    nodes = read_table(options.pop("nodes"), text=(names["id_column"], *text), **reading)
    edges = read_table(options.pop("edges"), text=(names["source"], names["target"]), **reading)
    if names["weight"] is None and "weight" in edges.columns:
        names["weight"] = "weight"
    return nodes, edges, {"id": names.pop("id_column"), **names, "blank": tuple(reading["blank"])}


def read_known(schema: Schema, options: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame, Schema]:
    """The two tables for a model that knows its columns, and its schema with the names that were given."""
    from clgnn.data.tables import read_table

    reading = {name: options.pop(name) for name in ("delimiter", "encoding")}
    blank = options.pop("blank") or schema.blank
    given = {name.removesuffix("_column"): options.pop(name) for name in _NAMES}
    schema = replace(schema, **{name: value for name, value in given.items() if value is not None})
    nodes = read_table(options.pop("nodes"), text=schema.text, blank=blank, **reading)
    edges = read_table(options.pop("edges"), text=(schema.source, schema.target), blank=blank, **reading)
    return nodes, edges, schema
