"""What every rival must do, by name."""

import json

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch_geometric.data import Data

from clgnn import CollectiveClassifier, baselines
from clgnn.estimators.metrics import CLASSIFICATION


def hide(data, *masks):
    """The same graph, with another label wherever no mask allows to look."""
    seen = torch.stack(masks).any(dim=0)
    return Data(x=data.x, edge_index=data.edge_index, y=torch.where(seen, data.y, 10 - data.y))


def test_no_label_outside_of_the_masks_is_seen(make, graph, split):
    masks = {"observed_mask": split.observed_mask}
    model = make().fit(graph, split.train_mask, split.val_mask, **masks)
    other = hide(graph, split.train_mask, split.val_mask, split.observed_mask)
    again = make().fit(other, split.train_mask, split.val_mask, **masks)
    expected = model.predict_proba(graph, **masks)
    assert torch.equal(again.predict_proba(graph, **masks), expected)
    assert torch.equal(model.predict_proba(hide(graph, split.observed_mask), **masks), expected)


def test_no_label_is_used_without_a_mask(make, graph, split):
    """Predicting on the training graph doesn't use the training labels, unless they are given."""
    model = make().fit(graph, split.train_mask, split.val_mask)
    nobody = torch.zeros_like(split.train_mask)
    assert torch.equal(model.predict_proba(hide(graph, nobody)), model.predict_proba(graph))
    assert torch.equal(model.predict_proba(graph, observed_mask=nobody), model.predict_proba(graph))


def test_the_same_seed_gives_the_same_result_and_leaves_the_global_state_alone(make, graph, split):
    def run():
        model = make(seed=3).fit(graph, split.train_mask, split.val_mask)
        return model.predict_proba(graph, split.observed_mask)

    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    state, array_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = run()
    assert torch.equal(torch.get_rng_state(), state)
    assert (np.random.get_state()[1] == array_state).all()  # noqa: NPY002
    torch.manual_seed(2)
    assert torch.equal(run(), first)


def test_several_graphs_are_as_one_without_edges_in_between(make, graph, split):
    train, val, observed = split.train_mask, split.val_mask, split.observed_mask
    model = make().fit([graph, graph], [train, observed], [val, val])
    first, second = model.predict_proba([graph, graph], [observed, torch.zeros_like(observed)])
    assert first.shape == second.shape == (graph.num_nodes, 2)
    labels = model.predict([graph, graph])
    assert [len(part) for part in labels] == [graph.num_nodes] * 2
    assert torch.equal(labels[1], model.classes_[second.argmax(dim=1)]) or model.test_labels == "partial"
    nobody = torch.zeros_like(observed)
    right = (model.predict([graph, graph], [observed, nobody])[0] == graph.y)[split.test_mask]
    score = model.score([graph, graph], [split.test_mask, nobody], [observed, nobody])
    assert score == pytest.approx(right.float().mean().item())


def test_masks_of_the_graph_are_the_default(make, graph, split):
    own = graph.clone()
    own.train_mask, own.val_mask = split.train_mask, split.val_mask
    given = make().fit(graph, split.train_mask, split.val_mask)
    assert torch.equal(make().fit(own).predict_proba(graph), given.predict_proba(graph))


def test_probabilities_and_classes(make, graph, split):
    model = make().fit(graph, split.train_mask, split.val_mask)
    probabilities = model.predict_proba(graph, split.observed_mask)
    assert probabilities.shape == (graph.num_nodes, 2)
    assert probabilities.dtype == torch.float32
    assert bool((probabilities >= 0).all())
    assert torch.allclose(probabilities.sum(dim=1), torch.ones(graph.num_nodes), atol=1e-5)
    assert model.classes_.tolist() == [3, 7]
    predicted = model.predict(graph, split.observed_mask)
    assert torch.equal(predicted, model.classes_[probabilities.argmax(dim=1)])
    values = model.evaluate(graph, split.test_mask, split.observed_mask)
    assert set(values) == set(CLASSIFICATION)
    right = (predicted == graph.y)[split.test_mask].float().mean().item()
    assert model.score(graph, split.test_mask, split.observed_mask) == pytest.approx(right)


def test_uncertainty_is_the_probability_to_be_wrong(make, graph, split):
    model = make().fit(graph, split.train_mask, split.val_mask)
    confidence = model.predict_proba(graph, split.observed_mask).amax(dim=1)
    assert torch.allclose(model.uncertainty(graph, split.observed_mask), 1 - confidence, atol=1e-6)


