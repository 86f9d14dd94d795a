"""Two tables, nodes and edges, as a graph; and what must be remembered to read the next ones alike.

Node ids may be of any kind. Numeric columns are scaled, text columns one-hot, a blank is the mean or no
category at all; a blank label is unknown. Edges are ``source``, ``target`` and optionally ``weight``.
"""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, remove_self_loops, to_undirected

MAX_CATEGORIES = 1000
MAX_CLASSES = 100

Task = Literal["auto", "classification", "regression"]


def read_table(path: str | PathLike[str], text: tuple[str, ...] = ()) -> pd.DataFrame:
    """A CSV (``.csv``, ``.tsv``, also compressed) or Parquet file.

    Args:
        path: the file.
        text: columns to be read as text, such as ids: 007 is not 7.
    """
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"{file} is not there; expected a CSV or Parquet file")
    suffixes = [suffix.lower() for suffix in file.suffixes]
    try:
        if suffixes[-1:] in ([".parquet"], [".pq"]):
            return pd.read_parquet(file)
        if ".csv" in suffixes or ".tsv" in suffixes:
            separator = "\t" if ".tsv" in suffixes else ","
            return pd.read_csv(file, sep=separator, dtype=dict.fromkeys(text, "str"), skipinitialspace=True)
    except (ValueError, OSError) as error:
        raise ValueError(f"{file} could not be read ({_one_line(error)})") from error
    raise ValueError(f"{file} ends in {file.suffix or 'nothing'}; expected .csv, .tsv, .parquet or .pq")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def column(table: pd.DataFrame, name: str, what: str, option: str) -> pd.Series[Any]:
    """A column of a table, or an error that says which there are."""
    if name not in table.columns:
        names = [str(name) for name in table.columns]
        close = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1)
        near = [n for n in names if n.lower() in close]
        there = (
            f"did you mean {near[0]!r}?" if near else ", ".join(names[:10]) + (", .." if names[10:] else "")
        )
        raise ValueError(f"the {what} table has no column {name!r} ({there}); name one with {option}")
    return table[name]


def _ids(series: pd.Series[Any], what: str) -> pd.Index[Any]:
    """Ids as text; whole numbers alike, whether a file holds them as integers or as floats."""
    if series.isna().any():
        row = int(np.flatnonzero(series.isna())[0]) + 1
        raise ValueError(f"row {row} of the {what} table has no id in column {series.name!r}; expected one")
    if pd.api.types.is_float_dtype(series) and (series == series.round()).all():
        series = series.astype("int64")
    return pd.Index(series.astype(str).str.strip())


@dataclass(frozen=True)
class Numeric:
    """A column of numbers: (value - mean) / std, a blank is the mean."""

    name: str
    mean: float
    std: float

    def encode(self, series: pd.Series[Any]) -> NDArray[np.float64]:
        values = _numbers(series)
        return np.nan_to_num((values - self.mean) / self.std, nan=0.0)[:, None]


@dataclass(frozen=True)
class Categorical:
    """A column of texts: one column for each that was there in training; others, and blanks, are zeros."""

    name: str
    categories: tuple[str, ...]

    def encode(self, series: pd.Series[Any]) -> NDArray[np.float64]:
        codes = pd.Index(self.categories).get_indexer(pd.Index(_texts(series)))
        encoded: NDArray[np.float64] = (codes[:, None] == np.arange(len(self.categories))).astype(np.float64)
        return encoded


def _numbers(series: pd.Series[Any]) -> NDArray[np.float64]:
    try:
        values = pd.to_numeric(series).to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"column {series.name!r} was numeric in training, and is not now ({error})"
        ) from error
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0]) + 1
        raise ValueError(f"column {series.name!r} is infinite in row {row}; expected numbers, or a blank")
    return values


def _texts(series: pd.Series[Any]) -> pd.Series[Any]:
    """Texts without the space around them; a blank is missing."""
    stripped = series.astype("str").str.strip() if series.notna().any() else series.astype("str")
    return stripped.where(series.notna() & (stripped != ""))


