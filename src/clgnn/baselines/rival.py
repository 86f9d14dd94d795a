"""What all rivals share beyond the estimators' interface: choices that validation makes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeVar

import numpy as np
import pandas as pd
from torch import Tensor

from clgnn.collective.learning import Validation, Verdict
from clgnn.data.graph import Graph, Graphs, Mask
from clgnn.estimators.labelling import Classes, Labelling
from clgnn.estimators.masks import default_masks
from clgnn.estimators.node import NodeEstimator, OnEpoch, ignore

Model = TypeVar("Model")


@dataclass(repr=False, eq=False, kw_only=True)
class Rival(NodeEstimator):
    """A classifier of the nodes of partially labelled graphs.

    Its interface is that of :class:`clgnn.CollectiveClassifier`.

    Args:
        test_labels: ``"partial"`` if the graphs you will predict on have some labels, ``"none"`` if they have
            none. It says which labels are shown when validation chooses: those of ``fit``'s
            ``observed_mask`` (``train_mask`` if not given), or none.
        metric: what validation maximises, or minimises; ``"accuracy"`` by default.
        seed: the same seed gives the same result.

    Attributes:
        classes_: the classes, ``[C]``.
        history_: one row for each candidate that validation judged.
        best_score_: the validation metric of the one that it chose; None without validation.
        n_features_in_: the columns of x.
    """

    test_labels: Literal["none", "partial"] = "partial"
    metric: str | None = None
    seed: int = 0

    @abstractmethod
    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        """Learns from the labels y ``[N]``, 0..C-1, and -1 where unknown or hidden."""

    def fit(
        self,
        data: Graphs,
        train_mask: Mask | None = None,
        val_mask: Mask | None = None,
        *,
        observed_mask: Mask | None = None,
        on_epoch: OnEpoch = ignore,
    ) -> Self:
        """Learns from the labels of the training mask.

        Args:
            data: one graph or a list of graphs; labels outside of the masks are never looked at.
            train_mask: the labels to learn from: a bool mask ``[N]`` or node indices (a list of them for a
                list of graphs). Without it, ``data.train_mask`` and ``data.val_mask`` are taken.
            val_mask: the labels that choose settings and epochs; they are never input.
            observed_mask: the labels that are shown while validating, when ``test_labels="partial"``; those
                of ``train_mask`` if not given.
            on_epoch: called with each epoch, by those that train a GNN.

        Returns:
            self
        """
        train_mask, val_mask = default_masks(data, train_mask, val_mask)
        task = self._task(data, train_mask, val_mask, observed_mask)
        self._judged: list[dict[str, Any]] = []
        self.best_score_ = None
        self._fit(task.graph, task.y, task.validation, on_epoch)
        if task.validation is not None and self.best_score_ is None:  # it had nothing to choose
            found = task.validation.judge(self._distribution(task.graph, task.validation.y))
            self.best_score_ = found.metric
        return self._finish(pd.DataFrame(self._judged))

    def _best(
        self,
        candidates: Iterable[tuple[dict[str, Any], Model]],
        predict: Callable[[Model], Tensor],
        validation: Validation | None,
        number: int,
    ) -> list[Model]:
        """The candidates that predict best on the validation nodes; the first one if there are none.

        Args:
            candidates: their settings, which the history tells, and what they are. They are made one at a
                time.
            predict: the probabilities ``[N, C]`` of a candidate, given the labels of ``validation.y``.
            validation: what judges.
            number: how many to keep, the best first.
        """
        best: list[tuple[Verdict, Model]] = []
        for settings, candidate in candidates:
            if validation is None:
                return [candidate]
            verdict = validation.judge(predict(candidate))
            columns = {f"val_{self.metric_name}": verdict.metric, "val_loss": -verdict.closeness}
            self._judged.append({**settings, **columns})
            best = sorted([*best, (verdict, candidate)], key=lambda ranked: ranked[0], reverse=True)[:number]
        self.best_score_ = best[0][0].metric
        return [candidate for _, candidate in best]

    def _choose(
        self,
        candidates: Iterable[tuple[dict[str, Any], Model]],
        predict: Callable[[Model], Tensor],
        validation: Validation | None,
    ) -> Model:
        """The best one, see :meth:`_best`."""
        return self._best(candidates, predict, validation, 1)[0]

    def _learn_labels(self, y: Tensor) -> Labelling:
        return Classes.learn(y, getattr(self, "class_weight", None))

    @property
    def _num_classes(self) -> int:
        return self.labelling_.family.outputs

    @property
    def _class_weights(self) -> tuple[float, ...] | None:
        assert isinstance(self.labelling_, Classes)
        return self.labelling_.weights

    def _rng(self, step: int) -> np.random.Generator:
        """The randomness of one step (fit is 0, prediction 1), from the seed alone."""
        return np.random.default_rng([self.seed, step])
