import pytest
import torch

from clgnn.engine.propagation import SparseMatrix, project, propagation, sample_neighbors

EDGES = torch.tensor([[0, 1, 2, 0], [1, 0, 1, 2]])  # node 3 is isolated
ADJACENCY = torch.tensor([[0.0, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]])


def dense(operator):
    return operator.csr.to_dense()


def test_normalisations_against_their_formulas():
    eye = torch.eye(4)
    with_loops = ADJACENCY + eye
    degree = with_loops.sum(1)
    assert torch.allclose(dense(propagation(EDGES, 4, normalization="sum")), ADJACENCY)
    assert torch.allclose(dense(propagation(EDGES, 4, normalization="row")), with_loops / degree[:, None])
    root = degree**-0.5
    assert torch.allclose(
        dense(propagation(EDGES, 4, normalization="sym")), root[:, None] * with_loops * root
    )
    mean = ADJACENCY / ADJACENCY.sum(1, keepdim=True).clamp(min=1)
    assert torch.allclose(dense(propagation(EDGES, 4, normalization="mean")), mean)


def test_weights_weigh():
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
    a = dense(propagation(EDGES, 4, weight, "mean"))
    assert torch.allclose(a[1], torch.tensor([0.25, 0, 0.75, 0]))


def test_the_product_and_its_gradient_are_those_of_the_dense_matrix():
    a = propagation(EDGES, 4, normalization="row", dtype=torch.float64)
    h = torch.rand(4, 3, 2, dtype=torch.float64, requires_grad=True)
    full = torch.einsum("ij,jkl->ikl", dense(a), h)
    assert torch.allclose(a @ h, full)
    assert torch.autograd.gradcheck(lambda h: a @ h, (h,))


def test_an_operator_is_made_once_for_an_edge_index_and_again_when_it_changes():
    edges = EDGES.clone()
    a = propagation(edges, 4)
    assert propagation(edges, 4) is a
    assert propagation(edges, 4, normalization="sum") is not a
    weight = torch.ones(4)
    assert propagation(edges, 4, weight) is not a
    assert propagation(edges.clone(), 4) is not a
    edges[1, 0] = 3
    assert not torch.equal(dense(propagation(edges, 4)), dense(a))


def test_no_edges_and_no_columns():
    none = torch.empty(2, 0, dtype=torch.long)
    assert torch.equal(dense(propagation(none, 3)), torch.eye(3))
    assert (propagation(none, 3) @ torch.empty(3, 2, 0)).shape == (3, 2, 0)


@pytest.mark.parametrize("layout", ["csr", "coo"])
def test_sparse_features_are_projected_as_dense_ones(layout):
    x = torch.rand(5, 7) * (torch.rand(5, 7) < 0.4)
    sparse = x.to_sparse_csr() if layout == "csr" else x.to_sparse_coo()
    weight = torch.rand(3, 7, requires_grad=True)
    out = project(sparse, weight)
    assert torch.allclose(out, x @ weight.t())
    (gradient,) = torch.autograd.grad(out.pow(2).sum(), weight)
    (expected,) = torch.autograd.grad((x @ weight.t()).pow(2).sum(), weight)
    assert torch.allclose(gradient, expected, atol=1e-6)


def star(leaves):
    """Node 0 has all others as neighbours."""
    others = torch.arange(1, leaves + 1)
    return torch.stack([others, torch.zeros_like(others)])


def test_sampled_neighbours_are_neighbours_and_average_to_one():
    full = propagation(star(12), 14, normalization="mean")
    drawn = sample_neighbors(full, 5)
    row = dense(drawn)[0]
    assert int((row > 0).sum()) == 5
    assert torch.allclose(row[row > 0], torch.tensor(0.2))
    assert bool((dense(full)[0][row > 0] > 0).all())
    assert int(dense(drawn)[1:].count_nonzero()) == 0  # leaves and the isolated node 13


def test_few_neighbours_are_all_taken():
    full = propagation(star(3), 4, normalization="mean")
    assert torch.allclose(dense(sample_neighbors(full, 5)), dense(full))


def test_every_neighbour_is_drawn_equally_often_and_anew_each_time():
    full = propagation(star(9), 10, normalization="mean")
    torch.manual_seed(0)
    counts = sum((dense(sample_neighbors(full, 3))[0, 1:] > 0).int() for _ in range(3000))
    assert torch.allclose(counts / 3000, torch.tensor(1 / 3), atol=0.04)


def test_a_sparse_matrix_may_be_rectangular():
    m = torch.tensor([[1.0, 0, 2], [0, 3, 0]])
    h = torch.rand(3, 4, requires_grad=True)
    out = SparseMatrix(m.to_sparse_csr()) @ h
    assert torch.allclose(out, m @ h)
    (gradient,) = torch.autograd.grad(out.sum(), h)
    assert torch.allclose(gradient, m.sum(0)[:, None].expand(3, 4))


def test_weights_that_were_changed_in_place_count():
    edge_index, weight = torch.tensor([[0, 1], [1, 0]]), torch.ones(2)
    before = propagation(edge_index, 2, weight, "sum").csr.to_dense()
    weight[0] = 9
    assert not torch.equal(propagation(edge_index, 2, weight, "sum").csr.to_dense(), before)


def test_operators_share_what_is_equal_and_keep_their_bits():
    edges = torch.tensor([[0, 1, 1, 2, 0, 3], [1, 0, 2, 1, 3, 0]])
    weight = torch.rand(6)
    mean, total = (propagation(edges, 4, normalization=kind) for kind in ("mean", "sum"))
    assert mean.csr.col_indices().dtype == torch.int32
    assert mean.csr.col_indices().data_ptr() == total.csr.col_indices().data_ptr()
    assert total.transposed.values().data_ptr() == total.csr.values().data_ptr()  # symmetric
    assert mean.transposed.col_indices().data_ptr() == mean.csr.col_indices().data_ptr()
    x = torch.rand(4, 3)
    for kind in ("row", "sym", "mean", "sum"):
        a = propagation(edges, 4, weight, kind)
        rows, columns = a.csr.crow_indices().long(), a.csr.col_indices().long()
        long = SparseMatrix(torch.sparse_csr_tensor(rows, columns, a.csr.values(), (4, 4)))
        assert torch.equal(a @ x, long @ x)
        assert torch.equal(a.transpose_product(x), long.transpose_product(x))
        assert torch.allclose(a.transposed.to_dense(), a.csr.to_dense().t())
