import pytest
import torch
from torch import nn
from torch_geometric.nn import GATConv, GraphConv

from clgnn import CollectiveClassifier
from clgnn.collective.averaging import average
from clgnn.collective.component import build
from clgnn.data.graph import as_graph
from clgnn.engine.chunks import bytes_per_sample, chunk_size


def labels(n=24, k=6, c=3):
    classes = torch.randint(c, (n, k), generator=torch.Generator().manual_seed(0))
    return torch.nn.functional.one_hot(classes, c).float()


@pytest.mark.parametrize("gnn", ["gcn", "sage", "snowball", lambda i, o: GATConv(i, o)])
def test_chunks_give_what_all_samples_together_give(gnn, graph):
    """Values and gradients; four of six samples fit into the budget at most."""
    g, y = as_graph(graph), labels()
    torch.manual_seed(0)
    component = build(gnn, g, 3, 3, hidden_channels=8, dropout=0.0).eval()
    parameters = list(component.parameters())
    whole = average(component, g, y)
    expected = torch.autograd.grad(whole.square().sum(), parameters)
    runner = component.runner
    runner.memory_budget = 1.0
    average(component, g, y)  # measures
    runner.memory_budget = 4.5 * runner.bytes_per_row * 24
    assert chunk_size(24, 6, runner.memory_budget, lambda: runner.bytes_per_row) == 4
    out = average(component, g, y)
    assert torch.allclose(out, whole, atol=1e-5)
    for a, b in zip(torch.autograd.grad(out.square().sum(), parameters), expected, strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_sample_of_a_linear_map_keeps_its_input():
    weight = torch.rand(3, 2, requires_grad=True)
    assert bytes_per_sample(lambda labels: (labels @ weight).mean(1), torch.rand(10, 4, 3)) == 10 * 3 * 4


SETTINGS = {"num_samples": 6, "num_iterations": 1, "max_epochs": 3}
TIGHT = 1e-9  # GiB: one sample at a time


def test_without_dropout_the_result_is_the_same_under_any_budget(graph, train, val):
    settings = {**SETTINGS, "dropout": 0.0}
    wide = CollectiveClassifier(**settings).fit(graph, train, val).predict_proba(graph)
    tight = CollectiveClassifier(**settings, memory_budget=TIGHT).fit(graph, train, val).predict_proba(graph)
    assert torch.allclose(wide, tight, atol=1e-4)


@pytest.mark.parametrize("budget", [TIGHT, 4.0, None])
def test_with_dropout_the_same_budget_and_seed_give_the_same_bits(budget, graph, train, val):
    """What memory is free has no say."""
    models = [CollectiveClassifier(**SETTINGS, memory_budget=budget).fit(graph, train, val) for _ in range(2)]
    assert torch.equal(*(model.predict_proba(graph) for model in models))


def test_nothing_asks_the_system_for_its_free_memory():
    assert chunk_size(10**9, 10, None, lambda: 1 / 0) == 10
    assert chunk_size(1000, 10, 4 * 2**30, lambda: 1 / 0) == 10
    assert chunk_size(10**8, 10, 4 * 2**30, lambda: 10.0) == 4


class Normalised(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv, self.norm = GraphConv(in_channels, out_channels), nn.BatchNorm1d(out_channels)

    def forward(self, x, edge_index):
        return self.norm(self.conv(x, edge_index))


def test_measuring_leaves_running_statistics_alone(graph):
    g = as_graph(graph)
    component = build(Normalised, g, 3, 3, hidden_channels=8).train()
    runner = component.runner
    runner.memory_budget = 1.0
    before = component.gnn.norm.running_mean.clone()
    runner._bytes_per_row(g, labels())
    assert runner.bytes_per_row > 0
    assert torch.equal(component.gnn.norm.running_mean, before)
