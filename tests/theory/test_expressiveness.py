"""Theorems 1 and 2, the corollary and proposition 1, on the paper's graphs and on random ones."""

from dataclasses import replace
from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch_geometric.nn.models import GAT, GCN, GIN, GraphSAGE

from clgnn.collective.inference import TestGraph, infer
from clgnn.data.graph import known
from clgnn.nn import NAMES
from clgnn.theory import (
    classes,
    csl,
    expected,
    initial_colours,
    isomorphic,
    orbits,
    random_components,
    refine,
    theorem_2,
    undirected,
)
from clgnn.theory.expectation import double_graph, label_input, plain
from clgnn.theory.expressiveness import (
    at_node,
    most_expressive,
    reach,
    separates,
    skip_links,
    soft_labels,
    twice_the_hops,
)
from clgnn.theory.statement import TOLERANCE, spread

SEEDS = [0, 1, 2]


@st.composite
def small_graphs(draw, largest=6):
    """Any undirected graph of a few nodes, some of them labelled."""
    n = draw(st.integers(2, largest))
    pairs = list(combinations(range(n), 2))
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    y = draw(st.lists(st.sampled_from([-1, -1, -1, 0, 1]), min_size=n, max_size=n))
    return undirected([pair for pair, take in zip(pairs, chosen, strict=True) if take], n, y)


def three_layers(model):
    return lambda inputs, outputs: model(inputs, outputs, num_layers=3, out_channels=outputs)


EVERY_GNN = {
    **{name: name for name in NAMES},
    **{f"PyG {model.__name__}": three_layers(model) for model in (GCN, GraphSAGE, GAT, GIN)},
}


# The statements


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_1(gnn, seed):
    statement = most_expressive(gnn, seed)
    assert statement.holds
    assert statement.computed == {
        "constant features": "2, 3",
        "orbit features": "3, 3",
        "unique features": "10, 10",
    }


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_2(gnn, seed, labelled):
    statement = separates(gnn, seed, labelled)
    assert statement.holds
    assert statement.computed["WL-GNN gap"] < 1e-14
    assert statement.computed["CL gap"] > 1e-5
    assert statement.computed["CL within orbits"] < 1e-13


@pytest.mark.parametrize("seed", SEEDS)
def test_corollary_1(gnn, seed):
    statement = soft_labels(gnn, seed)
    assert statement.holds
    assert statement.computed["soft gap"] < 1e-14


@pytest.mark.parametrize("seed", SEEDS)
def test_proposition_1(gnn, seed):
    statement = twice_the_hops(gnn, seed)
    assert statement.holds
    assert statement.computed["hops alike"] == 3
    assert statement.computed["soft gap"] > TOLERANCE  # here, draws are not needed


@pytest.mark.parametrize("seed", SEEDS)
def test_proposition_1_s_reach(gnn, seed):
    statement = reach(gnn, seed)
    assert statement.holds
    assert statement.computed == {"hops of the WL-GNN": 2, "hops with CL": 4}


@pytest.mark.parametrize("seed", [3, 4])
def test_circular_skip_links(gnn, seed):
    statement = skip_links(gnn, seed, num_samples=2000)
    assert statement.holds
    mean, width = map(float, statement.computed["from 2000 draws"].split(" ± "))
    assert abs(mean) > width  # the interval has not 0 in it


# What must fail does


