"""Two tables, nodes and edges, as a graph; and what must be remembered to read the next ones alike.

The nodes' table has one row per node: an id of any kind, a label that may be blank, and features. Numbers
and dates are scaled, texts are one-hot, lists are embeddings (see :mod:`clgnn.data.columns`). The edges'
table has one row per edge: ``source``, ``target`` and, if wanted, ``weight``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from clgnn.data.columns import Column, TextColumn, column_from_json, column_to_json, learn_column
from clgnn.data.label_column import Task, learn_classes, listed, refuse_leak, zeros_and_ones
from clgnn.data.links import Edges, make_edges
from clgnn.data.reading import Columns, column, read_table, require
from clgnn.data.sparse import torch_csr
from clgnn.data.typed import checked
from clgnn.data.values import Kind, numbers, quoted, texts

__all__ = ["Edges", "Schema", "Task", "column", "read_table"]

DENSE_CATEGORIES = 64  # with more one-hot columns in all, x is sparse
_KINDS: dict[str, Kind] = {"--categorical": "text", "--numeric": "number", "--date": "date"}

_COLUMNS = ("features", "edge_features")


@dataclass(frozen=True)
class Schema:
    """How tables become a graph; learned in training, kept with the model.

    Attributes:
        id: the nodes' id column.
        label: the label column; empty if none was named.
        classes: the class names in the order of their numbers; None for regression.
        features: the feature columns.
        undirected: whether edges count in both directions.
        source, target, weight: the edges' columns; weight is None if the edges have none.
        ignored: the columns of the nodes' table that are no features because the user said so.
        blank: the texts that stand for a blank, for :func:`read_table`.
        edge_features: the columns of the edges' table that are features of the edges.
        edge_type: the column with the types of the edges, or None; ``edge_types`` are those that there are.
        several: the label columns, if there are several, each of 0 and 1; ``label`` is empty then.
    """

    id: str
    label: str
    classes: tuple[str, ...] | None
    features: tuple[Column, ...]
    undirected: bool = True
    source: str = "source"
    target: str = "target"
    weight: str | None = None
    ignored: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    edge_features: tuple[Column, ...] = ()
    edge_type: str | None = None
    edge_types: tuple[str, ...] = ()
    several: tuple[str, ...] = ()

    @classmethod
    def learn(
        cls,
        nodes: Columns,
        label: str | tuple[str, ...] | None,
        id: str = "id",
        ignore: tuple[str, ...] = (),
        task: Task = "auto",
        *,
        categorical: tuple[str, ...] = (),
        numeric: tuple[str, ...] = (),
        date: tuple[str, ...] = (),
        features: tuple[str, ...] = (),
        **edges: Any,
    ) -> Self:
        """The schema of a table of nodes. What could be misread is refused, unless it is declared.

        Args:
            nodes: the table, one row per node; its columns are taken one after another.
            label, id: its columns with the labels and the ids; without a label all others are features. Of
                several labels each is 0 or 1, or a blank.
            ignore: the columns that are no features.
            task: ``"auto"`` takes labels with fractions as numbers to predict, and all others as classes.
            categorical, numeric, date: the columns that are categories, numbers or ISO dates, whatever
                they look like.
            features: the columns that are features although they have the same values as the label.
            **edges: the fields about edges, and ``blank``.

        Raises:
            ValueError: if a column is not there or could be misread, or the labels can't be learned.

        Example:
            >>> nodes = pd.DataFrame({"id": ["a", "b"], "age": [20, 40], "label": ["yes", "no"]})
            >>> schema = Schema.learn(nodes, "label")
            >>> schema.classes, schema.describe()[-1]
            (('no', 'yes'), ('age', 'number', 'mean 30, std 10'))
        """
        require(nodes, id, "nodes", "--id")
        several = label if isinstance(label, tuple) else ()
        labelled = several or (() if label is None else (str(label),))
        labels = [column(nodes, name, "nodes", "--label") for name in labelled]
        for name in ignore:
            require(nodes, name, "nodes", "--ignore")
        if len(nodes) == 0:
            raise ValueError("the nodes table is empty; expected one row per node")
        if id in labelled:
            raise ValueError(f"--label {id} is the id of the nodes too; name another column with the labels")
        for series in labels if several else ():
            zeros_and_ones(series)
        classes = None if several or not labels else learn_classes(labels[0], task)
        used = [name for name in nodes.columns if name not in (id, *labelled, *ignore)]
        declared = {"--categorical": categorical, "--numeric": numeric, "--date": date}
        for option, names in {**declared, "--feature": features}.items():
            _check_features(nodes, used, names, option)
        kinds = _declared(declared)
        known = [texts(series) for series in labels]
        learned = []
        for name in used:  # one at a time, since the table may lie on disk
            series = nodes[name]
            for cells in known if name not in features else ():
                refuse_leak(series, cells)
            learned.append(learn_column(series, kinds.get(name)))
        single = "" if several or label is None else str(label)
        left_out = tuple(dict.fromkeys(ignore))
        return cls(id, single, classes, tuple(learned), ignored=left_out, several=several, **edges)

    @property
    def text(self) -> tuple[str, ...]:
        """The columns of the nodes' table that :func:`read_table` must read as text."""
        return (self.id, *(feature.name for feature in self.features if isinstance(feature, TextColumn)))

    @property
    def what(self) -> str:
        """What the labels are where they are no classes, for messages."""
        return "there are several labels" if self.several else f"{self.label!r} holds numbers"

    def describe(self) -> list[tuple[str, str, str]]:
        """Every column of the nodes' table, how it is read, and a detail: to be shown before training.

        A column is read as a ``number``, ``category``, ``date`` or ``embedding``, or it is ``ignored``.
        """
        what = "label, a number" if self.classes is None else f"label, {len(self.classes)} classes: "
        rows = [(self.id, "ignored", "id")]
        if self.label:
            rows.append((self.label, "ignored", what + listed(self.classes or ())))
        rows += [(name, "ignored", "label, 0 or 1") for name in self.several]
        rows += [(name, "ignored", "asked for") for name in self.ignored]
        return rows + [
            (f.name, "category" if f.kind == "text" else f.kind, f.describe()) for f in self.features
        ]

    def to_json(self) -> dict[str, Any]:
        """The schema as plain values."""
        columns = {name: [column_to_json(one) for one in getattr(self, name)] for name in _COLUMNS}
        return {**asdict(self), **columns}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """The schema that :meth:`to_json` wrote."""
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
        for name in _COLUMNS:
            fields[name] = tuple(column_from_json(one) for one in content.get(name, ()))
        return checked(cls(**fields))

    def graph(
        self,
        nodes: pd.DataFrame,
        edges: pd.DataFrame | Edges,
        label: str | tuple[str, ...] | None = None,
    ) -> Data:
        """The graph of two tables.

        Args:
            nodes: the table of nodes.
            edges: the table of edges, or what :meth:`edges` made of it.
            label: the column with the labels, or the several of them; without it all are unknown.

        Returns:
            A ``Data`` with ``x`` ``[N, p]`` float32, sparse CSR if there are more than 64 one-hot columns;
            ``edge_index`` ``[2, E]``; ``edge_weight`` ``[E]``, ``edge_attr`` ``[E, d]`` and ``edge_type``
            ``[E]`` if the edges have them; and ``y``, ``[N]`` or ``[N, L]``.

        Example:
            >>> nodes = pd.DataFrame({"id": ["a", "b"], "job": ["cook", None], "label": ["yes", "no"]})
            >>> links = pd.DataFrame({"source": ["a"], "target": ["b"]})
            >>> data = Schema.learn(nodes, "label").graph(nodes, links, "label")
            >>> data.x.tolist(), data.edge_index.tolist(), data.y.tolist()
            ([[1.0], [0.0]], [[0, 1], [1, 0]], [1, 0])
        """
        made = edges if isinstance(edges, Edges) else self.edges(nodes, edges)
        self.check_features(nodes)
        y = self.labels(nodes, label) if label is not None else self.unknown(len(nodes))
        data = Data(x=self.x(nodes), edge_index=made.edge_index, y=y)
        for name in ("edge_weight", "edge_attr", "edge_type"):
            if (value := getattr(made, name)) is not None:
                data[name] = value
        return data

    def check_features(self, nodes: Columns) -> None:
        """Refuses a table that lacks a feature."""
        missing = [f.name for f in self.features if f.name not in nodes.columns]
        if missing:
            raise ValueError(
                f"the nodes table has no column {', '.join(map(repr, missing))}, which the model was "
                f"fitted with; expected {len(self.features)} feature columns"
            )

    def labels(self, nodes: Columns, label: str | tuple[str, ...]) -> Tensor:
        """The labels of a column, ``[N]``: class numbers or reals; -1 or NaN for a blank.

        Of several labels ``[N, L]`` of 0 and 1.
        """
        if self.several or isinstance(label, tuple):
            given = label if isinstance(label, tuple) else (label,)
            if len(given) != max(1, len(self.several)):
                raise ValueError(
                    f"{len(given)} columns are named with --label, and the model was fitted with "
                    f"{max(1, len(self.several))}; name as many, in the same order"
                )
            found = [zeros_and_ones(column(nodes, name, "nodes", "--label")) for name in given]
            return torch.from_numpy(np.stack(found, axis=1))
        series = column(nodes, label, "nodes", "--label")
        if self.classes is None:
            return torch.from_numpy(numbers(series))
        cells = texts(series)
        codes = pd.Index(self.classes).get_indexer(pd.Index(cells))
        unseen = cells.notna().to_numpy() & (codes < 0)
        if unseen.any():
            raise ValueError(
                f"the label column {label!r} has class {cells[unseen].iloc[0]!r}, unseen in training; "
                f"expected one of {listed(self.classes)}, or a blank for unknown: say --blank "
                f"{quoted(cells[unseen].iloc[0])} to leave it out"
            )
        return torch.from_numpy(codes.astype(np.int64))

    def edges(self, nodes: pd.DataFrame, edges: pd.DataFrame) -> Edges:
        """The edges between the nodes of a table, and what was dropped to make them.

        See :func:`clgnn.data.links.make_edges`.
        """
        ids = column(nodes, self.id, "nodes", "--id")
        kind = None if self.edge_type is None else (self.edge_type, self.edge_types)
        columns = (self.source, self.target, self.weight)
        return make_edges(ids, edges, *columns, self.undirected, self.edge_features, kind)

    @property
    def one_hot(self) -> int:
        """How many columns of x are one-hot."""
        return sum(len(f.categories) for f in self.features if isinstance(f, TextColumn))

    def x(self, nodes: pd.DataFrame, dense: bool = False) -> Tensor:
        """The features of a table or of some of its rows, ``[N, p]`` float32; one constant if there are none.

        Args:
            nodes: the rows.
            dense: even if there are more than 64 one-hot columns, with which x is sparse CSR.
        """
        if not self.features:
            return torch.ones(len(nodes), 1)
        blocks = (feature.encode(nodes[feature.name]) for feature in self.features)
        if self.one_hot > DENSE_CATEGORIES and not dense:
            return torch_csr(sp.hstack([sp.csr_array(block) for block in blocks], format="csr"))
        x = np.empty((len(nodes), sum(feature.width for feature in self.features)), np.float32)
        end = 0
        for block in blocks:
            begin, end = end, end + block.shape[1]
            x[:, begin:end] = block.toarray() if sp.issparse(block) else block
        return torch.from_numpy(x)

    def unknown(self, count: int) -> Tensor:
        if self.several:
            return torch.full((count, len(self.several)), torch.nan)
        return torch.full((count,), -1) if self.classes is not None else torch.full((count,), torch.nan)


def _check_features(nodes: Columns, used: list[str], names: tuple[str, ...], option: str) -> None:
    for name in names:
        require(nodes, name, "nodes", option)
        if name not in used:
            raise ValueError(
                f"{option} {quoted(name)} is no feature: it is the id, the label or ignored; leave it out"
            )


def _declared(options: dict[str, tuple[str, ...]]) -> dict[str, Kind]:
    """The kinds of the columns that the user declared; each must be declared once."""
    declared: dict[str, Kind] = {}
    for option, names in options.items():
        for name in names:
            if name in declared:
                raise ValueError(f"column {name!r} is declared twice; expected one kind: drop {option}")
            declared[name] = _KINDS[option]
    return declared
