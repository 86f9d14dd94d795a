"""Between SciPy's CSR matrices and torch's: the one converter, both ways."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

with warnings.catch_warnings():  # torch says once that CSR is in beta; that is not our users' concern
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor([0, 0], [], [], (1, 1), check_invariants=False)
    torch.sparse_coo_tensor(torch.empty(2, 0, dtype=torch.long), torch.empty(0), (1, 1)).coalesce()


def torch_csr(
    matrix: sp.csr_array,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    index: type[np.signedinteger] = np.int64,
) -> Tensor:
    """A SciPy CSR matrix ``[M, N]`` as a torch CSR tensor, whose indices are of the type ``index``.

    Example:
        >>> import scipy.sparse as sp
        >>> torch_csr(sp.csr_array([[0, 2], [0, 0]])).values()
        tensor([2.])
    """
    return torch.sparse_csr_tensor(
        torch.from_numpy(matrix.indptr.astype(index, copy=False)),
        torch.from_numpy(matrix.indices.astype(index, copy=False)),
        torch.from_numpy(matrix.data).to(dtype),
        size=matrix.shape,
        check_invariants=False,
    ).to(device)


def scipy_csr(matrix: Tensor, index: type[np.signedinteger] = np.int64) -> sp.csr_array:
    """A torch CSR tensor ``[M, N]`` as a SciPy CSR matrix, which shares its values.

    Args:
        matrix: on any device.
        index: the type of the indices; scikit-learn wants ``np.int32``.
    """
    values, columns, rows = (
        part.detach().cpu().numpy() for part in (matrix.values(), matrix.col_indices(), matrix.crow_indices())
    )
    shape = (matrix.size(0), matrix.size(1))
    indices = columns.astype(index, copy=False), rows.astype(index, copy=False)
    return sp.csr_array((values, *indices), shape=shape)
