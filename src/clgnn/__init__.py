"""Collective learning: boosts any graph neural network on partially labelled graphs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clgnn import baselines, nn, theory
    from clgnn.baselines import load
    from clgnn.data import datasets, splits
    from clgnn.estimators import callbacks, metrics
    from clgnn.estimators.collective import CollectiveClassifier, CollectiveRegressor
    from clgnn.estimators.multilabel import CollectiveMultiLabelClassifier
    from clgnn.experiments.compare import compare
    from clgnn.experiments.tuning import tune

__version__ = "0.2.0"
__all__ = [
    "CollectiveClassifier",
    "CollectiveMultiLabelClassifier",
    "CollectiveRegressor",
    "baselines",
    "callbacks",
    "compare",
    "datasets",
    "load",
    "metrics",
    "nn",
    "splits",
    "theory",
    "tune",
]

# Where each public name lives. A name is imported when it is first asked for: `clgnn --help` needs no torch.
_NAMES = {
    "CollectiveClassifier": "clgnn.estimators.collective",
    "CollectiveMultiLabelClassifier": "clgnn.estimators.multilabel",
    "CollectiveRegressor": "clgnn.estimators.collective",
    "compare": "clgnn.experiments.compare",
    "load": "clgnn.baselines",
    "tune": "clgnn.experiments.tuning",
}
_MODULES = {
    "baselines": "clgnn.baselines",
    "callbacks": "clgnn.estimators.callbacks",
    "datasets": "clgnn.data.datasets",
    "metrics": "clgnn.estimators.metrics",
    "nn": "clgnn.nn",
    "splits": "clgnn.data.splits",
    "theory": "clgnn.theory",
}


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    raise AttributeError(f"module 'clgnn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
