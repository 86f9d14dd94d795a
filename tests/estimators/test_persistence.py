import json
import os
import stat
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch_geometric.nn import GATConv, GCNConv

import clgnn
from clgnn import CollectiveClassifier, CollectiveRegressor
from clgnn.estimators import checkpoints

QUICK = {"num_samples": 3, "num_iterations": 2, "max_epochs": 4, "iteration_epochs": 4, "hidden_channels": 8}


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
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="exists"):
        model.save(folder)
    other = quick(seed=5).fit(graph, train)
    other.save(folder, force=True)
    assert torch.equal(CollectiveClassifier.load(folder).predict_proba(graph), other.predict_proba(graph))
    assert (folder / "notes.txt").read_text() == "mine"
    assert len(list(folder.iterdir())) == 3  # model.json, the new weights, the notes
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="no model"):
        model.save(tmp_path / "mine", force=True)
    (tmp_path / "file").write_text("a file")
    with pytest.raises(FileExistsError, match="is a file; expected a folder"):
        model.save(tmp_path / "file", force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "mine", "model"]


def dies_at(step, act):
    """Runs ``act`` in a process of its own, which is killed at the given step; whether it was.

    A step is anything that opens, renames, removes or makes a file or a folder.
    """
    child = os.fork()
    if child == 0:
        steps = iter(range(10**6))

        def hook(event, arguments):
            changes = event in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod")
            if changes and next(steps) == step:
                os._exit(9)

        sys.addaudithook(hook)
        act()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 9


def test_old_or_new_survives_a_kill_at_every_step_of_a_save(graph, train, tmp_path):
    old, new = (quick(seed=seed, num_iterations=0, max_epochs=1).fit(graph, train) for seed in (0, 1))
    was, will_be = old.predict_proba(graph), new.predict_proba(graph)
    seen, step, killed = set(), 0, True
    while killed:
        folder = tmp_path / f"{step}" / "model"
        old.save(folder)
        (folder / "notes.txt").write_text("mine")
        killed = dies_at(step, partial(new.save, folder, force=True))
        now = CollectiveClassifier.load(folder).predict_proba(graph)
        assert torch.equal(now, was) or torch.equal(now, will_be)
        assert (folder / "notes.txt").read_text() == "mine"
        seen.add(torch.equal(now, will_be))
        new.save(folder, force=True)  # what a kill left behind is in nobody's way
        assert torch.equal(CollectiveClassifier.load(folder).predict_proba(graph), will_be)
        step += 1
    assert step > 10
    assert seen == {False, True}


def test_a_first_save_is_there_in_whole_or_not_at_all(graph, train, tmp_path):
    model = quick(num_iterations=0, max_epochs=1).fit(graph, train)
    step, killed = 0, True
    while killed:
        folder = tmp_path / f"{step}" / "model"
        killed = dies_at(step, partial(model.save, folder))
        if folder.exists():
            CollectiveClassifier.load(folder)
        step += 1
    assert step > 10
    assert folder.exists()


def test_files_have_the_permissions_of_the_users_umask(graph, train, tmp_path):
    before = os.umask(0o022)
    try:
        quick(num_iterations=0, max_epochs=1).fit(graph, train).save(tmp_path / "model")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o755
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "model").iterdir()} == {0o644}


def test_a_model_says_which_version_wrote_it(graph, train, tmp_path):
    quick(num_iterations=0, max_epochs=1).fit(graph, train).save(tmp_path / "m", extra={"note": 1})
    content = json.loads((tmp_path / "m" / "model.json").read_text())
    assert content["clgnn"] == clgnn.__version__
    assert content["extra"] == {"note": 1}
    assert len(content["weights"]["sha256"]) == 64


def test_a_flipped_bit_is_found(graph, train, tmp_path):
    quick(num_iterations=0, max_epochs=1).fit(graph, train).save(tmp_path / "m")
    (file,) = (tmp_path / "m").glob("*.safetensors")
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"is damaged \(SHA-256"):
        CollectiveClassifier.load(tmp_path / "m")


