"""The settings of collective learning: their names, defaults, and what each may be.

Nothing heavy is imported here, so that the command line can show its help at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from clgnn.collective.component import GNN

Expected: TypeAlias = tuple[str, Callable[[Any], bool]]
"""What is expected of a setting, in words, and whether a value is that."""

GNNS = ("gcn", "sage", "snowball", "tk", "krylov", "gin", "nip", "column")
"""The GNNs that can be asked for by name; ``tk`` is the paper's word for Snowball."""
CLASSIFICATION = (
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "roc_auc",
    "average_precision",
    "log_loss",
    "brier",
    "calibration_error",
)
REGRESSION = ("r2", "rmse", "mae", "log_loss", "coverage_90")
MULTILABEL = (
    "macro_f1", "micro_f1", "accuracy", "hamming_loss", "roc_auc", "average_precision", "log_loss", "brier",
)  # fmt: skip
LOWER_IS_BETTER = frozenset({"log_loss", "brier", "calibration_error", "rmse", "mae", "hamming_loss"})

CHOICES: dict[str, tuple[Any, ...]] = {
    "labels": ("sampled", "soft", "uniform", "observed"),
    "test_labels": ("none", "partial"),
    "inference_masks": ("sampled", "all"),
    "sampling": ("systematic", "iid"),
    "propagation": ("auto", "edge_index"),
    "precision": ("float32", "bfloat16"),
    **dict.fromkeys(("carry_weights", "keep_best", "calibrate", "learn_observed"), (True, False)),
}


def count(minimum: int = 1, note: str = "", or_none: bool = False) -> Expected:
    """A whole number; those of NumPy count too.

    Example:
        >>> words, holds = count(0, " (the plain GNN)")
        >>> words, holds(0), holds(-1), holds(1.5), holds(True)
        ('an integer, 0 (the plain GNN) or more', True, False, False, False)
    """

    def holds(value: Any) -> bool:
        if value is None:
            return or_none
        return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= minimum

    return f"{'None or ' * or_none}an integer, {minimum}{note} or more", holds


def number(words: str, inside: Callable[[float], bool], or_none: bool = False) -> Expected:
    """A real number within bounds.

    Example:
        >>> words, holds = number("a number above 0", lambda v: v > 0)
        >>> holds(0.1), holds(0), holds(None), holds("0.1"), holds(float("nan"))
        (True, False, False, False, False)
    """

    def holds(value: Any) -> bool:
        if value is None:
            return or_none
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        huge = isinstance(value, Integral) and abs(int(value)) >= 2**63  # torch takes no such integer
        return not huge and math.isfinite(value) and inside(float(value))

    return f"{'None or ' * or_none}{words}", holds


ABOVE_0 = number("a number above 0", lambda v: v > 0)
FROM_0 = number("a number, 0 or more", lambda v: v >= 0)
SHARE = number("a number from 0 to 1", lambda v: 0 <= v <= 1)


def function(words: str, *names: str | None) -> Expected:
    """A function of the user's own, or one of some names.

    Example:
        >>> words, holds = function("a function of parameters", "adam")
        >>> words, holds("adam"), holds(print), holds("magic")
        ('adam, or a function of parameters', True, True, False)
    """
    said = "".join(f"{name}, " for name in names)
    return (
        f"{said}or {words}",
        lambda value: value in names if isinstance(value, str | None) else callable(value),
    )


OPTIMIZERS = ("adam", "adamw", "rmsprop")
RANGES: dict[str, Expected] = {
    "optimizer": function("a function (parameters) -> optimizer", *OPTIMIZERS),
    "scheduler": function("a function (optimizer) -> scheduler", None),
    "loss": function("a function (outputs, labels) -> loss", None),
    "num_samples": count(),
    "num_iterations": count(0, " (the plain GNN)"),
    "num_masks": count(or_none=True),
    "shown_share": SHARE,
    "hidden_channels": count(),
    "num_layers": count(or_none=True),
    "dropout": number("a number from 0 to below 1", lambda v: 0 <= v < 1),
    "lr": ABOVE_0,
    "weight_decay": FROM_0,
    "caution": FROM_0,
    "max_epochs": count(),
    "patience": count(),
    "iteration_epochs": count(or_none=True),
    "iteration_patience": count(or_none=True),
    "eval_every": count(),
    "max_grad_norm": ABOVE_0,
    "memory_budget": number("a number of GiB above 0", lambda v: v > 0, or_none=True),
    "seed": count(0),
}


