"""Regressors on each node's columns: against scikit-learn, and as rivals."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge as SkRidge
from torch_geometric.data import Data

import clgnn
from clgnn import baselines

NAMES = [name for name in baselines.REGRESSION_METHODS if name != "residual_regression"]
TRAIN, VAL, TEST = slice(0, 60), slice(60, 90), slice(90, 150)


@pytest.fixture(scope="module")
def data():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(150, 3, generator=generator)
    edges = torch.randint(150, (2, 400), generator=generator)
    y = 5 + 2 * x[:, 0] - x[:, 1] + 0.3 * torch.randn(150, generator=generator)
    return Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1), y=y)


def mask(part):
    return torch.arange(150)[part]


def fitted(name, data, **settings):
    return baselines.make(name, numbers=True, **settings).fit(data, mask(TRAIN), mask(VAL))


@pytest.mark.parametrize("name", NAMES)
def test_hidden_labels_change_nothing(name, data):
    other = data.clone()
    other.y[TEST] = torch.nan
    assert torch.equal(fitted(name, data).predict_proba(data), fitted(name, other).predict_proba(data))


@pytest.mark.parametrize("name", NAMES)
def test_saved_and_read_it_says_the_same(name, data, tmp_path):
    model = fitted(name, data)
    model.save(tmp_path / "m")
    assert torch.equal(clgnn.load(tmp_path / "m").predict_proba(data), model.predict_proba(data))


@pytest.mark.parametrize("name", NAMES)
def test_its_intervals_hold_what_they_say(name, data):
    values = fitted(name, data).evaluate(data, mask(TEST))
    assert 0.75 < values["coverage_90"] <= 1
    assert values["r2"] > (-0.1 if name == "mean" else 0.7)


@pytest.mark.parametrize("name", NAMES)
def test_several_graphs(name, data):
    model = baselines.make(name, numbers=True).fit([data, data], [mask(TRAIN), []], [[], mask(VAL)])
    first, second = model.predict([data, data])
    assert torch.equal(first, second)


def test_ridge_is_that_of_scikit_learn(data):
    model = baselines.Ridge(penalty=3.0).fit(data, mask(TRAIN))
    expected = SkRidge(alpha=3.0).fit(data.x[TRAIN].numpy(), data.y[TRAIN].numpy())
    # standardised labels only scale the problem
    assert model.predict(data).numpy() == pytest.approx(expected.predict(data.x.numpy()), abs=1e-4)


def test_trees_are_those_of_scikit_learn(data):
    model = baselines.GradientBoostingRegression(max_trees=30).fit(data, mask(TRAIN))
    labels = data.y[TRAIN].double()
    scaled = ((labels - labels.mean()) / labels.std(correction=0)).float().numpy()
    expected = HistGradientBoostingRegressor(
        max_iter=30, early_stopping=False, min_samples_leaf=6, random_state=0
    ).fit(data.x[TRAIN].numpy().astype(np.float64), scaled)
    found = expected.predict(data.x.numpy().astype(np.float64)) * labels.std(correction=0).item()
    assert model.predict(data).numpy() == pytest.approx(found + labels.mean().item(), abs=1e-4)


def test_neighbours_columns_count(data):
    moved = data.clone()
    moved.edge_index = data.edge_index[:, :10]
    for name, differs in (("ridge_regression", False), ("ridge_regression_neighbors", True)):
        model = fitted(name, data)
        assert torch.equal(model.predict(data), model.predict(moved)) is not differs


def test_the_same_name_for_classes_and_for_numbers():
    assert type(baselines.make("hist_gradient_boosting")).__name__ == "GradientBoosting"
    assert (
        type(baselines.make("hist_gradient_boosting", numbers=True)).__name__ == "GradientBoostingRegression"
    )
    with pytest.raises(ValueError, match="expected one of mean, ridge_regression"):
        baselines.make("ica", numbers=True)
    with pytest.raises(ValueError, match="for classes"):
        baselines.make("mean", numbers=False)


def test_compare_has_all_of_them(data):
    found = clgnn.compare(
        data, ["mean", "ridge_regression", "hist_gradient_boosting", "residual_regression", "gcn"],
        num_splits=2, settings={"max_epochs": 5, "num_iterations": 1},
    )  # fmt: skip
    assert set(found.leaderboard["method"]) == {
        "mean", "ridge_regression", "hist_gradient_boosting", "residual_regression", "gcn",
    }  # fmt: skip
    assert found.best == "ridge_regression", "the labels are linear in the columns"
    assert {"r2", "rmse", "log_loss", "coverage_90"} <= set(found.trials)
