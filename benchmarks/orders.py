"""``python -m benchmarks.orders``: what the order of nodes and the type of numbers mean for a gather.

CPU milliseconds of one thread for ``A @ H`` as an embedding bag, the least of five calls: nodes as they are,
by reverse Cuthill-McKee, by degree, and in random order; 64-bit indices; rows in 16 bits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from clgnn import datasets

COLUMNS = (16, 50, 160)


def graphs() -> Iterator[tuple[str, sp.csr_array]]:
    """A random graph of 1e7 edges, as in the benchmark of a step, and two real ones."""
    edges = torch.randint(10**6, (2, 10**7), generator=torch.Generator().manual_seed(0))
    yield "generated, 1e7 edges", _matrix(edges, 10**6)
    for name in ("friendster", "pubmed"):
        data = datasets.load(name)
        yield name, _matrix(data.edge_index, data.num_nodes)


def _matrix(edge_index: Tensor, nodes: int) -> sp.csr_array:
    source, target = edge_index.numpy()
    return sp.csr_array((np.ones(len(source), np.float32), (target, source)), (nodes, nodes))


def milliseconds(
    a: sp.csr_array, columns: int, dtype: torch.dtype = torch.float32, index: torch.dtype = torch.int32
) -> float:
    """Of one gather."""
    table, weight = torch.rand(a.shape[1], columns).to(dtype), torch.from_numpy(a.data).to(dtype)
    sources, pointers = (torch.from_numpy(part).to(index) for part in (a.indices, a.indptr))
    times = []
    for _ in range(6):
        began = time.thread_time()
        F.embedding_bag(
            sources, table, pointers, mode="sum", per_sample_weights=weight, include_last_offset=True
        )
        times.append(time.thread_time() - began)
    return 1000 * min(times[1:])


def _in_order(a: sp.csr_array, nodes: NDArray[np.signedinteger]) -> sp.csr_array:
    ordered = a[nodes][:, nodes]
    ordered.sort_indices()
    return ordered


def main() -> None:
    """Prints one row per graph and number of columns, as Markdown."""
    torch.set_num_threads(1)
    kinds = ("as they are", "Cuthill-McKee", "degree", "random", "int64", "bfloat16", "float16")
    print("| graph | columns | " + " | ".join(kinds) + " |")
    print("| --- |" + " ---: |" * (len(kinds) + 1))
    for name, a in graphs():
        orders = [
            reverse_cuthill_mckee(sp.csr_matrix(a)),
            np.argsort(-np.diff(a.indptr), kind="stable"),
            np.random.default_rng(0).permutation(a.shape[0]),
        ]
        matrices = [a, *(_in_order(a, nodes) for nodes in orders)]
        for columns in COLUMNS:
            found = [milliseconds(matrix, columns) for matrix in matrices]
            found.append(milliseconds(a, columns, index=torch.int64))
            found += [milliseconds(a, columns, dtype) for dtype in (torch.bfloat16, torch.float16)]
            print(f"| {name} | {columns} | " + " | ".join(f"{one:.2f}" for one in found) + " |", flush=True)


if __name__ == "__main__":
    main()
