"""A search for settings: on validation labels, to be gone on with, the same in one process or after a kill."""

import subprocess
import sys

import pytest
import torch

from clgnn.data import datasets, splits

optuna = pytest.importorskip("optuna")
from optuna.distributions import FloatDistribution, IntDistribution  # noqa: E402

from clgnn.experiments.tuning import space, tune  # noqa: E402

SMALL = {"hidden_channels": IntDistribution(2, 16), "lr": FloatDistribution(1e-3, 0.2, log=True)}
QUICK = {"max_epochs": 6, "iteration_epochs": 4, "num_iterations": 1, "num_samples": 2}


@pytest.fixture(scope="module")
def problem():
    data = datasets.load("citations", num_nodes=200)
    return data, splits.random(data, train_labels=50, test_nodes=80, val_nodes=50)


def search(problem, **arguments):
    data, split = problem
    given = {"num_trials": 4, "space": SMALL, "settings": QUICK, **arguments}
    return tune(data, split.train_mask, split.val_mask, **given)


def rows(found):
    return found.trials[["state", "accuracy", "hidden_channels", "lr"]].to_dict("list")


def test_the_best_of_the_trials_is_what_comes_out(problem):
    found = search(problem)
    best = found.trials.loc[found.trials["accuracy"].idxmax()]
    assert found.score == best["accuracy"]
    assert found.settings["lr"] == best["lr"]
    assert found.settings["max_epochs"] == 6
    assert found.metric == "accuracy"
    assert len(found.trials) == 4


def test_the_test_labels_choose_nothing(problem):
    data, split = problem
    other = data.clone()
    other.y[split.test_mask] = (other.y[split.test_mask] + 1) % 5
    assert rows(search(problem)) == rows(search((other, split)))


def test_a_search_goes_on_and_is_that_of_an_uninterrupted_one(problem, tmp_path):
    whole = rows(search(problem, num_trials=6))
    search(problem, num_trials=2, folder=tmp_path)
    assert rows(search(problem, num_trials=6, folder=tmp_path)) == whole
    lines = (tmp_path / "settings.toml").read_text().splitlines()
    assert lines[0].startswith("# Found by a search: accuracy")


def test_after_a_kill_too(problem, tmp_path):
    program = f"""
import os, signal
from clgnn import datasets, splits
from clgnn.experiments import tuning
from optuna.distributions import FloatDistribution, IntDistribution
data = datasets.load("citations", num_nodes=200)
split = splits.random(data, train_labels=50, test_nodes=80, val_nodes=50)
real, calls = tuning._model, []
def dies(*arguments):
    calls.append(1)
    if len(calls) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments)
tuning._model = dies
space = {{"hidden_channels": IntDistribution(2, 16), "lr": FloatDistribution(1e-3, 0.2, log=True)}}
tuning.tune(data, split.train_mask, split.val_mask, num_trials=5, space=space, settings={QUICK}, folder={str(tmp_path)!r})
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == -9
    assert rows(search(problem, num_trials=5, folder=tmp_path)) == rows(search(problem, num_trials=5))


def test_several_processes(problem, tmp_path):
    found = search(problem, num_trials=4, jobs=2, folder=tmp_path)
    assert len(found.trials) >= 4


def test_a_plain_gnn_has_the_epochs_of_a_boosted_one(problem):
    found = search(problem, boosted=False, num_trials=1)
    assert found.settings["num_iterations"] == 0
    assert found.settings["max_epochs"] == 6 + 4


def test_the_starts_that_are_searched_are_for_classes():
    assert "start" in space()
    assert "start" not in space(numbers=True)


def test_what_is_fixed_is_not_searched(problem):
    found = search(problem, settings={**QUICK, "lr": 0.05}, num_trials=2)
    assert "lr" not in found.trials
    assert found.settings["lr"] == 0.05


def test_bad_trials_are_pruned(problem, monkeypatch):
    monkeypatch.setattr(
        "clgnn.experiments.tuning.optuna.pruners.MedianPruner",
        lambda **_: optuna.pruners.ThresholdPruner(lower=1.1),
    )
    with pytest.raises(ValueError, match="were pruned; expected one that ends"):
        search(problem, settings={**QUICK, "max_epochs": 30, "iteration_epochs": 30})


def test_wrong_settings_are_said_at_once(problem):
    with pytest.raises(ValueError, match="dropout is 3"):
        search(problem, settings={**QUICK, "dropout": 3})


def test_a_folder_keeps_one_search(problem, tmp_path):
    search(problem, num_trials=1, folder=tmp_path / "a")
    with pytest.raises(ValueError, match=r"holds another search \(its seed differs\)"):
        search(problem, num_trials=1, folder=tmp_path / "a", seed=3)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mine.txt").write_text("x")
    with pytest.raises(ValueError, match="has other files in it"):
        search(problem, num_trials=1, folder=tmp_path / "b")


def test_numbers_are_tuned_to_a_low_error(new_graph):
    graph = new_graph(num_nodes=60)
    graph.y = graph.x[:, 0].clone()
    found = tune(graph, range(30), range(30, 45), num_trials=2, space=SMALL, settings=QUICK)
    assert found.metric == "rmse"
    assert found.score == found.trials["rmse"].min()


def test_the_space_knows_the_scenario():
    assert "shown_share" in space(True, "partial")
    assert "shown_share" not in space(True, "none")
    assert set(space(False)) < set(space(True))


def test_observed_labels_are_shown(problem):
    _, split = problem
    shown = split.train_mask & (torch.arange(200) % 2 == 0)
    settings = {**QUICK, "test_labels": "partial"}
    found = search(problem, settings=settings, observed_mask=shown, num_trials=1)
    assert found.settings["test_labels"] == "partial"
