"""What a collective estimator has learned, and how a prediction replays it on any graph."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from clgnn.collective.averaging import each_sample
from clgnn.collective.batches import Batching
from clgnn.collective.component import Component, build
from clgnn.collective.inference import TestGraph, infer, infer_samples, predict, stages
from clgnn.collective.sampling import LabelInput
from clgnn.collective.start import Start
from clgnn.data.graph import Graph, known
from clgnn.engine.neighbors import few
from clgnn.engine.runner import OF_EDGES
from clgnn.engine.streamed import Streamed
from clgnn.estimators.batching import without_sampling_inside
from clgnn.estimators.calibration import Calibration
from clgnn.estimators.masks import prediction_masks
from clgnn.estimators.node import NodeEstimator
from clgnn.estimators.settings import CollectiveSettings


class _Attributes:
    """What a fit learns."""

    components_: list[Component]
    starts_: list[NodeEstimator]
    starts_with_plain_: bool
    stage_scores_: list[float | None]
    temperature_: float
    stage_errors_: Sequence[float] = ()  # older models have none
    doubt_: float = 0.0  # nor this
    lower_is_better_: bool | None = None  # nor this
    _batching: Batching | None = None  # of the fit


@dataclass(repr=False, eq=False)
class Replay(CollectiveSettings, _Attributes, NodeEstimator):
    """The recursion as it was learned; for the parameters see :class:`clgnn.CollectiveClassifier`."""

    _learned: ClassVar[tuple[str, ...]] = (
        "components_",
        "starts_",
        "starts_with_plain_",
        "stage_scores_",
        "stage_errors_",
        "temperature_",
        "doubt_",
        "lower_is_better_",
    )
    _free: ClassVar[frozenset[str]] = frozenset({"device", "memory_budget", "propagation", "num_samples"})

    @property
    def calibration_(self) -> Calibration:
        """How outputs become probabilities: ``temperature_`` and ``doubt_``."""
        return Calibration(self.temperature_, self.doubt_)

    def _finish(self, history: pd.DataFrame) -> Self:
        temperature, doubt = self.calibration_
        if not (0 < temperature < math.inf and 0 <= doubt < 1):  # a file may say anything
            raise ValueError(
                f"temperature_ is {temperature} and doubt_ is {doubt}; expected a number above 0, and one "
                "from 0 to below 1"
            )
        errors = self.stage_errors_
        if errors and not (
            isinstance(errors, list)
            and len(errors) == len(self.stage_scores_)
            and all(isinstance(error, float | int) and 0 <= error < math.inf for error in errors)
        ):
            raise ValueError(
                f"stage_errors_ is {errors!r}; expected {len(self.stage_scores_)} numbers, 0 or more"
            )
        return super()._finish(history)

    # Prediction

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        outputs = infer(self._used(graph), self._test_graph(graph, y, self._start(self.components_)))
        assert outputs is not None
        return self.labelling_.decode(outputs, self.calibration_)

    def _stages(self, graph: Graph, y: Tensor) -> Iterator[Tensor]:
        self._used(graph)
        for outputs in stages(self.components_, self._test_graph(graph, y, self._start(self.components_))):
            yield self.labelling_.decode(outputs, self.calibration_)

    def _spread(self, graph: Graph, y: Tensor) -> Tensor:
        test = self._test_graph(graph, y, self._start(self.components_))
        samples = infer_samples(self._used(graph), test)
        if samples.size(1) == 1:
            return super()._spread(graph, y)
        return self.labelling_.spread(samples.cpu())

    @torch.no_grad()
    def _with_spread(self, graph: Graph, y: Tensor) -> tuple[Tensor, Tensor]:
        """The iterations before the last one are replayed once for both."""
        test = self._test_graph(graph, y, self._start(self.components_))
        *before, last = self._used(graph)
        if not before and test.start is not None:
            return self._distribution(graph, y), super()._spread(graph, y)
        inputs = test.inputs(len(before), infer(before, test))
        distribution = self.labelling_.decode(predict(last, graph, inputs), self.calibration_)
        if sum(labels.size(1) for labels in inputs) == 1:
            return distribution, super()._spread(graph, y)
        samples = torch.cat([each_sample(last, graph, labels) for labels in inputs], dim=1)
        return distribution, self.labelling_.spread(samples.cpu())

    def _used(self, graph: Graph | Streamed) -> list[Component]:
        """Θ_0, .., Θ_t of the iteration t that predicts, where the graph is."""
        for component in self.components_:
            component.to(graph.device)
        return self.components_[: self.best_iteration_ + 1]

    def _test_graph(
        self,
        graph: Graph | Streamed,
        y: Tensor,
        start: Start | None,
        label_input: LabelInput | None = None,
        masks: list[Tensor] | None = None,
    ) -> TestGraph:
        """A graph to predict, with the masks that show its observed labels y."""
        label_input = label_input or self._label_input(self.num_iterations)
        if masks is None:
            masks = self._inference_masks(known(y))
        return TestGraph(graph, y, masks, label_input, int(self.seed), start)

    def _inference_masks(self, observed: Tensor) -> list[Tensor]:
        if not self.sees_labels() or not bool(observed.any()):
            return [torch.zeros_like(observed)]
        if self.inference_masks == "all":
            return [observed]
        share, seed = self.shown_share, int(self.seed)
        return prediction_masks(observed, share, self.num_masks, int(self.num_samples), seed)

    def sees_labels(self) -> bool:
        return self.test_labels == "partial" and (self.num_iterations > 0 or self._has_plain_start())

    def refuses_labels(self) -> bool:
        return self.test_labels == "none" and (self.num_iterations > 0 or self._has_plain_start())

    @property
    def trains_on_observed(self) -> bool:  # type: ignore[override]
        return self.learn_observed

    @property
    def best_iteration_(self) -> int:
        """The iteration t that predicts: with ``keep_best`` the one of the best validation metric.

        The earlier one of equals; the last, T, without validation. If the best one is not better than the
        start by more than ``caution`` standard errors of their difference, the start predicts.
        """
        self._check_fitted()
        scores = np.array([np.nan if s is None else s for s in self.stage_scores_], dtype=float)
        if not self.keep_best or np.isnan(scores).all():
            return len(self.components_) - 1
        lower = self._metric.lower_is_better if self.lower_is_better_ is None else self.lower_is_better_
        ranked = -scores if lower else scores
        best = int(np.nanargmax(ranked))
        if len(self.stage_errors_) and ranked[best] - ranked[0] <= self.caution * self.stage_errors_[best]:
            return 0
        return best

    # Helpers

    def _build(self, graph: Graph | Streamed, t: int, width: int | None = None) -> Component:
        """A new component for iteration t."""
        label_input = self._label_input(t if self._has_plain_start() else self.num_iterations)
        component = build(
            self.gnn,
            few(graph),
            label_input.columns,
            label_input.family.outputs,
            hidden_channels=int(self.hidden_channels),
            num_layers=None if self.num_layers is None else int(self.num_layers),
            dropout=float(self.dropout),
            propagation=self.propagation,
            memory_budget=None if self.memory_budget is None else float(self.memory_budget) * 2**30,
            precision=self.precision,
            width=width,
            num_relations=1 if graph.edge_type is None else int(graph.edge_type.max()) + 1,
        )
        for name, value in zip(OF_EDGES, graph.of_edges(), strict=True):
            if value is not None and t == 0 and name not in component.runner.takes:
                kind = type(component.gnn).__name__
                warnings.warn(f"{kind} takes no {name}: the graph's are not used", stacklevel=4)
        return without_sampling_inside(component, self._batching)

    def _blank(self, name: str, state: Mapping[str, Tensor], index: int = 0) -> nn.Module:
        """A component of the right shape, whose weights are yet to be read; it is not run."""
        x, no_edges = torch.zeros(1, self.n_features_in_), torch.empty(2, 0, dtype=torch.long)
        width = state["head.weight"].size(1) if "head.weight" in state else None
        return self._build(Graph(x, no_edges, None, (1,)), index, width)

    def _label_input(self, t: int) -> LabelInput:
        """How labels enter in iteration t; the plain GNN, t = 0, has none."""
        kind: Any = self.labels
        if t == 0:  # a module that is given as an instance always has its label columns; they stay zero
            kind = "observed" if self.num_iterations and isinstance(self.gnn, nn.Module) else "none"
        return LabelInput(self.labelling_.family, kind, int(self.num_samples), self.sampling)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.gnn, str | nn.Module) and not callable(self.gnn):
            raise ValueError(f"gnn is a {type(self.gnn).__name__}; expected a name, a module or a factory")