def test_a_model_whose_parameters_were_changed_is_not_saved(graph, train, tmp_path):
    model = quick().fit(graph, train)
    model.set_params(num_iterations=5)
    with pytest.raises(ValueError, match="num_iterations is 5 and was 2 when the model was fitted"):
        model.save(tmp_path / "m")
    model.set_params(num_iterations=2, device="cpu", memory_budget=1.0).save(tmp_path / "m")
    assert CollectiveClassifier.load(tmp_path / "m").memory_budget == 1.0


def test_loading_and_resuming_leave_the_global_generator_alone(graph, train, val, tmp_path):
    quick().fit(graph, train, val, checkpoint=tmp_path / "c").save(tmp_path / "m")
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    CollectiveClassifier.load(tmp_path / "m")
    quick().fit(graph, train, val, checkpoint=tmp_path / "c")
    assert torch.equal(torch.rand(2), expected)


OLD = Path(__file__).parents[1] / "models" / "0.1.0"


@pytest.mark.parametrize("name", ["regressor", "ica", "correct_and_smooth", "gmnn"])
def test_models_of_version_0_1_0_load_and_predict_as_they_did(name, graph):
    expected = torch.tensor(json.loads((OLD / "predictions.json").read_text())[name])
    observed = range(10) if name == "correct_and_smooth" else None
    assert torch.allclose(clgnn.load(OLD / name).predict_proba(graph, observed), expected, atol=1e-5)


def test_a_boosted_model_of_version_0_1_0_loads(graph):
    """Its draws are other ones now; iteration 0 draws nothing."""
    model = clgnn.load(OLD / "collective")
    expected = json.loads((OLD / "predictions.json").read_text())["collective, iteration 0"]
    assert torch.allclose(next(model.staged_predict_proba(graph)), torch.tensor(expected), atol=1e-5)
    assert model.class_weight == {0: 1.0, 1: 2.0, 2: 3.0}


def damage(folder, **changes):
    file = folder / "model.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "sha256": None, **changes}))


@pytest.mark.parametrize(
    "wrong", [{"doubt_": -1}, {"doubt_": 5}, {"doubt_": "x"}, {"temperature_": -1}, {"temperature_": None}]
)
def test_a_calibration_that_gives_no_probabilities_is_refused(graph, train, tmp_path, wrong):
    quick().fit(graph, train).save(tmp_path / "m")
    learned = json.loads((tmp_path / "m" / "model.json").read_text())["learned"]
    damage(tmp_path / "m", learned={**learned, **wrong})
    with pytest.raises(ValueError, match="is damaged, or of another GNN"):
        CollectiveClassifier.load(tmp_path / "m")


def test_damaged_and_newer_models_are_refused(graph, train, tmp_path):
    model = quick().fit(graph, train)

    def fresh():
        model.save(tmp_path / "m", force=True)
        return tmp_path / "m"

    with pytest.raises(ValueError, match=r"is not a model: it has no model\.json"):
        CollectiveClassifier.load(tmp_path / "nothing")
    damage(fresh(), format=99)
    with pytest.raises(ValueError, match=r"format 99, and this version reads up to 2.*upgrade"):
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
    (weights,) = fresh().glob("*.safetensors")
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"safetensors is damaged"):
        CollectiveClassifier.load(tmp_path / "m")
    (weights,) = fresh().glob("*.safetensors")
    weights.unlink()
    with pytest.raises(ValueError, match=r"is damaged, or of another GNN \(.*No such file"):
        CollectiveClassifier.load(tmp_path / "m")
    damage(fresh(), kind="Dragon")
    with pytest.raises(ValueError, match="is a 'Dragon'; expected one of"):
        CollectiveClassifier.load(tmp_path / "m")
    damage(fresh(), weights={"file": "../../secret", "sha256": "0"})
    with pytest.raises(ValueError, match=r"damaged \(its weights are '../../secret'\)"):
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
    weights = tmp_path / "d" / "1.weights.safetensors"
    quick().fit(graph, train, val, checkpoint=tmp_path / "d")
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(ValueError, match=r"1\.weights\.safetensors is damaged"):
        quick().fit(graph, train, val, checkpoint=tmp_path / "d")


def scaled(in_channels, out_channels, heads=1):
    return GATConv(in_channels, out_channels, heads=heads, concat=False)


