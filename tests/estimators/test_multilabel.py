"""Several labels of 0 and 1 for each node."""

import numpy as np
import pytest
import sklearn.metrics as sk
import torch

import clgnn
from clgnn import CollectiveClassifier, CollectiveMultiLabelClassifier, CollectiveRegressor
from clgnn.collective.sampling import Bernoulli, LabelInput, stream
from clgnn.data.graph import known, visible_labels
from clgnn.estimators.multilabel import MULTILABEL, find_multilabel_metric

LITTLE = {"num_iterations": 1, "max_epochs": 8, "iteration_epochs": 4, "num_samples": 3, "hidden_channels": 4}


@pytest.fixture
def several(new_graph):
    """Label 0 is in a node's own features, label 1 in those of its neighbours; label 2 is random."""
    graph = new_graph(num_nodes=120)
    first = (graph.x[:, 0] > 0.3).long()
    source, target = graph.edge_index
    around = torch.zeros(120).index_add_(0, target, graph.x[source, 1])
    random = torch.randint(2, (120,), generator=torch.Generator().manual_seed(0))
    graph.y = torch.stack([first, (around > 0.6).long(), random], dim=1)
    return graph


def fit(graph, **settings):
    model = CollectiveMultiLabelClassifier(**{**LITTLE, **settings})
    return model.fit(graph, range(60), range(60, 90))


@pytest.mark.parametrize("test_labels", ["none", "partial"])
@pytest.mark.parametrize("gnn", ["gcn", "sage"])
@pytest.mark.parametrize("start", ["plain", "paper"])
def test_shapes_and_the_common_interface(several, gnn, test_labels, start):
    model = fit(several, gnn=gnn, test_labels=test_labels, start=start)
    shown = range(60) if test_labels == "partial" else None
    proba = model.predict_proba(several, shown)
    assert proba.shape == (120, 3)
    assert ((proba >= 0) & (proba <= 1)).all()
    assert torch.equal(model.predict(several, shown), (proba >= 0.5).long())
    expected = torch.minimum(proba, 1 - proba).mean(dim=1)
    assert torch.equal(model.uncertainty(several, shown), expected)
    assert model.spread(several, shown).shape == (120,)
    assert set(MULTILABEL) <= set(model.evaluate(several, range(90, 120), shown))


def test_it_learns_what_can_be_learned(several):
    model = fit(several, gnn="sage", max_epochs=200, patience=100, lr=0.05, hidden_channels=16)
    table = model.evaluate_labels(several, range(90, 120), names=["own", "around", "chance"])
    assert table["label"].tolist() == ["own", "around", "chance"]
    assert (table["roc_auc"][:2] > 0.9).all()
    assert table["roc_auc"][2] < 0.8
    truth = several.y[90:].numpy()
    assert table["positive"].tolist() == truth.sum(axis=0).tolist()


def test_metrics_are_those_of_scikit_learn(several):
    model = fit(several)
    found = model.evaluate(several, range(90, 120))
    y, p = several.y[90:].numpy(), model.predict_proba(several)[90:].double().numpy()
    assert found["micro_f1"] == pytest.approx(sk.f1_score(y, p >= 0.5, average="micro"))
    assert found["macro_f1"] == pytest.approx(sk.f1_score(y, p >= 0.5, average="macro", zero_division=0))
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(y, p >= 0.5))
    assert found["hamming_loss"] == pytest.approx(sk.hamming_loss(y, p >= 0.5))
    assert found["roc_auc"] == pytest.approx(sk.roc_auc_score(y, p, average="macro"))
    assert found["average_precision"] == pytest.approx(sk.average_precision_score(y, p, average="macro"))
    assert model.score(several, range(90, 120), metric="f1:1") == pytest.approx(
        sk.f1_score(y[:, 1], p[:, 1] >= 0.5)
    )


def test_hidden_labels_change_nothing(several):
    """All labels of hidden nodes, and the unknown labels of training nodes."""
    partly = several.clone()
    partly.y = partly.y.double()
    partly.y[:30, 1] = torch.nan
    other = partly.clone()
    other.y[90:] = 1 - other.y[90:]
    for settings in ({}, {"test_labels": "partial"}):
        one, two = (fit(graph, **settings) for graph in (partly, other))
        assert torch.equal(one.predict_proba(partly), two.predict_proba(other))


def test_minus_one_and_nan_both_mean_unknown(several):
    integer, real = several.clone(), several.clone()
    integer.y[:30, 1] = -1
    real.y = real.y.double()
    real.y[:30, 1] = torch.nan
    assert torch.equal(fit(integer).predict_proba(several), fit(real).predict_proba(several))
    y = visible_labels(integer, torch.arange(120) < 10)
    assert known(y).tolist() == [True] * 10 + [False] * 110
    assert y[:10, 1].isnan().all()


