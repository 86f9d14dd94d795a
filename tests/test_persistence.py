import json
import os

import pytest
import torch
from torch_geometric.nn import GATConv

from clgnn import CollectiveClassifier, CollectiveRegressor, persistence

QUICK = {"num_samples": 3, "num_iterations": 2, "max_epochs": 4, "hidden_channels": 8}


def quick(**changes):
    return CollectiveClassifier(**{**QUICK, **changes})


def own(in_channels, out_channels):
    return GATConv(in_channels, out_channels)


VARIANTS = [
    {},
    {"num_iterations": 0},
    {"gnn": "tk", "num_layers": 3},
    {"test_labels": "partial"},
    {"class_weight": {0: 1.0, 1: 2.0, 2: 3.0}},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_a_saved_model_gives_the_same_bits(changes, graph, train, val, tmp_path):
    model = quick(**changes).fit(graph, train, val)
    model.save(tmp_path / "model")
    again = CollectiveClassifier.load(tmp_path / "model")
    assert torch.equal(model.predict_proba(graph), again.predict_proba(graph))
    assert torch.equal(model.uncertainty(graph), again.uncertainty(graph))
    assert again.get_params() == model.get_params()
    assert again.history_.equals(model.history_)


def test_a_regressor_too(graph, train, tmp_path):
    graph.y = graph.x[:, 0]
    model = CollectiveRegressor(**QUICK).fit(graph, train)
    model.save(tmp_path / "model")
    assert torch.equal(model.predict(graph), CollectiveRegressor.load(tmp_path / "model").predict(graph))
    with pytest.raises(ValueError, match="is a CollectiveRegressor; expected a CollectiveClassifier"):
        CollectiveClassifier.load(tmp_path / "model")


def test_code_is_not_taken_from_a_folder(graph, train, tmp_path):
    model = quick(gnn=own).fit(graph, train)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"GNN of your own; give it again"):
        CollectiveClassifier.load(tmp_path / "model")
    again = CollectiveClassifier.load(tmp_path / "model", gnn=own)
    assert torch.equal(model.predict_proba(graph), again.predict_proba(graph))
    assert {p.suffix for p in (tmp_path / "model").iterdir()} == {".json", ".safetensors"}


def test_nothing_is_overwritten_unasked(graph, train, tmp_path):
    model = quick().fit(graph, train)
    folder = tmp_path / "model"
    model.save(folder)
    with pytest.raises(FileExistsError, match="exists"):
        model.save(folder)
    other = quick(seed=5).fit(graph, train)
    other.save(folder, force=True)
    assert torch.equal(CollectiveClassifier.load(folder).predict_proba(graph), other.predict_proba(graph))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="not a model"):
        model.save(tmp_path / "mine", force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "model"]


def test_a_failed_write_leaves_what_was_there(tmp_path):
    file = tmp_path / "out.txt"
    file.write_text("before")

    def fail():
        with persistence.written(file) as temporary:
            temporary.write_text("half")
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        fail()
    assert file.read_text() == "before"
    assert os.listdir(tmp_path) == ["out.txt"]


def damage(folder, **changes):
    file = folder / "model.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, **changes}))


def test_damaged_and_newer_models_are_refused(graph, train, tmp_path):
    model = quick().fit(graph, train)

    def fresh():
        model.save(tmp_path / "m", force=True)
        return tmp_path / "m"

    with pytest.raises(ValueError, match=r"is not a model: it has no model\.json"):
        CollectiveClassifier.load(tmp_path / "nothing")
    damage(fresh(), format=99)
    with pytest.raises(ValueError, match=r"format 99, and this version reads up to 1.*upgrade"):
        CollectiveClassifier.load(tmp_path / "m")
    (fresh() / "model.json").write_text("{")
    with pytest.raises(ValueError, match=r"model\.json is damaged"):
        CollectiveClassifier.load(tmp_path / "m")
    (fresh() / "model.json").write_text('{"format": 1}')
    with pytest.raises(ValueError, match="missing"):
        CollectiveClassifier.load(tmp_path / "m")
    damage(fresh(), parameters={"gnn": "gcn", "colour": "red"})
    with pytest.raises(ValueError, match="damaged"):
        CollectiveClassifier.load(tmp_path / "m")
    weights = fresh() / "1.weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"1\.weights\.safetensors is damaged"):
        CollectiveClassifier.load(tmp_path / "m")
    (fresh() / "2.weights.safetensors").unlink()
    with pytest.raises(ValueError, match=r"2\.weights\.safetensors is damaged"):
        CollectiveClassifier.load(tmp_path / "m")


class Killed(Exception):
    pass


@pytest.mark.parametrize("test_labels", ["none", "partial"])
@pytest.mark.parametrize("killed_in", [1, 2])
def test_a_resumed_fit_equals_an_uninterrupted_one(test_labels, killed_in, graph, train, val, tmp_path):
    def die(epoch):
        if (epoch.iteration, epoch.epoch) == (killed_in, 2):
            raise Killed

    whole = quick(test_labels=test_labels).fit(graph, train, val)
    with pytest.raises(Killed):
        quick(test_labels=test_labels).fit(graph, train, val, checkpoint=tmp_path / "c", on_epoch=die)
    seen = []
    resumed = quick(test_labels=test_labels)
    resumed.fit(graph, train, val, checkpoint=tmp_path / "c", on_epoch=lambda e: seen.append(e.iteration))
    assert min(seen) == killed_in
    assert torch.equal(whole.predict_proba(graph), resumed.predict_proba(graph))
    assert whole.history_.drop(columns="seconds").equals(resumed.history_.drop(columns="seconds"))


def test_a_checkpoint_of_another_fit_is_refused(graph, train, val, tmp_path):
    quick().fit(graph, train, val, checkpoint=tmp_path / "c")
    for changed in (quick(seed=1), quick(num_samples=4)):
        with pytest.raises(ValueError, match="holds an interrupted fit with other settings"):
            changed.fit(graph, train, val, checkpoint=tmp_path / "c")
    for field, value in (("x", graph.x + 1), ("y", torch.where(val, (graph.y + 1) % 3, graph.y))):
        other = graph.clone()
        other[field] = value
        with pytest.raises(ValueError, match="another graph or other labels"):
            quick().fit(other, train, val, checkpoint=tmp_path / "c")
    (tmp_path / "c" / "checkpoint.json").write_text("[]")
    with pytest.raises(ValueError, match=r"checkpoint\.json is damaged"):
        quick().fit(graph, train, val, checkpoint=tmp_path / "c")
