"""Thresholds and the most frequent class on the command line, and classes that training did not have."""

import json

import numpy as np
import pandas as pd
import pytest

import clgnn
from helpers.commands import FIT, TABLES, call, refused

SPLIT = ["--split", "part"]
JUDGE = ["evaluate", "--model", "model", *TABLES, "--label", "truth", *SPLIT]


@pytest.fixture
def binary(files):
    """Two classes: no, which is frequent, and yes."""
    nodes = pd.read_csv("nodes.csv")
    for name in ("truth", "colour"):
        nodes[name] = nodes[name].map({"red": "yes", "green": "no", "blue": "no"})
    nodes.to_csv("nodes.csv", index=False)
    return files


@pytest.mark.parametrize("method", ["collective", "ica"])
def test_fit_chooses_a_threshold_and_predict_and_evaluate_go_by_it(method, binary):
    fit = [*FIT, *SPLIT, "--method", method]
    call(*fit, "--out", "plain")
    output = call(*fit, "--out", "model", "--threshold", "f1:yes")
    model = clgnn.load("model")
    found = model.threshold_
    assert f"A node is 'yes' from a probability of {found:.4g} on, as validation chose." in output
    call("predict", "--model", "model", *TABLES, "--out", "p.csv")
    call("predict", "--model", "plain", *TABLES, "--out", "plain.csv")
    table, plain = pd.read_csv("p.csv"), pd.read_csv("plain.csv")
    assert np.allclose(table["p(yes)"], plain["p(yes)"])
    decided = np.where(table["p(yes)"] >= found, "yes", "no")
    assert table["prediction"].tolist() == decided.tolist()
    values = json.loads(call(*JUDGE, "--json"))
    truth = pd.read_csv("nodes.csv")["truth"].to_numpy()
    assert values["accuracy"] == pytest.approx((decided == truth)[40:].mean())
    assert values["threshold"] == found
    assert values["majority_accuracy"] == pytest.approx((truth[40:] == "no").mean())
    assert f"A node is 'yes' from a probability of {found:.4g} on" in call(*JUDGE)
    assert "from a probability of" not in call(*(word if word != "model" else "plain" for word in JUDGE))


def test_the_threshold_of_a_fit_for_partial_labels_sees_what_validation_saw(binary):
    fit = [*FIT, *SPLIT, "--test-labels", "partial", "--out", "model", "--threshold", "balanced_accuracy"]
    values = json.loads(call(*fit, "--json"))
    assert values["threshold"] == clgnn.load("model").threshold_
    assert 0 <= values["accuracy"] <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--threshold", "roc_auc"],
            "--threshold is 'roc_auc', which no threshold changes; expected accuracy",
        ),
        (["--threshold", "auc"], "--threshold is 'auc'; expected one of accuracy"),
        (["--threshold", "f1:pink"], "--threshold is 'f1:pink'; expected a class after f1:, one of no, yes"),
    ],
)
def test_what_chooses_no_threshold_is_refused_before_training(options, message, binary):
    assert message in refused(*FIT, *SPLIT, "--out", "m", *options)
    assert not (binary / "m").exists()


def test_a_threshold_needs_validation_labels_of_both_classes(binary):
    threshold = ["--threshold", "accuracy"]
    message = refused(*FIT, "--ignore", "part", "--val-share", "0", "--out", "m", *threshold)
    assert "and there are none; raise --val-share" in message
    nodes = pd.read_csv("nodes.csv")
    nodes.loc[30:39, "colour"] = "no"
    nodes.to_csv("nodes.csv", index=False)
    assert "all of them are 'no'; raise --val-share" in refused(*FIT, *SPLIT, "--out", "m", *threshold)


