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

from clgnn.data.assembly import merged
from clgnn.data.columns import Column
from clgnn.data.ids import Ids
from clgnn.data.reading import column
from clgnn.data.values import numbers, row_of, texts


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
    known = Ids(ids)
    ends = np.empty((2, len(edges)), np.int32)
    for end, name, option in zip(ends, (source, target), ("--source", "--target"), strict=True):
        cells = column(edges, name, "edges", option)
        known.find(lambda cells=cells: [cells], end)  # type: ignore[misc]
    weights = None if weight is None else edge_weights(column(edges, weight, "edges", "--weight"))
    types = None if kind is None else _types(column(edges, kind[0], "edges", "--edge-type"), kind[1])
    attr = _features(edges, features)
    kept = ends[0] != ends[1]
    loops = len(kept) - int(kept.sum())
    if loops:
        ends = ends[:, kept]
        weights, types, attr = (None if part is None else part[kept] for part in (weights, types, attr))
    n, kinds = len(known), 1 if types is None or not len(types) else int(types.max()) + 1
    rows = ends.shape[1]
    keys = (ends[0].astype(np.int64) * n + ends[1]) * kinds + (0 if types is None else types)
    del ends, kept
    keys, weights, attr = _merged(keys, weights, attr)
    one_way = len(keys)
    if undirected:
        pairs, rest = np.divmod(keys, kinds)
        back = (pairs % n * n + pairs // n) * kinds + rest
        both = (None if part is None else np.concatenate([part, part]) for part in (weights, attr))
        keys, weights, attr = _merged(np.concatenate([keys, back]), *both)
    edge_index = torch.empty(2, len(keys), dtype=torch.long)
    np.divmod(keys // kinds, n, out=tuple(edge_index.numpy()))
    said = (source, target, weight, *(f.name for f in features), *(() if kind is None else kind[:1]))
    return Edges(
        edge_index,
        None if weights is None else torch.from_numpy(weights.astype(np.float32)),
        loops,
        rows - one_way,
        one_way - len(keys) // 2 if undirected else 0,
        tuple(str(name) for name in edges.columns if name not in said),
        None if attr is None else torch.from_numpy(attr),
        None if types is None else torch.from_numpy(keys % kinds),
    )


def _merged(
    keys: NDArray[np.int64], weights: NDArray[np.float64] | None, attr: NDArray[np.float32] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None, NDArray[np.float32] | None]:
    """Rows of the same key as one: weights add up, features are their mean."""
    unique, added = merged(keys, weights)
    if attr is not None:
        place = torch.from_numpy(np.searchsorted(unique, keys))
        attr = scatter(torch.from_numpy(attr), place, dim_size=len(unique), reduce="mean").numpy()
    return unique, added, attr


def _features(edges: pd.DataFrame, features: Sequence[Column]) -> NDArray[np.float32] | None:
    if not features:
        return None
    named = (column(edges, f.name, "edges", "--edge-features") for f in features)
    blocks = [np.asarray(f.encode(series)) for f, series in zip(features, named, strict=True)]
    return np.concatenate(blocks, axis=1)


def _types(series: pd.Series[Any], known: tuple[str, ...]) -> NDArray[np.int64]:
    cells = texts(series)
    codes = pd.Index(known).get_indexer(pd.Index(cells))
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        came = "a blank" if pd.isna(cells.iloc[row]) else repr(cells.iloc[row])
        raise ValueError(
            f"row {row + 1} of the edges table has {came} in its type column {series.name!r}; expected one "
            f"of {', '.join(known)}"
        )
    return codes.astype(np.int64)


def edge_weights(series: pd.Series[Any]) -> NDArray[np.float64]:
    """The weights of a column ``[E]``, which must be 0 or more."""
    values = numbers(series)
    wrong = np.flatnonzero(np.isnan(values) | (values < 0))
    if len(wrong):
        raise ValueError(
            f"column {series.name!r} of the edges table has a blank or negative weight in row "
            f"{row_of(series, wrong[0])} ({len(wrong)} such rows); expected 0 or more"
        )
    return values
