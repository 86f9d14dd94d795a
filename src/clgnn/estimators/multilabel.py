"""Several labels of 0 and 1 for each node: what they are, how they are judged, and their estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import sklearn.metrics as sk
import torch
import torch.nn.functional as F
from torch import Tensor

from clgnn.collective.sampling import Bernoulli
from clgnn.data.graph import Graphs, Mask
from clgnn.estimators.calibration import AS_IT_IS, Calibration, best_temperature
from clgnn.estimators.metrics import Array, Metric, as_array
from clgnn.estimators.recursion import Collective
from clgnn.estimators.settings import LOWER_IS_BETTER


def _by_label(score: Callable[[Array, Array], float], y: Array, p: Array) -> list[float]:
    """A score of each label, over the nodes where it is known; NaN where no node has it."""
    known = ~np.isnan(y)
    parts = [(y[there, i], p[there, i]) for i, there in enumerate(known.T)]
    return [float(score(*part)) if (part[0] == 1).any() else float("nan") for part in parts]


def _mean(score: Callable[[Array, Array], float], y: Array, p: Array) -> float:
    """The mean over the labels for which there is a score; NaN if there is none."""
    found = np.array(_by_label(score, y, p))
    return float(found[~np.isnan(found)].mean()) if not np.isnan(found).all() else float("nan")


def _f1(y: Array, p: Array) -> float:
    return float(sk.f1_score(y, p >= 0.5, zero_division=0))


def _of_both(score: Callable[[Array, Array], float], y: Array, p: Array) -> float:
    """A score that compares the nodes with and without a label; NaN if one of them is missing."""
    return float(score(y, p)) if 0 < int(y.sum()) < len(y) else float("nan")


_roc_auc, _average_precision = (partial(_of_both, f) for f in (sk.roc_auc_score, sk.average_precision_score))


def _flat(score: Callable[[Array, Array], float], y: Array, p: Array) -> float:
    """A score of all known labels of all nodes together."""
    there = ~np.isnan(y)
    return float(score(y[there], p[there]))


def _all_right(y: Array, p: Array) -> float:
    return float(np.where(np.isnan(y), True, (p >= 0.5) == (y == 1)).all(axis=1).mean())


def _likelihood(y: Array, p: Array) -> float:
    said = np.clip(np.where(y == 1, p, 1 - p), 1e-30, 1)
    return float(-np.log(said).mean())


MULTILABEL: dict[str, Callable[[Array, Array], float]] = {
    "macro_f1": partial(_mean, _f1),
    "micro_f1": partial(_flat, _f1),
    "accuracy": _all_right,
    "hamming_loss": partial(_flat, lambda y, p: float(((p >= 0.5) != (y == 1)).mean())),
    "roc_auc": partial(_mean, _roc_auc),
    "average_precision": partial(_mean, _average_precision),
    "log_loss": partial(_flat, _likelihood),
    "brier": partial(_flat, lambda y, p: float(np.mean((p - y) ** 2))),
}
"""Of true labels ``[N, L]``, NaN where unknown, and probabilities ``[N, L]``.

