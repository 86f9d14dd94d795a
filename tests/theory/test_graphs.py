"""The graphs have the properties that the paper's proofs state."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.utils import degree, to_networkx

from clgnn.theory import SKIPS, csl, initial_colours, isomorphic, orbits, proposition_1, refine, theorem_2


def neighbours(data, node):
    """By the paper's numbers."""
    return set((data.edge_index[0, data.edge_index[1] == node - 1] + 1).tolist())


def walks(data, u, v, hops):
    """How many walks of so many hops there are from u to v that do not turn back at once."""
    paths = [[u]]
    for _ in range(hops):
        paths = [[*p, w] for p in paths for w in neighbours(data, p[-1]) if len(p) < 2 or w != p[-2]]
    return sum(path[-1] == v for path in paths)


def test_theorem_2_each_white_node_has_a_white_and_a_yellow_neighbour():
    data = theorem_2()
    for node in range(1, 9):
        white, yellow = neighbours(data, node) - {9, 10}, neighbours(data, node) & {9, 10}
        assert (len(white), len(yellow)) == (1, 1)
    assert data.y.tolist() == [-1] * 8 + [0, 0]


def test_theorem_2_hops_are_those_of_the_proof():
    """Green is 1 and 2 hops from node 2 if node 1 is green; 1 and 3 hops from 6 if node 5 is."""
    data = theorem_2()
    assert [walks(data, 2, 1, hops) for hops in (1, 2)] == [1, 1]
    assert [walks(data, 6, 5, hops) for hops in (1, 2, 3)] == [1, 0, 1]


@pytest.mark.parametrize("labelled", [True, False])
def test_theorem_2_is_one_class_and_two_orbits(labelled):
    data = theorem_2(labelled)
    assert refine(data.edge_index, initial_colours(data)).tolist() == [0] * 8 + [1] * 2
    assert orbits(data).tolist() == [0] * 4 + [1] * 4 + [2] * 2


def test_theorem_2_colouring_is_stable_from_the_start():
    data = theorem_2()
    initial = initial_colours(data)
    assert torch.equal(refine(data.edge_index, initial), initial)


@pytest.mark.parametrize(("u", "v"), [(1, 2), (3, 4), (7, 8)])
def test_proposition_1_pairs_are_alike_within_two_hops(u, v):
    assert isomorphic(proposition_1(), u - 1, v - 1, hops=2)


def test_proposition_1_differs_at_5_and_6():
    data = proposition_1()
    assert not isomorphic(data, 4, 5, hops=2)
    assert not isomorphic(data, 0, 1, hops=4)
    assert not isomorphic(data, 0, 1)
    colours = refine(data.edge_index, initial_colours(data), 2)
    assert colours[0] == colours[1]
    assert colours[4] != colours[5]
    colours = refine(data.edge_index, initial_colours(data), 4)
    assert colours[0] != colours[1]


def test_proposition_1_is_connected_and_wide():
    graph = to_networkx(proposition_1(), to_undirected=True)
    assert nx.diameter(graph) > 4


@pytest.mark.parametrize("skip", SKIPS)
def test_csl_nodes_have_four_neighbours_and_one_orbit(skip):
    data = csl(skip)
    assert degree(data.edge_index[0]).tolist() == [4] * 41
    turned = (data.edge_index + 1) % 41
    edges = {tuple(edge) for edge in data.edge_index.t().tolist()}
    assert {tuple(edge) for edge in turned.t().tolist()} == edges  # a turn takes any node to the next


def test_csl_graphs_are_one_class_but_not_the_same():
    spectra = []
    for skip in SKIPS:
        data = csl(skip)
        assert len(refine(data.edge_index, initial_colours(data)).unique()) == 1
        spectra.append(np.linalg.eigvalsh(nx.to_numpy_array(to_networkx(data, to_undirected=True))))
    gaps = [abs(a - b).max() for i, a in enumerate(spectra) for b in spectra[:i]]
    assert min(gaps) > 1e-3


def test_csl_of_a_small_graph_is_one_orbit():
    assert len(orbits(csl(3, 11)).unique()) == 1


@pytest.mark.parametrize("skip", [0, 1, 40, 41])
def test_csl_needs_a_skip(skip):
    with pytest.raises(ValueError, match=f"skip is {skip}; expected 2 to 39, for 41 nodes"):
        csl(skip)
