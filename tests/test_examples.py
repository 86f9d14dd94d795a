"""The examples run, and show what they say."""

import importlib.util
from pathlib import Path

import pytest

from clgnn.data.datasets import is_here

FOLDER = Path(__file__).parents[1] / "examples"
SMALL = {"num_nodes": 200, "max_epochs": 20}


def example(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_embed(capsys):
    own, read_out = example("embed").main(**SMALL)
    assert min(own, read_out) > 0.3  # of five classes
    assert "200 nodes, 16 columns" in capsys.readouterr().out


def test_explain(capsys):
    found = example("explain").main(**SMALL)
    assert all(len(table) > 0 for table in (found.edges, found.features, found.labels))
    assert "it rests on" in capsys.readouterr().out


def test_as_module(capsys):
    assert example("as_module").main(**SMALL)
    assert "the same bits as predict_proba: True" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(not is_here("cora"), reason="needs Cora's files: set CLGNN_DATA")
def test_a_public_model_of_pyg_gains():
    accuracies = example("boost_pyg").main(num_splits=3)
    assert (accuracies[:, 1] - accuracies[:, 0]).mean() > 0


def test_multilabel(capsys):
    table = example("multilabel").main(**SMALL)
    assert table["label"].tolist() == ["on sale", "seasonal"]
    assert "on sale" in capsys.readouterr().out


def test_hetero():
    plain, boosted = example("hetero").main(num_nodes=300, max_epochs=30)
    assert min(plain, boosted) > 0.4  # of three classes


def test_edge_features():
    right, shuffled = example("edge_features").main(num_nodes=300, max_epochs=100)
    assert right > shuffled + 0.1


def test_hooks():
    table = example("hooks").main(num_nodes=200, max_epochs=30, goal=0.4)
    assert len(table) < 30
    assert table["metric"].iloc[-1] >= 0.4


def test_tune():
    pytest.importorskip("optuna")
    assert all(0 <= accuracy <= 1 for accuracy in example("tune").main(**SMALL, num_trials=2))


def test_regression(capsys):
    table = example("regression").main(num_splits=2, max_epochs=10, num_iterations=1)
    assert set(table.index.get_level_values(0)) == {"diabetes", "wine"}
    assert table["r2"].loc[:, "ridge_regression"].gt(table["r2"].loc[:, "mean"]).all()
    assert "labels to learn from" in capsys.readouterr().out
