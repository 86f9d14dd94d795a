"""How good predictions are: their labels, and their probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import sklearn.metrics as sk
from numpy.typing import NDArray
from torch import Tensor

from clgnn.estimators.settings import LOWER_IS_BETTER

Array = NDArray[np.float64]


def calibration_error(y: Array, probabilities: Array, bins: int = 15) -> float:
    """Expected calibration error: how far confidence is from accuracy, over equally wide bins.

    Args:
        y: classes 0..C-1, ``[N]``.
        probabilities: ``[N, C]``.
        bins: of the confidence.

    Example:
        >>> import numpy as np
        >>> calibration_error(np.array([0, 1]), np.array([[1.0, 0.0], [1.0, 0.0]]))
        0.5
    """
    found = reliability(y, probabilities, bins)
    gap = np.abs(np.subtract(found["accuracy"], found["confidence"]))
    return float(np.dot(gap, found["count"]) / len(y))


def reliability(y: Array, probabilities: Array, bins: int = 15) -> dict[str, list[float]]:
    """What a reliability diagram shows: by bin of confidence, its mean, the accuracy, and how many nodes.

    Arguments as for :func:`calibration_error`; the mean and the accuracy of an empty bin are 0.

    Example:
        >>> import numpy as np
        >>> reliability(np.array([0, 1]), np.array([[0.9, 0.1], [0.7, 0.3]]), bins=2)
        {'confidence': [0.0, 0.8], 'accuracy': [0.0, 0.5], 'count': [0.0, 2.0]}
    """
    confidence, correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == y
    index = np.minimum((confidence * bins).astype(int), bins - 1)
    count = np.bincount(index, minlength=bins)
    sums = [np.bincount(index, values, minlength=bins) for values in (confidence, correct)]
    means = [(total / np.maximum(count, 1)).tolist() for total in sums]
    return {"confidence": means[0], "accuracy": means[1], "count": count.astype(float).tolist()}


def _log_loss(y: Array, p: Array) -> float:
    return float(sk.log_loss(y, p / p.sum(axis=1, keepdims=True), labels=np.arange(p.shape[1])))


def _brier(y: Array, p: Array) -> float:
    labels = np.arange(p.shape[1])
    return float(sk.brier_score_loss(y, p / p.sum(axis=1, keepdims=True), labels=labels, scale_by_half=False))


CLASSIFICATION: dict[str, Callable[[Array, Array], float]] = {
    "accuracy": lambda y, p: float(sk.accuracy_score(y, p.argmax(axis=1))),
    # of the classes that are there; scikit-learn's own warns when another one is predicted
    "balanced_accuracy": lambda y, p: float(
        sk.recall_score(y, p.argmax(axis=1), labels=np.unique(y), average="macro", zero_division=0)
    ),
    "macro_f1": lambda y, p: float(
        sk.f1_score(y, p.argmax(axis=1), labels=np.unique(y), average="macro", zero_division=0)
    ),
    "log_loss": _log_loss,
    "brier": _brier,
    "calibration_error": calibration_error,
}
"""Of true classes ``[N]`` and probabilities ``[N, C]``."""


def _gaussian_log_loss(y: Array, p: Array) -> float:
    mean, std = p.T
    return float(np.mean(0.5 * ((y - mean) / std) ** 2 + np.log(std) + 0.5 * np.log(2 * np.pi)))


REGRESSION: dict[str, Callable[[Array, Array], float]] = {
    "r2": lambda y, p: float(sk.r2_score(y, p[:, 0])) if len(y) > 1 else float("nan"),
    "rmse": lambda y, p: float(sk.root_mean_squared_error(y, p[:, 0])),
    "mae": lambda y, p: float(sk.mean_absolute_error(y, p[:, 0])),
    "log_loss": _gaussian_log_loss,
}
"""Of true values ``[N]`` and the means and standard deviations ``[N, 2]``."""


def as_array(tensor: Tensor) -> Array:
    return tensor.detach().cpu().numpy().astype(np.float64)


__all__ = [
    "CLASSIFICATION",
    "LOWER_IS_BETTER",
    "REGRESSION",
    "Array",
    "as_array",
    "calibration_error",
    "reliability",
]