def check(
    parameters: Mapping[str, Any], choices: Mapping[str, tuple[Any, ...]], expected: Mapping[str, Expected]
) -> None:
    """Refuses parameters that are not what they should be.

    Args:
        parameters: of an estimator.
        choices, expected: what its own ones may be, beside :data:`CHOICES` and :data:`RANGES`.

    Example:
        >>> check({"lr": 0}, {}, {})
        Traceback (most recent call last):
        ValueError: lr is 0; expected a number above 0
    """
    choices, expected = {**CHOICES, **choices}, {**RANGES, **expected}
    for name, value in parameters.items():
        if name in choices and not any(_equal(value, choice) for choice in choices[name]):
            words = ", ".join(str(choice) for choice in choices[name])
            raise ValueError(f"{name} is {value!r}; expected one of {words}")
        if name in expected and not expected[name][1](value):
            raise ValueError(f"{name} is {value!r}; expected {expected[name][0]}")


def _equal(value: Any, choice: Any) -> bool:
    """Whether a value is a choice; an array or a tensor of several numbers is none."""
    return value is choice or (not getattr(value, "shape", ()) and bool(value == choice))


@dataclass(repr=False, eq=False)
class CollectiveSettings:
    """The parameters are explained in :class:`clgnn.CollectiveClassifier`."""

    gnn: GNN = "gcn"
    num_samples: int = 10
    num_iterations: int = 3
    start: Any = "plain"
    num_masks: int | None = None
    labels: Literal["sampled", "soft", "uniform", "observed"] = "sampled"
    test_labels: Literal["none", "partial"] = "none"
    shown_share: float = 0.5
    inference_masks: Literal["sampled", "all"] = "sampled"
    sampling: Literal["systematic", "iid"] = "systematic"
    hidden_channels: int = 16
    num_layers: int | None = None
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 5e-4
    optimizer: Literal["adam", "adamw", "rmsprop"] | Callable[[Any], Any] = "adam"
    scheduler: Callable[[Any], Any] | None = None
    loss: Callable[[Any, Any], Any] | None = None
    max_epochs: int = 2000
    patience: int = 400
    iteration_epochs: int | None = None
    iteration_patience: int | None = None
    eval_every: int = 1
    max_grad_norm: float = 5.0
    carry_weights: bool = True
    keep_best: bool = True
    caution: float = 1.0
    calibrate: bool = True
    learn_observed: bool = False
    metric: str | Callable[[Any, Any], float] | None = None
    propagation: Literal["auto", "edge_index"] = "auto"
    memory_budget: float | None = 4.0
    precision: Literal["float32", "bfloat16"] = "float32"
    device: str = "auto"
    seed: int = 0


PRESETS = ("paper",)
"""Names of settings that belong together: ``"paper"`` is the method as the paper has it."""


def preset(name: str, test_labels: str) -> dict[str, Any]:
    """The settings of a preset, by whether the graphs to predict on have labels.

    The paper averages over as many masks as an iteration has gradient steps. Here they are 10, which is a
    choice of ours: each mask costs K passes through the GNN.

    Example:
        >>> preset("paper", "none")["num_iterations"], preset("paper", "partial")["num_iterations"]
        (3, 10)
    """
    if name not in PRESETS:
        raise ValueError(f"the preset is {name!r}; expected one of {', '.join(PRESETS)}")
    labelled = {"num_iterations": 10, "max_epochs": 100, "patience": 100, "num_masks": 10}
    own = labelled if test_labels == "partial" else {"num_iterations": 3, "max_epochs": 500, "patience": 100}
    return {"start": "paper", "sampling": "iid", "keep_best": False, "calibrate": False, **own}


def iteration_budget(settings: Mapping[str, Any]) -> tuple[int, int]:
    """The epochs and the patience of an iteration that has predicted labels: a quarter of the plain GNN's.

    Those of the paper's start are all alike.

    Example:
        >>> iteration_budget({"max_epochs": 2000, "patience": 400})
        (500, 100)
    """
    given = {**vars(CollectiveSettings()), **settings}
    share = 1 if given["start"] == "paper" else 4
    epochs = given["iteration_epochs"] or max(1, given["max_epochs"] // share)
    return int(epochs), int(given["iteration_patience"] or max(1, given["patience"] // share))


def all_epochs(settings: Mapping[str, Any]) -> dict[str, int]:
    """The epochs and the patience of all stages together: what a plain GNN needs for a fair comparison.

    Example:
        >>> all_epochs({"num_iterations": 3, "max_epochs": 200, "patience": 40})
        {'max_epochs': 350, 'patience': 70}
    """
    given = {**vars(CollectiveSettings()), **settings}
    epochs, patience = (each * given["num_iterations"] for each in iteration_budget(given))
    return {"max_epochs": given["max_epochs"] + epochs, "patience": given["patience"] + patience}


def as_plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the plain GNN that a boosted one is compared with, whatever that starts from.

    Example:
        >>> as_plain({"start": "auto", "num_iterations": 3, "max_epochs": 200, "patience": 40})
        {'start': 'plain', 'num_iterations': 0, 'max_epochs': 350, 'patience': 70}
    """
    start = "paper" if isinstance(start := settings.get("start"), str) and start == "paper" else "plain"
    return {**settings, "start": start, "num_iterations": 0, **all_epochs(settings)}
