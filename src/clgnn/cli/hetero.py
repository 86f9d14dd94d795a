"""Several tables: ``--nodes author=authors.csv --edges author:writes:paper=writes.csv`` and so on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from clgnn.data.hetero_tables import HeteroSchema


def several_types(options: Mapping[str, Any]) -> bool:
    """Whether tables were given by their types."""
    return any(isinstance(options[name], dict) for name in ("nodes", "edges"))


def learn_hetero(label: Any, options: dict[str, Any]) -> tuple[pd.DataFrame, Any, HeteroSchema]:
    """Several tables of nodes and edges: that of the labelled nodes, the others, and how a fit reads them."""
    from clgnn.data import hetero_tables
    from clgnn.data.reading import column

    for name in ("weight", "edge_type", "edge_features"):
        if options.pop(name):
            option = name.replace("_", "-")
            raise ValueError(
                f"--{option} is for one type of nodes and edges; leave it out, or give one table"
            )
    names = {name: options.pop(name) for name in ("id_column", "source", "target")}
    ids, text = names["id_column"], tuple(options["categorical"])
    blank = tuple(options["blank"])
    nodes, edges = _typed_tables(options, (ids, *text), (names["source"], names["target"]), blank)
    kinds = {name: options.pop(name) for name in ("categorical", "numeric", "date", "features", "ignore")}
    split = options["split"]
    if split is not None:
        kinds["ignore"] = (*kinds["ignore"], split)
    schema = hetero_tables.learn_hetero(
        nodes, edges, label, ids, **kinds, task=options.pop("task"), undirected=options.pop("undirected"),
        source=names["source"], target=names["target"], blank=blank,
    )  # fmt: skip
    own = nodes.pop(schema.kind)
    if split is not None:
        column(own, split, f"{schema.kind} nodes", "--split")
    return own, hetero_tables.OtherTables(nodes, edges), schema


def _typed_tables(
    options: dict[str, Any], of_nodes: Sequence[str], of_edges: Sequence[str], blank: Sequence[str]
) -> tuple[dict[str, pd.DataFrame], dict[Any, pd.DataFrame]]:
    """The tables of nodes and edges by their types."""
    from clgnn.data.tables import read_table

    reading = {name: options.pop(name) for name in ("delimiter", "encoding")} | {"blank": tuple(blank)}
    options.pop("blank")
    given = {name: options.pop(name) for name in ("nodes", "edges")}
    for name, value in given.items():
        if not isinstance(value, dict):
            example = "author=authors.csv" if name == "nodes" else "author:writes:paper=writes.csv"
            raise ValueError(f"--{name} {value} names no type, and the other tables do; expected {example}")
    relations = {name: tuple(name.split(":")) for name in given["edges"]}
    for name, relation in relations.items():
        if len(relation) != 3 or not all(relation):
            raise ValueError(f"--edges {name}=.. is no type of edges; expected SOURCE:RELATION:TARGET=FILE")
    nodes = {kind: read_table(path, text=tuple(of_nodes), **reading) for kind, path in given["nodes"].items()}
    edges = {
        relations[name]: read_table(path, text=tuple(of_edges), **reading)
        for name, path in given["edges"].items()
    }
    return nodes, edges


def read_hetero(schema: HeteroSchema, options: dict[str, Any]) -> tuple[pd.DataFrame, Any, HeteroSchema]:
    """The tables for a model of several types, and its schema with the names that were given."""
    from clgnn.data.hetero_tables import OtherTables

    blank = options["blank"] or schema.blank
    given = {name.removesuffix("_column"): options.pop(name) for name in ("id_column", "source", "target")}
    schema = replace(schema, **{name: value for name, value in given.items() if value is not None})
    text = {*schema.text, *(name for _, other in schema.others for name in other.text)}
    nodes, edges = _typed_tables(options, sorted(text), (schema.source, schema.target), blank)
    wanted = {schema.kind, *(kind for kind, _ in schema.others)}
    for name, came, expected in (
        ("nodes", set(nodes), wanted),
        ("edges", set(edges), set(schema.relations)),
    ):
        if came != expected:
            names = [one if isinstance(one, str) else ":".join(one) for one in sorted(expected, key=str)]
            raise ValueError(f"--{name} has other types than in training; expected {', '.join(names)}")
    own = nodes.pop(schema.kind)
    return own, OtherTables(nodes, edges), schema


def hetero_gnn(given: Mapping[str, Any], schema: HeteroSchema) -> Any:
    """The user's GNN for several types of nodes; or GraphSAGE, which is made for those of the tables."""
    from clgnn.nn import HeteroSAGE

    gnn = given["gnn"]
    if not isinstance(gnn, str):
        return gnn
    if gnn not in ("gcn", "sage"):  # gcn is the default
        raise ValueError(f"--gnn {gnn} knows one type of nodes; expected sage, or module:attr of your own")
    width, layers = int(given["hidden_channels"]), given["num_layers"] or 2
    return HeteroSAGE(*schema.metadata, width, width, int(layers), float(given["dropout"]))
