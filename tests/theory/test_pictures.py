import pytest
import torch

from clgnn.theory.pictures import pictures as made


@pytest.fixture(scope="module")
def pictures():
    return made()


def test_the_classes_are_the_statements(pictures):
    theorem, proposition, links = pictures
    assert theorem.alone.tolist() == [0] * 8 + [1] * 2
    assert theorem.collective.tolist() == [0] * 4 + [1] * 4 + [2] * 2
    assert proposition.alone[0] == proposition.alone[1]
    assert proposition.collective[0] != proposition.collective[1]
    assert len(links.alone.unique()) == 1
    assert links.collective.tolist() == [0] * 41 + [1] * 41


def test_no_two_nodes_are_in_one_place(pictures):
    for picture in pictures:
        assert len(picture.places) == picture.data.num_nodes
        assert float(torch.pdist(picture.places).min()) > 0.1