def _is_numeric(series: pd.Series[Any]) -> bool:
    return pd.api.types.is_numeric_dtype(series) or bool(series.isna().all())


def _learn_feature(series: pd.Series[Any]) -> Numeric | Categorical:
    name = str(series.name)
    if _is_numeric(series):
        values = _numbers(series)
        values = values[~np.isnan(values)]
        std = float(values.std()) if len(values) else 0.0
        return Numeric(name, float(values.mean()) if len(values) else 0.0, std if std > 0 else 1.0)
    if not (
        pd.api.types.is_string_dtype(series)
        or isinstance(series.dtype, pd.CategoricalDtype)
        or series.dtype == object
    ):
        raise ValueError(
            f"column {name!r} is of type {series.dtype}; expected numbers or text: convert it, or leave "
            f"it out with --ignore {name}"
        )
    categories = sorted(_texts(series).dropna().unique())
    if len(categories) > MAX_CATEGORIES:
        raise ValueError(
            f"column {name!r} has {len(categories)} different texts; expected at most {MAX_CATEGORIES} "
            f"categories: leave it out with --ignore {name}"
        )
    return Categorical(name, tuple(categories))


@dataclass(frozen=True)
class Schema:
    """How tables become a graph; learned in training, kept with the model.

    Attributes:
        id: the nodes' id column.
        label: the label column.
        classes: the class names in the order of their numbers; None for regression.
        features: the feature columns.
        undirected: whether edges count in both directions.
        source, target, weight: the edges' columns; weight is None if the edges have none.
    """

    id: str
    label: str
    classes: tuple[str, ...] | None
    features: tuple[Numeric | Categorical, ...]
    undirected: bool = True
    source: str = "source"
    target: str = "target"
    weight: str | None = None

    @classmethod
    def learn(
        cls,
        nodes: pd.DataFrame,
        label: str,
        id: str = "id",
        ignore: tuple[str, ...] = (),
        task: Task = "auto",
        **edges: Any,
    ) -> Self:
        """From the nodes' table; ``edges`` are the fields about edges."""
        column(nodes, id, "nodes", "--id")
        labels = column(nodes, label, "nodes", "--label")
        for name in ignore:
            column(nodes, name, "nodes", "--ignore")
        if len(nodes) == 0:
            raise ValueError("the nodes table is empty; expected one row a node")
        names = [name for name in nodes.columns if name not in {id, label, *ignore}]
        features = tuple(_learn_feature(nodes[name]) for name in names)
        return cls(id, label, _learn_classes(labels, task), features, **edges)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        features = tuple(
            Categorical(f["name"], tuple(f["categories"])) if "categories" in f else Numeric(**f)
            for f in content["features"]
        )
        classes = None if content["classes"] is None else tuple(content["classes"])
        return cls(**{**content, "features": features, "classes": classes})

    def graph(self, nodes: pd.DataFrame, edges: pd.DataFrame, label: str | None = None) -> Data:
        """The graph of two tables.

        Args:
            nodes, edges: the tables.
            label: the column with the labels; without it all are unknown.

        Returns:
            A ``Data`` with ``x``, ``edge_index``, ``edge_weight`` if the edges have weights, and ``y``.
        """
        ids = _ids(column(nodes, self.id, "nodes", "--id"), "nodes")
        if len(ids) == 0:
            raise ValueError("the nodes table is empty; expected one row a node")
        if not ids.is_unique:
            double = ids[ids.duplicated()]
            raise ValueError(
                f"id {double[0]!r} stands in more than one row of the nodes table ({len(double)} rows "
                "too many); expected one row a node"
            )
        missing = [f.name for f in self.features if f.name not in nodes.columns]
        if missing:
            raise ValueError(
                f"the nodes table has no column {', '.join(map(repr, missing))}, which the model was "
                f"fitted with; expected {len(self.features)} feature columns"
            )
        blocks = [feature.encode(nodes[feature.name]) for feature in self.features]
        x = np.concatenate(blocks, axis=1) if blocks else np.ones((len(nodes), 1))
        y = self.labels(nodes, label) if label is not None else self._unknown(len(nodes))
        data = Data(x=torch.from_numpy(x).float(), y=y)
        data.edge_index, weight = self._edges(edges, ids)
        if weight is not None:
            data.edge_weight = weight
        return data

    def labels(self, nodes: pd.DataFrame, label: str) -> Tensor:
        """The labels of a column, ``[N]``: class numbers or reals; -1 or NaN for a blank."""
        series = column(nodes, label, "nodes", "--label")
        if self.classes is None:
            if not _is_numeric(series):
                raise ValueError(f"the label column {label!r} is not numeric, as it was in training")
            return torch.from_numpy(_numbers(series))
        texts = _class_texts(series)
        codes = pd.Index(self.classes).get_indexer(pd.Index(texts))
        unseen = texts.notna().to_numpy() & (codes < 0)
        if unseen.any():
            raise ValueError(
                f"the label column {label!r} has class {texts[unseen].iloc[0]!r}, unseen in training; "
                f"expected one of {', '.join(self.classes)}, or a blank for unknown"
            )
        return torch.from_numpy(codes.astype(np.int64))

    def _unknown(self, count: int) -> Tensor:
        return torch.full((count,), -1) if self.classes is not None else torch.full((count,), torch.nan)

    def _edges(self, edges: pd.DataFrame, ids: pd.Index[Any]) -> tuple[Tensor, Tensor | None]:
        ends = []
        for name, option in ((self.source, "--source"), (self.target, "--target")):
            texts = _ids(column(edges, name, "edges", option), "edges")
            index = ids.get_indexer(pd.Index(texts))
            unknown = np.flatnonzero(index < 0)
            if len(unknown):
                raise ValueError(
                    f"row {unknown[0] + 1} of the edges table has {name} {texts[unknown[0]]!r}, which is no "
                    f"id of the nodes table ({len(unknown)} such rows); add the node, or drop the edge"
                )
            ends.append(index)
        edge_index = torch.from_numpy(np.stack(ends).astype(np.int64))
        weight = None
        if self.weight is not None:
            values = _numbers(column(edges, self.weight, "edges", "--weight"))
            if np.isnan(values).any() or (values < 0).any():
                raise ValueError(
                    f"column {self.weight!r} of the edges has blanks or negative weights; expected 0 or more"
                )
            weight = torch.from_numpy(values).float()
        edge_index, weight = remove_self_loops(edge_index, weight)
        if self.undirected:
            edge_index, weight = to_undirected(edge_index, weight, len(ids), reduce="mean")
        else:
            edge_index, weight = coalesce(edge_index, weight, len(ids), reduce="mean")
        return edge_index, weight


def _class_texts(series: pd.Series[Any]) -> pd.Series[Any]:
    """Classes as text, whole numbers alike as integers and as floats (a column with blanks has floats)."""
    if pd.api.types.is_float_dtype(series) and bool((series.dropna() % 1 == 0).all()):
        series = series.astype("Int64")
    return _texts(series)


def _learn_classes(series: pd.Series[Any], task: Task) -> tuple[str, ...] | None:
    """The classes of a label column; None for regression."""
    numeric = _is_numeric(series) and not pd.api.types.is_bool_dtype(series)
    if series.isna().all():
        raise ValueError(f"no node has a label in column {series.name!r}; expected some")
    if task == "regression" and not numeric:
        raise ValueError(f"the label column {series.name!r} is not numeric; regression needs numbers")
    if task == "regression" or (task == "auto" and numeric and bool((series.dropna() % 1 != 0).any())):
        return None
    texts = _class_texts(series).dropna().unique()
    if task == "auto" and len(texts) > MAX_CLASSES:
        raise ValueError(
            f"the label column {series.name!r} has {len(texts)} different values; say --task classification "
            "or --task regression"
        )
    if numeric:
        return tuple(sorted(texts, key=float))
    return tuple(sorted(texts))
