"""A dataset as two tables, as one's own graph would come, or as a graph on disk."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import torch
from torch_geometric.data import Data
from torch_geometric.utils import is_undirected

from clgnn.data.columns import NumberColumn
from clgnn.data.folder import write_graph
from clgnn.data.graph import Graphs, as_list
from clgnn.data.stored import StoredGraph, stored
from clgnn.data.tables import Schema


def as_tables(data: Graphs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The nodes and the edges of a graph.

    Args:
        data: one graph.

    Returns:
        One row per node: ``id``, the features ``x0``, ``x1``, .. and ``label``, blank where it is unknown.
        One row per edge: ``source`` and ``target``; each edge once if the graph is undirected.

    Raises:
        ValueError: if it is a list of graphs.

    Example:
        >>> edge_index, y = torch.tensor([[0, 1], [1, 0]]), torch.tensor([1, -1])
        >>> nodes, edges = as_tables(Data(x=torch.ones(2, 1), edge_index=edge_index, y=y))
        >>> nodes.to_dict("list")
        {'id': [0, 1], 'x0': [1.0, 1.0], 'label': [1, None]}
        >>> edges.to_dict("list")
        {'source': [0], 'target': [1]}
    """
    data = _one(data)
    x = data.x.numpy() if data.x.layout == torch.strided else data.x.to_dense().numpy()
    values = pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])])
    label = pd.Series(data.y.numpy(), name="label", dtype="Int64").where(data.y.numpy() >= 0)
    nodes = pd.concat([pd.Series(range(len(x)), name="id"), values, label], axis=1)
    edges = data.edge_index
    if is_undirected(edges):
        edges = edges[:, edges[0] <= edges[1]]
    return nodes, pd.DataFrame(edges.T.numpy(), columns=["source", "target"])


def export_graph(data: Graphs, out: Path) -> StoredGraph:
    """Writes a dataset as the folder of a graph, with the numbers of its nodes as ids and x as it is.

    Args:
        data: one graph.
        out: a new folder.

    Raises:
        ValueError: if it is a list of graphs.
    """
    graph, edges = stored(_one(data)), _one(data).edge_index
    columns = tuple(NumberColumn(f"x{i}", 0.0, 1.0) for i in range(graph.x.shape[1]))
    classes = tuple(str(c) for c in range(int(graph.y.max()) + 1))
    write_graph(graph, Schema("id", "label", classes, columns, undirected=is_undirected(edges)), out)
    return graph


def _one(data: Graphs) -> Data:
    if not isinstance(data, Data):
        count = len(as_list(data))
        raise ValueError(f"this dataset has {count} graphs; expected one, for a table of its nodes")
    return data
