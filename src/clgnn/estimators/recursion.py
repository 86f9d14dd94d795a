"""What both estimators of collective learning do: they learn the recursion Θ_0, .., Θ_T."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Self

import pandas as pd
import torch
from torch import Tensor

from clgnn.collective.batches import Batching
from clgnn.collective.component import Component
from clgnn.collective.inference import stages
from clgnn.collective.learning import Iteration, Problem, Schedule, Validation, learn
from clgnn.collective.start import Start, widened
from clgnn.data.graph import Graph, Graphs, Mask, as_mask, by_graph, known, visible_labels
from clgnn.engine.neighbors import few
from clgnn.engine.streamed import Streamed
from clgnn.estimators import starts
from clgnn.estimators.batching import arrays, as_streamed, batching, check_start
from clgnn.estimators.calibration import AS_IT_IS
from clgnn.estimators.callbacks import Callback, Callbacks
from clgnn.estimators.checkpoints import Progress, fingerprint
from clgnn.estimators.inside import Inside
from clgnn.estimators.labelling import Classes
from clgnn.estimators.masks import default_masks, step_masks
from clgnn.estimators.node import OnEpoch, Task, ignore
from clgnn.estimators.refit import Chosen, fit_again, refusal
from clgnn.estimators.settings import iteration_budget

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": partial(torch.optim.Adam, fused=True),  # one pass for all weights
    "adamw": partial(torch.optim.AdamW, fused=True),
    "rmsprop": torch.optim.RMSprop,
}


class Collective(Inside):
    """What both estimators do. The parameters are explained in :class:`clgnn.CollectiveClassifier`."""

    resumable: ClassVar[bool] = True
    takes_hetero: ClassVar[bool] = True
    takes_stored: ClassVar[bool] = True

    def fit(
        self,
        data: Graphs,
        train_mask: Mask | None = None,
        val_mask: Mask | None = None,
        *,
        observed_mask: Mask | None = None,
        masks: Any = None,
        batch_size: int | None = None,
        num_neighbors: int | Sequence[int] | None = None,
        num_parts: int = 4,
        refit: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        on_epoch: OnEpoch = ignore,
        callbacks: Sequence[Callback | OnEpoch] = (),
    ) -> Self:
        """Learns Θ_0, .., Θ_T.

        Args:
            data: one graph or a list of graphs, or a :class:`~clgnn.data.stored.StoredGraph`, which may be
                larger than the memory; labels outside of the masks are never looked at.
            train_mask: the labels to learn from: a bool mask ``[N]`` or node indices (a list of them for a
                list of graphs). Without it, ``data.train_mask`` and ``data.val_mask`` are taken, as the
                datasets of PyG have them.
            val_mask: the labels that choose the best epoch of each iteration and the iteration that predicts,
                and that calibrate its probabilities; they are never input. Without them, the last epoch of
                the last iteration is kept.
            observed_mask: the labels that are shown while validating, when ``test_labels="partial"``; those
                of ``train_mask`` if not given. Validation graphs of their own have labels of their own. With
                ``learn_observed`` they are learned from as well.
            masks: a set of masks, bool ``[J, N]``, to draw from in place of random ones.
            batch_size: so many targets for each gradient step, each with its neighbourhood: for graphs that
                are too large for steps on the whole graph. An epoch then is a pass over all targets, and
                masks come from a pool of ten. None: the whole graph at once; 1024 for a ``StoredGraph``.
            num_neighbors: so many neighbours of each node are drawn for a batch, one number for each hop or
                one for all. None, the default: all of them, which is exact; fewer cost accuracy where degrees
                are high. Predictions always take all.
            num_parts: a batch is computed in so many parts, which several processes share. The result
                depends on this number, and not on the number of processes.
            refit: whether to fit once more, when validation has chosen, on the training and the validation
                labels together. Θ_0, .., Θ_t up to the iteration t that predicts are learned anew, from new
                weights, each with as many epochs as the one that validation chose. What a label is,
                ``class_weight`` and the calibration stay those of the training labels and of the first fit;
                ``history_``, ``stage_scores_`` and ``best_score_`` tell of that fit.
            checkpoint: a folder that each finished iteration is written to, and the one that goes on, every
                half a minute. If it holds the same fit, which was interrupted, this one goes on there and
                ends with the same result.
            on_epoch: called with each :class:`~clgnn.collective.learning.Epoch`; if it gives True, the fit
                ends there.
            callbacks: see :mod:`clgnn.callbacks`.

        Returns:
            self
        """
        self._check_parameters()
        train_mask, val_mask = default_masks(data, train_mask, val_mask)
        if refit and (said := refusal(self, val_mask is not None, checkpoint)):
            raise ValueError(said)
        if self.learn_observed and observed_mask is not None:
            both = as_mask(train_mask, data, "train_mask") | as_mask(observed_mask, data, "observed_mask")
            train_mask = by_graph(both, data)
        self._batching = batching(data, batch_size, num_neighbors, num_parts)
        task = self._task(data, train_mask, val_mask, observed_mask)
        graph: Graph | Streamed = task.graph
        y, validation, chosen = task.y, task.validation, Chosen()
        if self._batching is not None:
            check_start(self.start)
            graph = as_streamed(graph)
            y = y.to(graph.home)
            validation = None if validation is None else validation.to(graph.home)
        if validation is not None:
            validation = chosen.watched(validation)
        if isinstance(self.start, str) and self.start == "given":
            starts.given(self.labelling_, graph)  # whether they are there, before anything is trained
        progress = Progress()
        if checkpoint is not None:
            seen = {"val_mask": val_mask, "observed_mask": observed_mask}
            labels = [
                None if m is None else visible_labels(data, as_mask(m, data, n)) for n, m in seen.items()
            ]
            given = None if masks is None else torch.as_tensor(masks)
            parts, kind = (*arrays(graph), y, *labels, given), type(self).__qualname__
            settings = {**self.get_params(deep=False), "batching": self._batching}
            key = fingerprint(settings, parts, kind)
            progress = Progress.resume(checkpoint, key, lambda t: self._build(graph, t))
        hooks = Callbacks(self, (chosen.after_epoch, on_epoch, *callbacks))
        hooks.before_fit()
        begin = partial(self._begin, graph)
        progress.follow(self._plain(graph, y, validation, progress, begin, hooks), hooks.after_iteration)
        self._fit_starts(task, progress.components, data, train_mask, val_mask, observed_mask)
        start = self._start(progress.components)
        problem = self._problem(graph, y, validation, start, masks)
        self._go_on(problem, progress, begin, hooks, validation)
        if refit:
            both = as_mask(train_mask, data, "train_mask") | as_mask(val_mask, data, "val_mask")
            known_ones = self.labelling_.encode(visible_labels(data, both), "val_mask")
            fit_again(self, graph, known_ones.to(graph.home), chosen, masks)
        return self

    def adapt(
        self, data: Graphs, observed_mask: Mask, val_mask: Mask | None = None, *, on_epoch: OnEpoch = ignore
    ) -> Self:
        """Goes on training, on a new graph's known labels, from the weights that were learned.

        The objective is that of ``fit``: labels that the mask of a step hides are its targets. Known labels
        are worth more as targets than as input alone, so this is what to do where one may train on the
        graph to predict. Other estimators that the recursion starts from stay as they were fitted. A
        threshold that was chosen for the old weights is forgotten.

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
        y = self.labelling_.encode(visible_labels(data, observed), "observed_mask").to(graph.home)
        if not bool(known(y).any()):
            raise ValueError("none of the nodes of observed_mask has a label; there is nothing to adapt to")
        learned, progress = self.components_, Progress()
        if len(learned) != self.num_iterations + 1:
            raise ValueError(
                f"num_iterations is {self.num_iterations}, and the model was fitted with {len(learned) - 1}; "
                "set it back, or fit again"
            )
        if isinstance(self.labelling_, Classes):
            self.labelling_ = replace(self.labelling_, threshold=None)  # it was that of the old weights
        validation = self._validation(data, observed, val_mask, observed)

        def begin(before: Sequence[Component]) -> Component:
            return copy.deepcopy(learned[len(before)])

        hooks = Callbacks(self, (on_epoch,))
        progress.follow(self._plain(graph, y, validation, progress, begin, hooks))
        problem = self._problem(graph, y, validation, self._start(progress.components), None)
        return self._go_on(problem, progress, begin, hooks, validation)

    def _plain(
        self,
        graph: Graph | Streamed,
        y: Tensor,
        validation: Validation | None,
        progress: Progress,
        begin: Callable[[Sequence[Component]], Component],
        hooks: Callbacks,
    ) -> Iterable[Iteration]:
        """Iteration 0 where it is the plain GNN, unless it is finished already."""
        if not self._has_plain_start() or progress.components:
            return ()
        problem = self._problem(graph, y, validation, None, None, plain=True)
        return learn(problem, 0, begin, self._schedule(0), (), hooks.after_epoch, progress)

    def _go_on(
        self,
        problem: Problem,
        progress: Progress,
        begin: Callable[[Sequence[Component]], Component],
        hooks: Callbacks,
        validation: Validation | None,
    ) -> Self:
        """The iterations that are not finished yet, and the end of the fit."""
        schedule, finished = self._schedule(self.num_iterations), list(progress.components)
        if not hooks.stopped:
            last = self.num_iterations
            left = learn(problem, last, begin, schedule, finished, hooks.after_epoch, progress)
            progress.follow(left, hooks.after_iteration)
        self._end(progress, problem.graph, validation)
        hooks.after_fit()
        return self

    def _problem(
        self,
        graph: Graph | Streamed,
        y: Tensor,
        validation: Validation | None,
        start: Start | None,
        masks: Any,
        plain: bool = False,
    ) -> Problem:
        """What the recursion learns from; with ``plain``, what the plain GNN does."""
        label_input = self._label_input(0 if plain else self.num_iterations)
        shown = self.labelling_.unknown(graph.num_nodes).to(y.device)
        if validation is not None:
            shown, rank = validation.y, validation.rank
            decode = self.labelling_.decode
            validation = replace(validation, rank=lambda outputs: rank(decode(outputs)))
        mask = None
        if self.sees_labels() and not plain:
            pooled = self._batching is not None or (start is not None and start.sees_labels)
            mask = step_masks(known(y), self.shown_share, masks, pooled, int(self.seed))
        test = None
        if validation is not None or mask is None:
            seen = torch.zeros_like(known(y)) if plain else None
            test = self._test_graph(graph, shown, start, label_input, None if seen is None else [seen])
        seed, batches = int(self.seed), self._batching or Batching()
        return Problem(graph, y, label_input, mask, validation, test, seed, start, self.loss, batches)

    def _begin(self, graph: Graph | Streamed, before: Sequence[Component]) -> Component:
        """What an iteration starts from, given Θ_0, .., Θ_{t-1}."""
        t = len(before)
        if t == 1 and self._has_plain_start():
            fresh = self._build(graph, t)
            same = widened(before[0], fresh, few(graph), fresh.columns) if self.carry_weights else None
            return fresh if same is None else same
        return copy.deepcopy(before[-1]) if before and self.carry_weights else self._build(graph, t)

    def _end(self, progress: Progress, graph: Graph | Streamed, validation: Validation | None) -> Self:
        """How every fit ends: what was learned, which iteration predicts, and how sure it may be."""
        self.components_ = progress.components
        name = f"val_{self.metric_name}"
        history = pd.DataFrame([asdict(epoch) for epoch in progress.epochs]).rename(columns={"metric": name})
        self.lower_is_better_ = self._metric.lower_is_better  # a metric of one's own is not saved
        scores = history.groupby("iteration")[name].agg("min" if self.lower_is_better_ else "max")
        self.stage_scores_ = [None if score != score else float(score) for score in scores]
        (self.temperature_, self.doubt_), self.best_score_, self.stage_errors_ = AS_IT_IS, None, ()
        self._finish(history)
        if validation is None:
            return self
        self._used(graph)
        test = self._test_graph(graph, validation.y, self._start(self.components_))
        found = [stage[validation.judged] for stage in stages(self.components_, test)]
        decoded = [self.labelling_.decode(stage) for stage in found]
        if self.starts_ or self.start == "given":
            self.stage_scores_[0] = validation.rank(decoded[0]).metric
        if self.keep_best and self.caution > 0:
            self.stage_errors_ = validation.errors(decoded)
        outputs = found[self.best_iteration_]
        if self.calibrate:
            self.temperature_, self.doubt_ = validation.calibrate(outputs)
        self.best_score_ = validation.rank(self.labelling_.decode(outputs, self.calibration_)).metric
        return self

    def _fit_starts(
        self,
        task: Task,
        components: Sequence[Component],
        data: Graphs,
        train_mask: Mask,
        val_mask: Mask | None,
        observed_mask: Mask | None,
    ) -> None:
        """Fits the other estimators that the recursion starts from, on the training labels alone."""
        self.starts_ = []
        self.starts_with_plain_ = True
        if not self._has_plain_start():
            return
        names = ("test_labels", "metric", "class_weight", "seed")
        shared = {name: getattr(self, name) for name in names if hasattr(self, name)}
        fitted = starts.members(self.start, shared, self._labelling)
        shown = None if self.refuses_labels() else observed_mask
        for estimator in fitted:
            estimator.fit(data, train_mask, val_mask, observed_mask=shown)
        self.starts_, self.starts_with_plain_ = starts.chosen(
            self.start, fitted, self.labelling_, Start.plain(components[0]), task.graph, task.validation
        )

    def _schedule(self, t: int) -> Schedule:
        optimizer: Any = self.optimizer
        if isinstance(optimizer, str):
            optimizer = partial(
                OPTIMIZERS[optimizer], lr=float(self.lr), weight_decay=float(self.weight_decay)
            )
        epochs, patience = int(self.max_epochs), int(self.patience)
        if t > 0:
            epochs, patience = iteration_budget(self.get_params(deep=False))
        return Schedule(
            epochs, patience, optimizer, float(self.max_grad_norm), int(self.eval_every), self.scheduler
        )

    # The start

    def _check_parameters(self) -> None:
        super()._check_parameters()
        starts.members(self.start, {}, self._labelling)  # refuses what is none, before anything is trained

    def planned_epochs(self) -> list[int]:
        epochs, _ = iteration_budget(self.get_params(deep=False))
        first = self.max_epochs if self._has_plain_start() or self.num_iterations == 0 else epochs
        return [int(first)] + [epochs] * int(self.num_iterations)

    def _has_plain_start(self) -> bool:
        """Whether Θ_0 is the plain GNN, on X alone, beside first predictions of its own or of others.

        Without iterations, another start than the plain GNN is that start alone.
        """
        kind = self.start if isinstance(self.start, str) else "others"
        return kind != "paper" and (self.num_iterations > 0 or kind != starts.PLAIN)

    def _start(self, components: Sequence[Component]) -> Start | None:
        """The first predictions; None for those of the paper, and where nothing follows them."""
        if not self._has_plain_start():
            return None
        if isinstance(self.start, str) and self.start == "given":
            return starts.given_start(self.labelling_)
        plain = Start.plain(components[0])
        return starts.mean_start(self.labelling_, plain, self.starts_, self.starts_with_plain_)
