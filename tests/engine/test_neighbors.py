"""Parts of a large graph: all neighbours give what the whole graph gives, fewer do so in expectation."""

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import GCNConv, GINConv, SAGEConv

from clgnn.data.graph import Graph
from clgnn.engine.neighbors import ALL, fields, hops_of
from clgnn.engine.runner import Runner
from clgnn.engine.streamed import streamed
from clgnn.nn import GCN, GIN, SAGE, Krylov, Snowball

CPU = torch.device("cpu")


def random_graph(n=60, edges=240, weighted=False, seed=0):
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(n, (2, edges), generator=generator)
    edge_index = edge_index[:, edge_index[0] != edge_index[1]].unique(dim=1)
    weight = torch.rand(edge_index.size(1), generator=generator) + 0.5 if weighted else None
    return Graph(torch.rand(n, 5, generator=generator), edge_index, weight, (n,))


class Two(nn.Module):
    """Two layers of PyG, which does not say how far it looks."""

    def __init__(self, conv):
        super().__init__()
        self.a, self.b = conv(7, 8), conv(8, 4)

    def forward(self, x, edge_index):
        return self.b(self.a(x, edge_index).relu(), edge_index)


def gin_conv(i, o):
    return GINConv(nn.Linear(i, o))


@pytest.mark.parametrize(
    "gnn",
    [
        lambda: GCN(7, 8, 4),
        lambda: GCN(7, 8, 4, num_layers=3, normalization="sym"),
        lambda: SAGE(7, 8, 4, num_neighbors=0),
        lambda: GIN(7, 8, 4),
        lambda: Snowball(7, 8, 4, num_layers=2),
        lambda: Krylov(7, 8, 4, num_layers=1),
        lambda: Two(GCNConv),
        lambda: Two(SAGEConv),
        lambda: Two(gin_conv),
    ],
)
def test_all_neighbours_give_what_the_whole_graph_gives(gnn):
    """Values and gradients, degrees included."""
    graph = random_graph()
    torch.manual_seed(1)
    runner = Runner(gnn().eval())
    labels = torch.rand(graph.num_nodes, 3, 2)
    large = streamed(graph, CPU)
    nodes = torch.tensor([3, 17, 40, 41])
    (field,) = fields(large, nodes, [range(4)], [ALL] * hops_of(runner, large, 2))
    assert torch.equal(field.nodes[:4], nodes)
    found, expected = [], []
    for results, z in (
        (found, runner.mean(field.graph, labels[field.nodes])[:4]),
        (expected, runner.mean(graph, labels)[nodes]),
    ):
        results.append(z)
        results += torch.autograd.grad(z.square().sum(), list(runner.gnn.parameters()))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_module_that_looks_at_degrees_gets_one_hop_more():
    large = streamed(random_graph(), CPU)
    assert hops_of(Runner(Two(SAGEConv).eval()), large, 2) == 2
    assert hops_of(Runner(Two(GCNConv).eval()), large, 2) == 3


@pytest.mark.parametrize("weighted", [False, True])
def test_drawn_neighbours_have_the_degrees_of_the_whole_graph(weighted):
    graph = random_graph(edges=900, weighted=weighted)
    large = streamed(graph, CPU)
    whole = torch.zeros(60).index_add_(0, graph.edge_index[1], torch.ones(graph.edge_index.size(1)))
    (field,) = fields(large, torch.arange(60), [range(60)], [3], (1,))
    degree = torch.bincount(field.graph.edge_index[1], minlength=60)
    assert int(degree.max()) == 3
    if not weighted:
        total = torch.zeros(60).index_add_(0, field.graph.edge_index[1], field.graph.edge_weight)
        torch.testing.assert_close(total, whole)
    pairs = field.nodes[field.graph.edge_index]
    known = {(int(s), int(t)) for s, t in graph.edge_index.T}
    drawn = [(int(s), int(t)) for s, t in pairs.T]
    assert set(drawn) <= known
    assert len(set(drawn)) == len(drawn)


def test_sums_over_drawn_neighbours_are_right_in_the_mean():
    graph = random_graph(n=20, edges=300, weighted=True)
    large, h = streamed(graph, CPU), torch.rand(20)
    exact = torch.zeros(20).index_add_(0, graph.edge_index[1], graph.edge_weight * h[graph.edge_index[0]])
    total = torch.zeros(20)
    for seed in range(400):
        (field,) = fields(large, torch.arange(20), [range(20)], [4], (seed,))
        source, target = field.nodes[field.graph.edge_index]
        total.index_add_(0, target, field.graph.edge_weight * h[source])
    assert float(((total / 400 - exact).abs() / exact).mean()) < 0.03


def test_draws_depend_on_the_key_and_the_place_alone():
    large = streamed(random_graph(edges=900), CPU)
    nodes = torch.arange(60)
    one, two = (list(fields(large, nodes, batches, [3, 3], (5,))) for batches in
                ([range(0, 10), range(10, 20)], [range(10, 20)]))  # fmt: skip
    assert torch.equal(one[1].nodes, two[0].nodes)
    assert torch.equal(one[1].graph.edge_index, two[0].graph.edge_index)
    (other,) = fields(large, nodes, [range(10, 20)], [3, 3], (6,))
    assert not torch.equal(other.nodes, two[0].nodes)


def test_edges_that_were_given_twice_stay_two():
    edges = torch.tensor([[0, 0, 1], [1, 1, 0]])
    large = streamed(Graph(torch.ones(2, 1), edges, None, (2,)), CPU)
    (field,) = fields(large, torch.tensor([1]), [[0]], [ALL])
    assert field.graph.edge_index.tolist() == [[1, 1], [0, 0]]


def test_a_node_without_edges_is_a_part_of_its_own():
    large = streamed(Graph(torch.ones(3, 1), torch.tensor([[0], [1]]), None, (3,)), CPU)
    (field,) = fields(large, torch.tensor([2]), [[0]], [ALL, ALL])
    assert field.nodes.tolist() == [2]
    assert field.graph.edge_index.shape == (2, 0)


def test_modules_that_see_all_nodes_are_refused():
    large = streamed(random_graph(), CPU)
    normed = nn.Sequential(nn.Linear(7, 3), nn.BatchNorm1d(3))
    with pytest.raises(ValueError, match="batch normalisation"):
        hops_of(Runner(normed), large, 2)
    with pytest.raises(ValueError, match=r"does not say how many hops.*self\.hops"):
        hops_of(Runner(nn.Linear(7, 3)), large, 2)


def test_chunks_cover_all_rows_and_keep_their_bound():
    large = streamed(random_graph(edges=900), CPU)
    for most in (1, 7, 50, 10**6):
        chunks = list(large.chunks(most))
        assert [a for a, _ in chunks] == [0, *[b for _, b in chunks[:-1]]]
        assert chunks[-1][1] == 60
        sizes = np.diff([large.stored.indptr[a] for a, _ in chunks] + [large.stored.num_edges])
        assert all(size <= most or b - a == 1 for size, (a, b) in zip(sizes, chunks, strict=True))