def test_of_a_node_that_is_shown_the_unknown_labels_are_drawn():
    family = Bernoulli(2)
    make = LabelInput(family, "sampled", 4, "systematic")
    y = torch.tensor([[1.0, torch.nan], [0.0, 1.0], [torch.nan, torch.nan]])
    logits = torch.tensor([[-9.0, 9.0], [9.0, 9.0], [-9.0, 9.0]])
    shown = torch.tensor([True, True, False])
    found = make(logits, y, shown, stream(torch.device("cpu"), 0))
    assert found.shape == (3, 4, 2)
    expected = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]])
    assert torch.equal(found, expected.unsqueeze(1).expand(3, 4, 2))


def test_draws_have_the_probabilities_and_labels_are_drawn_apart():
    family = Bernoulli(2)
    make = LabelInput(family, "sampled", 10, "systematic")
    logits = torch.tensor([0.3, 0.6]).logit().repeat(2000, 1)
    y = torch.full((2000, 2), torch.nan)
    drawn = make(logits, y, torch.zeros(2000, dtype=torch.bool), stream(torch.device("cpu"), 1)) > 0
    assert drawn.float().mean(dim=(0, 1)).tolist() == pytest.approx([0.3, 0.6], abs=0.01)
    both = (drawn[..., 0] & drawn[..., 1]).float().mean().item()
    assert both == pytest.approx(0.18, abs=0.02)


def test_save_load_resume_and_the_same_seed(several, tmp_path):
    model = fit(several)
    model.save(tmp_path / "m")
    loaded = clgnn.load(tmp_path / "m")
    assert isinstance(loaded, CollectiveMultiLabelClassifier)
    assert torch.equal(loaded.predict_proba(several), model.predict_proba(several))
    assert torch.equal(fit(several).predict_proba(several), model.predict_proba(several))
    assert not torch.equal(fit(several, seed=1).predict_proba(several), model.predict_proba(several))


def test_an_order_of_nodes_means_nothing(several):
    order = torch.randperm(120, generator=torch.Generator().manual_seed(1))
    place = order.argsort()
    moved = several.clone()
    moved.x, moved.y, moved.edge_index = several.x[order], several.y[order], place[several.edge_index]
    model = CollectiveMultiLabelClassifier(**{**LITTLE, "num_iterations": 0, "dropout": 0.0})
    one = model.fit(several, torch.arange(120) < 60).predict_proba(several)
    two = model.fit(moved, (torch.arange(120) < 60)[order]).predict_proba(moved)
    assert torch.allclose(one[order], two, atol=1e-4)


def test_several_graphs(several):
    model = CollectiveMultiLabelClassifier(**LITTLE).fit([several, several], [range(60), range(10)])
    assert [part.shape for part in model.predict_proba([several, several])] == [(120, 3)] * 2


def test_probabilities_are_calibrated_on_validation(several):
    wild = fit(several, max_epochs=150, calibrate=False, dropout=0.0)
    tame = fit(several, max_epochs=150, dropout=0.0)
    assert tame.temperature_ != 1
    assert torch.equal(wild.predict(several), tame.predict(several))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda g: setattr(g, "y", g.y * 2), "other values than 0 and 1"),
        (lambda g: setattr(g, "y", g.y[:, 0]), r"expected \[N, L\]"),
        (lambda g: setattr(g, "y", g.y[:50]), "expected one label for each of 120 nodes"),
    ],
)
def test_wrong_labels_are_refused(several, change, said):
    change(several)
    with pytest.raises(ValueError, match=said):
        fit(several)


@pytest.mark.parametrize("kind", [CollectiveClassifier, CollectiveRegressor])
def test_the_other_estimators_say_which_one_to_take(several, kind):
    with pytest.raises(ValueError, match="CollectiveMultiLabelClassifier"):
        kind(**LITTLE).fit(several, range(60))


@pytest.mark.parametrize("metric", ["luck", "f1:9", "f1:x", "brier:0"])
def test_wrong_metrics_are_refused(several, metric):
    with pytest.raises(ValueError, match=f"metric is '{metric}'; expected one of macro_f1"):
        fit(several, metric=metric)


def test_a_label_that_nobody_has_does_not_count():
    y, p = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.9, 0.9], [0.1, 0.1]])
    assert find_multilabel_metric("macro_f1").measure(y, p) == 1.0
    assert find_multilabel_metric("roc_auc").measure(y, p) == 1.0
    assert np.isnan(find_multilabel_metric("roc_auc:1").measure(y, p))
