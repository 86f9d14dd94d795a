"""Edges with features: accounts that receive large payments are of another kind than those that do not.

python examples/edge_features.py
"""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINEConv

from clgnn import CollectiveClassifier


class Payments(nn.Module):
    """A layer that looks at the amounts; ``edge_attr`` reaches it because its ``forward`` takes it."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.first = nn.Linear(in_channels, out_channels)
        self.second = GINEConv(nn.Linear(out_channels, out_channels), edge_dim=1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        return self.second(self.first(x).relu(), edge_index, edge_attr).relu()


def payments(num_accounts: int = 600, seed: int = 0) -> Data:
    """Five payments to each account, large ones if it is of kind 1; nothing else tells the kinds apart."""
    generator = torch.Generator().manual_seed(seed)
    kind = torch.randint(2, (num_accounts,), generator=generator)
    target = torch.arange(num_accounts).repeat_interleave(5)
    source = torch.randint(num_accounts, (len(target),), generator=generator)
    amount = torch.randn(len(target), generator=generator) + 2 * kind[target]
    x = torch.randn(num_accounts, 4, generator=generator)
    return Data(x=x, edge_index=torch.stack([source, target]), edge_attr=amount.unsqueeze(1), y=kind)


def main(num_nodes: int = 600, max_epochs: int = 300) -> tuple[float, float]:
    """Prints and returns the test accuracies with the amounts, and with the amounts shuffled."""
    data = payments(num_nodes)
    third = num_nodes // 3
    train, val, test = range(third), range(third, 2 * third), range(2 * third, num_nodes)
    model = CollectiveClassifier(gnn=Payments, num_iterations=1, max_epochs=max_epochs, lr=0.02)
    right = model.fit(data, train, val).score(data, test)
    order = torch.randperm(len(data.edge_attr), generator=torch.Generator().manual_seed(1))
    data.edge_attr = data.edge_attr[order]
    shuffled = model.fit(data, train, val).score(data, test)
    print(f"test accuracy with the amounts {right:.3f}, with shuffled amounts {shuffled:.3f}")
    return right, shuffled


if __name__ == "__main__":
    main()
