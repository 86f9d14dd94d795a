import json

import pandas as pd
import pytest

from helpers.commands import FIT, TABLES, call, refused

EXPLAIN = ["explain", "--model", "model", *TABLES]


@pytest.fixture
def model(files):
    paper = ["--preset", "paper", "--masks", "2"]  # the last iteration predicts, which sees labels
    call(*FIT, "--ignore", "part", "--test-labels", "partial", *paper, "--out", "model")
    return files


def test_the_tables_have_the_users_own_words(model):
    out = json.loads(call(*EXPLAIN, "--node", "n45", "--label", "colour", "--top", "200", "--json"))
    assert out["node"] == "n45"
    assert out["prediction"] in ("red", "green", "blue")
    assert {row["column"] for row in out["features"]} <= {
        *(f"f{i}" for i in range(5)),
        "shape = round",
        "shape = square",
    }
    assert all(row[end].startswith("n") for row in out["edges"] for end in ("source", "target"))
    importances = [row["importance"] for row in out["edges"]]
    assert importances == sorted(importances, reverse=True)
    assert out["iteration"] == 1
    labels = {row["node"]: row for row in out["labels"]}
    assert {"label", "observed", "p(red)", "p(green)", "p(blue)"} <= set(out["labels"][0])
    assert not labels["n45"]["observed"]
    nodes = pd.read_csv("nodes.csv").set_index("id")
    known = {name: row["label"] for name, row in labels.items() if row["observed"]}
    assert known
    assert known == nodes["colour"][list(known)].to_dict()


def test_it_prints_three_tables(model):
    out = call(*EXPLAIN, "--node", "n45", "--label", "colour", "--top", "2")
    assert "Node n45 is predicted to be" in out
    for word in ("edges", "features", "labels", "importance"):
        assert word in out


def test_numbers(files):
    call("fit", *TABLES, "--label", "size", "--ignore", "truth", "--ignore", "colour", "--ignore", "f0", "--ignore", "part",
         "--epochs", "3", "--iterations", "1", "--samples", "2", "--quiet", "--out", "numbers")  # fmt: skip
    out = json.loads(call("explain", "--model", "numbers", *TABLES, "--node", "n3", "--json"))
    assert isinstance(out["prediction"], float)


def test_wrong_calls_are_refused(model):
    assert (
        "--node nobody is no id of the nodes table; expected one of its ids, such as n0, n1, n2"
        in refused(*EXPLAIN, "--node", "nobody")
    )
    assert "Missing option '--node'" in refused(*EXPLAIN)
    call(
        "fit",
        *TABLES,
        "--label",
        "colour",
        "--ignore",
        "truth",
        "--ignore",
        "size",
        "--method",
        "ica",
        "--quiet",
        "--out",
        "ica",
    )
    assert "the model is a ICA; expected one of collective learning" in refused(
        "explain", "--model", "ica", *TABLES, "--node", "n1"
    )


def test_a_page_explains_a_node(model):
    options = ["--label", "truth", "--report", "page.html"]
    call("evaluate", "--model", "model", *TABLES, *options, "--explain", "n45")
    page = (model / "page.html").read_text(encoding="utf-8")
    for name in ("edges", "features"):
        assert f"Why node n45: {name}" in page
    assert "--explain is for the page of --report" in refused(
        "evaluate", "--model", "model", *TABLES, "--label", "truth", "--explain", "n45"
    )
    assert "--explain nobody is no id" in refused(
        "evaluate",
        "--model",
        "model",
        *TABLES,
        "--label",
        "truth",
        "--report",
        "other.html",
        "--explain",
        "nobody",
    )
