"""The boosted GNN begins as the function that the plain one is."""

import pytest
import torch
from torch import nn
from torch_geometric.nn import GAT, GIN, GCNConv, GraphSAGE, TAGConv, TransformerConv
from torch_geometric.nn import GCN as PyGGCN

from clgnn.collective.averaging import average
from clgnn.collective.component import build
from clgnn.collective.start import Start, widened
from clgnn.data.graph import as_graph
from clgnn.nn import NAMES

C = 3


class Dense(nn.Module):
    """Its hidden width follows its input: there is no telling which inputs are new."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.enter, self.leave = (
            nn.Linear(in_channels, 2 * in_channels),
            nn.Linear(2 * in_channels, out_channels),
        )

    def forward(self, x, edge_index):
        return self.leave(self.enter(x).relu())


class Normalised(nn.Module):
    """Looks at all of its inputs together: zeros for the weights are not enough."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.linear = nn.Linear(in_channels, out_channels)

    def forward(self, x, edge_index):
        return self.linear(x / (x.norm(dim=1, keepdim=True) + 1))


THEIRS = {
    "GAT": lambda i, o: GAT(i, 8, num_layers=2, out_channels=o, heads=2),
    "GCN": lambda i, o: PyGGCN(i, 8, num_layers=2, out_channels=o),
    "GraphSAGE": lambda i, o: GraphSAGE(i, 8, num_layers=3, out_channels=o, norm="BatchNorm"),
    "GIN": lambda i, o: GIN(i, 8, num_layers=2, out_channels=o),
    "jumping": lambda i, o: PyGGCN(i, 8, num_layers=2, out_channels=o, jk="cat"),
    "TAGConv": lambda i, o: TAGConv(i, o),
    "TransformerConv": lambda i, o: TransformerConv(i, o, heads=2, concat=False),
}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("gnn", [*NAMES, *THEIRS])
def test_the_widened_gnn_is_the_plain_one_whatever_the_labels(gnn, sparse, graph):
    if sparse:
        graph.x = (graph.x * (graph.x > 1.5)).to_sparse_csr()
    g = as_graph(graph)
    torch.manual_seed(0)
    plain, wide = (build(THEIRS.get(gnn, gnn), g, columns, 2, hidden_channels=8) for columns in (0, C))
    made = widened(plain, wide, g, C)
    assert made is not None
    labels = 5 * torch.randn(24, 4, C)
    found = average(made.eval(), g, labels)
    assert torch.allclose(found, Start.plain(plain).predict(g, graph.y), atol=1e-5)
    assert not torch.allclose(average(wide.eval(), g, labels), found, atol=1e-3)
    loss = average(made, g, labels).square().sum()
    gradients = torch.autograd.grad(loss, list(made.parameters()), allow_unused=True)
    state = dict(zip((name for name, _ in made.named_parameters()), gradients, strict=True))
    name = next(n for n, p in made.named_parameters() if p.dim() == 2)
    new = state[name][..., -C:] if gnn != "snowball" else state[name]
    assert float(new.abs().max()) > 0  # the new inputs can be learned


class Scaled(nn.Module):
    """A norm of the inputs comes first."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.norm, self.conv = nn.BatchNorm1d(in_channels), GCNConv(in_channels, out_channels)

    def forward(self, x, edge_index):
        return self.conv(self.norm(x), edge_index)


def test_labels_behind_a_norm_of_the_inputs_can_be_learned(graph):
    g = as_graph(graph)
    plain, wide = (build(Scaled, g, columns, 2) for columns in (0, C))
    made = widened(plain, wide, g, C)
    labels = torch.randn(24, 4, C)
    assert torch.allclose(average(made.eval(), g, labels), Start.plain(plain).predict(g, graph.y), atol=1e-5)
    average(made.train(), g, labels).square().sum().backward()
    (weight,) = (p for name, p in made.named_parameters() if name.endswith("conv.lin.weight"))
    assert float(weight.detach()[:, -C:].abs().max()) == 0
    assert float(weight.grad[:, -C:].abs().max()) > 0


@pytest.mark.parametrize("gnn", [Dense, Normalised])
def test_what_can_not_be_made_equal_is_left_alone(gnn, graph):
    g = as_graph(graph)
    plain, wide = (build(gnn, g, columns, 2, hidden_channels=8) for columns in (0, C))
    before = {name: value.clone() for name, value in wide.state_dict().items()}
    assert widened(plain, wide, g, C) is None
    assert all(torch.equal(value, before[name]) for name, value in wide.state_dict().items())


def test_a_module_with_label_columns_all_along_gets_zeros_for_them(graph):
    g = as_graph(graph)
    torch.manual_seed(0)
    plain, wide = (build(GAT(5 + C, 12, num_layers=2, out_channels=4), g, C, 2) for _ in range(2))
    made = widened(plain, wide, g, C)
    found = average(made.eval(), g, torch.rand(24, 4, C))
    assert torch.allclose(found, Start.plain(plain).predict(g, graph.y), atol=1e-5)
