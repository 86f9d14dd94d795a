"""How many samples run together: as many as a memory budget allows, the others in further chunks."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

SMALL = 4096
"""Bytes per row (a node of a sample) that are enough for most GNNs; with less, a GNN is measured first."""


def chunk_size(
    num_rows: int, num_samples: int, budget: float | None, bytes_per_row: Callable[[], float]
) -> int:
    """How many samples run together.

    It depends on the budget, the graph and the GNN alone, never on the memory that happens to be free: the
    same seed gives the same result on a busy machine.

    Args:
        num_rows: N, the nodes.
        num_samples: K.
        budget: in bytes; None for no limit.
        bytes_per_row: measures what a node of a sample keeps for the backward pass.

    Example:
        >>> chunk_size(1000, 10, None, lambda: 100.0)
        10
        >>> chunk_size(1000, 10, 300_000, lambda: 100.0)
        3
    """
    if budget is None or num_samples == 1 or num_rows * num_samples * SMALL <= budget:
        return num_samples
    fitting = budget / max(bytes_per_row() * num_rows, 1.0)
    return num_samples if fitting >= num_samples else max(1, int(fitting))


def bytes_per_sample(run: Callable[[Tensor], Tensor], labels: Tensor) -> float:
    """What one more sample keeps for the backward pass: what two keep, less what one keeps.

    Args:
        run: the GNN, of labels ``[N, k, C]``. It is called twice; a caller whose GNN has running statistics
            gives a copy of it.
        labels: of two samples at least, ``[N, K, C]``.
    """
    return float(_kept(run, labels[:, :2].clone()) - _kept(run, labels[:, :1].clone()))


def _kept(run: Callable[[Tensor], Tensor], labels: Tensor) -> int:
    sizes: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        if tensor.layout == torch.strided:
            storage = tensor.untyped_storage()
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.enable_grad(), torch.random.fork_rng():
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            kept = run(labels)  # alive while it is counted, so that no storage is counted twice
        del kept
    return sum(sizes.values())
