"""The rivals of collective learning, with one interface: the paper's, and what people use today.

Example:
    >>> from clgnn import baselines, datasets, splits
    >>> data = datasets.load("citations", num_nodes=300)
    >>> split = splits.random(data, train_labels=60, test_nodes=100, val_nodes=50)
    >>> model = baselines.make("label_propagation").fit(data, split.train_mask, split.val_mask)
    >>> model.score(data, split.test_mask, observed_mask=split.train_mask) > 0.3
    True
"""

from __future__ import annotations

import importlib
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clgnn.baselines.architectures import HOPF, ColumnNetworkClassifier, RelationalPooling
    from clgnn.baselines.correct_and_smooth import CorrectAndSmooth
    from clgnn.baselines.deep_collective_inference import DeepCollectiveInference
    from clgnn.baselines.gmnn import GMNN
    from clgnn.baselines.guess import Majority, Random
    from clgnn.baselines.ica import ICA
    from clgnn.baselines.label_propagation import LabelPropagation
    from clgnn.baselines.on_columns import OnColumns
    from clgnn.baselines.pl_em import PLEM
    from clgnn.baselines.residuals import ResidualPropagation, ResidualRegression
    from clgnn.baselines.rival import Rival
    from clgnn.baselines.spn import SPN
    from clgnn.baselines.tabular import (
        GradientBoosting,
        GradientBoostingNeighbors,
        Logistic,
        LogisticNeighbors,
    )
    from clgnn.baselines.tabular_regression import (
        GradientBoostingRegression,
        GradientBoostingRegressionNeighbors,
        Mean,
        Ridge,
        RidgeNeighbors,
    )
    from clgnn.baselines.variants import RCC, RNI, CLAllLabels, GNNAllLabels, LabelReuse
    from clgnn.collective.component import GNN
    from clgnn.estimators.node import NodeEstimator

METHODS: dict[str, tuple[str, str]] = {
    "random": ("guess", "Random"),
    "majority": ("guess", "Majority"),
    "ica": ("ica", "ICA"),
    "pl_em": ("pl_em", "PLEM"),
    "gmnn": ("gmnn", "GMNN"),
    "label_propagation": ("label_propagation", "LabelPropagation"),
    "correct_and_smooth": ("correct_and_smooth", "CorrectAndSmooth"),
    "label_reuse": ("variants", "LabelReuse"),
    "rcc": ("variants", "RCC"),
    "rni": ("variants", "RNI"),
    "gnn_all_labels": ("variants", "GNNAllLabels"),
    "cl_all_labels": ("variants", "CLAllLabels"),
    "hopf": ("architectures", "HOPF"),
    "column_network": ("architectures", "ColumnNetworkClassifier"),
    "relational_pooling": ("architectures", "RelationalPooling"),
    "deep_collective_inference": ("deep_collective_inference", "DeepCollectiveInference"),
    "residual_propagation": ("residuals", "ResidualPropagation"),
    "spn": ("spn", "SPN"),
    "logistic_regression": ("tabular", "Logistic"),
    "logistic_regression_neighbors": ("tabular", "LogisticNeighbors"),
    "hist_gradient_boosting": ("tabular", "GradientBoosting"),
    "hist_gradient_boosting_neighbors": ("tabular", "GradientBoostingNeighbors"),
}
"""Every rival by its name, with its file and its class. A class is imported when it is first asked for."""
REGRESSION_METHODS: dict[str, tuple[str, str]] = {
    "mean": ("tabular_regression", "Mean"),
    "ridge_regression": ("tabular_regression", "Ridge"),
    "ridge_regression_neighbors": ("tabular_regression", "RidgeNeighbors"),
    "hist_gradient_boosting": ("tabular_regression", "GradientBoostingRegression"),
    "hist_gradient_boosting_neighbors": ("tabular_regression", "GradientBoostingRegressionNeighbors"),
    "residual_regression": ("residuals", "ResidualRegression"),
}
"""The rivals for labels that are numbers; boosted trees are there for both."""
ON_TOP = frozenset({"correct_and_smooth", "residual_propagation", "residual_regression", "spn"})
"""Those that work on what another model says, their ``base``."""
PLAIN = frozenset(
    {"correct_and_smooth", "residual_propagation", "residual_regression", "spn", "gnn_all_labels"}
    | {"column_network"}
)
"""Those that train a plain GNN; a fair comparison gives it :func:`~clgnn.estimators.settings.all_epochs`."""
_ALL = (*METHODS.values(), *REGRESSION_METHODS.values())
_CLASSES = {**{name: module for module, name in _ALL}, "Rival": "rival", "OnColumns": "on_columns"}


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return getattr(importlib.import_module(f"clgnn.baselines.{_CLASSES[name]}"), name)
    raise AttributeError(f"module 'clgnn.baselines' has no attribute {name!r}")


def method(name: str, numbers: bool = False) -> type[NodeEstimator]:
    """The class of a rival; with ``numbers``, the one for labels that are numbers.

    Example:
        >>> method("ica").__name__, method("hist_gradient_boosting", numbers=True).__name__
        ('ICA', 'GradientBoostingRegression')
    """
    table = REGRESSION_METHODS if numbers else METHODS
    if name not in table:
        what = "numbers" if numbers else "classes"
        raise ValueError(f"method is {name!r}; expected one of {', '.join(table)}, for {what}")
    found: type[NodeEstimator] = __getattr__(table[name][1])
    return found


