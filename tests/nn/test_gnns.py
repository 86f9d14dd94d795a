"""Our GNNs against their formulas, written the plain way."""

import pytest
import torch
from torch_geometric.nn import GCNConv, GINConv, SAGEConv

from clgnn.data.graph import Graph
from clgnn.engine.propagation import propagation
from clgnn.engine.rings import rings
from clgnn.nn import GCN, GIN, SAGE, ColumnNetwork, Krylov, NIPMean, Snowball
from clgnn.nn.snowball import _Layers

ALL = [GCN, SAGE, Snowball, Krylov, GIN, NIPMean, ColumnNetwork]


def make(kind, in_channels=8, **options):
    torch.manual_seed(0)
    return kind(in_channels, 6, 4, **options).double().eval()


def labels(n=24, k=5, c=3):
    classes = torch.randint(c, (n, k), generator=torch.Generator().manual_seed(0))
    return torch.nn.functional.one_hot(classes, c).double()


def fixed_mask(h, p):
    """What is dropped depends on the channel alone."""
    return None if p == 0 else (torch.arange(h.size(-1)) % 2).to(h.dtype).expand(h.shape) / (1 - p)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_folded_samples_are_the_loop_over_samples(kind, depth, sparse, training, graph, monkeypatch):
    """Values and gradients; x dense or sparse; in training with a fixed dropout, and all neighbours."""
    monkeypatch.setattr("clgnn.engine.dropout.dropout_mask", fixed_mask)
    monkeypatch.setattr("clgnn.nn.snowball.dropout_mask", fixed_mask)
    monkeypatch.setattr("clgnn.engine.pooled.dropout_mask", fixed_mask)
    options = {"num_neighbors": 0} if kind is SAGE else {}
    gnn, x, y = make(kind, num_layers=depth, **options).train(training), graph.x.double(), labels()
    loop = torch.stack([gnn(torch.cat([x, y[:, k]], 1), graph.edge_index) for k in range(5)]).mean(0)
    expected = torch.autograd.grad(loop.pow(2).sum(), list(gnn.parameters()))
    folded = gnn(x.to_sparse_csr() if sparse else x, graph.edge_index, labels=y)
    gradients = torch.autograd.grad(folded.pow(2).sum(), list(gnn.parameters()))
    assert torch.allclose(folded, loop, atol=1e-12)
    for gradient, wanted in zip(gradients, expected, strict=True):
        assert torch.allclose(gradient, wanted, atol=1e-10)


@pytest.mark.parametrize("kind", ALL)
def test_permuting_the_nodes_permutes_the_output(kind, graph):
    gnn, x, y = make(kind), graph.x.double(), labels()
    order = torch.randperm(24, generator=torch.Generator().manual_seed(1))
    place = torch.empty_like(order).index_copy_(0, order, torch.arange(24))
    out = gnn(x, graph.edge_index, labels=y)
    again = gnn(x[order], place[graph.edge_index], labels=y[order])
    assert torch.allclose(again, out[order], atol=1e-12)


@pytest.mark.parametrize("kind", ALL)
def test_reset_parameters_gives_other_weights_and_dropout_acts_in_training_only(kind, graph):
    gnn = make(kind).float()
    x = torch.cat([graph.x, graph.x.new_zeros(24, 3)], 1)
    before = gnn(x, graph.edge_index)
    assert torch.equal(before, gnn(x, graph.edge_index))
    assert not torch.equal(gnn.train()(x, graph.edge_index), gnn(x, graph.edge_index))
    gnn.reset_parameters()
    assert not torch.equal(before, gnn.eval()(x, graph.edge_index))


@pytest.mark.parametrize("kind", ALL)
def test_wrong_channels_are_said(kind, graph):
    with pytest.raises(ValueError, match="in_channels=7"):
        make(kind).float()(graph.x, graph.edge_index, labels=labels(c=2).float())


def test_gcn_is_that_of_pyg(graph):
    gnn = make(GCN, 5, normalization="sym")
    first, last = (GCNConv(i, o).double() for i, o in ((5, 6), (6, 4)))
    for conv, layer in zip((first, last), gnn.layers, strict=True):
        conv.lin.weight, conv.bias = layer.weight, layer.bias
    x = graph.x.double()
    expected = last(first(x, graph.edge_index).relu(), graph.edge_index)
    assert torch.allclose(gnn(x, graph.edge_index), expected, atol=1e-6)


