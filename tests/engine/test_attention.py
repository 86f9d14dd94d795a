"""Sums and products along edges, without a row for each edge, against the same written out."""

from contextlib import nullcontext

import pytest
import torch
from torch_geometric.nn import GATConv, TransformerConv

from clgnn.data.graph import Graph
from clgnn.engine.attention import attend, dots, ends, keeping, largest_of_edges, rows_to_edges, sums_of_edges
from clgnn.engine.runner import at_once


def several_edges():
    """Two edges join the same nodes, node 3 has none on the left, and node 0 none on the right."""
    return torch.tensor([2, 0, 0, 1, 2, 0]), torch.tensor([1, 4, 4, 2, 3, 1])


def values(*shape):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize("pairs", [0, 12, 2**20], ids=["one sample at a time", "two", "all"])
def test_attend_is_the_weighted_sum_of_rows_in_values_and_gradients(pairs, monkeypatch):
    monkeypatch.setattr("clgnn.engine.attention.SPREAD", pairs)
    left, right = several_edges()
    weight, x = values(6, 3), values(5, 3, 2)
    expected = torch.zeros(4, 3, 2, dtype=torch.float64).index_add(0, left, weight.unsqueeze(2) * x[right])
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


@pytest.mark.parametrize("kinds", [(torch.float32, torch.bfloat16), (torch.bfloat16, torch.float32)])
def test_both_may_have_another_type_as_under_autocast(kinds):
    left, right = several_edges()
    of = ends(left, right, (4, 5))
    for function, shapes in ((attend, [(6, 2), (5, 2, 3)]), (dots, [(4, 2, 3), (5, 2, 3)])):
        one, other = (
            values(*shape).detach().to(kind).requires_grad_()
            for shape, kind in zip(shapes, kinds, strict=True)
        )
        found = function(of, one, other)
        assert torch.allclose(found, function(of, one.float(), other.float()))
        found.sum().backward()
        assert (one.grad.dtype, other.grad.dtype) == kinds


@pytest.mark.parametrize("sorted_once", [True, False])
def test_rows_and_sums_of_edges_are_those_of_torch_in_values_and_gradients(sorted_once):
    index = several_edges()[0]
    nodes, edges = values(4, 2, 3), values(6, 2, 3)
    with keeping(torch.stack(several_edges())) if sorted_once else nullcontext():
        assert torch.equal(rows_to_edges(nodes, index), nodes[index])
        assert torch.autograd.gradcheck(lambda x: rows_to_edges(x, index), (nodes,))
        sums = sums_of_edges(edges, index, 4)
        assert torch.allclose(sums, torch.zeros_like(nodes).index_add(0, index, edges))
        assert torch.autograd.gradcheck(lambda x: sums_of_edges(x, index, 4), (edges,))


def test_largest_of_edges_is_that_of_torch():
    """Also of negative numbers; 0 where there is no edge; only where no gradient is needed."""
    index, x = several_edges()[0], values(6, 2, 3).detach() - 5
    places = index.view(-1, 1, 1).expand_as(x)
    expected = torch.zeros(4, 2, 3, dtype=torch.float64)
    expected = expected.scatter_reduce(0, places, x, "amax", include_self=False)
    assert largest_of_edges(x, index, 4) is None
    with keeping(torch.stack(several_edges())):
        assert torch.equal(largest_of_edges(x, index, 4), expected)
        assert largest_of_edges(x.requires_grad_(), index, 4) is None


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
