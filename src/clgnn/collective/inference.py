"""The recursion Θ_0, .., Θ_T on any graph, averaged over J masks and K samples (equation 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from clgnn.collective.averaging import average, each_sample
from clgnn.collective.sampling import LabelInput
from clgnn.component import Component
from clgnn.graph import Graph


def stages(
    components: Sequence[Component],
    graph: Graph,
    y: Tensor,
    masks: Sequence[Tensor],
    label_input: LabelInput,
    generator: torch.Generator,
    predicted: Tensor | None = None,
) -> Iterator[Tensor]:
    r"""Replays the recursion with what was learned.

    .. math::
        Z_v^{(t)} = \frac{1}{JK} \sum_{j=1}^J \sum_{k=1}^K
        \mathrm{GNN}(X_{Y_L, \hat Y_k^{(t-1)}, M_j}, A; \Theta_t)_v

    Args:
        components: Θ_0, .., Θ_{t}.
        graph: any graph.
        y: the labels that may be seen, ``[N]``.
        masks: which of them are shown, J times a bool ``[N]``.
        label_input: how labels enter.
        generator: for the draws.
        predicted: of the components before these, ``[N, outputs]``; None if there are none.

    Yields:
        The parameters of the label distributions ``[N, outputs]``, after each component.
    """
    for component in components:
        component.eval()
        with torch.no_grad():
            inputs = (label_input(predicted, y, mask, generator) for mask in masks)
            predicted = torch.stack([average(component, graph, labels) for labels in inputs]).mean(dim=0)
        yield predicted


def infer(
    components: Sequence[Component],
    graph: Graph,
    y: Tensor,
    masks: Sequence[Tensor],
    label_input: LabelInput,
    generator: torch.Generator,
    predicted: Tensor | None = None,
) -> Tensor | None:
    """The last of the :func:`stages`; without components, where the recursion starts: ``predicted``."""
    for stage in stages(components, graph, y, masks, label_input, generator, predicted):
        predicted = stage
    return predicted


@torch.no_grad()
def infer_samples(
    components: Sequence[Component],
    graph: Graph,
    y: Tensor,
    masks: Sequence[Tensor],
    label_input: LabelInput,
    generator: torch.Generator,
) -> Tensor:
    """As :func:`infer`, with the last step's single samples ``[N, J*K, outputs]`` instead of their mean."""
    *before, last = components
    predicted = infer(before, graph, y, masks, label_input, generator)
    last.eval()
    samples = [each_sample(last, graph, label_input(predicted, y, mask, generator)) for mask in masks]
    return torch.cat(samples, dim=1)
