"""What is inside a fitted model: embed, explain and as_module, on small graphs with known answers."""

import copy
import importlib.util
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.explain import AttentionExplainer, DummyExplainer, GNNExplainer
from torch_geometric.nn import GAT, MessagePassing, RGCNConv
from torch_geometric.utils import to_undirected

from clgnn import CollectiveClassifier, CollectiveRegressor
from clgnn.data.graph import as_graph
from clgnn.engine.propagation import propagation
from clgnn.estimators.explanation import KINDS, Explained, Gather, Operator
from clgnn.estimators.inside import affine_layers, readout
from clgnn.nn import NAMES

QUICK = {"num_samples": 3, "num_iterations": 2, "max_epochs": 4, "hidden_channels": 8, "keep_best": False}


def gat(in_channels, out_channels):
    return GAT(in_channels, 8, 2, out_channels, norm="batch_norm")


class Typed(MessagePassing):
    """Sends a message of its own for each type of edges."""

    def __init__(self, channels, out):
        super().__init__(aggr="sum")
        self.weight = nn.Parameter(torch.randn(2, channels, out) / 4)

    def forward(self, x, edge_index, edge_type):
        return self.propagate(edge_index, x=x, edge_type=edge_type)

    def message(self, x_j, edge_type):
        return torch.bmm(x_j.unsqueeze(1), self.weight[edge_type]).squeeze(1)


def quick(**changes):
    return CollectiveClassifier(**{**QUICK, **changes})


GNNS = [*(name for name in NAMES if name != "tk"), gat]
VARIANTS = [
    {"num_iterations": 0},
    {"num_iterations": 2},
    {"start": "paper"},
    {"labels": "soft", "num_iterations": 1},
    {"test_labels": "partial"},
    {"test_labels": "partial", "num_masks": 2},
    {"test_labels": "partial", "inference_masks": "all"},
]


def seen(variant, train):
    return train if variant.get("test_labels") == "partial" else None


class TestEmbed:
    @pytest.mark.parametrize("gnn", GNNS)
    @pytest.mark.parametrize("variant", [VARIANTS[0], VARIANTS[1], VARIANTS[5]], ids=str)
    def test_a_linear_read_out_is_the_prediction(self, gnn, variant, graph, train, val):
        model = quick(gnn=gnn, **variant).fit(graph, train, val)
        z = model.embed(graph, seen(variant, train))
        weight, bias = readout(model.components_[-1])
        found = model.labelling_.decode(z @ weight.t() + bias, model.calibration_)
        expected = model.predict_proba(graph, seen(variant, train))
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)

    def test_the_iteration_that_predicts_is_shown(self, graph, train, val):
        model = quick(keep_best=True).fit(graph, train, val)
        for best in range(3):
            model.stage_scores_ = [float(t == best) for t in range(3)]
            weight, bias = readout(model.components_[best])
            found = model.labelling_.decode(model.embed(graph) @ weight.t() + bias, model.calibration_)
            torch.testing.assert_close(found, model.predict_proba(graph), rtol=1e-4, atol=1e-5)

    def test_same_bits_and_the_model_is_as_it_was(self, graph, train):
        model = quick().fit(graph, train)
        before = model.predict_proba(graph)
        assert torch.equal(model.embed(graph), model.embed(graph))
        assert torch.equal(model.embed(graph), quick().fit(graph, train).embed(graph))
        assert torch.equal(model.predict_proba(graph), before)

    def test_several_graphs_give_several_tensors(self, graph, new_graph, train):
        other = new_graph(num_nodes=30, seed=1)
        first, second = quick().fit(graph, train).embed([graph, other])
        assert (first.shape, second.shape) == ((24, 8), (30, 8))

    def test_numbers(self, graph, train):
        graph.y = graph.x[:, 0].double()
        model = CollectiveRegressor(**QUICK).fit(graph, train)
        weight, bias = readout(model.components_[-1])
        outputs = model.embed(graph) @ weight.t() + bias
        found = model.labelling_.decode(outputs, model.calibration_)
        torch.testing.assert_close(found.float(), model.predict_proba(graph), rtol=1e-4, atol=1e-5)

    def test_labels_are_refused_as_in_a_prediction(self, graph, train):
        with pytest.raises(ValueError, match="test_labels='none'"):
            quick().fit(graph, train).embed(graph, observed_mask=train)

    def test_hidden_labels_stay_hidden(self, graph, train):
        changed = graph.clone()
        changed.y = torch.where(train, graph.y, (graph.y + 1) % 3)
        model = quick(test_labels="partial").fit(graph, train)
        assert torch.equal(model.embed(graph, train), model.embed(changed, train))

    def test_a_start_that_is_no_gnn_has_nothing_to_show(self, graph, train):
        model = quick(start="label_propagation", num_iterations=0).fit(graph, train)
        with pytest.raises(ValueError, match="LabelPropagation"):
            model.embed(graph)

    def test_a_gnn_whose_last_layer_is_not_known_is_refused(self):
        with pytest.raises(ValueError, match="it is not known which layer of Linear"):
            affine_layers(nn.Linear(2, 2))


