"""Residuals that are correlated along the edges: against dense linear algebra, and as a rival."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from torch_geometric.data import Data

import clgnn
from clgnn import CollectiveClassifier, CollectiveRegressor, baselines
from clgnn.baselines.gaussian_field import Field, most_likely, normalised
from clgnn.data.graph import as_graph

QUICK = {"num_iterations": 0, "max_epochs": 5}


def lattice(side=12, seed=0):
    """A grid of nodes, with a label that is a draw of the Gaussian plus what the feature tells."""
    node = np.arange(side * side).reshape(side, side)
    pairs = np.hstack([[node[:, :-1].ravel(), node[:, 1:].ravel()], [node[:-1].ravel(), node[1:].ravel()]])
    edges = torch.from_numpy(np.hstack([pairs, pairs[::-1]]))
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(side * side, 2))
    data = Data(x=torch.from_numpy(x).float(), edge_index=edges)
    precision = 4 * (np.eye(side * side) - 0.995 * normalised(as_graph(data)).toarray())
    drawn = np.linalg.cholesky(np.linalg.inv(precision)) @ rng.normal(size=side * side)
    data.y = torch.from_numpy(10 + 2 * x[:, 0] + 3 * drawn).float()
    return data


@pytest.fixture(scope="module")
def data():
    return lattice()


@pytest.fixture(scope="module")
def masks(data):
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(0))
    return order[:60].tolist(), order[60:90].tolist(), order[90:].tolist()


@pytest.fixture(scope="module")
def field(data):
    seen = np.random.default_rng(1).random(data.num_nodes) < 0.4
    return Field(normalised(as_graph(data)), seen)


def dense(field, alpha):
    """The covariance for β = 1, and the precision of the known nodes alone."""
    covariance = np.linalg.inv(np.eye(len(field.seen)) - alpha * field.s.toarray())
    return covariance, np.linalg.inv(covariance[np.ix_(field.seen, field.seen)])


@pytest.mark.parametrize("alpha", [-0.7, 0.3, 0.95])
@pytest.mark.parametrize("exact", [10**6, 0])
def test_the_field_is_dense_linear_algebra(field, alpha, exact):
    """Exactly by factorisation; by conjugate gradients up to their tolerance."""
    field = Field(field.s, field.seen, exact=exact)
    covariance, precision = dense(field, alpha)
    values = np.random.default_rng(2).normal(size=(int(field.seen.sum()), 2))
    hidden, weighted = field.expect(alpha, values)
    across = covariance[np.ix_(~field.seen, field.seen)]
    assert np.allclose(hidden, across @ precision @ values, atol=1e-4)
    assert np.allclose(weighted, precision @ values, atol=1e-4)
    expected = np.linalg.slogdet(precision)[1]
    assert field.log_determinant(alpha) == pytest.approx(expected, rel=0.2 if exact == 0 else 1e-9)
    inside = covariance[np.ix_(~field.seen, ~field.seen)]
    variances = np.diag(inside - across @ precision @ across.T)
    error = 0.25 if exact == 0 else 1e-9
    assert np.abs(field.variances(alpha) / variances - 1).mean() < error
    assert np.abs(field.precisions(alpha) / np.diag(precision) - 1).mean() < error


def test_nothing_known_everything_known_and_nobody_connected():
    ring = sp.csr_array(sp.eye_array(5, k=1) + sp.eye_array(5, k=-1)) / 2
    for seen in (np.zeros(5, bool), np.ones(5, bool)):
        field = Field(ring, seen)
        hidden, weighted = field.expect(0.5, np.ones((int(seen.sum()), 1)))
        assert hidden.shape == (5 - int(seen.sum()), 1)
        assert weighted.shape == (int(seen.sum()), 1)
        assert len(field.variances(0.5)) + len(field.precisions(0.5)) == 5
    alone = Field(sp.csr_array((4, 4)), np.array([True, True, False, False]))
    assert np.array_equal(alone.expect(0.9, np.ones((2, 1)))[0], np.zeros((2, 1)))


@pytest.mark.parametrize("exact", [10**6, 0])
def test_the_most_likely_gaussian_is_found(data, exact):
    field = Field(normalised(as_graph(data)), np.arange(data.num_nodes) % 2 == 0, exact=exact)
    covariance = np.linalg.inv(np.eye(data.num_nodes) - 0.9 * field.s.toarray()) / 2
    drawn = np.linalg.cholesky(covariance) @ np.random.default_rng(0).normal(size=(data.num_nodes, 30))
    alpha, beta = most_likely(field, drawn[field.seen])
    assert alpha == pytest.approx(0.9, abs=0.06)
    assert beta == pytest.approx(2, rel=0.15)
    assert most_likely(field, np.random.default_rng(0).normal(size=(int(field.seen.sum()), 30)))[0] < 0.3


def test_predictions_are_conditional_means_and_observed_nodes_do_not_see_themselves(data, masks):
    train, val, test = masks
    base = CollectiveRegressor(**QUICK)
    model = baselines.ResidualRegression(base, alpha=0.9).fit(data, train, val)
    found = model.predict_proba(data, train).double()
    mean = model.base_.predict_proba(data)[:, 0].double()
    covariance = np.linalg.inv(np.eye(data.num_nodes) - 0.9 * normalised(as_graph(data)).toarray())
    scale = model.labelling_.std * model.temperature_ / np.sqrt(model.beta_)

    def conditional(node, given):
        k = covariance[np.ix_(given, given)]
        row = covariance[node, given]
        left = (data.y - mean)[given].numpy()
        variance = covariance[node, node] - row @ np.linalg.solve(k, row)
        return float(mean[node]) + row @ np.linalg.solve(k, left), scale * np.sqrt(variance)

    for node in (test[0], test[1], val[0], train[0], train[1]):
        expected = conditional(node, [other for other in train if other != node])
        assert found[node].tolist() == pytest.approx(expected, rel=1e-3)


def test_correlated_residuals_are_worth_a_lot():
    data = lattice(20)
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(0)).tolist()
    train, val, test = order[:200], order[200:300], order[300:]
    settings = {"gnn": "sage", "max_epochs": 200, "lr": 0.02, "dropout": 0.0}
    model = baselines.make("residual_regression", **settings).fit(data, train, val)
    assert type(model) is baselines.ResidualRegression
    assert model.alpha_ > 0.5
    better = model.score(data, test, observed_mask=train)
    assert better > model.base_.score(data, test) + 0.15
    values = model.evaluate(data, test, observed_mask=train)
    assert values["log_loss"] < model.base_.evaluate(data, test)["log_loss"]
    assert model.best_score_ == pytest.approx(model.score(data, val, train, metric="rmse"), rel=1e-5)


def test_without_observed_labels_the_means_are_those_of_the_base(data, masks):
    train, val, _ = masks
    model = baselines.ResidualRegression(CollectiveRegressor(**QUICK)).fit(data, train, val)
    assert torch.allclose(model.predict(data), model.base_.predict(data), atol=1e-4)
    assert bool((model.uncertainty(data) > 0).all())


def test_it_sees_no_other_labels_is_the_same_again_and_on_disk(data, masks, tmp_path):
    train, val, _ = masks
    seen = torch.zeros(data.num_nodes, dtype=torch.bool)
    seen[train + val] = True
    other = Data(x=data.x, edge_index=data.edge_index, y=torch.where(seen, data.y, -data.y))
    model, again = (
        baselines.ResidualRegression(CollectiveRegressor(**QUICK)).fit(graph, train, val)
        for graph in (data, other)
    )
    expected = model.predict_proba(data, train)
    assert torch.equal(again.predict_proba(other, train), expected)
    assert torch.equal(model.predict_proba(other, train), expected)
    model.save(tmp_path / "model")
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == {".json", ".safetensors"}
    read = clgnn.load(tmp_path / "model")
    assert type(read) is baselines.ResidualRegression
    assert torch.equal(read.predict_proba(data, train), expected)


def test_several_graphs_and_none_with_labels(data, masks):
    train, val, _ = masks
    model = baselines.ResidualRegression(CollectiveRegressor(**QUICK))
    model.fit([data, lattice(8, seed=1)], [train, range(20)], [val, []])
    first, second = model.predict_proba([data, lattice(8, seed=1)], [train, []])
    assert first.shape == (144, 2)
    assert second.shape == (64, 2)
    assert torch.allclose(first, model.predict_proba(data, train), rtol=1e-3, atol=1e-3)
    blind = clone(model).set_params(test_labels="none").fit(data, train, val)
    with pytest.raises(ValueError, match="fit it with test_labels='partial'"):
        blind.predict(data, train)


def test_large_graphs_are_close_to_exact(data, masks, monkeypatch):
    train, val, test = masks
    base = CollectiveRegressor(**QUICK)
    exact = baselines.ResidualRegression(base, alpha=0.9).fit(data, train, val)
    monkeypatch.setattr("clgnn.baselines.residuals.EXACT", 0)
    large = baselines.ResidualRegression(base, alpha=0.9).fit(data, train, val)
    found, expected = large.predict_proba(data, train)[test], exact.predict_proba(data, train)[test]
    assert torch.allclose(found[:, 0], expected[:, 0], atol=1e-2)
    assert (found[:, 1] / expected[:, 1] - 1).abs().mean() < 0.2


def test_a_base_for_classes_is_refused(data, masks):
    with pytest.raises(
        ValueError, match="base is a CollectiveClassifier; expected an estimator of nodes such"
    ):
        baselines.ResidualRegression(CollectiveClassifier()).fit(data, masks[0])
    with pytest.raises(ValueError, match="expected integer classes, -1 if unknown"):
        baselines.ResidualPropagation().fit(data, masks[0])


def test_probabilities_move_by_the_residuals_of_neighbours():
    """A path of ten nodes without features; what its ends leave over reaches the nodes in between."""
    line = torch.arange(9)
    edges = torch.stack([torch.cat([line, line + 1]), torch.cat([line + 1, line])])
    data = Data(x=torch.ones(10, 1), edge_index=edges, y=torch.tensor([0] * 5 + [1] * 5))
    base = CollectiveClassifier(num_iterations=0, max_epochs=5)
    model = baselines.ResidualPropagation(base, alpha=0.99).fit(data, [0, 9])
    assert torch.equal(model.predict(data, [0, 9])[1:9], data.y[1:9])
    start = model.base_.predict_proba(data)
    assert torch.allclose(model.predict_proba(data), start)
    left = torch.eye(2)[[0, 1]] - start[[0, 9]]
    covariance = torch.linalg.inv(
        torch.eye(10, dtype=torch.double) - 0.99 * torch.from_numpy(normalised(as_graph(data)).toarray())
    )
    k = covariance[:, [0, 9]] @ torch.linalg.inv(covariance[[0, 9]][:, [0, 9]])
    moved = (start + k @ left.double()).clamp(min=0)
    moved = moved / moved.sum(dim=1, keepdim=True)
    assert torch.allclose(model.predict_proba(data, [0, 9])[1:9], moved[1:9].float(), atol=1e-5)
