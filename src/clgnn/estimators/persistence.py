"""Models on disk: safetensors for weights, JSON for the rest; nothing in them can run.

A model is a folder with ``model.json`` and one file of weights, whose name has the checksum of its content.
``model.json`` names that file. So a model is replaced in one step, when ``model.json`` is: a kill at any
moment leaves the old model or the new one. A model from tables also has ``schema.txt``, which says to people
how they are read. It is never read back.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd
import torch
from safetensors import SafetensorError
from safetensors.torch import load as from_bytes
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes
from sklearn.base import clone
from torch import Tensor, nn

import clgnn
from clgnn.data.typed import checked
from clgnn.estimators.settings import LOWER_IS_BETTER
from clgnn.files import written

if TYPE_CHECKING:
    from clgnn.estimators.node import NodeEstimator

Kinds: TypeAlias = "Mapping[str, type[NodeEstimator]]"

FORMAT = 2
_JSON, _SCHEMA = "model.json", "schema.txt"
# every name that a version of ours gave to a file of weights
_OWN = re.compile(r"weights-[0-9a-f]{16}\.safetensors|\d+\.weights\.safetensors|arrays\.safetensors")
_NEEDED = frozenset({"format", "kind", "parameters", "labels", "features", "history"})


def save(
    estimator: NodeEstimator, path: str | os.PathLike[str], force: bool, extra: Any, schema: str | None = None
) -> None:
    """Writes a fitted estimator to a folder.

    ``extra`` is kept beside it, for :func:`read`. ``schema`` is a text for people, in a file of its own.
    """
    folder = Path(os.path.abspath(path))
    _check_target(folder, path, force)
    had_schema = _has_schema(folder)
    if schema is not None and (folder / _SCHEMA).exists() and not had_schema:
        raise FileExistsError(
            f"{folder / _SCHEMA} is no file of the model; move it, or choose another folder"
        )
    arrays: dict[str, Tensor] = {}
    content = _packed(estimator, arrays, "")
    weights = to_bytes({name: array.detach().cpu().clone().contiguous() for name, array in arrays.items()})
    digest = hashlib.sha256(weights).hexdigest()
    name = f"weights-{digest[:16]}.safetensors"
    about = {
        "format": FORMAT,
        "clgnn": clgnn.__version__,
        **content,
        "weights": {"file": name, "sha256": digest},
        "schema": None if schema is None else _SCHEMA,
        "extra": extra,
    }
    plain = json.loads(json.dumps(about, default=_plain, allow_nan=False))
    text = json.dumps({**plain, "sha256": _digest(plain)}, indent=1) + "\n"
    if folder.is_dir() and any(folder.iterdir()):
        with written(folder / name) as temporary:
            temporary.write_bytes(weights)
        if had_schema:  # an old text is worse than none
            (folder / _SCHEMA).unlink(missing_ok=True)
        with written(folder / _JSON) as temporary:  # from here on the new model counts
            temporary.write_text(text, encoding="utf-8")
        if schema is not None:
            with written(folder / _SCHEMA) as temporary:
                temporary.write_text(schema, encoding="utf-8")
        for file in folder.iterdir():
            if _OWN.fullmatch(file.name) and file.name != name:
                file.unlink(missing_ok=True)
        return
    with written(folder) as temporary:
        temporary.mkdir()
        (temporary / name).write_bytes(weights)
        (temporary / _JSON).write_text(text, encoding="utf-8")
        if schema is not None:
            (temporary / _SCHEMA).write_text(schema, encoding="utf-8")


def _has_schema(folder: Path) -> bool:
    """Whether the model that is there wrote the text for people; a file of the user's may have its name."""
    try:
        return bool(json.loads((folder / _JSON).read_text(encoding="utf-8")).get("schema") == _SCHEMA)
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


