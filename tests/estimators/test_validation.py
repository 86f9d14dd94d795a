"""What validation judges is exactly what is predicted, for every method and scenario."""

import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from clgnn import CollectiveClassifier, CollectiveRegressor, baselines
from clgnn.estimators import metrics, settings
from clgnn.estimators.labelling import Classes
from clgnn.estimators.validation import build_validation

QUICK = {
    "num_samples": 4, "num_iterations": 2, "max_epochs": 6, "iteration_epochs": 6, "hidden_channels": 8, "calibrate": False,
}  # fmt: skip
VARIANTS = [
    {"labels": labels, "test_labels": test_labels}
    for labels in ("sampled", "soft", "uniform", "observed")
    for test_labels in ("none", "partial")
] + [
    {"num_iterations": 0},
    {"gnn": "sage"},
    {"gnn": "snowball", "num_layers": 3},
    {"keep_best": False},
    {"start": "paper"},
    {"start": "paper", "test_labels": "partial"},
    {"start": "pl_em"},
    {"start": ["plain", "ica"], "test_labels": "partial"},
    {"calibrate": True},
    {"test_labels": "partial", "num_masks": 3},
    {"test_labels": "partial", "inference_masks": "all"},
    {"test_labels": "partial", "sampling": "iid", "shown_share": 0.8},
]


@pytest.mark.parametrize("metric", ["log_loss", "accuracy"])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_of_collective_learning(variant, metric, graph, train, val, test):
    model = CollectiveClassifier(**{**QUICK, **variant}, metric=metric)
    observed = test if variant.get("test_labels") == "partial" else None
    model.fit(graph, train, val, observed_mask=observed)
    assert model.score(graph, val, observed, metric=metric) == pytest.approx(model.best_score_, abs=1e-6)


@pytest.mark.parametrize("test_labels", ["none", "partial"])
def test_of_regression(test_labels, graph, train, val, test):
    graph.y = graph.x[:, 0] * 100
    observed = test if test_labels == "partial" else None
    model = CollectiveRegressor(**QUICK, test_labels=test_labels)
    model.fit(graph, train, val, observed_mask=observed)
    judged = model.score(graph, val, observed, metric="rmse")
    assert judged == pytest.approx(model.best_score_, rel=1e-5)


@pytest.mark.parametrize("test_labels", ["none", "partial"])
@pytest.mark.parametrize("method", list(baselines.METHODS))
def test_of_every_rival(method, test_labels, graph, train, val, test):
    options = {**QUICK, "num_rounds": 1, "C": 1.0, "metric": "log_loss", "test_labels": test_labels}
    model = baselines.make(method, **options)
    learned = None if model.refuses_labels() and not model.trains_on_observed else test
    model.fit(graph, train, val, observed_mask=learned)
    observed = test if model.test_labels == "partial" else None
    assert model.score(graph, val, observed, metric="log_loss") == pytest.approx(model.best_score_, abs=1e-5)


@pytest.mark.parametrize("test_labels", ["none", "partial"])
def test_of_several_graphs(test_labels, new_graph):
    graphs = [new_graph(seed=i) for i in range(2)]
    model = CollectiveClassifier(**QUICK, test_labels=test_labels, metric="log_loss")
    observed = [[], range(12)] if test_labels == "partial" else None
    model.fit(graphs, [range(10), []], [[], range(12, 24)], observed_mask=observed)
    found = model.score(graphs, [[], range(12, 24)], observed, metric=model.metric)
    assert found == pytest.approx(model.best_score_, abs=1e-6)


def test_the_score_of_a_classifier_is_the_higher_the_better(graph, train, val):
    model = CollectiveClassifier(**QUICK, metric="log_loss").fit(graph, train, val)
    assert model.score(graph, val) == model.score(graph, val, metric="accuracy")
    model = CollectiveClassifier(**QUICK, metric="macro_f1").fit(graph, train, val)
    assert model.score(graph, val) == model.score(graph, val, metric="macro_f1")


def test_without_validation_there_is_no_score(graph, train):
    assert CollectiveClassifier(**QUICK).fit(graph, train).best_score_ is None
    assert baselines.ICA(C=1.0).fit(graph, train).best_score_ is None


def test_a_metric_that_is_not_a_number_is_the_lowest_of_all(graph, train, val):
    labelling = Classes((0, 1, 2))
    nothing = metrics.Metric("nothing", lambda y, p: float("nan"))
    nobody = torch.zeros_like(train)
    validation = build_validation(labelling, nothing, graph, train, val, train, nobody)
    verdict = validation.judge(torch.full((24, 3), 1 / 3))
    assert verdict.score == -float("inf")
    assert verdict.metric != verdict.metric


def test_the_names_that_need_no_torch_are_those_of_the_metrics():
    assert tuple(metrics.CLASSIFICATION) == settings.CLASSIFICATION
    assert tuple(metrics.REGRESSION) == settings.REGRESSION


def test_the_names_that_need_no_torch_are_those_of_the_gnns():
    from clgnn.nn import NAMES

    assert tuple(NAMES) == settings.GNNS


def test_a_node_that_is_shown_is_not_judged(graph, train, val):
    model = CollectiveClassifier(**QUICK, test_labels="partial")
    with pytest.raises(ValueError, match="6 nodes are both in observed_mask and in val_mask"):
        model.fit(graph, train, val, observed_mask=val)


def test_observed_labels_that_are_not_used_are_named(graph, train, val, test):
    with pytest.warns(UserWarning, match="test_labels='none': its labels are not used; leave it out"):
        model = CollectiveClassifier(**QUICK).fit(graph, train, val, observed_mask=test)
    without = CollectiveClassifier(**QUICK).fit(graph, train, val)
    assert torch.equal(model.predict_proba(graph), without.predict_proba(graph))
    CollectiveClassifier(**QUICK, learn_observed=True).fit(graph, train, val, observed_mask=test)  # they are


@pytest.mark.parametrize("metric", [None, "mae"])
def test_the_score_of_a_regressor_is_r2_and_validation_has_its_own_metric(metric, graph, train, val):
    graph.y = graph.x[:, 0] * 100
    model = CollectiveRegressor(**QUICK, metric=metric).fit(graph, train, val)
    mean, truth = model.predict(graph)[val].double(), graph.y[val].double()
    r2 = 1 - (truth - mean).square().sum() / (truth - truth.mean()).square().sum()
    assert model.score(graph, val) == pytest.approx(r2.item(), rel=1e-5)
    assert model.score(graph, val, metric="mae") == pytest.approx((truth - mean).abs().mean().item())
    assert model.best_score_ == pytest.approx(model.score(graph, val, metric=metric or "rmse"), rel=1e-5)


def test_a_search_of_scikit_learn_takes_the_regressor_with_the_greatest_score(graph, train, val):
    graph.y = graph.x[:, 0] * 100
    model = CollectiveRegressor("sage", num_iterations=0, max_epochs=200, dropout=0.0)
    grid = ParameterGrid({"lr": [1e-6, 0.05]})
    models = [clone(model).set_params(**one).fit(graph, train | ~val) for one in grid]
    assert max(models, key=lambda one: one.score(graph, val)).lr == 0.05
