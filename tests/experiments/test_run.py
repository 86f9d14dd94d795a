import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from clgnn.data import datasets, splits
from clgnn.estimators.metrics import calibration_error
from clgnn.experiments import run as running
from clgnn.experiments.ledger import Ledger
from clgnn.experiments.plan import Trial, read_config, trial_of
from clgnn.experiments.run import fit, run, run_trial, work

CELL = ("cora", 85, 0, "gcn")


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """A small generated graph in place of Cora."""
    data = datasets.load("citations", num_nodes=300)

    def split(name, train_labels, test_label_percent, trial, data):
        observed = 40 if test_label_percent else 0
        return splits.random(data, 40, observed, test_nodes=100, val_nodes=50, seed=trial)

    monkeypatch.setattr(running, "_dataset", lambda name: data)
    monkeypatch.setattr(splits, "paper", split)
    return data


def trial(method="gcn", percent=0, number=0, **settings):
    return trial_of(("cora", 85, percent, method), number, read_config(quick=True), **settings)


@pytest.mark.parametrize("percent", [0, 50])
@pytest.mark.parametrize("method", ["gcn", "gcn+cl", "gcn+cl-observed", "ica", "gnn_all_labels", "random"])
def test_a_row_has_all_there_is_to_know(tiny, method, percent):
    settings = {"keep_best": True} if "+" in method else {}
    found = run_trial(trial(method, percent, **settings))
    assert found["status"] == "done"
    assert found["seconds"] > 0
    assert found["peak_memory"] > 1
    assert set(found["metrics"]) >= {"accuracy", "balanced_accuracy", "log_loss", "calibration_error"}
    bins = {name: np.array(values) for name, values in found["reliability"].items()}
    assert bins["count"].sum() == 100
    gap = np.abs(bins["accuracy"] - bins["confidence"]) @ bins["count"] / 100
    assert gap == pytest.approx(found["metrics"]["calibration_error"])
    assert len(found["predictions"]) == 300
    test = splits.paper("cora", 85, percent, 0, data=tiny).test_mask.numpy()
    predicted = np.frombuffer(found["predictions"], np.uint8)
    assert (predicted == tiny.y.numpy())[test].mean() == pytest.approx(found["metrics"]["accuracy"])
    if method.startswith("gcn+"):
        assert len(found["iterations"]) == 2
        assert found["metrics"]["accuracy"] in found["iterations"]
        last = run_trial(trial(method, percent))  # the paper's
        assert last["iterations"] == found["iterations"]
        assert last["metrics"]["accuracy"] == last["iterations"][-1]
        assert found["validation"] >= last["validation"]


def test_only_the_first_trial_keeps_its_predictions():
    assert run_trial(trial(number=1))["predictions"] is None


def test_hidden_labels_change_nothing_but_the_score(tiny, monkeypatch):
    split = splits.paper("cora", 85, 50, 0, data=tiny)
    first = run_trial(trial("gcn+cl", 50))
    wrong = tiny.clone()
    wrong.y = torch.where(split.test_mask, (tiny.y + 1) % 5, tiny.y)
    monkeypatch.setattr(running, "_dataset", lambda name: wrong)
    monkeypatch.setattr(splits, "paper", lambda *args, **options: split)
    second = run_trial(trial("gcn+cl", 50))
    assert first["predictions"] == second["predictions"]
    assert first["metrics"] != second["metrics"]


def test_a_failed_trial_is_recorded_and_does_not_stop_the_rest(tmp_path):
    bad = replace(trial(), settings='{"gnn": "gcn", "lr": -1}')
    run([bad, trial()], tmp_path)
    found = Ledger(tmp_path).trials().set_index("status")
    assert found.loc["failed", "error"].startswith("lr is -1; expected a number above 0")
    assert "Traceback" in found.loc["failed", "error"]
    assert found.loc["done", "accuracy"] > 0


def test_nothing_runs_twice(tmp_path, monkeypatch):
    ran = []
    real = running.run_trial
    monkeypatch.setattr(running, "run_trial", lambda t, *more: ran.append(t) or real(t, *more))
    planned = [trial(), trial("random")]
    run(planned[:1], tmp_path)
    run(planned, tmp_path)
    run(planned, tmp_path)
    assert ran == planned
    assert not work(tmp_path, planned[0])


def test_the_row_says_what_ran(tmp_path):
    run([trial()], tmp_path)
    (row,) = Ledger(tmp_path).trials().to_dict("records")
    assert row["versions"]["torch"].partition("+")[0] == torch.__version__.partition("+")[0]
    assert row["settings"]["lr"] == 0.01
    assert row["revision"] is None or len(row["revision"]) >= 7


def test_methods_that_train_on_observed_labels_see_those_of_every_graph(new_graph):
    """Graphs to validate and graphs to test have labels of their own."""
    many = [new_graph(seed=seed) for seed in range(6)]
    split = splits.graphs(many, observed_labels=0.5, seed=0)
    seen = {}

    class Noted:
        def __init__(self, trains_on_observed):
            self.trains_on_observed = trains_on_observed

        def fit(self, data, train_mask, val_mask, *, observed_mask, on_epoch):
            seen[self.trains_on_observed] = observed_mask

    for trains in (True, False):
        assert fit(Noted(trains), many, split, sees_labels=True) is split.observed_mask
    assert seen[False] is split.val_observed_mask
    both = zip(split.val_observed_mask, split.observed_mask, strict=True)
    assert all(torch.equal(shown, a | b) for shown, (a, b) in zip(seen[True], both, strict=True))
    assert fit(Noted(True), many, split, sees_labels=False) is None
    assert seen[True] is None


COMMAND = """
import sys
from clgnn.data import datasets, splits
from clgnn.experiments import run as running
from clgnn.experiments.plan import read_config, trial_of
data = datasets.load("citations", num_nodes=300)
running._dataset = lambda name: data
splits.paper = lambda *a, **o: splits.random(data, 40, 0, 100, 50)
config = read_config(quick=True)
running.run([trial_of(("cora", 85, 0, "gcn+cl"), i, config, max_epochs=60) for i in range(6)], sys.argv[1])
"""


def test_killed_by_kill_9_the_same_command_goes_on_where_it_was(tmp_path):
    def start():
        return subprocess.Popen([sys.executable, "-c", COMMAND, str(tmp_path)])

    ledger = Ledger(tmp_path)
    first = start()
    deadline = time.monotonic() + 600  # a busy machine takes minutes to import torch
    while not ledger.finished() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    before = ledger.trials().set_index("key")["finished"].to_dict()
    assert 1 <= len(before) < 6
    assert start().wait() == 0
    after = ledger.trials().set_index("key")
    assert len(after) == 6
    assert after.loc[list(before), "finished"].to_dict() == before


def test_the_trial_type_is_plain_data():
    assert Trial(**vars(trial())) == trial()


def test_calibration_error_is_that_of_the_diagram():
    y, p = np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    assert calibration_error(y, p) == pytest.approx((0.1 + 0.2 + 0.7) / 3)
