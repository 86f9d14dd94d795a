"""A plain GNN and its boosted self on the same splits."""

from contextlib import contextmanager

import pytest

from clgnn.data import datasets
from clgnn.experiments.comparison import compare, summary

QUICK = {"num_iterations": 1, "max_epochs": 2, "patience": 2, "num_samples": 2, "hidden_channels": 4}


@pytest.fixture(scope="module")
def data():
    return datasets.load("citations", num_nodes=1200)


@pytest.mark.parametrize("test_labels", ["none", "partial"])
def test_one_row_per_split_with_a_score_and_a_time_of_each(data, test_labels):
    settings = {**QUICK, "test_labels": test_labels}
    rows = compare(data, "citations", settings, ["random", "gnn_all_labels"], num_splits=2)
    assert [row["split"] for row in rows] == [0, 1]
    for row in rows:
        assert row["gain"] == row["boosted"] - row["plain"]
        for name in ("plain", "boosted", "random", "gnn_all_labels"):
            assert 0 <= row[name] <= 1
            assert row[f"{name}_seconds"] > 0


def test_everybody_has_the_same_split_and_a_fair_number_of_epochs(data):
    epochs, fitted = {}, []

    @contextmanager
    def watch(name, model):
        yield lambda epoch: epochs.setdefault(name, []).append(epoch)

    compare(
        data, "citations", {**QUICK, "num_iterations": 0}, ["correct_and_smooth"], num_splits=1, watch=watch,
        on_fitted=lambda name, model, split, observed: fitted.append((name, model, split, observed)),
    )  # fmt: skip
    assert [name for name, *_ in fitted] == ["plain", "boosted", "correct_and_smooth"]
    assert len({id(split) for _, _, split, _ in fitted}) == 1
    assert all(observed is None for *_, observed in fitted)
    plain, boosted, smoothed = (model for _, model, _, _ in fitted)
    assert (plain.num_iterations, boosted.num_iterations) == (0, 1), "a boosted GNN has an iteration at least"
    assert plain.max_epochs == smoothed.base.max_epochs == sum(boosted.planned_epochs())
    assert len(epochs["split 0 plain"]) == len(epochs["split 0 boosted"]) == plain.max_epochs


def test_the_plain_gnn_has_no_other_start(data):
    fitted = {}
    compare(
        data, "citations", {**QUICK, "start": "label_propagation"}, ["residual_propagation"], num_splits=1,
        on_fitted=lambda name, model, split, observed: fitted.update({name: model}),
    )  # fmt: skip
    assert fitted["boosted"].start == "label_propagation"
    assert fitted["plain"].start == fitted["residual_propagation"].base_.start == "plain"


def test_the_summary():
    rows = [
        {"split": 0, "plain": 0.5, "boosted": 0.6, "gain": 0.1},
        {"split": 1, "plain": 0.5, "boosted": 0.8, "gain": 0.3},
    ]
    found = summary(rows)
    assert found["mean"] == pytest.approx({"plain": 0.5, "boosted": 0.7, "gain": 0.2})
    assert found["gain_se"] == pytest.approx(0.1)
    assert summary(rows[:1])["gain_se"] is None
