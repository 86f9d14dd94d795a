"""Two types of nodes: papers that have a topic, and authors who write them.

python examples/hetero.py
"""

import torch
from torch import Tensor, nn
from torch_geometric.data import HeteroData
from torch_geometric.nn import SAGEConv, to_hetero

from clgnn import CollectiveClassifier


class GraphSAGE(nn.Module):
    """Written for one type of nodes; ``to_hetero`` makes it know them all."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.first, self.second = SAGEConv((-1, -1), channels), SAGEConv((-1, -1), channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.second(self.first(x, edge_index).relu(), edge_index)


def library(num_papers: int = 600, num_authors: int = 120, seed: int = 0) -> HeteroData:
    """Authors write about one of three topics; every paper has two authors, mostly of its own topic."""
    generator = torch.Generator().manual_seed(seed)
    topic = torch.randint(3, (num_papers,), generator=generator)
    of_author = torch.arange(num_authors) % 3
    own = torch.rand(num_papers, 2, generator=generator) < 0.8
    wanted = torch.where(own, topic.unsqueeze(1), torch.randint(3, own.shape, generator=generator))
    writers = wanted + 3 * torch.randint(num_authors // 3, own.shape, generator=generator)
    assert torch.equal(of_author[writers], wanted)
    edges = torch.stack([writers.flatten(), torch.arange(num_papers).repeat_interleave(2)])
    data = HeteroData()
    data["paper"].x = torch.randn(num_papers, 8, generator=generator)
    data["paper"].x[torch.arange(num_papers), topic] += 0.7
    data["paper"].y = topic
    data["author"].x = torch.ones(num_authors, 1)
    data["author", "writes", "paper"].edge_index = edges
    data["paper", "written_by", "author"].edge_index = edges.flip(0)
    return data


def main(num_nodes: int = 600, max_epochs: int = 300) -> tuple[float, float]:
    """Prints and returns the test accuracies of the plain and of the boosted GNN."""
    data = library(num_nodes)
    train, val, test = range(60), range(60, 160), range(num_nodes // 3, num_nodes)
    gnn = to_hetero(GraphSAGE(), data.metadata())
    found = []
    for iterations in (0, 2):
        model = CollectiveClassifier(gnn=gnn, num_iterations=iterations, max_epochs=max_epochs)
        found.append(model.fit(data, train, val).score(data, test))
    print(f"test accuracy of {len(test)} papers: plain {found[0]:.3f}, boosted {found[1]:.3f}")
    return found[0], found[1]


if __name__ == "__main__":
    main()
