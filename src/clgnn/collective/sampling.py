"""Equation 4: K label draws for each node, Ŷ ~ Categorical(σ(W Z + b)), or a Gaussian for regression.

A draw is the inverse distribution function at a uniform point, so that the same points serve both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

Sampling = Literal["systematic", "iid"]
Ranges: TypeAlias = Sequence[tuple[int, int]]
BLOCK = 65_536
"""So many nodes have draws of their own stream of random numbers."""


def ranges(num_nodes: int) -> Ranges:
    """The rows of each block, from the first to before the last."""
    return [(first, min(first + BLOCK, num_nodes)) for first in range(0, num_nodes, BLOCK)]


def stream(device: torch.device, *numbers: int) -> torch.Generator:
    """The randomness of one purpose: the same numbers give the same draws, whatever was drawn before.

    Example:
        >>> torch.rand(1, generator=stream(torch.device("cpu"), 0, 3)) == torch.rand(
        ...     1, generator=stream(torch.device("cpu"), 0, 3))
        tensor([True])
    """
    # a trailing 0 would be no number at all to a SeedSequence
    seed = np.random.SeedSequence([*numbers, 1]).generate_state(1)[0]
    return torch.Generator(device).manual_seed(int(seed))


def points(num_nodes: int, num_samples: int, sampling: Sampling, generator: torch.Generator) -> Tensor:
    r"""Uniform points in [0, 1), ``[N, K]``, independent between nodes.

    ``"iid"``: independent between samples too, as in the paper. ``"systematic"``: one uniform u for each
    node, and the points :math:`(u + \pi(k)) / K` with a random permutation π of 0..K-1 for each node. Each
    single point is still uniform and independent between nodes, so each sample has the same joint
    distribution over the nodes as before; but the K draws of a node cover its distribution evenly (each
    class ⌊Kp⌋ or ⌈Kp⌉ times), which lowers the variance of the average.

    Example:
        >>> import torch
        >>> u = points(2, 4, "systematic", torch.Generator().manual_seed(0))
        >>> (u * 4).floor().sort().values
        tensor([[0., 1., 2., 3.],
                [0., 1., 2., 3.]])
    """
    device = generator.device
    if sampling == "iid":
        return torch.rand(num_nodes, num_samples, generator=generator, device=device)
    order = torch.rand(num_nodes, num_samples, generator=generator, device=device).argsort(dim=1)
    start = torch.rand(num_nodes, 1, generator=generator, device=device)
    # (u + k) / K can round to 1 in float32
    return ((order + start) / num_samples).clamp_(max=1 - 2**-24)


def identifiers(num_nodes: int, num_samples: int, columns: int, generator: torch.Generator) -> Tensor:
    """K random numberings of the nodes, one-hot modulo m, ``[N, K, m]``.

    Up to m nodes, no two of them have the same identifier.

    Example:
        >>> import torch
        >>> identifiers(3, 1, 3, torch.Generator().manual_seed(0)).sum(dim=0)
        tensor([[1., 1., 1.]])
    """
    draws = torch.rand(num_nodes, num_samples, generator=generator, device=generator.device)
    return F.one_hot(draws.argsort(dim=0) % columns, columns).float()


class LabelDistribution(Protocol):
    """What a label is: how it enters the GNN, how the output is read, drawn from and scored."""

    @property
    def columns(self) -> int:
        """How many input columns a label takes."""

    @property
    def outputs(self) -> int:
        """How many numbers the head gives for each node (the parameters of its distribution)."""

    @property
    def points(self) -> int:
        """How many uniform points a draw needs for each node."""

    def encode(self, y: Tensor) -> Tensor:
        """``[N]`` to ``[N, columns]``; an unknown label is a row of zeros."""

    def draw(self, parameters: Tensor, points: Tensor) -> Tensor:
        """``[N, outputs]`` at points ``[N * points, K]`` to K draws ``[N, K, columns]``."""

    def mean(self, parameters: Tensor) -> Tensor:
        """The expected label columns, ``[N, columns]``."""

    def uninformed(self, num_nodes: int, device: torch.device) -> Tensor:
        """Parameters that know nothing: all classes alike, or the standard Gaussian."""

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        """Mean negative log-likelihood."""

    def mass(self, y: Tensor) -> float:
        """What the mean of :meth:`loss` divides by: the weight of known labels ``[n]``."""


@dataclass(frozen=True)
class Categorical:
    """Classes 0..C-1, unknown -1; the parameters are logits.

    Example:
        >>> import torch
        >>> family = Categorical(3)
        >>> family.encode(torch.tensor([2, -1]))
        tensor([[0., 0., 1.],
                [0., 0., 0.]])
        >>> family.draw(torch.tensor([[0.5, 0.25, 0.25]]).log(), torch.tensor([[0.1, 0.6]]))
        tensor([[[1., 0., 0.],
                 [0., 1., 0.]]])
    """

    num_classes: int
    class_weight: tuple[float, ...] | None = None
    points: ClassVar[int] = 1

    @property
    def columns(self) -> int:
        return self.num_classes

    @property
    def outputs(self) -> int:
        return self.num_classes

    def encode(self, y: Tensor) -> Tensor:
        return F.one_hot(y + 1, self.num_classes + 1)[:, 1:].float()

    def draw(self, parameters: Tensor, points: Tensor) -> Tensor:
        upper = parameters.softmax(dim=1).cumsum(dim=1)
        upper = (upper / upper[:, -1:]).unsqueeze(1)  # the last one is 1 exactly, above every point
        lower = F.pad(upper[..., :-1], (1, 0))
        point = points.unsqueeze(2)
        return ((point >= lower) & (point < upper)).float()  # one-hot without a detour

    def mean(self, parameters: Tensor) -> Tensor:
        return parameters.softmax(dim=1)

    def uninformed(self, num_nodes: int, device: torch.device) -> Tensor:
        return torch.zeros(num_nodes, self.num_classes, device=device)

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        weight = None if self.class_weight is None else parameters.new_tensor(self.class_weight)
        return F.cross_entropy(parameters, y, weight=weight)

    def mass(self, y: Tensor) -> float:
        if self.class_weight is None:
            return float(len(y))
        return float(torch.tensor(self.class_weight, dtype=torch.double)[y.cpu()].sum())


@dataclass(frozen=True)
class Gaussian:
    """Standardised real labels, unknown NaN; the parameters are the mean and a raw scale.

    Example:
        >>> import torch
        >>> family = Gaussian()
        >>> family.scale(family.uninformed(1, torch.device("cpu"))).round(decimals=4)
        tensor([1.])
    """

    columns: int = 1
    outputs: int = 2
    minimum_scale: float = 1e-2
    points: ClassVar[int] = 1

    def scale(self, parameters: Tensor) -> Tensor:
        return F.softplus(parameters[..., 1]) + self.minimum_scale

    def encode(self, y: Tensor) -> Tensor:
        return y.nan_to_num(0.0).float().unsqueeze(1)

    def draw(self, parameters: Tensor, points: Tensor) -> Tensor:
        normal = torch.special.ndtri(points.clamp(min=1e-6, max=1 - 1e-6))
        drawn: Tensor = parameters[:, :1] + self.scale(parameters).unsqueeze(1) * normal
        return drawn.unsqueeze(2)

    def mean(self, parameters: Tensor) -> Tensor:
        return parameters[:, :1]

    def uninformed(self, num_nodes: int, device: torch.device) -> Tensor:
        raw = torch.tensor([0.0, 1 - self.minimum_scale], device=device)
        raw[1] = raw[1].expm1().log()  # the inverse of softplus
        return raw.repeat(num_nodes, 1)

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        return F.gaussian_nll_loss(parameters[:, 0], y, self.scale(parameters) ** 2, full=True)

    def mass(self, y: Tensor) -> float:
        return float(len(y))


@dataclass(frozen=True)
class Bernoulli:
    """Several labels of 0 and 1 for each node, ``[N, L]``, unknown NaN; the parameters are logits.

    As input, 1 is 1, 0 is -1, and an unknown label is 0.

    Example:
        >>> import torch
        >>> family = Bernoulli(2)
        >>> family.encode(torch.tensor([[1.0, torch.nan], [0.0, 1.0]]))
        tensor([[ 1.,  0.],
                [-1.,  1.]])
        >>> family.draw(torch.tensor([[0.0, 9.0]]), torch.tensor([[0.4, 0.6], [0.4, 0.6]]))
        tensor([[[ 1.,  1.],
                 [-1.,  1.]]])
    """

    num_labels: int

    @property
    def columns(self) -> int:
        return self.num_labels

    @property
    def outputs(self) -> int:
        return self.num_labels

    @property
    def points(self) -> int:
        return self.num_labels

    def encode(self, y: Tensor) -> Tensor:
        return (2 * y - 1).nan_to_num(0.0).float()

    def draw(self, parameters: Tensor, points: Tensor) -> Tensor:
        n, k = len(parameters), points.size(1)
        point = points.view(n, self.num_labels, k).transpose(1, 2)
        return torch.where(point < parameters.sigmoid().unsqueeze(1), 1.0, -1.0)

    def mean(self, parameters: Tensor) -> Tensor:
        return 2 * parameters.sigmoid() - 1

    def uninformed(self, num_nodes: int, device: torch.device) -> Tensor:
        return torch.zeros(num_nodes, self.num_labels, device=device)

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        there = ~y.isnan()
        return F.binary_cross_entropy_with_logits(parameters[there], y[there].to(parameters.dtype))

    def mass(self, y: Tensor) -> float:
        return float((~y.isnan()).sum())


@dataclass(frozen=True)
class LabelInput:
    """The label columns of the GNN's input in equation 2, Y_L * M + Ŷ * (1 - M), for K samples.

    Attributes:
        family: what a label is.
        labels: what stands in for the labels that are not shown. ``"sampled"``: K draws from the
            predictions. ``"soft"``: their probabilities, which adds no expressive power (the paper's
            corollary). ``"uniform"``: draws that know nothing. ``"observed"``: nothing, so that only true
            labels are input. ``"identifiers"``: no labels at all, but :func:`identifiers` of the nodes.
            ``"none"``: no label columns at all, the plain GNN.
        num_samples: K.
        sampling: see :func:`points`.
        num_identifiers: the columns in place of those of labels, for identifiers; 0 for labels.
    """

    family: LabelDistribution
    labels: Literal["sampled", "soft", "uniform", "observed", "identifiers", "none"]
    num_samples: int
    sampling: Sampling
    num_identifiers: int = 0

    @property
    def columns(self) -> int:
        return 0 if self.labels == "none" else self.num_identifiers or self.family.columns

    @property
    def one_hot(self) -> bool:
        """Whether label columns are one-hot, or zero."""
        classes = isinstance(self.family, Categorical) and self.labels not in ("soft", "none")
        return (classes or self.labels == "identifiers") and self.columns < 256

    def in_blocks(
        self, predicted: Tensor | None, y: Tensor, shown: Tensor, *key: int, blocks: Ranges | None = None
    ) -> Iterator[tuple[slice, Tensor]]:
        """The input of all nodes, block by block of :data:`BLOCK` of them; arguments as for a call.

        The draws of a block depend on the key and on its number alone: not on the order in which blocks are
        gone through, nor on who does it. Some of them may be asked for, by the :func:`ranges` of their rows.

        Yields:
            The rows, and their label columns.
        """
        # a block in which no label is shown would have one sample only
        k = shown.size(1) if shown.dim() == 2 and self.labels != "none" else 1
        for first, last in ranges(len(y)) if blocks is None else blocks:
            rows, number = slice(first, last), first // BLOCK
            here = None if predicted is None else predicted[rows]
            labels = self(here, y[rows], shown[rows], stream(y.device, *key, number))
            yield rows, labels.expand(-1, max(k, labels.size(1)), -1)

    def __call__(
        self, predicted: Tensor | None, y: Tensor, shown: Tensor, generator: torch.Generator
    ) -> Tensor:
        """One input.

        Args:
            predicted: the parameters of the predictions Ŷ, ``[N, outputs]``; None before there are any.
            y: the labels that may be seen, ``[N]``.
            shown: the mask M, bool ``[N]``; or one mask for each sample, ``[N, K]``.
            generator: for the draws.

        Returns:
            ``[N, K, columns]``, with K = 1 where samples would be equal.
        """
        n = len(y)
        if self.labels == "none":
            return torch.empty(n, 1, 0, device=y.device)
        if self.labels == "identifiers":
            return identifiers(n, self.num_samples, self.columns, generator)
        if self.labels == "observed" or predicted is None:
            filled = torch.zeros(n, 1, self.columns, device=y.device)
        elif self.labels == "soft":
            filled = self.family.mean(predicted).unsqueeze(1)
        else:
            if self.labels == "uniform":
                predicted = self.family.uninformed(n, y.device)
            u = points(n * self.family.points, self.num_samples, self.sampling, generator)
            filled = self.family.draw(predicted, u)
        if not bool(shown.any()):
            return filled.to(self.family.encode(y[:1]).dtype)
        truth, seen = self.family.encode(y).unsqueeze(1), shown.view(n, -1, 1)
        if y.dim() == 2:  # of several labels some may be known
            seen = seen & ~y.isnan().unsqueeze(1)
        return torch.where(seen, truth, filled)
