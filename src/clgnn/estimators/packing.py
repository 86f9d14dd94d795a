"""An estimator as what JSON can say and arrays, and back: nothing in between can run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd
import torch
from sklearn.base import clone
from torch import Tensor, nn

from clgnn.data.typed import checked
from clgnn.estimators.recipe import made, recipe

if TYPE_CHECKING:
    from clgnn.estimators.node import NodeEstimator

Kinds: TypeAlias = "Mapping[str, type[NodeEstimator]]"


def packed(estimator: NodeEstimator, arrays: dict[str, Tensor], prefix: str) -> dict[str, Any]:
    """What JSON can say of an estimator; its weights go to ``arrays``, under names that begin with prefix."""
    parameters = estimator.get_params(deep=False)
    _check_unchanged(estimator, parameters)
    if not isinstance(parameters.get("gnn", ""), str):
        parameters["gnn"] = None  # code is not written; whoever loads the model has it
    if isinstance(parameters.get("class_weight"), dict):
        parameters["class_weight"] = {int(c): float(w) for c, w in parameters["class_weight"].items()}
    if "classifier" in parameters:
        parameters["classifier"] = recipe(parameters["classifier"])
    if "device" in parameters:
        parameters["device"] = str(parameters["device"])
    for name, default in (("metric", None), ("optimizer", "adam"), ("scheduler", None), ("loss", None)):
        if callable(parameters.get(name)):
            parameters[name] = default  # it has done its work; a prediction does not need it
    start = parameters.get("start", "")
    if not all(isinstance(one, str) for one in (start if isinstance(start, list | tuple) else [start])):
        parameters["start"] = None  # the estimators are kept as they were fitted
    plain: dict[str, Any] = {}
    inside: dict[str, Any] = {}
    for name in estimator._learned:
        value = getattr(estimator, name)
        if isinstance(value, Tensor):
            arrays[prefix + name] = value
        elif isinstance(value, nn.Module):
            arrays |= {f"{prefix}{name}.{key}": weight for key, weight in value.state_dict().items()}
        elif isinstance(value, list) and value and isinstance(value[0], nn.Module):
            plain[name] = len(value)
            for i, module in enumerate(value):
                arrays |= {f"{prefix}{name}.{i}.{key}": part for key, part in module.state_dict().items()}
        elif hasattr(value, "_learned"):  # another estimator, which has parameters of its own
            inside[name] = packed(value, arrays, f"{prefix}{name}/")
            parameters[name.removesuffix("_")] = None
        elif isinstance(value, list) and value and hasattr(value[0], "_learned"):
            inside[name] = [packed(one, arrays, f"{prefix}{name}.{i}/") for i, one in enumerate(value)]
        else:
            plain[name] = value
    return {
        "kind": type(estimator).__name__,
        "parameters": parameters,
        "labels": vars(estimator.labelling_),
        "features": estimator.n_features_in_,
        "best_score": estimator.best_score_,
        "history": {
            str(name): [None if value != value else value for value in column.tolist()]
            for name, column in estimator.history_.items()
        },
        "learned": plain,
        "inside": inside,
    }


def _check_unchanged(estimator: NodeEstimator, parameters: dict[str, Any]) -> None:
    """Refuses parameters that were set after the fit and that the weights do not fit to."""
    fitted = getattr(estimator, "_fitted_with", parameters)
    for name, value in parameters.items():
        before = fitted.get(name)
        if name not in estimator._free and value is not before and value != before:
            raise ValueError(
                f"{name} is {value!r} and was {before!r} when the model was fitted; "
                "fit it again, or set it back, before it is saved"
            )


def plain_number(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    if hasattr(value, "item"):
        return value.item()
    raise ValueError(f"a {type(value).__name__} can't be saved, as it could only be written as code")


def check_gnn(content: dict[str, Any], path: Any, gnn: Any) -> None:
    """Refuses a GNN for a model that has others, all of them with a name."""
    names = set(_gnns(content))
    if gnn is not None and names and not {None, gnn if isinstance(gnn, str) else None} & names:
        found = " and ".join(sorted(map(str, names)))
        raise ValueError(f"{path} was fitted with the GNN {found}, and {gnn!r} is given; leave that out")


def _gnns(content: dict[str, Any]) -> Iterator[str | None]:
    """The names of the GNNs of an estimator and of those inside; None for one of the user's own."""
    if "gnn" in content["parameters"]:
        yield content["parameters"]["gnn"]
    for within in content.get("inside", {}).values():
        for one in within if isinstance(within, list) else [within]:
            yield from _gnns(one)


