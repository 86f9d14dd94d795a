"""What both estimators of collective learning do: they learn the recursion Θ_0, .., Θ_T, and replay it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from clgnn.collective.component import Component, build
from clgnn.collective.inference import TestGraph, infer, infer_samples, stages
from clgnn.collective.learning import Epoch, Problem, Schedule, Validation, learn
from clgnn.collective.masking import choose_mask, draw_mask, draw_shown
from clgnn.collective.sampling import LabelInput, stream
from clgnn.data.graph import Graph, Graphs, Mask, as_mask, known, visible_labels
from clgnn.estimators import checkpoints
from clgnn.estimators.node import NodeEstimator, OnEpoch, ignore
from clgnn.estimators.settings import LOWER_IS_BETTER, CollectiveSettings

OPTIMIZERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "rmsprop": torch.optim.RMSprop}
MASKS = 2**31 + 1
"""Sets the masks of a prediction apart from its draws."""


@dataclass(repr=False, eq=False)
class Collective(CollectiveSettings, NodeEstimator):
    """What both estimators do. The parameters are explained in :class:`clgnn.CollectiveClassifier`."""

    resumable: ClassVar[bool] = True
    _learned: ClassVar[tuple[str, ...]] = ("components_",)
    _free: ClassVar[frozenset[str]] = frozenset({"device", "memory_budget", "propagation", "num_samples"})

    # Learning

    def fit(
        self,
        data: Graphs,
        train_mask: Mask,
        val_mask: Mask | None = None,
        *,
        observed_mask: Mask | None = None,
        masks: Any = None,
        checkpoint: str | PathLike[str] | None = None,
        on_epoch: OnEpoch = ignore,
    ) -> Self:
        """Learns Θ_0, .., Θ_T.

        Args:
            data: one graph or a list of graphs; labels outside of the masks are never looked at.
            train_mask: the labels to learn from: a bool mask ``[N]`` or node indices (a list of them for a
                list of graphs).
            val_mask: the labels that choose the best epoch of each iteration, and the iteration that
                predicts; they are never input. Without them, the last epoch of the last iteration is kept.
            observed_mask: the labels that are shown while validating, when ``test_labels="partial"``; those
                of ``train_mask`` if not given. Validation graphs of their own have labels of their own.
            masks: a set of masks, bool ``[J, N]``, to draw from in place of random ones.
            checkpoint: a folder that each finished iteration is written to. If it holds iterations of the
                same fit, which was interrupted, it goes on after them and ends with the same result.
            on_epoch: called with each :class:`~clgnn.collective.learning.Epoch`.

        Returns:
            self
        """
        task = self._task(data, train_mask, val_mask, observed_mask)
        problem = self._problem(task.graph, task.y, task.validation, masks)

        def start(before: Sequence[Component]) -> Component:
            return copy.deepcopy(before[-1]) if before and self.carry_weights else self._build(task.graph)

        finished: list[Component] = []
        epochs: list[Epoch] = []
        key = ""
        if checkpoint is not None:
            seen = {"val_mask": val_mask, "observed_mask": observed_mask}
            labels = [
                None if mask is None else visible_labels(data, as_mask(mask, data, name))
                for name, mask in seen.items()
            ]
            given = None if masks is None else torch.as_tensor(masks)
            graph = task.graph
            inputs = (graph.x, graph.edge_index, graph.edge_weight, graph.edge_attr, task.y, *labels, given)
            key = checkpoints.fingerprint(self.get_params(deep=False), inputs)
            finished, epochs = checkpoints.resume(checkpoint, key, partial(self._build, graph))
        schedule = self._schedule()
        for iteration in learn(problem, self.num_iterations, start, schedule, list(finished), on_epoch):
            finished.append(iteration.component)
            epochs += iteration.epochs
            if checkpoint is not None:
                checkpoints.write(checkpoint, key, finished, epochs)
        return self._learned_from(finished, epochs)

    def adapt(
        self, data: Graphs, observed_mask: Mask, val_mask: Mask | None = None, *, on_epoch: OnEpoch = ignore
    ) -> Self:
        """Goes on training, on a new graph's known labels, from the weights that were learned.

        The objective is that of ``fit``: labels that the mask of a step hides are its targets. Known labels
        are worth more as targets than as input alone, so this is what to do where one may train on the
        graph to predict.

        Args:
            data: one graph or a list of graphs, with the features of the training graph.
            observed_mask: its labels that may be seen.
            val_mask: labels that choose the best epoch of each iteration; without them the last is kept.
            on_epoch: called with each :class:`~clgnn.collective.learning.Epoch`.

        Returns:
            self
        """
        self._check_parameters()
        graph, _ = self._seen(data, None)
        observed = as_mask(observed_mask, data, "observed_mask")
        y = self.labelling_.encode(visible_labels(data, observed), "observed_mask").to(graph.x.device)
        if not bool(known(y).any()):
            raise ValueError("none of the nodes of observed_mask has a label; there is nothing to adapt to")
        learned = self.components_
        validation = self._validation(data, observed, val_mask, observed)
        adapted = list(
            learn(
                self._problem(graph, y, validation, None),
                self.num_iterations,
                lambda before: copy.deepcopy(learned[len(before)]),
                self._schedule(),
                on_epoch=on_epoch,
            )
        )
        epochs = [epoch for iteration in adapted for epoch in iteration.epochs]
        return self._learned_from([iteration.component for iteration in adapted], epochs)

    def _problem(self, graph: Graph, y: Tensor, validation: Validation | None, masks: Any) -> Problem:
        """What the paper's recursion learns from."""
        shown = self.labelling_.unknown(graph.num_nodes).to(y.device)
        if validation is not None:
            shown, rank = validation.y, validation.rank
            decode = self.labelling_.decode
            validation = replace(validation, rank=lambda outputs: rank(decode(outputs)))
        mask = self._mask_drawer(y, masks)
        test = self._test_graph(graph, shown) if validation is not None or mask is None else None
        return Problem(graph, y, self._label_input(), mask, validation, test, int(self.seed))

    def _learned_from(self, components: list[Component], epochs: Sequence[Epoch]) -> Self:
        self.components_: list[Component] = components
        history = pd.DataFrame([asdict(epoch) for epoch in epochs])
        self._finish(history.rename(columns={"metric": f"val_{self.metric_name}"}))
        best = self._best_by_iteration()[self.best_iteration_]
        self.best_score_ = None if np.isnan(best) else float(best)
        return self

    # Prediction

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        outputs = infer(self._used(graph), self._test_graph(graph, y))
        assert outputs is not None
        return self.labelling_.decode(outputs)

    def _stages(self, graph: Graph, y: Tensor) -> Iterator[Tensor]:
        self._used(graph)
        for outputs in stages(self.components_, self._test_graph(graph, y)):
            yield self.labelling_.decode(outputs)

    def _spread(self, graph: Graph, y: Tensor) -> Tensor:
        samples = infer_samples(self._used(graph), self._test_graph(graph, y))
        if samples.size(1) == 1:
            return super()._spread(graph, y)
        return self.labelling_.spread(samples.cpu())

    def _used(self, graph: Graph) -> list[Component]:
        """Θ_0, .., Θ_t of the iteration t that predicts, where the graph is."""
        for component in self.components_:
            component.to(graph.x.device)
        return self.components_[: self.best_iteration_ + 1]

    def _test_graph(self, graph: Graph, y: Tensor) -> TestGraph:
        """A graph to predict, with the masks that show its observed labels y."""
        observed, masks = known(y), [torch.zeros_like(known(y))]
        if self.sees_labels() and bool(observed.any()):
            masks = [observed]
            if self.inference_masks == "sampled":
                generator = stream(graph.x.device, int(self.seed), MASKS)
                count = self.num_samples if self.num_masks is None else self.num_masks
                masks = [draw_shown(observed, self.shown_share, generator) for _ in range(count)]
                if self.num_masks is None:
                    masks = [torch.stack(masks, dim=1)]
        return TestGraph(graph, y, masks, self._label_input(), int(self.seed))

    def sees_labels(self) -> bool:
        return self.test_labels == "partial" and self.num_iterations > 0

    def refuses_labels(self) -> bool:
        return self.test_labels == "none" and self.num_iterations > 0

    @property
    def best_iteration_(self) -> int:
        """The iteration t whose Θ_t predicts: with ``keep_best`` the one of the best validation metric.

        The later one of equals; the last, T, without validation.
        """
        self._check_fitted()
        best = self._best_by_iteration()
        if not self.keep_best or np.isnan(best).all():
            return len(self.components_) - 1
        ranked = -best if self._judged_by() in LOWER_IS_BETTER else best
        return len(ranked) - 1 - int(np.nanargmax(ranked[::-1]))

    def _judged_by(self) -> str:
        """The metric that chose, as the history has it."""
        (name,) = (str(column) for column in self.history_ if str(column).startswith("val_"))
        return name.removeprefix("val_")

    def _best_by_iteration(self) -> NDArray[np.float64]:
        """The best validation metric of each iteration, ``[T + 1]``; NaN without validation."""
        name = self._judged_by()
        groups = self.history_.groupby("iteration")[f"val_{name}"]
        best = groups.min() if name in LOWER_IS_BETTER else groups.max()
        return best.to_numpy(dtype=float)

    # Helpers

    def _build(self, graph: Graph) -> Component:
        label_input = self._label_input()
        component = build(
            self.gnn,
            graph,
            label_input.columns,
            label_input.family.outputs,
            hidden_channels=int(self.hidden_channels),
            num_layers=None if self.num_layers is None else int(self.num_layers),
            dropout=float(self.dropout),
            propagation=self.propagation,
            memory_budget=None if self.memory_budget is None else float(self.memory_budget) * 2**30,
        )
        for name, value in (("edge_weight", graph.edge_weight), ("edge_attr", graph.edge_attr)):
            if value is not None and name not in component.runner.takes:
                kind = type(component.gnn).__name__
                warnings.warn(f"{kind} takes no {name}: the graph's are not used", stacklevel=4)
        return component

    def _blank(self, name: str) -> nn.Module:
        """A component of the right shape, whose weights are yet to be read."""
        x, no_edges = torch.zeros(1, self.n_features_in_), torch.empty(2, 0, dtype=torch.long)
        return self._build(Graph(x, no_edges, None, (1,)))

    def _label_input(self) -> LabelInput:
        kind = "none" if self.num_iterations == 0 else self.labels
        return LabelInput(self.labelling_.family, kind, int(self.num_samples), self.sampling)

    def _schedule(self) -> Schedule:
        optimizer = partial(
            OPTIMIZERS[self.optimizer], lr=float(self.lr), weight_decay=float(self.weight_decay)
        )
        norm = float(self.max_grad_norm)
        return Schedule(int(self.max_epochs), int(self.patience), optimizer, norm, int(self.eval_every))

    def _mask_drawer(self, y: Tensor, masks: Any) -> Callable[[torch.Generator], Tensor] | None:
        """What draws the mask of a gradient step; None for M = 0."""
        if not self.sees_labels():
            return None
        observed = known(y)
        if masks is None:
            return partial(draw_mask, observed, self.shown_share)
        given = torch.as_tensor(masks).to(y.device)
        if given.dtype != torch.bool or given.dim() != 2 or given.size(1) != len(y) or not len(given):
            raise ValueError(f"masks is {given.dtype} {tuple(given.shape)}; expected bool [J, {len(y)}]")
        if bool((observed & ~given).sum(dim=1).eq(0).any()):
            raise ValueError("a mask shows every training label; each must hide one at least, as the target")
        return partial(choose_mask, given, observed)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.gnn, str | nn.Module) and not callable(self.gnn):
            raise ValueError(f"gnn is a {type(self.gnn).__name__}; expected a name, a module or a factory")
