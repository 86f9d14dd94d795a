"""All methods on the same splits of one's own data."""

import json
import re
import subprocess
import sys

import pandas as pd
import pytest
import torch
from sklearn.tree import DecisionTreeClassifier

from clgnn import CollectiveClassifier
from clgnn.data import datasets
from clgnn.data.parts import stratified
from clgnn.experiments import run as running
from clgnn.experiments.compare import applicable, compare, opened
from clgnn.experiments.ledger import Ledger

QUICK = {"num_iterations": 1, "max_epochs": 3, "patience": 3, "num_samples": 2, "hidden_channels": 4}
FEW = ["random", "gcn", "gcn+cl"]


@pytest.fixture(scope="module")
def data():
    return datasets.load("citations", num_nodes=200)


def same(one, other):
    columns = ["method", "trial", "accuracy", "log_loss"]
    first, second = (found.trials.sort_values(columns[:2])[columns].to_numpy() for found in (one, other))
    return first.tolist() == second.tolist()


@pytest.mark.parametrize("test_labels", ["none", "partial"])
def test_every_method_that_applies_runs_on_every_split(new_graph, test_labels):
    names = [name for name in applicable(False, test_labels) if not name.startswith(("tk", "sage+cl-auto"))]
    found = compare(new_graph(num_nodes=60), names, num_splits=1, settings=QUICK, test_labels=test_labels)
    assert found.failed["error"].tolist() == []
    assert sorted(found.trials["method"]) == sorted(names)
    assert {"label_propagation", "label_reuse"} <= set(names) or test_labels == "none"
    assert found.best == found.leaderboard["method"][0]


def test_the_same_labels_for_all_and_a_fair_number_of_epochs(data, monkeypatch):
    seen = []
    real = running.fit

    def fit(model, graphs, split, sees_labels):
        seen.append((model, split, sees_labels))
        return real(model, graphs, split, sees_labels)

    monkeypatch.setattr(running, "fit", fit)
    compare(data, ["gcn", "gcn+cl", "correct_and_smooth"], num_splits=2, settings=QUICK)
    assert [id(split) for _, split, _ in seen[:3]] == [id(seen[0][1])] * 3
    plain, boosted, smoothed = (model for model, *_ in seen[:3])
    assert plain.max_epochs == smoothed.base.max_epochs == sum(boosted.planned_epochs())
    assert [model.seed for model, *_ in seen] == [0, 0, 0, 1, 1, 1]
    assert all(sees for *_, sees in seen)


def test_the_labels_that_judge_reach_no_model(data):
    splits = [stratified(data, seed=1)]
    other = data.clone()
    other.y[splits[0].test_mask] = (other.y[splits[0].test_mask] + 1) % 5
    names = ["gcn+cl", "label_propagation", "logistic_regression"]
    one, two = (compare(graph, names, split=splits, settings=QUICK) for graph in (data, other))
    assert one.trials["predictions"].tolist() == two.trials["predictions"].tolist()
    assert one.trials["accuracy"].tolist() != two.trials["accuracy"].tolist()


def test_processes_and_stops_change_nothing(data, tmp_path, monkeypatch):
    whole = compare(data, FEW, num_splits=2, settings=QUICK)
    assert same(whole, compare(data, FEW, num_splits=2, settings=QUICK, jobs=2, folder=tmp_path / "two"))
    assert not (tmp_path / "two" / "running" / "data.pt").exists()
    part = tmp_path / "part"
    compare(data, FEW[:2], num_splits=1, settings=QUICK, folder=part)
    before = set(Ledger(part).trials()["finished"])
    assert same(whole, compare(data, FEW, num_splits=2, settings=QUICK, folder=part))
    assert before <= set(Ledger(part).trials()["finished"])
    monkeypatch.setattr(running, "run_trial", lambda *_: pytest.fail("ran again"))
    assert same(whole, compare(data, FEW, num_splits=2, settings=QUICK, folder=part))
    assert same(whole, opened(part))


