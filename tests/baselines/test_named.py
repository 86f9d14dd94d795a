"""HOPF, column networks, relational pooling, DCI and SPN: equations, and graphs with a known answer."""

import itertools

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import coalesce

import clgnn
from clgnn import CollectiveClassifier, baselines
from clgnn.baselines.crf import belief_propagation, pairs_of
from clgnn.baselines.deep_collective_inference import repeated
from clgnn.baselines.sequences import Neighbors
from clgnn.collective.sampling import identifiers
from clgnn.data.graph import as_graph


def undirected(pairs):
    return coalesce(torch.cat([pairs, pairs.flip(0)], dim=1))


def chains(count=40, length=8, seed=0):
    """Paths; all nodes of one have the class that the feature of its first node tells."""
    y = torch.randint(2, (count,), generator=torch.Generator().manual_seed(seed)).repeat_interleave(length)
    node = torch.arange(count * length).view(count, length)
    x = torch.zeros(count * length, 2)
    x[node[:, 0], y[node[:, 0]]] = 1
    pairs = torch.stack([node[:, :-1].flatten(), node[:, 1:].flatten()])
    return Data(x=x, edge_index=undirected(pairs), y=y), node


def split_of(node):
    """The nodes of half of the chains to learn from, of a quarter to choose by, and of a quarter to test."""
    count = len(node)
    parts = node[: count // 2], node[count // 2 : 3 * count // 4], node[3 * count // 4 :]
    return [part.flatten() for part in parts]


# HOPF and column networks


def test_stages_of_hopf_hear_of_what_is_further_than_its_hops():
    data, node = chains()
    train, val, test = split_of(node)
    far = test.view(-1, 8)[:, 5:].flatten()
    settings = {"test_labels": "none", "max_epochs": 200, "iteration_epochs": 100, "dropout": 0.0}
    model = baselines.HOPF(num_iterations=3, **settings).fit(data, train, val)
    assert model.score(data, test) == 1
    plain = CollectiveClassifier("nip", num_iterations=0, max_epochs=200, dropout=0.0).fit(data, train, val)
    assert plain.score(data, far) < 0.8  # two hops


def test_hopf_is_collective_learning_with_its_kernel_and_soft_labels(graph, split):
    settings = {"num_iterations": 1, "max_epochs": 10, "test_labels": "partial"}
    model = baselines.HOPF(**settings).fit(graph, split.train_mask)
    same = CollectiveClassifier("nip", labels="soft", **settings).fit(graph, split.train_mask)
    observed = split.observed_mask
    assert torch.equal(model.predict_proba(graph, observed), same.predict_proba(graph, observed))


def test_a_column_network_looks_as_far_as_it_is_deep():
    data, node = chains()
    train, val, test = split_of(node)
    settings = {"max_epochs": 200, "dropout": 0.0, "weight_decay": 0.0}
    deep = baselines.ColumnNetworkClassifier(num_layers=8, **settings).fit(data, train, val)
    assert deep.score(data, test) > 0.95
    shallow = baselines.ColumnNetworkClassifier(num_layers=2, **settings).fit(data, train, val)
    assert shallow.score(data, test.view(-1, 8)[:, 5:].flatten()) < 0.8


def test_a_column_network_tells_types_of_edges_apart_and_keeps_that(tmp_path):
    """Each node has one neighbour of each type; only the first one's feature is its class."""
    generator = torch.Generator().manual_seed(0)
    bits = torch.randint(2, (200, 2), generator=generator)
    told = torch.arange(200).repeat(2)  # node i hears of two others, 200 + i and 400 + i
    edge_index = torch.stack([torch.arange(200, 600), told])
    x = torch.cat([torch.zeros(200, 2), torch.eye(2)[bits.t().flatten()]])
    y = torch.cat([bits[:, 0], torch.full((400,), -1)])
    types = torch.arange(2).repeat_interleave(200)
    data = Data(x=x, edge_index=edge_index, y=y, edge_type=types)
    settings = {"max_epochs": 150, "dropout": 0.0, "weight_decay": 0.0, "num_layers": 1}
    model = baselines.ColumnNetworkClassifier(**settings).fit(data, range(100), range(100, 150))
    assert model.score(data, range(150, 200)) == 1
    untyped = Data(x=x, edge_index=edge_index, y=y)
    without = baselines.ColumnNetworkClassifier(**settings).fit(untyped, range(100), range(100, 150))
    assert without.score(untyped, range(150, 200)) < 0.9
    model.save(tmp_path / "model")
    again = clgnn.load(tmp_path / "model")
    assert torch.equal(again.predict_proba(data), model.predict_proba(data))


# Relational pooling


def rings(sizes):
    """Rings without features; the class of a node tells whether its ring is a triangle."""
    pairs, first = [], 0
    for size in sizes:
        around = torch.arange(size)
        pairs.append(first + torch.stack([around, (around + 1) % size]))
        first += size
    y = torch.tensor([int(size == 3) for size in sizes]).repeat_interleave(torch.tensor(sizes))
    return Data(x=torch.ones(first, 1), edge_index=undirected(torch.cat(pairs, dim=1)), y=y)


def test_identifiers_tell_triangles_from_hexagons():
    """No GNN on X can: all nodes look alike to it."""
    data, other = rings([3, 6, 3] * 20), rings([6, 3, 3] * 20)
    nodes = range(data.num_nodes)
    settings = {"max_epochs": 20, "dropout": 0.0, "weight_decay": 0.0, "hidden_channels": 32}
    plain = CollectiveClassifier("gin", num_iterations=0, **settings).fit(data, nodes)
    assert plain.score(other, nodes) == pytest.approx(0.5)
    model = baselines.RelationalPooling("gin", iteration_epochs=300, **settings).fit(data, nodes)
    assert model.score(other, nodes) > 0.9


def test_identifiers_are_numberings():
    drawn = identifiers(6, 50, 3, torch.Generator().manual_seed(0))
    assert drawn.shape == (6, 50, 3)
    assert bool((drawn.sum(dim=2) == 1).all())
    assert bool((drawn.sum(dim=0) == 2).all())  # six nodes modulo three
    assert not torch.equal(drawn[:, 0], drawn[:, 1])
    unique = identifiers(4, 9, 4, torch.Generator().manual_seed(0))
    assert bool((unique.sum(dim=0) == 1).all())


def test_one_numbering_for_a_step_and_many_for_a_prediction(graph, split, monkeypatch):
    seen = []
    draw = identifiers

    def noted(num_nodes, num_samples, columns, generator):
        seen.append((num_samples, columns))
        return draw(num_nodes, num_samples, columns, generator)

    monkeypatch.setattr("clgnn.collective.sampling.identifiers", noted)
    model = baselines.RelationalPooling(num_samples=7, num_identifiers=5, max_epochs=4, iteration_epochs=3)
    model.fit(graph, split.train_mask, split.val_mask)
    assert seen.count((1, 5)) == 3
    assert set(seen) == {(1, 5), (7, 5)}
    assert model.components_[1].columns == 5


# Deep collective inference


def test_a_sequence_has_every_neighbour_once_and_the_node_last():
    pairs = torch.tensor([[0, 0, 0, 1, 3], [1, 2, 3, 2, 3]])
    around = Neighbors.of(as_graph(Data(x=torch.ones(5, 1), edge_index=undirected(pairs))))
    generator = torch.Generator().manual_seed(0)
    nodes = torch.arange(5).repeat(200)
    index, lengths = around.sequences(nodes, generator, most=10)
    neighbours = [{1, 2, 3}, {0, 2}, {0, 1}, {0}, set()]
    orders = set()
    for node, row, length in zip(nodes.tolist(), index.tolist(), lengths.tolist(), strict=True):
        assert row[length - 1] == node
        assert len(row[: length - 1]) == len(neighbours[node])
        assert set(row[: length - 1]) == neighbours[node]
        orders |= {tuple(row[:3])} if node == 0 else set()
    assert orders == set(itertools.permutations((1, 2, 3)))
    index, lengths = around.sequences(nodes, generator, most=1)
    assert index.shape == (1000, 2)
    assert set(index[nodes == 0, 0].tolist()) == {1, 2, 3}
    keys = around.keys(generator)
    whole, part = around.sequences(torch.arange(5), keys, 9), around.sequences(torch.tensor([2, 0]), keys, 9)
    assert whole[0][0].tolist() == part[0][1].tolist()  # whoever else is there


def test_heavier_neighbours_are_kept_more_often():
    data = Data(
        x=torch.ones(3, 1), edge_index=torch.tensor([[1, 2], [0, 0]]), edge_weight=torch.tensor([1.0, 9])
    )
    around = Neighbors.of(as_graph(data))
    nodes = torch.zeros(4000, dtype=torch.long)
    index, _ = around.sequences(nodes, torch.Generator().manual_seed(0), most=1)
    assert (index[:, 0] == 2).float().mean().item() == pytest.approx(0.9, abs=0.02)


def test_rare_classes_are_repeated():
    y = torch.tensor([0] * 7 + [1] * 3 + [2] + [-1] * 4)
    nodes = repeated(y, torch.Generator().manual_seed(0))
    assert y[nodes].bincount().tolist() == [7, 7, 7]
    counts = nodes.bincount(minlength=11)
    assert counts[:7].tolist() == [1] * 7
    assert sorted(counts[7:10].tolist()) == [2, 2, 3]


def test_repeating_rare_classes_raises_the_balanced_accuracy():
    generator = torch.Generator().manual_seed(0)
    y = (torch.rand(600, generator=generator) < 0.1).long()
    x = torch.randn(600, 1, generator=generator) + y.unsqueeze(1)
    data = Data(x=x, edge_index=torch.empty(2, 0, dtype=torch.long), y=y)
    settings = {"num_iterations": 0, "max_epochs": 60, "dropout": 0.0}
    scores = [
        baselines.DeepCollectiveInference(balance=balance, **settings)
        .fit(data, range(300))
        .score(data, range(300, 600), metric="balanced_accuracy")
        for balance in (False, True)
    ]
    assert scores[1] > scores[0] + 0.05


def pairs_with_a_tellable_end(count=40):
    """Pairs of the same class that nothing tells but the label of the other end."""
    y = torch.arange(count).remainder(2).repeat_interleave(2)
    even = torch.arange(0, 2 * count, 2)
    return Data(x=torch.ones(2 * count, 1), edge_index=undirected(torch.stack([even, even + 1])), y=y)


def test_dci_takes_the_labels_of_neighbours_and_never_its_own():
    data = pairs_with_a_tellable_end()
    settings = {"num_iterations": 0, "max_epochs": 60, "dropout": 0.0, "num_orders": 1}
    model = baselines.DeepCollectiveInference(**settings).fit(data, range(40))
    assert model.score(data, range(41, 80, 2), observed_mask=range(40, 80, 2)) == 1
    before = model.predict_proba(data, observed_mask=range(40, 80, 2))
    other = data.clone()
    other.y = 1 - data.y
    after = model.predict_proba(other, observed_mask=range(40, 80, 2))
    assert torch.equal(before[40::2], after[40::2])  # an observed node does not see its own label
    assert not torch.allclose(before[41::2], after[41::2])


def test_iterations_of_dci_hear_of_what_is_further():
    data, node = chains(length=4)
    train, val, test = split_of(node)
    settings = {"test_labels": "none", "max_epochs": 150, "patience": 150, "dropout": 0.0, "num_orders": 1}
    model = baselines.DeepCollectiveInference(num_iterations=3, **settings).fit(data, train, val)
    assert model.score(data, test) > 0.95
    alone = baselines.DeepCollectiveInference(num_iterations=0, **settings).fit(data, train, val)
    assert alone.score(data, test.view(-1, 4)[:, 2:].flatten()) < 0.8
    stages = list(model.staged_predict_proba(data))
    assert len(stages) == model.best_iteration_ + 1
    assert torch.equal(stages[-1], model.predict_proba(data))


# SPN


def by_enumeration(nodes, edges, pairs):
    """The marginals of a field, from all its states."""
    count, classes = nodes.shape
    node, joint = torch.zeros_like(nodes), torch.zeros_like(edges)
    for state in itertools.product(range(classes), repeat=count):
        y = torch.tensor(state)
        score = nodes[torch.arange(count), y].sum()
        score = (score + edges[torch.arange(len(edges)), y[pairs[0]], y[pairs[1]]].sum()).exp()
        node[torch.arange(count), y] += score
        joint[torch.arange(len(edges)), y[pairs[0]], y[pairs[1]]] += score
    return node / node.sum(1, keepdim=True), joint / joint.sum((1, 2), keepdim=True)


def test_belief_propagation_is_exact_on_trees():
    generator = torch.Generator().manual_seed(0)
    pairs = torch.tensor([[0, 1, 1, 3], [1, 2, 3, 4]])  # and node 5 alone
    nodes = torch.randn(6, 3, generator=generator).double()
    edges = torch.randn(4, 3, 3, generator=generator).double()
    found = belief_propagation(nodes, edges, pairs, num_steps=4)
    for given, expected in zip(found, by_enumeration(nodes, edges, pairs), strict=True):
        assert torch.allclose(given, expected, atol=1e-10)
    own = torch.randn(6, 3, generator=generator).double()
    alone, _ = belief_propagation(nodes, edges, pairs, 4, own=own)
    assert torch.allclose(alone[5], own[5].softmax(0))
    changed = nodes.clone()
    changed[2] = own[2]
    assert torch.allclose(alone[2], belief_propagation(changed, edges, pairs, 4)[0][2])


def test_pairs_are_edges_with_a_weight_and_two_ends():
    data = Data(
        x=torch.ones(4, 1),
        edge_index=torch.tensor([[0, 1, 2, 3, 0], [1, 0, 2, 1, 3]]),
        edge_weight=torch.tensor([1.0, 1.0, 1.0, 2.0, 0.0]),
    )
    assert pairs_of(as_graph(data)).tolist() == [[0, 1], [1, 3]]


def alternating(count=300, loud=0.3, seed=0):
    """A path whose classes alternate; the feature of a loud node tells its class, the others' nothing."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(count).remainder(2)
    heard = torch.rand(count, generator=generator) < loud
    x = torch.nn.functional.one_hot(y, 2).float() * heard.unsqueeze(1)
    line = torch.arange(count - 1)
    return Data(x=x, edge_index=undirected(torch.stack([line, line + 1])), y=y)


def test_spn_learns_what_edges_say():
    """The field knows that neighbours differ, and carries it further than the GNN's two hops."""
    data, other = alternating(), alternating(seed=1)
    base = CollectiveClassifier("gcn", num_iterations=0, max_epochs=100)
    settings = {"test_labels": "none", "num_steps": 20, "edge_epochs": 100, "dropout": 0.0, "lr": 0.05}
    model = baselines.SPN(base, **settings).fit(data, range(150), range(150, 300))
    assert model.strength_ > 0
    nodes = range(300)
    assert model.score(other, nodes) > model.base_.score(other, nodes) + 0.1


def test_spn_without_labelled_edges_is_its_node_gnn(graph, split):
    apart = torch.arange(0, graph.num_nodes, 20)  # neighbours are at most three steps away
    base = CollectiveClassifier(num_iterations=0, max_epochs=20)
    model = baselines.SPN(base).fit(graph, apart, split.val_mask & ~torch.isin(torch.arange(400), apart))
    assert model.strength_ == 0
    expected = model.base_.predict_proba(graph)
    assert torch.allclose(model.predict_proba(graph, apart), expected, atol=1e-6)


def test_an_observed_label_counts_for_the_neighbours_of_a_node_and_not_for_itself():
    data = pairs_with_a_tellable_end()
    base = CollectiveClassifier(num_iterations=0, max_epochs=5)
    model = baselines.SPN(base, edge_strength=1.0, dropout=0.0, lr=0.05).fit(data, range(40))
    observed = range(40, 80, 2)
    assert model.score(data, range(41, 80, 2), observed_mask=observed) == 1
    given, alone = model.predict_proba(data, observed), model.predict_proba(data)
    assert torch.allclose(given[40::2], alone[40::2], atol=1e-5)


def test_refinement_raises_the_likelihood(graph, split):
    losses = []
    base = CollectiveClassifier(num_iterations=0, max_epochs=30, dropout=0.0)
    model = baselines.SPN(base, edge_strength=0.5, refine_epochs=30, dropout=0.0)
    model.fit(
        graph,
        split.train_mask,
        split.val_mask,
        on_epoch=lambda epoch: losses.append(epoch.loss) if epoch.iteration == 2 else None,
    )
    assert len(losses) == 30
    assert "refine_epoch" in model.history_


class OwnModule(torch.nn.Module):
    def __init__(self, in_channels):
        super().__init__()
        self.linear = torch.nn.Linear(in_channels, 8)

    def forward(self, x, edge_index):
        return self.linear(x).index_add(0, edge_index[1], self.linear(x)[edge_index[0]])


def test_a_module_of_ones_own_has_a_channel_for_each_identifier(graph, split, tmp_path):
    settings = {"num_identifiers": 5, "max_epochs": 5, "num_samples": 3}
    model = baselines.RelationalPooling(OwnModule(2 + 5), **settings).fit(
        graph, split.train_mask, split.val_mask
    )
    assert model.predict_proba(graph).shape == (graph.num_nodes, 2)
    model.save(tmp_path / "model")
    again = baselines.load(tmp_path / "model", gnn=OwnModule(2 + 5))
    assert torch.equal(again.predict_proba(graph), model.predict_proba(graph))
    made = baselines.RelationalPooling(lambda i, o: OwnModule(i), keep_best=False, **settings)
    made.fit(graph, split.train_mask)
    assert [component.columns for component in made.components_] == [0, 5]
    assert bool((made.spread(graph) > 0).any())
