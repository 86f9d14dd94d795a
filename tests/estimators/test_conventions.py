"""What users of PyG, NumPy and torch expect: masks of the graph itself, numbers of NumPy, compiled modules."""

import shutil

import numpy as np
import pytest
import torch
from torch_geometric import transforms
from torch_geometric.nn import GCN

from clgnn import CollectiveClassifier, CollectiveRegressor

QUICK = {"num_samples": 3, "num_iterations": 2, "max_epochs": 6, "iteration_epochs": 5, "hidden_channels": 8}


def quick(**changes):
    return CollectiveClassifier(**{**QUICK, **changes})


def weights(model):
    return torch.cat([p.detach().flatten() for c in model.components_ for p in c.parameters()])


class TestMasksOfTheGraph:
    def test_they_are_the_default(self, graph, train, val):
        explicit = quick().fit(graph, train, val)
        graph.train_mask, graph.val_mask = train, val
        assert torch.equal(weights(quick().fit(graph)), weights(explicit))
        assert quick().fit(graph).best_score_ == explicit.best_score_

    def test_a_train_mask_alone_means_no_validation(self, graph, train, val):
        graph.train_mask, graph.val_mask = train, val
        assert quick().fit(graph, train).best_score_ is None

    def test_a_val_mask_can_be_given_alone(self, graph, train, val, test):
        graph.train_mask, graph.val_mask = train, val
        assert torch.equal(
            weights(quick().fit(graph, val_mask=test)), weights(quick().fit(graph, train, test))
        )

    def test_of_several_graphs(self, new_graph):
        graphs = [new_graph(seed=seed) for seed in range(2)]
        masks = [torch.arange(24) < 10, torch.arange(24) < 5]
        explicit = quick().fit(graphs, masks)
        for one, mask in zip(graphs, masks, strict=True):
            one.train_mask = mask
        assert torch.equal(weights(quick().fit(graphs)), weights(explicit))

    def test_none_or_many_are_refused(self, graph, train):
        with pytest.raises(ValueError, match="no train_mask is given, and the graph has none of its own"):
            quick().fit(graph)
        graph.train_mask = torch.stack([train, train], dim=1)
        with pytest.raises(ValueError, match=r"the graph has 2 splits.*data.train_mask\[:, 0\]"):
            quick().fit(graph)


class TestRefit:
    def test_it_is_a_fit_on_all_labels_with_the_chosen_epochs(self, graph, train, val):
        first = quick(seed=3).fit(graph, train, val)
        again = quick(seed=3).fit(graph, train, val, refit=True)
        t = first.best_iteration_
        assert again.best_iteration_ == t
        assert len(again.components_) == t + 1
        assert again.calibration_ == first.calibration_
        assert again.best_score_ == first.best_score_
        assert not torch.equal(weights(again), weights(first)[: len(weights(again))])

    @pytest.mark.parametrize(
        "variant", [{}, {"start": "paper"}, {"test_labels": "partial"}, {"num_iterations": 0}], ids=str
    )
    def test_the_number_of_epochs_is_that_of_the_weights_that_were_kept(
        self, variant, graph, train, val, monkeypatch
    ):
        """With the labels of validation left out of it, the second fit gives the weights of the first."""
        from clgnn.estimators import recursion

        kept = []

        def without_validation(model, whole, y, chosen, masks):
            y = torch.where(train, y, -1)
            kept.append(weights(model))
            recursion_fit_again(model, whole, y, chosen, masks)

        recursion_fit_again = recursion.fit_again
        monkeypatch.setattr(recursion, "fit_again", without_validation)
        model = quick(**variant, eval_every=2, keep_best=False, metric="log_loss", lr=0.2)
        model.fit(graph, train, val, refit=True)
        assert torch.equal(kept[0], weights(model))

    @pytest.mark.parametrize("test_labels", ["none", "partial"])
    def test_hidden_labels_stay_hidden(self, test_labels, graph, train, val):
        changed = graph.clone()
        changed.y = torch.where(train | val, graph.y, (graph.y + 1) % 3)
        models = [quick(test_labels=test_labels).fit(g, train, val, refit=True) for g in (graph, changed)]
        assert torch.equal(*(weights(model) for model in models))

    def test_labels_of_validation_are_learned(self, graph, train, val):
        """One epoch each: nothing is left to choose, so other labels there can only count as targets."""
        changed = graph.clone()
        changed.y = torch.where(val, (graph.y + 1) % 3, graph.y)
        once = {"max_epochs": 1, "iteration_epochs": 1, "keep_best": False}
        models = [quick(**once).fit(g, train, val, refit=True) for g in (graph, changed)]
        assert not torch.equal(*(weights(model) for model in models))

    def test_it_can_be_saved_and_read(self, graph, train, val, tmp_path):
        model = quick().fit(graph, train, val, refit=True)
        model.save(tmp_path / "model")
        read = CollectiveClassifier.load(tmp_path / "model")
        assert torch.equal(read.predict_proba(graph), model.predict_proba(graph))
        assert torch.equal(model.as_module().eval()(graph.x, graph.edge_index), model.predict_proba(graph))

    def test_numbers(self, graph, train, val):
        graph.y = graph.x[:, 0].double()
        model = CollectiveRegressor(**QUICK).fit(graph, train, val, refit=True)
        assert model.predict(graph).isfinite().all()

    def test_what_it_needs(self, graph, train, val, tmp_path):
        with pytest.raises(ValueError, match="refit is True and there is no val_mask"):
            quick().fit(graph, train, refit=True)
        with pytest.raises(ValueError, match="refit is True and a checkpoint is given"):
            quick().fit(graph, train, val, refit=True, checkpoint=tmp_path / "c")
        with pytest.raises(
            ValueError, match="refit is True and start is 'label_propagation', which needs validation"
        ):
            quick(start="label_propagation").fit(graph, train, val, refit=True, on_epoch=pytest.fail)