def unpacked(
    content: dict[str, Any], arrays: dict[str, Tensor], prefix: str, kinds: Kinds, path: Any, gnn: Any
) -> NodeEstimator:
    kind = kinds.get(content["kind"])
    if kind is None:
        known = ", ".join(sorted(kinds))
        raise ValueError(f"{path} is a {content['kind']!r}; expected one of {known}: import its class first")
    parameters = dict(content["parameters"])
    if parameters.get("gnn", "") is None:  # one that has a name needs no other
        parameters["gnn"] = gnn
    if parameters.get("gnn", "") is None:
        raise ValueError(f"{path} was fitted with a GNN of your own; give it again: load(path, gnn=...)")
    if isinstance(parameters.get("class_weight"), dict):
        parameters["class_weight"] = {int(c): w for c, w in parameters["class_weight"].items()}
    if "classifier" in parameters:
        parameters["classifier"] = made(parameters["classifier"])
    started = {"start": "plain"} if parameters.get("start", "") is None else {}  # until they are read
    estimator = kind(**{**parameters, **started})
    estimator._check_parameters()
    labels: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in content["labels"].items()}
    estimator.labelling_ = checked(kind._labelling(**labels))
    estimator.n_features_in_ = int(content["features"])
    estimator.best_score_ = content.get("best_score")
    estimator.history_ = _history(content["history"])
    for name in kind._learned:
        within = content.get("inside", {}).get(name)
        if isinstance(within, list):
            places = (f"{prefix}{name}.{i}/" for i in range(len(within)))
            found = zip(within, places, strict=True)
            setattr(estimator, name, [unpacked(one, arrays, at, kinds, path, gnn) for one, at in found])
        elif within is not None:
            base = unpacked(within, arrays, f"{prefix}{name}/", kinds, path, gnn)
            setattr(estimator, name, base)
            setattr(estimator, name.removesuffix("_"), clone(base))
        elif prefix + name in arrays:
            setattr(estimator, name, arrays[prefix + name])
        elif any(key.startswith(f"{prefix}{name}.") for key in arrays):
            count = content["learned"].get(name)
            own = [_module(estimator, arrays, name, f"{prefix}{name}.{i}.", i) for i in range(count or 0)]
            setattr(estimator, name, own if count else _module(estimator, arrays, name, f"{prefix}{name}."))
        elif name in content["learned"] or not hasattr(kind, name):  # what is newer has a default
            setattr(estimator, name, content["learned"][name])
    if parameters.get("start", "") is None:
        members = [clone(one) for one in estimator.starts_]
        estimator.set_params(start=members + ["plain"] * bool(content["learned"]["starts_with_plain_"]))
    estimator._finish(estimator.history_)
    return estimator


def _module(
    estimator: NodeEstimator, arrays: dict[str, Tensor], name: str, prefix: str, index: int = 0
) -> nn.Module:
    state = {key.removeprefix(prefix): v for key, v in arrays.items() if key.startswith(prefix)}
    if isinstance(getattr(estimator, "gnn", ""), str):  # a file may claim any size; shapes alone cost nothing
        if (getattr(estimator, "num_layers", None) or 0) > len(state):
            raise ValueError(f"it has {len(state)} arrays for {estimator.num_layers} layers")
        with torch.device("meta"):
            estimator._blank(name, state, index).load_state_dict(state, assign=True)
    module = estimator._blank(name, state, index)
    module.load_state_dict(state)
    return module.eval()


def _history(columns: dict[str, list[Any]]) -> pd.DataFrame:
    history = pd.DataFrame(columns)
    empty = [name for name in history if history[name].isna().all()]
    return history.astype(dict.fromkeys(empty, float))
