"""A threshold that validation chooses: what goes by it, what does not, and what it looks at."""

import json

import numpy as np
import pytest
import torch

import clgnn
from clgnn import CollectiveClassifier, CollectiveRegressor, baselines
from clgnn.estimators.metrics import CLASSIFICATION, DECISIONS
from clgnn.estimators.predictions import predictions
from clgnn.estimators.threshold import best_threshold, threshold_metric

QUICK = {"num_samples": 2, "num_iterations": 1, "max_epochs": 20, "iteration_epochs": 5, "hidden_channels": 4}


def rare(new_graph, num_nodes=60):
    """Two classes, 3 and 7, of which one is rare: the more probable class is nearly always the first."""
    graph = new_graph(num_nodes=num_nodes, num_classes=4)
    graph.y = torch.where(graph.y == 0, 7, 3)
    return graph


def fitted(new_graph, method="collective", **options):
    graph = rare(new_graph)
    if method == "collective":
        model = CollectiveClassifier(**{**QUICK, **options})
    else:
        model = baselines.make(method, **options)
    return graph, model.fit(graph, range(30), range(30, 45))


@pytest.mark.parametrize(
    ("truth", "p", "metric", "expected"),
    [
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], "accuracy", 0.25),
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], "balanced_accuracy", 0.25),
        ([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], "accuracy", 0.5),  # of equals the nearest to 0.5
        ([0, 1, 0, 1], [0.1, 0.2, 0.6, 0.9], "accuracy", 0.75),
        ([0, 1, 0, 0, 1], [0.1, 0.2, 0.7, 0.7, 0.9], "f1:yes", 0.8),
        ([0, 1, 0, 0, 0, 1], [0.1, 0.6, 0.7, 0.7, 0.7, 0.9], "f1:no", 0.8),
        ([1, 1, 0], [0.1, 0.2, 0.9], "f1:yes", 0.05),  # all of them
    ],
)
def test_known_answers(truth, p, metric, expected):
    both = np.stack([1 - np.array(p), np.array(p)], axis=1)
    found = best_threshold(np.array(truth), both, threshold_metric(metric, ["no", "yes"]))
    assert found == pytest.approx(expected)


def test_no_threshold_on_a_fine_grid_is_better():
    generator = np.random.default_rng(0)
    p = generator.random(200) ** 2
    y = (generator.random(200) < p).astype(int)
    both = np.stack([1 - p, p], axis=1)
    for name in (*DECISIONS, "f1:1"):
        metric = threshold_metric(name, [0, 1])
        found = metric.at(best_threshold(y, both, metric)).measure(y, both)
        assert found == max(metric.at(t).measure(y, both) for t in [found, *np.linspace(0, 1, 501)])


def test_of_many_probabilities_some_are_tried():
    p = np.linspace(0.001, 0.2, 5000)
    y = (p > 0.1).astype(int)
    found = best_threshold(y, np.stack([1 - p, p], axis=1), threshold_metric("accuracy", [0, 1]))
    assert found == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize("method", ["collective", "ica", "logistic_regression"])
def test_predictions_and_metrics_go_by_it_and_probabilities_do_not(method, new_graph, tmp_path):
    graph, model = fitted(new_graph, method)
    val, test = range(30, 45), range(45, 60)
    assert model.threshold_ is None
    before, proba = model.evaluate(graph, test), model.predict_proba(graph)
    found = model.choose_threshold(graph, val, metric="f1:7")
    assert found == model.threshold_
    assert torch.equal(model.predict_proba(graph), proba)
    decided = torch.where(proba[:, 1].double() >= found, 7, 3)
    assert torch.equal(model.predict(graph), decided)
    table = predictions(model, graph)
    assert table["prediction"].tolist() == [str(one) for one in decided.tolist()]
    assert np.allclose(table["confidence"], torch.where(decided == 7, proba[:, 1], proba[:, 0]))
    assert np.allclose(1 - table["confidence"], model.uncertainty(graph))
    after = model.evaluate(graph, test)
    truth = graph.y[45:]
    assert after["accuracy"] == pytest.approx((decided[45:] == truth).double().mean().item())
    recalls = [(decided[45:] == c)[truth == c].double().mean().item() for c in (3, 7)]
    assert after["balanced_accuracy"] == pytest.approx(np.mean(recalls))
    assert model.score(graph, test, metric="balanced_accuracy") == pytest.approx(np.mean(recalls))
    for name in set(CLASSIFICATION) - set(DECISIONS):
        assert after[name] == before[name]
    model.save(tmp_path / "m")
    loaded = clgnn.load(tmp_path / "m")
    assert loaded.threshold_ == found
    assert torch.equal(loaded.predict(graph), decided)


