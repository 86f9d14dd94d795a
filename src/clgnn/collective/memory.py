"""How many samples fit into memory at once; the others wait for their turn, at the price of time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

SHARE = 0.5
"""Of the memory that is free, by default."""


def free_bytes(device: torch.device) -> float:
    """The memory that is free on a device; infinite if the system does not tell."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return float("inf")


def bytes_a_sample(run: Callable[[Tensor], Tensor], labels: Tensor) -> float:
    """What one more sample keeps for the backward pass: that of two, less that of one.

    Args:
        run: the GNN, of labels ``[N, k, C]``.
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
