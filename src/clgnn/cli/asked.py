"""The model that options ask for: collective learning, a rival, or the best of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clgnn.baselines import METHODS, REGRESSION_METHODS
from clgnn.cli.hetero import hetero_gnn
from clgnn.cli.options import OPTION_OF, asked_for, errors

if TYPE_CHECKING:
    from clgnn.data.tables import Schema
    from clgnn.estimators.node import NodeEstimator


def asked_model(method: str, comparison: str | None, schema: Schema, given: dict[str, Any]) -> NodeEstimator:
    """The model that the options of a fit ask for, yet to be fitted."""
    from clgnn import baselines
    from clgnn.data.hetero_tables import HeteroSchema
    from clgnn.estimators.collective import CollectiveClassifier, CollectiveRegressor
    from clgnn.estimators.multilabel import CollectiveMultiLabelClassifier

    if isinstance(schema, HeteroSchema):
        given = {**given, "gnn": hetero_gnn(given, schema)}
    if schema.classes is not None:
        given = {**given, "metric": numbered(given["metric"], schema.classes)}
    if (method == "best") != (comparison is not None):
        raise ValueError("--method best and --from belong together; give both: --method best --from FOLDER")
    if comparison is not None:
        return _best_of(comparison, schema, asked_for(given))
    if schema.classes is not None:
        if method == "collective":
            return CollectiveClassifier(**given)
        if method not in METHODS:
            raise ValueError(f"--method {method} is for numbers, and {schema.label!r} holds classes")
        return baselines.make(method, **asked_for(given))  # what is not asked for is as the rival has it
    if method != "collective" and (schema.several or method not in REGRESSION_METHODS):
        raise ValueError(f"--method {method} is for classes, and {schema.what}")
    if given.pop("class_weight") is not None:
        raise ValueError(f"--class-weight is for classes, and {schema.what}; leave it out")
    if method != "collective":
        return baselines.make(method, numbers=True, **asked_for(given))
    return (CollectiveMultiLabelClassifier if schema.several else CollectiveRegressor)(**given)


def _best_of(comparison: str, schema: Schema, given: dict[str, Any]) -> NodeEstimator:
    """The method that was the best in a comparison, with its settings there and those that are given."""
    from clgnn.experiments.compare import opened

    found = opened(comparison)
    task = "regression" if schema.classes is None else "classification"
    if found.task != task:
        raise ValueError(
            f"--from {comparison} is a {found.task}, and {schema.label!r} a {task}; choose another"
        )
    model = found.model()
    if wrong := given.keys() - model.get_params(deep=False).keys():
        names = ", ".join(OPTION_OF.get(name, name) for name in sorted(wrong))
        raise ValueError(
            f"{names}: {found.best}, the best of {comparison}, has no such setting; leave it out"
        )
    errors.print(f"The best of {comparison} is {found.best}.")
    model.set_params(**given)
    return model


def numbered(metric: str | None, classes: Sequence[str]) -> str | None:
    """``f1:CLASS`` with the number of the class that the table calls so."""
    if metric is None or not metric.startswith("f1:"):
        return metric
    name = metric.removeprefix("f1:")
    if name not in classes:
        raise ValueError(f"metric is {metric!r}; expected a class after f1:, one of {', '.join(classes)}")
    return f"f1:{classes.index(name)}"
