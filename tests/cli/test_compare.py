"""``clgnn compare`` on a pair of tables, and fitting what won."""

import json
import sqlite3

import pandas as pd
import pytest

from clgnn.estimators.persistence import read as read_model
from clgnn.experiments.compare import compare as library
from clgnn.experiments.compare import opened
from helpers.commands import TABLES, call, refused

QUICK = ["--epochs", "4", "--iteration-epochs", "3", "--iterations", "1", "--samples", "2", "--hidden", "4"]
COMPARE = ["compare", *TABLES, "--label", "colour", "--ignore", "truth", "--ignore", "size", "--ignore",
           "part", "--quiet"]  # fmt: skip
FEW = ["--methods", "majority,gcn,gcn+cl", "--splits", "2", *QUICK]


@pytest.fixture
def compared(files):
    return json.loads(call(*COMPARE, *FEW, "--out", "c", "--json")), files / "c"


def test_the_leaderboard_is_that_of_the_library(compared):
    found, folder = compared
    board = opened(folder).leaderboard
    assert [row["method"] for row in found["leaderboard"]] == board["method"].tolist()
    assert found["best"] == board["method"][0]
    assert found["metric"] == "accuracy"
    written = pd.read_csv(folder / "leaderboard.csv")
    assert written["mean"].tolist() == pytest.approx(board["mean"].tolist())
    assert {"leaderboard.csv", "trials.csv", "report.html", "comparison.json", "ledger.sqlite"} <= {
        path.name for path in folder.iterdir()
    }
    assert len(pd.read_csv(folder / "trials.csv")) == 6


def test_the_table_and_the_sentence_are_printed(files):
    said = " ".join(call(*COMPARE, *FEW, "--out", "c").split())
    for part in ("GCN + CL", "The largest", "to the best", "over plain", "better"):
        assert part in said
    assert "Take " in said
    assert "clgnn fit --method best --from c" in said


def test_the_same_command_goes_on_and_says_the_same(compared):
    first, folder = compared
    with sqlite3.connect(folder / "ledger.sqlite") as connection:
        connection.execute("DELETE FROM trials WHERE trial = 1 AND method = 'gcn'")
        before = {row[0] for row in connection.execute("SELECT finished FROM trials")}
    connection.close()
    again = json.loads(call(*COMPARE, *FEW, "--out", "c", "--json"))
    times = {"seconds", "peak_memory"}
    boards = [
        [{k: v for k, v in row.items() if k not in times} for row in found["leaderboard"]]
        for found in (first, again)
    ]
    assert boards[0] == boards[1]
    assert before <= set(pd.read_csv(folder / "trials.csv")["finished"])


def test_the_page_says_what_the_table_says(compared):
    found, folder = compared
    page = (folder / "report.html").read_text()
    assert json.dumps(found["recommendation"], ensure_ascii=False)[1:-1] in page


def test_fit_takes_what_won_with_its_settings(compared):
    found, folder = compared
    out = call("fit", *TABLES, "--label", "colour", "--ignore", "truth", "--ignore", "size", "--ignore", "part",
               "--method", "best", "--from", "c", "--out", "m", "--quiet")  # fmt: skip
    assert "The model is in" in out
    content = read_model("m")
    expected = opened(folder).model().get_params(deep=False)
    assert type(opened(folder).model()).__name__ == content["kind"]
    if "hidden_channels" in expected:
        assert content["parameters"]["hidden_channels"] == 4
        assert content["parameters"]["test_labels"] == "partial"
    assert found["best"] in ("majority", "gcn", "gcn+cl")


def test_the_users_own_split_columns_and_metric(files):
    found = json.loads(call(
        "compare", *TABLES, "--label", "truth", "--ignore", "colour", "--ignore", "size", "--split", "part",
        "--splits", "2", "--metric", "f1:red", "--methods", "gcn,random", *QUICK, "--out", "c", "--quiet",
        "--json",
    ))  # fmt: skip
    assert found["metric"] == "f1:red"
    assert all(row["n"] == 2 for row in found["leaderboard"])
    assert found["failed"] == []


def test_a_gnn_of_ones_own_stands_beside_the_others(files):
    (files / "mine.py").write_text(
        "from torch_geometric.nn import GCN\n\ndef net(i, o):\n    return GCN(i, 4, 2, o)\n"
    )
    found = json.loads(call(*COMPARE, "--methods", "gcn", "--gnn", "mine:net", "--splits", "1", *QUICK,
                            "--jobs", "2", "--out", "c", "--json"))  # fmt: skip
    assert {row["method"] for row in found["leaderboard"]} == {"gcn", "net", "net+cl"}
    assert found["failed"] == []


def test_numbers(files):
    found = json.loads(call("compare", *TABLES, "--label", "size", "--ignore", "truth", "--ignore", "colour",
                            "--ignore", "part", "--methods", "gcn,gcn+cl", "--splits", "2", *QUICK, "--out",
                            "c", "--quiet", "--json"))  # fmt: skip
    assert found["metric"] == "rmse"
    assert len(found["leaderboard"]) == 2


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--methods", "gcn+magic"], "method is 'gcn+magic'; expected"),
        (["--methods", "cl_all_labels"], "is not for"),
        (["--metric", "f1:pink"], "expected a class after f1:"),
        (["--seed", "3"], "--seed is 3; each split has its own"),
        (["--split", "shape"], "the split column 'shape' has"),
        (["--test-share", "0.9"], "leave some labels to learn from"),
        (["--split-kind", "connected", "--train-labels", "39"], "labelled nodes"),
    ],
)
def test_wrong_options_are_refused_and_nothing_is_written(files, more, said):
    assert said in refused(*COMPARE, "--methods", "majority", *more, "--out", "c")
    assert not (files / "c").exists()


def test_another_comparison_is_not_written_over(compared):
    assert "holds another comparison (metric" in refused(*COMPARE, *FEW, "--metric", "macro_f1", "--out", "c")


def test_best_wants_a_comparison(compared, tmp_path):
    fit = ["fit", *TABLES, "--label", "colour", "--ignore", "truth", "--ignore", "size", "--out", "m"]
    assert "belong together" in refused(*fit, "--method", "best")
    assert "belong together" in refused(*fit, "--from", "c")
    (tmp_path / "empty").mkdir()
    assert "has no comparison.json" in refused(*fit, "--method", "best", "--from", "empty")


def test_when_all_fail_it_exits_with_1(files, monkeypatch):
    from clgnn.experiments import run as running

    def fail(*_):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(running, "run_trial", fail)
    assert "out of luck" in call(*COMPARE, *FEW, "--out", "c", code=1)


def test_python_and_the_command_line_agree(compared, files):
    from clgnn.data.tables import Schema, read_table

    found, _ = compared
    nodes, edges = read_table("nodes.csv", text=("id",)), read_table("edges.csv", text=("source", "target"))
    schema = Schema.learn(nodes, "colour", "id", ("truth", "size", "part"))
    data = schema.graph(nodes, edges, "colour")
    settings = {"max_epochs": 4, "iteration_epochs": 3, "num_iterations": 1, "num_samples": 2,
                "hidden_channels": 4}  # fmt: skip
    board = library(data, ["majority", "gcn", "gcn+cl"], num_splits=2, settings=settings).leaderboard
    assert [row["mean"] for row in found["leaderboard"]] == pytest.approx(board["mean"].tolist())


def test_the_help_has_the_defaults_of_this_command():
    said = " ".join(call("compare", "--help").split())
    assert "predict on have labels. [default: partial]" in said
    assert "--seed" not in said