def test_numbers_of_numpy_are_taken_as_they_are_of_python(graph, train):
    given = {name: np.int64(value) for name, value in QUICK.items()}
    given |= {"lr": np.float32(0.01), "dropout": np.float64(0.5), "seed": np.uint8(0), "keep_best": np.True_}
    expected = quick(lr=float(np.float32(0.01))).fit(graph, train)
    assert torch.equal(weights(CollectiveClassifier(**given).fit(graph, train)), weights(expected))


@pytest.mark.parametrize("kind", [torch.int32, torch.int16])
def test_edges_of_any_integer_type(kind, graph, train):
    expected = quick().fit(graph, train).predict_proba(graph)
    graph.edge_index = graph.edge_index.to(kind)
    assert torch.equal(quick().fit(graph, train).predict_proba(graph), expected)


@pytest.mark.slow  # torch.compile takes its time to be imported, and more to compile
@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler")
@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.filterwarnings("ignore")  # of torch.compile itself
def test_a_compiled_module_is_as_good(backend, graph, train, tmp_path):
    """With the weights of the graph's edges, which it takes too."""
    graph.edge_weight = torch.rand(graph.num_edges)

    def plain(i, o):
        return GCN(i, 8, 2, o)

    def compiled(i, o):
        return torch.compile(plain(i, o), backend=backend)

    once = {"num_iterations": 1, "max_epochs": 1, "iteration_epochs": 1, "keep_best": False}
    expected, found = (quick(gnn=gnn, **once).fit(graph, train) for gnn in (plain, compiled))
    torch.testing.assert_close(
        found.predict_proba(graph), expected.predict_proba(graph), rtol=1e-3, atol=1e-4
    )
    found.save(tmp_path / "model")
    read = CollectiveClassifier.load(tmp_path / "model", gnn=compiled)
    assert torch.equal(read.predict_proba(graph), found.predict_proba(graph))


@pytest.mark.parametrize(
    "transform",
    [
        transforms.NormalizeFeatures(),
        transforms.ToUndirected(),
        transforms.AddLaplacianEigenvectorPE(2, attr_name=None),
    ],
    ids=lambda t: type(t).__name__,
)
def test_transforms_of_pyg_go_before_the_fit(transform, graph, train):
    graph.x = graph.x.abs()
    torch.manual_seed(0)
    changed = transform(graph)
    assert quick().fit(changed, train).n_features_in_ == changed.x.size(1)
