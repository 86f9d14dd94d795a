"""Each method against its own equations."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import CorrectAndSmooth as Post

from clgnn import CollectiveClassifier, baselines
from clgnn.baselines.arrays import adjacency, features, one_hot, softmax
from clgnn.baselines.ica import AGGREGATORS, aggregate, schedule
from clgnn.data.graph import as_graph


def path(num_nodes, x=None, y=None):
    line = torch.arange(num_nodes - 1)
    edges = torch.stack([torch.cat([line, line + 1]), torch.cat([line + 1, line])])
    return Data(
        x=torch.ones(num_nodes, 1) if x is None else x,
        edge_index=edges,
        y=torch.zeros(num_nodes, dtype=torch.long) if y is None else y,
    )


# ICA


def naive_sweeps(model, graph, observed, num_sweeps):
    """One node after the other, as the papers have it."""
    x, a = features(graph), adjacency(graph).toarray()
    num_nodes, num_classes = a.shape[0], len(model.classes_)
    start = x @ model.local_coef_.numpy().T + model.local_intercept_.numpy()
    now = np.where(observed >= 0, observed, start.argmax(axis=1))
    coef, intercept = model.coef_.numpy(), model.intercept_.numpy()

    def scores(node):
        seen = aggregate(a[node][None] @ one_hot(now, num_classes), model.aggregator_)[0]
        return coef @ np.concatenate([x[node], seen]) + intercept

    rng = np.random.default_rng([model.seed, 1])
    for _ in range(num_sweeps):
        for node in np.argsort(rng.permutation(num_nodes)):
            if observed[node] < 0:
                now[node] = scores(node).argmax()
    return softmax(np.stack([scores(node) for node in range(num_nodes)]))


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_ica_sweeps_equal_sequential_updates(graph, split, aggregator):
    model = baselines.ICA(aggregator=aggregator, C=1.0, num_sweeps=3).fit(graph, split.train_mask)
    observed = np.where(split.observed_mask, (graph.y.numpy() == 7).astype(int), -1)
    expected = naive_sweeps(model, as_graph(graph), observed, 3)
    given = model.predict_proba(graph, split.observed_mask).numpy()
    assert np.allclose(given, expected, atol=1e-5)


def test_ica_sweeps_equal_sequential_updates_on_a_directed_graph():
    rng = np.random.default_rng(0)
    edges = torch.from_numpy(rng.integers(0, 60, size=(2, 200)))
    y = torch.from_numpy(rng.integers(0, 3, 60))
    data = Data(x=torch.from_numpy(rng.normal(size=(60, 4))).float(), edge_index=edges, y=y)
    model = baselines.ICA(aggregator="count", C=1.0, num_sweeps=4).fit(data, range(30))
    expected = naive_sweeps(model, as_graph(data), np.full(60, -1), 4)
    assert np.allclose(model.predict_proba(data).numpy(), expected, atol=1e-5)


def test_schedule_has_every_free_node_once_after_its_predecessors():
    rng = np.random.default_rng(0)
    a = sp.csr_array(rng.random((200, 200)) < 0.03, dtype=float)
    a = sp.csr_array(a + a.T)
    rank, free = rng.permutation(200), rng.random(200) < 0.8
    order, ends = schedule(a, rank, free)
    assert sorted(order) == np.flatnonzero(free).tolist()
    step = np.full(200, -1)
    step[order] = np.searchsorted(ends, np.arange(len(order)), side="right")
    row, col = a.tocoo().coords
    both = free[row] & free[col] & (row != col)
    assert (np.sign(step[row] - step[col]) == np.sign(rank[row] - rank[col]))[both].all()
    assert len(ends) < 40


def test_ica_keeps_observed_labels_in_place():
    """Two classes that nothing tells apart but the observed neighbour."""
    y = torch.tensor([0, 0, 1, 1] * 10)
    edges = torch.stack([torch.arange(0, 40, 2), torch.arange(1, 40, 2)])
    edges = torch.cat([edges, edges.flip(0)], dim=1)
    data = Data(x=torch.ones(40, 1), edge_index=edges, y=y)
    model = baselines.ICA(C=100.0, aggregator="count").fit(data, range(20))
    assert model.score(data, range(21, 40, 2), observed_mask=range(20, 40, 2)) == 1


def test_ica_lets_validation_choose(graph, split):
    model = baselines.ICA().fit(graph, split.train_mask, split.val_mask)
    relation = model.history_[model.history_.step == "relational"]
    assert set(relation.aggregator) == set(AGGREGATORS)
    best = relation.val_accuracy.max()
    assert best == pytest.approx(model.score(graph, split.val_mask, split.train_mask))


# PL-EM


def test_pl_em_scores_by_hand():
    """Round 0 on a path 0 - 1 - 2 with labels 0, 1 at its ends: every count can be made by hand."""
    x = torch.tensor([[1.0], [1.0], [0.0]])
    data = path(3, x, torch.tensor([0, -1, 1]))
    model = baselines.PLEM(num_rounds=0, smoothing=1.0).fit(data, [0, 2])
    assert model.likelihood_ == "bernoulli"
    # Of all nodes, two of three have x = 1, with Laplace's correction 3/5. Each class has one node and one
    # pseudo-observation: P(x=1 | 0) = (1 + 3/5) / 2, P(x=1 | 1) = (0 + 3/5) / 2. No edge has two labels.
    assert torch.allclose(model.mean_, torch.tensor([[0.8], [0.3]], dtype=torch.float64))
    assert torch.allclose(model.relation_, torch.full((2, 2), 0.5, dtype=torch.float64))
    assert torch.allclose(model.predict_proba(data)[1], torch.tensor([8 / 11, 3 / 11]))


def test_pl_em_uses_soft_neighbours():
    """score(y) = log prior + Σ_u Σ_c q_u(c) log P(c | y), at the fixed point."""
    data = path(5, torch.ones(5, 1), torch.tensor([0, 0, -1, 1, 1]))
    model = baselines.PLEM(num_rounds=0, smoothing=0.5, num_steps=500).fit(data, [0, 1, 3, 4])
    q = model.predict_proba(data, observed_mask=[0, 1]).double()
    seen = q.clone()
    seen[[0, 1]] = torch.tensor([1.0, 0.0], dtype=torch.float64)
    around = torch.zeros(5, 2, dtype=torch.float64).index_add_(
        0, data.edge_index[1], seen[data.edge_index[0]]
    )
    scores = model.prior_.log() + model.mean_[:, 0].log() + around @ model.relation_.log().T
    assert torch.allclose(scores.softmax(dim=1), q, atol=1e-3)


def test_pl_em_corrects_the_class_rate(graph, split):
    settings = {"class_rate": True, "num_rounds": 1, "smoothing": 1.0, "num_steps": 200}
    model = baselines.PLEM(**settings).fit(graph, split.train_mask)
    q = model.predict_proba(graph)
    assert torch.allclose(q.mean(dim=0).double(), model.rates_, atol=0.01)


@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_pl_em_gaussian_features(shift):
    """Two Gaussians two standard deviations apart: Bayes' accuracy is 84 %; far from 0 as well."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    x = rng.normal(size=(2000, 1)) + 2 * y[:, None] + shift
    data = Data(
        x=torch.from_numpy(x).float(), edge_index=torch.empty(2, 0, dtype=torch.long), y=torch.from_numpy(y)
    )
    model = baselines.PLEM(likelihood="gaussian", smoothing=1.0).fit(data, range(100))
    assert model.score(data, range(1000, 2000)) > 0.82
    assert torch.allclose(model.variance_, torch.ones(2, 1, dtype=torch.float64), atol=0.2)
    assert baselines.PLEM().fit(data, range(100)).likelihood_ == ("gaussian" if shift == 0 else "bernoulli")


