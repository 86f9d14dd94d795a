import json

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch_geometric.data import Data
from torch_geometric.nn import GAT, GATConv, GCNConv, GINConv, SAGEConv, TransformerConv

from clgnn import CollectiveClassifier, CollectiveRegressor
from clgnn.nn import NAMES

QUICK = {
    "num_samples": 3, "num_iterations": 2, "num_masks": 2, "max_epochs": 4, "iteration_epochs": 4, "hidden_channels": 8,
}  # fmt: skip


def quick(**changes):
    return CollectiveClassifier(**{**QUICK, **changes})


def weights(model):
    return torch.cat([p.detach().flatten() for c in model.components_ for p in c.parameters()])


VARIANTS = [
    {"labels": labels, "test_labels": test_labels}
    for labels in ("sampled", "soft", "uniform", "observed")
    for test_labels in ("none", "partial")
] + [{"num_iterations": 0}, {"num_iterations": 0, "test_labels": "partial"}, {"gnn": "sage"}]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_hidden_labels_never_reach_the_model(variant, graph, train, val, test):
    """Change every label that is not in a mask: not a bit of the output changes."""
    observed = test & (torch.arange(24) < 20) if variant.get("test_labels") == "partial" else None
    changed = graph.clone()
    hidden = ~(train | val)
    if observed is not None:
        hidden &= ~observed
    changed.y = torch.where(hidden, (graph.y + 1) % 3, graph.y)
    assert not torch.equal(changed.y, graph.y)
    a = quick(**variant).fit(graph, train, val)
    b = quick(**variant).fit(changed, train, val)
    assert torch.equal(weights(a), weights(b))
    assert torch.equal(a.predict_proba(graph, observed), b.predict_proba(changed, observed))
    assert torch.equal(a.uncertainty(graph, observed), b.uncertainty(changed, observed))
    spreads = a.spread(graph, observed), b.spread(changed, observed)
    assert torch.equal(*(spread.nan_to_num(-1) for spread in spreads))


@pytest.mark.parametrize("test_labels", ["none", "partial"])
def test_validation_labels_are_never_input_or_target(test_labels, graph, train, val):
    """They choose the epoch, and nothing else: with one epoch there is nothing to choose."""
    changed = graph.clone()
    changed.y = torch.where(val, (graph.y + 1) % 3, graph.y)
    one = [
        quick(max_epochs=1, iteration_epochs=1, test_labels=test_labels).fit(g, train, val)
        for g in (graph, changed)
    ]
    assert torch.equal(weights(one[0]), weights(one[1]))


def test_observed_labels_do_reach_a_model_for_partial_graphs(graph, train, test):
    model = quick(test_labels="partial", inference_masks="all").fit(graph, train)
    assert not torch.equal(model.predict_proba(graph), model.predict_proba(graph, test))


def test_same_seed_same_bits(graph, train, val):
    a, b, c = (quick(seed=s).fit(graph, train, val) for s in (1, 1, 2))
    assert torch.equal(weights(a), weights(b))
    assert torch.equal(a.predict_proba(graph), b.predict_proba(graph))
    assert torch.equal(a.predict_proba(graph), a.predict_proba(graph))
    assert not torch.equal(weights(a), weights(c))


def test_no_iterations_is_the_plain_gnn(graph, train, val):
    model = quick(num_iterations=0).fit(graph, train, val)
    assert model.components_[0].gnn.layers[0].in_features == 5
    assert bool(model.spread(graph).isnan().all())


@pytest.mark.parametrize("gnn", NAMES)
def test_every_gnn_learns_what_its_features_say(gnn, new_graph):
    graph = new_graph(num_nodes=60)
    graph.x[torch.arange(60), graph.y] += 4
    model = quick(gnn=gnn, max_epochs=100, num_layers=2, lr=0.02, dropout=0.0, num_iterations=1)
    assert model.fit(graph, range(40)).score(graph, range(40)) > 0.6


