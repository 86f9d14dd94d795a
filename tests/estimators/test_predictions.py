"""The table of predictions: the same bits as the methods of the model, from one run."""

import numpy as np
import pytest
import torch

from clgnn import CollectiveClassifier, CollectiveRegressor, baselines
from clgnn.collective import inference
from clgnn.estimators import replay
from clgnn.estimators.predictions import predictions

QUICK = {
    "num_samples": 3, "num_iterations": 2, "max_epochs": 4, "iteration_epochs": 4, "hidden_channels": 4, "keep_best": False,
}  # fmt: skip
VARIANTS = [
    {},
    {"num_iterations": 0},
    {"num_samples": 1},
    {"start": "paper"},
    {"start": "pl_em"},
    {"labels": "soft"},
    {"test_labels": "partial"},
    {"test_labels": "partial", "num_masks": 2},
]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_they_are_those_of_the_methods_to_the_last_bit(variant, graph, train, val, test):
    model = CollectiveClassifier(**{**QUICK, **variant}).fit(graph, train, val)
    observed = test if variant.get("test_labels") == "partial" else None
    table = predictions(model, graph, observed)
    proba, spread = model.predict_proba(graph, observed), model.spread(graph, observed)
    assert np.array_equal(table[["p(0)", "p(1)", "p(2)"]].to_numpy(), proba.numpy())
    assert np.array_equal(table["spread"].to_numpy(), spread.numpy(), equal_nan=True)
    assert table["prediction"].tolist() == [str(c) for c in model.predict(graph, observed).tolist()]
    assert np.array_equal(table["confidence"].to_numpy(), proba.amax(dim=1).numpy())


def test_of_numbers_and_of_rivals(graph, train, val):
    rival = baselines.ICA(C=1.0).fit(graph, train)
    assert predictions(rival, graph)["spread"].isna().all()
    graph.y = graph.x[:, 0]
    model = CollectiveRegressor(**QUICK).fit(graph, train, val)
    table = predictions(model, graph)
    assert np.array_equal(table[["prediction", "std"]].to_numpy(), model.predict_proba(graph).numpy())
    assert np.array_equal(table["spread"].to_numpy(), model.spread(graph).numpy())


def test_the_iterations_before_the_last_are_replayed_once(graph, train, val, monkeypatch):
    model = CollectiveClassifier(**{**QUICK, "num_iterations": 3, "start": "paper"}).fit(graph, train, val)
    ran = []
    inner = inference.predict

    def counted(component, *given):
        ran.append(model.components_.index(component))
        return inner(component, *given)

    monkeypatch.setattr(inference, "predict", counted)
    monkeypatch.setattr(replay, "predict", counted)
    predictions(model, graph)
    assert ran == [0, 1, 2, 3]


def test_no_gradient_is_kept(graph, train):
    model = CollectiveClassifier(**QUICK).fit(graph, train)
    distribution, spread = model._with_spread(*model._seen(graph, None))
    assert not distribution.requires_grad
    assert not spread.requires_grad
    assert torch.isfinite(spread).all()