def test_pl_em_and_label_propagation_do_not_depend_on_the_order_of_nodes(graph, split):
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(0))
    place = order.argsort()
    shuffled = Data(x=graph.x[order], edge_index=place[graph.edge_index], y=graph.y[order])
    for name in ("pl_em", "label_propagation"):
        one = baselines.make(name).fit(graph, split.train_mask)
        two = baselines.make(name).fit(shuffled, split.train_mask[order])
        given = two.predict_proba(shuffled, split.observed_mask[order])
        assert torch.allclose(given, one.predict_proba(graph, split.observed_mask)[order], atol=1e-5)


# GMNN


@pytest.mark.parametrize("draw", ["sampled", "max", "exp"])
def test_gmnn_draws(draw):
    model = baselines.GMNN(draw=draw, temperature=0.5)
    data = path(3, y=torch.tensor([0, 1, 2]))
    model.set_params(max_epochs=1).fit(data, range(3))
    logits = torch.tensor([[0.0, 1.0, 0.0]]).repeat(3000, 1)
    drawn = model._draw(logits, torch.Generator().manual_seed(0))
    expected = torch.tensor([[0.0, 2.0, 0.0]]).softmax(dim=1)  # twice the logits: temperature 1/2
    if draw == "max":
        expected = torch.tensor([[0.0, 1.0, 0.0]])
    assert torch.allclose(drawn.mean(dim=0), expected[0], atol=0.03)
    assert bool((drawn.sum(dim=1) - 1).abs().max() < 1e-6)


def test_gmnn_has_no_biases_and_validation_chooses_between_q_and_p(graph, split):
    epochs = []
    model = baselines.GMNN(max_epochs=20, num_rounds=2, pretrain_epochs=30)
    model.fit(graph, split.train_mask, split.val_mask, on_epoch=epochs.append)
    biases = [weight for name, weight in model.q_.named_parameters() if name.endswith("bias")]
    assert all(bool((bias == 0).all()) for bias in biases)
    assert [sum(epoch.iteration == step for epoch in epochs) for step in range(5)] == [30, 20, 20, 20, 20]
    assert model.history_.predict_with.tolist() == ["q", "p"]
    observed = split.observed_mask
    q = baselines.GMNN(max_epochs=20, predict_with="q").fit(graph, split.train_mask, split.val_mask)
    assert torch.equal(q.predict_proba(graph, observed), q.predict_proba(graph))
    p = baselines.GMNN(max_epochs=20, predict_with="p").fit(graph, split.train_mask, split.val_mask)
    assert not torch.equal(p.predict_proba(graph, observed), p.predict_proba(graph))


