import scipy.sparse as sp
import torch

from clgnn.data.datasets import row_normalise, standardise
from clgnn.data.sparse import torch_csr


def sparse_and_dense():
    dense = torch.rand(20, 7, generator=torch.Generator().manual_seed(0))
    dense[dense < 0.6] = 0
    dense[:, 2] = 0.1  # constant
    dense[:, 3] = 0
    dense[4] = 0
    dense[4, 2] = 0.1
    return torch_csr(sp.csr_array(dense.numpy())), dense


def test_rows_sum_to_one_and_sparse_agrees_with_dense():
    x, dense = sparse_and_dense()
    assert row_normalise(x).layout == torch.sparse_csr
    torch.testing.assert_close(row_normalise(x).to_dense(), row_normalise(dense))
    torch.testing.assert_close(row_normalise(dense).sum(dim=1), torch.ones(20))


def test_rows_of_zeros_stay():
    assert torch.equal(row_normalise(torch.zeros(2, 3)), torch.zeros(2, 3))
    assert torch.equal(
        row_normalise(torch_csr(sp.csr_array((2, 3), dtype="f4"))).to_dense(), torch.zeros(2, 3)
    )


def test_z_scores_and_sparse_agrees_with_dense():
    x, dense = sparse_and_dense()
    scores = standardise(dense)
    torch.testing.assert_close(standardise(x), scores)
    varying = [0, 1, 4, 5, 6]
    torch.testing.assert_close(scores.mean(dim=0), torch.zeros(7), atol=1e-6, rtol=0)
    torch.testing.assert_close(scores.std(dim=0, correction=0)[varying], torch.ones(5))
    assert torch.equal(scores[:, 2:4], torch.zeros(20, 2))
