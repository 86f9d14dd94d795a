"""Rivals on disk: safetensors for arrays, JSON for the rest; nothing in them can run.

The folder looks like that of a collective estimator, so that :func:`clgnn.persistence.read` reads both.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from sklearn.base import clone
from torch import Tensor, nn

from clgnn.estimator import CollectiveClassifier
from clgnn.labelling import Classes
from clgnn.persistence import FORMAT, read, written

if TYPE_CHECKING:
    from clgnn.relational.base import Relational

    Estimator = TypeVar("Estimator", bound=Relational)

_JSON, _ARRAYS = "model.json", "arrays.safetensors"


def save(estimator: Relational, path: str | PathLike[str], force: bool = False, extra: Any = None) -> None:
    """Writes a fitted rival to a folder, in one step."""
    folder = Path(path)
    if folder.exists() and not force:
        raise FileExistsError(f"{folder} exists; choose another name, or force to replace it")
    if folder.exists() and not (folder / _JSON).is_file() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} exists and is not a model; choose another name")
    parameters = estimator.get_params(deep=False)
    arrays: dict[str, Tensor] = {}
    plain: dict[str, Any] = {}
    with written(folder) as temporary:
        temporary.mkdir()
        for name in estimator._learned:
            value = getattr(estimator, name)
            if isinstance(value, Tensor):
                arrays[name] = value
            elif isinstance(value, nn.Module):
                arrays |= {f"{name}.{key}": weight for key, weight in value.state_dict().items()}
            elif isinstance(value, CollectiveClassifier):
                value.save(temporary / name)
                parameters[name.removesuffix("_")] = None  # the folder has its parameters too
            else:
                plain[name] = value
        arrays = {name: array.detach().cpu().clone().contiguous() for name, array in arrays.items()}
        save_file(arrays, temporary / _ARRAYS)
        content = {
            "format": FORMAT,
            "kind": type(estimator).__name__,
            "parameters": parameters,
            "labels": vars(estimator.labelling_),
            "features": estimator.n_features_in_,
            "history": {
                str(name): [None if value != value else value for value in column.tolist()]
                for name, column in estimator.history_.items()
            },
            "learned": plain,
            "extra": extra,
        }
        (temporary / _JSON).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def load(kind: type[Estimator], path: str | PathLike[str], gnn: Any = None) -> Estimator:
    """Reads a rival from its folder; ``gnn`` for one that was fitted with a GNN that is not ours."""
    content = read(path)
    if content["kind"] != kind.__name__:
        raise ValueError(f"{path} is a {content['kind']}; expected a {kind.__name__}")
    folder = Path(path)
    try:
        if isinstance(content["parameters"].get("class_weight"), dict):
            weights = content["parameters"]["class_weight"]
            content["parameters"]["class_weight"] = {int(c): weight for c, weight in weights.items()}
        estimator = kind(**content["parameters"])
        values, weights = content["labels"]["values"], content["labels"]["weights"]
        estimator.labelling_ = Classes(tuple(values), None if weights is None else tuple(weights))
        estimator.n_features_in_ = int(content["features"])
        estimator.history_ = pd.DataFrame(content["history"])
        arrays = load_file(folder / _ARRAYS)
        for name in kind._learned:
            if name in content["learned"]:
                setattr(estimator, name, content["learned"][name])
            elif name in arrays:
                setattr(estimator, name, arrays[name])
            elif (folder / name).is_dir():
                base = CollectiveClassifier.load(folder / name, gnn)
                setattr(estimator, name, base)
                setattr(estimator, name.removesuffix("_"), clone(base))
            else:
                module = estimator._blank(name)
                state = {key.removeprefix(f"{name}."): arrays[key] for key in arrays if key.startswith(name)}
                module.load_state_dict(state)
                setattr(estimator, name, module.eval())
    except (OSError, SafetensorError, RuntimeError, TypeError, KeyError, AttributeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path} is damaged ({reason}); fit the model again") from error
    return estimator
