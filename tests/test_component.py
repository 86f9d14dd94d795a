import pytest
import torch
from torch import nn
from torch_geometric.nn import BatchNorm, GATConv, GraphConv, PNAConv, TransformerConv
from torch_geometric.nn import GraphSAGE as PyGSAGE

from clgnn import CollectiveClassifier
from clgnn.component import build
from clgnn.graph import as_graph


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
    for name in ("gcn", "sage", "tk", "krylov", "gin"):
        assert isinstance(build(name, g.x, g.edge_index, 3, 3, 8, 3, 0.5).head, nn.Identity)
    assert len(build("tk", g.x, g.edge_index, 3, 3, 8, None, 0.5).gnn.layers) == 11  # ten and the last


@pytest.mark.parametrize(
    ("gnn", "message"),
    [
        ("gnc", "gnn is 'gnc'; expected one of gcn, sage"),
        (GATConv(5, 8), "5 features and 3 label columns: 8 input channels"),
        (lambda i, o: "no module", "gave a str; expected a torch.nn.Module"),
        (lambda i, o: nn.Flatten(0), "could not be called as gnn"),
        (lambda i, o: Pooled(), r"gave \(1, 8\); expected a row for each of the 24 nodes"),
    ],
)
def test_a_gnn_that_can_not_work_is_said_early(gnn, message, graph, train):
    with pytest.raises(ValueError, match=message):
        CollectiveClassifier(gnn, max_epochs=1).fit(graph, train)


class Pooled(nn.Module):
    def forward(self, x, edge_index):
        return x.sum(0, keepdim=True)


def test_edge_weights_that_are_not_used_are_said(graph, train):
    graph.edge_weight = torch.ones(graph.edge_index.size(1))
    with pytest.warns(UserWarning, match="GATConv takes no edge_weight"):
        CollectiveClassifier(lambda i, o: GATConv(i, o), num_iterations=0, max_epochs=1).fit(graph, train)
