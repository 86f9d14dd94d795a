"""A second fit, on training and validation labels together, once validation has chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from torch import Tensor

from clgnn.collective.learning import Epoch, Validation, Verdict, learn
from clgnn.data.graph import Graph
from clgnn.engine.streamed import Streamed
from clgnn.estimators import starts
from clgnn.estimators.checkpoints import Progress

if TYPE_CHECKING:
    from clgnn.estimators.recursion import Collective


class Chosen:
    """Remembers which epoch of each iteration validation liked best: the one whose weights are kept.

    Attributes:
        epochs: by iteration, the number of gradient steps up to that epoch.
    """

    def __init__(self) -> None:
        self.epochs: dict[int, int] = {}
        self._best: dict[int, Verdict] = {}
        self._last: Verdict | None = None

    def watched(self, validation: Validation) -> Validation:
        """The same validation; what it says is heard here."""
        rank = validation.rank

        def heard(distribution: Tensor) -> Verdict:
            self._last = rank(distribution)
            return self._last

        return replace(validation, rank=heard)

    def after_epoch(self, epoch: Epoch) -> None:
        """Is called after each epoch."""
        verdict, self._last = self._last, None
        t = epoch.iteration
        if verdict is None or epoch.metric != epoch.metric:  # it was not validated
            return
        if t not in self._best or verdict > self._best[t]:
            self._best[t], self.epochs[t] = verdict, epoch.epoch + 1


def refusal(model: Collective, validated: bool, checkpoint: Any) -> str | None:
    """Why a second fit is not possible, in words; None if it is."""
    if not validated:
        return "refit is True and there is no val_mask; expected one, which chooses how long to train"
    if checkpoint is not None:
        return "refit is True and a checkpoint is given; expected one of them: leave the other out"
    if starts.members(model.start, {}, model._labelling):
        return (
            f"refit is True and start is {model.start!r}, which needs validation itself; expected 'plain', "
            "'paper' or 'given'"
        )
    return None


def fit_again(model: Collective, graph: Graph | Streamed, y: Tensor, chosen: Chosen, masks: Any) -> None:
    """Learns Θ_0, .., Θ_t anew, t being the iteration that predicts, each with the chosen number of epochs.

    Args:
        model: a fitted estimator, which gets the new weights.
        graph: the training graph.
        y: its training and validation labels ``[N]``, unknown elsewhere.
        chosen: how many epochs each iteration has.
        masks: as for ``fit``.
    """
    progress, last = Progress(), model.best_iteration_
    begin: Callable[..., Any] = partial(model._begin, graph)
    for t in range(last + 1):
        plain = t == 0 and model._has_plain_start()
        start = None if plain else model._start(progress.components)
        problem = model._problem(graph, y, None, start, None if plain else masks, plain=plain)
        ran = int((model.history_["iteration"] == t).sum())
        schedule = replace(
            model._schedule(0 if plain else model.num_iterations), max_epochs=chosen.epochs.get(t, ran)
        )
        progress.follow(learn(problem, t, begin, schedule, list(progress.components)))
    model.components_ = progress.components
    model.stage_scores_ = model.stage_scores_[: last + 1]
    model.stage_errors_ = model.stage_errors_[: last + 1]