# Label propagation, Correct and Smooth


def test_label_propagation_keeps_known_labels_and_reaches_what_is_connected():
    edges = torch.cat([path(5).edge_index, path(5).edge_index + 5], dim=1)
    data = Data(x=torch.ones(11, 1), edge_index=edges, y=torch.tensor([0] * 5 + [1] * 5 + [0]))
    model = baselines.LabelPropagation(num_steps=100).fit(data, [0, 5, 10])
    probabilities = model.predict_proba(data, observed_mask=[2, 6])
    assert torch.equal(probabilities[:5], torch.tensor([[1.0, 0.0]]).repeat(5, 1))
    assert torch.equal(probabilities[5:10], torch.tensor([[0.0, 1.0]]).repeat(5, 1))
    prior = torch.tensor([2 / 3, 1 / 3])
    assert torch.allclose(probabilities[10], prior)  # alone: the class rates of the training labels
    assert torch.allclose(model.predict_proba(data), prior)


def test_label_propagation_between_two_labels():
    """On a path with its ends observed and alpha = 1 the scores, times the square root of the degree,
    fall linearly from end to end."""
    data = path(6, y=torch.tensor([0, 0, 0, 1, 1, 1]))
    model = baselines.LabelPropagation(alpha=1.0, num_steps=500).fit(data, [0, 5])
    probabilities = model.predict_proba(data, observed_mask=[0, 5])
    assert torch.equal(probabilities[0], torch.tensor([1.0, 0.0]))
    assert torch.allclose(probabilities[1:5, 0], torch.tensor([4, 3, 2, 1]) / 5, atol=1e-3)


def test_label_propagation_heeds_edge_weights():
    data = path(3, y=torch.tensor([0, 0, 1]))
    data.edge_weight = torch.tensor([9.0, 1.0, 9.0, 1.0])
    model = baselines.LabelPropagation(alpha=1.0).fit(data, [0, 2])
    nearer = model.predict_proba(data, observed_mask=[0, 2])[1]
    assert nearer[0] > 0.7


def test_correct_and_smooth_is_pygs(graph, split):
    base = CollectiveClassifier(num_iterations=0, max_epochs=20)
    model = baselines.CorrectAndSmooth(base, 0.8, 0.5, num_steps=10).fit(graph, split.train_mask)
    observed = split.observed_mask
    y = (graph.y == 7).long()
    post = Post(10, 0.8, 10, 0.5)
    expected = post(model.base_.predict_proba(graph), y[observed], observed, graph.edge_index)
    expected = F.normalize(expected.clamp(min=0), p=1, dim=1)
    assert torch.allclose(model.predict_proba(graph, observed), expected, atol=1e-5)
    assert torch.equal(model.predict_proba(graph), model.base_.predict_proba(graph))


def test_correct_and_smooth_can_leave_both_steps_out(graph, split):
    model = baselines.CorrectAndSmooth(
        CollectiveClassifier(num_iterations=0, max_epochs=20), correction_alpha=0.0, smoothing_alpha=0.0
    ).fit(graph, split.train_mask)
    given = model.predict_proba(graph, split.observed_mask)
    assert torch.allclose(given, model.base_.predict_proba(graph))


def test_correct_and_smooth_on_collective_learning_and_on_a_module_of_ones_own(graph, split, tmp_path):
    def factory(in_channels, out_channels):
        return Columns(in_channels, out_channels)

    base = CollectiveClassifier(
        factory, num_iterations=1, num_samples=2, max_epochs=5, test_labels="partial", device="cpu"
    )
    model = baselines.CorrectAndSmooth(base).fit(graph, split.train_mask, split.val_mask)
    assert len(model.history_) == 25
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="fitted with a GNN of your own"):
        baselines.load(tmp_path / "model")
    again = baselines.load(tmp_path / "model", gnn=factory)
    observed = split.observed_mask
    assert torch.equal(again.predict_proba(graph, observed), model.predict_proba(graph, observed))


class Columns(torch.nn.Linear):
    def forward(self, x, edge_index):
        return super().forward(x)


def test_random_guesses_all_classes_alike(graph, split):
    guesses = torch.stack(
        [baselines.Random(seed=seed).fit(graph, split.train_mask).predict(graph) == 3 for seed in range(50)]
    )
    assert guesses.float().mean().item() == pytest.approx(0.5, abs=0.02)
    values = baselines.Random().fit(graph, split.train_mask).evaluate(graph, split.test_mask)
    assert values["log_loss"] == pytest.approx(np.log(2), abs=1e-3)
