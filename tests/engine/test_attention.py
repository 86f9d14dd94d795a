"""Sums and products along edges, without a row for each edge, against the same written out."""

import pytest
import torch
from torch_geometric.nn import GATConv, TransformerConv

from clgnn.data.graph import Graph
from clgnn.engine.attention import attend, dots, ends, keeping
from clgnn.engine.runner import at_once


def several_edges():
    """Two edges join the same nodes, node 3 has none on the left, and node 0 none on the right."""
    return torch.tensor([2, 0, 0, 1, 2, 0]), torch.tensor([1, 4, 4, 2, 3, 1])


def values(*shape):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


def test_attend_is_the_weighted_sum_of_rows_in_values_and_gradients():
    left, right = several_edges()
    weight, x = values(6, 2), values(5, 2, 3)
    expected = torch.zeros(4, 2, 3, dtype=torch.float64).index_add(0, left, weight.unsqueeze(2) * x[right])
    of = ends(left, right, (4, 5))
    assert torch.allclose(attend(of, weight, x), expected)
    assert torch.autograd.gradcheck(lambda w, h: attend(of, w, h), (weight, x))


def test_dots_are_the_products_of_both_ends_in_values_and_gradients(monkeypatch):
    monkeypatch.setattr("clgnn.engine.attention.PIECE", 12)  # two edges at a time
    left, right = several_edges()
    a, b = values(4, 2, 3), values(5, 2, 3)
    of = ends(left, right, (4, 5))
    assert torch.allclose(dots(of, a, b), (a[left] * b[right]).sum(-1))
    assert torch.autograd.gradcheck(lambda x, y: dots(of, x, y), (a, b))


def test_edges_are_sorted_once_for_a_graph_and_others_apart():
    left, right = several_edges()
    edge_index = torch.stack([left, right])
    with keeping(edge_index):
        one = ends(left, right, (4, 5))
        assert ends(left.clone(), right.clone(), (4, 5)) is one
        assert ends(left, right, (9, 5)) is not one
        assert ends(left.flip(0), right, (4, 5)) is not one
    assert ends(left, right, (4, 5)) is not one


@pytest.mark.parametrize(
    "layer", [GATConv(5, 3, heads=2), TransformerConv(5, 3, heads=2)], ids=["gat", "transformer"]
)
def test_no_row_for_each_edge_and_sample_is_kept(layer):
    """What a step keeps for its gradients has ``[E, K, heads]`` numbers at most, not ``[E, K, heads, c]``."""
    torch.manual_seed(0)
    n, e, k = 40, 2000, 6
    edge_index = torch.randint(n, (2, e))
    kept = []

    def pack(tensor):
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        graph = Graph(torch.rand(n, 3), edge_index, None, (n,))
        out = at_once(layer, graph, torch.rand(n, k, 2), (edge_index, {}))
    out.sum().backward()
    assert max(kept) < e * k * 2 * 3
    assert max(kept) >= e * k
