"""The one place that builds a validation: it alone knows the labels that choose."""

from __future__ import annotations

from torch import Tensor

from clgnn.collective.learning import Validation, Verdict
from clgnn.data.graph import Graphs, Mask, as_mask, disjoint, known, visible_labels
from clgnn.estimators.labelling import Labelling, measure
from clgnn.estimators.metrics import Metric


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

    y = labelling.encode(visible_labels(data, shown), "observed_mask")
    return Validation(y, judged, rank, lambda outputs: labelling.calibration(outputs, truth))
