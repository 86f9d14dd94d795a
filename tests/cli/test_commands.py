"""The commands on a user's own files, as a user would type them."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
import torch

from clgnn import CollectiveClassifier, baselines
from clgnn.data.tables import Schema
from clgnn.estimators.persistence import read
from helpers.commands import FIT, QUICK, TABLES, call, refused


def test_a_fit_in_bfloat16_is_saved_as_one_and_predicts_about_the_same(files):
    found = {}
    for precision in ("float32", "bfloat16"):
        call(*FIT, "--split", "part", "--out", precision, "--precision", precision)
        assert baselines.load(precision).get_params()["precision"] == precision
        call("predict", "--model", precision, *TABLES, "--out", f"{precision}.csv")
        found[precision] = pd.read_csv(f"{precision}.csv")
    probabilities = ["p(blue)", "p(green)", "p(red)"]
    difference = np.abs(found["float32"][probabilities] - found["bfloat16"][probabilities]).to_numpy()
    assert 0 < difference.max() < 0.2


def test_fit_predict_evaluate(files):
    assert "The model is in" in call(*FIT, "--split", "part", "--out", "model")
    assert "60 nodes predicted, 0 labels seen" in call(
        "predict", "--model", "model", *TABLES, "--out", "p.csv"
    )
    table = pd.read_csv("p.csv")
    probabilities = ["p(blue)", "p(green)", "p(red)"]
    assert table.columns.tolist() == [
        "id", "prediction", *probabilities, "confidence", "spread", "label_was_known"
    ]  # fmt: skip
    assert np.allclose(table[probabilities].sum(axis=1), 1, atol=1e-5)
    best = table[probabilities].idxmax(axis=1).str[2:-1]
    assert best.tolist() == table["prediction"].tolist()
    assert np.allclose(table[probabilities].max(axis=1), table["confidence"])
    assert not table["label_was_known"].any()
    assert table["id"].tolist() == [f"n{i}" for i in range(60)]
    output = call("evaluate", "--model", "model", *TABLES, "--label", "truth", "--split", "part", "--json")
    values = json.loads(output)
    right = (table["prediction"] == pd.read_csv("nodes.csv")["truth"])[40:].mean()
    assert values["accuracy"] == pytest.approx(right)
    assert values["judged"] == 20


def test_square_brackets_in_the_name_of_a_file_are_printed(files):
    call(*FIT, "--split", "part", "--out", "model")
    output = call("predict", "--model", "model", *TABLES, "--out", "p[red].csv")
    assert output.strip().endswith("in p[red].csv.")


def test_partial_labels(files):
    call(*FIT, "--preset", "paper", "--test-labels", "partial", "--inference-masks", "all", "--out", "model")
    arguments = ["predict", "--model", "model", *TABLES]
    call(*arguments, "--out", "blind.csv")
    assert (
        json.loads(call(*arguments, "--label", "colour", "--out", "seen.csv", "--json"))["labels_seen"] == 40
    )
    blind, seen = pd.read_csv("blind.csv"), pd.read_csv("seen.csv")
    assert not np.allclose(blind["p(red)"], seen["p(red)"])
    assert int(seen["label_was_known"].sum()) == 40
    output = call("evaluate", "--model", "model", *TABLES, "--label", "truth", "--split", "part", "--json")
    assert json.loads(output)["labels_seen"] == 30


def test_regression(files):
    ignored = ["--ignore", "truth", "--ignore", "colour", "--ignore", "part"]
    call("fit", *TABLES, "--label", "size", *ignored, *QUICK, "--out", "model")
    call("predict", "--model", "model", *TABLES, "--out", "p.parquet")
    columns = ["id", "prediction", "std", "spread", "label_was_known"]
    assert pd.read_parquet("p.parquet").columns.tolist() == columns
    judge = ["evaluate", "--model", "model", "--label", "size", "--edges", "edges.csv"]
    message = refused(*judge, "--nodes", "nodes.csv")
    assert "nothing is left to judge: the model learned from all 60 nodes" in message
    nodes, edges = pd.read_csv("nodes.csv"), pd.read_csv("edges.csv")
    nodes["id"] = "new " + nodes["id"]
    nodes.to_csv("new.csv", index=False)
    ("new " + edges).to_csv("edges.csv", index=False)
    assert "rmse" in call(*judge, "--nodes", "new.csv")


def test_another_file_with_other_ids_and_new_categories(files):
    call(*FIT, "--ignore", "part", "--out", "model")
    nodes = pd.read_csv("nodes.csv")[["shape", "f4", "f3", "f2", "f1", "f0"]][:7]
    nodes["shape"] = "oval"
    nodes["id"] = range(7)
    nodes.to_parquet("other.parquet")
    pd.DataFrame({"source": [0, 1], "target": [1, 6]}).to_parquet("links.parquet")
    call(
        "predict",
        "--model",
        "model",
        "--nodes",
        "other.parquet",
        "--edges",
        "links.parquet",
        "--out",
        "o.csv",
    )
    assert len(pd.read_csv("o.csv")) == 7


def test_a_gnn_of_ones_own(files):
    (files / "mygnn.py").write_text(
        textwrap.dedent("""
        from torch_geometric.nn import GATConv
        def make(in_channels, out_channels):
            return GATConv(in_channels, out_channels)
        """)
    )
    call(*FIT, "--gnn", "mygnn:make", "--out", "model")
    message = refused("predict", "--model", "model", *TABLES, "--out", "p.csv")
    assert "GNN of your own; name it again with --gnn module:attr" in message
    call("predict", "--model", "model", *TABLES, "--out", "p.csv", "--gnn", "mygnn:make")
    assert "could not be imported" in refused(*FIT, "--gnn", "mygnn:missing", "--out", "other")


def test_the_report_of_a_fit(files):
    summary = json.loads(call(*FIT, "--split", "part", "--out", "model", "--json"))
    assert summary["labels"] == {"train": 30, "validation": 10}
    assert len(summary["best"]) == 2
    summary = json.loads(call(*FIT, "--ignore", "part", "--val-share", "0", "--out", "m2", "--json"))
    assert summary["labels"] == {"train": 40, "validation": 0}
    assert summary["best"] == [None, None]


def test_models_and_outputs_are_not_overwritten(files):
    call(*FIT, "--ignore", "part", "--out", "model")
    assert "model exists; choose another --out, or --force to replace the model in it" in refused(
        *FIT, "--ignore", "part", "--out", "model"
    )
    call(*FIT, "--ignore", "part", "--out", "model", "--force")
    predict = ["predict", "--model", "model", *TABLES, "--out", "p.csv"]
    call(*predict)
    (files / "p.csv").write_text("mine")
    assert "p.csv exists" in refused(*predict)
    assert (files / "p.csv").read_text() == "mine"
    call(*predict, "--force")
    assert "ends in .txt; expected .csv" in refused(*predict[:-1], "p.txt")
    assert "fit it with --test-labels partial" in refused(*predict[:-1], "q.csv", "--label", "colour")
    assert "is not a model" in refused("predict", "--model", "nodes.csv", *TABLES, "--out", "q.csv")
    (files / "model" / "model.json").write_text("{")
    assert "is damaged" in refused("predict", "--model", "model", *TABLES, "--out", "q.csv")


def test_a_graph_without_edges_works(files):
    pd.DataFrame({"source": [], "target": []}).to_csv("edges.csv", index=False)
    call(*FIT, "--ignore", "part", "--out", "model")
    call("predict", "--model", "model", *TABLES, "--out", "p.csv")
    assert len(pd.read_csv("p.csv")) == 60


def start(*arguments):
    # where the tests run in the background, an interrupt is ignored, and children inherit that
    command = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command += "from clgnn.cli import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_resume_after_a_kill_equals_an_uninterrupted_run(how, files):
    fit = [*FIT, "--ignore", "part", "--iterations", "8", "--epochs", "100", "--patience", "100"]
    fit += ["--iteration-epochs", "150", "--iteration-patience", "150"]
    call(*fit, "--out", "whole")
    process = start(*fit, "--out", "model")
    marker = files / "model.partial" / "checkpoint.json"
    deadline = time.time() + 600  # a busy machine takes minutes to import torch
    while not marker.exists() and time.time() < deadline:
        time.sleep(0.01)
    while process.poll() is None:  # Python may lose an interrupt, if it comes while an object is finalised
        process.send_signal(how)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.3)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert marker.exists()
    assert not (files / "model").exists()
    if how == signal.SIGINT:
        assert b"--resume" in output
    assert "--resume goes on with it" in refused(*fit, "--out", "model")
    assert "other settings" in refused(*fit, "--out", "model", "--resume", "--lr", "0.5")
    call(*fit, "--out", "model", "--resume")
    assert not (files / "model.partial").exists()
    for name in sorted(os.listdir("whole")):
        if name.endswith(".safetensors"):
            assert (files / "whole" / name).read_bytes() == (files / "model" / name).read_bytes()


def test_run(tmp_path):
    quick = ["--epochs", "3", "--iterations", "1", "--samples", "2", "--splits", "2"]
    output = call("run", *quick, "--quiet")
    for word in ("digits", "plain", "boosted", "gain", "s.e.", "seconds", "mean"):
        assert word in output
    result = json.loads(
        call("run", "--dataset", "citations", *quick, "--test-labels", "partial", "--json", "--quiet")
    )
    assert len(result["splits"]) == 2
    gains = [row["boosted"] - row["plain"] for row in result["splits"]]
    assert result["mean"]["gain"] == pytest.approx(np.mean(gains))
    assert result["gain_se"] == pytest.approx(np.std(gains, ddof=1) / np.sqrt(2))
    assert "no dataset" in refused("run", "--dataset", "nowhere", "--quiet").lower()


@pytest.mark.parametrize("method", baselines.METHODS)
def test_every_rival_runs_on_tables_and_beside_the_boosted_gnn(method, files):
    call(*FIT, "--split", "part", "--method", method, "--test-labels", "partial", "--out", "model")
    call("predict", "--model", "model", *TABLES, "--label", "colour", "--out", "p.csv")
    assert len(pd.read_csv("p.csv")) == 60
    output = call("evaluate", "--model", "model", *TABLES, "--label", "truth", "--split", "part", "--json")
    data = Schema.from_json(read("model")["extra"]["table"])
    nodes = pd.read_csv("nodes.csv")
    graph = data.graph(nodes, pd.read_csv("edges.csv"), "truth")
    parts = nodes["part"].to_numpy()
    observed = torch.from_numpy(parts == "train")
    expected = baselines.load("model").evaluate(graph, torch.from_numpy(parts == "test"), observed)
    values = json.loads(output)
    assert {name: values[name] for name in expected} == pytest.approx(expected)


def test_rivals_beside_the_boosted_gnn():
    quick = ["--epochs", "3", "--iterations", "1", "--samples", "2", "--splits", "2", "--json", "--quiet"]
    result = json.loads(call("run", *quick, "--method", "label_propagation", "--method", "random"))
    assert {"plain", "boosted", "label_propagation", "random"} <= set(result["mean"])


def test_plain_gnns_have_the_epochs_and_the_patience_of_all_iterations(monkeypatch):
    schedules = {}
    fit = CollectiveClassifier.fit

    def noted(self, *given, **named):
        schedules[type(self).__name__, self.num_iterations] = self.max_epochs, self.patience
        return fit(self, *given, **named)

    monkeypatch.setattr(CollectiveClassifier, "fit", noted)
    quick = ["--epochs", "8", "--patience", "4", "--iterations", "1", "--samples", "2", "--splits", "1"]
    call("run", *quick, "--test-labels", "partial", "--quiet", "--method", "gnn_all_labels",
         "--method", "cl_all_labels", "--method", "correct_and_smooth")  # fmt: skip
    assert schedules == {
        ("CollectiveClassifier", 0): (10, 5),  # also the base of correct_and_smooth, which comes last
        ("CollectiveClassifier", 1): (8, 4),
        ("GNNAllLabels", 0): (10, 5),
        ("CLAllLabels", 1): (8, 4),
    }


def test_rivals_are_for_classes(files):
    ignored = ["--ignore", "truth", "--ignore", "colour", "--ignore", "part"]
    message = refused("fit", *TABLES, "--label", "size", *ignored, "--method", "ica", "--out", "m")
    assert "--method ica is for classes" in message
