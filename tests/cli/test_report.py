"""``clgnn report`` on tiny ledgers, and ``--report`` of the other commands."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from clgnn.cli import main
from clgnn.data import datasets
from clgnn.experiments.ledger import Ledger
from clgnn.report.graph_view import view_trials


def call(*arguments, code=0):
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def refused(*arguments):
    return " ".join(call(*arguments, code=2).split())


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "results")
    for method, values in {"gcn": (0.5, 0.52, 0.48), "gcn+cl": (0.55, 0.57, 0.54)}.items():
        for trial, accuracy in enumerate(values):
            row = {
                "dataset": "cora",
                "train_labels": 85,
                "test_label_percent": 0,
                "method": method,
                "trial": trial,
            }
            made.write({
                "key": f"{method}{trial}", **row, "settings": {"lr": 0.01}, "status": "done", "seconds": 1.0,
                "metrics": {"accuracy": accuracy}, "predictions": bytes(2708) if trial == 0 else None,
                "versions": {"torch": "2"}, "finished": "2026-01-01T00:00:00+00:00",
            })  # fmt: skip
    return made


@pytest.fixture
def no_files(monkeypatch):
    monkeypatch.setattr(datasets, "is_here", lambda name, root=None: False)


def test_a_page_from_a_ledger_and_from_its_export(ledger, tmp_path, no_files):
    out = tmp_path / "report.html"
    summary = json.loads(call("report", ledger.folder, "--out", out, "--json"))
    assert summary == {"report": str(out), "trials": 6, "failed": 0, "cells": 2, "graph": False}
    assert '"gain":5' in out.read_text()
    ledger.export(tmp_path / "trials.csv")
    again = tmp_path / "again.html"
    assert "6 trials, 2 cells" in call("report", tmp_path / "trials.csv", "--out", again)
    assert '"gain":5' in again.read_text()


def test_a_page_is_not_overwritten(ledger, tmp_path, no_files):
    out = tmp_path / "report.html"
    out.write_text("mine")
    assert "exists; choose another --out, or --force" in refused("report", ledger.folder, "--out", out)
    assert out.read_text() == "mine"
    call("report", ledger.folder, "--out", out, "--force")
    assert "<!doctype html>" in out.read_text()
    assert "ends in .txt; expected .html" in refused(
        "report", ledger.folder, "--out", tmp_path / "report.txt"
    )


def test_wrong_results_get_one_clear_line(tmp_path):
    out = tmp_path / "report.html"
    assert "is not there; expected a folder" in refused("report", tmp_path / "none", "--out", out)
    assert "has no ledger.sqlite" in refused("report", tmp_path, "--out", out)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    assert "has no column dataset" in refused("report", tmp_path / "other.csv", "--out", out)
    (tmp_path / "blank.csv").write_text("")
    assert "could not be read" in refused("report", tmp_path / "blank.csv", "--out", out)
    (tmp_path / "ledger.sqlite").write_text("this is no database at all, but text" * 40)
    assert "could not be read" in refused("report", tmp_path, "--out", out)
    empty = Ledger(tmp_path / "empty")
    empty.assign([])
    assert "there are no trials" in refused("report", empty.folder, "--out", out)
    assert not out.exists()


def test_the_graph_of_a_trial(ledger, monkeypatch):
    graph = datasets.load("citations", num_nodes=2708)
    monkeypatch.setattr(datasets, "is_here", lambda name, root=None: True)
    monkeypatch.setattr(datasets, "load", lambda name, root=None: graph)
    shown = view_trials(ledger.trials())
    assert len(shown["nodes"]) == 400
    assert shown["shown"] == ["true", "plain", "boosted"]
    assert {node["plain"] for node in shown["nodes"]} == {0}
    assert "cora, 85 labels, trial 0" in shown["caption"]
    monkeypatch.setattr(datasets, "load", lambda name, root=None: datasets.citations(num_nodes=2800))
    assert view_trials(ledger.trials()) is None  # predictions of other nodes


def test_report_of_run(tmp_path):
    out = tmp_path / "run.html"
    quick = ["--epochs", "3", "--iterations", "1", "--samples", "2", "--splits", "2", "--quiet"]
    output = call("run", *quick, "--method", "random", "--report", out)
    assert "The report is" in output
    made = out.read_text()
    for word in ('"By split"', '"boosted"', '"reliability"', '"graph"', '"num_samples":2'):
        assert word in made
    assert "exists; choose another --report" in refused("run", *quick, "--report", out)


def test_rivals_are_rows_and_none_is_cut():
    quick = ["--epochs", "2", "--iterations", "1", "--samples", "1", "--splits", "1", "--quiet"]
    rivals = ["label_propagation", "correct_and_smooth", "gnn_all_labels", "random", "label_reuse", "rni"]
    output = call("run", *quick, *(part for name in rivals for part in ("--method", name)))
    for name in rivals:
        assert name in output


@pytest.mark.parametrize("label", ["colour", "size"])
def test_report_of_evaluate(label, tmp_path, new_graph, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = new_graph(num_nodes=60)
    nodes = pd.DataFrame(graph.x.numpy(), columns=[f"f{i}" for i in range(5)]).assign(id=range(60))
    names = np.array(["red", "</script>", "blue"])
    nodes[label] = names[graph.y] if label == "colour" else graph.x[:, 0].numpy() + 0.5
    nodes["part"] = np.where(np.arange(60) < 30, "train", "test")
    nodes.loc[nodes.index >= 55, label] = None
    nodes.to_csv("nodes.csv", index=False)
    pd.DataFrame(graph.edge_index.T.numpy(), columns=["source", "target"]).to_csv("edges.csv", index=False)
    tables = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", label, "--split", "part", "--quiet"]
    call("fit", *tables, "--epochs", "3", "--iterations", "1", "--samples", "2", "--out", "model")
    call("evaluate", "--model", "model", *tables, "--report", "page.html")
    made = (tmp_path / "page.html").read_text()
    assert ('"confusion":{' in made) == (label == "colour")
    assert ('"scatter":[[' in made) == (label == "size")
    assert made.count("</script>") == 2
    assert '"headline":"model is ' in made
    for word in ('"roc":{', '"precision_recall":{', '"role":"unlabelled"', '"p":{"predicted":'):
        assert (word in made) == (label == "colour")
    assert sorted(os.listdir()) == ["edges.csv", "model", "nodes.csv", "page.html"]
    assert "exists; choose another --report" in refused(
        "evaluate", "--model", "model", *tables, "--report", "page.html"
    )
