"""Plain GNNs as a PyG user writes them: one sample, no labels, dense features, an ``edge_index``."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, TransformerConv
from torch_geometric.utils import add_remaining_self_loops, scatter


class Two(nn.Module):
    """Two convolutions with a ReLU and a dropout in between."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        h = F.dropout(self.first(x, edge_index).relu(), 0.5, self.training)
        out: Tensor = self.second(h, edge_index)
        return out


def _mlp(i: int, o: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(i, 16), nn.ReLU(), nn.Linear(16, o))


class DenseSnowball(nn.Module):
    """Snowball by its formula: A [H_0 .. H_l] W with the concatenation written out, ten layers."""

    def __init__(self, i: int, o: int, depth: int = 10, width: int = 16) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(i + k * width, width) for k in range(depth))
        self.last = nn.Linear(i + depth * width, o)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        loops, _ = add_remaining_self_loops(edge_index, num_nodes=len(x))
        source, target = loops

        def gather(h: Tensor) -> Tensor:
            return scatter(h[source], target, 0, len(x), "mean")

        hidden = [x]
        for layer in self.layers:
            h = torch.tanh(gather(torch.cat(hidden, 1) @ layer.weight.t()) + layer.bias)
            hidden.append(F.dropout(h, 0.5, self.training))
        return gather(torch.cat(hidden, 1) @ self.last.weight.t()) + self.last.bias


PLAIN: dict[str, Callable[[int, int], nn.Module]] = {
    "GCNConv": lambda i, o: Two(GCNConv(i, 16, cached=True), GCNConv(16, o, cached=True)),
    "SAGEConv": lambda i, o: Two(SAGEConv(i, 16), SAGEConv(16, o)),
    "GINConv": lambda i, o: Two(GINConv(_mlp(i, 16)), GINConv(_mlp(16, o))),
    "GATConv": lambda i, o: Two(GATConv(i, 16), GATConv(16, o)),
    "TransformerConv": lambda i, o: Two(TransformerConv(i, 16), TransformerConv(16, o)),
    "dense Snowball": DenseSnowball,
}
