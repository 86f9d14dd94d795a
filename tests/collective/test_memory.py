import pytest
import torch
from torch_geometric.nn import GATConv

from clgnn import CollectiveClassifier
from clgnn.collective.averaging import _chunk, average
from clgnn.collective.memory import bytes_a_sample, free_bytes
from clgnn.component import build
from clgnn.graph import as_graph


def labels(n=24, k=6, c=3):
    classes = torch.randint(c, (n, k), generator=torch.Generator().manual_seed(0))
    return torch.nn.functional.one_hot(classes, c).float()


@pytest.mark.parametrize("gnn", ["gcn", "sage", "tk", lambda i, o: GATConv(i, o)])
def test_chunks_give_what_all_samples_together_give(gnn, graph):
    """Values and gradients; four of six samples fit into the budget at most."""
    g, y = as_graph(graph), labels()
    torch.manual_seed(0)
    component = build(gnn, g.x, g.edge_index, 3, 3, 8, None, 0.0).eval()
    parameters = list(component.parameters())
    whole = average(component, g, y)
    expected = torch.autograd.grad(whole.square().sum(), parameters)
    component.memory_budget = 1.0
    average(component, g, y)  # measures
    component.memory_budget = 4.5 * component.bytes_a_row * 24
    assert _chunk(component, g, y, None) == 4
    out = average(component, g, y)
    assert torch.allclose(out, whole, atol=1e-5)
    for a, b in zip(torch.autograd.grad(out.square().sum(), parameters), expected, strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_sample_of_a_linear_map_keeps_its_input():
    weight = torch.rand(3, 2, requires_grad=True)
    assert bytes_a_sample(lambda labels: (labels @ weight).mean(1), torch.rand(10, 4, 3)) == 10 * 3 * 4


def test_the_system_tells_what_is_free():
    assert free_bytes(torch.device("cpu")) > 2**20


def test_less_memory_is_kept_under_a_budget(graph, train, val):
    """The same predictions, whatever the budget."""
    settings = {"num_samples": 6, "num_iterations": 1, "max_epochs": 3, "dropout": 0.0}
    wide = CollectiveClassifier(**settings).fit(graph, train, val).predict_proba(graph)
    tight = CollectiveClassifier(**settings, memory_budget=1e-9).fit(graph, train, val).predict_proba(graph)
    assert torch.allclose(wide, tight, atol=1e-4)
