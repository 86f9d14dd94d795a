"""A gradient step on the pseudolikelihood, from one part of the graph or from several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from clgnn.collective.averaging import average
from clgnn.collective.component import Component
from clgnn.data.graph import Graph, known
from clgnn.engine import processes
from clgnn.engine.rings import at_outputs

Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Of outputs ``[n, outputs]`` and labels ``[n]``: their mean negative log-likelihood."""


class NotFinite(ValueError):
    """Something that should be numbers has become NaN or infinite; the message is what."""


class Part(NamedTuple):
    """What a step learns from, or a part of it.

    Attributes:
        graph: n nodes; nothing asks where they come from.
        y: the labels ``[n]`` that are shown or targets, unknown elsewhere.
        shown: the mask M, bool ``[n]``; the labels outside of it are the targets.
        labels: the label columns of the K samples under this mask, ``[n, K, C]``.
        share: of the part's loss in the loss of the step.
        seed: of its dropout; None if the random numbers go on from where they are.
    """

    graph: Graph
    y: Tensor
    shown: Tensor
    labels: Tensor
    share: float = 1.0
    seed: int | None = None


def gradients(component: Component, part: Part, loss_of: Loss) -> Tensor:
    """Forward and backward: gives the part's share of the loss, and leaves its gradients."""
    if part.seed is not None:
        torch.manual_seed(part.seed)
    targets = known(part.y) & ~part.shown
    outputs = average(component, part.graph, part.labels)[at_outputs(part.graph, targets)]
    loss = loss_of(outputs, part.y[targets])
    if not isinstance(loss, Tensor) or loss.dim():
        raise ValueError(f"loss gives {type(loss).__name__}; expected a tensor with one number")
    if processes.number() == 1 and not bool(torch.isfinite(outputs).all()):
        raise NotFinite("the outputs of the GNN")
    if part.share != 1:
        loss = loss * part.share
    loss.backward()
    return loss.detach()


def gradient_step(
    component: Component,
    optimizer: torch.optim.Optimizer,
    parts: Iterable[tuple[int, Part]],
    loss_of: Loss,
    max_grad_norm: float = math.inf,
    num_parts: int = 1,
) -> float:
    r"""One step on the pseudolikelihood of the labels that the mask hides.

    .. math::
        -\frac{1}{|\bar M|} \sum_{v \in V_L} \bar M_v \log \sigma(W \bar Z_v(M; \Theta) + b)_{y_v}

    The sum over the targets may come in parts. Their gradients are added up in the order of their numbers,
    whichever process they come from, so that the number of processes changes not a bit.

    Args:
        component: Θ, W and b, which are updated.
        optimizer: of their parameters.
        parts: those that this process does, with their numbers.
        loss_of: the mean negative log-likelihood of outputs and labels.
        max_grad_norm: gradients are clipped to this norm, the condition of proposition 2.
        num_parts: how many parts there are in all processes.

    Returns:
        The loss.

    Raises:
        NotFinite: if the outputs, the loss or a gradient are no numbers; no weight has changed then.
    """
    component.train()
    weights = [weight for weight in component.parameters() if weight.requires_grad]
    if num_parts == 1 and processes.number() == 1:
        optimizer.zero_grad()
        ((_, part),) = parts
        total = gradients(component, part, loss_of)
    else:
        found = {}
        for number, part in parts:
            optimizer.zero_grad()
            found[number] = _flat(gradients(component, part, loss_of), weights)
        like = torch.empty(1 + sum(weight.numel() + 1 for weight in weights), device=weights[0].device)
        total = _unflat(processes.summed(found, num_parts, like), weights)
    norm = nn.utils.clip_grad_norm_(component.parameters(), max_grad_norm)
    if not math.isfinite(total.item()):
        raise NotFinite("the loss")
    if not math.isfinite(norm.item()):
        for name, weight in component.named_parameters():
            if weight.grad is not None and not bool(torch.isfinite(weight.grad).all()):
                raise NotFinite(f"the gradient of {name}")
    optimizer.step()
    return total.item()


def _flat(loss: Tensor, weights: list[nn.Parameter]) -> Tensor:
    """A loss and the gradients of the weights as one vector; with each, whether it has a gradient at all."""
    pieces = [loss.view(1)]
    for weight in weights:
        grad = weight.grad
        there = loss.new_full((1,), float(grad is not None))
        pieces += [there, torch.zeros_like(weight).view(-1) if grad is None else grad.reshape(-1)]
    return torch.cat(pieces)


def _unflat(vector: Tensor, weights: list[nn.Parameter]) -> Tensor:
    """Sets the gradients from such a vector; gives the loss."""
    rest: list[Tensor]
    loss: Tensor
    loss, *rest = vector.split([1, *(size for weight in weights for size in (1, weight.numel()))])
    for weight, there, grad in zip(weights, rest[::2], rest[1::2], strict=True):
        weight.grad = grad.view_as(weight).clone() if bool(there > 0) else None
    return loss
