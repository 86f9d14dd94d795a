"""The edges of a graph from a table with one row per edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.utils import scatter

from clgnn.data.columns import Column
from clgnn.data.reading import column
from clgnn.data.values import numbers, texts


@dataclass(frozen=True)
class Edges:
    """The edges of a graph, and what was dropped to make them.

    Attributes:
        edge_index: ``[2, E]``; an undirected edge stands there in both directions.
        edge_weight: ``[E]`` float32, or None if the table has no weights.
        self_loops: the rows that joined a node with itself; they were dropped.
        duplicates: the rows that repeated an edge of the same direction; their weights were added to it.
        both_ways: the pairs of an undirected graph that came as a-b and as b-a; their weights were added.
        unused: the columns of the table that say nothing here.
        edge_attr: the features of the edges, ``[E, d]`` float32, or None.
        edge_type: the types of the edges, ``[E]`` int64, or None.
    """

    edge_index: Tensor
    edge_weight: Tensor | None
    self_loops: int
    duplicates: int
    both_ways: int
    unused: tuple[str, ...] = ()
    edge_attr: Tensor | None = None
    edge_type: Tensor | None = None


def make_edges(
    ids: pd.Series[Any],
    edges: pd.DataFrame,
    source: str = "source",
    target: str = "target",
    weight: str | None = None,
    undirected: bool = True,
    features: Sequence[Column] = (),
    kind: tuple[str, tuple[str, ...]] | None = None,
) -> Edges:
    """The edges of a table, between nodes with these ids.

    Rows that join a node with itself are dropped. Rows that give the same edge in the same direction count
    once, and their weights add up. In an undirected graph a-b and b-a are one edge, whose weight is the sum
    of the two. Features of rows that count once are their mean. Edges of different types stay apart.

    Args:
        ids: the id of each node, ``[N]``. Where one table has ``100.0`` all over and the other ``100``, they
            are the same ids.
        edges: the table, one row per edge.
        source, target, weight: its columns; without ``weight`` the edges have none.
        undirected: whether an edge counts in both directions.
        features: the columns that are features of the edges.
        kind: the column with the types of the edges, and the types that there are.

    Raises:
        ValueError: if an id is blank, double or unknown, or a weight is blank or negative.

    Example:
        >>> links = pd.DataFrame({"source": list("abb"), "target": list("bab"), "weight": [1, 2, 5]})
        >>> made = make_edges(pd.Series(["a", "b"]), links, weight="weight")
        >>> made.edge_index.tolist(), made.edge_weight.tolist(), made.self_loops, made.both_ways
        ([[0, 1], [1, 0]], [3.0, 3.0], 1, 1)
    """
    index = _index(ids, "nodes")
    _refuse_double(index)
    ends = [
        _places(index, column(edges, name, "edges", option))
        for name, option in ((source, "--source"), (target, "--target"))
    ]
    edge_index = torch.from_numpy(np.stack(ends))
    weights = (
        None if weight is None else torch.from_numpy(_weights(column(edges, weight, "edges", "--weight")))
    )
    kept = edge_index[0] != edge_index[1]
    edge_index, weights = edge_index[:, kept], None if weights is None else weights[kept]
    attr = _features(edges, features, kept)
    types = None if kind is None else _types(column(edges, kind[0], "edges", "--edge-type"), kind[1])[kept]
    rows = edge_index.size(1)
    one_way, weights, attr, types = _merged(edge_index, weights, attr, types, len(index))
    merged = one_way
    if undirected:
        both = torch.cat([one_way, one_way.flip(0)], dim=1)
        w, a, t = (None if part is None else torch.cat([part, part]) for part in (weights, attr, types))
        merged, weights, attr, types = _merged(both, w, a, t, len(index))
    both_ways = one_way.size(1) - merged.size(1) // 2 if undirected else 0
    weights = None if weights is None else weights.float()
    said = (source, target, weight, *(f.name for f in features), *(() if kind is None else kind[:1]))
    unused = tuple(str(name) for name in edges.columns if name not in said)
    loops, double = int((~kept).sum()), rows - one_way.size(1)
    return Edges(merged, weights, loops, double, both_ways, unused, attr, types)


def joined(
    source_ids: pd.Series[Any],
    target_ids: pd.Series[Any],
    edges: pd.DataFrame,
    source: str = "source",
    target: str = "target",
    same: bool = False,
) -> Edges:
    """The edges of a table between nodes of two types; rows that give the same edge count once.

    Args:
        source_ids, target_ids: the ids of the nodes of both types.
        edges: the table, one row per edge.
        source, target: its columns.
        same: whether both types are one, so that a node could be joined with itself; such rows are dropped.

    Example:
        >>> writes = pd.DataFrame({"source": list("xx"), "target": list("pq")})
        >>> joined(pd.Series(["x"]), pd.Series(["p", "q"]), writes).edge_index.tolist()
        [[0, 0], [0, 1]]
    """
    ends = []
    for ids, name, option in ((source_ids, source, "--source"), (target_ids, target, "--target")):
        index = _index(ids, "nodes")
        _refuse_double(index)
        ends.append(_places(index, column(edges, name, "edges", option)))
    edge_index = torch.from_numpy(np.stack(ends))
    kept = edge_index[0] != edge_index[1] if same else torch.ones(edge_index.size(1), dtype=torch.bool)
    edge_index = edge_index[:, kept]
    merged, _, _, _ = _merged(edge_index, None, None, None, max(len(source_ids), len(target_ids)))
    unused = tuple(str(name) for name in edges.columns if name not in (source, target))
    return Edges(merged, None, int((~kept).sum()), edge_index.size(1) - merged.size(1), 0, unused)


def _merged(
    edge_index: Tensor, weights: Tensor | None, attr: Tensor | None, types: Tensor | None, num_nodes: int
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """Rows of the same edge, and of the same type, as one: weights add up, features are their mean."""
    kinds = 1 if types is None or not len(types) else int(types.max()) + 1
    keys = (edge_index[0] * num_nodes + edge_index[1]) * kinds + (0 if types is None else types)
    unique, place = keys.unique(return_inverse=True)
    pairs, rest = unique // kinds, unique % kinds
    if weights is not None:
        weights = scatter(weights, place, dim_size=len(unique), reduce="sum")
    if attr is not None:
        attr = scatter(attr, place, dim_size=len(unique), reduce="mean")
    merged = torch.stack([pairs // num_nodes, pairs % num_nodes])
    return merged, weights, attr, None if types is None else rest


def _features(edges: pd.DataFrame, features: Sequence[Column], kept: Tensor) -> Tensor | None:
    if not features:
        return None
    named = (column(edges, f.name, "edges", "--edge-features") for f in features)
    blocks = [np.asarray(f.encode(series)) for f, series in zip(features, named, strict=True)]
    return torch.from_numpy(np.concatenate(blocks, axis=1))[kept]


def _types(series: pd.Series[Any], known: tuple[str, ...]) -> Tensor:
    cells = texts(series)
    codes = pd.Index(known).get_indexer(pd.Index(cells))
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        came = "a blank" if pd.isna(cells.iloc[row]) else repr(cells.iloc[row])
        raise ValueError(
            f"row {row + 1} of the edges table has {came} in its type column {series.name!r}; expected one "
            f"of {', '.join(known)}"
        )
    return torch.from_numpy(codes.astype(np.int64))


def _weights(series: pd.Series[Any]) -> NDArray[np.float64]:
    values = numbers(series)
    wrong = np.flatnonzero(np.isnan(values) | (values < 0))
    if len(wrong):
        raise ValueError(
            f"column {series.name!r} of the edges table has a blank or negative weight in row {wrong[0] + 1} "
            f"({len(wrong)} such rows); expected 0 or more"
        )
    return values


def _index(series: pd.Series[Any], what: str) -> pd.Index[Any]:
    cells = texts(series)
    if cells.isna().any():
        row = int(np.flatnonzero(cells.isna())[0]) + 1
        raise ValueError(f"row {row} of the {what} table has no id in column {series.name!r}; expected one")
    index: pd.Index[Any] = pd.Index(cells)
    return index


def _refuse_double(ids: pd.Index[Any]) -> None:
    if len(ids) == 0:
        raise ValueError("the nodes table is empty; expected one row per node")
    if not ids.is_unique:
        double = ids[ids.duplicated()]
        raise ValueError(
            f"id {double[0]!r} stands in more than one row of the nodes table ({len(double)} rows too many); "
            "expected one row per node"
        )


def _places(ids: pd.Index[Any], series: pd.Series[Any]) -> NDArray[np.int64]:
    """Where the ids of a column of the edges stand in the nodes' table, ``[E]``."""
    ends = _index(series, "edges")
    places = ids.get_indexer(ends)
    if (places < 0).any() and (whole := _whole(ids)).is_unique:  # 100.0 in one table, 100 in the other
        others = whole.get_indexer(_whole(ends))
        places = others if (others >= 0).all() else places
    unknown = np.flatnonzero(places < 0)
    if len(unknown):
        end = ends[unknown[0]]
        other = end.removesuffix(".0") if end.endswith(".0") else f"{end}.0"
        remedy = "add the node, or drop the edge"
        if other in ids:
            remedy = f"there is {other!r}: write ids alike in both tables"
        raise ValueError(
            f"row {unknown[0] + 1} of the edges table has {series.name} {end!r}, which is no id of the nodes "
            f"table ({len(unknown)} such rows); {remedy}"
        )
    return places.astype(np.int64)


def id_texts(series: pd.Series[Any]) -> list[str]:
    """The ids of a column as texts, written alike: ``100.0`` all over is ``100``.

    Example:
        >>> id_texts(pd.Series(["100.0", "7.0"], name="id"))
        ['100', '7']
    """
    return [str(one) for one in _whole(_index(series, "nodes"))]


def _whole(ids: pd.Index[Any]) -> pd.Index[Any]:
    """Ids without their .0, if all of them have it."""
    return ids.str.replace(r"\.0+$", "", regex=True) if ids.str.fullmatch(r"-?\d+\.0+").all() else ids
