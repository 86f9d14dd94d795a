"""Sparse features: SciPy's matrices, torch's CSR tensors, and their parts as plain tensors for a file."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor


def to_torch(matrix: Any) -> Tensor:
    """A SciPy sparse matrix [N, p] as a torch CSR tensor [N, p], float32."""
    return unpack(pack(matrix))


def to_scipy(x: Tensor) -> Any:
    """A torch CSR tensor [N, p] as a SciPy ``csr_array`` that shares its memory."""
    return sp.csr_array(
        (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy()),
        shape=(x.shape[0], x.shape[1]),
    )


def pack(matrix: Any) -> dict[str, Tensor]:
    """The four parts of a SciPy sparse matrix, as tensors."""
    csr = sp.csr_array(matrix)
    csr.sum_duplicates()
    return {
        "x.rows": torch.from_numpy(csr.indptr.astype(np.int64)),
        "x.columns": torch.from_numpy(csr.indices.astype(np.int64)),
        "x.values": torch.from_numpy(csr.data.astype(np.float32)),
        "x.shape": torch.tensor(csr.shape),
    }


def unpack(parts: dict[str, Tensor]) -> Tensor:
    """The torch CSR tensor [N, p] of four parts, checked."""
    with warnings.catch_warnings():
        # torch says once in a process that its CSR layout is in beta
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            parts["x.rows"],
            parts["x.columns"],
            parts["x.values"],
            size=parts["x.shape"].tolist(),
            check_invariants=True,
        )
