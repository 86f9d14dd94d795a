"""From the labels that users have to those that the method works with, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from clgnn.collective.sampling import Categorical, Gaussian, LabelDistribution
from clgnn.data.graph import known
from clgnn.estimators.calibration import AS_IT_IS, DOUBTS, ENOUGH, Calibration, best_temperature
from clgnn.estimators.metrics import CLASSIFICATION, REGRESSION, Array, Metric, as_array, find_metric


class Labelling(Protocol):
    """What was learned of the labels themselves."""

    metrics: ClassVar[dict[str, Callable[[Array, Array], float]]]

    default_metric: ClassVar[str]

    score_metric: ClassVar[str | None]
    """What ``score`` gives by default; None for what validation goes by."""

    @property
    def family(self) -> LabelDistribution: ...

    @staticmethod
    def find_metric(metric: str | Callable[[Array, Array], float]) -> Metric:
        """A metric by its name, before the labels are known."""

    def metric(self, metric: str | Callable[[Array, Array], float]) -> Metric:
        """A metric by its name, or a function of the user's own."""

    def encode(self, y: Tensor, name: str) -> Tensor:
        """The user's labels ``[N]`` to the family's; ``name`` is the mask that they came from."""

    def unknown(self, num_nodes: int) -> Tensor:
        """No label for anybody, ``[N]``, as :meth:`encode` gives it."""

    def restore(self, y: Tensor) -> Tensor:
        """Known labels of the family ``[N]`` in the units of :meth:`decode`."""

    def decode(self, outputs: Tensor, calibration: Calibration = AS_IT_IS) -> Tensor:
        """The head's outputs ``[..., outputs]`` to probabilities, or to means and standard deviations."""

    def parameters(self, distribution: Tensor) -> Tensor:
        """The outputs that :meth:`decode` turns into this distribution."""

    def calibration(self, outputs: Tensor, y: Tensor) -> Calibration:
        """What makes encoded labels ``[N]`` most likely for outputs ``[N, outputs]``."""

    def log_loss(self, distribution: Tensor, y: Tensor) -> float:
        """Mean negative log-likelihood, in the units of :meth:`decode`; it decides between equals."""

    def predict(self, distribution: Tensor) -> Tensor:
        """The predicted label of each node, ``[N]``, from what :meth:`decode` gives."""

    def uncertainty(self, distribution: Tensor) -> Tensor:
        """How unsure a prediction is, ``[N]``, from what :meth:`decode` gives."""

    def spread(self, samples: Tensor) -> Tensor:
        """How much single samples ``[N, S, outputs]`` differ, one number for each node, ``[N]``."""


