"""Means, gains, intervals and tests against values computed by hand."""

import math
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from clgnn.experiments.statistics import by_iteration, cells, leads, paired

Trials = Callable[..., pd.DataFrame]
CORA = ("cora", 85, 0)


def row(found: pd.DataFrame, method: str) -> Any:
    (only,) = found[found["method"] == method].to_dict("records")
    return only


def pair(plain: list[float], boosted: list[float]) -> dict[tuple[str, int, int, str], list[float]]:
    return {(*CORA, "gcn"): plain, (*CORA, "gcn+cl"): boosted}


def test_a_gain_by_hand(new_trials: Trials) -> None:
    """Differences 1, 2, 3: mean 2, standard deviation 1, standard error 1/sqrt(3), t = 2 sqrt(3) = 3.464."""
    found = cells(new_trials(pair([0.50, 0.52, 0.48], [0.51, 0.54, 0.51])))
    plain, boosted = row(found, "gcn"), row(found, "gcn+cl")
    assert plain["mean"] == pytest.approx(50)
    assert plain["standard_error"] == pytest.approx(2 / math.sqrt(3))
    assert plain["base"] is None
    assert math.isnan(plain["gain"])
    assert (boosted["base"], boosted["n"], boosted["pairs"]) == ("gcn", 3, 3)
    assert boosted["gain"] == pytest.approx(2)
    assert boosted["gain_se"] == pytest.approx(1 / math.sqrt(3))
    assert boosted["p"] == pytest.approx(0.0742, abs=5e-5)  # of t = 3.464 with 2 degrees of freedom
    assert boosted["low"] == pytest.approx(2 - 4.30265 / math.sqrt(3), abs=1e-5)  # t(0.975, 2) = 4.30265
    assert boosted["high"] == pytest.approx(2 + 4.30265 / math.sqrt(3), abs=1e-5)
    assert not boosted["significant"]
    assert (plain["best"], boosted["best"]) == (False, True)
    assert (plain["seconds"], boosted["seconds"], boosted["peak_memory"]) == (6.0, 60.0, 502.0)


def test_a_loss_is_as_significant_as_a_gain(new_trials: Trials) -> None:
    plain = [0.50, 0.52, 0.48, 0.51]
    better = [0.55, 0.571, 0.529, 0.56]
    gain = row(cells(new_trials(pair(plain, better))), "gcn+cl")
    loss = row(cells(new_trials(pair(better, plain))), "gcn+cl")
    assert loss["gain"] == pytest.approx(-gain["gain"])
    assert loss["p"] == pytest.approx(gain["p"])
    assert gain["significant"]
    assert loss["significant"]


def test_the_best_is_one_that_competes(new_trials: Trials) -> None:
    """Neither a method that trains on labels of the test graph nor an ablation; of equals, all are best."""
    values = {"gcn": 0.5, "gcn+cl": 0.6, "ica": 0.6, "gcn+cl-uniform": 0.7, "cl_all_labels": 0.8}
    found = cells(new_trials({(*CORA, method): [value] for method, value in values.items()}))
    assert set(found.loc[found["best"], "method"]) == {"gcn+cl", "ica"}
    few = {(*CORA, "gcn"): [0.5] * 6, (*CORA, "ica"): [0.6] * 5, (*CORA, "gmnn"): [0.7] * 4}
    found = cells(new_trials(few))
    assert set(found.loc[found["best"], "method"]) == {"ica"}
    alone = cells(new_trials({(*CORA, "gnn_all_labels"): [0.5]}))
    assert not alone["best"].any()


def test_holm_by_hand(new_trials: Trials) -> None:
    """The smallest of three p times 3, the next times 2, the largest as it is; never falling."""
    plain = [0.50, 0.52, 0.48]
    trials = new_trials(
        {
            (*CORA, "gcn"): plain,
            (*CORA, "gcn+cl"): [0.51, 0.54, 0.51],  # 1, 2, 3
            (*CORA, "gcn+cl-uniform"): [0.60, 0.63, 0.59],  # 10, 11, 11
            ("cora", 85, 50, "gcn"): plain,
            ("cora", 85, 50, "gcn+cl"): [0.51, 0.50, 0.49],  # 1, -2, 1
        }
    )
    found = cells(trials)
    p = sorted(found["p"].dropna())
    assert len(p) == 3
    by_hand = [3 * p[0], max(3 * p[0], 2 * p[1]), max(2 * p[1], p[2])]
    assert sorted(found["p_holm"].dropna()) == pytest.approx(by_hand)
    assert found.loc[found["p"].isna(), "p_holm"].isna().all()


def test_pairs_are_trials_with_the_same_number(new_trials: Trials) -> None:
    trials = new_trials(pair([0.50, 0.52, 0.48], [0.51, 0.54, 0.51]))
    trials = trials[~((trials["method"] == "gcn") & (trials["trial"] == 1))].iloc[::-1]
    boosted = row(cells(trials), "gcn+cl")
    assert (boosted["n"], boosted["pairs"]) == (3, 2)
    assert boosted["mean"] == pytest.approx(52)
    assert boosted["gain"] == pytest.approx(2)  # of 1 and 3


