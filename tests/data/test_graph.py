import pytest
import torch
from torch_geometric.data import Data

from clgnn.data.graph import as_graph, as_mask, known, visible_labels


def data(**changes):
    fields = {
        "x": torch.ones(3, 2),
        "edge_index": torch.tensor([[0, 1], [1, 2]]),
        "y": torch.tensor([0, 1, -1]),
    }
    return Data(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": None}, "no x; expected node features"),
        ({"x": torch.ones(3)}, r"x of shape \(3,\); expected node features"),
        ({"x": torch.ones(0, 2), "edge_index": torch.empty(2, 0, dtype=torch.long)}, "is empty"),
        ({"x": torch.tensor([[1.0], [torch.nan], [torch.inf]])}, "2 NaN or infinite values in x"),
        ({"x": torch.tensor([[1.0], [torch.nan], [0.0]]).to_sparse_csr()}, "1 NaN or infinite values in x"),
        ({"edge_index": torch.tensor([[0], [3]])}, r"edges to nodes 0\.\.3; expected 0\.\.2"),
        ({"edge_index": torch.tensor([[-1], [0]])}, r"edges to nodes -1\.\.0; expected 0\.\.2"),
        ({"edge_index": torch.ones(3, 2)}, "edge_index of shape"),
        ({"edge_index": None}, "no edge_index"),
        ({"edge_weight": torch.ones(3)}, r"edge_weight of shape \(3,\); expected \[2\]"),
        ({"edge_weight": torch.tensor([1.0, -1.0])}, "negative, NaN or infinite edge weights"),
    ],
)
def test_what_is_no_graph_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        as_graph(data(**changes))


def test_the_number_of_features_is_checked():
    with pytest.raises(ValueError, match="2 feature columns; expected 5"):
        as_graph(data(), num_features=5)
    with pytest.raises(ValueError, match="graph 1 has 4 feature columns; expected 2"):
        as_graph([data(), data(x=torch.ones(3, 4))])
    with pytest.raises(ValueError, match="the list of graphs is empty"):
        as_graph([])
    with pytest.raises(ValueError, match="a graph is a str"):
        as_graph(["graph"])


def test_graphs_are_joined_without_edges_in_between():
    weighted = data(edge_weight=torch.tensor([0.5, 2.0]))
    joined = as_graph([weighted, weighted])
    assert joined.sizes == (3, 3)
    assert joined.edge_index.tolist() == [[0, 1, 3, 4], [1, 2, 4, 5]]
    assert joined.edge_weight.tolist() == [0.5, 2.0, 0.5, 2.0]
    with pytest.raises(ValueError, match="some graphs have edge_weight and some do not"):
        as_graph([weighted, data()])


def test_features_are_kept_in_the_layout_that_multiplies_faster():
    thin, full = torch.eye(30), torch.ones(3, 2)
    for x in (thin, thin.to_sparse_coo(), thin.to_sparse_csr()):
        graph = data(x=x)
        assert as_graph(graph).x.layout == torch.sparse_csr
        assert torch.equal(as_graph(graph).dense_x, thin)
        joined = as_graph([graph, graph]).x
        assert joined.layout == torch.sparse_csr
        assert torch.equal(joined.to_dense(), torch.cat([thin, thin]))
        assert as_graph(graph).x is as_graph(graph).x  # so that what is derived from it is kept
    for x in (full, full.to_sparse_coo(), full.to_sparse_csr()):
        assert as_graph(data(x=x)).x.layout == torch.strided
        assert torch.equal(as_graph([data(x=x)] * 2).x, torch.cat([full, full]))


def test_a_graph_has_no_labels():
    assert not hasattr(as_graph(data()), "y")


def test_labels_outside_of_the_mask_are_unknown():
    mask = torch.tensor([False, True, True])
    assert visible_labels(data(), mask).tolist() == [-1, 1, -1]
    real = visible_labels(data(y=torch.tensor([0.5, 1.5, torch.nan])), mask)
    assert known(real).tolist() == [False, True, False]
    with pytest.raises(ValueError, match="no y; expected a tensor with one label for each of 3 nodes"):
        visible_labels(data(y=None), mask)
    with pytest.raises(ValueError, match=r"y of shape \(2,\)"):
        visible_labels(data(y=torch.tensor([0, 1])), mask)


def test_masks_come_as_bools_as_indices_and_in_lists():
    import numpy as np

    for mask in (
        torch.tensor([True, False, True]),
        np.array([True, False, True]),
        [0, 2],
        torch.tensor([2, 0]),
    ):
        assert as_mask(mask, data(), "m").tolist() == [True, False, True]
    assert as_mask([[0], [1, 2]], [data(), data()], "m").tolist() == [True, False, False, False, True, True]
    assert as_mask([[], [1]], [data(), data()], "m").tolist() == [False] * 3 + [False, True, False]


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(2, dtype=torch.bool), r"expected a bool mask \[3\]"),
        (torch.tensor([0.5]), "expected a bool mask"),
        ([3], "m has node 3"),
        (
            torch.tensor([1, 0, 1], dtype=torch.uint8),
            r"uint8, which may be a mask or node indices.*use .bool\(\)",
        ),
        (torch.tensor([1, 0, 1]), "3 integers, all 0 or 1: it looks like a mask"),
        (["a"], "m is list"),
        (torch.tensor([[0]]), r"of shape \(1, 1\)"),
        ([-1], "m has node -1"),
    ],
)
def test_what_is_no_mask_is_refused(mask, message):
    with pytest.raises(ValueError, match=message):
        as_mask(mask, data(), "m")
    with pytest.raises(ValueError, match="one mask for each of the 2 graphs"):
        as_mask([[0]], [data(), data()], "m")


@pytest.mark.parametrize(
    "kind", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool, torch.float16]
)
def test_unknown_is_unknown_in_every_type_of_label(kind):
    y = visible_labels(data(y=torch.tensor([0, 1, 1]).to(kind)), torch.tensor([True, True, False]))
    assert y.dtype == (torch.float64 if kind == torch.float16 else torch.int64)
    assert known(y).tolist() == [True, True, False]
    assert y[:2].tolist() == [0, 1]


def test_edges_of_any_integer_type_are_taken():
    edges = torch.tensor([[0], [1]], dtype=torch.int32)
    assert as_graph(data(edge_index=edges)).edge_index.dtype == torch.int64
    with pytest.raises(ValueError, match=r"edge_index of type torch\.float32; expected integers"):
        as_graph(data(edge_index=edges.float()))


def test_a_graph_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="the graph is a int; expected a torch_geometric Data"):
        as_graph(3)
    with pytest.raises(ValueError, match="a graph is a str"):
        as_graph(["cora"])
    with pytest.raises(ValueError, match=r"y of type torch\.complex64"):
        visible_labels(data(y=torch.ones(3, dtype=torch.complex64)), torch.ones(3, dtype=torch.bool))


def test_edge_features_are_joined_and_checked():
    one = data(edge_attr=torch.ones(2, 2))
    two = as_graph([one, one])
    assert two.edge_attr.shape == (4, 2)
    with pytest.raises(ValueError, match="some graphs have edge_attr and some do not"):
        as_graph([one, data()])
    with pytest.raises(ValueError, match=r"edge_attr of shape \(3, 2\); expected \[2, d\]"):
        as_graph(data(edge_attr=torch.ones(3, 2)))


def test_what_has_a_gradient_is_data_like_any_other(graph):
    graph.x.requires_grad_()
    graph.edge_weight = torch.ones(graph.num_edges, requires_grad=True)
    found = as_graph(graph)
    assert not found.x.requires_grad
    assert not found.edge_weight.requires_grad
