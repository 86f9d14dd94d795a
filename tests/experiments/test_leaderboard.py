"""The order of methods, and the sentence that says what to take."""

import numpy as np
import pandas as pd
import pytest

from clgnn.experiments.leaderboard import leaderboard, recommendation
from clgnn.experiments.statistics import paired


def trials(metric="accuracy", **values):
    rows = [
        {"method": method.replace("_cl", "+cl"), "trial": i, "status": "done", metric: value, "seconds": 1.0,
         "peak_memory": 10.0}
        for method, numbers in values.items()
        for i, value in enumerate(numbers)
    ]  # fmt: skip
    return pd.DataFrame(rows)


THREE = {"gcn": (0.5, 0.6, 0.5), "gcn_cl": (0.6, 0.72, 0.6), "ica": (0.55, 0.5, 0.45)}


def test_the_best_comes_first_and_differences_are_paired():
    board = leaderboard(trials(**THREE), "accuracy").set_index("method")
    assert list(board.index) == ["gcn+cl", "gcn", "ica"]
    assert board.loc["gcn+cl", "to_best"] == 0
    expected = paired(THREE["ica"], THREE["gcn_cl"])
    assert board.loc["ica", ["to_best", "to_best_low", "to_best_high"]].tolist() == pytest.approx(
        [expected["gain"], expected["low"], expected["high"]]
    )
    gain = paired(THREE["gcn_cl"], THREE["gcn"])
    assert board.loc["gcn+cl", ["gain", "gain_low", "gain_high"]].tolist() == pytest.approx(
        [gain["gain"], gain["low"], gain["high"]]
    )
    assert board["wins"].tolist() == [3, pd.NA, 1]
    assert board["base"].tolist()[0::2] == ["gcn", "gcn"], "a rival is compared with the best plain GNN"
    half = (board["high"] - board["mean"])["gcn"]
    assert half == pytest.approx(4.302653 * board.loc["gcn", "standard_error"], rel=1e-5)


def test_lower_can_be_better():
    board = leaderboard(trials("rmse", gcn=(2.0, 3.0), gcn_cl=(1.0, 2.5)), "rmse", lower_is_better=True)
    assert board["method"].tolist() == ["gcn+cl", "gcn"]
    assert board.loc[0, "gain"] == pytest.approx(-0.75)
    assert board.loc[0, "wins"] == 2


def test_failed_trials_and_missing_splits_do_not_count():
    some = trials(**THREE)
    some.loc[(some["method"] == "gcn") & (some["trial"] == 0), "status"] = "failed"
    board = leaderboard(some, "accuracy").set_index("method")
    assert board.loc["gcn", "n"] == 2
    assert board.loc["gcn+cl", "gain"] == pytest.approx(np.mean([0.12, 0.1]))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (THREE, "Take gcn+cl: its accuracy is 64.0 %, 10.7 points above gcn, the best without collective "
         "learning (95 % interval 7.8 to 13.5), better in 3 of 3 splits."),
        ({"gcn": (0.7, 0.7), "gcn_cl": (0.6, 0.62)}, "Take gcn: its accuracy is 70.0 %, 9.0 points above "
         "gcn+cl, the best with collective learning, better in 2 of 2 splits: too little to tell the two "
         "apart (95 % interval of the difference -3.7 points to +21.7 points)."),
        ({"gcn": (0.7,), "gcn_cl": (0.6,)}, "Take gcn: its accuracy is 70.0 %, 10.0 points above gcn+cl, the "
         "best with collective learning, in the one split that there is: more splits would say how sure that "
         "is."),
        ({"gcn": (0.7, 0.6), "gcn_cl": (0.7, 0.6)}, "Take gcn: its accuracy is 65.0 %, the same as that of "
         "gcn+cl, the best with collective learning."),
        ({"gcn": (0.7, 0.6)}, "Take gcn: its accuracy is 65.0 %."),
        ({"gcn": (0.7, 0.6), "majority": (0.8, 0.7)}, "Take none of them: no method is better than majority."),
    ],
)  # fmt: skip
def test_the_recommendation(values, said):
    assert recommendation(trials(**values), "accuracy") == said


def test_a_lower_error_is_below():
    found = trials("rmse", gcn=(2.0, 3.0, 2.0), gcn_cl=(1.0, 2.0, 1.1))
    said = recommendation(found, "rmse", True, str.upper)
    assert said.startswith("Take GCN+CL: its rmse is 1.367, 0.9667 below GCN, the best without collective")
    assert "(95 % interval 0.8232 to 1.11), better in 3 of 3 splits." in said
