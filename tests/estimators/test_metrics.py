import numpy as np
import pytest
from sklearn import metrics as sk

from clgnn.estimators.metrics import CLASSIFICATION, REGRESSION, calibration_error

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
