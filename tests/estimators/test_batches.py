"""Fits in batches, and on stored graphs: the same interface, the same bits, no hidden label."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn.models import GraphSAGE

from clgnn import CollectiveClassifier, CollectiveMultiLabelClassifier, CollectiveRegressor, baselines
from clgnn.data.stored import PARTS, StoredGraph, stored

SHORT = {"num_iterations": 2, "max_epochs": 4, "iteration_epochs": 3, "num_samples": 3, "hidden_channels": 8}


def on_disk(graph, folder):
    """The arrays of a stored graph, mapped from files."""
    found = {}
    for name in ("indptr", "indices", "x", "y"):
        np.save(folder / f"{name}.npy", getattr(graph, name))
        found[name] = np.load(folder / f"{name}.npy", mmap_mode="r")
    return StoredGraph(**found)


def weights(model):
    return [w for c in model.components_ for w in c.state_dict().values()]


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(weights(one), weights(other), strict=True))


@pytest.mark.parametrize("test_labels", ["none", "partial"])
@pytest.mark.parametrize("start", ["plain", "paper"])
def test_a_stored_graph_gives_the_bits_of_a_graph_in_memory(graph, train, val, test_labels, start, tmp_path):
    shown = train if test_labels == "partial" else None
    settings = {**SHORT, "test_labels": test_labels, "start": start}
    in_memory, in_files = (
        CollectiveClassifier(**settings).fit(data, train, val, batch_size=4)
        for data in (graph, on_disk(stored(graph), tmp_path))
    )
    assert same(in_memory, in_files)
    assert in_memory.best_score_ == in_files.best_score_
    large = on_disk(stored(graph), tmp_path)
    torch.testing.assert_close(in_files.predict_proba(large, shown), in_files.predict_proba(graph, shown))
    assert torch.equal(in_files.predict(large, shown), in_files.predict(graph, shown))
    assert in_files.score(large, val, shown) == in_files.score(graph, val, shown)
    torch.testing.assert_close(in_files.spread(large, shown), in_files.spread(graph, shown), equal_nan=True)
    assert in_files.evaluate(large, val, shown).keys() == in_files.evaluate(graph, val, shown).keys()


def test_the_split_of_a_stored_graph_is_the_default(graph, train, val):
    split = np.zeros(24, np.int8)
    split[train.numpy()], split[val.numpy()] = PARTS.index("train"), PARTS.index("val")
    arrays = stored(graph)
    large = StoredGraph(arrays.indptr, arrays.indices, arrays.x, arrays.y, split=split)
    own, given = (
        CollectiveClassifier(**SHORT).fit(large),
        CollectiveClassifier(**SHORT).fit(large, train, val),
    )
    assert same(own, given)
    assert own.best_score_ is not None


@pytest.mark.parametrize("gnn", ["gcn", "sage", "gin", "snowball", lambda i, o: GraphSAGE(i, 8, 2, o)])
@pytest.mark.parametrize("num_neighbors", [None, [2, 3]])
def test_batches_learn_with_any_gnn_and_the_same_seed_gives_the_same_bits(
    graph, train, val, gnn, num_neighbors
):
    settings = {**SHORT, "gnn": gnn, "num_layers": 2 if gnn != "snowball" else 1}

    def fit(seed):
        model = CollectiveClassifier(**settings, seed=seed)
        return model.fit(graph, train, val, batch_size=4, num_neighbors=num_neighbors)

    one, two, other = fit(0), fit(0), fit(1)
    assert same(one, two)
    assert not same(one, other)
    assert one.predict_proba(graph).shape == (24, 3)


def test_sampled_batches_are_not_sampled_again_inside(graph, train):
    def fit(**options):
        return CollectiveClassifier("sage", **SHORT).fit(graph, train, **options).components_[0].gnn

    assert fit(batch_size=4, num_neighbors=2).num_neighbors == 0
    assert fit(batch_size=4).num_neighbors == 5


def test_batches_of_numbers_of_several_labels_and_of_several_graphs(new_graph, train, val):
    one, two = new_graph(seed=0), new_graph(seed=1)
    numbers = Data(x=one.x, edge_index=one.edge_index, y=one.x[:, 0].double())
    model = CollectiveRegressor(**SHORT).fit(numbers, train, val, batch_size=4)
    large = stored(numbers)
    torch.testing.assert_close(model.predict(large), model.predict(numbers))
    several = Data(x=one.x, edge_index=one.edge_index, y=(one.x[:, :2] > 0).long())
    CollectiveMultiLabelClassifier(**SHORT).fit(several, train, val, batch_size=4)
    both = CollectiveClassifier(**SHORT, class_weight="balanced")
    both.fit([one, two], [train, train], [val, val], batch_size=8)
    assert [len(p) for p in both.predict([one, two])] == [24, 24]


@pytest.mark.parametrize("test_labels", ["none", "partial"])
@pytest.mark.parametrize("as_stored", [False, True])
def test_hidden_labels_change_not_a_bit(graph, train, val, test_labels, as_stored):
    """Every label outside of the masks is another one: weights and predictions stay."""
    scrambled = graph.clone()
    hidden = ~(train | val)
    scrambled.y = torch.where(hidden, (graph.y + 1) % 3, graph.y)
    shown = train if test_labels == "partial" else None
    found = []
    for data in (graph, scrambled):
        data = stored(data) if as_stored else data
        model = CollectiveClassifier(**SHORT, test_labels=test_labels).fit(data, train, val, batch_size=4)
        found.append((model, model.predict_proba(data, shown)))
    assert same(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


def test_batches_reach_what_the_whole_graph_reaches(new_graph):
    """On a graph that can be learned, batches learn it."""
    graph = new_graph(num_nodes=300, seed=5)
    train, val = torch.arange(300) < 150, torch.arange(300) >= 200
    settings = {"num_iterations": 1, "max_epochs": 60, "num_samples": 4}
    whole = CollectiveClassifier(**settings).fit(graph, train, val)
    batches = CollectiveClassifier(**{**settings, "max_epochs": 20}).fit(graph, train, val, batch_size=50)
    assert batches.best_score_ > whole.best_score_ - 0.1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"batch_size": 0}, "batch_size is 0; expected an integer above 0"),
        ({"batch_size": 4, "num_neighbors": [3, -1]}, r"num_neighbors is \[3, -1\]; expected integers"),
        ({"num_neighbors": 3}, "there is no batch_size"),
        ({"batch_size": 4, "num_parts": 0}, "num_parts is 0"),
        ({"batch_size": 4, "num_neighbors": [3, 3, 3]}, "the gnn looks 2 hops"),
    ],
)
def test_what_makes_no_batches_is_refused(graph, train, options, said):
    with pytest.raises(ValueError, match=said):
        CollectiveClassifier(**SHORT).fit(graph, train, **options)


def test_what_needs_the_whole_graph_is_refused_with_a_hint(graph, train):
    large = stored(graph)
    with pytest.raises(ValueError, match="start is 'pl_em', and the fit goes in batches"):
        CollectiveClassifier(**SHORT, start="pl_em").fit(large, train)
    with pytest.raises(ValueError, match="the graph is a StoredGraph, and"):
        baselines.make("pl_em").fit(large, train)
    model = CollectiveClassifier(**SHORT).fit(large, train)
    with pytest.raises(ValueError, match="only parts are; expected a Data"):
        model.embed(large)
    with pytest.raises(ValueError, match="3 feature columns; expected 5"):
        model.predict(stored(Data(x=torch.rand(24, 3), edge_index=graph.edge_index, y=graph.y)))
