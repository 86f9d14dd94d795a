"""The rivals of collective learning, with one interface: the paper's, and what people use today.

Example:
    >>> from clgnn import datasets, relational, splits
    >>> data = datasets.load("citations", num_nodes=300)
    >>> split = splits.random(data, train_labels=60, test_nodes=100, val_nodes=50)
    >>> model = relational.make("label_propagation").fit(data, split.train_mask, split.val_mask)
    >>> model.score(data, split.test_mask, observed_mask=split.train_mask) > 0.3
    True
"""

from __future__ import annotations

from os import PathLike
from typing import Any, TypeAlias

from clgnn import persistence
from clgnn.component import GNN
from clgnn.estimator import CollectiveClassifier
from clgnn.relational.base import Relational
from clgnn.relational.baselines import RCC, RNI, CLAllLabels, GNNAllLabels, LabelReuse, Random
from clgnn.relational.correct_and_smooth import CorrectAndSmooth
from clgnn.relational.gmnn import GMNN
from clgnn.relational.ica import ICA
from clgnn.relational.label_propagation import LabelPropagation
from clgnn.relational.pl_em import PLEM

Rival: TypeAlias = Relational | CollectiveClassifier

METHODS: dict[str, type[Rival]] = {
    "random": Random,
    "ica": ICA,
    "pl_em": PLEM,
    "gmnn": GMNN,
    "label_propagation": LabelPropagation,
    "correct_and_smooth": CorrectAndSmooth,
    "label_reuse": LabelReuse,
    "rcc": RCC,
    "rni": RNI,
    "gnn_all_labels": GNNAllLabels,
    "cl_all_labels": CLAllLabels,
}
"""Every rival by its name."""
PLAIN = frozenset({"correct_and_smooth", "gnn_all_labels"})
"""Those that train a plain GNN; a fair comparison gives it :func:`~clgnn.estimator.all_epochs`."""


def make(name: str, **settings: Any) -> Rival:
    """A rival by its name, from settings that are meant for several of them.

    Args:
        name: one of :data:`METHODS`.
        settings: parameters of any of the methods, those of :class:`~clgnn.CollectiveClassifier` among
            them. A method takes those that it has, other than the ones that make it what it is (the
            ``labels`` of ``rcc``); ``correct_and_smooth`` also hands them to its base, a plain GNN.

    Raises:
        ValueError: if there is no such method, or no method at all has such a setting.

    Example:
        >>> make("rcc", gnn="sage", labels="sampled", seed=3).get_params()["labels"]
        'soft'
    """
    if name not in METHODS:
        raise ValueError(f"method is {name!r}; expected one of {', '.join(METHODS)}")
    everything = _parameters(CollectiveClassifier).union(*map(_parameters, METHODS.values()))
    for setting in settings.keys() - everything:
        raise ValueError(f"no method has a setting {setting!r}; expected {', '.join(sorted(everything))}")
    if name == "correct_and_smooth" and "base" not in settings:
        settings = {
            **settings,
            "base": CollectiveClassifier(**_taken(GNNAllLabels, settings), num_iterations=0),
        }
    return METHODS[name](**_taken(METHODS[name], settings))


def save(model: Rival, path: str | PathLike[str], force: bool = False, extra: Any = None) -> None:
    """Writes a fitted rival to a folder; ``extra`` is kept beside it, as JSON."""
    if isinstance(model, Relational):
        model.save(path, force, extra)
    else:
        persistence.save(model, path, force, extra)


def load(path: str | PathLike[str], gnn: GNN | None = None) -> Rival:
    """Reads any rival from its folder; ``gnn`` is the one that it was fitted with, if that is not ours."""
    kind = persistence.read(path)["kind"]
    for method in METHODS.values():
        if method.__name__ == kind:
            return method.load(path, gnn)
    raise ValueError(f"{path} is a {kind}; expected one of {', '.join(m.__name__ for m in METHODS.values())}")


def _parameters(method: type[Rival]) -> set[str]:
    return set(method().get_params(deep=False))


def _taken(method: type[Rival], settings: dict[str, Any]) -> dict[str, Any]:
    names = _parameters(method) - getattr(method, "fixed", frozenset())
    return {name: value for name, value in settings.items() if name in names}


__all__ = [
    "GMNN",
    "ICA",
    "METHODS",
    "PLAIN",
    "PLEM",
    "RCC",
    "RNI",
    "CLAllLabels",
    "CorrectAndSmooth",
    "GNNAllLabels",
    "LabelPropagation",
    "LabelReuse",
    "Random",
    "Relational",
    "Rival",
    "load",
    "make",
    "save",
]
