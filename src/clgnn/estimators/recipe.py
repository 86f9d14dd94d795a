"""How to make a classifier of scikit-learn again: its name and its parameters, as JSON can say them.

A recipe names a public class of scikit-learn, and holds the parameters that differ from their defaults: plain
values, and recipes of estimators inside. Nothing else is ever made from one, so that reading it runs no code
but scikit-learn's own.
"""

from __future__ import annotations

import importlib
import inspect
import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

MODULES = (
    "calibration", "compose", "decomposition", "discriminant_analysis", "dummy", "ensemble",
    "feature_selection", "gaussian_process", "impute", "kernel_approximation", "linear_model",
    "model_selection", "multiclass", "naive_bayes", "neighbors", "neural_network", "pipeline",
    "preprocessing", "random_projection", "semi_supervised", "svm", "tree",
)  # fmt: skip
"""Where classifiers are, and what stands before them in a pipeline."""
REFUSED = ("memory",)
"""Parameters that name a folder of pickles."""


def recipe(estimator: Any) -> dict[str, Any]:
    """What an estimator is made from.

    Raises:
        ValueError: if it is none of scikit-learn's, or has a parameter that JSON can't say.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> recipe(LogisticRegression(C=3.0))
        {'class': 'linear_model.LogisticRegression', 'parameters': {'C': 3.0}}
    """
    kind = type(estimator)
    top, _, inner = kind.__module__.partition(".")
    name = f"{inner.partition('.')[0]}.{kind.__name__}"
    if top != "sklearn" or _find(name) is not kind:
        raise ValueError(_unsaved(kind.__name__, "which is no class of scikit-learn"))
    defaults = {key: one.default for key, one in inspect.signature(kind).parameters.items()}
    given = estimator.get_params(deep=False)
    changed = {key: value for key, value in given.items() if value is not defaults[key]}
    for key in REFUSED:
        if key in changed:
            raise ValueError(_unsaved(kind.__name__, f"whose {key} is a folder of pickles"))
    try:
        return {"class": name, "parameters": {key: _said(value) for key, value in changed.items()}}
    except TypeError as error:
        raise ValueError(_unsaved(kind.__name__, f"which has {error} among its parameters")) from error


def made(content: Any) -> Any:
    """The estimator of a recipe, yet to be fitted.

    Raises:
        ValueError: if the recipe names no class of scikit-learn.

    Example:
        >>> made({"class": "linear_model.LogisticRegression", "parameters": {"C": 3.0}})
        LogisticRegression(C=3.0)
    """
    name, parameters = str(content["class"]), dict(content["parameters"])
    kind = _find(name)
    if kind is None or set(REFUSED) & set(parameters):
        raise ValueError(f"{name!r} is no classifier that is read from a file")
    return kind(**{key: _meant(value) for key, value in parameters.items()})


def _find(name: str) -> type[BaseEstimator] | None:
    """A public class of scikit-learn by its name, such as ``"svm.SVC"``."""
    module, _, own = name.partition(".")
    if module not in MODULES:
        return None
    public = importlib.import_module(f"sklearn.{module}")
    found = getattr(public, own, None) if own in public.__all__ else None
    return found if isinstance(found, type) and issubclass(found, BaseEstimator) else None


def _said(value: Any) -> Any:
    """A parameter as JSON can say it; what is no plain value has the name of its type beside it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_said(one) for one in value]
    if isinstance(value, tuple):
        return {"tuple": [_said(one) for one in value]}
    if isinstance(value, dict):
        return {"dict": [[_said(key), _said(one)] for key, one in value.items()]}
    if isinstance(value, BaseEstimator):
        return recipe(value)
    raise TypeError(f"a {type(value).__name__}")


def _meant(value: Any) -> Any:
    """A parameter from what :func:`_said` gave."""
    if isinstance(value, list):
        return [_meant(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "class" in value:
        return made(value)
    (kind, content), *_ = value.items()
    if kind == "tuple":
        return tuple(_meant(one) for one in content)
    if kind == "dict":
        return {_meant(key): _meant(one) for key, one in content}
    return float(content)


def _unsaved(name: str, why: str) -> str:
    return (
        f"a {name}, {why}, can't be saved, as it could only be written as code; save its predictions "
        "instead, and give them as data.start_proba with start='given'"
    )
