"""An iteration: epochs of gradient steps, the best of them kept; it can be interrupted after any step."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from clgnn.collective.component import Component
from clgnn.collective.step import Part

SNAPSHOT_SECONDS = 30.0
"""So often an iteration that can be resumed is written down."""


@dataclass(frozen=True)
class Schedule:
    """How an iteration is optimised: at most ``max_epochs`` epochs, the best of them kept.

    An epoch is one gradient step on the whole graph, or one for each batch of targets. Every ``eval_every``
    of them, and the last, is validated. A ``scheduler`` of learning rates is made from the optimiser, and
    steps after each epoch.
    """

    max_epochs: int
    patience: int
    optimizer: Callable[[list[nn.Parameter]], torch.optim.Optimizer]
    max_grad_norm: float
    eval_every: int = 1
    scheduler: Callable[[torch.optim.Optimizer], Any] | None = None


class Verdict(NamedTuple):
    """What validation says; the larger is the better one.

    Attributes:
        score: the metric, negative where lower is better, and the lowest of all where it is NaN.
        closeness: minus the log loss, which decides between equal scores.
        metric: the metric as it is.
    """

    score: float
    closeness: float
    metric: float


@dataclass(frozen=True)
class Epoch:
    """One line of the history."""

    iteration: int
    epoch: int
    loss: float
    metric: float
    seconds: float


@dataclass
class Iteration:
    """Θ_t, how it came about, and whether a callback has ended the fit in it."""

    component: Component
    epochs: list[Epoch] = field(default_factory=list)
    stopped: bool = False


class Diverged(ValueError):
    """Training can't go on: the loss is not a number."""


class Steps(Protocol):
    """The gradient steps of an iteration."""

    t: int
    component: Component
    generator: torch.Generator

    def epoch(self, number: int, first: int = 0) -> Iterator[tuple[int, Iterable[tuple[int, Part]]]]:
        """The steps of an epoch from the first that is left: how many targets each has, and its parts."""

    def step(
        self,
        epoch: int,
        parts: Iterable[tuple[int, Part]],
        optimizer: torch.optim.Optimizer,
        max_grad_norm: float,
    ) -> float:
        """One gradient step; gives its loss."""

    def validate(self) -> Verdict | None:
        """What validation says of the weights as they are now; None without validation."""


class Snapshots(Protocol):
    """Where an iteration is written down while it goes on; a snapshot is tensors and plain values, nested."""

    def read(self, t: int) -> dict[str, Any] | None:
        """The last snapshot of iteration t; None if there is none."""

    def write(self, t: int, snapshot: dict[str, Any]) -> None:
        """Replaces the snapshot."""


@dataclass
class _Course:
    """Where an iteration is: the next step, and what came before it."""

    epoch: int = 0
    step: int = 0
    total: float = 0.0
    targets: int = 0
    best: Verdict | None = None
    best_epoch: int = 0
    best_state: dict[str, Tensor] | None = None
    epochs: list[Epoch] = field(default_factory=list)
    seconds: float = 0.0


def iterate(
    steps: Steps,
    schedule: Schedule,
    on_epoch: Callable[[Epoch], Any] = lambda epoch: None,
    snapshots: Snapshots | None = None,
) -> Iteration:
    """Iteration t: from the weights that it starts with, or from its snapshot, to those of the best epoch."""
    component = steps.component
    optimizer = schedule.optimizer(list(component.parameters()))
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise ValueError(f"optimizer gives {type(optimizer).__name__}; expected one of torch.optim")
    scheduler = None if schedule.scheduler is None else schedule.scheduler(optimizer)
    if schedule.scheduler is not None and not hasattr(scheduler, "step"):
        raise ValueError(f"scheduler gives {type(scheduler).__name__}; expected one of torch.optim")
    parts = {"component": component, "optimizer": optimizer}
    if scheduler is not None:
        parts["scheduler"] = scheduler
    at = _resumed(steps, parts, snapshots)
    stopped, began = False, time.perf_counter() - at.seconds
    written = time.perf_counter()
    while at.epoch < schedule.max_epochs:
        epoch = at.epoch
        for count, batch in steps.epoch(epoch, at.step):
            at.total += count * steps.step(epoch, batch, optimizer, schedule.max_grad_norm)
            at.targets += count
            at.step += 1
            if snapshots is not None and time.perf_counter() - written >= SNAPSHOT_SECONDS:
                at.seconds, written = time.perf_counter() - began, time.perf_counter()
                snapshots.write(steps.t, _snapshot(steps, parts, at))
        due = (epoch + 1) % schedule.eval_every == 0 or epoch + 1 == schedule.max_epochs
        verdict = steps.validate() if due else None
        if verdict is not None and (at.best is None or verdict > at.best):
            at.best, at.best_epoch = verdict, epoch
            at.best_state = copy.deepcopy(component.state_dict())
        metric = math.nan if verdict is None else verdict.metric
        loss = at.total / at.targets
        at.epochs.append(Epoch(steps.t, epoch, loss, metric, time.perf_counter() - began))
        _adjust(scheduler, verdict)
        at.epoch, at.step, at.total, at.targets = epoch + 1, 0, 0.0, 0
        stopped = on_epoch(at.epochs[-1]) is True
        if stopped or (at.best is not None and due and epoch - at.best_epoch >= schedule.patience):
            break
    if at.best_state is not None:
        component.load_state_dict(at.best_state)
    for name, weight in component.named_parameters():
        if not bool(torch.isfinite(weight).all()):
            raise Diverged(
                f"NaN or infinite values in {name}, weights of iteration {steps.t}; expected numbers: use a "
                "lower learning rate (lr)"
            )
    return Iteration(component.eval(), at.epochs, stopped)


def _snapshot(steps: Steps, parts: dict[str, Any], at: _Course) -> dict[str, Any]:
    """All that the next step depends on."""
    random = {"steps": steps.generator.get_state(), "torch": torch.get_rng_state()}
    if torch.cuda.is_available():
        random["cuda"] = torch.cuda.get_rng_state()
    states = {name: part.state_dict() for name, part in parts.items()}
    return {**states, "random": random, "at": asdict(at)}


def _resumed(steps: Steps, parts: dict[str, Any], snapshots: Snapshots | None) -> _Course:
    """Goes back to the last snapshot, if there is one."""
    found = None if snapshots is None else snapshots.read(steps.t)
    if found is None:
        return _Course()
    for name, part in parts.items():
        part.load_state_dict(found[name])
    steps.generator.set_state(found["random"]["steps"])
    torch.set_rng_state(found["random"]["torch"])
    if "cuda" in found["random"]:
        torch.cuda.set_rng_state(found["random"]["cuda"])
    at = _Course(**found["at"])
    at.best = None if at.best is None else Verdict(*at.best)
    at.epochs = [Epoch(**epoch) for epoch in found["at"]["epochs"]]
    return at


def _adjust(scheduler: Any, verdict: Verdict | None) -> None:
    """Sets the learning rate of the next epoch; a scheduler that waits for a plateau sees the score."""
    if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
        if verdict is not None:
            scheduler.step(-verdict.score)  # it lowers the rate when this does not fall
    elif scheduler is not None:
        scheduler.step()
