"""Where the recursion starts."""

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch_geometric.nn import GATConv

import clgnn
from clgnn import CollectiveClassifier, CollectiveRegressor, baselines, load
from clgnn.estimators.calibration import Calibration
from clgnn.estimators.labelling import Classes
from clgnn.estimators.settings import all_epochs, iteration_budget

QUICK = {"num_samples": 3, "num_iterations": 2, "max_epochs": 8, "iteration_epochs": 4, "hidden_channels": 8}


def quick(**changes):
    return CollectiveClassifier(**{**QUICK, **changes})


def weights(component):
    return torch.cat([p.detach().flatten() for p in component.parameters()])


@pytest.mark.parametrize("test_labels", ["none", "partial"])
@pytest.mark.parametrize("gnn", ["gcn", "sage", "snowball", lambda i, o: GATConv(i, o)])
def test_iteration_0_is_the_plain_gnn_to_the_last_bit(gnn, test_labels, graph, train, val):
    options = {"gnn": gnn, "num_layers": 2, "test_labels": test_labels, "seed": 3}
    plain = quick(**options, num_iterations=0).fit(graph, train, val)
    boosted = quick(**options).fit(graph, train, val)
    assert torch.equal(weights(plain.components_[0]), weights(boosted.components_[0]))
    boosted.stage_scores_ = [1.0, 0.0, 0.0]  # validation prefers it
    boosted.temperature_, boosted.doubt_ = plain.calibration_
    assert torch.equal(boosted.predict_proba(graph), plain.predict_proba(graph))


def test_where_validation_prefers_the_plain_gnn_predictions_are_its_own(graph, train, val):
    """No label of a neighbour says anything here: y is random, and one epoch of boosting only does harm."""
    options = {"iteration_epochs": 1, "lr": 0.5, "dropout": 0.0, "max_epochs": 30}
    plain = quick(**options, num_iterations=0).fit(graph, train, val)
    for seed in range(10):
        plain = quick(**options, num_iterations=0, seed=seed).fit(graph, train, val)
        boosted = quick(**options, seed=seed).fit(graph, train, val)
        if boosted.best_iteration_ == 0:
            assert torch.equal(boosted.predict_proba(graph), plain.predict_proba(graph))
            return
    pytest.fail("validation never preferred the plain GNN")


def test_iteration_1_goes_on_from_the_plain_weights(graph, train, val):
    """With a learning rate of nearly nothing it stays the plain GNN, whatever labels are drawn."""
    model = quick(lr=1e-12, dropout=0.0).fit(graph, train, val)
    first, second, third = model.staged_predict_proba(graph)
    assert torch.allclose(second, first, atol=1e-5)
    assert torch.allclose(third, first, atol=1e-5)
    anew = quick(lr=1e-12, dropout=0.0, carry_weights=False).fit(graph, train, val)
    first, second, _ = anew.staged_predict_proba(graph)
    assert not torch.allclose(second, first, atol=1e-2)


STARTS = [
    "plain",
    "paper",
    "auto",
    "pl_em",
    "label_propagation",
    ["pl_em", "ica"],
    ["plain", "gmnn"],
    baselines.ICA(C=1.0),
    CollectiveClassifier("sage", num_iterations=0, max_epochs=4),
]


@pytest.mark.parametrize("test_labels", ["none", "partial"])
@pytest.mark.parametrize("start", [*STARTS, LogisticRegression()], ids=str)
def test_hidden_labels_never_reach_any_start(start, test_labels, graph, train, val, test):
    observed = test & (torch.arange(24) < 20) if test_labels == "partial" else None
    hidden = ~(train | val) if observed is None else ~(train | val | observed)
    changed = graph.clone()
    changed.y = torch.where(hidden, (graph.y + 1) % 3, graph.y)
    options = {"start": start, "test_labels": test_labels, "keep_best": False}
    a, b = (quick(**options).fit(g, train, val, observed_mask=observed) for g in (graph, changed))
    assert torch.equal(a.predict_proba(graph, observed), b.predict_proba(changed, observed))
    for one, other in zip(a.components_, b.components_, strict=True):
        assert torch.equal(weights(one), weights(other))


