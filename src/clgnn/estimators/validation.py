"""The one place that builds a validation: it alone knows the labels that choose."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from clgnn.collective.learning import Validation, Verdict
from clgnn.data.graph import Graphs, Mask, as_mask, disjoint, known, visible_labels
from clgnn.estimators.labelling import Labelling, measure
from clgnn.estimators.metrics import Metric

GROUPS = 40
"""So many parts of the validation nodes are left out, one at a time."""
ENOUGH = 20_000
"""Of more validation nodes, so many tell how large an error is."""


def build_validation(
    labelling: Labelling,
    metric: Metric,
    data: Graphs,
    train: Tensor,
    val_mask: Mask | None,
    observed: Tensor,
    shown: Tensor,
) -> Validation | None:
    """What chooses between epochs, iterations and settings; None without validation labels.

    Args:
        labelling: what a label is.
        metric: what it goes by.
        data: one graph or a list of graphs.
        train: the nodes that are learned from, bool ``[N]``.
        val_mask: the nodes to judge.
        observed: the nodes whose labels a prediction may see, bool ``[N]``.
        shown: those of them that this method looks at, bool ``[N]``.

    Raises:
        ValueError: if a node is judged that was learned from or is shown, or if none has a label.
    """
    if val_mask is None:
        return None
    val = as_mask(val_mask, data, "val_mask")
    disjoint(train, val, "train_mask", "val_mask")
    disjoint(observed, val, "observed_mask", "val_mask")
    y_val = labelling.encode(visible_labels(data, val), "val_mask")
    judged = known(y_val)
    if not bool(judged.any()):
        raise ValueError("none of the nodes of val_mask has a label; leave it out, or choose others")
    truth = y_val[judged]
    sign = -1 if metric.lower_is_better else 1

    def rank(distribution: Tensor) -> Verdict:
        given = distribution.cpu()
        value = measure(labelling, metric, truth, given)
        score = sign * value if value == value else -float("inf")  # NaN never wins
        return Verdict(score, -labelling.log_loss(given, labelling.restore(truth)), value)

    def errors(predictions: Sequence[Tensor]) -> list[float]:
        given = [distribution.cpu() for distribution in predictions]

        def measured(nodes: Tensor) -> list[float]:
            try:
                return [measure(labelling, metric, truth[nodes], some[nodes]) for some in given]
            except Exception:  # a metric of one's own may need what is left out here
                return [math.nan] * len(given)

        return paired_errors(measured, len(truth)) if len(given) > 1 else [0.0]

    y = labelling.encode(visible_labels(data, shown), "observed_mask")
    return Validation(y, judged, rank, lambda outputs: labelling.calibration(outputs, truth), errors)


def paired_errors(measured: Callable[[Tensor], Sequence[float]], size: int) -> list[float]:
    r"""The standard error of the difference of each of several numbers to the first one, by the jackknife.

    .. math::
        \sqrt{\frac{G-1}{G} \sum_{g=1}^{G} (d_g - \bar d)^2}

    with the difference :math:`d_g` without the nodes of group g. For a mean over the nodes that is the usual
    standard error. Of many nodes some are looked at, and the error is scaled. Groups without which there is
    no number are left out; where none is left, the error is 0.

    Args:
        measured: gives the numbers, from some of the nodes.
        size: how many nodes there are.

    Example:
        >>> import torch
        >>> right = torch.tensor([[1.0, 1, 0, 0] * 50, [1.0, 0, 1, 1] * 50])
        >>> errors = paired_errors(lambda nodes: right[:, nodes].mean(dim=1).tolist(), 200)
        >>> [round(error, 2) for error in errors], round(float((right[1] - right[0]).std()) / 200**0.5, 2)
        ([0.0, 0.06], 0.06)
    """
    nodes = torch.randperm(size, generator=torch.Generator().manual_seed(0))[:ENOUGH]
    if len(nodes) < 2:
        return [0.0] * len(measured(nodes))
    groups = nodes.tensor_split(min(GROUPS, len(nodes)))
    values = np.array([measured(torch.cat(groups[:g] + groups[g + 1 :])) for g in range(len(groups))])
    with np.errstate(invalid="ignore"):  # of infinite numbers
        differences = values - values[:, :1]
    errors = []
    for found in differences.T:
        told = found[np.isfinite(found)]
        variance = (len(told) - 1) * told.var() if len(told) else 0.0
        errors.append(float(np.sqrt(variance * len(nodes) / size)))
    return errors
