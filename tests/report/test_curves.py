"""ROC and precision-recall curves: what is drawn, and how much of it."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from clgnn.report.curves import MAX_CLASSES, MAX_POINTS, curves


def random_case(classes: int, nodes: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=nodes)
    p = rng.random((nodes, classes)) + 0.5 * np.eye(classes)[y]
    return y, p / p.sum(axis=1, keepdims=True)


def test_two_classes_have_the_curve_of_the_rarer_one():
    y, p = random_case(2)
    y[:2000] = 1  # class 0 is the rarer one
    found = curves(y, p, ["rare", "common"])
    for kind, area in (("roc", roc_auc_score), ("precision_recall", average_precision_score)):
        (one,) = found[kind]["curves"]
        assert one["name"] == "rare"
        assert one["share"] == pytest.approx((y == 0).mean())
        assert one["area"] == found[kind]["macro"] == pytest.approx(area(y == 0, p[:, 0]))


def test_several_classes_have_a_curve_each_and_a_macro_value():
    y, p = random_case(4)
    found = curves(y, p, list("abcd"))
    assert [one["name"] for one in found["roc"]["curves"]] == list("abcd")
    assert found["roc"]["macro"] == pytest.approx(roc_auc_score(y, p, multi_class="ovr"))
    assert found["precision_recall"]["macro"] == pytest.approx(average_precision_score(y, p))


def test_curves_are_thinned_and_keep_their_ends():
    y, p = random_case(3)
    for one in curves(y, p, list("abc"))["roc"]["curves"]:
        assert len(one["x"]) == len(one["y"]) <= MAX_POINTS
        assert (one["x"][0], one["y"][0], one["x"][-1], one["y"][-1]) == (0, 0, 1, 1)


def test_of_many_classes_the_largest_are_drawn():
    y, p = random_case(12)
    y[:600] = 11
    found = curves(y, p, [f"c{c}" for c in range(12)])["roc"]
    assert len(found["curves"]) == MAX_CLASSES
    assert found["left_out"] == 4
    assert "c11" in [one["name"] for one in found["curves"]]


def test_a_class_without_nodes_is_left_out_and_one_class_has_no_curve():
    y, p = random_case(3)
    found = curves(np.where(y == 1, 0, y), p, list("abc"))
    assert [one["name"] for one in found["roc"]["curves"]] == ["a", "c"]
    assert curves(np.zeros(9, int), p[:9], list("abc")) is None