@pytest.mark.parametrize("start", STARTS, ids=str)
def test_a_start_is_saved_with_the_model_and_replayed_on_a_new_graph(
    start, graph, new_graph, train, val, tmp_path
):
    model = quick(start=start, test_labels="partial", keep_best=False).fit(graph, train, val)
    model.save(tmp_path / "m")
    again = clgnn.load(tmp_path / "m")
    other = new_graph(num_nodes=40, seed=5)
    assert torch.equal(again.predict_proba(other, range(9)), model.predict_proba(other, range(9)))
    assert again.fit(graph, train, val).predict_proba(other).shape == (40, 3)


@pytest.mark.parametrize(("own", "other"), [(True, False), (False, True)])
def test_a_start_with_a_gnn_of_another_kind_is_read_again(own, other, graph, train, val, tmp_path):
    def make(in_channels, out_channels):
        return GATConv(in_channels, out_channels)

    start = CollectiveClassifier(make if other else "sage", num_iterations=0, max_epochs=4)
    model = quick(gnn=make if own else "gcn", start=start, keep_best=False).fit(graph, train, val)
    model.save(tmp_path / "m")
    assert torch.equal(clgnn.load(tmp_path / "m", gnn=make).predict_proba(graph), model.predict_proba(graph))
    with pytest.raises(ValueError, match="fitted with a GNN of your own; give it again"):
        clgnn.load(tmp_path / "m")


def test_stage_0_is_the_start_itself(graph, train, val):
    ica = baselines.ICA(C=1.0, test_labels="none").fit(graph, train, val)
    model = quick(start=baselines.ICA(C=1.0, test_labels="none"), calibrate=False).fit(graph, train, val)
    stage = next(model.staged_predict_proba(graph))
    assert torch.allclose(stage, ica.predict_proba(graph), atol=1e-5)
    assert model.stage_scores_[0] == pytest.approx(ica.best_score_)


def test_several_starts_are_their_mean(graph, train, val):
    options = {"calibrate": False, "seed": 1}
    both = quick(start=["plain", "pl_em"], **options).fit(graph, train, val)
    plain = quick(num_iterations=0, **options).fit(graph, train, val).predict_proba(graph)
    pl_em = baselines.PLEM(test_labels="none", seed=1).fit(graph, train, val).predict_proba(graph)
    assert torch.allclose(next(both.staged_predict_proba(graph)), (plain + pl_em) / 2, atol=1e-5)


def test_auto_takes_the_start_that_validation_likes_best(graph, train, val):
    model = quick(start="auto", metric="log_loss", calibrate=False).fit(graph, train, val)
    alone = [
        quick(start=name, metric="log_loss", calibrate=False).fit(graph, train, val)
        for name in ("pl_em", "gmnn", "hist_gradient_boosting")
    ]
    alone.append(
        quick(start=["plain", "pl_em", "gmnn"], metric="log_loss", calibrate=False).fit(graph, train, val)
    )
    alone.append(quick(metric="log_loss", calibrate=False).fit(graph, train, val))
    assert model.stage_scores_[0] == pytest.approx(min(one.stage_scores_[0] for one in alone), abs=1e-6)


def test_auto_takes_trees_where_only_the_own_columns_tell_and_keeps_them_out_of_the_mean(new_graph):
    """The label is whether two columns have the same sign, and edges are drawn at random."""
    graph = new_graph(num_nodes=300)
    graph.y = (graph.x[:, 0] * graph.x[:, 1] > graph.x[:, 0].mean() * graph.x[:, 1].mean()).long()
    model = quick(start="auto").fit(graph, range(200), range(200, 300))
    assert [type(one) for one in model.starts_] == [baselines.GradientBoosting]
    assert not model.starts_with_plain_
    unjudged = quick(start="auto").fit(graph, range(200))
    assert [type(one) for one in unjudged.starts_] == [baselines.PLEM, baselines.GMNN]
    assert unjudged.starts_with_plain_


def test_starts_by_name_have_the_class_weights_of_the_model(graph, train, val):
    weights = {0: 1.0, 1: 5.0, 2: 0.5}
    for start in ("gmnn", ["pl_em", "label_propagation"], LogisticRegression()):
        model = quick(start=start, class_weight=weights).fit(graph, train, val)
        assert all(getattr(one, "class_weight", weights) == weights for one in model.starts_)