def make(name: str, *, numbers: bool | None = None, **settings: Any) -> NodeEstimator:
    """A rival by its name, from settings that are meant for several of them.

    Args:
        name: one of :data:`METHODS`, or of :data:`REGRESSION_METHODS`.
        numbers: whether it is to predict numbers; by default only if it can predict nothing else.
        settings: parameters of any of the methods, those of :class:`~clgnn.CollectiveClassifier` among
            them. A method takes those that it has, other than the ones that make it what it is (the
            ``labels`` of ``rcc``); those of :data:`ON_TOP` also hand them to their base, a plain GNN.

    Raises:
        ValueError: if there is no such method, or no method at all has such a setting.

    Example:
        >>> make("rcc", gnn="sage", labels="sampled", seed=3).get_params()["labels"]
        'soft'
    """
    from clgnn.estimators.collective import CollectiveClassifier, CollectiveRegressor

    numbers = name not in METHODS and name in REGRESSION_METHODS if numbers is None else numbers
    kind = method(name, numbers)
    everything = _parameters(CollectiveClassifier).union(*map(_parameters, _kinds()))
    for setting in settings.keys() - everything:
        raise ValueError(f"no method has a setting {setting!r}; expected {', '.join(sorted(everything))}")
    if name in ON_TOP and "base" not in settings:
        base = CollectiveRegressor if numbers else CollectiveClassifier
        given = {**_taken(base, settings), "num_iterations": 0, "start": "plain", "learn_observed": False}
        settings = {**settings, "base": base(**given)}
    return kind(**_taken(kind, settings))


def as_estimator(value: Any, *, numbers: bool | None = None, **settings: Any) -> NodeEstimator:
    """An estimator of nodes from a name, from an estimator, or from a scikit-learn classifier.

    Args:
        value: one of :data:`METHODS`; a node estimator, which is copied; or a classifier of scikit-learn,
            which then sees each node's own columns.
        numbers: as for :func:`make`, for one that is given by name.
        settings: such as ``test_labels``, ``metric`` and ``seed``, for one that is given by name or by
            scikit-learn; it takes those that it has.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> type(as_estimator("ica")).__name__, type(as_estimator(LogisticRegression())).__name__
        ('ICA', 'OnColumns')
    """
    from sklearn.base import clone

    from clgnn.baselines.on_columns import OnColumns
    from clgnn.estimators.node import NodeEstimator

    if isinstance(value, str):
        return make(value, numbers=numbers, **settings)
    if isinstance(value, NodeEstimator):
        copied: NodeEstimator = clone(value)
        return copied
    if hasattr(value, "fit") and hasattr(value, "predict_proba"):
        return OnColumns(classifier=value, **_taken(OnColumns, settings))
    raise ValueError(
        f"start is {value!r}; expected 'plain', 'paper', 'auto', 'given', one of {', '.join(METHODS)}, an "
        "estimator of nodes, a scikit-learn classifier, or a list of them"
    )


def load(path: str | PathLike[str], gnn: GNN | None = None) -> NodeEstimator:
    """Reads a model of any kind from its folder, collective or rival.

    Args:
        path: where ``save`` wrote it.
        gnn: the module or factory that it was fitted with, if that was not one of ours: code is never
            taken from a folder.
    """
    from clgnn.estimators.node import NodeEstimator

    return NodeEstimator.load(path, gnn)


def import_all() -> None:
    """Imports every kind of estimator, so that a saved model of any of them can be read."""
    for name in ("collective", "multilabel"):
        importlib.import_module(f"clgnn.estimators.{name}")
    _kinds()


def _kinds() -> list[type[NodeEstimator]]:
    """The classes of all rivals."""
    return [__getattr__(name) for _, name in _ALL]


def _parameters(kind: type[NodeEstimator]) -> set[str]:
    return set(kind().get_params(deep=False))


def _taken(kind: type[NodeEstimator], settings: dict[str, Any]) -> dict[str, Any]:
    names = _parameters(kind) - kind.fixed
    return {name: value for name, value in settings.items() if name in names}


__all__ = [
    "GMNN",
    "HOPF",
    "ICA",
    "METHODS",
    "ON_TOP",
    "PLAIN",
    "PLEM",
    "RCC",
    "REGRESSION_METHODS",
    "RNI",
    "SPN",
    "CLAllLabels",
    "ColumnNetworkClassifier",
    "CorrectAndSmooth",
    "DeepCollectiveInference",
    "GNNAllLabels",
    "GradientBoosting",
    "GradientBoostingNeighbors",
    "GradientBoostingRegression",
    "GradientBoostingRegressionNeighbors",
    "LabelPropagation",
    "LabelReuse",
    "Logistic",
    "LogisticNeighbors",
    "Majority",
    "Mean",
    "OnColumns",
    "Random",
    "RelationalPooling",
    "ResidualPropagation",
    "ResidualRegression",
    "Ridge",
    "RidgeNeighbors",
    "Rival",
    "as_estimator",
    "load",
    "make",
    "method",
]