def chains(count=60, seed=0):
    """t - u - w: t has the label of u; w has any label. Features say nothing."""
    first = 3 * torch.arange(count)
    pairs = torch.cat([torch.stack([first, first + 1]), torch.stack([first + 1, first + 2])], dim=1)
    y = torch.randint(2, (3 * count,), generator=torch.Generator().manual_seed(seed))
    y[first] = y[first + 1]
    return Data(x=torch.ones(3 * count, 1), edge_index=to_undirected(pairs), y=y)


class Marked(MessagePassing):
    """Sums up the labels of the neighbours that are marked by their first feature, and of no others."""

    def __init__(self, in_channels, out_channels):
        super().__init__(aggr="add")
        self.inside = nn.Linear(in_channels - 2, out_channels)

    def forward(self, x, edge_index):
        return self.inside(self.propagate(edge_index, x=x[:, :1] * x[:, 2:]))


class TestExplain:
    @pytest.mark.parametrize("gnn", GNNS)
    @pytest.mark.parametrize("variant", VARIANTS, ids=str)
    def test_what_is_explained_is_what_predicts(self, gnn, variant, graph, train):
        model = quick(gnn=gnn, **variant).fit(graph, train)
        whole, y = model._seen(graph, seen(variant, train))
        step = model._last_step(whole, y)
        inner = Explained(step.component, whole, torch.cat(step.inputs, dim=1))
        outputs = inner(torch.cat([graph.x, torch.ones(24, 1)], dim=1), inner.edge_index)
        expected = model.predict_proba(graph, seen(variant, train))
        torch.testing.assert_close(outputs.softmax(dim=1), expected, rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("kind", KINDS)
    def test_messages_are_the_operator(self, kind, graph):
        loops = torch.tensor([[0, 0, 3], [0, 0, 3]])
        graph.edge_index = torch.cat([graph.edge_index, loops], dim=1)
        graph.edge_weight = torch.rand(graph.num_edges)
        whole = as_graph(graph)
        expected = propagation(whole.edge_index, 24, whole.edge_weight, kind) @ torch.eye(24)
        inner = whole.edge_index[:, whole.edge_index[0] != whole.edge_index[1]]
        torch.testing.assert_close(Operator(Gather(), inner, whole, kind) @ torch.eye(24), expected)

    @pytest.mark.parametrize("gnn", ["gcn", "sage", "snowball"])
    def test_the_label_that_decides_is_first(self, gnn):
        data = chains()
        number = torch.arange(180)
        model = CollectiveClassifier(
            gnn, test_labels="partial", inference_masks="all", num_iterations=1, num_samples=4, num_layers=2,
            max_epochs=100, iteration_epochs=150, lr=0.05, dropout=0.0, keep_best=False,
        ).fit(data, number < 150)  # fmt: skip
        observed = (number < 150) | (number % 3 != 0)
        node = 153
        assert model.predict(data, observed)[node] == data.y[node]
        found = model.explain(data, node, observed)
        first = found.labels.iloc[0]
        assert (first.node, first.label, first.observed) == (154, int(data.y[154]), True)
        assert first[f"p({int(data.y[154])})"] == 1
        own = found.labels.set_index("node").loc[node]
        assert not own.observed
        assert set(found.edges.iloc[0][["source", "target"]]) == {154, 153}
        assert set(found.labels.node) <= {153, 154, 155}
        assert (found.node, found.prediction, found.iteration) == (node, int(data.y[node]), 1)

    def test_only_the_label_of_the_marked_neighbour_has_a_row(self):
        """A star: the middle has five neighbours with labels, and one of them is marked."""
        stars, size = 30, 6
        middle = size * torch.arange(stars)
        marked = middle + 1 + torch.arange(stars) % 5
        leaves = (middle.unsqueeze(1) + torch.arange(1, size)).flatten()
        x = torch.zeros(stars * size, 2).index_fill_(0, marked, 1.0)
        y = torch.randint(2, (stars * size,), generator=torch.Generator().manual_seed(0))
        y[middle] = y[marked]
        data = Data(x=x, edge_index=torch.stack([leaves, middle.repeat_interleave(5)]), y=y)
        model = CollectiveClassifier(
            Marked, test_labels="partial", inference_masks="all", num_iterations=1, num_samples=2, lr=0.1,
            max_epochs=100, keep_best=False, start="paper",
        ).fit(data, range(len(x)))  # fmt: skip
        everybody_else = torch.ones(len(x), dtype=torch.bool).index_fill_(0, middle, False)
        for star in (0, 7):
            found = model.explain(data, int(middle[star]), everybody_else)
            assert found.labels.node.tolist() == [int(marked[star])]
            assert found.edges.iloc[0].source == int(marked[star])
            assert found.prediction == int(y[marked[star]])

    def test_the_feature_that_decides_is_first(self):
        generator = torch.Generator().manual_seed(1)
        x = torch.randn(80, 6, generator=generator)
        x[:, 2] = x[:, 2].sign() * 2
        data = Data(x=x, edge_index=torch.randint(80, (2, 160), generator=generator), y=(x[:, 2] > 0).long())
        model = CollectiveClassifier("sage", num_iterations=0, max_epochs=200).fit(data, range(60))
        assert [model.explain(data, node).features.column[0] for node in (70, 75, 79)] == [2, 2, 2]

    def test_the_plain_gnn_sees_no_labels(self, graph, train):
        found = quick(num_iterations=0).fit(graph, train).explain(graph, 20)
        assert found.labels.empty
        assert found.iteration == 0
        assert len(found.features) == 5

    def test_same_numbers_and_the_model_is_as_it_was(self, graph, train):
        model = quick(gnn=gat).fit(graph, train)
        before, state = model.predict_proba(graph), torch.random.get_rng_state()
        first, second = (model.explain(graph, 20, algorithm=GNNExplainer(epochs=5)) for _ in range(2))
        for table in ("edges", "features", "labels"):
            assert getattr(first, table).equals(getattr(second, table))
        assert torch.equal(model.predict_proba(graph), before)
        assert torch.equal(torch.random.get_rng_state(), state)
        assert set(model.components_[0].state_dict()) == set(copy.deepcopy(model.components_[0]).state_dict())

    def test_the_class_that_a_threshold_decides_is_explained(self, graph, train):
        graph.y = (graph.y > 0).long()
        model = quick().fit(graph, train)
        model.labelling_ = replace(model.labelling_, threshold=1.0)
        explainer = GNNExplainer(epochs=1)
        assert model.explain(graph, 20, algorithm=explainer).prediction == 0
        model.labelling_ = replace(model.labelling_, threshold=0.0)
        assert model.explain(graph, 20, algorithm=explainer).prediction == 1

    def test_numbers_are_explained_in_their_units(self, graph, train):
        graph.y = 100 + graph.x[:, 0].double()
        model = CollectiveRegressor(**QUICK, test_labels="partial", inference_masks="all").fit(graph, train)
        found = model.explain(graph, 20, train, algorithm=DummyExplainer())
        observed = found.labels[found.labels.observed]
        torch.testing.assert_close(
            torch.tensor(observed.label.tolist(), dtype=torch.float64), graph.y[observed.node.tolist()]
        )
        assert found.prediction == model.predict(graph, train)[20]

    def test_edges_of_a_sparse_graph(self, graph, train):
        graph.x = torch.eye(24)
        found = quick().fit(graph, train).explain(graph, 20)
        near = set(graph.edge_index[0, graph.edge_index[1] == 20].tolist())
        assert near <= set(found.edges.source)
        assert set(found.features.column) <= set(found.labels.node) | {20}

    def test_a_node_without_edges(self, graph, train):
        graph.edge_index = graph.edge_index[:, (graph.edge_index != 20).all(dim=0)]
        found = quick().fit(graph, train).explain(graph, 20)
        assert found.edges.empty
        assert found.labels.node.tolist() == [20]

    def test_wrong_calls_are_refused(self, graph, train):
        model = quick().fit(graph, train)
        for node in (24, -1, 1.5, True, "a"):
            with pytest.raises(ValueError, match=r"node is .*; expected one of the nodes 0\.\.23"):
                model.explain(graph, node)
        with pytest.raises(ValueError, match="several graphs are given"):
            model.explain([graph], 0)
        with pytest.raises(ValueError, match="algorithm is 'lime'; expected gnn_explainer, captum"):
            model.explain(graph, 0, algorithm="lime")
        with pytest.raises(ValueError, match="AttentionExplainer can't explain this"):
            model.explain(graph, 0, algorithm=AttentionExplainer())
        with pytest.raises(ValueError, match="test_labels='none'"):
            model.explain(graph, 0, observed_mask=train)

    def test_captum_if_it_is_there(self, graph, train):
        model = quick().fit(graph, train)
        if importlib.util.find_spec("captum") is None:
            with pytest.raises(ValueError, match="captum is not installed"):
                model.explain(graph, 20, algorithm="captum")
        else:
            assert len(model.explain(graph, 20, algorithm="captum").features) == 5


class Wrapped(nn.Module):
    """As a LightningModule would have it: a network inside, and steps that call it."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def training_step(self, data):
        p = self.network(data.x, data.edge_index)
        return nn.functional.nll_loss(p.log()[:10], data.y[:10])


class TestAsModule:
    @pytest.mark.parametrize("gnn", GNNS)
    @pytest.mark.parametrize("variant", [VARIANTS[i] for i in (0, 1, 2, 4, 5)], ids=str)
    def test_it_is_predict_proba_to_the_last_bit(self, gnn, variant, graph, new_graph, train, val):
        model = quick(gnn=gnn, **variant).fit(graph, train, val)
        module = model.as_module().eval()
        y = torch.where(train, graph.y, -1) if "test_labels" in variant else None
        other = new_graph(num_nodes=30, seed=1)
        assert torch.equal(
            module(graph.x, graph.edge_index, y=y), model.predict_proba(graph, seen(variant, train))
        )
        with torch.no_grad():
            assert torch.equal(module(other.x, other.edge_index), model.predict_proba(other))

    @pytest.mark.parametrize("variant", VARIANTS[:2], ids=str)
    def test_a_state_dict_makes_another_module_the_same(self, variant, graph, train, val, tmp_path):
        one, other = (
            quick(lr=lr, keep_best=True, **variant).fit(graph, train, val).as_module() for lr in (0.01, 0.1)
        )
        torch.save(one.state_dict(), tmp_path / "module.pt")
        before = other.eval()(graph.x, graph.edge_index)
        other.load_state_dict(torch.load(tmp_path / "module.pt", weights_only=True))
        after = other(graph.x, graph.edge_index)
        assert torch.equal(after, one.eval()(graph.x, graph.edge_index))
        assert not torch.equal(after, before)

    def test_numbers(self, graph, train, val):
        graph.y = 100 + graph.x[:, 0].double()
        model = CollectiveRegressor(**QUICK, test_labels="partial").fit(graph, train, val)
        shifted = graph.clone()
        shifted.y = graph.y * 5
        module, other = (
            m.as_module().eval()
            for m in (model, CollectiveRegressor(**QUICK, test_labels="partial").fit(shifted, train))
        )
        expected = model.predict_proba(graph, train)
        y = torch.where(train, graph.y, torch.nan)
        assert torch.equal(module(graph.x, graph.edge_index, y=y), expected)
        other.load_state_dict(module.state_dict())
        assert torch.equal(other(graph.x, graph.edge_index, y=y), expected)

    def test_edge_weights_and_int32_edges(self, graph, train):
        graph.edge_weight = torch.rand(graph.num_edges)
        graph.edge_index = graph.edge_index.int()
        model = quick().fit(graph, train)
        found = model.as_module().eval()(graph.x, graph.edge_index, graph.edge_weight)
        assert torch.equal(found, model.predict_proba(graph))
        assert not torch.equal(found, model.as_module().eval()(graph.x, graph.edge_index))

    def test_types_of_edges(self, graph, train):
        graph.edge_type = torch.arange(graph.num_edges) % 2
        model = quick(gnn=Typed).fit(graph, train)
        found = model.as_module().eval()(graph.x, graph.edge_index, edge_type=graph.edge_type)
        assert torch.equal(found, model.predict_proba(graph))
        assert not model.explain(graph, 20, algorithm=GNNExplainer(epochs=2)).edges.empty
        by_relation = quick(gnn=lambda i, o: RGCNConv(i, o, num_relations=2)).fit(graph, train)
        with pytest.raises(ValueError, match="layers of PyG that send one message along each edge"):
            by_relation.explain(graph, 20)

    def test_it_learns_inside_another_module_and_the_model_stays(self, graph, train, val):
        model = quick().fit(graph, train, val)
        before = model.predict_proba(graph)
        wrapped = Wrapped(model.as_module()).train()
        optimizer = torch.optim.Adam(wrapped.parameters(), lr=0.01)
        weights = [p.detach().clone() for p in wrapped.network.components[-1].parameters()]
        wrapped.training_step(graph).backward()
        optimizer.step()
        assert all(p.grad is None for c in wrapped.network.components[:-1] for p in c.parameters())
        after = wrapped.network.components[-1].parameters()
        assert any(not torch.equal(a, b) for a, b in zip(weights, after, strict=True))
        assert torch.equal(model.predict_proba(graph), before)
        assert wrapped.network.components[-1].training

    def test_what_is_no_network_is_refused(self, graph, train):
        with pytest.raises(ValueError, match=r"starts from LabelPropagation, which is no module"):
            quick(start="label_propagation").fit(graph, train).as_module()
        graph.start_proba = torch.full((24, 3), 1 / 3)
        with pytest.raises(ValueError, match="starts from given probabilities"):
            quick(start="given").fit(graph, train).as_module()
        module = quick().fit(graph, train).as_module()
        with pytest.raises(ValueError, match="y is given, but the model was fitted with test_labels='none'"):
            module(graph.x, graph.edge_index, y=graph.y)

    def test_the_plain_gnn_of_pyg_can_be_exported(self, graph, new_graph, train):
        """The module itself can't: what it checks and draws depends on the values."""
        module = (
            quick(gnn=lambda i, o: GAT(i, 8, 2, o), num_iterations=0).fit(graph, train).as_module().eval()
        )
        component = module.components[0]
        nodes, edges = torch.export.Dim("nodes", min=2), torch.export.Dim("edges", min=2)
        shapes = ({0: nodes}, {1: edges})
        exported = torch.export.export(component.gnn, (graph.x, graph.edge_index), dynamic_shapes=shapes)
        other = new_graph(num_nodes=30, seed=1)
        z = exported.module()(other.x, other.edge_index)
        expected = module(other.x, other.edge_index)
        torch.testing.assert_close(
            component.head(z).softmax(dim=1).float(), expected
        )  # nothing is calibrated