def test_sage_is_that_of_pyg(graph):
    gnn = make(SAGE, 5)
    convs = [SAGEConv(i, o).double() for i, o in ((5, 6), (6, 4))]
    for conv, own, neighbors in zip(convs, gnn.own, gnn.neighbors, strict=True):
        conv.lin_r.weight, conv.lin_l.bias, conv.lin_l.weight = own.weight, own.bias, neighbors.weight
    x = graph.x.double()
    expected = convs[1](convs[0](x, graph.edge_index).relu(), graph.edge_index)
    assert torch.allclose(gnn(x, graph.edge_index), expected, atol=1e-12)


def test_gin_is_that_of_pyg(graph):
    gnn = make(GIN, 5)
    gnn.eps.data = torch.tensor([0.3, -0.2]).double()
    x = h = graph.x.double()
    for i in range(2):
        mlp = torch.nn.Sequential(gnn.enter[i], torch.nn.ReLU(), gnn.leave[i])
        h = GINConv(mlp, eps=gnn.eps[i].item()).double()(h, graph.edge_index)
        h = h.relu() if i == 0 else h
    assert torch.allclose(gnn(x, graph.edge_index), h, atol=1e-6)


def operator(graph):
    a = torch.zeros(24, 24).double()
    a[graph.edge_index[1], graph.edge_index[0]] = 1
    a += torch.eye(24)
    return a / a.sum(1, keepdim=True)


def test_snowball_is_its_formula(graph):
    gnn, a = make(Snowball, 5, num_layers=4), operator(graph)
    hidden = [graph.x.double()]
    for layer in gnn.layers[:-1]:
        hidden.append(torch.tanh(a @ torch.cat(hidden, 1) @ layer.weight.t() + layer.bias))
    expected = gnn.layers[-1](a @ torch.cat(hidden, 1))
    assert torch.allclose(gnn(graph.x.double(), graph.edge_index), expected, atol=1e-12)


