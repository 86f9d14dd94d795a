"""A part of a graph that is small enough to look at, laid out on a plane."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch_geometric.data import Data

from clgnn.data import datasets, splits
from clgnn.data.graph import Graphs, as_list, known
from clgnn.estimators.metrics import as_array
from clgnn.experiments.methods import CELL
from clgnn.report.names import method as method_name

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
    probabilities: Mapping[str, Tensor] | None = None,
    spread: Mapping[str, Tensor] | None = None,
) -> dict[str, Any]:
    """Nodes around a test node, the edges between them, and what was predicted.

    They are found breadth first from the first test node of the largest component.

    Args:
        data: one graph, with ``y``.
        predictions: classes ``[N]`` by the name of what predicted them, such as ``plain`` and ``boosted``.
        roles: bool masks ``[N]``: ``train``, ``observed``, ``val``, ``test``, ``learned``; a test node
            without a label is ``unlabelled``, all others are ``other``.
        classes, names: the names of the classes, in order, and of the nodes; by default their numbers.
        caption: says what is shown.
        max_nodes, seed: how many nodes at most, and the seed of the layout.
        probabilities, spread: of each class, ``[N, C]``, and over the label draws, ``[N]``; by those names.

    Example:
        >>> import torch
        >>> line = torch.arange(9)
        >>> data = Data(edge_index=torch.stack([line, line + 1]), y=torch.arange(10) % 2, num_nodes=10)
        >>> shown = view(data, {"plain": torch.zeros(10).long()}, {"test": data.y == 1}, max_nodes=3)
        >>> [node["name"] for node in shown["nodes"]], shown["edges"], shown["nodes"][1]["role"]
        (['0', '1', '2'], [[0, 1], [1, 2]], 'test')
    """
    y, has_label = data.y.cpu().numpy(), known(data.y).cpu().numpy()
    adjacency = _adjacency(data.edge_index, len(y))
    role = _roles(roles, has_label)
    nodes = _around(adjacency, role == "test", max_nodes)
    edges = _edges(adjacency, nodes)
    more = _certainty(predictions, probabilities or {}, spread or {})
    arrays = {name: values.cpu().numpy() for name, values in predictions.items()}
    drawn = [
        {
            "name": str(node) if names is None else str(names[node]),
            **place,
            "role": role[node],
            "true": int(y[node]) if has_label[node] else -1,
            **{name: int(values[node]) for name, values in arrays.items()},
            **{kind: {name: values[node] for name, values in by.items()} for kind, by in more.items()},
        }
        for node, place in zip(nodes.tolist(), _layout(len(nodes), edges, seed), strict=True)
    ]
    return {
        "caption": caption,
        "classes": _numbered([y, *arrays.values()]) if classes is None else list(classes),
        "shown": ["true", *predictions],
        "nodes": drawn,
        "edges": edges,
        "total": len(y),
    }


def _numbered(found: list[NDArray[Any]]) -> list[str]:
    """Names for all classes up to the last one that there is."""
    return [f"class {c}" for c in range(1 + max(int(values.max()) for values in found))]


def _roles(roles: Mapping[str, Tensor], has_label: NDArray[np.bool_]) -> NDArray[np.object_]:
    """What each node is; only a node with a label is a test node."""
    role = np.full(len(has_label), "other", dtype=object)
    for name, mask in roles.items():
        role[mask.cpu().numpy()] = name
    role[(role == "test") & ~has_label] = "unlabelled"
    return role


def _certainty(
    predictions: Mapping[str, Tensor], probabilities: Mapping[str, Tensor], spread: Mapping[str, Tensor]
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """How sure each prediction is; what nothing is known of is left out."""
    found: dict[str, dict[str, NDArray[np.float64]]] = {"p": {}, "spread": {}}
    for name, values in probabilities.items():
        found["p"][name] = as_array(values.gather(1, predictions[name][:, None]))[:, 0]
    for name, values in spread.items():
        if not bool(values.isnan().all()):
            found["spread"][name] = as_array(values)
    return {kind: by for kind, by in found.items() if by}


def view_split(
    data: Graphs,
    predictions: Mapping[str, Tensor],
    split: splits.Split[Any],
    caption: str = "",
    probabilities: Mapping[str, Tensor] | None = None,
    spread: Mapping[str, Tensor] | None = None,
) -> dict[str, Any] | None:
    """The :func:`view` of a split; of many graphs, the first that is tested.

    Args:
        data: a graph or a list of graphs.
        predictions: classes of all nodes, ``[N]``, by the name of what predicted them.
        split: which nodes play which part.
        caption: says what is shown.
        probabilities, spread: of all nodes, as for :func:`view`.

    Returns:
        None if there are not as many predictions as nodes.
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
        return view(data, predictions, masks, caption=caption, probabilities=probabilities, spread=spread)
    first = next(i for i, mask in enumerate(split.test_mask) if bool(mask.any()))
    roles = {name: mask[first] for name, mask in masks.items()}
    parts, p, differ = (
        {name: values.split(sizes)[first] for name, values in (by or {}).items()}
        for by in (predictions, probabilities, spread)
    )
    caption = f"{caption} Graph {first}, the first test graph."
    return view(as_list(data)[first], parts, roles, caption=caption, probabilities=p, spread=differ)