def test_all_labels_boosted_begin_with_the_weights_of_the_plain_gnn_on_all_labels(graph, split):
    settings = {"max_epochs": 6, "iteration_epochs": 2, "num_iterations": 1, "num_samples": 2, "seed": 5}
    plain, boosted = (
        baselines.make(name, **settings).fit(
            graph, split.train_mask, split.val_mask, observed_mask=split.observed_mask
        )
        for name in ("gnn_all_labels", "cl_all_labels")
    )
    weights = [list(model.components_[0].parameters()) for model in (plain, boosted)]
    assert all(torch.equal(a, b) for a, b in zip(*weights, strict=True))


def test_saved_and_loaded_it_says_the_same(make, graph, split, tmp_path):
    model = make().fit(graph, split.train_mask, split.val_mask)
    model.save(tmp_path / "model", extra={"note": 1})
    files = {path.suffix for path in (tmp_path / "model").rglob("*") if path.is_file()}
    assert files <= {".json", ".safetensors"}
    again = baselines.load(tmp_path / "model")
    assert type(again) is type(model)
    observed = split.observed_mask
    assert torch.equal(again.predict_proba(graph, observed), model.predict_proba(graph, observed))
    assert again.classes_.tolist() == [3, 7]
    assert len(again.history_) == len(model.history_)
    assert json.loads((tmp_path / "model" / "model.json").read_text())["extra"] == {"note": 1}
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "model")
    again.save(tmp_path / "model", force=True)


def test_it_is_a_scikit_learn_estimator(make, graph, split):
    model = make(seed=5)
    parameters = model.get_params()
    copy = clone(model)
    assert copy.get_params().keys() == parameters.keys()
    assert copy.set_params(seed=6).seed == 6
    assert parameters["seed"] == model.seed == 5
    with pytest.raises(NotFittedError):
        model.predict_proba(graph)
    assert model.fit(graph, split.train_mask) is model


def test_it_works_without_validation_on_sparse_features_and_without_edges(make, graph, split):
    alone = Data(x=graph.x.to_sparse_csr(), edge_index=torch.empty(2, 0, dtype=torch.long), y=graph.y)
    model = make().fit(alone, split.train_mask)
    assert bool(model.predict_proba(alone, split.observed_mask).isfinite().all())
    assert bool(model.predict_proba(graph, torch.ones_like(split.train_mask)).isfinite().all())


def test_edge_weights_are_taken(make, method, graph, split):
    """An edge without weight is no edge; where edges count, weights that differ are seen."""
    count = graph.edge_index.size(1)
    far = torch.randint(graph.num_nodes, (2, 300), generator=torch.Generator().manual_seed(0))
    more = torch.cat([graph.edge_index, far], dim=1)
    weight = torch.cat([torch.ones(count), torch.zeros(300)])
    plain = Data(x=graph.x, edge_index=graph.edge_index, y=graph.y, edge_weight=torch.ones(count))
    weighted = Data(x=graph.x, edge_index=more, y=graph.y, edge_weight=weight)
    model = make().fit(plain, split.train_mask, split.val_mask)
    expected = model.predict_proba(plain, split.observed_mask)
    assert torch.allclose(model.predict_proba(weighted, split.observed_mask), expected, atol=1e-5)
    weighted.edge_weight = torch.cat([torch.ones(count), torch.full((300,), 100.0)])
    other = model.predict_proba(weighted, split.observed_mask)
    blind = ("random", "majority", "logistic_regression", "hist_gradient_boosting")
    assert torch.allclose(other, expected, atol=1e-5) == (method in blind)


def test_unlabelled_test_graphs(make, graph, split):
    model = make(test_labels="none").fit(graph, split.train_mask, split.val_mask)
    assert model.predict_proba(graph).shape == (graph.num_nodes, 2)


def test_a_wrong_graph_or_mask_is_refused(make, graph, split):
    with pytest.raises(ValueError, match="none of the 0 nodes of train_mask has a label"):
        make().fit(graph, torch.zeros_like(split.train_mask))
    with pytest.raises(ValueError, match="both in train_mask and in val_mask"):
        make().fit(graph, split.train_mask, split.train_mask)
    with pytest.raises(ValueError, match="metric is 'luck'"):
        make(metric="luck").fit(graph, split.train_mask)
    model = make().fit(graph, split.train_mask)
    with pytest.raises(ValueError, match="expected 2"):
        model.predict(Data(x=torch.ones(3, 5), edge_index=graph.edge_index[:, :0]))
    with pytest.raises(ValueError, match="both in mask and in observed_mask"):
        model.evaluate(graph, split.train_mask, split.train_mask)


