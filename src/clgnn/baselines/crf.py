"""A pairwise conditional random field on a graph, and belief propagation in it."""

from __future__ import annotations

import torch
from torch import Tensor

from clgnn.data.graph import Graph


def pairs_of(graph: Graph) -> Tensor:
    """The pairs of different nodes that an edge joins, each once, ``[2, M]``, the smaller node first.

    Example:
        >>> edges = torch.tensor([[0, 1, 2, 2], [1, 0, 2, 1]])
        >>> pairs_of(Graph(torch.ones(3, 1), edges, None, (3,)))
        tensor([[0, 1],
                [1, 2]])
    """
    edges = graph.edge_index
    if graph.edge_weight is not None:
        edges = edges[:, graph.edge_weight != 0]
    edges = edges[:, edges[0] != edges[1]].sort(dim=0).values
    code = (edges[0] * graph.num_nodes + edges[1]).unique()
    return torch.stack([code // graph.num_nodes, code % graph.num_nodes])


def belief_propagation(
    nodes: Tensor, edges: Tensor, pairs: Tensor, num_steps: int, own: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    r"""Sum-product messages, all at once; exact on a tree whose diameter is at most ``num_steps``.

    .. math::
        m_{s \to t}(y_t) \propto \sum_{y_s} \exp\Big(\theta_s(y_s) + \theta_{st}(y_s, y_t)\Big)
        \prod_{r \in N(s) \setminus t} m_{r \to s}(y_s), \qquad
        q_s(y_s) \propto e^{\theta_s(y_s)} \prod_{r \in N(s)} m_{r \to s}(y_s)

    Args:
        nodes: θ of each node, ``[N, C]``.
        edges: θ of each pair, ``[M, C, C]``, its first node's label first.
        pairs: ``[2, M]``, each pair once.
        num_steps: how often all messages are sent.
        own: θ of each node for its own belief, if that is to be another one than for its messages.

    Returns:
        The marginals of the nodes ``[N, C]`` and of the pairs ``[M, C, C]``.

    Example:
        >>> pairs = torch.tensor([[0], [1]])
        >>> alike = torch.tensor([[[0.8, 0.2], [0.2, 0.8]]]).log()
        >>> sure = torch.tensor([[1.0, 1e-9], [0.5, 0.5]]).log()
        >>> belief_propagation(sure, alike, pairs, num_steps=1)[0].round(decimals=4)
        tensor([[1.0000, 0.0000],
                [0.8000, 0.2000]])
    """
    count = pairs.size(1)
    source, target = torch.cat([pairs, pairs.flip(0)], dim=1)
    potentials = torch.cat([edges, edges.transpose(1, 2)])  # of the sender's label and the receiver's
    back = torch.arange(2 * count, device=pairs.device).roll(count)  # the message in the other direction
    messages = nodes.new_zeros(2 * count, nodes.size(1))
    total = nodes
    for _ in range(num_steps):
        sent = (total[source] - messages[back]).unsqueeze(2) + potentials
        messages = sent.logsumexp(dim=1).log_softmax(dim=1)
        total = nodes.index_add(0, target, messages)
    beliefs = total if own is None else total - nodes + own
    cavity = total[source] - messages[back]
    joint = edges + cavity[:count].unsqueeze(2) + cavity[count:].unsqueeze(1)
    return beliefs.softmax(dim=1), joint.flatten(1).softmax(dim=1).view_as(joint)