def test_a_gnn_that_ignores_labels_separates_nothing():
    class Blind(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.gin = GIN(1, outputs, 2, outputs)

        def forward(self, x, edge_index):
            return self.gin(x[:, :1], edge_index)

    assert not separates(Blind).holds
    assert not soft_labels(Blind).holds
    assert not skip_links(Blind, num_samples=10).holds
    assert not twice_the_hops(Blind).holds
    assert reach(Blind).computed == {"hops of the WL-GNN": 2, "hops with CL": 2}


def test_a_gnn_that_knows_how_nodes_are_numbered_is_no_wl_gnn():
    class Numbered(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.linear = nn.Linear(inputs, outputs)

        def forward(self, x, edge_index):
            return self.linear(x) + torch.arange(len(x)).unsqueeze(1)

    assert not separates(Numbered).holds


# Every GNN


@pytest.mark.parametrize("name", EVERY_GNN)
def test_theorem_2_of_every_gnn(name):
    """Not only of the most expressive one; three layers, where the last is linear."""
    for seed in SEEDS:
        assert separates(EVERY_GNN[name], seed, num_layers=3).holds


@pytest.mark.parametrize("name", ["gcn", "sage"])
def test_two_layers_whose_last_is_linear_are_not_enough(name):
    """The expectation passes through the last layer: what is left sees the labels within one hop."""
    for seed in SEEDS:
        assert separates(name, seed, num_layers=2).computed["CL gap"] < TOLERANCE


@pytest.mark.parametrize("name", EVERY_GNN)
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_no_weights_separate_what_1_wl_does_not(name, scale):
    data = theorem_2()
    graph, shown = double_graph(data), known(data.y)
    components = random_components(EVERY_GNN[name], graph, 3, 0, num_layers=3)
    with torch.no_grad():
        for parameter in (p for c in components for p in c.parameters()):
            parameter.mul_(scale)
    alone = plain(components[0], graph, data.y, shown)
    soft = infer(components, TestGraph(graph, data.y, [shown], label_input("soft"), seed=0))
    for outputs in (alone, soft):
        assert spread(outputs[:8]) <= TOLERANCE * max(1.0, float(outputs.abs().max()))


# Circular skip links


def test_the_nodes_of_one_csl_graph_are_alike():
    graph = double_graph(csl(3))
    components = random_components("gin", graph, 2, seed=0)
    outputs = torch.stack([at_node(components, graph, node) for node in (0, 7, 40)])
    assert spread(outputs) < TOLERANCE


def test_two_layers_see_cycles_of_up_to_four_nodes():
    """CSL(41, 2) has triangles, CSL(41, 3) more squares; r = 4 and 5 first differ in cycles of 5 and 6."""
    graphs = [double_graph(csl(skip)) for skip in (2, 3, 4, 5)]
    components = random_components("gin", graphs[0], 2, seed=0)
    outputs = torch.stack([at_node(components, graph, 0) for graph in graphs])
    assert classes(outputs, TOLERANCE).tolist() == [0, 1, 2, 2]


def test_at_node_is_the_expectation_over_the_whole_graph():
    data = csl(2, 9)
    graph = double_graph(data)
    components = random_components("gin", graph, 2, seed=0)
    whole = expected(components, graph, data.y, known(data.y))
    assert torch.allclose(at_node(components, graph, 4), whole[4], atol=1e-12)


# Random graphs


def apart(outputs, u, v):
    return float((outputs[u] - outputs[v]).abs().max()) > TOLERANCE


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=small_graphs(), seed=st.integers(0, 1000))
def test_cl_separates_what_1_wl_does_and_no_orbit(data, seed):
    graph, shown = double_graph(data), known(data.y)
    components = random_components("gin", graph, 2, seed, num_layers=2)
    alone = plain(components[0], graph, data.y, shown)
    collective = expected(components, graph, data.y, shown)
    soft = infer(components, TestGraph(graph, data.y, [shown], label_input("soft"), seed=0))
    colours = refine(data.edge_index, initial_colours(data), 2)
    stable, orbit = refine(data.edge_index, initial_colours(data)), orbits(data)
    for u, v in combinations(range(data.num_nodes), 2):
        assert apart(alone, u, v) == bool(colours[u] != colours[v])  # GIN is as expressive as 1-WL
        if colours[u] != colours[v]:
            assert apart(collective, u, v)
        if orbit[u] == orbit[v]:
            assert not apart(collective, u, v)
        if stable[u] == stable[v]:
            assert not apart(soft, u, v)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=small_graphs(largest=5), seed=st.integers(0, 1000))
def test_orbits_stay_together_through_iterations(data, seed):
    graph, shown = double_graph(data), known(data.y)
    components = random_components("gin", graph, 3, seed)
    orbit = orbits(data)
    collective = expected(components, graph, data.y, shown)
    for u, v in combinations(range(data.num_nodes), 2):
        if orbit[u] == orbit[v]:
            assert not apart(collective, u, v)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=small_graphs(largest=5), seed=st.integers(0, 1000))
def test_cl_adds_nothing_to_orbits_as_features(data, seed):
    data.x = nn.functional.one_hot(orbits(data)).float()
    graph, shown = double_graph(data), known(data.y)
    components = random_components("gin", graph, 2, seed)
    alone = classes(plain(components[0], graph, data.y, shown), TOLERANCE)
    assert torch.equal(alone, orbits(data))
    assert torch.equal(classes(expected(components, graph, data.y, shown), TOLERANCE), alone)


def test_each_iteration_sees_two_hops_more():
    data = undirected([(v, v + 1) for v in range(7)], 8)
    graph, shown = double_graph(data), known(data.y)
    components = random_components("gin", graph, 3, seed=0)
    for iterations, seen in ((0, 2), (1, 4), (2, 6)):
        used = components[: iterations + 1]
        before = expected(used, graph, data.y, shown)[0]
        for node in (seen, seen + 1):
            changed = replace(graph, x=graph.x.index_fill(0, torch.tensor(node), 3.0))
            after = expected(used, changed, data.y, shown)[0]
            assert (spread(torch.stack([before, after])) > TOLERANCE) == (node == seen)


def test_a_symmetric_gcn_sees_a_hop_more():
    """It divides by the degree of nodes d hops away; the nodes have the same egonets of d hops."""
    data = undirected([(v, v + 1) for v in range(7)], 8)
    assert isomorphic(data, 2, 3, hops=2)
    assert not isomorphic(data, 2, 3, hops=3)
    graph, shown = double_graph(data), known(data.y)
    for gnn, apart_ in (("gin", False), (lambda i, o: GCN(i, o, 2, o), True)):
        (component,) = random_components(gnn, graph, 1, seed=0)
        assert apart(plain(component, graph, data.y, shown), 2, 3) == apart_
