"""``clgnn schema``, and the text that a model keeps for people."""

import json

import pandas as pd

from helpers.commands import FIT, TABLES, call, refused

COLUMNS = ["--label", "colour", "--ignore", "truth", "--ignore", "size", "--split", "part"]


def test_it_shows_what_fit_prints_and_writes_nothing(files):
    links = pd.read_csv("edges.csv")
    loop = pd.DataFrame({"source": ["n1"], "target": ["n1"]})
    pd.concat([links, links[:2], loop]).to_csv("edges.csv", index=False)
    before = sorted(files.rglob("*"))
    output = call("schema", *TABLES, *COLUMNS)
    assert sorted(files.rglob("*")) == before
    lines = [line.split() for line in output.splitlines()]
    assert lines[0] == ["column", "read", "as"]
    assert ["id", "ignored", "id"] in lines
    assert ["shape", "category", "2", "values"] in lines
    assert "colour  ignored   label, 3 classes: blue, green, red" in output
    assert "Edges go from 'source' to 'target' and count in both directions; they have no weights." in output
    assert (
        f"60 nodes, {len(links)} undirected edges (1 self-loops dropped, 2 duplicate rows added up)" in output
    )
    fitted = call(*(word for word in FIT if word != "--quiet"), "--split", "part", "--out", "model")
    shown = output.splitlines()
    assert fitted.splitlines()[: len(shown) - 1] == shown[:-1]
    of_model = call("schema", "--model", "model").splitlines()
    assert of_model == shown[:-1]
    text = (files / "model" / "schema.txt").read_text()
    assert "\n".join(of_model[:-1]) in text
    assert "60 nodes" in text


def test_as_json(files):
    found = json.loads(call("schema", *TABLES, *COLUMNS, "--json"))
    assert found["columns"][0] == {"column": "id", "read_as": "ignored", "detail": "id"}
    assert found["classes"] == ["blue", "green", "red"]
    assert (found["num_nodes"], found["num_labels"], found["num_features"]) == (60, 40, 7)
    assert found["edges"] == {"source": "source", "target": "target", "weight": None, "undirected": True}
    call(*FIT, "--split", "part", "--out", "model")
    of_model = json.loads(call("schema", "--model", "model", "--json"))
    assert of_model == {name: found[name] for name in of_model}


def test_without_a_label_all_columns_are_features(files):
    output = call("schema", *TABLES, "--ignore", "part")
    assert "label" not in output
    assert ["truth", "category", "3", "values"] in [line.split() for line in output.splitlines()]


def test_it_refuses_what_fit_refuses(files):
    nodes = pd.read_csv("nodes.csv")
    nodes.assign(note=[f"n {i}" for i in range(60)]).to_csv("nodes.csv", index=False)
    assert "say --ignore note, or --categorical note" in refused("schema", *TABLES, *COLUMNS)
    assert "note" in call("schema", *TABLES, *COLUMNS, "--categorical", "note")


def test_many_columns_are_counted_by_kind_but_the_model_has_them_all(files):
    nodes = pd.read_csv("nodes.csv")
    more = pd.DataFrame({f"more{i}": nodes["f0"] * i for i in range(1, 31)})
    pd.concat([nodes, more], axis=1).to_csv("nodes.csv", index=False)
    output = call("schema", *TABLES, *COLUMNS)
    assert ["21", "more", "21", "number"] in [line.split() for line in output.splitlines()]
    call(*FIT, "--split", "part", "--out", "model")
    assert "more30" in (files / "model" / "schema.txt").read_text()
    assert "more30" in call("schema", "--model", "model")


def test_what_a_person_writes_into_the_text_is_never_read(files):
    call(*FIT, "--split", "part", "--out", "model")
    call("predict", "--model", "model", *TABLES, "--out", "one.csv")
    (files / "model" / "schema.txt").write_text("all different")
    call("predict", "--model", "model", *TABLES, "--out", "two.csv")
    assert (files / "one.csv").read_bytes() == (files / "two.csv").read_bytes()
    (files / "model" / "schema.txt").unlink()
    assert "shape" in call("schema", "--model", "model")
