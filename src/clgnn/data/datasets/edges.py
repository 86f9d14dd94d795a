"""Edges as every graph here has them: both directions, sorted, no duplicates, no self-loops."""

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch_geometric.utils import remove_self_loops, to_undirected

from clgnn.data.datasets.errors import unreadable


def undirected(ends: tuple[ArrayLike, ArrayLike], num_nodes: int, origin: object) -> Tensor:
    """``edge_index`` [2, E] of the undirected simple graph with these ends; ``origin`` is for the message."""
    pairs = np.stack([np.asarray(end) for end in ends]).astype(np.int64)
    if pairs.size and not (pairs.min() >= 0 and pairs.max() < num_nodes):
        raise unreadable(
            str(origin), f"it joins nodes {pairs.min()}..{pairs.max()}", f"nodes 0..{num_nodes - 1}"
        )
    edge_index, _ = remove_self_loops(torch.from_numpy(pairs))
    both: Tensor = to_undirected(edge_index, num_nodes=num_nodes)
    return both
