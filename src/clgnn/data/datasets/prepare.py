"""The paper's preparation of features: row normalisation and z-scores."""

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from clgnn.data.sparse import scipy_csr, torch_csr


def row_normalise(x: Tensor) -> Tensor:
    """``x`` [N, p] with every row divided by its sum; a row of zeros stays. Sparse CSR stays sparse.

    Example:
        >>> row_normalise(torch.tensor([[1.0, 3.0], [0.0, 0.0]]))
        tensor([[0.2500, 0.7500],
                [0.0000, 0.0000]])
    """
    if x.layout == torch.sparse_csr:
        rows = scipy_csr(x)
        total = np.asarray(rows.sum(axis=1, dtype=np.float64))
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total != 0)
        values = (rows.data * np.repeat(scale, np.diff(rows.indptr))).astype(np.float32)
        return torch_csr(sp.csr_array((values, rows.indices, rows.indptr), shape=rows.shape))
    sums = x.sum(dim=1, keepdim=True)
    return torch.where(sums != 0, x / torch.where(sums != 0, sums, 1), 0.0)


def standardise(x: Tensor) -> Tensor:
    """``x`` [N, p] with every column at mean 0 and standard deviation 1; dense, since zeros move.

    The deviation is the population's. A constant column becomes 0 (its deviation counts as 1).

    Example:
        >>> standardise(torch.tensor([[1.0, 5.0], [3.0, 5.0]]))
        tensor([[-1.,  0.],
                [ 1.,  0.]])
    """
    if x.layout == torch.sparse_csr:
        columns = scipy_csr(x)
        n = columns.shape[0]
        mean = np.asarray(columns.sum(axis=0, dtype=np.float64)) / n
        square = columns.copy()
        square.data = square.data.astype(np.float64) ** 2
        variance = np.asarray(square.sum(axis=0)) / n - mean**2
        deviation = np.sqrt(np.maximum(variance, 0))
        deviation[deviation <= 1e-6 * np.abs(mean)] = 1.0  # constant, up to the rounding of the variance
        deviation[deviation == 0] = 1.0
        dense = np.tile((-mean / deviation).astype(np.float32), (n, 1))
        row = np.repeat(np.arange(n), np.diff(columns.indptr))
        at = columns.indices
        dense[row, at] = ((columns.data - mean[at]) / deviation[at]).astype(np.float32)
        return torch.from_numpy(dense)
    wide = x.double()
    mean_, deviation_ = wide.mean(dim=0), wide.std(dim=0, correction=0)
    constant = (x == x[0]).all(dim=0)
    return ((wide - mean_) / torch.where(constant, 1.0, deviation_)).masked_fill(constant, 0.0).float()
