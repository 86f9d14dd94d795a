"""The first sentence of each page, and the counting behind it."""

import numpy as np
import pandas as pd
import pytest

from clgnn.experiments.statistics import cells
from clgnn.report.headline import Count, count_gains, of_classes, of_comparison, of_numbers, share
from clgnn.report.trials import from_trials

LABELS = ("train_labels", "test_label_percent")


def board(*rows: tuple[str, str, float, float]) -> pd.DataFrame:
    """Cells of Cora, 85 labels, or of a dataset that the paper does not have."""
    return pd.DataFrame(
        [
            {
                "dataset": dataset,
                "train_labels": 85,
                "test_label_percent": 0,
                "method": method,
                "low": low,
                "high": high,
            }
            for dataset, method, low, high in rows
        ]
    )


def test_a_cell_gains_loses_or_is_level_by_its_interval():
    found = count_gains(
        board(
            ("cora", "gcn+cl", 0.1, 2.0),
            ("cora", "sage+cl", -2.0, -0.1),
            ("cora", "tk+cl", -1.0, 3.0),
            ("mine", "gcn+cl", 0.0, 3.0),  # an interval that touches 0 holds it
            ("mine", "tk+cl", 1e-14, 1e-14),  # no gain but rounding
        )
    )
    assert found.ours == Count(gains=1, losses=1, level=3)
    assert found.ours.cells == 5
    assert found.paper == Count(gains=3, losses=0, level=0)  # of the cells that the paper has
    assert found.methods == ("gcn+cl", "sage+cl", "tk+cl")
    assert found.sentence == (
        "GCN, GraphSAGE and TK with collective learning: 1 of 5 cells gains, 1 loses, 3 are level (95 % "
        "intervals); the paper: 3 of 3 gain, 0 lose, 0 are level."
    )


def test_only_collective_learning_counts_and_only_with_an_interval():
    found = count_gains(
        board(
            ("cora", "gcn", 1.0, 2.0),
            ("cora", "gcn+cl", np.nan, np.nan),
            ("cora", "gcn+cl-uniform", 1.0, 2.0),
            ("cora", "gcn+cl-observed", 1.0, 2.0),
            ("cora", "gcn+cl-auto", 1.0, 2.0),
            ("cora", "gcn+start-mean", 1.0, 2.0),
            ("cora", "ica", 1.0, 2.0),
        )
    )
    assert found.ours.cells == found.paper.cells == 0
    assert "cannot say yet whether collective learning helps" in found.sentence


def test_the_count_of_a_ledger(tiny_trials, new_trials):
    found = count_gains(cells(tiny_trials))
    assert found.ours == Count(gains=3, losses=0, level=1)  # all of GCN on Cora; TK is level
    assert from_trials(tiny_trials)["headline"] == found.sentence
    assert found.sentence.startswith(
        "GCN and TK with collective learning: 3 of 4 cells gain, 0 lose, 1 is level"
    )
    single = new_trials({("cora", 85, 0, "gcn"): [0.5], ("cora", 85, 0, "gcn+cl"): [0.7]})
    assert count_gains(cells(single)).ours.cells == 0


def test_the_papers_own_cells():
    from clgnn.report.printed import printed

    rows = [(*key, one["low"], one["high"]) for key, one in printed().items() if key[3].endswith("+cl")]
    found = count_gains(pd.DataFrame(rows, columns=["dataset", *LABELS, "method", "low", "high"]))
    assert found.ours == found.paper
    assert found.paper.cells == len(rows)


@pytest.mark.parametrize(
    ("boosted", "plain", "verdict", "sentence"),
    [
        ([80, 81, 80.5], [75, 75.5, 76], "better",
         "On cora, boosted gcn is 5.0 points better than the plain one (95 % interval 3.8 to 6.2, better in 3 of 3 splits)."),
        ([75, 75.5, 76], [80, 81, 80.5], "worse",
         "On cora, boosted gcn is 5.0 points worse than the plain one (95 % interval 3.8 to 6.2, better in 0 of 3 splits)."),
        ([80, 82, 80], [81, 80, 81], "level",
         "On cora, boosting gcn makes no difference that 3 splits can show (+0.0 points, 95 % interval −4.3 to +4.3, better in 1 of 3 splits)."),
        ([80], [81.5], None, "On cora, boosted gcn is 1.5 points worse than the plain one in the only split; one split cannot say how sure that is."),
        ([80], [80], None, "On cora, boosted gcn is as good as the plain one in the only split; one split cannot say how sure that is."),
        ([80, 81], [80, 81], "level",
         "On cora, boosting gcn makes no difference that 2 splits can show (+0.0 points, 95 % interval +0.0 to +0.0, better in 0 of 2 splits)."),
    ],
)  # fmt: skip
def test_the_sentence_of_a_comparison(boosted, plain, verdict, sentence):
    said = of_comparison("cora", "gcn", "accuracy", (boosted, plain), points=True, lower=False)
    assert said == {"headline": sentence, "verdict": verdict}


def test_where_lower_is_better_a_fall_is_better():
    values = [0.5, 0.52, 0.51], [0.7, 0.71, 0.72]
    said = of_comparison("cora", "gcn", "log_loss", values, points=False, lower=True)
    assert said["verdict"] == "better"
    assert "better than the plain one by 0.2000 in log loss" in said["headline"]
    assert "better in 3 of 3 splits" in said["headline"]


def test_a_level_gain_keeps_the_sign_of_the_metric():
    values = [0.5, 0.8, 0.5], [0.6, 0.7, 0.6]
    said = of_comparison("cora", "gcn", "log_loss", values, points=False, lower=True)["headline"]
    assert "(−0.0333 in log loss, 95 % interval −0.3202 to +0.2535, better in 2 of 3 splits)" in said


def test_the_sentence_of_a_classifier():
    good = of_classes("m", np.array([[300, 20], [60, 120]]), ["a", "b"])
    assert good["headline"] == (
        "m is right on 84.0 % of 500 nodes (95 % interval 80.5 to 87.0), against 64.0 % for always saying the largest class."
    )
    assert good["verdict"] == "better"
    assert good["answer"]["largest"] == "a"
    same = of_classes("m", np.array([[300, 20], [170, 10]]), ["a", "b"])
    assert "is no better than always saying the largest class (64.0 %)" in same["headline"]
    assert same["verdict"] == "level"
    bad = of_classes("m", np.array([[100, 220], [100, 80]]), ["a", "b"])
    assert "which is worse than always saying the largest class" in bad["headline"]
    assert bad["verdict"] == "worse"
    one = of_classes("m", np.array([[5, 0], [0, 0]]), ["a", "b"])
    assert one["headline"].endswith("all of them are of one class.")


def test_wilson():
    assert share(1, 1)["low"] == pytest.approx(20.65, abs=0.01)
    assert np.isnan(share(0, 0)["value"])


def test_the_sentence_of_a_regressor():
    y = np.arange(50.0)
    good = of_numbers("m", y, y + np.where(y % 2, 1, -1))
    assert good["verdict"] == "better"
    assert good["answer"]["value"] == pytest.approx(1)
    assert good["answer"]["mean"] == pytest.approx(y.std())
    assert f"against {y.std():.4g} for always saying the mean." in good["headline"]
    level = of_numbers("m", y, np.full(50, y.mean()))
    assert level["verdict"] == "level"
    assert "no better than always saying the mean" in level["headline"]
    assert of_numbers("m", y, -10 * y)["verdict"] == "worse"
    assert "one node cannot say" in of_numbers("m", [1.0], [2.0])["headline"]
