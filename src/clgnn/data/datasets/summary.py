"""What a dataset looks like in numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse.csgraph import connected_components
from torch_geometric.data import Data
from torch_geometric.utils import degree, homophily, subgraph, to_scipy_sparse_matrix


@dataclass(frozen=True)
class Statistics:
    """Numbers of a graph, or of many graphs together.

    Attributes:
        graphs, nodes, edges, features: ``edges`` are undirected.
        classes: how many labels each class has.
        labelled: how many labels are known.
        homophily: the share of the edges between labelled nodes that join the same class; None if it is the
            graphs that have labels.
        mean_degree, max_degree, isolated, components: of the graph without regard to labels.
    """

    graphs: int
    nodes: int
    edges: int
    features: int
    classes: tuple[int, ...]
    labelled: int
    homophily: float | None
    mean_degree: float
    max_degree: int
    isolated: int
    components: int


def statistics(data: Data | Sequence[Data]) -> Statistics:
    """The statistics of a graph or of a list of graphs.

    Example:
        >>> from clgnn.data.datasets import digits
        >>> numbers = statistics(digits())
        >>> numbers.nodes, numbers.edges, round(numbers.homophily, 2)
        (1797, 6227, 0.87)
    """
    many = [data] if isinstance(data, Data) else list(data)
    sizes = [graph.num_nodes for graph in many]
    shift = np.cumsum([0, *sizes])
    nodes = int(shift[-1])
    edge_index = torch.cat(
        [graph.edge_index + start for graph, start in zip(many, shift[:-1], strict=True)], dim=1
    )
    y = torch.cat([graph.y for graph in many])
    degrees = degree(edge_index[0], nodes)
    agreement = None
    if len(y) == nodes:
        inside, _ = subgraph(y >= 0, edge_index, num_nodes=nodes)
        agreement = float(homophily(inside, y))
    return Statistics(
        graphs=len(many),
        nodes=nodes,
        edges=edge_index.shape[1] // 2,
        features=many[0].x.shape[1],
        classes=tuple(torch.bincount(y[y >= 0]).tolist()),
        labelled=int((y >= 0).sum()),
        homophily=agreement,
        mean_degree=float(degrees.mean()),
        max_degree=int(degrees.max()),
        isolated=int((degrees == 0).sum()),
        components=int(
            connected_components(to_scipy_sparse_matrix(edge_index, num_nodes=nodes), directed=False)[0]
        ),
    )