def _check_target(folder: Path, path: Any, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{path} is a file; expected a folder for the model: choose another name")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / _JSON).is_file():
        raise FileExistsError(f"{path} is a folder with files in it, and no model; choose another name")
    if not force:
        raise FileExistsError(f"{path} exists; choose another name, or force to replace the model in it")


def _packed(estimator: NodeEstimator, arrays: dict[str, Tensor], prefix: str) -> dict[str, Any]:
    """What JSON can say of an estimator; its weights go to ``arrays``, under names that begin with prefix."""
    parameters = estimator.get_params(deep=False)
    _check_unchanged(estimator, parameters)
    if not isinstance(parameters.get("gnn", ""), str):
        parameters["gnn"] = None  # code is not written; whoever loads the model has it
    if isinstance(parameters.get("class_weight"), dict):
        parameters["class_weight"] = {int(c): float(w) for c, w in parameters["class_weight"].items()}
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
            inside[name] = _packed(value, arrays, f"{prefix}{name}/")
            parameters[name.removesuffix("_")] = None
        elif isinstance(value, list) and value and hasattr(value[0], "_learned"):
            inside[name] = [_packed(one, arrays, f"{prefix}{name}.{i}/") for i, one in enumerate(value)]
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


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    if hasattr(value, "item"):
        return value.item()
    raise ValueError(
        f"a {type(value).__name__} can't be saved, as it could only be written as code; save its predictions "
        "instead, and give them as data.start_proba with start='given'"
    )


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model folder says of itself, checked."""
    file = Path(path) / _JSON
    if not file.is_file():
        raise ValueError(
            f"{path} is not a model: it has no {_JSON}; expected a folder that `save` or `clgnn fit` wrote"
        )
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        missing = _NEEDED - {name for name in content if _is_whole(name, content[name])}
        newer = content["format"] > FORMAT
    except PermissionError as error:
        raise ValueError(f"{file} can't be read ({error.strerror}); ask its owner for access") from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{file} is damaged ({_line(error)}); fit the model again") from error
    if newer:
        raise ValueError(
            f"{file} is of format {content['format']}, and this version reads up to {FORMAT}: "
            "it was written by a newer version of clgnn; upgrade to read it"
        )
    if missing:
        raise ValueError(f"{file} is damaged ({', '.join(sorted(missing))} missing); fit the model again")
    rest = {name: value for name, value in content.items() if name != "sha256"}
    if content.get("sha256") not in (None, _digest(rest)):  # older models have none
        raise ValueError(f"{file} is damaged (its checksum is another one); copy it again, or fit it again")
    return rest


def _digest(content: dict[str, Any]) -> str:
    """The SHA-256 of what a model says of itself, however it is spaced."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _is_whole(name: str, value: Any) -> bool:
    return isinstance(value, dict) or name not in ("parameters", "labels", "history")


def load(path: str | os.PathLike[str], kinds: Kinds, gnn: Any = None) -> NodeEstimator:
    """Reads an estimator of one of the kinds from its folder; ``gnn`` for one that is not ours."""
    content = read(path)
    folder = Path(path)
    try:
        arrays = _arrays_of_format_1(folder, content) if content["format"] == 1 else _arrays(folder, content)
        with torch.random.fork_rng():  # blank modules draw weights, which nobody keeps
            _check_gnn(content, path, gnn)
            return _unpacked(content, arrays, "", kinds, path, gnn)
    except PermissionError as error:
        raise ValueError(f"{path} can't be read ({error.strerror}); ask its owner for access") from error
    except (OSError, SafetensorError, RuntimeError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise ValueError(
            f"{path} is damaged, or of another GNN ({_line(error)}); fit the model again"
        ) from error
    except ValueError as error:
        if str(path) in str(error):
            raise
        raise ValueError(
            f"{path} is damaged, or of another GNN ({_line(error)}); fit the model again"
        ) from error


def _arrays(folder: Path, content: dict[str, Any]) -> dict[str, Tensor]:
    about = content["weights"]
    name = str(about["file"])
    if not _OWN.fullmatch(name):
        raise ValueError(f"{folder / _JSON} is damaged (its weights are {name!r}); fit the model again")
    weights = (folder / name).read_bytes()
    found = hashlib.sha256(weights).hexdigest()
    if found != about["sha256"]:
        raise ValueError(
            f"{folder / name} is damaged (SHA-256 {found[:12]}.., expected {str(about['sha256'])[:12]}..); "
            "copy it again, or fit the model again"
        )
    return dict(from_bytes(weights))


def _check_gnn(content: dict[str, Any], path: Any, gnn: Any) -> None:
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


def _unpacked(
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
            setattr(estimator, name, [_unpacked(one, arrays, at, kinds, path, gnn) for one, at in found])
        elif within is not None:
            base = _unpacked(within, arrays, f"{prefix}{name}/", kinds, path, gnn)
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


def _arrays_of_format_1(folder: Path, content: dict[str, Any]) -> dict[str, Tensor]:
    """The weights of a model that clgnn 0.1 wrote; ``content`` is brought to today's form."""
    content.setdefault("learned", {})
    parameters = content["parameters"]
    if (folder / "arrays.safetensors").is_file():
        arrays = dict(load_file(folder / "arrays.safetensors"))
        content["inside"] = {}
        for sub in (p for p in folder.iterdir() if (p / _JSON).is_file()):
            content["inside"][sub.name] = read(sub)
            found = _arrays_of_format_1(sub, content["inside"][sub.name])
            arrays |= {f"{sub.name}/{name}": array for name, array in found.items()}
        return arrays
    count = int(parameters["num_iterations"]) + 1
    (name,) = (name for name in content["history"] if name.startswith("val_"))
    history = pd.DataFrame(content["history"]).groupby("iteration")[name]
    best = history.min() if name.removeprefix("val_") in LOWER_IS_BETTER else history.max()
    scores = [None if value != value else float(value) for value in best]
    content["learned"] |= {"components_": count, "starts_": [], "starts_with_plain_": True}
    content["learned"] |= {"stage_scores_": scores, "temperature_": 1.0}
    parameters |= {"start": "paper", "calibrate": False}
    return {
        f"components_.{t}.{name}": array
        for t in range(count)
        for name, array in load_file(folder / f"{t}.weights.safetensors").items()
    }


def _line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
