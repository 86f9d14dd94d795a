"""Options about the tables of nodes and edges, the same on every command that reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clgnn.cli.options import Command, check_writable, console, errors, option

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor
    from torch_geometric.data import Data

    from clgnn.data.described import Counts
    from clgnn.data.reading import Columns
    from clgnn.data.tables import Schema
    from clgnn.estimators.node import NodeEstimator

FORMULA = tuple("=+-@\t\r")
"""What the texts begin with that a spreadsheet runs."""
_TABLES, _COLUMNS = "Tables", "Columns"
_NAMES = ("id_column", "source", "target", "weight")
_DEFAULTS = {"id_column": "id", "source": "source", "target": "target"}


def table_options(fitting: bool, required: bool = True) -> Callable[[Command], Command]:
    """The two tables, how their files are read, and the names of their columns.

    A command that does not fit takes from the model what is not given.
    """

    def default(name: str) -> str | None:
        return _DEFAULTS.get(name) if fitting else None

    of_model = "" if fitting else "  [default: as in training]"
    options = [
        option("--nodes", required=required, multiple=True, callback=_one_or_typed, group=_TABLES,
               help="Read the nodes from this table, CSV or Parquet, one row per node. Several types of "
               "nodes: author=authors.csv, once for each."),
        option("--edges", required=required, multiple=True, callback=_one_or_typed, group=_TABLES,
               help="Read the edges from this table, CSV or Parquet, one row per edge. Several types of "
               "edges: author:writes:paper=writes.csv, once for each."),
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


def _one_or_typed(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> str | dict[str, str] | None:
    """One table; or several by their types."""
    if not values:
        return None
    if all("=" not in value or Path(value).exists() for value in values):
        return values[-1]  # the last one counts, as for every option
    found: dict[str, str] = {}
    for value in values:
        kind, mark, path = value.partition("=")
        if not mark or not kind or not path:
            raise click.BadParameter(
                f"{value} is one of several tables, and has no type; expected TYPE=FILE for each"
            )
        if kind in found:
            raise click.BadParameter(f"{kind} has two tables; expected one for each type")
        found[kind] = path
    return found


def label_option(text: str, required: bool = False, several: bool = True) -> Callable[[Command], Command]:
    """``--label``: None, a column, or several of them where it may be repeated."""

    def callback(
        context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
    ) -> str | tuple[str, ...] | None:
        names = tuple(dict.fromkeys(given))
        if len(names) > 1 and not several:
            raise click.BadParameter(f"{', '.join(names)} are several; this command takes one label")
        return names if len(names) > 1 else next(iter(names), None)

    more = " May be repeated for several labels of 0 and 1." if several else ""
    return option("--label", multiple=True, required=required, callback=callback, group=_COLUMNS,
                  help=text + more)  # fmt: skip


def feature_options(command: Command) -> Command:
    """Which columns are features, and how they are read."""
    many: dict[str, Any] = {"multiple": True, "group": _COLUMNS}
    for add in (
        option("--edge-type", group=_COLUMNS, help="Take an edge's type from this column, for column "
               "networks, or a GNN of your own that takes edge_type."),
        option("--edge-features", "edge_features", help="Use these numbers of the edges, for a GNN of your "
               "own that takes edge_attr; may be repeated.", **many),
        option("--feature", "features", help="Use this column, even if it equals the label.", **many),
        option("--date", help="Read this column as ISO dates; may be repeated.", **many),
        option("--numeric", help="Read this column as numbers; may be repeated.", **many),
        option("--categorical", help="Read this column as categories; may be repeated.", **many),
        option("--ignore", help="Leave this column out; may be repeated.", **many),
    ):  # fmt: skip
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
        raise ValueError(f"--start-predictions is for classes, and {schema.what}")
    table = read_table(path, text=(schema.id,))
    wanted = [names[c] for c in classes]
    data.start_proba = read_probabilities(table, nodes[schema.id].tolist(), schema.id, wanted, path)


def one_table(options: dict[str, Any]) -> None:
    """Refuses tables of several types."""
    for name in ("nodes", "edges"):
        if isinstance(options[name], dict):
            raise ValueError(
                f"--{name} names types ({', '.join(options[name])}); this command takes one table of nodes "
                "and one of edges: `clgnn fit` takes several"
            )


def _read_table(path: str, *arguments: Any, **options: Any) -> pd.DataFrame:
    from clgnn.data.tables import read_table

    return read_table(path, *arguments, **options)


def read_new(
    options: dict[str, Any], read: Callable[..., Any] = _read_table
) -> tuple[Any, Any, dict[str, Any]]:
    """The two tables of a fit, and the fields of the schema about edges; ``read`` reads a table."""
    reading = {name: options.pop(name) for name in ("delimiter", "encoding", "blank")}
    names = {name: options.pop(name) for name in _NAMES}
    text = tuple(options["categorical"])
    nodes = read(options.pop("nodes"), text=(names["id_column"], *text), **reading)
    edges = read(options.pop("edges"), text=(names["source"], names["target"]), **reading)
    if names["weight"] is None and "weight" in edges.columns:
        names["weight"] = "weight"
    names |= edge_columns(edges, options.pop("edge_features"), options.pop("edge_type"))
    return nodes, edges, {"id": names.pop("id_column"), **names, "blank": tuple(reading["blank"])}


def edge_columns(edges: Columns, features: Sequence[str], kind: str | None) -> dict[str, Any]:
    """The fields of the schema about features and types of edges."""
    from clgnn.data.columns import learn_column
    from clgnn.data.reading import column
    from clgnn.data.values import texts

    read = [learn_column(column(edges, name, "edges", "--edge-features"), "number") for name in features]
    types: tuple[str, ...] = ()
    if kind is not None:
        types = tuple(sorted(texts(column(edges, kind, "edges", "--edge-type")).dropna().unique()))
    return {"edge_features": tuple(read), "edge_type": kind, "edge_types": types}


def read_known(
    schema: Schema, options: dict[str, Any], read: Callable[..., Any] = _read_table
) -> tuple[Any, Any, Schema]:
    """The two tables for a model that knows its columns, and its schema with the names that were given."""
    from clgnn.cli.hetero import read_hetero
    from clgnn.data.hetero_tables import HeteroSchema

    if isinstance(schema, HeteroSchema):
        return read_hetero(schema, options)
    for name in ("nodes", "edges"):
        if isinstance(options[name], dict):
            raise ValueError(
                f"--{name} names types, and the model knows one; expected one table, without TYPE="
            )
    reading = {name: options.pop(name) for name in ("delimiter", "encoding")}
    blank = options.pop("blank") or schema.blank
    given = {name.removesuffix("_column"): options.pop(name) for name in _NAMES}
    schema = replace(schema, **{name: value for name, value in given.items() if value is not None})
    nodes = read(options.pop("nodes"), text=schema.text, blank=blank, **reading)
    edges = read(options.pop("edges"), text=(schema.source, schema.target), blank=blank, **reading)
    return nodes, edges, schema


def learn_schema(
    label: str | tuple[str, ...] | None, options: dict[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame, Schema]:
    """The tables of nodes and edges, and how a fit reads them."""
    one_table(options)
    nodes, edges, fields = read_new(options)
    return nodes, edges, learned(nodes, label, fields, options)


def learned(
    nodes: Columns, label: str | tuple[str, ...] | None, fields: dict[str, Any], options: dict[str, Any]
) -> Schema:
    """How a fit reads a table of nodes; ``fields`` are what :func:`read_new` gave."""
    from clgnn.data.reading import require
    from clgnn.data.tables import Schema

    split = options["split"]
    if split is not None:
        require(nodes, split, "nodes", "--split")
    ignore = (*options.pop("ignore"), *((split,) if split else ()))
    kinds = {name: options.pop(name) for name in ("categorical", "numeric", "date", "features")}
    undirected, task = options.pop("undirected"), options.pop("task")
    return Schema.learn(nodes, label, ignore=ignore, task=task, **kinds, undirected=undirected, **fields)


def show_tables(schema: Schema, counts: Counts, labels: tuple[int, int] | None = None) -> None:
    """How every column is read, and what was dropped: to be looked at before training."""
    from clgnn.data.described import SHOWN, columns_text, counts_text, edges_text

    of_edges = edges_text(schema, counts.unused)
    for text in (columns_text(schema, SHOWN), of_edges, counts_text(schema, counts, labels)):
        console.print(text, soft_wrap=True)


def counts_json(schema: Schema, counts: Counts) -> dict[str, Any]:
    """The same counts, for ``--json``."""
    return {
        "num_nodes": counts.nodes,
        "num_edges": counts.edges // (2 if schema.undirected else 1),
        "num_features": counts.features,
        "num_labels": counts.labels,
        "dropped": counts.dropped,
        "unused_edge_columns": counts.unused,
    }


def read_schema(path: str, content: dict[str, Any]) -> Schema:
    """How a model reads tables, from what its folder says of itself."""
    from clgnn.data.hetero_tables import schema_from_json

    extra = content.get("extra") or {}
    if not isinstance(extra, dict) or "table" not in extra:
        raise ValueError(f"{path} was not fitted from tables; expected a model that `clgnn fit` wrote")
    try:
        return schema_from_json(extra["table"])
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} is damaged (its schema: {error}); fit the model again") from error


def unseen_classes(estimator: NodeEstimator, schema: Schema, y: Tensor) -> Tensor:
    """The nodes of a class that no training label had, bool ``[N]``."""
    import torch

    from clgnn.data.graph import known

    if schema.classes is None:
        return torch.zeros(len(y), dtype=torch.bool)
    return known(y) & ~torch.isin(y, estimator.classes_)


def say_unseen(unseen: Tensor, y: Tensor, schema: Schema, what: str) -> None:
    """Says how many nodes have such a class, what follows from it, and how the classes are called."""
    if schema.classes is None or not bool(unseen.any()):
        return
    values, counts = y[unseen].unique(return_counts=True)
    names = [f"{schema.classes[c]!r} {n:,}" for c, n in zip(values.tolist(), counts.tolist(), strict=True)]
    said = f"{int(unseen.sum()):,} {what}: no label in training had their class ({', '.join(names)})."
    errors.print(said, soft_wrap=True)


def check_table(out: Path, force: bool) -> None:
    """Refuses a name that no table can be written to."""
    if out.is_dir():
        raise ValueError(f"--out {out} is a folder; expected a file name that ends in .csv, .parquet or .pq")
    if out.suffix.lower() not in (".csv", ".parquet", ".pq"):
        raise ValueError(f"{out} ends in {out.suffix or 'nothing'}; expected .csv, .parquet or .pq")
    if out.exists() and not force:
        raise ValueError(f"{out} exists; choose another --out, or --force to replace it")
    check_writable(out)


def harmless(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before texts that a spreadsheet would run as formulas, such as ``=1+1``.

    Column names and cells count alike. Numbers, -5 among them, stay as they are; so do all texts in Parquet.
    """
    import pandas as pd

    def marked(cell: Any) -> Any:
        text = isinstance(cell, str) and cell[:1] in FORMULA and pd.isna(pd.to_numeric(cell, errors="coerce"))
        return f"'{cell}" if text else cell

    texts = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
    return table.assign(**{name: table[name].map(marked) for name in texts}).rename(columns=marked)


def write_tables(tables: Iterable[pd.DataFrame], out: Path) -> None:
    """Writes a table that comes in parts, as CSV or Parquet by the end of its name; whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from clgnn.files import written

    with written(out) as temporary, ExitStack() as stack:
        writer: Any = None
        for table in tables:
            if out.suffix.lower() == ".csv":
                harmless(table).to_csv(temporary, index=False, mode="a", header=writer is None)
                writer = writer or True
                continue
            rows = pa.Table.from_pandas(table, preserve_index=False)
            writer = writer or stack.enter_context(pq.ParquetWriter(temporary, rows.schema))
            writer.write_table(rows.cast(writer.schema))
