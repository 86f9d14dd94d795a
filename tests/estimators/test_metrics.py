import numpy as np
import pytest
from sklearn import metrics as sk

from clgnn import CollectiveClassifier
from clgnn.estimators.metrics import CLASSIFICATION, REGRESSION, calibration_error, find_metric

Y = np.array([0, 0, 1, 1, 1])
P = np.array([[0.9, 0.1, 0], [0.4, 0.6, 0], [0.2, 0.8, 0], [0.6, 0.4, 0], [0.1, 0.2, 0.7]])


def test_classification_by_hand():
    values = {name: metric(Y, P) for name, metric in CLASSIFICATION.items()}
    assert values["accuracy"] == pytest.approx(2 / 5)
    assert values["balanced_accuracy"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert values["log_loss"] == pytest.approx(-np.log([0.9, 0.4, 0.8, 0.4, 0.2]).mean())
    assert values["brier"] == pytest.approx(np.mean([0.02, 0.72, 0.08, 0.72, 0.01 + 0.64 + 0.49]))
    assert values["macro_f1"] == pytest.approx(sk.f1_score(Y, P.argmax(1), labels=[0, 1], average="macro"))


def test_calibration_error_is_zero_for_honest_confidence():
    p = np.tile([0.75, 0.25], (4, 1))
    assert calibration_error(np.array([0, 0, 0, 1]), p) == pytest.approx(0)
    assert calibration_error(np.array([1, 1, 1, 1]), p) == pytest.approx(0.75)


def test_regression_by_hand():
    y, p = np.array([1.0, 3.0]), np.array([[2.0, 1.0], [3.0, 2.0]])
    values = {name: metric(y, p) for name, metric in REGRESSION.items()}
    assert values["mae"] == pytest.approx(0.5)
    assert values["rmse"] == pytest.approx(np.sqrt(0.5))
    assert values["r2"] == pytest.approx(0.5)
    expected = np.mean([0.5 + 0.5 * np.log(2 * np.pi), np.log(2) + 0.5 * np.log(2 * np.pi)])
    assert values["log_loss"] == pytest.approx(expected)


BINARY = np.array([[0.9, 0.1], [0.4, 0.6], [0.65, 0.35], [0.2, 0.8]])


def test_ranking_metrics_are_those_of_scikit_learn():
    y = np.array([0, 0, 1, 1])
    for name, score in (("roc_auc", sk.roc_auc_score), ("average_precision", sk.average_precision_score)):
        assert CLASSIFICATION[name](y, BINARY) == pytest.approx(score(y, BINARY[:, 1]))
        by_class = [score(c == Y, P[:, c]) for c in (0, 1)]  # nobody is of the third class
        assert CLASSIFICATION[name](Y, P) == pytest.approx(np.mean(by_class))
        assert np.isnan(CLASSIFICATION[name](np.zeros(4), BINARY))


def test_the_f1_of_a_class_and_accuracy_at_a_threshold():
    y = np.array([0, 0, 1, 1])
    f1 = find_metric("f1:9", CLASSIFICATION, [4, 9]).measure(y, BINARY)
    assert f1 == pytest.approx(sk.f1_score(y, BINARY.argmax(1)))
    assert find_metric("accuracy@0.3", CLASSIFICATION, [4, 9]).measure(y, BINARY) == pytest.approx(3 / 4)
    assert find_metric("accuracy@0.5", CLASSIFICATION, [4, 9]).measure(y, BINARY) == pytest.approx(2 / 4)


@pytest.mark.parametrize(
    ("metric", "classes", "message"),
    [
        ("auc", None, "metric is 'auc'; expected one of accuracy"),
        ("f1:5", [4, 9], "expected a class after f1:, one of 4, 9"),
        ("accuracy@2", None, "metric is 'accuracy@2'; expected one of"),
        ("accuracy@0.3", [1, 2, 3], "is for two classes; there are 3"),
    ],
)
def test_what_is_no_metric_is_refused(metric, classes, message):
    with pytest.raises(ValueError, match=message):
        find_metric(metric, CLASSIFICATION, classes)


def recall_of_the_first(y, p):
    return float(((p.argmax(axis=1) == 0) & (y == 0)).sum() / max((y == 0).sum(), 1))


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "f1:2", recall_of_the_first])
def test_any_metric_chooses_the_epoch_and_is_evaluated(metric, graph, train, val, test, tmp_path):
    options = {"num_iterations": 1, "num_samples": 2, "max_epochs": 8, "hidden_channels": 8}
    model = CollectiveClassifier(metric=metric, **options).fit(graph, train, val)
    name = metric if isinstance(metric, str) else "recall_of_the_first"
    assert model.metric_name == name
    assert f"val_{name}" in model.history_
    assert model.best_score_ == pytest.approx(model.score(graph, val))
    values = model.evaluate(graph, test)
    assert values[name] == pytest.approx(model.score(graph, test, metric=metric))
    assert {"accuracy", "roc_auc", "average_precision"} <= set(values)
    model.save(tmp_path / "m")
    assert CollectiveClassifier.load(tmp_path / "m").best_score_ == model.best_score_