def test_labels_of_neighbours_are_used():
    """Pairs of nodes: one has a label that is seen, the other, without features, has the same one."""
    n = 120
    y = torch.randint(2, (n // 2,), generator=torch.Generator().manual_seed(0)).repeat_interleave(2)
    left = torch.arange(0, n, 2)
    edges = torch.cat([torch.stack([left, left + 1]), torch.stack([left + 1, left])], 1)
    data = Data(x=torch.ones(n, 1), edge_index=edges, y=y)
    train = torch.arange(n) < 80
    observed = ~train & (torch.arange(n) % 2 == 0)
    test = ~train & ~observed
    settings = {"max_epochs": 150, "lr": 0.05, "dropout": 0.0, "num_iterations": 1, "hidden_channels": 16}
    boosted = CollectiveClassifier("sage", test_labels="partial", inference_masks="all", **settings)
    plain = CollectiveClassifier("sage", **{**settings, "num_iterations": 0})
    assert plain.fit(data, train).score(data, test) < 0.7
    assert boosted.fit(data, train).score(data, test, observed) > 0.95


def test_the_set_of_masks_can_be_given(graph, train):
    masks = torch.stack([torch.arange(24) < 5, torch.arange(24) >= 5])
    fits = [quick(test_labels="partial").fit(graph, train, masks=m) for m in (masks, masks, None)]
    assert torch.equal(weights(fits[0]), weights(fits[1]))
    assert not torch.equal(weights(fits[0]), weights(fits[2]))
    with pytest.raises(ValueError, match=r"expected bool \[J, 24\]"):
        quick(test_labels="partial").fit(graph, train, masks=masks[:, :3])
    with pytest.raises(ValueError, match="a mask shows every training label"):
        quick(test_labels="partial").fit(graph, train, masks=train[None])


def test_several_graphs_are_as_one_without_edges_in_between(new_graph):
    """A list of graphs gives the bits of their union, and a graph's predictions are those of it alone."""
    graphs = [new_graph(num_nodes=12 + i, seed=i) for i in range(3)]
    starts = [0, 12, 25]
    union = Data(
        x=torch.cat([g.x for g in graphs]),
        edge_index=torch.cat([g.edge_index + at for g, at in zip(graphs, starts, strict=True)], dim=1),
        y=torch.cat([g.y for g in graphs]),
    )
    train, val, observed = [[0, 1, 2, 3, 4], [0, 1, 2, 3], []], [[], [7, 8], [3, 4]], [[0], [1], [2]]

    def joined(masks):
        return [node + at for nodes, at in zip(masks, starts, strict=True) for node in nodes]

    settings = {"test_labels": "partial", "labels": "soft", "inference_masks": "all"}
    model = quick(**settings).fit(graphs, train, val, observed_mask=observed)
    whole = quick(**settings).fit(union, joined(train), joined(val), observed_mask=joined(observed))
    shown = [[], [], [5]]
    apart = model.predict_proba(graphs, shown)
    assert [part.shape for part in apart] == [(12, 3), (13, 3), (14, 3)]
    assert torch.equal(torch.cat(apart), whole.predict_proba(union, joined(shown)))
    assert torch.allclose(model.predict_proba(graphs[2], [5]), apart[2], atol=1e-6)
    right = (model.predict(graphs, shown)[2] == graphs[2].y)[6:9].float().mean().item()
    assert model.evaluate(graphs, [[], [], [6, 7, 8]], shown)["accuracy"] == pytest.approx(right)


def test_observed_labels_for_validation_graphs_are_shown_while_validating(new_graph):
    graphs = [new_graph(seed=i) for i in range(2)]

    def history(observed):
        model = quick(test_labels="partial", metric="log_loss")
        return model.fit(graphs, [range(10), []], [[], range(12, 24)], observed_mask=observed).history_

    shown, nothing = history([[], range(12)]), history([[], []])
    assert not np.allclose(shown["val_log_loss"], nothing["val_log_loss"])


def test_history_has_a_row_an_epoch(graph, train, val):
    history = quick(metric="macro_f1").fit(graph, train, val).history_
    assert list(history.columns) == ["iteration", "epoch", "loss", "val_macro_f1", "seconds"]
    assert history["iteration"].unique().tolist() == [0, 1, 2]
    assert history["val_macro_f1"].between(0, 1).all()
    assert quick().fit(graph, train).history_["val_accuracy"].isna().all()


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "macro_f1", "log_loss", "brier"])
def test_the_chosen_metric_is_the_best_of_its_iteration(metric, graph, train, val):
    options = {"num_iterations": 0, "max_epochs": 30, "lr": 0.1, "calibrate": False}
    model = quick(metric=metric, **options).fit(graph, train, val)
    column = model.history_[f"val_{metric}"]
    best = column.min() if metric in ("log_loss", "brier") else column.max()
    assert model.score(graph, val, metric=metric) == pytest.approx(best, abs=1e-6)


