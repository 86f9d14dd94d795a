"""Connected patches: random sets of nodes whose induced subgraph is connected."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from torch import Tensor

_DRAWS = 1000  # of the first patch, before giving up


def two_patches(
    edge_index: Tensor,
    y: NDArray[np.int64],
    train_labels: int,
    observed_labels: int,
    min_per_class: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two connected sets of labelled nodes that do not overlap: V_L(tr) and V_L(te).

    Args:
        edge_index: ``[2, E]``.
        y: the classes ``[N]``, -1 for unknown.
        train_labels: the size of the first set.
        observed_labels: the size of the second set, which may be 0.
        min_per_class: how many nodes of every class the first set has.
        rng: draws the first node of each set, and each that joins.

    Returns:
        The nodes of each set, in the order in which they joined it.

    Raises:
        ValueError: if no component is large enough, or none of 1000 draws is as asked.

    Example:
        >>> import torch
        >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
        >>> one, two = two_patches(path, np.array([0, 1, 0, 1]), 2, 2, 1, np.random.default_rng(0))
        >>> sorted([sorted(one.tolist()), sorted(two.tolist())])
        [[0, 1], [2, 3]]
    """
    labelled = y >= 0
    adjacency = _adjacency(edge_index, labelled)
    starts = _starts(adjacency, labelled, train_labels)
    if not len(starts):
        raise ValueError(
            f"train_labels is {train_labels}; no connected component has so many labels: lower it"
        )
    classes = np.unique(y[labelled])
    complete = 0  # draws with every class
    for _ in range(_DRAWS):
        train = _grow(adjacency, labelled, starts, train_labels, rng)
        if (np.bincount(y[train], minlength=classes[-1] + 1)[classes] < min_per_class).any():
            continue
        complete += 1
        rest = labelled.copy()
        rest[train] = False
        again = _starts(adjacency, rest, observed_labels)
        if len(again) or not observed_labels:
            return train, _grow(adjacency, rest, again, observed_labels, rng)
    if complete:
        raise ValueError(
            f"none of {complete} training sets left a connected component of {observed_labels} labels for "
            "V_L(te): lower observed_labels"
        )
    raise ValueError(
        f"none of {_DRAWS} connected sets of {train_labels} nodes had {min_per_class} of each of the "
        f"{len(classes)} classes: raise train_labels, or pass min_per_class=0"
    )


def _adjacency(edge_index: Tensor, allowed: NDArray[np.bool_]) -> sp.csr_array:
    """The adjacency ``[N, N]`` of the subgraph that the allowed nodes induce, in both directions."""
    row, col = edge_index.cpu().numpy()
    inside = allowed[row] & allowed[col]
    one_way = sp.coo_array(
        (np.ones(inside.sum(), np.int32), (row[inside], col[inside])), shape=(len(allowed), len(allowed))
    )
    return (one_way + one_way.T).tocsr()


def _starts(adjacency: sp.csr_array, allowed: NDArray[np.bool_], size: int) -> NDArray[np.int64]:
    """The allowed nodes from which a set of that size can grow."""
    nodes = np.flatnonzero(allowed)
    _, component = connected_components(adjacency[nodes][:, nodes], directed=False)
    return nodes[np.bincount(component)[component] >= size]


def _grow(
    adjacency: sp.csr_array,
    allowed: NDArray[np.bool_],
    starts: NDArray[np.int64],
    size: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """A random connected set of ``size`` allowed nodes that holds one of the starts, as they joined it."""
    grown: list[int] = []
    frontier = [int(rng.choice(starts))] if size else []
    reached = set(frontier)
    while len(grown) < size:
        chosen = rng.integers(len(frontier))
        frontier[chosen], frontier[-1] = frontier[-1], frontier[chosen]
        grown.append(frontier.pop())
        near = adjacency.indices[adjacency.indptr[grown[-1]] : adjacency.indptr[grown[-1] + 1]]
        new = [node for node in near[allowed[near]].tolist() if node not in reached]
        reached.update(new)
        frontier.extend(new)
    return np.array(grown, np.int64)
