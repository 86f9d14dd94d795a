import copy
import dataclasses

import pytest
import torch
from torch import nn
from torch_geometric.nn import GATConv, GCNConv, GraphConv, SAGEConv

from clgnn.collective.averaging import average, each_sample
from clgnn.collective.component import Component, build
from clgnn.data.graph import as_graph


class OnePyGLayer(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = GCNConv(in_channels, out_channels)

    def forward(self, x, edge_index, edge_weight=None):
        return self.conv(x, edge_index, edge_weight).relu()


def draws(n, k, c, seed=0):
    classes = torch.randint(c, (n, k), generator=torch.Generator().manual_seed(seed))
    return nn.functional.one_hot(classes, c).float()


@pytest.mark.parametrize("gnn", ["gcn", "sage", "tk", "krylov", "gin", OnePyGLayer])
def test_the_average_is_the_mean_of_the_samples(gnn, graph):
    g = as_graph(graph)
    torch.manual_seed(0)
    component = build(gnn, g, 3, 3, hidden_channels=8, num_layers=None, dropout=0.0).eval()
    labels = draws(24, 7, 3)
    samples = each_sample(component, g, labels)
    assert samples.shape == (24, 7, 3)
    assert torch.allclose(average(component, g, labels), samples.mean(1), atol=1e-5)


def test_the_mean_is_taken_before_the_head(graph):
    g = as_graph(graph)
    component = Component(OnePyGLayer(8, 4), nn.Linear(4, 2))
    labels = draws(24, 5, 3)
    z = torch.stack([component.gnn(torch.cat([g.x, labels[:, k]], 1), g.edge_index) for k in range(5)]).mean(
        0
    )
    assert torch.allclose(average(component, g, labels), component.head(z), atol=1e-6)


def test_edge_weights_reach_the_gnn_that_takes_them(graph):
    weighted = graph.clone()
    weighted.edge_weight = torch.rand(graph.edge_index.size(1), generator=torch.Generator().manual_seed(0))
    labels = draws(24, 2, 3)
    for gnn, differs in ((OnePyGLayer, True), ("gcn", True), (lambda i, o: GATConv(i, o), False)):
        g = as_graph(graph)
        component = build(gnn, g, 3, 3, hidden_channels=8, num_layers=None, dropout=0.0).eval()
        same = torch.equal(average(component, g, labels), average(component, as_graph(weighted), labels))
        assert same is not differs


def test_sparse_features_give_what_dense_ones_give(graph):
    sparse = graph.clone()
    sparse.x = graph.x.to_sparse_csr()
    labels = draws(24, 3, 3)
    for gnn in ("gcn", OnePyGLayer):
        g = as_graph(graph)
        component = build(gnn, g, 3, 3, hidden_channels=8, num_layers=None, dropout=0.0).eval()
        out = average(component, g, labels), average(component, as_graph(sparse), labels)
        assert torch.allclose(*out, atol=1e-6)


class Layers(nn.Module):
    """Two layers of a kind, which take edge weights if they can."""

    def __init__(self, kind, weighted=False):
        super().__init__()
        self.first, self.second = kind(5 + 3, 6), kind(6, 4)
        self.weighted = weighted

    def forward(self, x, edge_index, edge_weight=None):
        rest = (edge_weight,) if self.weighted else ()
        return self.second(self.first(x, edge_index, *rest).relu(), edge_index, *rest)


@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("kind", [GCNConv, GraphConv])
def test_layers_that_take_an_adjacency_matrix_get_one(kind, weight, graph):
    g = as_graph(graph)
    if weight:
        g = dataclasses.replace(g, edge_weight=torch.rand(g.edge_index.size(1)))
    labels = torch.rand(24, 4, 3)
    torch.manual_seed(0)
    auto = Component(Layers(kind, weighted=True), nn.Identity())
    by_edges = copy.deepcopy(auto)
    by_edges.runner.propagation = "edge_index"
    outs = [average(component, g, labels) for component in (auto, by_edges)]
    assert auto.runner.takes_adjacency == {weight: True}
    assert by_edges.runner.takes_adjacency == {}
    torch.testing.assert_close(*outs, rtol=1e-4, atol=1e-5)
    gradients = [
        torch.autograd.grad(out.square().sum(), list(c.parameters()))
        for out, c in zip(outs, (auto, by_edges), strict=True)
    ]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


def test_other_layers_get_their_edges_as_always(graph):
    g = as_graph(graph)
    for kind in (GATConv, lambda i, o: TwoColumns(i, o)):
        component = Component(Layers(kind), nn.Identity())
        average(component, g, torch.rand(24, 4, 3))
        assert component.runner.takes_adjacency == {False: False}


class TwoColumns(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = GCNConv(i, o)

    def forward(self, x, edge_index):
        source, target = edge_index  # which a matrix is not
        return self.conv(x, torch.stack([source, target]))


@pytest.mark.parametrize("kind", [SAGEConv, GCNConv])
def test_a_later_graph_that_is_no_matrix_keeps_its_edges(kind, graph):
    """Several edges between two nodes, loops, or weights that the module does not ask for."""
    g = as_graph(graph)
    more, loops = g.edge_index[:, :9], torch.arange(3).expand(2, 3)
    others = [
        dataclasses.replace(g, edge_index=torch.cat([g.edge_index, more], dim=1)),
        dataclasses.replace(g, edge_index=torch.cat([g.edge_index, loops], dim=1)),
        dataclasses.replace(g, edge_weight=torch.rand(g.edge_index.size(1))),
    ]

    class Unweighted(Layers):
        def forward(self, x, edge_index):
            return super().forward(x, edge_index)

    auto = Component(Unweighted(kind), nn.Identity()).eval()
    by_edges = copy.deepcopy(auto)
    by_edges.runner.propagation = "edge_index"
    average(auto, g, torch.rand(24, 4, 3))
    assert auto.runner.takes_adjacency == {False: True}
    for other in others:
        labels = torch.rand(24, 4, 3)
        torch.testing.assert_close(average(auto, other, labels), average(by_edges, other, labels))


class Normed(nn.Module):
    """Takes a number out of its tensors, which differs from sample to sample."""

    def __init__(self, i, o):
        super().__init__()
        self.layer = nn.Linear(i, o)

    def forward(self, x, edge_index):
        h = self.layer(x)
        return h / (h.abs().max().item() + 1e-6)


def test_the_first_run_tells_samples_apart_though_it_has_one(graph):
    g = as_graph(graph)
    component = Component(Normed(5 + 3, 4), nn.Identity())
    average(component, g, torch.zeros(24, 1, 3))  # iteration 0
    labels = torch.rand(24, 4, 3)
    expected = torch.stack([average(component, g, labels[:, [k]]) for k in range(4)]).mean(dim=0)
    torch.testing.assert_close(average(component, g, labels), expected)