def test_class_weights_move_predictions_to_rare_classes(new_graph):
    graph = new_graph(num_nodes=80)
    graph.y = (torch.arange(80) % 10 == 0).long()
    counts = [
        int(quick(class_weight=w, max_epochs=40).fit(graph, range(80)).predict(graph).sum())
        for w in (None, {0: 1.0, 1: 50.0})
    ]
    assert counts[1] > counts[0]


def test_classes_keep_their_numbers(graph, train):
    graph.y = graph.y * 10 + 7
    model = quick().fit(graph, train)
    assert model.classes_.tolist() == [7, 17, 27]
    assert set(model.predict(graph).tolist()) <= {7, 17, 27}


def test_adapt_goes_on_from_the_learned_weights(graph, new_graph, train, val):
    model = quick(test_labels="partial", max_epochs=30, num_iterations=1).fit(graph, train, val)
    other = new_graph(num_nodes=40, seed=3)
    before = model.evaluate(other, range(20))["log_loss"]
    still = weights(clone(model).fit(graph, train, val))
    assert torch.equal(weights(model), still)
    model.adapt(other, range(20))
    assert not torch.equal(weights(model), still)
    assert model.evaluate(other, range(20))["log_loss"] < before
    with pytest.raises(ValueError, match="nothing to adapt to"):
        model.adapt(other, [])


def test_parameters_are_stored_cloned_and_shown(graph, train):
    model = quick(seed=3)
    assert model.get_params()["num_samples"] == 3
    copy = clone(model.fit(graph, train))
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "components_")
    assert repr(copy) == repr(model)
    assert "seed=3" in repr(copy)
    assert model.set_params(num_samples=5).num_samples == 5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_samples", 0),
        ("num_samples", 2.5),
        ("num_samples", True),
        ("lr", None),
        ("lr", "0.1"),
        ("lr", float("nan")),
        ("memory_budget", 0),
        ("precision", "float16"),
        ("device", "tpu"),
        ("device", "cuda:99"),
        ("num_iterations", -1),
        ("num_masks", 0),
        ("shown_share", 1.5),
        ("dropout", 1.0),
        ("lr", 0),
        ("weight_decay", -1),
        ("max_epochs", 0),
        ("patience", 0),
        ("eval_every", 0),
        ("hidden_channels", 0),
        ("num_layers", 0),
        ("max_grad_norm", 0),
        ("seed", -1),
        ("labels", "hard"),
        ("test_labels", "some"),
        ("sampling", "stratified"),
        ("inference_masks", "one"),
        ("optimizer", "sgdx"),
        ("metric", "auc"),
        ("metric", "rmse"),
        ("gnn", 3),
        ("labels", torch.ones(3)),
        ("learn_observed", torch.ones(3)),
        ("metric", torch.ones(3)),
        ("lr", 10**30),
        ("lr", 10**400),
    ],
)
def test_parameters_out_of_range_are_refused(name, value, graph, train):
    with pytest.raises(ValueError, match=f"{name} is .*expected"):
        quick(**{name: value}).fit(graph, train)


