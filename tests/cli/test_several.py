"""Several labels, and several types of nodes, from tables."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from clgnn.cli.hetero import hetero_gnn
from clgnn.data.hetero_tables import OtherTables, learn_hetero, schema_from_json
from clgnn.data.tables import Schema
from clgnn.estimators import persistence
from helpers.commands import TABLES, call, refused

QUICK = ["--epochs", "10", "--iterations", "1", "--hidden", "4", "--samples", "3", "--threads", "1"]
LABELS = ["--label", "red", "--label", "large"]
LIBRARY = ["--nodes", "paper=papers.csv", "--nodes", "author=authors.csv",
           "--edges", "author:writes:paper=writes.csv", "--edges", "paper:cites:paper=cites.csv"]  # fmt: skip


# Several labels


@pytest.fixture
def two_labels(files):
    nodes = pd.read_csv("nodes.csv").drop(columns=["colour", "part"])
    nodes["red"] = np.where(nodes.truth == "red", 1, 0)
    nodes["large"] = np.where(nodes["size"] > 5, "yes", "no")
    nodes["red_truth"], nodes["large_truth"] = nodes.red, nodes.large
    nodes.loc[40:, ["red", "large"]] = None
    nodes.loc[:4, "red"] = None
    nodes.drop(columns=["truth", "size"]).to_csv("nodes.csv", index=False)
    return files


IGNORED = ["--ignore", "red_truth", "--ignore", "large_truth"]


def test_several_labels_are_learned_predicted_and_judged(two_labels):
    said = call("fit", *TABLES, *LABELS, *IGNORED, *QUICK, "--out", "m")
    assert "label, 0 or 1" in said
    call("predict", "--model", "m", *TABLES, "--out", "p.csv")
    table = pd.read_csv("p.csv")
    assert list(table) == ["id", "prediction(red)", "prediction(large)", "p(red)", "p(large)", "spread",
                           "label_was_known"]  # fmt: skip
    assert ((table["p(red)"] >= 0.5) == (table["prediction(red)"] == 1)).all()
    truth = ["--label", "red_truth", "--label", "large_truth"]
    judged = json.loads(call("evaluate", "--model", "m", *TABLES, *truth, "--json"))
    assert judged["judged"] == 20
    assert [row["label"] for row in judged["by_label"]] == ["red", "large"]
    assert 0 <= judged["macro_f1"] <= 1
    assert "by label" in call("evaluate", "--model", "m", *TABLES, *truth)
    assert json.loads(call("schema", *TABLES, *LABELS, *IGNORED, "--json"))["label"] == ["red", "large"]


def test_labels_that_are_shown_count(two_labels):
    call("fit", *TABLES, *LABELS, *IGNORED, *QUICK, "--out", "m", "--test-labels", "partial", "--start",
         "paper")  # fmt: skip
    call("predict", "--model", "m", *TABLES, "--out", "none.csv")
    call("predict", "--model", "m", *TABLES, *LABELS, "--out", "some.csv")
    table = pd.read_csv("some.csv")
    assert table["label_was_known"].sum() == 40
    assert not table["p(red)"].equals(pd.read_csv("none.csv")["p(red)"])


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["fit", *TABLES, "--label", "red", "--label", "shape", "--out", "m"], "expected 0 or 1"),
        (["fit", *TABLES, *LABELS, *IGNORED, "--method", "ica", "--out", "m"], "there are several labels"),
        (
            ["fit", *TABLES, *LABELS, *IGNORED, "--threshold", "accuracy", "--out", "m"],
            "there are several labels",
        ),
        (["fit", *TABLES, *LABELS, *IGNORED, "--class-weight", "balanced", "--out", "m"], "--class-weight"),
        (["compare", *TABLES, *LABELS, *IGNORED], "this command takes one label"),
        (["tune", *TABLES, *LABELS, *IGNORED, "--out", "t"], "this command takes one label"),
        (["fit", *TABLES, *LABELS, "--out", "m"], "would leak the label"),
    ],
)
def test_what_can_not_be_is_said(two_labels, command, said):
    assert said in refused(*command)


def test_a_model_wants_as_many_labels_as_in_training(two_labels):
    call("fit", *TABLES, *LABELS, *IGNORED, *QUICK, "--out", "m")
    assert "fitted with 2" in refused("evaluate", "--model", "m", *TABLES, "--label", "red_truth")
    assert "for one label" in refused("evaluate", "--model", "m", *TABLES, *LABELS, "--report", "page.html")


def test_several_labels_of_a_table():
    nodes = pd.DataFrame({"id": list("abc"), "one": [1, 0, None], "two": ["no", None, "yes"]})
    schema = Schema.learn(nodes, ("one", "two"))
    y = schema.labels(nodes, ("one", "two"))
    assert torch.equal(y.nan_to_num(-1), torch.tensor([[1, 0], [0, -1], [-1, 1]], dtype=torch.float64))
    assert schema_from_json(json.loads(json.dumps(schema.to_json()))) == schema


# Several types of nodes


@pytest.fixture
def library(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    topic = generator.integers(2, size=50)
    papers = pd.DataFrame({"id": [f"p{i}" for i in range(50)], "f": generator.normal(size=50) + topic})
    papers["truth"] = np.array(["art", "math"])[topic]
    papers["topic"] = papers["truth"].where(np.arange(50) < 35)
    papers.to_csv("papers.csv", index=False)
    authors = pd.DataFrame({"id": [f"a{i}" for i in range(12)], "age": generator.normal(size=12)})
    authors.to_csv("authors.csv", index=False)
    ends = {"source": generator.choice(authors["id"], 120), "target": generator.choice(papers["id"], 120)}
    pd.DataFrame(ends).to_csv("writes.csv", index=False)
    ends = {"source": generator.choice(papers["id"], 80), "target": generator.choice(papers["id"], 80)}
    pd.DataFrame(ends).to_csv("cites.csv", index=False)
    return tmp_path


FIT = ["fit", *LIBRARY, "--label", "topic", "--ignore", "truth", *QUICK]


def test_several_types_are_learned_predicted_and_judged(library):
    said = call(*FIT, "--out", "m")
    assert "50 paper nodes, 12 author nodes" in said
    assert "paper:rev_writes:author" in said
    call("predict", "--model", "m", *LIBRARY, "--out", "p.csv")
    first = pd.read_csv("p.csv")
    assert first["id"].tolist() == [f"p{i}" for i in range(50)]
    judged = json.loads(call("evaluate", "--model", "m", *LIBRARY, "--label", "truth", "--json"))
    assert judged["judged"] == 15
    authors = pd.read_csv("authors.csv")
    authors["age"] = -3 * authors["age"]
    authors.to_csv("authors.csv", index=False)
    call("predict", "--model", "m", *LIBRARY, "--out", "q.csv")
    assert not first["p(art)"].equals(pd.read_csv("q.csv")["p(art)"]), "authors count"
    assert (
        json.loads(call("schema", *LIBRARY, "--label", "topic", "--ignore", "truth", "--json"))["num_nodes"]
        == 50
    )
    assert "author: age" in call("schema", "--model", "m")


def test_hidden_labels_change_nothing(library):
    call(*FIT, "--out", "m")
    papers = pd.read_csv("papers.csv")
    papers["truth"] = "art"
    papers.to_csv("papers.csv", index=False)
    call(*FIT, "--out", "n")
    one, other = (persistence.read(name)["weights"]["sha256"] for name in "mn")
    assert one == other


def test_a_graph_of_several_types_is_what_the_tables_say():
    papers = pd.DataFrame({"id": ["p", "q"], "topic": ["a", "b"]})
    authors = pd.DataFrame({"id": ["x", "y"], "age": [0.0, 2.0]})
    writes = pd.DataFrame({"source": ["y", "x", "x"], "target": ["p", "q", "q"]})
    relation = ("author", "writes", "paper")
    schema = learn_hetero({"paper": papers, "author": authors}, {relation: writes}, "topic")
    data = schema.graph(papers, OtherTables({"author": authors}, {relation: writes}), "topic")
    assert data.y.tolist() == [0, 1]
    assert data.hetero.x["author"].flatten().tolist() == [-1.0, 1.0]
    assert data.hetero.edges[relation].tolist() == [[0, 1], [1, 0]]
    assert data.hetero.edges["paper", "rev_writes", "author"].tolist() == [[1, 0], [0, 1]]
    assert schema_from_json(json.loads(json.dumps(schema.to_json()))) == schema
    gnn = hetero_gnn({"gnn": "sage", "hidden_channels": 3, "num_layers": None, "dropout": 0.5}, schema)
    out = gnn({"paper": data.x, "author": data.hetero.x["author"]}, data.hetero.edges)
    assert {kind: tuple(value.shape) for kind, value in out.items()} == {"paper": (2, 3), "author": (2, 3)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"author:writes:paper=writes.csv": "author:paper=writes.csv"}, "SOURCE:RELATION:TARGET"),
        ({"author:writes:paper=writes.csv": "writer:writes:paper=writes.csv"}, "no type of --nodes"),
        ({"author=authors.csv": "authors.csv"}, "has no type"),
        ({"author=authors.csv": "paper=authors.csv"}, "two tables"),
        ({"topic": "nothing"}, "none of paper, author has the column"),
        ({"topic": "id"}, "exactly one table"),
        ({"truth": "nothing"}, "--ignore"),
        ({"--samples": "--weight"}, "--weight is for one type"),
    ],
)
def test_wrong_types_are_said(library, change, said):
    assert said in refused(*(change.get(one, one) for one in FIT), "--out", "m")


def test_commands_that_take_one_table_say_so(library):
    one = [*LIBRARY, "--label", "topic"]
    assert "takes one table" in refused("compare", *one, "--out", "c")
    assert "takes one table" in refused("tune", *one, "--out", "t")
    assert "takes one table" in refused("prepare", *one, "--out", "g")
    papers = ["--nodes", "papers.csv", "--edges", "cites.csv"]
    assert "knows one type" in refused(*FIT, "--gnn", "gin", "--out", "m")
    call(*FIT, "--out", "m")
    assert "other types than in training" in refused(
        "predict", "--model", "m", *LIBRARY[:-2], "--out", "p.csv"
    )
    assert "knows several types" in refused("prepare", "--model", "m", *papers, "--out", "g")


def test_names_of_types_are_no_pictures(library):
    smile = ["paper:smile:paper=cites.csv" if one.startswith("paper:cites") else one for one in LIBRARY]
    said = call("schema", *smile, "--label", "topic", "--ignore", "truth")
    assert "paper:smile:paper" in said


# Numbers


@pytest.mark.parametrize("method", ["residual_regression", "hist_gradient_boosting", "ridge_regression"])
def test_rivals_for_numbers(files, method):
    options = ["--label", "size", "--ignore", "truth", "--ignore", "colour", "--split", "part"]
    call("fit", *TABLES, *options, "--method", method, "--out", "m", "--quiet")
    call("predict", "--model", "m", *TABLES, "--out", "p.csv")
    assert list(pd.read_csv("p.csv")) == ["id", "prediction", "std", "spread", "label_was_known"]
    judged = json.loads(call("evaluate", "--model", "m", *TABLES, "--label", "size", "--json"))
    assert 0 <= judged["coverage_90"] <= 1


def test_what_is_for_numbers_is_not_for_classes(files):
    classes = ["--label", "colour", "--ignore", "truth", "--ignore", "part", "--out", "m"]
    assert "is for numbers" in refused("fit", *TABLES, *classes, "--method", "mean")
    numbers = ["--label", "size", "--ignore", "truth", "--ignore", "colour", "--ignore", "part", "--out", "m"]
    assert "is for classes" in refused("fit", *TABLES, *numbers, "--method", "ica")


# Spreadsheets


def test_a_spreadsheet_runs_nothing(files):
    nodes, edges = pd.read_csv("nodes.csv"), pd.read_csv("edges.csv")
    bad = '=HYPERLINK("http://evil")'
    nodes.loc[0, "id"], nodes.loc[1, "id"] = bad, "-5"
    ends = edges[["source", "target"]].replace({"n0": bad, "n1": "-5"})
    nodes = nodes.replace({"colour": {"red": "@red"}, "truth": {"red": "@red"}})
    nodes.to_csv("nodes.csv", index=False)
    ends.to_csv("edges.csv", index=False)
    call("fit", *TABLES, "--label", "colour", "--ignore", "truth", "--ignore", "part", *QUICK, "--out", "m")
    call("predict", "--model", "m", *TABLES, "--out", "p.csv")
    call("predict", "--model", "m", *TABLES, "--out", "p.parquet")
    table, exact = pd.read_csv("p.csv", dtype=str), pd.read_parquet("p.parquet")
    assert table["id"].tolist()[:3] == ["'" + bad, "-5", "n2"]
    assert exact["id"].tolist()[:2] == [bad, "-5"]
    cells = pd.concat([table[name] for name in ("id", "prediction")])
    formulas = cells[cells.str.match(r"[=+@\t\r-]")]
    assert formulas.tolist() == ["-5"]