``accuracy`` is scikit-learn's: the share of nodes all of whose labels are right.
"""
ONE_LABEL: dict[str, Callable[[Array, Array], float]] = {
    "f1": _f1,
    "roc_auc": _roc_auc,
    "average_precision": _average_precision,
}
"""The scores of a single label: ``f1:0`` is that of the first one."""


@dataclass(frozen=True)
class MultiLabels:
    """L labels for each node, each 0 or 1; NaN is unknown.

    Example:
        >>> labels = MultiLabels.learn(torch.tensor([[0.0, 1.0], [1.0, torch.nan]], dtype=torch.float64))
        >>> labels.number, labels.predict(torch.tensor([[0.2, 0.5]]))
        (2, tensor([[0, 1]]))
    """

    metrics: ClassVar[dict[str, Callable[[Array, Array], float]]] = MULTILABEL
    default_metric: ClassVar[str] = "macro_f1"
    score_metric: ClassVar[str | None] = None
    number: int

    @classmethod
    def learn(cls, y: Tensor) -> Self:
        if y.dim() != 2:
            raise ValueError(
                f"y has shape {tuple(y.shape)}; expected [N, L], L labels of 0 and 1 for each node"
            )
        return cls(y.size(1))

    @property
    def family(self) -> Bernoulli:
        return Bernoulli(self.number)

    @staticmethod
    def find_metric(metric: str | Callable[[Array, Array], float]) -> Metric:
        return find_multilabel_metric(metric)

    def metric(self, metric: str | Callable[[Array, Array], float]) -> Metric:
        return find_multilabel_metric(metric, self.number)

    def encode(self, y: Tensor, name: str) -> Tensor:
        if y.dim() != 2 or y.size(1) != self.number:
            raise ValueError(f"y has shape {tuple(y.shape)}; expected [N, {self.number}], as in training")
        return y.float()

    def unknown(self, num_nodes: int) -> Tensor:
        return torch.full((num_nodes, self.number), torch.nan)

    def restore(self, y: Tensor) -> Tensor:
        return y

    def decode(self, outputs: Tensor, calibration: Calibration = AS_IT_IS) -> Tensor:
        temperature = calibration.temperature
        return (outputs if temperature == 1 else outputs / temperature).sigmoid()

    def parameters(self, distribution: Tensor) -> Tensor:
        return distribution.float().clamp(1e-7, 1 - 1e-7).logit()

    def calibration(self, outputs: Tensor, y: Tensor) -> Calibration:
        there = ~y.cpu().isnan()
        logits, truth = outputs.detach().cpu().double()[there], y.cpu().double()[there]
        smooth = (truth * len(truth) + 1) / (len(truth) + 2)  # Platt's targets

        def loss(calibration: Calibration) -> float:
            return F.binary_cross_entropy_with_logits(logits / calibration.temperature, smooth).item()

        return best_temperature(loss)[1]

    def log_loss(self, distribution: Tensor, y: Tensor) -> float:
        return MULTILABEL["log_loss"](as_array(y), as_array(distribution))

    def predict(self, distribution: Tensor) -> Tensor:
        return (distribution >= 0.5).long()

    def uncertainty(self, distribution: Tensor) -> Tensor:
        return torch.minimum(distribution, 1 - distribution).mean(dim=1)

    def spread(self, samples: Tensor) -> Tensor:
        return self.decode(samples).std(dim=1, correction=0).mean(dim=1)


def find_multilabel_metric(
    metric: str | Callable[[Array, Array], float], number: int | None = None
) -> Metric:
    """A metric of several labels by its name, or a function of one's own.

    Args:
        metric: one of :data:`MULTILABEL`; or ``"f1:0"``, ``"roc_auc:0"``, ``"average_precision:0"``, of the
            first label; or a function of labels ``[N, L]``, NaN where unknown, and probabilities ``[N, L]``.
        number: L; None before it is known.

    Example:
        >>> y, p = np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[0.1, 0.9], [0.2, 0.8]])
        >>> find_multilabel_metric("accuracy").measure(y, p), find_multilabel_metric("f1:1").measure(y, p)
        (0.5, 1.0)
    """
    if callable(metric):
        return Metric(getattr(metric, "__name__", type(metric).__name__), metric)
    if metric in MULTILABEL:
        return Metric(metric, MULTILABEL[metric], metric in LOWER_IS_BETTER)
    name, mark, place = metric.partition(":")
    if mark and name in ONE_LABEL and place.isdecimal() and (number is None or int(place) < number):
        score, label = ONE_LABEL[name], int(place)
        return Metric(metric, lambda y, p: _mean(score, y[:, [label]], p[:, [label]]))
    last = "L - 1" if number is None else str(number - 1)
    raise ValueError(
        f"metric is {metric!r}; expected one of {', '.join(MULTILABEL)}, or f1:LABEL, roc_auc:LABEL or "
        f"average_precision:LABEL with the number of a label, 0 to {last}, or a function"
    )


@dataclass(repr=False, eq=False)
class CollectiveMultiLabelClassifier(Collective):
    r"""Boosts a GNN by collective learning, where a node has several labels of 0 and 1.

    As :class:`~clgnn.CollectiveClassifier`, with a Bernoulli for each label in place of the Categorical:

    .. math:: \hat y_{v,l} \sim \mathrm{Bernoulli}(\sigma(W Z_v + b)_l)

    Labels are drawn and fed back as one column each: 1, -1 for 0, and 0 where nothing is known. ``y`` is
    ``[N, L]`` of 0 and 1, -1 or NaN where unknown; of a node's labels some may be known. A node is learned
    from, shown and judged as a whole, with the labels that it has. The parameters are those of the
    classifier, without ``class_weight``; ``start`` is ``"plain"``, ``"paper"`` or ``"given"``. ``metric`` is
    one of :data:`MULTILABEL`, ``"macro_f1"`` by default.

    ``predict_proba`` gives ``[N, L]``, ``predict`` 0 or 1 for each; ``uncertainty`` is the share of a node's
    labels that one expects to be wrong.

    Example:
        >>> from torch_geometric.data import Data
        >>> line = torch.arange(29)
        >>> y = torch.stack([torch.arange(30) % 2, torch.arange(30) // 15], dim=1)
        >>> data = Data(x=torch.rand(30, 2), edge_index=torch.stack([line, line + 1]), y=y)
        >>> model = CollectiveMultiLabelClassifier(num_iterations=1, max_epochs=5).fit(data, range(20))
        >>> model.predict_proba(data).shape, model.predict(data).shape
        (torch.Size([30, 2]), torch.Size([30, 2]))
    """

    _labelling: ClassVar[Any] = MultiLabels

    def evaluate_labels(
        self,
        data: Graphs,
        mask: Mask,
        observed_mask: Mask | None = None,
        names: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """The scores of each label on the nodes of the mask: one row per label.

        Args:
            data, mask, observed_mask: as for ``evaluate``.
            names: of the labels; by default their numbers.

        Returns:
            ``label``, ``known`` (the judged nodes where it is known), ``positive`` (those where it is 1),
            ``f1``, ``roc_auc`` and ``average_precision``; NaN where all judged nodes agree.
        """
        self._check_fitted()
        y, p = (as_array(part) for part in self._to_judge(data, mask, observed_mask))
        scores = {name: _by_label(score, y, p) for name, score in ONE_LABEL.items()}
        labels = list(range(y.shape[1])) if names is None else list(names)
        counts = {"known": (~np.isnan(y)).sum(axis=0), "positive": np.nansum(y, axis=0).astype(int)}
        return pd.DataFrame({"label": labels, **counts, **scores})