def test_wrong_calls_are_refused(graph, train, val, test):
    with pytest.raises(NotFittedError, match="call fit first"):
        quick().predict(graph)
    with pytest.raises(ValueError, match="none of the 0 nodes of train_mask has a label"):
        quick().fit(graph, [])
    with pytest.raises(ValueError, match="10 nodes are both in train_mask and in val_mask"):
        quick().fit(graph, train, train)
    with pytest.raises(ValueError, match="none of the nodes of val_mask has a label"):
        quick().fit(graph, train, [])
    model = quick().fit(graph, train, val)
    with pytest.raises(ValueError, match="fitted with test_labels='none'"):
        model.predict(graph, observed_mask=test)
    with pytest.raises(ValueError, match="both in mask and in observed_mask"):
        quick(test_labels="partial").fit(graph, train).score(graph, test, test)
    with pytest.raises(ValueError, match="metric is 'auc'; expected one of accuracy"):
        model.score(graph, test, metric="auc")
    wide = graph.clone()
    wide.x = torch.ones(24, 9)
    with pytest.raises(ValueError, match="9 feature columns; expected 5"):
        model.predict(wide)
    unseen = graph.clone()
    unseen.y[-1] = 9
    with pytest.raises(ValueError, match="class 9, which no training label has"):
        model.evaluate(unseen, test)


def test_a_graph_without_edges_works(graph, train):
    graph.edge_index = torch.empty(2, 0, dtype=torch.long)
    for gnn in NAMES:
        assert quick(gnn=gnn, num_layers=2).fit(graph, train).predict(graph).shape == (24,)


def test_prediction_needs_no_labels(graph, train):
    model = quick(test_labels="partial").fit(graph, train)
    assert model.predict(Data(x=graph.x, edge_index=graph.edge_index)).shape == (24,)


SETTINGS = {**QUICK, "max_epochs": 80, "lr": 0.05, "dropout": 0.0, "num_iterations": 1}


class TestRegressor:
    @pytest.fixture
    def numbers(self, new_graph):
        graph = new_graph(num_nodes=80)
        graph.y = 100 + 20 * graph.x[:, 0] + 10 * graph.x[:, 1]
        return graph

    def test_it_learns_a_mean_and_a_deviation(self, numbers):
        model = CollectiveRegressor("sage", **SETTINGS, keep_best=False)
        model.fit(numbers, range(50), range(50, 60))
        values = model.evaluate(numbers, range(60, 80))
        assert values["r2"] > 0.5
        mean_std = model.predict_proba(numbers)
        assert torch.equal(mean_std[:, 0], model.predict(numbers))
        assert bool((mean_std[:, 1] > 0).all())
        assert torch.equal(model.uncertainty(numbers), mean_std[:, 1])
        assert float(model.spread(numbers).max()) > 0

    @pytest.mark.parametrize("test_labels", ["none", "partial"])
    def test_hidden_labels_never_reach_the_model(self, test_labels, numbers):
        changed = numbers.clone()
        changed.y = torch.where(torch.arange(80) < 50, numbers.y, numbers.y * -3)
        settings = {**SETTINGS, "test_labels": test_labels, "max_epochs": 3}
        a, b = (CollectiveRegressor(**settings).fit(g, range(40), range(40, 50)) for g in (numbers, changed))
        assert torch.equal(a.predict_proba(numbers), b.predict_proba(changed))

    def test_the_scale_of_the_labels_does_not_matter(self, numbers):
        settings = {**SETTINGS, "max_epochs": 10}
        scaled = numbers.clone()
        scaled.y = numbers.y * 1024 - 4096
        a = CollectiveRegressor(**settings).fit(numbers, range(50)).predict(numbers)
        b = CollectiveRegressor(**settings).fit(scaled, range(50)).predict(scaled)
        assert torch.allclose(b, a * 1024 - 4096, rtol=1e-3)

    def test_nan_is_unknown(self, numbers):
        numbers.y[20:] = torch.nan
        model = CollectiveRegressor(**SETTINGS).fit(numbers, range(80))
        assert bool(torch.isfinite(model.predict_proba(numbers)).all())


