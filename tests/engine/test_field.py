import dataclasses

import pytest
import torch
from torch import nn
from torch_geometric.nn import APPNP, BatchNorm, GATConv, GCNConv, PairNorm
from torch_geometric.utils import erdos_renyi_graph

from clgnn.collective.averaging import average
from clgnn.collective.component import build
from clgnn.data.graph import Graph
from clgnn.engine.field import receptive_field
from clgnn.engine.rings import Rings, at_outputs
from clgnn.nn import GCN

N, C = 120, 3


def sparse_graph(sparse=False, weighted=False):
    torch.manual_seed(0)
    edge_index = erdos_renyi_graph(N, 1.5 / N)
    x = torch.rand(N, 5) * (torch.rand(N, 5) < 0.5)
    weight = torch.rand(edge_index.size(1)) if weighted else None
    return Graph(x.to_sparse_csr() if sparse else x, edge_index, weight, (N,))


class Two(nn.Module):
    def __init__(self, conv, i, o, between=None):
        super().__init__()
        self.first, self.second, self.between = conv(i, 8), conv(8, o), between or nn.Identity()

    def forward(self, x, edge_index):
        return self.second(torch.relu(self.between(self.first(x, edge_index))), edge_index)


OURS = {name: name for name in ("gcn", "sage", "tk", "krylov", "gin", "nip", "column")}
OURS["sym"] = lambda i, o: GCN(i, 8, o, normalization="sym")
THEIRS = {"GCNConv": lambda i, o: Two(GCNConv, i, o), "GATConv": lambda i, o: Two(GATConv, i, o)}


def parts(gnn, graph, depth=2):
    torch.manual_seed(1)
    component = build(gnn, graph, C, C, hidden_channels=8, num_layers=depth, dropout=0.5)
    targets = torch.arange(N) < 3
    return component, targets, *receptive_field(component.runner, graph, targets, C)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [*OURS, *THEIRS])
def test_outputs_and_gradients_at_the_targets_are_those_of_the_whole_graph(name, sparse, weighted):
    graph = sparse_graph(sparse, weighted)
    component, targets, part, nodes = parts({**OURS, **THEIRS}[name], graph)
    assert targets.sum() < len(nodes) < 0.7 * N
    _equal_at_the_targets(component, graph, targets, part, nodes)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["gcn", "sage", "tk", "gin", "sym", "nip", "column"])
def test_rings_whose_outermost_is_most_of_the_graph_leave_its_nodes_as_they_are(name, sparse):
    graph = sparse_graph(sparse, weighted=True)
    into_3 = torch.stack([torch.arange(4, N), torch.full((N - 4,), 3)])  # two hops from node 7 is everything
    edge_index = torch.cat([graph.edge_index, into_3, torch.tensor([[3], [7]])], dim=1)
    graph = dataclasses.replace(graph, edge_index=edge_index, edge_weight=torch.rand(edge_index.size(1)))
    component, *_ = parts(OURS[name], graph, depth=1 if name == "tk" else 2)
    targets = (torch.arange(N) == 7) | (torch.arange(N) == 0)
    part, nodes = receptive_field(component.runner, graph, targets, C)
    assert isinstance(part, Rings)
    assert part.x is graph.x
    assert torch.equal(nodes, torch.arange(N))
    assert part.outputs.tolist() == [0, 7]
    _equal_at_the_targets(component, graph, targets, part, nodes)


def _equal_at_the_targets(component, graph, targets, part, nodes):
    labels = torch.rand(N, 4, C)
    component.eval()
    results = []
    for g, rows in ((graph, torch.arange(N)), (part, nodes)):
        component.zero_grad()
        out = average(component, g, labels[rows])[at_outputs(g, targets[rows])]
        out.square().sum().backward()
        results.append([out, *(p.grad for p in component.parameters() if p.grad is not None)])
    for whole, of_part in zip(*results, strict=True):
        torch.testing.assert_close(whole, of_part, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "gnn",
    [
        lambda i, o: Two(GCNConv, i, o, BatchNorm(8)),  # running statistics of all nodes
        lambda i, o: Two(GCNConv, i, o, PairNorm()),  # the mean of all nodes
        lambda i, o: Two(lambda a, b: _Far(a, b), i, o),  # one layer that looks ten hops
        lambda i, o: _NoMessages(i, o),
    ],
)
def test_in_doubt_the_part_is_the_whole(gnn):
    graph = sparse_graph()
    _, _, part, nodes = parts(gnn, graph)
    assert part is graph
    assert len(nodes) == N


class _Far(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.linear, self.spread = nn.Linear(i, o), APPNP(10, 0.1)

    def forward(self, x, edge_index):
        return self.spread(self.linear(x), edge_index)


class _NoMessages(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.linear = nn.Linear(i, o)

    def forward(self, x, edge_index):
        return self.linear(x) - x.mean()


@pytest.mark.parametrize(("kind", "count"), [("honest", 3), ("wrong", N)])
def test_a_module_may_say_itself_how_far_it_looks_and_is_checked(kind, count):
    def gnn(i, o):
        module = _Rows(i, o) if kind == "honest" else _NoMessages(i, o)
        module.hops = 0
        return module

    assert len(parts(gnn, sparse_graph())[3]) == count


class _Rows(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.linear = nn.Linear(i, o)

    def forward(self, x, edge_index):
        return self.linear(x)


def test_a_part_that_is_nearly_all_is_no_gain():
    graph = sparse_graph()
    component = build("gcn", graph, C, C, hidden_channels=8, num_layers=2, dropout=0.5)
    assert receptive_field(component.runner, graph, torch.arange(N) < 115, C)[0] is graph


class _WithEdges(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv, self.hops = GATConv(i, o, edge_dim=2), 1

    def forward(self, x, edge_index, edge_attr):
        return self.conv(x, edge_index, edge_attr)


def test_edge_features_of_the_part_are_those_of_its_edges():
    graph = sparse_graph()
    graph = dataclasses.replace(graph, edge_attr=torch.rand(graph.edge_index.size(1), 2))
    _, _, part, nodes = parts(_WithEdges, graph)
    assert len(nodes) < N
    features = dict(zip(map(tuple, graph.edge_index.T.tolist()), graph.edge_attr, strict=True))
    for (source, target), attr in zip(nodes[part.edge_index].T.tolist(), part.edge_attr, strict=True):
        assert torch.equal(features[source, target], attr)


class _Gated(nn.Module):
    """Looks three hops far with one layer, behind a gate that is closed at first."""

    def __init__(self, i, o):
        super().__init__()
        self.enter, self.conv, self.gate = nn.Linear(i, 8), GATConv(8, 8), nn.Parameter(torch.zeros(1))
        self.leave = nn.Linear(8, o)

    def forward(self, x, edge_index):
        h = self.enter(x)
        for _ in range(3):
            h = h + self.gate * self.conv(h, edge_index)
        return self.leave(h)


def test_a_gate_that_is_still_closed_does_not_hide_how_far_a_gnn_looks():
    assert parts(_Gated, sparse_graph())[2].num_nodes == N


def test_running_statistics_look_everywhere_whatever_is_declared():
    def gnn(i, o):
        module = Two(GCNConv, i, o, BatchNorm(8))
        module.hops = 3
        return module

    assert len(parts(gnn, sparse_graph())[3]) == N
