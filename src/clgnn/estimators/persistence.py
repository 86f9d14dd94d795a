"""Models on disk: safetensors for weights, JSON for the rest; nothing in them can run.

A model is a folder with ``model.json`` and one file of weights, whose name has the checksum of its content.
``model.json`` names that file. So a model is replaced in one step, when ``model.json`` is: a kill at any
moment leaves the old model or the new one. A model from tables also has ``schema.txt``, which says to people
how they are read. It is never read back.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pandas as pd
import torch
from safetensors import SafetensorError
from safetensors.torch import load as from_bytes
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes
from torch import Tensor

import clgnn
from clgnn.collective.component import GNN
from clgnn.estimators.packing import Kinds, check_gnn, packed, plain_number, unpacked
from clgnn.estimators.settings import LOWER_IS_BETTER
from clgnn.files import written

if TYPE_CHECKING:
    from clgnn.estimators.node import NodeEstimator

FORMAT = 2
_JSON, _SCHEMA = "model.json", "schema.txt"
# every name that a version of ours gave to a file of weights
_OWN = re.compile(r"weights-[0-9a-f]{16}\.safetensors|\d+\.weights\.safetensors|arrays\.safetensors")
_NEEDED = frozenset({"format", "kind", "parameters", "labels", "features", "history"})


class Saving:
    """What every :class:`~clgnn.estimators.node.NodeEstimator` can do with a folder."""

    kinds: ClassVar[dict[str, type[NodeEstimator]]] = {}
    """Every kind of estimator by the name that a saved model has for it."""

    def save(
        self: Any,
        path: str | os.PathLike[str],
        force: bool = False,
        extra: Any = None,
        schema: str | None = None,
    ) -> None:
        """Writes the model to a folder: weights as safetensors, the rest as JSON.

        A kill at any moment leaves the old model or the new one, whole.

        Args:
            path: the folder, a new one.
            force: replaces a model that is there. Other files in its folder stay.
            extra: is kept beside the model, as JSON.
            schema: how tables are read, in words: written to ``schema.txt`` for people, and never read back.

        Raises:
            FileExistsError: if the folder has a model and ``force`` is not set, or has other files only.
        """
        self._check_fitted()
        save(self, path, force, extra, schema)

    @classmethod
    def load(cls, path: str | os.PathLike[str], gnn: GNN | None = None) -> Self:
        """Reads a model from its folder.

        Args:
            path: where :meth:`save` wrote it.
            gnn: the module or factory that it was fitted with, if that was not one of ours: code is never
                taken from a folder.
        """
        importlib.import_module("clgnn.baselines").import_all()  # so that every kind is known
        model = load(path, cls.kinds, gnn)
        if not isinstance(model, cls):
            raise ValueError(f"{path} is a {type(model).__name__}; expected a {cls.__name__}")
        return model


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
    content = packed(estimator, arrays, "")
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
    plain = json.loads(json.dumps(about, default=plain_number, allow_nan=False))
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
            check_gnn(content, path, gnn)
            return unpacked(content, arrays, "", kinds, path, gnn)
    except PermissionError as error:
        raise ValueError(f"{path} can't be read ({error.strerror}); ask its owner for access") from error
    except (OSError, SafetensorError, RuntimeError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise ValueError(
            f"{path} is damaged, or of another GNN ({_line(error)}); fit the model again"
        ) from error
    except ValueError as error:
        if str(error).startswith(str(path)):
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
