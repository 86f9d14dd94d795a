"""All samples at once against one after the other: values and gradients, for the modules that people use."""

import pytest
import torch
from torch import nn
from torch_geometric.nn import BatchNorm, GraphNorm, LayerNorm
from torch_geometric.nn.conv import (
    APPNP,
    ARMAConv,
    ChebConv,
    EdgeConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GENConv,
    GINConv,
    GraphConv,
    PNAConv,
    SAGEConv,
    SGConv,
    TAGConv,
    TransformerConv,
)
from torch_geometric.nn.models import GAT, GraphSAGE

from clgnn.collective.averaging import average
from clgnn.collective.component import Component
from clgnn.data.graph import as_graph
from clgnn.engine import elementwise, products, rows
from clgnn.engine.features import LabelledFeatures, Unsupported, num_samples, whole
from clgnn.engine.propagation import adjacency as matrix_of
from clgnn.engine.runner import agrees, at_once, in_a_loop

IN, HIDDEN, OUT, C, K = 8, 6, 4, 3, 5


class Two(nn.Module):
    """Two layers, a norm and a dropout in between."""

    def __init__(self, first, second, norm=None, width=HIDDEN):
        super().__init__()
        self.first, self.second = first, second
        self.norm = norm(width) if norm else nn.Identity()

    def forward(self, x, edge_index):
        h = nn.functional.dropout(self.norm(self.first(x, edge_index)).relu(), 0.5, self.training)
        return self.second(h, edge_index)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, o))


def pna(i, o):
    aggregators, scalers = ["mean", "max", "min", "std"], ["identity", "amplification", "attenuation"]
    return PNAConv(i, o, aggregators, scalers, deg=torch.tensor([0, 3, 9, 7, 4, 1]))


class ByHand(nn.Module):
    """Plain torch: gathers, weighs and sums by itself, in place here and there."""

    def __init__(self):
        super().__init__()
        self.enter, self.leave = nn.Linear(IN, HIDDEN), nn.Linear(2 * HIDDEN, OUT)

    def forward(self, x, edge_index):
        h = self.enter(x)
        h += 1
        message = h[edge_index[0]] * 0.5
        total = h.new_zeros(h.size(0), h.size(1)).index_add_(0, edge_index[1], message)
        return self.leave(torch.cat([nn.functional.elu(h, inplace=True), total / 2 - h], dim=-1)).sigmoid()


MODULES = {
    "gcn": lambda: Two(GCNConv(IN, HIDDEN), GCNConv(HIDDEN, OUT)),
    "sage": lambda: Two(SAGEConv(IN, HIDDEN), SAGEConv(HIDDEN, OUT)),
    "sage max": lambda: Two(SAGEConv(IN, HIDDEN, aggr="max"), SAGEConv(HIDDEN, OUT, aggr="max")),
    "gin": lambda: Two(GINConv(mlp(IN, HIDDEN), train_eps=True), GINConv(mlp(HIDDEN, OUT))),
    "gat": lambda: Two(GATConv(IN, 3, heads=2), GATConv(HIDDEN, OUT)),
    "gatv2": lambda: Two(GATv2Conv(IN, 3, heads=2), GATv2Conv(HIDDEN, OUT)),
    "transformer": lambda: Two(TransformerConv(IN, 3, heads=2), TransformerConv(HIDDEN, OUT)),
    "graphconv": lambda: Two(GraphConv(IN, HIDDEN), GraphConv(HIDDEN, OUT)),
    "pna": lambda: Two(pna(IN, HIDDEN), pna(HIDDEN, OUT)),
    "cheb": lambda: Two(ChebConv(IN, HIDDEN, K=3), ChebConv(HIDDEN, OUT, K=2)),
    "appnp": lambda: Two(GCNConv(IN, HIDDEN), APPNP(3, 0.1)),
    "sgc": lambda: Two(SGConv(IN, HIDDEN, K=2), SGConv(HIDDEN, OUT)),
    "tag": lambda: Two(TAGConv(IN, HIDDEN), TAGConv(HIDDEN, OUT)),
    "gen": lambda: Two(GENConv(IN, HIDDEN), GENConv(HIDDEN, OUT)),
    "edge": lambda: Two(EdgeConv(nn.Linear(2 * IN, HIDDEN)), EdgeConv(nn.Linear(2 * HIDDEN, OUT))),
    "batchnorm": lambda: Two(GCNConv(IN, HIDDEN), GCNConv(HIDDEN, OUT), BatchNorm),
    "layernorm": lambda: Two(GCNConv(IN, HIDDEN), GCNConv(HIDDEN, OUT), LayerNorm),
    "node layernorm": lambda: Two(GCNConv(IN, HIDDEN), GCNConv(HIDDEN, OUT), nn.LayerNorm),
    "graphnorm": lambda: Two(GCNConv(IN, HIDDEN), GCNConv(HIDDEN, OUT), GraphNorm),
    "basic sage": lambda: GraphSAGE(IN, HIDDEN, 2, OUT),
    "basic gat": lambda: GAT(IN, HIDDEN, 2, OUT, norm="batch", jk="cat"),
    "by hand": ByHand,
}


FUSED = ("gcn", "sage", "sage max", "gin", "graphconv", "sgc", "appnp", "basic sage")  # take a CSR matrix


def labels():
    classes = torch.randint(C, (24, K), generator=torch.Generator().manual_seed(0))
    return nn.functional.one_hot(classes, C).double()


