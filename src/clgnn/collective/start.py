"""Where the recursion starts: the plain GNN on X alone, and how the boosted one goes on from its weights.

The paper starts from Y = 0: its Θ_0 has label columns, which show nothing, or the labels that the mask shows.
Here Θ_0 is the plain GNN, trained as it would be without collective learning. Θ_1 begins as a function that
is equal to it: the same weights, and zeros for the label columns that are new.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from clgnn.collective.averaging import average
from clgnn.collective.component import Component
from clgnn.data.graph import Graph
from clgnn.engine.streamed import Streamed

Predictor: TypeAlias = Callable[[Any, Tensor], Tensor]
"""Of a graph and the labels shown ``[N]``: the parameters of label distributions, ``[N, outputs]``."""


@dataclass(frozen=True)
class Start:
    """The first predictions Ŷ^(0), from which iteration 1 draws.

    Attributes:
        predict: gives them, on any graph.
        sees_labels: whether they depend on the labels that are shown.
    """

    predict: Predictor
    sees_labels: bool = False

    @classmethod
    def plain(cls, component: Component) -> Start:
        """The plain GNN; the label columns of a module that always has some are zeros."""

        @torch.no_grad()
        def predict(graph: Graph | Streamed, y: Tensor) -> Tensor:
            component.eval()
            nothing = torch.zeros(graph.num_nodes, 1, component.columns, device=graph.home)
            return average(component, graph, nothing)

        return cls(predict)


def widened(plain: Component, wide: Component, graph: Graph, columns: int) -> Component | None:
    """A component with label columns that gives what the plain one gives, whatever the labels.

    Weights are copied where both have the same shape. Where the wide one has more inputs, the inputs that the
    plain one has are copied and the others get zeros; a scale or a mean of single columns, as a norm of the
    inputs has, keeps its new values there, or the zeros behind it would never get a gradient. Whether that is
    the same function is then seen by running it: the names and shapes of a module's parameters do not say
    what it does with them.

    Args:
        plain: Θ_0, on X alone (or with label columns that were always zero).
        wide: a new component with label columns.
        graph: to run them on.
        columns: the label columns, C.

    Returns:
        ``wide`` with the weights of ``plain``; None if it can't be made equal.

    Example:
        >>> from clgnn.collective.component import build
        >>> graph = Graph(torch.rand(5, 3), torch.tensor([[0, 1, 2], [1, 2, 3]]), None, (5,))
        >>> plain, wide = build("gcn", graph, 0, 2), build("gcn", graph, 2, 2)
        >>> same = widened(plain, wide, graph, columns=2)
        >>> found, expected = average(same.eval(), graph, torch.rand(5, 4, 2)), Start.plain(plain)
        >>> torch.allclose(found, expected.predict(graph, torch.full((5,), -1)))
        True
    """
    state = wide.state_dict()
    features = graph.x.size(1)
    for name, narrow in plain.state_dict().items():
        if name not in state:
            return None
        found = _filled(narrow, state[name], features, columns, plain.columns)
        if found is None:
            return None
        state[name] = found
    made = copy.deepcopy(wide)
    made.load_state_dict(state)
    return made if _equal(plain, made, graph, columns) else None


def _filled(narrow: Tensor, wide: Tensor, features: int, columns: int, had: int) -> Tensor | None:
    """A parameter of the wide component, from that of the plain one."""
    if narrow.shape == wide.shape:
        at = [dim for dim, size in enumerate(narrow.shape) if size == features + columns]
        if not had or len(at) != 1 or narrow.dim() == 1:
            return narrow
        return _zeroed(narrow, at[0], features)  # a module that had label columns all along
    differing = [dim for dim in range(narrow.dim()) if narrow.size(dim) != wide.size(dim)]
    if narrow.dim() != wide.dim() or len(differing) != 1:
        return None
    dim = differing[0]
    times, left = divmod(wide.size(dim) - narrow.size(dim), columns)
    if left or times < 1:
        return None
    # one block of inputs [X | ..], or several of them (a block for each power of the operator)
    blocks = narrow.chunk(times, dim=dim)
    parts = []
    for block, fresh in zip(blocks, wide.chunk(times, dim=dim), strict=True):
        before, after = block.split([features, block.size(dim) - features], dim=dim)
        new = fresh.narrow(dim, features, columns)
        parts += [before, new if narrow.dim() == 1 else torch.zeros_like(new), after]
    return torch.cat(parts, dim=dim)


def _zeroed(weight: Tensor, dim: int, features: int) -> Tensor:
    weight = weight.clone()
    weight.narrow(dim, features, weight.size(dim) - features).zero_()
    return weight


@torch.no_grad()
def _equal(plain: Component, made: Component, graph: Graph, columns: int) -> bool:
    """Whether both give the same, for labels of all kinds."""
    training = plain.training, made.training
    n = graph.num_nodes
    labels = torch.linspace(-2, 2, n * columns, device=graph.x.device).sin().view(n, 1, columns)
    try:
        own = plain.columns
        expected = average(plain.eval(), graph, labels.new_zeros(n, 1, own))
        found = average(made.eval(), graph, labels)
    except Exception:  # whatever a module wants: it then starts anew
        return False
    finally:
        plain.train(training[0])
        made.train(training[1])
    return torch.allclose(expected, found, rtol=1e-4, atol=1e-5 * max(1.0, float(expected.abs().max())))