def test_no_better_than_the_most_frequent_class_is_said(files):
    """The features say nothing, and four of five nodes are of one class."""
    nodes = pd.read_csv("nodes.csv")
    often = np.where(np.arange(60) % 5 == 0, "yes", "no")
    nodes = nodes.assign(truth=often, colour=pd.Series(often).where(nodes.index < 40), shape="round")
    nodes.assign(**{f"f{i}": 1.0 for i in range(5)}).to_csv("nodes.csv", index=False)
    pd.DataFrame({"source": [], "target": []}).to_csv("edges.csv", index=False)
    output = " ".join(call(*FIT, *SPLIT, "--out", "model").split())
    assert "The accuracy on the 10 validation nodes is 0.8000: no better than always saying 'no'" in output
    assert "their most frequent class (0.8000)." in output
    assert "The accuracy on the 20 judged nodes is 0.8000: no better than" in " ".join(call(*JUDGE).split())
    values = json.loads(call(*FIT, *SPLIT, "--out", "again", "--json"))
    assert (values["accuracy"], values["majority_accuracy"]) == (0.8, 0.8)


def test_a_better_model_is_not_told_off(files):
    nodes = pd.read_csv("nodes.csv")
    nodes["f0"] = 10.0 * (nodes["truth"] == "red")
    nodes["f1"] = 10.0 * (nodes["truth"] == "green")
    nodes.to_csv("nodes.csv", index=False)
    fit = [*FIT, *SPLIT, "--gnn", "sage", "--epochs", "100", "--out", "model"]
    assert "no better than" not in call(*fit)
    assert "no better than" not in call(*JUDGE)


def test_numbers_have_no_most_frequent_class(files):
    ignored = ["--ignore", "truth", "--ignore", "colour"]
    call("fit", *TABLES, "--label", "size", *ignored, *FIT[FIT.index("--epochs") :], *SPLIT, "--out", "model")
    judge = ["evaluate", "--model", "model", *TABLES, "--label", "size", *SPLIT, "--json"]
    values = json.loads(call(*judge))
    assert (values["majority_accuracy"], values["threshold"]) == (None, None)


def test_classes_that_training_did_not_have_are_named_and_the_others_judged(files):
    nodes = pd.read_csv("nodes.csv")
    known = (nodes["part"] == "test") | (nodes["colour"] != "red")
    nodes["colour"] = nodes["truth"].where(known)  # red in no label of training, but in the table
    nodes.to_csv("nodes.csv", index=False)
    call(*FIT, *SPLIT, "--test-labels", "partial", "--out", "model")
    red = int((nodes["truth"][40:] == "red").sum())
    shown = int((nodes["truth"][:30] == "red").sum())
    output = " ".join(call(*JUDGE).split())
    assert f"{red} nodes are not judged: no label in training had their class ('red' {red})." in output
    assert f"{20 - red} nodes judged, {30 - shown} labels seen." in output
    predicted = call("predict", "--model", "model", *TABLES, "--label", "truth", "--out", "p.csv")
    total = int((nodes["truth"] == "red").sum())
    assert f"{total} labels are not shown: no label in training had their class" in " ".join(
        predicted.split()
    )
    assert int(pd.read_csv("p.csv")["label_was_known"].sum()) == 60 - total


def test_observed_rows_that_are_not_used_are_said(files):
    nodes = pd.read_csv("nodes.csv")
    nodes.loc[30:34, "part"] = "observed"
    nodes.to_csv("nodes.csv", index=False)
    output = " ".join(call(*FIT, *SPLIT, "--out", "model").split())
    assert "5 rows say observed; their labels are not used: --test-labels is none." in output
    assert "rows say observed" not in call(*FIT, *SPLIT, "--out", "m2", "--test-labels", "partial")


def test_warnings_are_one_line(files):
    (files / "plain.py").write_text(
        "import torch\n"
        "class Plain(torch.nn.Module):\n"
        "    def __init__(self, i, o):\n"
        "        super().__init__()\n"
        "        self.layer = torch.nn.Linear(i, o)\n"
        "    def forward(self, x, edge_index):\n"
        "        return self.layer(x)\n"
    )
    pd.read_csv("edges.csv").assign(weight=2.0).to_csv("edges.csv", index=False)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        output = call(*FIT, *SPLIT, "--gnn", "plain:Plain", "--out", "model")
    said = [line for line in output.splitlines() if "edge_weight" in line]
    assert said == ["Warning: Plain takes no edge_weight: the graph's are not used."]