@dataclass(frozen=True)
class Classes:
    """Integer classes, in order; -1 is unknown.

    Attributes:
        values: the classes.
        weights: of each of them in the loss.
        threshold: the second of two classes is predicted from this probability on; None: the more probable.

    Example:
        >>> import torch
        >>> Classes.learn(torch.tensor([7, -1, 3, 7])).encode(torch.tensor([3, 7, -1]), "train_mask")
        tensor([ 0,  1, -1])
    """

    metrics: ClassVar[dict[str, Callable[[Array, Array], float]]] = CLASSIFICATION
    default_metric: ClassVar[str] = "accuracy"
    score_metric: ClassVar[str | None] = None
    values: tuple[int, ...]
    weights: tuple[float, ...] | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        given = self.threshold
        real = isinstance(given, float | int) and 0 <= given <= 1
        if given is not None and not (real and len(self.values) == 2):
            raise ValueError(f"threshold is {given!r}; expected a number from 0 to 1, for two classes")

    @classmethod
    def learn(cls, y: Tensor, class_weight: str | dict[int, float] | None = None) -> Self:
        one_label(y)
        if y.is_floating_point():
            raise ValueError(
                f"y is {y.dtype}; expected integer classes, -1 if unknown. For numbers: CollectiveRegressor"
            )
        values, counts = y[known(y)].unique(return_counts=True)
        if len(values) < 2:
            raise ValueError(
                f"all training labels are of class {int(values[0])}; expected two classes at least"
            )
        classes = tuple(values.tolist())
        if class_weight is None:
            return cls(classes)
        if class_weight == "balanced":
            balanced = counts.sum() / (len(values) * counts)
            return cls(classes, tuple(balanced.tolist()))
        if not isinstance(class_weight, dict) or set(class_weight) != set(classes):
            raise ValueError(
                f"class_weight is {class_weight!r}; expected 'balanced', or a dict with one weight for each "
                f"class: {{{', '.join(f'{c}: 1.0' for c in classes)}}}"
            )
        return cls(classes, tuple(float(class_weight[c]) for c in classes))

    @property
    def family(self) -> Categorical:
        return Categorical(len(self.values), self.weights)

    @staticmethod
    def find_metric(metric: str | Callable[[Array, Array], float]) -> Metric:
        return find_metric(metric, CLASSIFICATION)

    def metric(self, metric: str | Callable[[Array, Array], float]) -> Metric:
        return find_metric(metric, CLASSIFICATION, self.values).at(self.threshold)

    def encode(self, y: Tensor, name: str) -> Tensor:
        if y.is_floating_point():
            raise ValueError(f"y is {y.dtype}; expected integer classes, -1 for unknown")
        values = torch.tensor(self.values)
        index = torch.searchsorted(values, y.contiguous()).clamp(max=len(values) - 1)
        unseen = known(y) & (values[index] != y)
        if bool(unseen.any()):
            raise ValueError(
                f"{name} has class {int(y[unseen][0])}, which no training label has; expected one of "
                f"{self.values}: leave those nodes out, or add training labels"
            )
        return torch.where(known(y), index, -1)

    def unknown(self, num_nodes: int) -> Tensor:
        return torch.full((num_nodes,), -1)

    def restore(self, y: Tensor) -> Tensor:
        return y

    def decode(self, outputs: Tensor, calibration: Calibration = AS_IT_IS) -> Tensor:
        temperature, doubt = calibration
        sure = (outputs if temperature == 1 else outputs / temperature).softmax(dim=-1)
        return sure if doubt == 0 else (1 - doubt) * sure + doubt / outputs.size(-1)

    @staticmethod
    def log_decode(outputs: Tensor, calibration: Calibration) -> Tensor:
        """The logarithm of :meth:`decode`, finite however sure an output is."""
        temperature, doubt = calibration
        sure = (outputs / temperature).log_softmax(dim=-1)
        if doubt == 0:
            return sure
        return torch.logaddexp(sure + math.log1p(-doubt), sure.new_tensor(doubt / outputs.size(-1)).log())

    def parameters(self, distribution: Tensor) -> Tensor:
        return distribution.float().clamp(min=1e-12).log()

    def calibration(self, outputs: Tensor, y: Tensor, doubts: Sequence[float] = DOUBTS) -> Calibration:
        logits, truth, number = outputs.detach().cpu().double(), y.cpu(), outputs.size(1)
        # Platt's targets: a few labels that are all predicted right do not make a prediction certain
        smooth = number / (number - 1) / (len(truth) + 2)
        targets = (1 - smooth) * F.one_hot(truth, number).double() + smooth / number

        def loss(calibration: Calibration, step: int = 1) -> float:
            return -(targets[::step] * self.log_decode(logits[::step], calibration)).sum(dim=1).mean().item()

        few = partial(loss, step=max(1, len(truth) // ENOUGH))
        doubt = min((best_temperature(few, doubt) for doubt in doubts), key=lambda found: found[0])[1].doubt
        return best_temperature(loss, doubt)[1]

    def log_loss(self, distribution: Tensor, y: Tensor) -> float:
        likelihood = distribution.gather(1, y.unsqueeze(1))
        return -likelihood.clamp(min=1e-30).log().mean().item()

    def predict(self, distribution: Tensor) -> Tensor:
        return torch.tensor(self.values)[self.decide(distribution)]

    def decide(self, distribution: Tensor) -> Tensor:
        """The number of the predicted class in the order of ``values``, ``[N]``."""
        if self.threshold is None:
            return distribution.argmax(dim=1)
        return (distribution[:, 1].double() >= self.threshold).long()  # as the metrics have it

    def uncertainty(self, distribution: Tensor) -> Tensor:
        return 1 - distribution.gather(1, self.decide(distribution).unsqueeze(1)).squeeze(1)

    def spread(self, samples: Tensor) -> Tensor:
        predicted = samples.mean(dim=1).argmax(dim=1)
        probability = self.decode(samples)[torch.arange(len(samples)), :, predicted]
        return probability.std(dim=1, correction=0)


@dataclass(frozen=True)
class Numbers:
    """Real labels, standardised by the mean and deviation of the training labels; NaN is unknown.

    Example:
        >>> import torch
        >>> Numbers.learn(torch.tensor([1.0, 3.0])).encode(torch.tensor([3.0, 2.0]), "train_mask")
        tensor([1., 0.])
    """

    metrics: ClassVar[dict[str, Callable[[Array, Array], float]]] = REGRESSION
    default_metric: ClassVar[str] = "rmse"
    score_metric: ClassVar[str | None] = "r2"
    mean: float
    std: float

    @classmethod
    def learn(cls, y: Tensor) -> Self:
        one_label(y)
        values = y[known(y)].double()
        if bool(values.isinf().any()):
            raise ValueError("y has infinite values; expected numbers, NaN for unknown")
        std = values.std(correction=0).item()
        if not std > 0:
            raise ValueError(f"all training labels are {values[0].item():g}; expected two values at least")
        return cls(values.mean().item(), std)

    @property
    def family(self) -> Gaussian:
        return Gaussian()

    @staticmethod
    def find_metric(metric: str | Callable[[Array, Array], float]) -> Metric:
        return find_metric(metric, REGRESSION)

    def metric(self, metric: str | Callable[[Array, Array], float]) -> Metric:
        return find_metric(metric, REGRESSION)

    def encode(self, y: Tensor, name: str) -> Tensor:
        if not y.is_floating_point():
            raise ValueError(
                f"y is {y.dtype}; expected real labels, NaN for unknown. For classes: CollectiveClassifier"
            )
        return ((y.double() - self.mean) / self.std).float()

    def unknown(self, num_nodes: int) -> Tensor:
        return torch.full((num_nodes,), float("nan"))

    def restore(self, y: Tensor) -> Tensor:
        return y * self.std + self.mean

    def decode(self, outputs: Tensor, calibration: Calibration = AS_IT_IS) -> Tensor:
        mean, scale = outputs[..., 0], Gaussian().scale(outputs) * calibration.temperature
        return torch.stack([mean * self.std + self.mean, scale * self.std], dim=-1)

    def parameters(self, distribution: Tensor) -> Tensor:
        mean, std = distribution.float().unbind(dim=1)
        raw = (std / self.std - Gaussian.minimum_scale).clamp(min=1e-6)
        return torch.stack([(mean - self.mean) / self.std, raw.expm1().log()], dim=1)

    def calibration(self, outputs: Tensor, y: Tensor) -> Calibration:
        errors = (y.cpu() - outputs[:, 0].detach().cpu()) / Gaussian().scale(outputs.detach().cpu())
        return Calibration(max(float(errors.square().mean().sqrt()), 1e-3))

    def log_loss(self, distribution: Tensor, y: Tensor) -> float:
        mean, std = distribution.unbind(dim=1)
        return F.gaussian_nll_loss(mean, y, std**2, full=True).item()

    def predict(self, distribution: Tensor) -> Tensor:
        return distribution[:, 0]

    def uncertainty(self, distribution: Tensor) -> Tensor:
        return distribution[:, 1]

    def spread(self, samples: Tensor) -> Tensor:
        return self.decode(samples)[..., 0].std(dim=1, correction=0)


def one_label(y: Tensor) -> None:
    """Refuses several labels for each node."""
    if y.dim() == 2:
        raise ValueError(
            f"y has shape {tuple(y.shape)}; expected one label for each node, [N]. For several labels of 0 "
            "and 1: CollectiveMultiLabelClassifier"
        )


def measure(labelling: Labelling, metric: Metric, y: Tensor, distribution: Tensor) -> float:
    """A metric of encoded labels ``[N]`` and of what ``decode`` gives, in the user's units."""
    value = metric.measure(as_array(labelling.restore(y)), as_array(distribution))
    try:
        return float(value)
    except TypeError:
        raise ValueError(f"metric gives {type(value).__name__}; expected a number") from None
