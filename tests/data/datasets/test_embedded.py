import pytest
import torch
from torch_geometric.utils import degree

from clgnn.data.datasets import citations, digits, statistics


def test_digits_are_joined_to_their_nearest():
    graph = digits(neighbours=3)
    assert degree(graph.edge_index[0]).min() >= 3
    assert graph.x.max() == 1
    assert digits(prepare=False).x.max() == 16
    near, far = graph.edge_index[:, 0], torch.tensor([0, 1])  # a neighbour is nearer than another node
    distance = [(graph.x[a] - graph.x[b]).norm() for a, b in (near, far)]
    assert distance[0] < distance[1]


def test_citations_are_as_asked():
    numbers = statistics(
        citations(num_nodes=3000, num_features=400, num_classes=4, mean_degree=6, homophily=0.7)
    )
    assert (numbers.nodes, numbers.features, len(numbers.classes)) == (3000, 400, 4)
    assert numbers.mean_degree == pytest.approx(6, rel=0.1)
    assert numbers.homophily == pytest.approx(0.7, abs=0.03)
    assert numbers.max_degree > 6 * numbers.mean_degree
    assert min(numbers.classes) > 100


def test_words_tell_the_class_as_far_as_topicality_goes():
    def overlap(topicality):
        graph = citations(num_nodes=600, num_features=300, topicality=topicality, prepare=False)
        x = graph.x.to_dense()
        mean = torch.stack([x[graph.y == c].mean(dim=0) for c in range(5)])
        mean = mean / mean.norm(dim=1, keepdim=True)
        return float((mean @ mean.T).mean())

    assert overlap(0) > 0.9 > overlap(0.5) > overlap(0.9)


def test_the_seed_decides():
    one, same, other = (citations(num_nodes=200, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one.edge_index, same.edge_index)
    assert torch.equal(one.x.to_dense(), same.x.to_dense())
    assert torch.equal(one.y, same.y)
    assert not torch.equal(one.y, other.y)


def test_the_order_of_nodes_does_not_tell_the_class():
    y = citations(num_nodes=1000).y
    assert (y[1:] == y[:-1]).float().mean() < 0.4


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_classes": 1},
        {"num_nodes": 3},
        {"num_features": 2},
        {"homophily": 1.2},
        {"mean_degree": 1},
        {"words": 0},
    ],
)
def test_wrong_sizes(wrong):
    with pytest.raises(ValueError, match="expected"):
        citations(**wrong)


def test_wrong_neighbours():
    with pytest.raises(ValueError, match="expected 1 to 1796"):
        digits(neighbours=0)