@pytest.mark.parametrize("keep_best", [True, False])
@pytest.mark.parametrize("variant", [{}, {"test_labels": "partial"}, {"num_iterations": 0}], ids=str)
def test_a_stage_is_the_prediction(variant, keep_best, graph, train, val, test):
    model = quick(keep_best=keep_best, **variant).fit(graph, train, val)
    observed = train if variant.get("test_labels") == "partial" else None
    stages = list(model.staged_predict_proba(graph, observed))
    assert len(stages) == model.num_iterations + 1
    assert torch.equal(stages[model.best_iteration_], model.predict_proba(graph, observed))
    assert all(torch.allclose(stage.sum(dim=1), torch.ones(24)) for stage in stages)


class TestTheIterationThatPredicts:
    @pytest.mark.parametrize(
        ("metric", "by_iteration", "best"),
        [
            ("accuracy", [0.5, 0.7, 0.6], 1),
            ("accuracy", [0.7, 0.5, 0.6], 0),
            ("accuracy", [0.7, 0.5, 0.7], 0),  # the earlier one of equals
            ("log_loss", [0.5, 0.7, 0.6], 0),
            ("accuracy", [None] * 3, 2),
            ("accuracy", [0.5, None, 0.4], 0),
        ],
    )
    def test_is_the_best_on_validation(self, metric, by_iteration, best, graph, train, val):
        model = quick(metric=metric).fit(graph, train, val)
        model.stage_scores_, model.stage_errors_ = by_iteration, ()
        assert model.best_iteration_ == best
        stages = list(model.staged_predict_proba(graph))
        assert torch.equal(model.predict_proba(graph), stages[best])
        model.keep_best = False
        assert model.best_iteration_ == 2
        assert torch.equal(model.predict_proba(graph), stages[2])

    @pytest.mark.parametrize(
        ("metric", "by_iteration", "errors", "caution", "best"),
        [
            ("accuracy", [0.5, 0.7, 0.6], [0.0, 0.1, 0.1], 1.0, 1),
            ("accuracy", [0.5, 0.7, 0.6], [0.0, 0.3, 0.01], 1.0, 0),  # it is the best one that must be sure
            ("accuracy", [0.5, 0.7, 0.6], [0.0, 0.3, 0.3], 0.5, 1),
            ("accuracy", [0.5, 0.7, 0.6], [0.0, 0.3, 0.3], 0, 1),
            ("log_loss", [0.5, 0.4, 0.6], [0.0, 0.2, 0.2], 1, 0),
            ("log_loss", [0.5, 0.2, 0.6], [0.0, 0.2, 0.2], 1, 1),
            ("accuracy", [None, 0.4, 0.5], [0.0, 0.0, 0.0], 1, 2),
        ],
    )
    def test_is_better_than_the_start_by_more_than_its_error(
        self, metric, by_iteration, errors, caution, best, graph, train, val, tmp_path
    ):
        model = quick(metric=metric, caution=caution).fit(graph, train, val)
        model.stage_scores_, model.stage_errors_ = by_iteration, errors
        assert model.best_iteration_ == best
        model.save(tmp_path / "model")
        loaded = CollectiveClassifier.load(tmp_path / "model")
        assert (loaded.best_iteration_, loaded.stage_errors_) == (best, errors)
        loaded.caution = 0
        assert loaded.best_iteration_ == int(np.nanargmin(by_iteration) if metric == "log_loss" else
                                             np.nanargmax(np.array(by_iteration, float)))  # fmt: skip

    def test_errors_are_those_of_the_predictions(self, new_graph):
        graph = new_graph(num_nodes=80)
        val = torch.arange(20, 80)
        model = quick(num_iterations=3).fit(graph, range(20), val)
        right = [p[val].argmax(dim=1) == graph.y[val] for p in model.staged_predict_proba(graph)]
        differences = [(one.double() - right[0].double()) for one in right]
        expected = [float(d.std() / len(val) ** 0.5) for d in differences]
        assert model.stage_errors_ == pytest.approx(expected, rel=0.4, abs=1e-9)
        assert model.stage_errors_[0] == 0

    def test_is_the_same_after_loading_with_a_metric_of_ones_own(self, graph, train, val, tmp_path):
        """It is not saved, and the default of a regressor is to be low."""
        graph.y = graph.x[:, 0]
        model = CollectiveRegressor(
            **SETTINGS, caution=0, metric=lambda y, p: -float(abs(y - p[:, 0]).mean())
        )
        model.fit(graph, train, val)
        model.stage_scores_ = [-1.0 - t % 2 for t in range(len(model.stage_scores_))][::-1]
        model.save(tmp_path / "model")
        assert CollectiveRegressor.load(tmp_path / "model").best_iteration_ == model.best_iteration_

    @pytest.mark.parametrize(
        "errors", [[None, None, None], "abc", [[0.1], 0.1, 0.1], [0.1], [0, -1, 0], {"0": 1}]
    )
    def test_errors_of_a_file_are_numbers(self, errors, graph, train, val, tmp_path):
        quick().fit(graph, train, val).save(tmp_path / "model")
        path = tmp_path / "model" / "model.json"
        content = json.loads(path.read_text())
        content["learned"]["stage_errors_"] = errors
        path.write_text(json.dumps(content))
        with pytest.raises(ValueError, match=r"stage_errors_|damaged"):
            CollectiveClassifier.load(tmp_path / "model")

    def test_a_metric_that_needs_all_nodes_just_has_to_be_better(self, graph, train, val):
        def of_all(y, p):
            if len(y) < 6:
                raise ValueError("some are missing")
            return float((p.argmax(axis=1) == y).mean())

        model = quick(metric=of_all).fit(graph, train, val)
        assert model.stage_errors_ == [0.0] * 3
        assert quick().fit(graph, train, [10]).stage_errors_ == [0.0] * 3

    def test_is_the_last_without_validation(self, graph, train):
        assert quick().fit(graph, train).best_iteration_ == 2

    def test_is_the_same_after_loading(self, graph, train, val, tmp_path):
        model = quick(num_iterations=4).fit(graph, train, val)
        model.stage_scores_, model.stage_errors_ = [0.1, 0.9, 0.3, 0.2, 0.1], [0.0] * 5
        model.save(tmp_path / "model")
        loaded = CollectiveClassifier.load(tmp_path / "model")
        assert loaded.best_iteration_ == 1
        assert torch.equal(loaded.predict_proba(graph), model.predict_proba(graph))

    def test_has_no_part_in_what_is_learned(self, graph, train, val):
        a, b = (quick(keep_best=keep).fit(graph, train, val) for keep in (True, False))
        assert torch.equal(weights(a), weights(b))