def test_probabilities_can_be_given_and_are_asked_for_again(graph, new_graph, train, val, tmp_path):
    graph.start_proba = torch.nn.functional.one_hot(graph.y, 3).float() * 0.7 + 0.1
    model = quick(start="given", calibrate=False).fit(graph, train, val)
    assert torch.allclose(next(model.staged_predict_proba(graph)), graph.start_proba, atol=1e-5)
    model.save(tmp_path / "m")
    again = clgnn.load(tmp_path / "m")
    assert torch.equal(again.predict_proba(graph), model.predict_proba(graph))
    with pytest.raises(ValueError, match="the graph has no start_proba; expected the first predictions"):
        again.predict_proba(new_graph())
    graph.start_proba = graph.start_proba[:, :2]
    with pytest.raises(ValueError, match="start_proba has 2 columns; expected 3"):
        again.predict_proba(graph)
    graph.start_proba = torch.rand(5, 3)
    with pytest.raises(ValueError, match=r"start_proba of shape \(5, 3\); expected \[24, C\]"):
        again.predict_proba(graph)


def test_a_classifier_of_scikit_learn_is_a_start(graph, train, val, tmp_path):
    model = quick(start=LogisticRegression(), calibrate=False).fit(graph, train, val)
    x, y = graph.x.numpy(), graph.y.numpy()
    expected = LogisticRegression().fit(x[train], y[train]).predict_proba(x)
    assert torch.allclose(
        next(model.staged_predict_proba(graph)), torch.from_numpy(expected).float(), atol=1e-5
    )
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert torch.equal(model.predict_proba(graph), again.predict_proba(graph))
    assert again.get_params()["start"][0].classifier.get_params() == LogisticRegression().get_params()


@pytest.mark.parametrize("start", ["plan", 3, ["plain", "nothing"], None])
def test_what_is_no_start_is_refused(start, graph, train):
    with pytest.raises(ValueError, match="expected"):
        quick(start=start).fit(graph, train)


def test_regression_starts_from_the_plain_gnn(graph, train, val):
    graph.y = graph.x[:, 0]
    plain = CollectiveRegressor(**{**QUICK, "num_iterations": 0}).fit(graph, train, val)
    boosted = CollectiveRegressor(**QUICK).fit(graph, train, val)
    assert torch.equal(weights(plain.components_[0]), weights(boosted.components_[0]))


def test_regression_starts_from_rivals_for_numbers(graph, train, val, tmp_path):
    graph.y = graph.x[:, 0]
    ridge = baselines.make("ridge_regression").fit(graph, train, val)
    model = CollectiveRegressor(**QUICK, start="ridge_regression", calibrate=False).fit(graph, train, val)
    first = next(model.staged_predict_proba(graph))
    assert torch.allclose(first[:, 0], ridge.predict(graph).float(), atol=1e-4)
    model.save(tmp_path / "m")
    assert torch.equal(clgnn.load(tmp_path / "m").predict(graph), model.predict(graph))
    for start in ("auto", "pl_em", ["plain", "gmnn"]):
        with pytest.raises(ValueError, match=r"start is .*; expected .*some of plain, mean"):
            CollectiveRegressor(**QUICK, start=start).fit(graph, train, val, on_epoch=pytest.fail)