@pytest.mark.parametrize(("boosted", "gain"), [([0.55], 5.0), ([], math.nan)])
def test_too_few_trials(new_trials: Trials, boosted: list[float], gain: float) -> None:
    found = cells(new_trials(pair([0.50], boosted) | {(*CORA, "tk+cl"): [0.6]}))
    assert math.isnan(row(found, "gcn")["standard_error"])
    alone = row(found, "tk+cl")
    assert (alone["base"], alone["pairs"]) == ("tk", 0)
    assert math.isnan(alone["gain"])
    if boosted:
        one = row(found, "gcn+cl")
        assert one["gain"] == pytest.approx(gain)
        assert all(math.isnan(one[name]) for name in ("gain_se", "low", "high", "p", "p_holm"))
        assert not one["significant"]


def test_no_difference_at_all(new_trials: Trials) -> None:
    same = row(cells(new_trials(pair([0.50, 0.52], [0.50, 0.52]))), "gcn+cl")
    assert (same["gain"], same["gain_se"], same["low"], same["high"]) == (0, 0, 0, 0)
    assert math.isnan(same["p"])
    assert not same["significant"]
    assert same["best"]


def test_rounding_is_no_difference(new_trials: Trials) -> None:
    exported, computed = [0.263452, 0.333333, 0.666667], [0.2634518, 1 / 3, 2 / 3]
    alike = row(cells(new_trials(pair(exported, computed))), "gcn+cl")
    assert (alike["gain"], alike["low"], alike["high"]) == (0, 0, 0)


def test_the_same_difference_everywhere(new_trials: Trials) -> None:
    alike = row(cells(new_trials(pair([0.25, 0.5, 0.375], [0.375, 0.625, 0.5]))), "gcn+cl")
    assert alike["gain"] == alike["low"] == alike["high"] == 12.5
    assert alike["p"] == 0
    assert alike["significant"]


def test_pairs_of_any_scale() -> None:
    found = paired([0.1, 0.2, 0.3], [0.2, 0.2, 0.6])
    assert found["gain"] == pytest.approx(-0.4 / 3)
    assert found["low"] < found["gain"] < found["high"]
    assert math.isnan(paired([], [])["gain"])


def test_failed_trials_do_not_count(new_trials: Trials) -> None:
    trials = new_trials(pair([0.50, 0.52, 0.48], [0.51, 0.54, 0.51]))
    trials.loc[trials["trial"] == 2, ["status", "accuracy"]] = ["failed", None]
    found = cells(trials)
    assert found["n"].tolist() == [2, 2]
    assert row(found, "gcn+cl")["gain"] == pytest.approx(1.5)
    assert len(cells(trials.assign(status="failed"))) == 0


def test_balanced_accuracy_on_friendster(new_trials: Trials) -> None:
    found = cells(
        new_trials({("friendster", 641, 0, "gcn"): [0.4, 0.5], ("protein", 7607, 0, "gcn"): [0.4, 0.5]})
    )
    means = dict(zip(found["dataset"], found["mean"], strict=True))
    assert means == pytest.approx({"friendster": 35, "protein": 45})  # the frame's is 10 points lower


def test_a_trial_that_is_there_twice(new_trials: Trials) -> None:
    trials = new_trials(pair([0.5], [0.6]))
    with pytest.raises(
        ValueError, match=r"2 trials are there twice, first: dataset cora, .* method gcn, trial 0"
    ):
        cells(pd.concat([trials, trials]))


def test_a_metric_that_is_not_there(new_trials: Trials) -> None:
    trials = new_trials({("friendster", 641, 0, "gcn"): [0.4]}).drop(columns="balanced_accuracy")
    with pytest.raises(ValueError, match="some trials on friendster have no balanced_accuracy"):
        cells(trials)


def test_by_iteration(new_trials: Trials) -> None:
    found = by_iteration(new_trials(pair([0.5, 0.6], [0.6, 0.8])))
    assert found["method"].unique().tolist() == ["gcn+cl"]
    assert found["mean"].tolist() == pytest.approx([50, 60, 70])
    assert found["standard_deviation"].tolist() == pytest.approx([math.sqrt(200)] * 3)
    assert found["standard_error"].tolist() == pytest.approx([10] * 3)


def test_a_lead_is_over_the_strongest_of_the_others_on_the_splits_of_both(new_trials: Trials) -> None:
    values = {
        "gcn+cl-auto": [0.60, 0.61, 0.62, 0.63, 0.64, 0.90],
        "sage+cl-auto": [0.50] * 6,
        "gcn": [0.55, 0.57, 0.56, 0.57, 0.60, 0.10],  # of a high mean, but for a split that ica does not have
        "ica": [0.58, 0.58, 0.60, 0.60, 0.62],
        "gmnn": [0.99] * 4,  # too few
        "cl_all_labels": [0.95] * 6,  # not asked for
    }
    trials = new_trials({(*CORA, method): numbers for method, numbers in values.items()})
    (found,) = leads(trials, ["gcn+cl-auto", "sage+cl-auto"], ["gcn", "ica", "gmnn"]).to_dict("records")
    assert (found["method"], found["other"], found["pairs"]) == ("gcn+cl-auto", "ica", 5)
    assert found["gain"] == pytest.approx(2.4)  # of 2, 3, 2, 3, 2
    assert found["gain_se"] == pytest.approx(math.sqrt(0.3 / 5))
    assert leads(trials, ["tk+cl"], ["gcn"]).empty
