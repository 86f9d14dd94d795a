"""How tables are read, in words: what `clgnn fit` prints before it trains, and what a model keeps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_geometric.data import Data

from clgnn.data.graph import known
from clgnn.data.links import Edges

if TYPE_CHECKING:
    from clgnn.data.tables import Schema

SHOWN = 20
"""So many columns are shown before training; of the others only how many there are of each kind."""


def columns_text(schema: Schema, shown: int | None = None) -> str:
    """Every column of the nodes' table, how it is read, and a detail, one line each.

    Args:
        schema: how the tables are read.
        shown: so many columns at most; of the others only how many there are of each kind.

    Example:
        >>> from clgnn.data.columns import NumberColumn
        >>> from clgnn.data.tables import Schema
        >>> print(columns_text(Schema("id", "topic", ("art", "math"), (NumberColumn("age", 30.0, 10.0),))))
        column  read as
        id      ignored  id
        topic   ignored  label, 2 classes: art, math
        age     number   mean 30, std 10
    """
    described = schema.describe()
    rows = [("column", "read as", ""), *described[:shown]]
    if rest := described[len(rows) - 1 :]:
        kinds = Counter(how for _, how, _ in rest)
        rows.append((f"{len(rest):,} more", ", ".join(f"{n:,} {how}" for how, n in kinds.items()), ""))
    name, how = (max(len(row[i]) for row in rows) for i in (0, 1))
    return "\n".join(f"{a:<{name}}  {b:<{how}}  {c}".rstrip() for a, b, c in rows)


def edges_text(schema: Schema, unused: tuple[str, ...] = ()) -> str:
    """Which columns of the edges' table are read, in one sentence, and which are not used.

    Example:
        >>> from clgnn.data.tables import Schema
        >>> edges_text(Schema("id", "topic", None, (), weight="strength"))
        "Edges go from 'source' to 'target' and count in both directions; their weights are 'strength'."
    """
    ways = "count in both directions" if schema.undirected else "count in this direction alone"
    weights = "they have no weights" if schema.weight is None else f"their weights are {schema.weight!r}"
    if schema.edge_features:
        weights += f", their features {', '.join(repr(feature.name) for feature in schema.edge_features)}"
    if schema.edge_type is not None:
        weights += f", their types {schema.edge_type!r} ({', '.join(schema.edge_types)})"
    rest = f"; not used: {', '.join(unused[:10])}{', ..' * (len(unused) > 10)}" if unused else ""
    return f"Edges go from {schema.source!r} to {schema.target!r} and {ways}; {weights}{rest}."


def schema_text(schema: Schema, counts: Counts) -> str:
    """All of it, as the ``schema.txt`` of a model has it."""
    parts = (
        columns_text(schema),
        edges_text(schema, counts.unused),
        f"In training: {counts_text(schema, counts)}",
    )
    heading = "How the tables of this model are read. This file is for people; clgnn reads model.json."
    return "\n\n".join((heading, *parts)) + "\n"


@dataclass(frozen=True)
class Counts:
    """How large a graph from tables is, and what was dropped to make it.

    Attributes:
        nodes, features, labels: the rows and columns of x, and how many labels are known.
        edges: each direction counts for itself.
        dropped: what was dropped or added up to make the edges, and how much of it there was.
        unused: the columns of the edges' table that say nothing here.
    """

    nodes: int
    edges: int
    features: int
    labels: int
    dropped: dict[str, int]
    unused: tuple[str, ...] = ()


def counted(data: Data, links: Edges) -> Counts:
    """The counts of a graph in memory."""
    said = dropped(links.self_loops, links.duplicates, links.both_ways)
    labels = int(known(data.y).sum())
    return Counts(data.num_nodes, data.edge_index.size(1), data.x.size(1), labels, said, links.unused)


def dropped(self_loops: int, duplicates: int, both_ways: int) -> dict[str, int]:
    """What was dropped or added up to make the edges, in words, and how much of it there was.

    Example:
        >>> dropped(3, 0, 1)
        {'self-loops dropped': 3, 'pairs given in both directions': 1}
    """
    counts = {
        "self-loops dropped": self_loops,
        "duplicate rows added up": duplicates,
        "pairs given in both directions": both_ways,
    }
    return {what: number for what, number in counts.items() if number}


def counts_text(schema: Schema, counts: Counts, labels: tuple[int, int] | None = None) -> str:
    """How large the graph is, and what was dropped to make it.

    Args:
        schema, counts: how the tables are read, and what became of them.
        labels: how many labels are learned from, and how many choose the epoch; by default it says how many
            are known.
    """
    count = counts.edges // (2 if schema.undirected else 1)
    kind = "undirected" if schema.undirected else "directed"
    told = ", ".join(f"{number:,} {what}" for what, number in counts.dropped.items())
    parts = f"; {counts.labels:,} known labels" if schema.label else ""
    if labels is not None:
        parts = f"; {labels[0]:,} labels to learn from, {labels[1]:,} to choose epoch and iteration"
    return (
        f"{counts.nodes:,} nodes, {count:,} {kind} edges{f' ({told})' if told else ''}, "
        f"{counts.features:,} feature columns{parts}."
    )
