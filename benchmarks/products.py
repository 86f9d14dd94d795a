"""X Wᵀ and its gradient for the features of real graphs: dense, sparse, and with the columns of Wᵀ apart.

    python -m benchmarks.products --datasets cora,pubmed

One thread, and the median of rounds in which the contenders take turns. The ratios decide which X is kept
sparse (``SPARSE_BELOW`` in ``clgnn/data/graph.py``), and that a weight is copied before a sparse product.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from clgnn.data import datasets
from clgnn.engine.propagation import SparseMatrix


def contenders(x: Tensor, channels: int) -> dict[str, Callable[[], object]]:
    """The ways to multiply, by name."""
    dense, matrix = x.to_dense(), SparseMatrix(x.to_dense().to_sparse_csr())
    weight, gradient = torch.rand(channels, x.size(1)), torch.rand(x.size(0), channels)
    csr = matrix.csr
    places = csr.col_indices(), csr.crow_indices(), csr.values()

    def apart() -> Tensor:
        columns, rows, values = places
        return F.embedding_bag(
            columns, weight.t(), rows, mode="sum", per_sample_weights=values, include_last_offset=True
        )

    return {
        "dense": lambda: dense @ weight.t(),
        "dense, gradient": lambda: gradient.t() @ dense,
        "sparse": lambda: matrix @ weight.t(),
        "sparse, gradient": lambda: matrix.transpose_product(gradient),
        "sparse, columns apart": apart,
    }


def seconds(functions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median time of each, one after the other in each round."""
    found: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            began = time.perf_counter()
            function()
            found[name].append(time.perf_counter() - began)
    return {name: statistics.median(times) for name, times in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.products")
    parser.add_argument("--datasets", default="cora,pubmed")
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=50)
    given = parser.parse_args()
    torch.set_num_threads(1)
    for name in given.datasets.split(","):
        x = datasets.load(name).x
        share = float((x.to_dense() != 0).float().mean())
        took = seconds(contenders(x, given.channels), given.rounds)
        both = took["dense"] + took["dense, gradient"], took["sparse"] + took["sparse, gradient"]
        print(
            f"{name}: {x.size(0)} x {x.size(1)}, {share:.1%} are not 0, {given.channels} channels: "
            f"dense / sparse, with gradient {both[0] / both[1]:.1f}; columns apart / side by side "
            f"{took['sparse, columns apart'] / took['sparse']:.1f}"
        )


if __name__ == "__main__":
    main()