def view_trials(trials: pd.DataFrame) -> dict[str, Any] | None:
    """The :func:`view` of a trial that kept its predictions, plain and boosted: GCN on Cora, if it is there.

    Args:
        trials: one row per trial, from :func:`clgnn.experiments.ledger.read`.

    Returns:
        None if no trial kept both, or the files of its dataset are not here.
    """
    kept = trials.loc[[isinstance(found, bytes) for found in trials["predictions"]]]  # a failed one has none
    found = []
    for key, group in kept.groupby([*CELL[:3], "trial"]):
        made = dict(zip(group["method"], group["predictions"], strict=True))
        found += [(*key, gnn, made) for gnn in made if f"{gnn}+cl" in made and _can_draw(str(key[0]))]
    if not found:
        return None
    name, labels, percent, trial, gnn, made = min(
        found, key=lambda row: (row[0] != "cora", row[4] != "gcn", *row[1:3], row[0], *row[3:5])
    )
    data = datasets.load(name)
    split = splits.paper(name, int(labels), int(percent), int(trial), data=data)
    predictions = {
        kind: torch.from_numpy(np.frombuffer(made[method], np.uint8).astype(np.int64))
        for kind, method in (("plain", gnn), ("boosted", f"{gnn}+cl"))
    }
    caption = f"{method_name(gnn)} plain and boosted on {name}, {labels:,} labels, trial {trial}."
    return view_split(data, predictions, split, caption)


def _adjacency(edge_index: Tensor, size: int) -> sp.csr_array:
    row, col = edge_index.cpu().numpy()
    one_way = sp.coo_array((np.ones(len(row), np.int8), (row, col)), shape=(size, size))
    both = (one_way + one_way.T).tocsr()
    both.setdiag(0)
    both.eliminate_zeros()
    return both


def _edges(adjacency: sp.csr_array, nodes: NDArray[np.int64]) -> list[list[int]]:
    """The edges between some nodes, by their places among them."""
    ends = sp.triu(adjacency[nodes][:, nodes], k=1).tocoo()
    return [[int(i), int(j)] for i, j in zip(ends.row, ends.col, strict=True)]


def _around(adjacency: sp.csr_array, test: NDArray[np.bool_], max_nodes: int) -> NDArray[np.int64]:
    """The nodes that are reached first, breadth first, from the first test node of the largest component."""
    _, component = connected_components(adjacency, directed=False)
    inside = component == np.bincount(component).argmax()
    tested = inside & test
    start = int(np.flatnonzero(tested if tested.any() else inside)[0])
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


def _layout(size: int, edges: list[list[int]], seed: int) -> list[dict[str, float]]:
    """A place in the unit square for each node, such that neighbours are near each other."""
    import networkx

    drawn = networkx.Graph()
    drawn.add_nodes_from(range(size))
    drawn.add_edges_from(edges)
    layout = networkx.spring_layout(drawn, seed=seed, iterations=150, k=1.6 / np.sqrt(max(size, 1)))
    places = np.array([layout[i] for i in range(size)])
    low, high = places.min(axis=0), places.max(axis=0)
    fitted = (places - low) / np.where(high > low, high - low, 1)
    return [{"x": round(float(x), 4), "y": round(float(y), 4)} for x, y in fitted]


def _can_draw(dataset: str) -> bool:
    return dataset in splits.COLUMNS and datasets.is_here(dataset)
