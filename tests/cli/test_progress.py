"""How far a fit is: over all its iterations, those of an interrupted fit too."""

import json

from clgnn import CollectiveClassifier
from clgnn.cli.progress import Bars
from clgnn.collective.learning import Epoch
from clgnn.estimators.checkpoints import finished_epochs

MODEL = {"num_iterations": 2, "max_epochs": 8, "iteration_epochs": 4}


def shown(bars):
    (task,) = bars.progress.tasks
    return task.completed, task.total


def epoch(iteration, number):
    return Epoch(iteration, number, 1.0, 0.5, 0.0)


def test_the_bar_counts_the_epochs_of_all_iterations():
    bars = Bars(quiet=True)
    with bars.fit("fit", CollectiveClassifier(**MODEL)) as on_epoch:
        assert shown(bars) == (0, 16)
        on_epoch(epoch(0, 4))
        assert shown(bars) == (5, 16)
        on_epoch(epoch(1, 0))  # iteration 0 ended early
        assert shown(bars) == (6, 13)
    assert shown(bars) == (6, 6)


def test_after_a_resume_it_goes_on_where_it_was():
    bars = Bars(quiet=True)
    with bars.fit("fit", CollectiveClassifier(**MODEL), finished=[5, 4]) as on_epoch:
        assert shown(bars) == (9, 13)
        on_epoch(epoch(2, 0))
        assert shown(bars) == (10, 13)


def test_the_finished_epochs_of_a_checkpoint(graph, train, val, tmp_path):
    assert finished_epochs(tmp_path / "none") == []
    model = CollectiveClassifier(**MODEL, num_samples=2, hidden_channels=4)
    model.fit(graph, train, val, checkpoint=tmp_path / "kept")
    took = model.history_.groupby("iteration").size().tolist()
    assert finished_epochs(tmp_path / "kept") == took
    assert len(json.loads((tmp_path / "kept" / "checkpoint.json").read_text())["epochs"]) == sum(took)
