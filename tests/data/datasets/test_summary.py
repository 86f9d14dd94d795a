"""Every number against those of the files' own measurement and of the paper's table."""

import pytest
import torch

from clgnn.data.datasets import CATALOGUE, FACEBOOK100, load, statistics

MEASURED = {
    # graphs, nodes, edges, labelled, classes, homophily
    "cora": (1, 2708, 5278, 2708, (351, 217, 418, 818, 426, 298, 180), 0.810),
    "pubmed": (1, 19717, 44324, 19717, (4103, 7739, 7875), 0.802),
    "friendster": (1, 43880, 145407, 25006, (9197, 12449, 2069, 270, 1021), 0.503),
    "protein": (84, 12679, 22763, 12679, (6510, 6169), 0.673),
    FACEBOOK100: (1, 5180, 186586, 4762, (2153, 2609), 0.549),
    "csl": (150, 6150, 150 * 82, 150, (15,) * 10, None),
}
PAPER = {
    # nodes, attributes, classes
    "cora": (2708, 1433, 7),
    "pubmed": (19717, 500, 3),
    "friendster": (43880, 643, 5),  # the paper counts the age, which is the label
    "protein": (12679, 29, 2),
}


@pytest.mark.parametrize("name", MEASURED)
def test_statistics(data, name):
    graphs, nodes, edges, labelled, classes, homophily = MEASURED[name]
    numbers = statistics(load(name, data))
    assert (numbers.graphs, numbers.nodes, numbers.edges, numbers.labelled) == (
        graphs,
        nodes,
        edges,
        labelled,
    )
    assert numbers.classes == classes
    assert numbers.homophily == (None if homophily is None else pytest.approx(homophily, abs=5e-4))
    if name in PAPER:
        assert (numbers.nodes, numbers.features, len(numbers.classes)) == PAPER[name]


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_catalogue_tells_the_truth(request, name):
    entry = CATALOGUE[name]
    if name == "facebook":
        pytest.skip("the paper's Facebook was never published")
    numbers = statistics(load(name, request.getfixturevalue("data") if entry.files else None))
    told = (entry.graphs, entry.nodes, entry.edges, entry.features, entry.classes)
    assert (numbers.graphs, numbers.nodes, numbers.edges, numbers.features, len(numbers.classes)) == told


def test_density(data):
    for name, density in (("cora", 1.44e-3), ("friendster", 1.51e-4)):
        numbers = statistics(load(name, data))
        assert 2 * numbers.edges / numbers.nodes**2 == pytest.approx(density, rel=5e-3)


def test_components(data):
    friendster, protein = statistics(load("friendster", data)), statistics(load("protein", data))
    assert (friendster.components, friendster.isolated) == (1, 0)
    assert (protein.components, protein.isolated) == (127, 2)


def test_protein_is_the_paper_s_selection(data):
    graphs = load("protein", data)
    sizes = [graph.num_nodes for graph in graphs]
    assert (min(sizes), max(sizes), round(sum(sizes) / 84, 1)) == (86, 620, 150.9)
    degree = torch.cat([torch.bincount(graph.edge_index[0], minlength=graph.num_nodes) for graph in graphs])
    assert torch.nonzero(degree == 0).ravel().tolist() == [8890, 11963]


def test_friendster_s_ages(data):
    literal = statistics(load("friendster", data, ages="literal"))
    assert literal.classes == (9197, 12449, 423, 85, 1021)
    assert literal.labelled == 23175


def test_csl_s_classes_are_those_of_the_repository(data):
    labels = data / "csl" / "y.txt"
    if not labels.exists():
        pytest.skip("csl/y.txt, the decoded labels of the repository, is not in the data folder")
    graphs = load("csl", data)
    assert [int(graph.y) for graph in graphs] == [int(y) for y in labels.read_text().split()]
    assert all((torch.bincount(graph.edge_index[0]) == 4).all() for graph in graphs)
