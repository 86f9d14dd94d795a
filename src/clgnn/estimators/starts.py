"""Where the recursion starts: the plain GNN, other estimators, their mean, or given probabilities."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from clgnn.collective.learning import Validation, Verdict
from clgnn.collective.start import Start
from clgnn.data.graph import Graph
from clgnn.engine.streamed import Streamed
from clgnn.estimators.labelling import Classes, Labelling, Numbers

if TYPE_CHECKING:
    from clgnn.estimators.node import NodeEstimator

AUTO = ("pl_em", "gmnn")
"""What ``"auto"`` tries beside the plain GNN: models that see other evidence than a GNN does."""
ALONE = ("hist_gradient_boosting",)
"""What it tries by itself, and never in a mean: trees on a node's own columns, which look at no edge."""
PLAIN = "plain"


def members(
    start: Any, settings: dict[str, Any], labelling: type[Labelling] = Classes
) -> list[NodeEstimator]:
    """The estimators that a start asks for, the plain GNN aside, yet to be fitted.

    Args:
        start: the parameter of the collective estimator.
        settings: what they share with it: ``test_labels``, ``metric``, ``class_weight``, ``seed``.
        labelling: what labels are: the rivals that have a name are for classes, or for numbers.

    Raises:
        ValueError: if it is none of the starts that there are.
    """
    if isinstance(start, str) and start in (PLAIN, "paper", "given"):
        return []
    # by name, and late: the rivals are built on this layer
    baselines = importlib.import_module("clgnn.baselines")
    rivals = {Classes: baselines.METHODS, Numbers: baselines.REGRESSION_METHODS}.get(labelling, {})
    auto = set(AUTO) <= set(rivals)
    if auto and isinstance(start, str) and start == "auto":
        wanted: Sequence[Any] = (*AUTO, *ALONE)
    else:
        wanted = start if isinstance(start, list | tuple) else [start]
    for one in wanted:
        if isinstance(one, str) and one not in (PLAIN, *rivals):
            some = f"some of {', '.join([PLAIN, *rivals])}"
            if one is not start:
                raise ValueError(f"start is a list with {one!r}; expected {some}")
            raise ValueError(f"start is {start!r}; expected paper, given, {'auto, ' * auto}or {some}")
    found: list[NodeEstimator] = [
        baselines.as_estimator(one, numbers=labelling is Numbers, **settings)
        for one in wanted
        if not (isinstance(one, str) and one == PLAIN)
    ]
    return found


def chosen(
    start: Any,
    fitted: list[NodeEstimator],
    labelling: Labelling,
    plain: Start,
    graph: Graph,
    validation: Validation | None,
) -> tuple[list[NodeEstimator], bool]:
    """The estimators whose mean the recursion starts from, and whether the plain GNN is one of them.

    With ``"auto"`` validation chooses among the plain GNN, each of the others, and the mean of the plain GNN
    and :data:`AUTO`; without validation it is the mean.
    """
    if not (isinstance(start, str) and start == "auto"):
        return fitted, not fitted or (isinstance(start, list | tuple) and PLAIN in start)
    candidates = [(fitted[: len(AUTO)], True), ([], True), *(([one], False) for one in fitted)]
    if validation is None:
        return candidates[0]

    def verdict(candidate: tuple[list[NodeEstimator], bool]) -> Verdict:
        outputs = mean_start(labelling, plain, *candidate).predict(graph, validation.y)
        return validation.judge(labelling.decode(outputs))

    return max(candidates, key=verdict)


def mean_start(
    labelling: Labelling, plain: Start, estimators: Sequence[NodeEstimator], with_plain: bool
) -> Start:
    """The mean of the predictions of several estimators, and of the plain GNN if asked for.

    A single plain GNN is itself, to the last bit.
    """
    if not estimators:
        return plain
    sees = any(estimator.sees_labels() for estimator in estimators)
    predictors: list[Callable[[Graph, Tensor], Tensor]] = [_shown_to(one) for one in estimators]
    if with_plain:
        predictors.append(lambda graph, y: labelling.decode(plain.predict(graph, y)))

    @torch.no_grad()
    def predict(graph: Graph, y: Tensor) -> Tensor:
        parts = [predictor(graph, y).to(graph.x.device).double() for predictor in predictors]
        return labelling.parameters(torch.stack(parts).mean(dim=0))

    return Start(predict, sees)


def _shown_to(estimator: NodeEstimator) -> Callable[[Graph, Tensor], Tensor]:
    def predict(graph: Graph, y: Tensor) -> Tensor:
        unknown = torch.full_like(y, float("nan") if y.is_floating_point() else -1)
        return estimator._distribution(graph, y if estimator.sees_labels() else unknown)

    return predict


def given_start(labelling: Labelling) -> Start:
    """The probabilities ``[N, C]`` that the graph itself has, as ``data.start_proba``."""

    return Start(lambda graph, y: labelling.parameters(given(labelling, graph)))


def given(labelling: Labelling, graph: Graph | Streamed) -> Tensor:
    """The first predictions that a graph has, ``[N, C]``, checked."""
    if graph.start_proba is None:
        raise ValueError(
            "start is 'given', and the graph has no start_proba; expected the first predictions of each node "
            "there, [N, C], in the order of classes_"
        )
    columns = labelling.family.outputs
    if graph.start_proba.size(1) != columns:
        raise ValueError(
            f"start_proba has {graph.start_proba.size(1)} columns; expected {columns}, one for each class"
        )
    return graph.start_proba