class TestUncertainty:
    """It means the same for every model: the probability that the predicted class is wrong."""

    @pytest.mark.parametrize("variant", [{}, {"num_iterations": 0}, {"labels": "soft"}], ids=str)
    def test_is_one_minus_the_confidence(self, variant, graph, train, val):
        model = quick(**variant).fit(graph, train, val)
        confidence = model.predict_proba(graph).amax(dim=1)
        assert torch.equal(model.uncertainty(graph), 1 - confidence)
        assert float(model.uncertainty(graph).min()) > 0

    def test_the_spread_is_that_of_the_draws(self, graph, train):
        """Over the samples of the iteration that predicts; NaN where it draws nothing."""
        model = quick(num_samples=8).fit(graph, train)
        assert bool((model.spread(graph) > 0).any())
        assert bool((model.spread(graph) < 0.5).all())
        for nothing in ({"num_iterations": 0}, {"labels": "soft"}):
            assert bool(quick(**nothing).fit(graph, train).spread(graph).isnan().all())

    def test_the_spread_is_not_a_number_where_iteration_0_predicts(self, graph, train, val):
        model = quick().fit(graph, train, val)
        model.stage_scores_, model.stage_errors_ = [0.9, 0.1, 0.1], [0.0] * 3
        assert model.best_iteration_ == 0
        assert bool(model.spread(graph).isnan().all())