def test_after_a_kill_the_rest_is_run(data, tmp_path):
    program = f"""
import os, signal
from clgnn import compare, datasets
from clgnn.experiments import run
real = run.run_trial
def dies(trial, *rest):
    if trial.trial == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(trial, *rest)
run.run_trial = dies
compare(datasets.load("citations", num_nodes=200), {FEW}, num_splits=2, settings={QUICK}, folder={str(tmp_path)!r})
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == -9
    assert len(Ledger(tmp_path).trials()) == 3
    found = compare(data, FEW, num_splits=2, settings=QUICK, folder=tmp_path)
    assert same(found, compare(data, FEW, num_splits=2, settings=QUICK))


def test_other_settings_replace_the_results_of_a_method(data, tmp_path):
    compare(data, FEW, num_splits=1, settings=QUICK, folder=tmp_path)
    found = compare(data, ["gcn"], num_splits=1, settings={**QUICK, "lr": 0.2}, folder=tmp_path)
    assert sorted(found.trials["method"]) == sorted(FEW)
    assert [s["lr"] for s in found.trials["settings"] if "lr" in s] == [0.2]


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"num_nodes": 210}, "the tables changed"),
        ({"test_share": 0.3}, "splits"),
        ({"metric": "macro_f1"}, "metric: accuracy there, macro_f1 now"),
        ({"test_labels": "none"}, "splits"),
    ],
)
def test_a_folder_keeps_one_comparison(data, tmp_path, changed, what):
    compare(data, ["random"], num_splits=1, folder=tmp_path)
    changed = dict(changed)
    graph = datasets.load("citations", num_nodes=changed.pop("num_nodes", 200))
    with pytest.raises(ValueError, match=what):
        compare(graph, ["random"], num_splits=1, folder=tmp_path, **changed)


def test_a_folder_of_other_files_is_left_alone(data, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match="other files"):
        compare(data, ["random"], num_splits=1, folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_kill_before_anything_was_written_leaves_a_folder_that_can_be_used(data, tmp_path):
    (tmp_path / ".comparison.json.x1y2").mkdir()
    (tmp_path / ".comparison.json.x1y2" / "comparison.json").write_text("{")
    assert compare(data, ["random"], num_splits=1, folder=tmp_path).trials is not None


def test_estimators_of_ones_own(data, tmp_path):
    mine = {
        "mine": CollectiveClassifier(gnn="gin", **{**QUICK, "num_iterations": 0}),
        "mine+cl": CollectiveClassifier(gnn="gin", **QUICK),
        "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
        "random": None,
    }
    found = compare(data, mine, num_splits=2, folder=tmp_path)
    assert found.failed["error"].tolist() == []
    board = found.leaderboard.set_index("method")
    assert board.loc["mine+cl", "base"] == "mine"
    with pytest.raises(ValueError, match="estimator of your own"):
        opened(tmp_path).model("tree")
    again = compare(data, {"tree": DecisionTreeClassifier(max_depth=1, random_state=0)}, num_splits=2,
                    folder=tmp_path)  # fmt: skip
    assert again.leaderboard.set_index("method").loc["tree", "mean"] != board.loc["tree", "mean"]


def test_a_metric_of_ones_own_chooses_and_compares(data):
    def second_class(y, p):
        return float((p.argmax(axis=1) == 1)[y == 1].mean())

    found = compare(data, FEW, num_splits=1, settings=QUICK, metric=second_class)
    assert found.metric == "second_class"
    assert found.trials["second_class"].between(0, 1).all()
    named = compare(data, ["gcn"], num_splits=1, settings=QUICK, metric="f1:1")
    assert "f1:1" in named.trials


def test_the_model_that_won_can_be_made_anew(data, tmp_path):
    found = compare(data, ["gcn+cl"], num_splits=1, settings=QUICK, folder=tmp_path)
    model = opened(tmp_path).model()
    split = stratified(data, seed=0)
    model.fit(data, split.train_mask, split.val_mask, observed_mask=split.train_mask)
    expected = found.trials["accuracy"].item()
    assert model.score(data, split.test_mask, split.train_mask) == pytest.approx(expected)


def test_numbers(new_graph):
    graph = new_graph(num_nodes=60)
    graph.y = graph.x[:, 0] * 2 + 1
    graph.y[50:] = torch.nan
    found = compare(graph, ["gcn", "gcn+cl"], num_splits=2, settings=QUICK)
    assert (found.metric, found.lower_is_better, found.task) == ("rmse", True, "regression")
    assert found.failed["error"].tolist() == []
    assert found.leaderboard["mean"].is_monotonic_increasing
    with pytest.raises(ValueError, match="not for numbers"):
        compare(graph, ["ica"], num_splits=1)


def test_lists_of_graphs_and_names_of_datasets(new_graph):
    graphs = [new_graph(num_nodes=30, seed=i) for i in range(6)]
    found = compare(graphs, FEW, num_splits=2, settings=QUICK, jobs=2)
    assert found.failed["error"].tolist() == []
    assert found.splits["kind"] == "graphs"
    assert compare(graphs[:2], ["gcn"], num_splits=1, settings=QUICK).splits["kind"] == "random"
    assert compare("digits", ["random"], num_splits=1).name == "digits"


def test_connected_splits(data):
    found = compare(data, ["gcn"], num_splits=1, settings=QUICK, split="connected", train_labels=40)
    assert found.trials["train_labels"].tolist() == [40]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"methods": ["gcn+magic"]}, "method is 'gcn+magic'; expected gcn, "),
        ({"methods": []}, "methods is empty"),
        ({"methods": ["cl_all_labels"]}, "not for test_labels='partial' and these splits"),
        ({"methods": ["label_reuse"], "test_labels": "none"}, "not for test_labels='none'"),
        ({"split": "odd"}, "split is 'odd'; expected random, connected, graphs"),
        ({"split": "graphs"}, "for a list of graphs"),
        ({"test_share": 0.9, "val_share": 0.2}, "leave some labels to learn from"),
        ({"train_labels": 5000}, "train_labels is 5000; expected 1 to"),
        ({"metric": "luck"}, "metric is 'luck'"),
        ({"settings": {"colour": 3}, "methods": ["gcn"]}, "'colour' is no setting"),
    ],
)
def test_what_means_nothing_is_refused(data, arguments, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        compare(data, **{"methods": ["random"], "num_splits": 1, **arguments})


def test_a_folder_that_is_no_comparison(data, tmp_path):
    with pytest.raises(ValueError, match=r"has no comparison\.json"):
        opened(tmp_path)
    (tmp_path / "comparison.json").write_text("{")
    with pytest.raises(ValueError, match="could not be read"):
        opened(tmp_path)
    (tmp_path / "comparison.json").write_text(json.dumps({"format": 1}))
    with pytest.raises(ValueError, match=r"could not be read|no ledger"):
        opened(tmp_path)


def test_the_split_is_stratified_and_all_parts_are_apart(data):
    split = stratified(data, 0.3, 0.2, seed=4, train_labels=50)
    masks = [split.train_mask, split.val_mask, split.test_mask]
    assert sum(mask.int() for mask in masks).max() == 1
    assert abs(int(split.train_mask.sum()) - 50) <= 5
    shares = [pd.Series(data.y[mask]).value_counts(normalize=True).sort_index() for mask in masks[1:]]
    assert (shares[0] - shares[1]).abs().max() < 0.05
    assert torch.equal(split.observed_mask, split.train_mask)
    assert set(data.y[split.train_mask].tolist()) == set(data.y.tolist())