class TestCalibration:
    def test_no_predicted_class_changes_and_the_log_loss_of_validation_falls(self, graph, train, val):
        options = {"max_epochs": 60, "lr": 0.1, "dropout": 0.0}
        raw, calibrated = (quick(calibrate=c, **options).fit(graph, train, val) for c in (False, True))
        assert torch.equal(raw.predict(graph), calibrated.predict(graph))
        assert raw.calibration_ == (1, 0)
        assert calibrated.temperature_ != 1
        losses = [model.evaluate(graph, val)["log_loss"] for model in (raw, calibrated)]
        assert losses[1] < losses[0]

    @pytest.mark.parametrize("doubt", [0.0, 0.3])
    def test_what_the_labels_were_drawn_with_is_found(self, doubt):
        torch.manual_seed(0)
        logits = 20 * torch.randn(8000, 3)
        classes, drawn_with = Classes((0, 1, 2)), Calibration(2.5, doubt)
        y = torch.multinomial(classes.decode(logits, drawn_with), 1).squeeze(1)
        found = classes.calibration(logits, y)
        assert found.temperature == pytest.approx(2.5, rel=0.1)
        assert found.doubt == pytest.approx(doubt, abs=0.04)

    def test_doubt_changes_no_class_and_leaves_a_distribution(self):
        logits = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
        sure, unsure = (Classes((0, 1, 2, 3)).decode(logits, Calibration(0.7, doubt)) for doubt in (0, 0.4))
        assert torch.equal(sure.argmax(dim=1), unsure.argmax(dim=1))
        torch.testing.assert_close(unsure.sum(dim=1), torch.ones(50))
        torch.testing.assert_close(unsure, 0.6 * sure + 0.1)

    @pytest.mark.parametrize("doubt", [0.0, 0.2])
    def test_the_logarithm_is_finite_however_sure_an_output_is(self, doubt):
        classes, calibration = Classes((0, 1, 2)), Calibration(0.05, doubt)
        logits = torch.tensor([[0.1, 0.0, -0.2]])
        expected = classes.decode(logits, calibration).log()
        torch.testing.assert_close(classes.log_decode(logits, calibration), expected)
        assert bool(classes.log_decode(torch.tensor([[600.0, 0.0, 1.0]]), calibration).isfinite().all())

    def test_a_few_labels_that_are_all_right_make_nothing_certain(self):
        logits = torch.tensor([[2.0, 0.0], [0.0, 2.0]]).repeat(8, 1)
        classes = Classes((0, 1))
        calibration = classes.calibration(logits, torch.tensor([0, 1]).repeat(8))
        confidence = classes.decode(logits, calibration).amax(dim=1).mean()
        assert float(confidence) == pytest.approx(17 / 18, abs=1e-3)

    def test_of_a_regressor_scales_the_deviation(self, graph, train, val):
        graph.y = graph.x[:, 0] * 5
        model = CollectiveRegressor(**QUICK).fit(graph, train, val)
        mean, std = model.predict_proba(graph)[val].T
        assert float((((graph.y[val] - mean) / std) ** 2).mean()) == pytest.approx(1, rel=1e-3)

    def test_without_validation_nothing_is_calibrated(self, graph, train):
        assert quick().fit(graph, train).calibration_ == (1, 0)


def test_observed_labels_can_be_learned_from(graph, train, val, test):
    """The flag is the same as a training mask that has them."""
    options = {"test_labels": "partial", "keep_best": False}
    flagged = quick(**options, learn_observed=True).fit(graph, train, val, observed_mask=test)
    by_hand = quick(**options).fit(graph, train | test, val, observed_mask=test)
    assert torch.equal(flagged.predict_proba(graph, test), by_hand.predict_proba(graph, test))
    assert flagged.trains_on_observed
    assert not by_hand.trains_on_observed
    rival = baselines.CLAllLabels(**{**QUICK, "keep_best": False}).fit(graph, train, val, observed_mask=test)
    assert torch.equal(rival.predict_proba(graph, test), flagged.predict_proba(graph, test))


def test_the_plain_gnn_of_a_fair_comparison_has_the_budget_of_all_stages():
    settings = {"num_iterations": 3, "max_epochs": 2000, "patience": 400}
    assert iteration_budget(settings) == (500, 100)
    assert all_epochs(settings) == {"max_epochs": 3500, "patience": 700}
    paper = {**settings, "start": "paper", "max_epochs": 500, "patience": 100}
    assert all_epochs(paper) == {"max_epochs": 2000, "patience": 400}


def test_the_papers_preset():
    model = CollectiveClassifier.preset("paper", gnn="sage", seed=4)
    assert (model.start, model.keep_best, model.calibrate, model.sampling) == ("paper", False, False, "iid")
    assert (model.gnn, model.seed, model.num_iterations, model.max_epochs) == ("sage", 4, 3, 500)
    partial = CollectiveClassifier.preset("paper", test_labels="partial")
    assert (partial.num_iterations, partial.max_epochs, partial.num_masks) == (10, 100, 10)
    with pytest.raises(ValueError, match="the preset is 'papre'; expected one of paper"):
        CollectiveClassifier.preset("papre")


@pytest.mark.parametrize("start", ["nobody", ["plain", "nobody"], "given"])
def test_a_start_that_is_not_there_is_refused_before_anything_is_trained(start, graph, train):
    epochs = []
    with pytest.raises(
        ValueError, match=r"start is (a list with )?'nobody'; expected |the graph has no start_proba"
    ):
        CollectiveClassifier(start=start, max_epochs=3).fit(graph, train, on_epoch=epochs.append)
    assert epochs == []