def test_numbers_of_numpy_are_parameters_too(graph, train, val, tmp_path):
    model = quick(num_samples=np.int64(3), max_epochs=np.int32(2), lr=np.float32(0.01), seed=np.int64(1))
    again = quick(num_samples=3, max_epochs=2, lr=float(np.float32(0.01)), seed=1)
    expected = again.fit(graph, train, val).predict_proba(graph)
    assert torch.equal(model.fit(graph, train, val).predict_proba(graph), expected)
    model.save(tmp_path / "m")
    assert torch.equal(CollectiveClassifier.load(tmp_path / "m").predict_proba(graph), expected)


@pytest.mark.parametrize("kind", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.bool])
def test_labels_of_any_integer_type_are_hidden_alike(kind, graph, train, val):
    """An unknown label is -1 also where the type has no -1: hidden nodes are not trained on."""
    graph.y = graph.y.clamp(max=1)
    expected = quick().fit(graph, train, val)
    other = graph.clone()
    other.y = graph.y.to(kind)
    found = quick().fit(other, train, val)
    assert torch.equal(weights(found), weights(expected))
    changed = other.clone()
    changed.y = torch.where(train | val, other.y, (1 - other.y.long()).to(kind))
    assert torch.equal(weights(quick().fit(changed, train, val)), weights(expected))


def test_a_single_observed_label_is_shown(graph, train, test):
    model = quick(test_labels="partial", num_samples=8, keep_best=False).fit(graph, train)
    assert not torch.equal(model.predict_proba(graph, [20]), model.predict_proba(graph))


@pytest.mark.parametrize("gnn", [*NAMES, lambda i, o: GATConv(i, o)])
def test_autocast_to_bfloat16_works(gnn, graph, train, val):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model = quick(gnn=gnn, num_layers=2).fit(graph, train, val)
        proba = model.predict_proba(graph)
    assert proba.dtype == torch.float32
    assert torch.allclose(proba.sum(dim=1), torch.ones(24), atol=1e-2)


@pytest.mark.parametrize(
    "gnn",
    [
        *("gcn", "sage", "tk", "gin", GATConv, SAGEConv, GCNConv, TransformerConv),
        lambda i, o: GINConv(torch.nn.Linear(i, o)),
        lambda i, o: GAT(i, 6, num_layers=2, out_channels=o),
    ],
)
def test_bfloat16_is_close_to_float32_and_the_same_for_a_seed(gnn, graph, train, val, tmp_path):
    settings = {"gnn": gnn, "num_layers": 2, "dropout": 0.0, "num_iterations": 1, "calibrate": False}
    exact, rough, again = (
        quick(**settings, precision=precision).fit(graph, train, val)
        for precision in ("float32", "bfloat16", "bfloat16")
    )
    proba = rough.predict_proba(graph)
    assert proba.dtype == torch.float32
    assert torch.equal(proba, again.predict_proba(graph))
    assert not torch.equal(proba, exact.predict_proba(graph))
    assert torch.allclose(proba, exact.predict_proba(graph), atol=0.05)
    assert all(p.dtype == torch.float32 for p in rough.components_[0].parameters())
    if gnn == "gcn":
        rough.save(tmp_path / "model")
        loaded = CollectiveClassifier.load(tmp_path / "model")
        assert loaded.precision == "bfloat16"
        assert torch.equal(loaded.predict_proba(graph), proba)


def test_adapt_goes_on_from_the_weights_of_each_iteration(graph, train, val):
    """With a learning rate of nearly nothing, each iteration stays what it was."""
    model = quick(test_labels="partial", lr=0.05, max_epochs=20, iteration_epochs=20).fit(graph, train, val)
    before = [weights_of(component) for component in model.components_]
    assert not torch.allclose(before[1], before[2])
    model.set_params(lr=1e-12, weight_decay=0.0).adapt(graph, train)
    for old, component in zip(before, model.components_, strict=True):
        assert torch.allclose(old, weights_of(component), atol=1e-6)


def weights_of(component):
    return torch.cat([p.detach().flatten() for p in component.parameters()])
