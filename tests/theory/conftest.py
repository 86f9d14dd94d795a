import pytest
from torch_geometric.nn.models import GIN


def pyg_gin(in_channels, out_channels):
    """Two of PyG's GINConv, each with an MLP and an ε of its own."""
    return GIN(in_channels, out_channels, num_layers=2, out_channels=out_channels, train_eps=True)


@pytest.fixture(params=["gin", pyg_gin], ids=["gin", "GINConv"])
def gnn(request):
    """A GNN that is as expressive as 1-WL: ours and PyG's."""
    return request.param