def test_it_is_the_best_on_validation_and_looks_at_no_other_label(new_graph):
    graph, model = fitted(new_graph)
    val = range(30, 45)
    plain = model.score(graph, val, metric="balanced_accuracy")
    found = model.choose_threshold(graph, val)
    assert model.score(graph, val, metric="balanced_accuracy") >= plain
    other = graph.clone()
    other.y = 10 - other.y
    other.y[30:45] = graph.y[30:45]
    assert model.choose_threshold(other, val) == found
    assert model.choose_threshold(graph, val) == found  # nor does an old one matter


def test_observed_labels_are_shown_as_in_a_prediction(new_graph):
    graph, model = fitted(new_graph, test_labels="partial")
    found = model.choose_threshold(graph, range(30, 45), observed_mask=range(30))
    proba = model.predict_proba(graph, observed_mask=range(30))[30:45, 1].double()
    assert not bool((proba == found).any())
    with pytest.raises(ValueError, match="5 nodes are both in val_mask and in observed_mask"):
        model.choose_threshold(graph, range(30, 45), observed_mask=range(25, 35))


def test_a_new_fit_forgets_it(new_graph):
    graph, model = fitted(new_graph)
    model.choose_threshold(graph, range(30, 45))
    model.adapt(graph, observed_mask=range(30))
    assert model.threshold_ is None
    model.choose_threshold(graph, range(30, 45))
    assert model.fit(graph, range(30)).threshold_ is None


def test_models_without_one_load_as_before(new_graph, tmp_path):
    graph, model = fitted(new_graph)
    model.save(tmp_path / "m")
    file = tmp_path / "m" / "model.json"
    content = json.loads(file.read_text())
    del content["labels"]["threshold"], content["sha256"]
    file.write_text(json.dumps(content))
    loaded = clgnn.load(tmp_path / "m")
    assert loaded.threshold_ is None
    assert torch.equal(loaded.predict(graph), model.predict(graph))


def test_a_function_of_ones_own_gets_decisions(new_graph):
    graph, model = fitted(new_graph)

    def saved(y, decisions):
        """A missed node of the second class costs as much as 100 false alarms."""
        predicted = decisions.argmax(axis=1)
        return -float(100 * ((y == 1) & (predicted == 0)).sum() + ((y == 0) & (predicted == 1)).sum())

    model.choose_threshold(graph, range(30, 45), metric=saved)
    missed = (graph.y[30:45] == 7) & (model.predict(graph)[30:45] == 3)
    assert not bool(missed.any())


@pytest.mark.parametrize(
    ("metric", "val", "message"),
    [
        ("roc_auc", range(30, 45), "metric is 'roc_auc', which no threshold changes; expected accuracy"),
        ("accuracy@0.3", range(30, 45), "which no threshold changes"),
        ("auc", range(30, 45), "metric is 'auc'; expected one of accuracy"),
        ("f1:5", range(30, 45), "expected a class after f1:, one of 3, 7"),
        ("accuracy", [31], "are of one class; expected some of both"),
        (lambda y, p: float("nan"), range(30, 45), "is NaN for every threshold"),
    ],
)
def test_what_can_not_choose_is_refused(metric, val, message, new_graph):
    graph, model = fitted(new_graph)
    with pytest.raises(ValueError, match=message):
        model.choose_threshold(graph, val, metric=metric)
    assert model.threshold_ is None


def test_it_is_for_two_classes(graph, train, val):
    model = CollectiveClassifier(**QUICK).fit(graph, train)
    with pytest.raises(ValueError, match=r"is for two classes, and there are 3 \(0, 1, 2\)"):
        model.choose_threshold(graph, val)
    graph.y = graph.x[:, 0]
    numbers = CollectiveRegressor(**QUICK).fit(graph, train)
    assert numbers.threshold_ is None
    with pytest.raises(ValueError, match="a CollectiveRegressor predicts numbers"):
        numbers.choose_threshold(graph, val)
