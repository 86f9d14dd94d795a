import pytest
import torch
from torch import nn
from torch_geometric.nn import BatchNorm, GATConv, GraphConv, PNAConv, TransformerConv
from torch_geometric.nn import GraphSAGE as PyGSAGE

from clgnn import CollectiveClassifier
from clgnn.collective.component import build
from clgnn.data.graph import as_graph
from clgnn.nn import NAMES


class Two(nn.Module):
    """Two layers of any PyG convolution."""

    def __init__(self, conv, in_channels, out_channels, norm=False):
        super().__init__()
        self.first, self.second = conv(in_channels, 8), conv(8, out_channels)
        self.norm = BatchNorm(8) if norm else nn.Identity()

    def forward(self, x, edge_index):
        return self.second(self.norm(self.first(x, edge_index)).relu(), edge_index)


def pna(in_channels, out_channels):
    return PNAConv(in_channels, out_channels, ["mean", "max"], ["identity", "amplification"], torch.ones(8))


class MLP(nn.Sequential):
    """Plain torch, blind to the edges."""

    def __init__(self, in_channels, out_channels):
        super().__init__(nn.Linear(in_channels, 8), nn.ReLU(), nn.Linear(8, out_channels))

    def forward(self, x, edge_index):
        return super().forward(x)


FACTORIES = {
    "gat": lambda i, o: Two(GATConv, i, o),
    "transformer": lambda i, o: Two(TransformerConv, i, o),
    "graphconv": lambda i, o: Two(GraphConv, i, o),
    "pna": lambda i, o: Two(pna, i, o),
    "batchnorm": lambda i, o: Two(GraphConv, i, o, norm=True),
    "basic_gnn": lambda i, o: PyGSAGE(i, 8, num_layers=2, out_channels=o),
    "lazy": lambda i, o: GATConv(-1, o),
    "torch": MLP,
}


@pytest.mark.parametrize("name", FACTORIES)
def test_any_module_is_boosted_from_a_factory(name, graph, train, val):
    model = CollectiveClassifier(FACTORIES[name], num_samples=3, num_iterations=1, max_epochs=3)
    proba = model.fit(graph, train, val).predict_proba(graph)
    assert torch.allclose(proba.sum(1), torch.ones(24))
    assert bool(torch.isfinite(proba).all())


@pytest.mark.parametrize("name", FACTORIES)
def test_any_module_is_boosted_as_an_instance_which_is_left_as_it_was(name, graph, train, val):
    torch.manual_seed(0)
    instance = FACTORIES[name](5 + 3, 6)
    before = {k: v.clone() for k, v in instance.state_dict().items() if name != "lazy"}
    model = CollectiveClassifier(instance, num_samples=3, num_iterations=1, max_epochs=3).fit(
        graph, train, val
    )
    assert model.components_[0].head.in_features == 6
    assert all(torch.equal(v, before[k]) for k, v in instance.state_dict().items() if k in before)


def test_names_and_their_depths(graph):
    g = as_graph(graph)
    for name in NAMES:
        assert isinstance(
            build(name, g, 3, 3, hidden_channels=8, num_layers=3, dropout=0.5).head, nn.Identity
        )
    assert NAMES["tk"] is NAMES["snowball"]
    assert (
        len(build("snowball", g, 3, 3, hidden_channels=8, num_layers=None, dropout=0.5).gnn.layers) == 11
    )  # ten and the last


@pytest.mark.parametrize(
    ("gnn", "message"),
    [
        ("gnc", "gnn is 'gnc'; expected one of gcn, sage"),
        (GATConv(5, 8), "5 features and 3 label columns: 8 input channels"),
        (lambda i, o: "no module", "gave a str; expected a torch.nn.Module"),
        (lambda i, o: nn.Flatten(0), "could not be called as gnn"),
        (lambda i, o: Broken(), "gave NaN or infinite values for 24 of the 24 nodes"),
        (lambda i, o: 1 / 0, "the gnn factory failed .division by zero."),
        (lambda i, o: Pooled(), r"gave \(1, 5\); expected one row for each of the 24 nodes"),
    ],
)
def test_a_gnn_that_can_not_work_is_said_early(gnn, message, graph, train):
    with pytest.raises(ValueError, match=message):
        CollectiveClassifier(gnn, max_epochs=1).fit(graph, train)


class Broken(nn.Module):
    def forward(self, x, edge_index):
        return x / 0.0 - x / 0.0


class Pooled(nn.Module):
    def forward(self, x, edge_index):
        return x.sum(0, keepdim=True)


def test_edge_weights_that_are_not_used_are_said(graph, train):
    graph.edge_weight = torch.ones(graph.edge_index.size(1))
    with pytest.warns(UserWarning, match="GATConv takes no edge_weight"):
        CollectiveClassifier(lambda i, o: GATConv(i, o), num_iterations=0, max_epochs=1).fit(graph, train)


class WithEdges(nn.Module):
    """A sum over neighbours, weighted by a learned function of the edge's features."""

    def __init__(self, in_channels, out_channels, edge_dim=2):
        super().__init__()
        self.node, self.edge = nn.Linear(in_channels, out_channels), nn.Linear(edge_dim, 1)

    def forward(self, x, edge_index, edge_attr):
        source, target = edge_index
        messages = self.node(x)[source] * self.edge(edge_attr)
        return torch.zeros(x.size(0), messages.size(1)).index_add(0, target, messages)


@pytest.mark.parametrize("gnn", [WithEdges, lambda i, o: Gated(i, o)], ids=["by hand", "GATConv"])
def test_edge_features_reach_a_module_that_takes_them(gnn, graph, train, val):
    graph.edge_attr = torch.rand(graph.edge_index.size(1), 2, generator=torch.Generator().manual_seed(0))
    model = CollectiveClassifier(gnn, num_samples=3, num_iterations=1, max_epochs=3, keep_best=False)
    before = model.fit(graph, train, val).predict_proba(graph)
    other = graph.clone()
    other.edge_attr = graph.edge_attr.flip(0)
    assert not torch.allclose(model.predict_proba(other), before, atol=1e-4)
    lists = model.fit([graph, graph], [train, train], [val, val]).predict_proba([graph, other])
    assert not torch.allclose(lists[0], lists[1], atol=1e-4)


class Gated(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = GATConv(in_channels, out_channels, edge_dim=2)

    def forward(self, x, edge_index, edge_attr=None):
        return self.conv(x, edge_index, edge_attr)


def test_edge_features_that_are_not_used_are_said(graph, train):
    graph.edge_attr = torch.ones(graph.edge_index.size(1), 2)
    with pytest.warns(UserWarning, match="GCN takes no edge_attr"):
        CollectiveClassifier(num_iterations=0, max_epochs=1).fit(graph, train)
