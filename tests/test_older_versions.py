"""Models and ledgers that older versions wrote are read by this one, and say what they said then."""

import json
import shutil
from pathlib import Path

import pytest
import torch

import clgnn
from clgnn.experiments.compare import opened
from clgnn.experiments.ledger import Ledger, read
from helpers.commands import call

MODELS, LEDGERS = Path(__file__).parent / "models", Path(__file__).parent / "ledgers"
SAID = json.loads((MODELS / "0.2.0" / "predictions.json").read_text())


@pytest.mark.parametrize("name", SAID)
def test_models_of_0_2_0_predict_as_they_did(name, graph):
    model = clgnn.load(MODELS / "0.2.0" / name)
    found = model.predict_proba(graph, None if model.refuses_labels() else range(10))
    assert torch.allclose(found, torch.tensor(SAID[name]), atol=1e-5)


def test_a_model_of_0_2_0_is_saved_anew(tmp_path, graph):
    model = clgnn.load(MODELS / "0.2.0" / "collective")
    model.save(tmp_path / "model")
    assert json.loads((tmp_path / "model" / "model.json").read_text())["sha256"]
    again = clgnn.load(tmp_path / "model")
    assert torch.equal(again.predict_proba(graph, range(10)), model.predict_proba(graph, range(10)))


@pytest.mark.parametrize("source", ["ledger.sqlite", "trials.csv"])
def test_a_ledger_of_0_1_0_is_read(source, tmp_path):
    folder = tmp_path / "results"
    shutil.copytree(LEDGERS / "0.1.0", folder)
    trials = read(folder / source)
    assert sorted(trials["method"].unique()) == ["gcn", "gcn+cl", "random"]
    assert len(trials) == 6
    assert trials["accuracy"].between(0, 1).all()
    assert "6 trials" in call("report", folder / source, "--out", tmp_path / "page.html")


def test_a_ledger_of_0_1_0_is_written_to(tmp_path):
    shutil.copy(LEDGERS / "0.1.0" / "ledger.sqlite", tmp_path)
    ledger = Ledger(tmp_path)
    (first, *_) = ledger.trials().to_dict("records")
    kept = {
        name: first[name]
        for name in ("dataset", "train_labels", "test_label_percent", "method", "settings", "finished")
    }
    ledger.write({**kept, "key": "new", "trial": 1, "status": "done", "metrics": {"accuracy": 0.5}})
    assert len(ledger.trials()) == 7


def test_a_comparison_of_0_2_0_is_opened(tmp_path):
    shutil.copytree(LEDGERS / "0.2.0", tmp_path / "comparison")
    found = opened(tmp_path / "comparison")
    assert set(found.leaderboard["method"]) == {"majority", "label_propagation", "gcn+cl"}
    assert found.model("label_propagation").get_params()["seed"] is not None