def test_fingerprints_tell_factories_and_modules_apart(graph, train, val, tmp_path):
    def closure(heads):
        return lambda i, o: scaled(i, o, heads)

    torch.manual_seed(0)
    pairs = [
        (partial(scaled, heads=1), partial(scaled, heads=2)),
        (closure(1), closure(2)),
        (lambda i, o: scaled(i, o, 1), lambda i, o: scaled(i, o, 2)),
        (GATConv(8, 4), GATConv(8, 4)),  # other weights
    ]
    for number, (one, other) in enumerate(pairs):
        quick(gnn=one).fit(graph, train, val, checkpoint=tmp_path / f"{number}")
        quick(gnn=one).fit(graph, train, val, checkpoint=tmp_path / f"{number}")
        with pytest.raises(ValueError, match="other settings"):
            quick(gnn=other).fit(graph, train, val, checkpoint=tmp_path / f"{number}")


def test_discarding_a_checkpoint_removes_nothing_else(graph, train, tmp_path):
    quick().fit(graph, train, checkpoint=tmp_path / "c")
    (tmp_path / "c" / "mine.txt").write_text("mine")
    checkpoints.discard(tmp_path / "c")
    assert [p.name for p in (tmp_path / "c").iterdir()] == ["mine.txt"]
    (tmp_path / "c" / "mine.txt").unlink()
    checkpoints.discard(tmp_path / "c")
    assert not (tmp_path / "c").exists()
    checkpoints.discard(tmp_path / "never there")


@pytest.mark.filterwarnings("ignore:.*takes no edge_attr")
@pytest.mark.parametrize("name", ["edge_weight", "edge_attr"])
def test_a_checkpoint_knows_the_weights_and_features_of_the_edges(name, graph, train, val, tmp_path):
    size = graph.edge_index.size(1)
    graph[name] = torch.rand(size) if name == "edge_weight" else torch.rand(size, 2)
    quick().fit(graph, train, val, checkpoint=tmp_path / "c")
    graph[name] = graph[name] + 1
    with pytest.raises(ValueError, match="another graph"):
        quick().fit(graph, train, val, checkpoint=tmp_path / "c")


def test_the_base_of_a_loaded_rival_is_the_one_it_was_fitted_with(graph, train, val, tmp_path):
    base = CollectiveClassifier("sage", num_iterations=0, max_epochs=2)
    clgnn.baselines.CorrectAndSmooth(base).fit(graph, train, val).save(tmp_path / "m")
    again = clgnn.load(tmp_path / "m")
    assert again.base.get_params() == base.get_params()
    assert not hasattr(again.base, "components_")


class TestSavedModels:
    def test_a_gnn_that_caches_its_edges_is_loaded_without_a_cache(self, graph, train, val, tmp_path):
        gnn = partial(GCNConv, cached=True)
        model = quick(gnn=gnn, num_iterations=0).fit(graph, train, val)
        model.save(tmp_path / "m")
        again = clgnn.load(tmp_path / "m", gnn=gnn)
        assert torch.allclose(again.predict_proba(graph), model.predict_proba(graph), atol=1e-5)

    def test_a_gnn_that_needs_edge_features_is_loaded(self, graph, train, val, tmp_path):
        graph.edge_attr = torch.rand(graph.edge_index.size(1), 2)
        model = quick(gnn=Featured, num_iterations=1).fit(graph, train, val)
        model.save(tmp_path / "m")
        again = clgnn.load(tmp_path / "m", gnn=Featured)
        assert torch.equal(again.predict_proba(graph), model.predict_proba(graph))

    def test_an_interrupted_refit_leaves_nothing_that_looks_fitted(self, graph, train, val, tmp_path):
        model = quick().fit(graph, train, val)

        def stop(epoch):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            model.fit(graph, train, val, on_epoch=stop)
        with pytest.raises(NotFittedError):
            model.predict(graph)
        with pytest.raises(NotFittedError):
            model.save(tmp_path / "m")

    def test_class_weights_and_devices_of_any_kind_are_saved(self, graph, train, val, tmp_path):
        graph.y = graph.y.clamp(max=1)
        weights = {np.int64(0): 1, True: np.float32(3)}
        model = quick(class_weight=weights, device=torch.device("cpu")).fit(graph, train, val)
        model.save(tmp_path / "m")
        assert clgnn.load(tmp_path / "m").class_weight == {0: 1.0, 1: 3.0}

    def test_inference_mode_works_and_does_no_harm(self, graph, train, val):
        model = quick().fit(graph, train, val)
        expected = model.predict_proba(graph)
        with torch.inference_mode():
            fresh = graph.clone()
            assert torch.equal(model.predict_proba(fresh), expected)
        assert torch.equal(model.predict_proba(graph), expected)

    def test_numbers_of_numpy_have_fingerprints_of_their_own(self, graph, train, val, tmp_path):
        quick(seed=np.int64(0)).fit(graph, train, val, checkpoint=tmp_path / "c")
        quick(seed=0).fit(graph, train, val, checkpoint=tmp_path / "c")
        with pytest.raises(ValueError, match="other settings"):
            quick(seed=np.int64(9)).fit(graph, train, val, checkpoint=tmp_path / "c")

    def test_what_a_kill_left_in_a_checkpoint_is_discarded_with_it(self, graph, train, tmp_path):
        quick().fit(graph, train, checkpoint=tmp_path / "c")
        (tmp_path / "c" / ".checkpoint.json.abc123").mkdir()
        (tmp_path / "c" / ".checkpoint.json.abc123" / "checkpoint.json").write_text("half")
        checkpoints.discard(tmp_path / "c")
        assert not (tmp_path / "c").exists()

    def test_weights_that_are_no_numbers_are_not_kept(self, graph, train):
        class Breaks(GATConv):
            def forward(self, x, edge_index):
                self.bias.register_hook(lambda gradient: gradient * float("nan"))
                return super().forward(x, edge_index)

        with pytest.raises(ValueError, match="learning rate"):
            quick(gnn=Breaks, max_epochs=1, num_iterations=0).fit(graph, train)


