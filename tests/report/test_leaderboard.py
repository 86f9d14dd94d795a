"""The content of the page of a leaderboard."""

import numpy as np
import pandas as pd
import pytest

from clgnn.experiments.leaderboard import leaderboard
from clgnn.report.leaderboard import from_leaderboard
from clgnn.report.page import page

VALUES = {
    "gnn_all_labels": (0.90, 0.92, 0.91),
    "gcn+cl": (0.80, 0.83, 0.81),
    "gcn": (0.75, 0.76, 0.77),
    "<b>mine</b>": (0.70, 0.71, 0.72),
    "random": (0.1, 0.11, 0.12),
}


def trials_of(values: dict[str, tuple[float, ...]]) -> pd.DataFrame:
    rows = [
        {
            "method": method,
            "trial": trial,
            "value": value,
            "seconds": 1.5,
            "peak_memory": 400.0,
            "status": "done",
            "error": None,
        }
        for method, of_splits in values.items()
        for trial, value in enumerate(of_splits)
    ]
    lost = {
        "method": "rcc",
        "trial": 0,
        "value": np.nan,
        "status": "failed",
        "error": "Traceback ..\nMemoryError: <i>large</i>",
    }
    return pd.DataFrame([*rows, lost])


def content_of(values, metric="accuracy"):
    trials = trials_of(values)
    board = leaderboard(trials, "value", metric == "log_loss")
    made = from_leaderboard(
        board,
        name="my <i>table</i>",
        metric=metric,
        recommendation="Take gcn+cl.",
        trials=trials,
        settings={"epochs": 9, "gnn": len},
    )
    return board, made


def test_the_numbers_are_those_of_the_board():
    board, made = content_of(VALUES)
    assert made["headline"] == "Take gcn+cl."
    assert [cell["method"] for cell in made["cells"]] == board["method"].tolist()
    for cell, row in zip(made["cells"], board.to_dict("records"), strict=True):
        assert cell["mean"] == pytest.approx(100 * row["mean"])
        assert (cell["mean_low"], cell["mean_high"]) == pytest.approx((100 * row["low"], 100 * row["high"]))
        assert cell["n"] == 3
    lines = {row[0]: row for row in made["tables"][0]["rows"]}
    gain, low, high = (100 * board.loc[1, name] for name in ("gain", "gain_low", "gain_high"))
    assert lines["GCN + CL"][5:9] == ["GCN", f"{gain:+.1f}", f"{low:+.1f} to {high:+.1f}", "3 of 3"]
    by_split = {row[0]: row[1:] for row in made["tables"][1]["rows"]}
    assert by_split["GCN"] == ["75.0", "76.0", "77.0"]


def test_every_method_competes():
    board, made = content_of(VALUES)
    assert [cell["method"] for cell in made["cells"] if cell["best"]] == [board["method"][0]]
    assert made["tables"][0]["strong"] == [0]
    assert any(note.startswith("†") for note in made["notes"]), "which one learned from more is said"


def test_a_family_shares_a_colour():
    _, made = content_of({**VALUES, "own": (0.5, 0.5, 0.6), "own+cl": (0.5, 0.6, 0.6)})
    methods = made["methods"]
    assert methods["gcn"]["colour"] == methods["gcn+cl"]["colour"] != methods["own"]["colour"]
    assert methods["own"]["colour"] == methods["own+cl"]["colour"]
    assert (methods["own"]["kind"], methods["own+cl"]["kind"]) == ("plain", "cl")
    assert methods["random"]["colour"] is None


def test_failures_and_settings_are_listed():
    _, made = content_of(VALUES)
    assert made["failures"] == [["rcc", "0", "MemoryError: <i>large</i>"]]
    assert made["settings"] == {"epochs": 9, "gnn": "len"}
    assert "<i>large" not in page(made)


def test_one_split_has_no_intervals():
    _, made = content_of({method: values[:1] for method, values in VALUES.items()})
    assert made["cells"][0]["mean_low"] is None or np.isnan(made["cells"][0]["mean_low"])
    assert made["tables"][0]["rows"][1][2] == "–"
    assert "One split gives no intervals" in made["notes"][0]
    page(made)


def test_a_metric_that_is_no_share_keeps_its_unit():
    board, made = content_of(VALUES, "log_loss")
    assert made["cells"][0]["mean"] == pytest.approx(board.loc[0, "mean"])
    assert made["datasets"]["my <i>table</i>"] | {"name": ""} == {
        "name": "", "metric": "log loss", "unit": "", "lower": True, "mark": "",
    }  # fmt: skip
