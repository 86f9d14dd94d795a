"""A part of a graph that is small enough to look at, laid out on a plane."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch_geometric.data import Data

from clgnn.graph import Graphs, as_list
from clgnn.splits import Split

MAX_NODES = 400
_MAX_EDGES = 2500
_FEWEST = 60  # nodes that a dense graph shows, however many edges they have


def view(
    data: Data,
    predictions: Mapping[str, Tensor],
    roles: Mapping[str, Tensor],
    classes: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    caption: str = "",
    max_nodes: int = MAX_NODES,
    seed: int = 0,
) -> dict[str, Any]:
    """Nodes around a test node, the edges between them, and what was predicted.

    It starts at the first test node of the largest component and goes on breadth first: nothing about the
    predictions has a say in what is shown.

    Args:
        data: one graph, with ``y``.
        predictions: classes ``[N]`` by the name of what predicted them, such as ``plain`` and ``boosted``.
        roles: bool masks ``[N]`` by name: ``train``, ``observed``, ``val``, ``test``. Others are ``other``.
        classes: their names, in order; by default ``class 0``, ..
        names: of the nodes; by default their numbers.
        caption: what is shown.
        max_nodes: how many nodes at most.
        seed: of the layout.

    Example:
        >>> import torch
        >>> line = torch.arange(9)
        >>> data = Data(edge_index=torch.stack([line, line + 1]), y=torch.arange(10) % 2, num_nodes=10)
        >>> shown = view(data, {"plain": torch.zeros(10).long()}, {"test": data.y == 1}, max_nodes=3)
        >>> [node["name"] for node in shown["nodes"]], shown["edges"], shown["nodes"][1]["role"]
        (['0', '1', '2'], [[0, 1], [1, 2]], 'test')
    """
    import networkx

    y = data.y.cpu().numpy()
    adjacency = _adjacency(data.edge_index, len(y))
    test = roles.get("test")
    nodes = _around(adjacency, None if test is None else test.cpu().numpy(), max_nodes)
    ends = sp.triu(adjacency[nodes][:, nodes], k=1).tocoo()
    edges = [[int(i), int(j)] for i, j in zip(ends.row, ends.col, strict=True)]
    drawn = networkx.Graph()
    drawn.add_nodes_from(range(len(nodes)))
    drawn.add_edges_from(edges)
    layout = networkx.spring_layout(drawn, seed=seed, iterations=150, k=1.6 / np.sqrt(max(len(nodes), 1)))
    places = _fitted(np.array([layout[i] for i in range(len(nodes))]))
    role = np.full(len(y), "other", dtype=object)
    for name, mask in roles.items():
        role[mask.cpu().numpy()] = name
    arrays = {name: classes_.cpu().numpy() for name, classes_ in predictions.items()}
    count = 1 + max([int(y.max()), *(int(values.max()) for values in arrays.values())])
    return {
        "caption": caption,
        "classes": [f"class {c}" for c in range(count)] if classes is None else list(classes),
        "shown": ["true", *predictions],
        "nodes": [
            {
                "name": str(node) if names is None else str(names[node]),
                "x": round(float(x), 4),
                "y": round(float(height), 4),
                "role": role[node],
                "true": int(y[node]),
                **{name: int(values[node]) for name, values in arrays.items()},
            }
            for node, (x, height) in zip(nodes.tolist(), places, strict=True)
        ],
        "edges": edges,
        "total": len(y),
    }


def view_split(
    data: Graphs, predictions: Mapping[str, Tensor], split: Split[Any], caption: str = ""
) -> dict[str, Any] | None:
    """The :func:`view` of a split; of many graphs, the first that is tested.

    Args:
        data: a graph or a list of graphs.
        predictions: classes of all nodes, ``[N]``, by the name of what predicted them.
        split: which nodes play which part.
        caption: what is shown.

    Returns:
        None if the predictions are not of as many nodes.
    """
    sizes = [len(graph.y) for graph in as_list(data)]
    if any(len(values) != sum(sizes) for values in predictions.values()):
        return None
    masks = {
        "train": split.train_mask,
        "observed": split.observed_mask,
        "val": split.val_mask,
        "test": split.test_mask,
    }
    if isinstance(data, Data):
        return view(data, predictions, masks, caption=caption)
    first = next(i for i, mask in enumerate(split.test_mask) if bool(mask.any()))
    parts = {name: values.split(sizes)[first] for name, values in predictions.items()}
    roles = {name: mask[first] for name, mask in masks.items()}
    return view(data[first], parts, roles, caption=f"{caption} Graph {first}, the first test graph.")


def _adjacency(edge_index: Tensor, size: int) -> sp.csr_array:
    row, col = edge_index.cpu().numpy()
    one_way = sp.coo_array((np.ones(len(row), np.int8), (row, col)), shape=(size, size))
    both = (one_way + one_way.T).tocsr()
    both.setdiag(0)
    both.eliminate_zeros()
    return both


def _around(adjacency: sp.csr_array, test: NDArray[np.bool_] | None, max_nodes: int) -> NDArray[np.int64]:
    """Breadth first from the first test node of the largest component; sorted."""
    _, component = connected_components(adjacency, directed=False)
    inside = component == np.bincount(component).argmax()
    starts = np.flatnonzero(inside & test) if test is not None else np.flatnonzero(inside)
    start = int(starts[0]) if len(starts) else int(np.flatnonzero(inside)[0])
    found, waiting, edges = {start}, deque([start]), 0
    while waiting:
        node = waiting.popleft()
        for other in adjacency.indices[adjacency.indptr[node] : adjacency.indptr[node + 1]].tolist():
            if other in found:
                continue
            if len(found) >= max_nodes or (edges > _MAX_EDGES and len(found) >= _FEWEST):
                return np.array(sorted(found))
            neighbours = adjacency.indices[adjacency.indptr[other] : adjacency.indptr[other + 1]].tolist()
            edges += len(found.intersection(neighbours))
            found.add(other)
            waiting.append(other)
    return np.array(sorted(found))


def _fitted(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """In the unit square."""
    low, high = places.min(axis=0), places.max(axis=0)
    fitted: NDArray[np.float64] = (places - low) / np.where(high > low, high - low, 1)
    return fitted