def double(graph, sparse):
    g = as_graph(graph)
    x = g.x.double()
    return type(g)(x.to_sparse_csr() if sparse else x, g.edge_index, None, g.sizes)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("name", [*MODULES, *(f"{name}, adjacency" for name in FUSED)])
def test_at_once_is_one_after_the_other(name, training, sparse, graph, monkeypatch):
    """With a fixed dropout: what is dropped depends on the place of an element alone."""

    def fixed(h, p=0.5, training=True, inplace=False):
        columns = torch.arange(h.size(-1)) % 2
        return h * columns.to(h.dtype) / (1 - p) if training else h

    monkeypatch.setattr(nn.functional, "dropout", fixed)
    torch.manual_seed(1)
    name, _, adjacency = name.partition(", ")
    gnn, g, y = MODULES[name]().double().train(training), double(graph, sparse), labels()
    edges = (matrix_of(g) if adjacency else g.edge_index, {})
    parameters = [p for p in gnn.parameters() if p.requires_grad]
    before = {key: value.clone() for key, value in gnn.state_dict().items()}
    outcomes = []
    for run in (in_a_loop, at_once):
        gnn.load_state_dict(before)
        z = run(gnn, g, y, edges)
        gradients = torch.autograd.grad(z.square().sum(), parameters, allow_unused=True)
        outcomes.append((z, gradients, {k: v.clone() for k, v in gnn.state_dict().items()}))
    (z, gradients, state), (z_at_once, gradients_at_once, state_at_once) = outcomes
    assert torch.allclose(z_at_once, z, atol=1e-10)
    for a, b in zip(gradients_at_once, gradients, strict=True):
        assert (a is None) == (b is None)
        assert a is None or torch.allclose(a, b, rtol=1e-8, atol=1e-8)
    kept = [key for key in state if "num_batches_tracked" not in key]  # it counts calls, not samples
    assert all(torch.allclose(state_at_once[key], state[key]) for key in kept)


def test_the_first_layer_makes_no_copies_of_x(graph, monkeypatch):
    """X enters one product, whatever K."""
    shapes = []
    real = products.project

    def spy(x, weight):
        shapes.append(tuple(x.shape))
        return real(x, weight)

    monkeypatch.setattr(products, "project", spy)
    real_whole = rows.whole

    def apart(x):
        assert x.shared is None  # it would be written out for every sample
        return real_whole(x)

    for module in (elementwise, rows):
        monkeypatch.setattr(module, "whole", apart)
    g = as_graph(graph)
    SAGEConv(IN, OUT)(LabelledFeatures(labels().float(), g.x), g.edge_index)
    assert shapes == [(24, 5), (24, 5)]


def test_it_looks_like_one_sample():
    x = LabelledFeatures(torch.rand(4, 10, 2), torch.rand(4, 3))
    assert (x.shape, x.dim(), len(x), x.dtype) == ((4, 5), 2, 4, torch.float32)
    assert num_samples(x) == 10
    assert "10 samples" in repr(x)
    assert isinstance(x, torch.Tensor)


def test_an_unknown_operation_is_done_one_by_one():
    x = LabelledFeatures(torch.rand(4, 3, 2).double())
    out = torch.linalg.matrix_norm(x)
    assert torch.allclose(whole(out), torch.stack([torch.linalg.matrix_norm(x.each[:, k]) for k in range(3)]))
    top = x.topk(1, dim=1)
    assert torch.allclose(whole(top[0]), x.each.topk(1, dim=2)[0])


def test_what_can_not_be_done_says_so():
    x = LabelledFeatures(torch.rand(4, 3, 2))
    with pytest.raises(Unsupported):
        torch.zeros(4, 2).add_(x)
    with pytest.raises(Unsupported):
        float(x.sum())


class Impatient(nn.Module):
    """Looks at a value, as some modules do."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(IN, OUT)

    def forward(self, x, edge_index):
        return self.layer(x) * (2 if float(x[:, -1].sum()) > 6 else 1)


class Detached(torch.autograd.Function):
    """Breaks gradients unless torch itself handles it."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class OwnGradient(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(IN, OUT)

    def forward(self, x, edge_index):
        return Detached.apply(self.layer(x))


@pytest.mark.parametrize("kind", [Impatient, OwnGradient, lambda: ARMAConv(IN, OUT)])
def test_a_module_that_one_call_can_not_do_runsin_a_loop(kind, graph):
    g, y = as_graph(graph), labels().float()
    component = Component(kind(), nn.Identity())
    out = average(component, g, y)
    assert component.runner.at_once is False
    assert torch.allclose(out, in_a_loop(component.gnn, g, y, (g.edge_index, {})))


def test_the_check_leaves_no_trace(graph):
    g, y = as_graph(graph), labels().float()
    gnn = Two(GCNConv(IN, HIDDEN), GCNConv(HIDDEN, OUT), BatchNorm).train()
    before = {key: value.clone() for key, value in gnn.state_dict().items()}
    torch.manual_seed(0)
    expected = torch.rand(2)
    torch.manual_seed(0)
    assert agrees(gnn, g, y, (g.edge_index, {}))
    assert torch.equal(torch.rand(2), expected)
    assert gnn.training
    assert all(torch.equal(gnn.state_dict()[key], value) for key, value in before.items())
    assert all(p.grad is None for p in gnn.parameters())