@pytest.mark.parametrize("p", [0.0, 0.5])
def test_snowball_has_the_gradients_of_its_values(p, graph, monkeypatch):
    """By finite differences: of the labels, of what X gives, and of the weights."""
    monkeypatch.setattr("clgnn.nn.snowball.dropout_mask", fixed_mask)
    a = propagation(graph.edge_index, 24, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    shapes = [(24, 2, 3), (24, 3 * 2), (2, 3), (2, 5), (2, 7)]  # two samples, three layers of two channels
    values = [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]
    assert torch.autograd.gradcheck(lambda y, x, *weights: _Layers.apply([a] * 4, y, x, p, *weights), values)


@pytest.mark.parametrize("p", [0.25, 0.3, 0.5])
def test_snowball_in_pieces_is_the_whole(p, monkeypatch):
    """Also where later layers have fewer rows, and with the same random numbers."""
    line = torch.arange(399)
    graph = Graph(torch.rand(400, 5).double(), torch.stack([line, line + 1]), None, (400,))
    gnn = make(Snowball, 5 + 3, num_layers=2, dropout=p).train()
    part, nodes = rings(gnn, graph, torch.arange(400) % 5 == 4)
    assert len({operator.csr.size(0) for operator in part.operators}) == 3
    y, results = labels(400)[nodes], []
    for piece in (1, 2**20):
        monkeypatch.setattr("clgnn.nn.snowball.PIECE", piece)
        torch.manual_seed(1)
        out = gnn.run(part.x, part.operators, y)
        results.append([out, *torch.autograd.grad(out.pow(2).sum(), list(gnn.parameters()))])
    for in_pieces, whole in zip(*results, strict=True):
        assert torch.allclose(in_pieces, whole, atol=1e-10)


def test_krylov_is_its_formula(graph):
    gnn, a = make(Krylov, 5, num_layers=3, num_powers=3), operator(graph)
    h = graph.x.double()
    for layer in gnn.layers:
        h = torch.tanh(layer(torch.cat([h, a @ h, a @ a @ h], 1)))
    assert torch.allclose(gnn(graph.x.double(), graph.edge_index), gnn.last(h), atol=1e-12)


def mean_of_neighbours(graph):
    a = torch.zeros(24, 24).double()
    a[graph.edge_index[1], graph.edge_index[0]] = 1
    return a / a.sum(1, keepdim=True).clamp(min=1)


def test_nip_mean_is_its_formula(graph):
    gnn, a, x = make(NIPMean, 5, num_layers=3), mean_of_neighbours(graph), graph.x.double()
    h = x
    for k, (own, neighbors) in enumerate(zip(gnn.own, gnn.neighbors, strict=True)):
        h = x @ own.weight.t() + own.bias + a @ h @ neighbors.weight.t()  # x itself, in every layer
        h = h.relu() if k < 2 else h
    assert torch.allclose(gnn(x, graph.edge_index), h, atol=1e-12)


def test_column_network_is_its_formula(graph):
    gnn, a = make(ColumnNetwork, 5, num_layers=4), mean_of_neighbours(graph)
    assert torch.allclose(gnn.own.bias[6:], torch.tensor(-0.4).double())  # gates begin nearly closed
    h = gnn.first(graph.x.double()).relu()
    for _ in range(4):  # the same weights in every layer
        both = gnn.own(h) + a @ h @ gnn.neighbors.weight.t()
        gate = both[:, 6:].sigmoid()
        h = gate * both[:, :6].relu() + (1 - gate) * h
    assert torch.allclose(gnn(graph.x.double(), graph.edge_index), gnn.last(h), atol=1e-12)
    assert sum(p.numel() for p in gnn.parameters()) == sum(
        p.numel() for p in make(ColumnNetwork, 5, num_layers=9).parameters()
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_a_column_network_has_weights_for_each_type_of_edges(graph, weighted):
    generator = torch.Generator().manual_seed(0)
    kinds = torch.randint(3, (graph.edge_index.size(1),), generator=generator)
    weight = torch.rand(len(kinds), generator=generator).double() if weighted else None
    gnn, x = make(ColumnNetwork, 5, num_layers=2, num_relations=3), graph.x.double()
    means = []
    for kind in range(3):
        a = torch.zeros(24, 24).double()
        source, target = graph.edge_index[:, kinds == kind]
        a[target, source] = 1.0 if weight is None else weight[kinds == kind]
        means.append(a / a.sum(1, keepdim=True).clamp(min=1e-300))
    h = gnn.first(x).relu()
    for _ in range(2):
        around = sum(a @ h @ v.t() for a, v in zip(means, gnn.neighbors.weight.chunk(3, 1), strict=True))
        both = gnn.own(h) + around
        gate = both[:, 6:].sigmoid()
        h = gate * both[:, :6].relu() + (1 - gate) * h
    out = gnn(x, graph.edge_index, weight, kinds)
    assert torch.allclose(out, gnn.last(h), atol=1e-12)
    assert not torch.allclose(
        gnn(x, graph.edge_index, weight, 2 - kinds), out
    )  # nothing of the old types is kept
    with pytest.raises(ValueError, match="3 types, and the largest is 3; expected edge_type with 0 to 2"):
        gnn(x, graph.edge_index, weight, kinds + 1)
    with pytest.raises(ValueError, match="there are none"):
        gnn(x, graph.edge_index, weight)


def test_sage_draws_neighbours_in_training_only():
    centre = torch.stack([torch.arange(1, 12), torch.zeros(11, dtype=torch.long)])
    gnn, x = make(SAGE, 5, dropout=0.0), torch.rand(12, 5).double()
    assert torch.equal(gnn(x, centre), gnn(x, centre))
    gnn.train()
    assert not torch.equal(gnn(x, centre)[0], gnn(x, centre)[0])
    every = make(SAGE, 5, dropout=0.0, num_neighbors=0).train()
    assert torch.equal(every(x, centre), every(x, centre))
    assert torch.allclose(every(x, centre), make(SAGE, 5)(x, centre))


def test_depth_is_checked():
    for kind, layers in ((GCN, 1), (SAGE, 1), *((kind, 0) for kind in ALL[2:])):
        with pytest.raises(ValueError, match="at least"):
            make(kind, num_layers=layers)
