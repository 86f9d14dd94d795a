"""``clgnn prepare``, and ``--graph`` in place of tables: the same results."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import clgnn.data
from clgnn.estimators import predictions
from helpers.commands import QUICK, TABLES, call, refused

COLUMNS = ["--label", "colour", "--ignore", "truth", "--ignore", "size"]
PREPARE = ["prepare", *TABLES, *COLUMNS, "--quiet"]
SPLIT = ["--split", "part"]


def weights_of(folder):
    return {path.name: path.read_bytes() for path in Path(folder).glob("*.safetensors")}


def prediction_of(*arguments):
    call("predict", *arguments, "--out", "p.csv", "--force")
    return Path("p.csv").read_bytes()


@pytest.mark.parametrize("split", [SPLIT, []], ids=["split", "no split"])
def test_a_graph_on_disk_gives_what_the_tables_give(files, split):
    ignore = [] if split else ["--ignore", "part"]
    call(*PREPARE, *split, *ignore, "--out", "g.clg")
    from_tables = call("fit", *TABLES, *COLUMNS, *ignore, *split, *QUICK, "--json", "--out", "a")
    from_graph = call("fit", "--graph", "g.clg", *QUICK, "--json", "--out", "b")
    assert {**json.loads(from_tables), "model": 0} == {**json.loads(from_graph), "model": 0}
    assert weights_of("a") == weights_of("b")
    assert Path("a/schema.txt").read_text() == Path("b/schema.txt").read_text()
    tables = prediction_of("--model", "a", *TABLES)
    assert prediction_of("--model", "b", *TABLES) == tables
    assert prediction_of("--model", "a", "--graph", "g.clg") == tables
    assert prediction_of("--model", "b", "--graph", "g.clg") == tables


def test_a_new_graph_is_prepared_as_the_model_reads_it(files, monkeypatch):
    call("fit", *TABLES, *COLUMNS, *SPLIT, *QUICK, "--out", "m")
    nodes = pd.read_csv("nodes.csv")
    nodes.assign(f0=nodes["f0"] * 2 + 1).rename(columns={"id": "key"}).to_parquet("nodes2.parquet")
    other = ["--nodes", "nodes2.parquet", "--edges", "edges.csv", "--id", "key"]
    call("prepare", *other, "--model", "m", "--label", "truth", *SPLIT, "--out", "g.clg", "--quiet")
    judged = call("evaluate", "--model", "m", *other, "--label", "truth", *SPLIT, "--json")
    assert call("evaluate", "--model", "m", "--graph", "g.clg", "--json") == judged
    assert prediction_of("--model", "m", "--graph", "g.clg") == prediction_of("--model", "m", *other)
    monkeypatch.setattr("clgnn.cli.graphs.LARGE", 0)
    streamed = json.loads(call("evaluate", "--model", "m", "--graph", "g.clg", "--json"))
    assert streamed == pytest.approx(json.loads(judged), abs=1e-4)
    call("prepare", *other, *COLUMNS, *SPLIT, "--out", "own.clg", "--quiet")
    assert "other readings of its columns than the model has" in refused(
        "predict", "--model", "m", "--graph", "own.clg", "--out", "q.csv"
    )
    assert "no labels of 'colour', but those of 'truth'" in refused(
        "evaluate", "--model", "m", "--graph", "g.clg", "--label", "colour"
    )


def test_it_says_what_fit_says(files):
    said = call("prepare", *TABLES, *COLUMNS, *SPLIT, "--out", "g.clg").splitlines()
    shown = call("schema", *TABLES, *COLUMNS, *SPLIT).splitlines()
    assert said[-1] == f"The graph is in {files / 'g.clg'}."
    assert all(line in said for line in shown)
    counts = json.loads(call("schema", *TABLES, *COLUMNS, *SPLIT, "--json"))
    found = json.loads(call(*PREPARE, *SPLIT, "--json", "--force", "--out", "g.clg"))
    assert found == {
        "graph": str(files / "g.clg"),
        **{name: counts[name] for name in found if name != "graph"},
    }


def test_predictions_come_in_batches(files, monkeypatch):
    call(*PREPARE, *SPLIT, "--out", "g.clg")
    call("fit", "--graph", "g.clg", *QUICK, "--out", "m")
    tables = {}
    for size in (1000, 7):
        monkeypatch.setattr(predictions, "BATCH", size)
        for name in ("p.csv", "p.parquet"):
            call("predict", "--model", "m", "--graph", "g.clg", "--out", name, "--force", "--quiet")
        tables[size] = Path("p.csv").read_bytes(), pd.read_parquet("p.parquet")
    assert tables[7][0] == tables[1000][0]
    pd.testing.assert_frame_equal(tables[7][1], tables[1000][1])
    assert tables[7][1]["id"].tolist() == pd.read_csv("nodes.csv")["id"].tolist()


def test_nothing_is_overwritten_unasked(files):
    call(*PREPARE, *SPLIT, "--out", "g.clg")
    before = Path("g.clg/meta.json").read_bytes()
    assert "exists; choose another --out, or --force" in refused(
        *PREPARE, "--ignore", "part", "--out", "g.clg"
    )
    assert Path("g.clg/meta.json").read_bytes() == before
    call(*PREPARE, "--ignore", "part", "--out", "g.clg", "--force")
    assert clgnn.data.open("g.clg", verify=True).split is None
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years of work")
    assert "with files in it, and no graph" in refused(*PREPARE, "--out", "mine", "--force")
    Path("file").write_text("")
    assert "is a file; expected a folder" in refused(*PREPARE, "--out", "file")
    assert not list(files.glob(".*"))
    assert not list(files.glob("*.partial"))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ([*PREPARE, "--edge-features", "weight", "--out", "h.clg"], "--edge-features and --edge-type can't be kept in a graph on disk"),
        ([*PREPARE, "--categorical", "shoe", "--out", "h.clg"], "no column 'shoe'"),
        (["prepare", "--nodes", "nowhere.csv", "--edges", "edges.csv", "--out", "h.clg"], "nowhere.csv is not there"),
        (["prepare", *TABLES, "--model", "m", "--ignore", "f0", "--out", "h.clg"], "--ignore and --model are given"),
        (["fit", "--graph", "g.clg", "--nodes", "nodes.csv", "--out", "n"], "--graph and --nodes are given"),
        (["fit", "--graph", "g.clg", "--split", "part", "--out", "n"], "--graph and --split are given"),
        (["fit", "--graph", "g.clg", "--label", "truth", "--out", "n"], "has no labels of 'truth', but those of 'colour'"),
        (["fit", "--graph", "unlabelled.clg", "--out", "n"], "unlabelled.clg has no labels"),
        (["fit", "--graph", "nodes.csv", "--out", "n"], "nodes.csv is no graph"),
        (["fit", *TABLES, "--out", "n"], "Missing option '--label'"),
        (["evaluate", "--model", "m", "--graph", "unlabelled.clg"], "has no labels to judge by"),
        (["evaluate", "--model", "m", *TABLES], "Missing option '--label'"),
        (["predict", "--model", "m", "--edges", "edges.csv", "--out", "q.csv"], "Missing option '--nodes'"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused(files, command, said):
    edges = pd.read_csv("edges.csv")
    edges.assign(weight=1.0).to_csv("edges.csv", index=False)
    call(*PREPARE, *SPLIT, "--out", "g.clg")
    call("fit", "--graph", "g.clg", *QUICK, "--out", "m")
    call("prepare", *TABLES, "--model", "m", "--out", "unlabelled.clg", "--quiet")
    assert said in refused(*command)
    assert not Path("h.clg").exists()


def test_a_full_disk_is_refused_in_one_line(files, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 100))
    assert "GiB free; free some, or choose another --out" in refused(*PREPARE, "--out", "g.clg")
    assert not list(files.glob("g.clg*"))


def test_numbers_to_predict(files):
    ignore = [*SPLIT, "--ignore", "truth", "--ignore", "colour"]
    call("prepare", *TABLES, "--label", "size", *ignore, "--out", "g.clg", "--quiet")
    call("fit", *TABLES, "--label", "size", *ignore, *QUICK, "--out", "a")
    call("fit", "--graph", "g.clg", *QUICK, "--out", "b")
    assert weights_of("a") == weights_of("b")
    assert np.array_equal(clgnn.data.open("g.clg").y, pd.read_csv("nodes.csv")["size"])


@pytest.mark.parametrize("labels", ["none", "partial"])
def test_a_large_graph_is_predicted_and_judged_in_a_stream(files, monkeypatch, labels):
    from clgnn.data.stored import StoredGraph

    call(
        "prepare",
        *TABLES,
        "--label",
        "colour",
        "--ignore",
        "truth",
        "--split",
        "part",
        "--out",
        "g.clg",
        "--quiet",
    )
    call("fit", "--graph", "g.clg", *QUICK, "--out", "m", "--test-labels", labels, "--quiet")
    shown = ["--label", "colour"] if labels == "partial" else []
    call("predict", "--model", "m", "--graph", "g.clg", *shown, "--out", "memory.csv")
    monkeypatch.setattr("clgnn.cli.graphs.LARGE", 0)
    monkeypatch.setattr(StoredGraph, "to_data", None)  # it is not read as a whole
    call("predict", "--model", "m", "--graph", "g.clg", *shown, "--out", "stream.csv")
    one, other = pd.read_csv("memory.csv"), pd.read_csv("stream.csv")
    pd.testing.assert_frame_equal(one, other, atol=1e-5)
    assert "expected some" in refused(
        "evaluate", "--model", "m", "--graph", "g.clg"
    )  # no test label is there
