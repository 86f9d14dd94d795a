from itertools import combinations, pairwise

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clgnn.theory import classes, initial_colours, isomorphic, orbits, refine, undirected


@st.composite
def small_graphs(draw, largest=6):
    """Any undirected graph of a few nodes, some of them labelled."""
    n = draw(st.integers(1, largest))
    pairs = list(combinations(range(n), 2))
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    y = draw(st.lists(st.sampled_from([-1, -1, -1, 0, 1]), min_size=n, max_size=n))
    return undirected([pair for pair, take in zip(pairs, chosen, strict=True) if take], n, y)


def as_networkx(data):
    graph = nx.Graph(data.edge_index.t().tolist())
    graph.add_nodes_from((v, {"colour": f"{c:03}"}) for v, c in enumerate(initial_colours(data).tolist()))
    return graph


def same_partition(a, b):
    return torch.equal(classes(torch.as_tensor(a).unsqueeze(1)), classes(torch.as_tensor(b).unsqueeze(1)))


def finer(a, b):
    """Whether nodes that are alike in a are alike in b."""
    return all(b[u] == b[v] for u, v in combinations(range(len(a)), 2) if a[u] == a[v])


def test_classes_are_numbered_as_they_appear():
    assert classes(torch.tensor([[3.0, 1.0], [2.0, 1.0], [3.0, 1.0], [0.0, 0.0]])).tolist() == [0, 1, 0, 2]


def test_classes_within_a_tolerance():
    rows = torch.tensor([[0.0], [1e-12], [1e-6]], dtype=torch.double)
    assert classes(rows, 1e-10).tolist() == [0, 0, 1]
    assert classes(rows).tolist() == [0, 1, 2]


def test_rounds_see_one_hop_more_each():
    path = undirected([(v, v + 1) for v in range(6)], 7)
    constant = torch.zeros(7, dtype=torch.long)
    by_round = [len(refine(path.edge_index, constant, d).unique()) for d in range(5)]
    assert by_round == [1, 2, 3, 4, 4]
    assert refine(path.edge_index, constant).tolist() == [0, 1, 2, 3, 2, 1, 0]


def test_initial_colours_are_told_apart_and_spread():
    path = undirected([(0, 1), (1, 2)], 3, [0, -1, -1])
    assert refine(path.edge_index, initial_colours(path), 0).tolist() == [0, 1, 1]
    assert refine(path.edge_index, initial_colours(path)).tolist() == [0, 1, 2]


def test_a_hexagon_and_two_triangles_are_one_class():
    hexagon = [(v, (v + 1) % 6) for v in range(6)]
    triangles = [(6, 7), (7, 8), (8, 6), (9, 10), (10, 11), (11, 9)]
    both = undirected(hexagon + triangles, 12)
    assert len(refine(both.edge_index, initial_colours(both)).unique()) == 1
    assert len(orbits(both).unique()) == 2
    assert isomorphic(both, 6, 11)
    assert not isomorphic(both, 0, 6, hops=1)


def test_isomorphisms_keep_features():
    path = undirected([(0, 1), (1, 2)], 3)
    assert isomorphic(path, 0, 2)
    path.x[0] = 5.0
    assert not isomorphic(path, 0, 2)
    assert orbits(path).tolist() == [0, 1, 2]


def test_egonets_have_the_edges_between_their_outermost_nodes():
    """Unlike what d layers see: a triangle differs from a path within one hop."""
    data = undirected([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5)], 6)
    assert not isomorphic(data, 1, 4, hops=1)


@settings(max_examples=60, deadline=None)
@given(small_graphs(), st.integers(0, 3))
def test_colours_are_those_of_networkx(data, rounds):
    graph = as_networkx(data)
    hashes = nx.weisfeiler_lehman_subgraph_hashes(
        graph, node_attr="colour", iterations=max(rounds, 1), include_initial_labels=True
    )
    numbers = {}
    theirs = [numbers.setdefault(hashes[v][rounds], len(numbers)) for v in range(data.num_nodes)]
    assert same_partition(refine(data.edge_index, initial_colours(data), rounds), theirs)


@settings(max_examples=60, deadline=None)
@given(small_graphs())
def test_orbits_are_those_of_all_automorphisms(data):
    graph = as_networkx(data)
    match = nx.algorithms.isomorphism.categorical_node_match("colour", None)
    matcher = nx.algorithms.isomorphism.GraphMatcher(graph, graph, node_match=match)
    first = list(range(data.num_nodes))
    for mapping in matcher.isomorphisms_iter():
        for u, v in mapping.items():
            first[v] = min(first[v], u)
    assert same_partition(orbits(data), first)


@settings(max_examples=60, deadline=None)
@given(small_graphs())
def test_what_is_finer_than_what(data):
    colours = [refine(data.edge_index, initial_colours(data), d) for d in (0, 1, 2)]
    stable = refine(data.edge_index, initial_colours(data))
    chain = [orbits(data), stable, *reversed(colours)]
    assert all(finer(a.tolist(), b.tolist()) for a, b in pairwise(chain))
    assert same_partition(refine(data.edge_index, stable, 1), stable)


@settings(max_examples=30, deadline=None)
@given(small_graphs(), st.randoms(use_true_random=False))
def test_how_nodes_are_numbered_does_not_matter(data, random):
    order = random.sample(range(data.num_nodes), data.num_nodes)
    new = torch.tensor(order)
    moved = data.clone()
    moved.edge_index, moved.y = new[data.edge_index], data.y[new.argsort()]
    for partition in (orbits, lambda d: refine(d.edge_index, initial_colours(d))):
        assert same_partition(partition(moved)[new], partition(data))


@pytest.mark.parametrize("edges", [[], [(0, 1)]])
def test_nodes_without_neighbours(edges):
    data = undirected(edges, 3)
    assert refine(data.edge_index, initial_colours(data))[2] == (1 if edges else 0)
    assert orbits(data).tolist() == ([0, 0, 1] if edges else [0, 0, 0])