def test_make_takes_the_settings_that_a_method_has():
    for name in baselines.METHODS:
        model = baselines.make(name, gnn="sage", lr=0.3, metric="brier", seed=4, labels="sampled", alpha=0.5)
        parameters = model.get_params()
        assert parameters["seed"] == 4
        assert parameters["metric"] == "brier"
        for key in {"gnn", "lr", "alpha"} & set(parameters) - model.fixed:
            assert parameters[key] in ("sage", 0.3, 0.5)
    assert baselines.make("rcc", labels="sampled").labels == "soft"
    assert baselines.make("gnn_all_labels", num_iterations=5).num_iterations == 0
    base = baselines.make("correct_and_smooth", gnn="gin", num_iterations=3).base
    assert (base.gnn, base.num_iterations) == ("gin", 0)
    base = baselines.make("spn", gnn="gin", num_iterations=3, start="auto").base
    assert (base.gnn, base.num_iterations, base.start) == ("gin", 0, "plain")
    with pytest.raises(ValueError, match="method is 'luck'; expected one of random, majority, ica"):
        baselines.make("luck")
    with pytest.raises(ValueError, match="no method has a setting 'luck'"):
        baselines.make("ica", luck=7)


def test_the_settings_of_collective_learning_suit_every_method(method, graph, split):
    """All of them, as the command line has them."""
    settings = {**CollectiveClassifier().get_params(), "num_iterations": 1, "max_epochs": 2, "num_samples": 2}
    model = baselines.make(method, **settings).fit(graph, split.train_mask, split.val_mask)
    assert model.predict_proba(graph).shape == (graph.num_nodes, 2)


@pytest.mark.parametrize("name", ["label_reuse", "rcc", "rni", "hopf", "relational_pooling"])
def test_what_feeds_labels_back_is_not_the_plain_gnn(name, graph, split):
    with pytest.raises(ValueError, match="num_iterations is 0; expected 1 or more"):
        baselines.make(name, num_iterations=0).fit(graph, split.train_mask)


def test_labels_are_not_shown_to_a_model_for_graphs_without(graph, split):
    model = baselines.ICA(test_labels="none").fit(graph, split.train_mask)
    with pytest.raises(ValueError, match="fit it with test_labels='partial'"):
        model.predict(graph, split.observed_mask)


def test_a_damaged_or_other_folder_is_refused(graph, split, tmp_path):
    model = baselines.ICA(C=1.0).fit(graph, split.train_mask)
    model.save(tmp_path / "ica")
    with pytest.raises(ValueError, match="is a ICA; expected a PLEM"):
        baselines.PLEM.load(tmp_path / "ica")
    next((tmp_path / "ica").glob("*.safetensors")).write_bytes(b"no")
    with pytest.raises(ValueError, match="is damaged"):
        baselines.load(tmp_path / "ica")
    CollectiveClassifier(max_epochs=1, num_iterations=0).fit(graph, range(80)).save(tmp_path / "cl")
    with pytest.raises(ValueError, match="is a CollectiveClassifier; expected a ICA"):
        baselines.ICA.load(tmp_path / "cl")
    assert type(baselines.load(tmp_path / "cl")) is CollectiveClassifier
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="and no model"):
        model.save(tmp_path / "mine", force=True)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (baselines.ICA(aggregator="sum"), "aggregator is 'sum'; expected one of None, proportion"),
        (baselines.ICA(C=0), "C is 0; expected None or a number above 0"),
        (baselines.PLEM(likelihood="poisson"), "likelihood is 'poisson'"),
        (baselines.PLEM(class_rate="yes"), "class_rate is 'yes'"),
        (baselines.GMNN(draw="all"), "draw is 'all'"),
        (baselines.GMNN(lr=-1), "lr is -1; expected a number above 0"),
        (baselines.LabelPropagation(alpha=2), "alpha is 2; expected None or a number from 0 to 1"),
        (baselines.LabelPropagation(num_steps=None), "num_steps is None"),
        (baselines.CorrectAndSmooth(base="gcn"), "base is a str; expected a classifier of nodes, or None"),
        (baselines.Random(test_labels="all"), "test_labels is 'all'"),
        (baselines.RelationalPooling(num_identifiers=1), "num_identifiers is 1; expected an integer, 2 or"),
        (baselines.DeepCollectiveInference(max_neighbors=0), "max_neighbors is 0; expected an integer, 1 or"),
        (baselines.DeepCollectiveInference(balance="yes"), "balance is 'yes'; expected one of True, False"),
        (baselines.ResidualPropagation(alpha=1), "alpha is 1; expected None or a number from -0.999 to"),
        (
            baselines.ResidualPropagation(base="gcn"),
            "base is a str; expected an estimator of nodes such as C",
        ),
        (baselines.SPN(edge_strength=-1), "edge_strength is -1; expected None or a number, 0 or more"),
        (baselines.SPN(base=baselines.ICA()), "expected a CollectiveClassifier with num_iterations=0"),
    ],
)
def test_wrong_parameters_are_refused(graph, split, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(graph, split.train_mask)
