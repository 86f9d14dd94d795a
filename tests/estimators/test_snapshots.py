"""A fit that ends in the middle of an iteration goes on there, and ends as if nothing had been."""

import pytest
import torch

from clgnn import CollectiveClassifier
from clgnn.collective import iteration, learning
from clgnn.estimators import snapshots

SETTINGS = {"num_iterations": 1, "max_epochs": 5, "iteration_epochs": 4, "num_samples": 3, "patience": 2}


def weights(model):
    return [w for c in model.components_ for w in c.state_dict().values()]


@pytest.fixture
def every_step(monkeypatch):
    monkeypatch.setattr(iteration, "SNAPSHOT_SECONDS", 0.0)


def killed_after(monkeypatch, steps):
    """From now on, the gradient step after so many fails, as if the machine went down."""
    done, real = [], learning.gradient_step

    def step(*arguments):
        if len(done) == steps:
            raise KeyboardInterrupt
        done.append(None)
        return real(*arguments)

    monkeypatch.setattr(learning, "gradient_step", step)
    return real


@pytest.mark.parametrize("options", [{}, {"batch_size": 4}], ids=["whole", "batches"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"test_labels": "partial", "gnn": "sage"},
        {"optimizer": "rmsprop", "scheduler": lambda o: torch.optim.lr_scheduler.StepLR(o, 2, 0.5)},
    ],
    ids=["plain", "partial", "scheduler"],
)
@pytest.mark.parametrize("steps", [2, 7, 16])
def test_what_was_interrupted_ends_as_if_it_were_not(
    graph, train, val, tmp_path, monkeypatch, every_step, options, settings, steps
):
    def fit(**more):
        return CollectiveClassifier(**SETTINGS, **settings).fit(graph, train, val, **options, **more)

    expected = fit()
    real = killed_after(monkeypatch, steps)
    try:
        fit(checkpoint=tmp_path / "here")
    except KeyboardInterrupt:
        assert (tmp_path / "here").is_dir()
    done = []
    monkeypatch.setattr(learning, "gradient_step", lambda *a: done.append(None) or real(*a))
    found = fit(checkpoint=tmp_path / "here")
    assert all(torch.equal(a, b) for a, b in zip(weights(found), weights(expected), strict=True))
    assert found.history_["loss"].tolist() == expected.history_["loss"].tolist()
    assert len(done) < 30
    assert not (tmp_path / "here" / snapshots.FILE).exists()


def test_a_snapshot_of_another_fit_does_not_count(graph, train, tmp_path, monkeypatch, every_step):
    real = killed_after(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        CollectiveClassifier(**SETTINGS, seed=1).fit(graph, train, checkpoint=tmp_path / "here")
    monkeypatch.setattr(learning, "gradient_step", real)
    found = CollectiveClassifier(**SETTINGS).fit(graph, train, checkpoint=tmp_path / "here")
    expected = CollectiveClassifier(**SETTINGS).fit(graph, train)
    assert all(torch.equal(a, b) for a, b in zip(weights(found), weights(expected), strict=True))


def test_a_damaged_snapshot_says_what_to_do(graph, train, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / snapshots.FILE).write_bytes(b"\x00" * 40)
    with pytest.raises(ValueError, match=r"is damaged .* remove it"):
        CollectiveClassifier(**SETTINGS).fit(graph, train, checkpoint=tmp_path / "here")


def test_what_is_written_comes_back(tmp_path):
    given = {"a": torch.arange(3), "b": {0: [1.5, None, {"c": torch.zeros(0)}], "x": "text"}}
    snapshots.write(tmp_path / "file", given)
    found = snapshots.read(tmp_path / "file")
    assert torch.equal(found["a"], given["a"])
    assert found["b"][0][:2] == [1.5, None]
    assert found["b"]["x"] == "text"
    assert snapshots.read(tmp_path / "none") is None
    snapshots.write(tmp_path / "other", {"function": print})
    assert not (tmp_path / "other").exists()
