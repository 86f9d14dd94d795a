"""Features and types of edges reach the modules that take them, and only those."""

import pytest
import torch
from torch import nn
from torch_geometric.nn import GINEConv, RGCNConv, TransformerConv

from clgnn import CollectiveClassifier
from clgnn.data.graph import as_graph
from clgnn.engine.runner import Runner, in_a_loop

LITTLE = {"num_iterations": 1, "max_epochs": 6, "iteration_epochs": 4, "num_samples": 3}


class Typed(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.conv = RGCNConv(channels, out, num_relations=2)

    def forward(self, x, edge_index, edge_type):
        return self.conv(x, edge_index, edge_type).relu()


class Featured(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.first = TransformerConv(channels, out, edge_dim=2)
        self.second = GINEConv(nn.Linear(out, out), edge_dim=2)

    def forward(self, x, edge_index, edge_attr):
        return self.second(self.first(x, edge_index, edge_attr).relu(), edge_index, edge_attr)


@pytest.fixture
def rich(graph):
    generator = torch.Generator().manual_seed(0)
    count = graph.edge_index.size(1)
    graph.edge_type = torch.randint(2, (count,), generator=generator)
    graph.edge_attr = torch.rand(count, 2, generator=generator)
    return graph


@pytest.mark.parametrize("kind", [Typed, Featured])
def test_one_call_or_a_loop_gives_the_same(rich, kind):
    torch.manual_seed(0)
    module, graph = kind(8, 6), as_graph(rich)
    labels = torch.rand(graph.num_nodes, 4, 3)
    runner = Runner(module)
    edges = graph.edge_index, runner.edge_arguments(graph)
    assert torch.allclose(runner.mean(graph, labels), in_a_loop(module, graph, labels, edges), atol=1e-5)
    assert set(edges[1]) == ({"edge_type"} if kind is Typed else {"edge_attr"})


@pytest.mark.parametrize(("kind", "name"), [(Typed, "edge_type"), (Featured, "edge_attr")])
def test_they_count_in_training_and_prediction(rich, kind, name):
    model = CollectiveClassifier(gnn=kind, **LITTLE)
    with pytest.warns(UserWarning, match="takes no edge_"):  # of the other kind
        model.fit(rich, range(12), range(12, 18))
    before = model.predict_proba(rich)
    assert torch.equal(before, model.predict_proba(rich))
    other = rich.clone()
    other[name] = 1 - other[name]
    assert not torch.allclose(model.predict_proba(other), before)


def test_hidden_labels_change_nothing(rich):
    other = rich.clone()
    other.y[18:] = (other.y[18:] + 1) % 3
    del rich.edge_attr, other.edge_attr
    found = [
        CollectiveClassifier(gnn=Typed, test_labels="partial", **LITTLE)
        .fit(one, range(12), range(12, 18))
        .predict_proba(one, range(12))
        for one in (rich, other)
    ]
    assert torch.equal(*found)


def test_several_graphs_and_parts_of_them(rich):
    del rich.edge_attr
    model = CollectiveClassifier(gnn=Typed, **LITTLE).fit([rich, rich], [range(12), range(3)])
    one, two = model.predict_proba([rich, rich])
    assert one.shape == two.shape == (24, 3)
    assert torch.allclose(model.predict_proba(rich), one, atol=0.2)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda g: g.edge_type[:-1], "expected one integer for each edge"),
        (lambda g: g.edge_type.float(), "expected one integer for each edge"),
    ],
)
def test_wrong_types_are_refused(rich, wrong, said):
    rich.edge_type = wrong(rich)
    with pytest.raises(ValueError, match=said):
        as_graph(rich)


def test_some_graphs_with_types_and_some_without_are_refused(rich):
    other = rich.clone()
    del other.edge_type
    with pytest.raises(ValueError, match="some graphs have edge_type and some do not"):
        as_graph([rich, other])
