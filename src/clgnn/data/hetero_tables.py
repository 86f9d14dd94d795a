"""Several tables of nodes and edges as one heterogeneous graph.

One table of nodes has the labels; each of the others is a further type of nodes. A table of edges joins the
nodes of two types. How the labelled nodes are read is a :class:`~clgnn.data.tables.Schema`, as for one table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import pandas as pd
import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.transforms import ToUndirected

from clgnn.data.hetero import EdgeType, labelled_part
from clgnn.data.links import Edges, joined
from clgnn.data.reading import column
from clgnn.data.tables import Schema


@dataclass(frozen=True)
class OtherTables:
    """All tables but that of the labelled nodes, by their types."""

    nodes: dict[str, pd.DataFrame]
    edges: dict[EdgeType, pd.DataFrame]


@dataclass(frozen=True)
class HeteroEdges(Edges):
    """The edges of all types, and the graph that they are in; ``edge_index`` has none."""

    graph: HeteroData | None = None


@dataclass(frozen=True)
class HeteroSchema(Schema):
    """How several tables become a graph.

    Attributes:
        kind: the type of the labelled nodes, which all other fields of a schema are about.
        others: how the other types of nodes are read.
        relations: the types of edges that there are tables of.
    """

    kind: str = ""
    others: tuple[tuple[str, Schema], ...] = ()
    relations: tuple[EdgeType, ...] = ()

    @property
    def metadata(self) -> tuple[list[str], list[EdgeType]]:
        """The types of nodes and of edges, those against the direction too, as PyG orders them."""
        data = HeteroData()
        for kind in (self.kind, *(name for name, _ in self.others)):
            data[kind].num_nodes = 0
        for relation in self.relations:
            data[relation].edge_index = torch.empty(2, 0, dtype=torch.long)
        made: HeteroData = ToUndirected()(data) if self.undirected else data
        return made.node_types, made.edge_types

    def edges(self, nodes: pd.DataFrame, edges: OtherTables) -> HeteroEdges:  # type: ignore[override]
        """The graph of all types, without the features and labels of the labelled nodes.

        Rows that give an edge twice count once. If the graph is undirected, each relation ``r`` between two
        types comes with ``rev_r``, against its direction, as PyG's ``ToUndirected`` has it.
        """
        ids = {self.kind: column(nodes, self.id, f"{self.kind} nodes", "--id")}
        data = HeteroData()
        for kind, schema in self.others:
            ids[kind] = column(edges.nodes[kind], schema.id, f"{kind} nodes", "--id")
            data[kind].x = schema.x(edges.nodes[kind], dense=True)
        data[self.kind].num_nodes = len(nodes)
        loops = double = 0
        unused: dict[str, None] = {}
        for a, name, b in self.relations:
            made = joined(ids[a], ids[b], edges.edges[a, name, b], self.source, self.target, a == b)
            data[a, name, b].edge_index = made.edge_index
            loops, double = loops + made.self_loops, double + made.duplicates
            unused |= dict.fromkeys(f"{a}:{name}:{b} {one}" for one in made.unused)
        if self.undirected:
            data = ToUndirected()(data)
        empty = torch.empty(2, 0, dtype=torch.long)
        return HeteroEdges(empty, None, loops, double, 0, tuple(unused), graph=data)

    def graph(  # type: ignore[override]
        self,
        nodes: pd.DataFrame,
        edges: OtherTables | HeteroEdges,
        label: str | tuple[str, ...] | None = None,
    ) -> Data:
        """The labelled nodes as a graph that knows the rest, which estimators take as a ``HeteroData``."""
        made = edges if isinstance(edges, HeteroEdges) else self.edges(nodes, edges)
        own = super().graph(nodes, replace(made, graph=None), label)
        assert made.graph is not None
        data = made.graph.clone()
        data[self.kind].x = own.x if own.x.layout == torch.strided else own.x.to_dense()
        data[self.kind].y = own.y
        return labelled_part(data)

    def describe(self) -> list[tuple[str, str, str]]:
        rows = [(f"{self.kind}: {name}", how, what) for name, how, what in super().describe()]
        for kind, schema in self.others:
            rows += [(f"{kind}: {name}", how, what) for name, how, what in schema.describe()]
        return rows

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "others": [[kind, schema.to_json()] for kind, schema in self.others]}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        others = tuple((str(kind), Schema.from_json(one)) for kind, one in content["others"])
        relations = tuple((str(a), str(name), str(b)) for a, name, b in content["relations"])
        plain = {key: value for key, value in content.items() if key not in ("others", "relations")}
        return replace(super().from_json(plain), others=others, relations=relations)


def learn_hetero(
    nodes: Mapping[str, pd.DataFrame],
    edges: Mapping[EdgeType, pd.DataFrame],
    label: str | tuple[str, ...],
    id: str = "id",
    *,
    ignore: tuple[str, ...] = (),
    **options: Any,
) -> HeteroSchema:
    """The schema of several tables.

    Args:
        nodes: a table for each type of nodes; the label stands in one of them alone.
        edges: a table for each type of edges, ``(type of the source, relation, type of the target)``.
        label: the column of the labels, or several.
        id: the column of the ids, the same in all tables of nodes.
        ignore: columns that are no features, in whatever tables they are.
        options: further ones of :meth:`Schema.learn`; those that name columns count in the tables that
            have them.

    Raises:
        ValueError: if not exactly one table has the label, an edge joins types that there are not, or a
            column is in no table.

    Example:
        >>> papers = pd.DataFrame({"id": ["p", "q"], "year": [1.5, 2.5], "topic": ["a", "b"]})
        >>> authors = pd.DataFrame({"id": ["x"], "age": [50.0]})
        >>> writes = pd.DataFrame({"source": ["x", "x"], "target": ["p", "q"]})
        >>> tables = {"paper": papers, "author": authors}
        >>> schema = learn_hetero(tables, {("author", "writes", "paper"): writes}, "topic")
        >>> schema.kind, schema.metadata[1]
        ('paper', [('author', 'writes', 'paper'), ('paper', 'rev_writes', 'author')])
    """
    first = label if isinstance(label, str) else label[0]
    holders = [kind for kind, table in nodes.items() if first in table.columns]
    if len(holders) != 1:
        there = f"the tables {', '.join(holders)} have" if holders else f"none of {', '.join(nodes)} has"
        raise ValueError(
            f"{there} the column {first!r} of --label; expected it in exactly one table, that of the "
            "labelled nodes"
        )
    for relation in edges:
        for kind in (relation[0], relation[2]):
            if kind not in nodes:
                raise ValueError(
                    f"--edges {':'.join(relation)} joins {kind!r}, which is no type of --nodes; expected two "
                    f"of {', '.join(nodes)}"
                )
    lists = ("categorical", "numeric", "date", "features")
    named = {name: options.pop(name, ()) for name in lists}
    for option, columns in {**named, "ignore": ignore}.items():
        for name in columns:
            if not any(name in table.columns for table in nodes.values()):
                option = "feature" if option == "features" else option
                raise ValueError(f"no table of nodes has the column {name!r} of --{option}; leave it out")
    task = options.pop("task", "auto")

    def learned(kind: str, own_label: Any, **more: Any) -> Schema:
        table = nodes[kind]
        own = {option: tuple(n for n in columns if n in table.columns) for option, columns in named.items()}
        left_out = tuple(name for name in ignore if name in table.columns)
        try:
            return Schema.learn(table, own_label, id, left_out, task, **own, **more)
        except ValueError as error:
            raise ValueError(f"of the {kind} nodes: {error}") from error

    kind = holders[0]
    schema = learned(kind, label, **options)
    others = tuple((name, learned(name, None)) for name in nodes if name != kind)
    return HeteroSchema(**vars(schema), kind=kind, others=others, relations=tuple(edges))


def schema_from_json(content: dict[str, Any]) -> Schema:
    """The schema that ``to_json`` wrote, of one table or of several."""
    return (HeteroSchema if content.get("kind") else Schema).from_json(content)
