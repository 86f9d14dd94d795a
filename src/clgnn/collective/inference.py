"""Equation 5: the recursion Θ_0, .., Θ_T on any graph, averaged over masks and samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from clgnn.collective.averaging import average, each_sample
from clgnn.collective.component import Component
from clgnn.collective.sampling import LabelInput, ranges
from clgnn.collective.start import Start
from clgnn.data.graph import Graph
from clgnn.engine import processes
from clgnn.engine.packed import Packed, codes
from clgnn.engine.streamed import Streamed
from clgnn.engine.streaming import outputs_at

PREDICTION = 2**31
"""Sets the draws of a prediction apart from those of training."""


@dataclass(frozen=True)
class TestGraph:
    """A graph to predict, G(te), and what may be seen of it.

    What a prediction draws depends on the seed and on the iteration alone. So validation, which looks at
    one iteration after the other while they are learned, judges exactly what is predicted later.

    Attributes:
        graph: any graph.
        y: the labels that may be seen, ``[N]``, unknown elsewhere.
        masks: which of them are shown: J masks ``[N]``, for K samples each; or one tensor ``[N, K]``, with a
            mask of its own for each sample.
        label_input: how labels enter.
        seed: where the randomness comes from.
        start: the first predictions; None for the paper's, which are those of Θ_0 with label columns.
    """

    __test__ = False  # its name does not make it a test

    graph: Graph | Streamed
    y: Tensor
    masks: Sequence[Tensor]
    label_input: LabelInput
    seed: int
    start: Start | None = None

    def inputs(self, t: int, predicted: Tensor | None) -> list[Any]:
        """The label columns of iteration t, ``[N, K, C]`` for each mask, given the predictions of t - 1.

        A tensor, or :class:`~clgnn.engine.packed.Packed` on a graph that is gone through in pieces.
        """
        return [
            drawn(self.label_input, self.graph, predicted, self.y, mask, self.seed, PREDICTION, t, number)
            for number, mask in enumerate(self.masks)
        ]


def drawn(
    label_input: LabelInput,
    graph: Graph | Streamed,
    predicted: Tensor | None,
    y: Tensor,
    shown: Tensor,
    *key: int,
) -> Any:
    """The label columns of all nodes, ``[N, K, C]``; those of a large graph in as little room as possible.

    The blocks of a large graph are shared by all processes.
    """
    if isinstance(graph, Graph):
        return torch.cat([labels for _, labels in label_input.in_blocks(predicted, y, shown, *key)])
    split = processes.ranges(ranges(len(y)))
    mine = split[processes.rank()] or split[-1][-1:]
    made: Tensor | None = None
    for rows, labels in label_input.in_blocks(predicted, y, shown, *key, blocks=mine):
        content = codes(labels) if label_input.one_hot else labels
        if made is None:
            made = graph.room(len(y), *content.shape[1:], dtype=content.dtype)
        made[rows] = content
    assert made is not None
    made = processes.shared(made, split)
    return Packed(made, label_input.columns) if label_input.one_hot else made


@torch.no_grad()
def predict(component: Component, graph: Graph | Streamed, inputs: Iterable[Any]) -> Tensor:
    r"""One iteration of the recursion, the mean over J inputs of K samples each, ``[N, outputs]``.

    .. math::
        Z_v^{(t)} = \frac{1}{JK} \sum_{j=1}^J \sum_{k=1}^K
        \mathrm{GNN}(X_{Y_L, \hat Y_k^{(t-1)}, M_j}, A; \Theta_t)_v
    """
    component.eval()
    outputs = [average(component, graph, labels) for labels in inputs]
    return outputs[0] if len(outputs) == 1 else torch.stack(outputs).mean(dim=0)


@torch.no_grad()
def predict_at(component: Component, graph: Streamed, chosen: Tensor, inputs: Sequence[Any]) -> Tensor:
    """As :func:`predict`, for the chosen nodes, bool ``[N]``, of a large graph: ``[n, outputs]``."""
    component.eval()
    nodes = chosen.nonzero().squeeze(1)
    of = component.runner, component.head, graph, nodes
    return torch.stack([outputs_at(*of, labels) for labels in inputs]).mean(dim=0)


def stages(components: Sequence[Component], test: TestGraph) -> Iterator[Tensor]:
    """Replays the recursion with what was learned.

    Args:
        components: Θ_0, .., Θ_t.
        test: the graph to predict.

    Yields:
        The parameters of the label distributions ``[N, outputs]``, after each component.
    """
    predicted = None
    for t, component in enumerate(components):
        if t == 0 and test.start is not None:
            predicted = test.start.predict(test.graph, test.y)
        else:
            predicted = predict(component, test.graph, test.inputs(t, predicted))
        yield predicted


def infer(components: Sequence[Component], test: TestGraph) -> Tensor | None:
    """The last of the :func:`stages`; None without components."""
    predicted = None
    for stage in stages(components, test):
        predicted = stage
    return predicted


@torch.no_grad()
def infer_samples(components: Sequence[Component], test: TestGraph) -> Tensor:
    """As :func:`infer`, with the last step's single samples ``[N, J*K, outputs]`` instead of their mean."""
    *before, last = components
    if not before and test.start is not None:
        return test.start.predict(test.graph, test.y).unsqueeze(1)  # nothing is drawn for it
    inputs = test.inputs(len(before), infer(before, test))
    last.eval()
    return torch.cat([each_sample(last, test.graph, labels) for labels in inputs], dim=1)