class Featured(torch.nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = GATConv(in_channels, out_channels, edge_dim=2)

    def forward(self, x, edge_index, edge_attr):
        assert edge_attr is not None
        return self.conv(x, edge_index, edge_attr)


def test_the_schema_belongs_to_the_model_that_is_there(graph, train, tmp_path):
    model = quick(num_iterations=0, max_epochs=1).fit(graph, train)
    folder = tmp_path / "model"
    model.save(folder, schema="old")
    assert (folder / "schema.txt").read_text() == "old"
    model.save(folder, force=True, schema="new")
    assert (folder / "schema.txt").read_text() == "new"
    model.save(folder, force=True)
    assert not (folder / "schema.txt").exists()


def test_a_schema_text_of_the_users_is_left_alone(graph, train, tmp_path):
    model = quick(num_iterations=0, max_epochs=1).fit(graph, train)
    folder = tmp_path / "model"
    model.save(folder)
    (folder / "schema.txt").write_text("mine")
    model.save(folder, force=True)
    with pytest.raises(FileExistsError, match=r"schema\.txt is no file of the model; move it"):
        model.save(folder, force=True, schema="ours")
    assert (folder / "schema.txt").read_text() == "mine"


def test_a_kill_never_leaves_the_schema_of_another_model(graph, train, tmp_path):
    old, new = (quick(seed=seed, num_iterations=0, max_epochs=1).fit(graph, train) for seed in (0, 1))
    will_be = new.predict_proba(graph)
    step, killed = 0, True
    while killed:
        folder = tmp_path / f"{step}" / "model"
        old.save(folder, schema="old")
        killed = dies_at(step, partial(new.save, folder, force=True, schema="new"))
        is_new = torch.equal(CollectiveClassifier.load(folder).predict_proba(graph), will_be)
        file = folder / "schema.txt"
        assert not file.exists() or file.read_text() == ("new" if is_new else "old")
        step += 1
    assert (folder / "schema.txt").read_text() == "new"


@pytest.mark.parametrize(
    "damage", [{"labels": {"values": [0, 1, 2], "threshold": 0.5}}, {"history": {"a": [1], "b": []}}]
)
def test_values_that_can_not_be_are_named_with_the_model(damage, graph, train, tmp_path):
    quick(num_iterations=0, max_epochs=1).fit(graph, train).save(tmp_path / "model")
    file = tmp_path / "model" / "model.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "sha256": None, **damage}))
    with pytest.raises(ValueError, match="model is damaged, or of another GNN"):
        CollectiveClassifier.load(tmp_path / "model")
