"""Models and checkpoints on disk: safetensors for weights, JSON for the rest; nothing in them can run.

Everything is written under a temporary name and renamed, so that a kill at any moment leaves either what
was there before or what was to be written.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from clgnn.collective.learning import Epoch
from clgnn.component import Component

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clgnn.base import Collective

    Estimator = TypeVar("Estimator", bound=Collective)

FORMAT = 1
_JSON, _WEIGHTS, _STATE = "model.json", "weights.safetensors", "checkpoint.json"


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A temporary name beside ``path``, for a file or a folder; renamed at the end, gone on an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    room = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield room / path.name
        if path.is_dir():  # only an empty folder can be replaced in one step: the old one steps aside
            os.replace(path, room / "before")
        os.replace(room / path.name, path)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _write_json(path: Path, value: Any) -> None:
    with written(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _write_weights(path: Path, component: Component) -> None:
    tensors = {
        name: tensor.detach().cpu().clone().contiguous() for name, tensor in component.state_dict().items()
    }
    with written(path) as temporary:
        save_file(tensors, temporary)


def _read_weights(path: Path, component: Component) -> Component:
    try:
        component.load_state_dict(load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path} is damaged, or of another GNN ({reason}); fit the model again") from error
    return component.eval()


def save(estimator: Collective, path: str | os.PathLike[str], force: bool = False, extra: Any = None) -> None:
    """Writes a fitted estimator to a folder; ``extra`` is kept beside it, for :func:`read`."""
    folder = Path(path)
    if folder.exists() and not force:
        raise FileExistsError(f"{folder} exists; choose another name, or force to replace it")
    if folder.exists() and not (folder / _JSON).is_file() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} exists and is not a model; choose another name")
    parameters = estimator.get_params(deep=False)
    if not isinstance(parameters["gnn"], str):
        parameters["gnn"] = None  # code is not written; whoever loads the model has it
    with written(folder) as temporary:
        temporary.mkdir()
        for t, component in enumerate(estimator.components_):
            _write_weights(temporary / f"{t}.{_WEIGHTS}", component)
        content = {
            "format": FORMAT,
            "kind": type(estimator).__name__,
            "parameters": parameters,
            "labels": vars(estimator.labelling_),
            "features": estimator.n_features_in_,
            "history": estimator.history_.to_dict(orient="list"),
            "extra": extra,
        }
        _write_json(temporary / _JSON, content)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model folder says of itself, checked."""
    file = Path(path) / _JSON
    if not file.is_file():
        raise ValueError(
            f"{path} is not a model: it has no {_JSON}; expected a folder that `save` or `clgnn fit` wrote"
        )
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        newer = content["format"] > FORMAT
        missing = {"kind", "parameters", "labels", "features", "history"} - set(content)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file} is damaged ({error}); fit the model again") from error
    if newer:
        raise ValueError(
            f"{file} is of format {content['format']}, and this version reads up to {FORMAT}: "
            "it was written by a newer version of clgnn; upgrade to read it"
        )
    if missing:
        raise ValueError(f"{file} is damaged ({', '.join(sorted(missing))} missing); fit the model again")
    return dict(content)


def load(kind: type[Estimator], path: str | os.PathLike[str], gnn: Any = None) -> Estimator:
    """Reads an estimator from its folder; ``gnn`` for one that is not ours."""
    content = read(path)
    if content["kind"] != kind.__name__:
        raise ValueError(f"{path} is a {content['kind']}; expected a {kind.__name__}")
    parameters = content["parameters"]
    if gnn is not None:
        parameters["gnn"] = gnn
    if parameters["gnn"] is None:
        raise ValueError(f"{path} was fitted with a GNN of your own; give it again: load(path, gnn=...)")
    try:
        if isinstance(parameters.get("class_weight"), dict):
            parameters["class_weight"] = {int(c): w for c, w in parameters["class_weight"].items()}
        estimator = kind(**parameters)
        estimator._restore(content["labels"], content["features"], content["history"])
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{Path(path) / _JSON} is damaged ({error}); fit the model again") from error
    estimator.components_ = [
        _read_weights(Path(path) / f"{t}.{_WEIGHTS}", estimator._blank())
        for t in range(estimator.num_iterations + 1)
    ]
    return estimator


def fingerprint(parameters: dict[str, Any], tensors: Iterable[Tensor | None]) -> str:
    """A hash of everything that a fit depends on."""
    digest = hashlib.sha256(repr(sorted((k, _plain(v)) for k, v in parameters.items())).encode())
    for tensor in tensors:
        if tensor is None:
            digest.update(b"none")
            continue
        parts = [tensor]
        if tensor.layout == torch.sparse_csr:
            parts = [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
        for part in parts:
            digest.update(f"{part.dtype}{tuple(part.shape)}".encode())
            digest.update(part.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _plain(value: Any) -> str:
    """A value as text; a factory by its name, as its address differs from run to run."""
    if value is None or isinstance(value, str | int | float | dict | nn.Module):
        return repr(value)
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def checkpoint(
    folder: str | os.PathLike[str], key: str, components: Sequence[Component], epochs: Sequence[Epoch]
) -> None:
    """Writes the newest of the finished iterations; what was there of the others stays."""
    t = len(components) - 1
    _write_weights(Path(folder) / f"{t}.{_WEIGHTS}", components[t])
    state = {"format": FORMAT, "key": key, "finished": len(components), "epochs": [asdict(e) for e in epochs]}
    _write_json(Path(folder) / _STATE, state)


def resume(
    folder: str | os.PathLike[str], key: str, blank: Callable[[], Component]
) -> tuple[list[Component], list[Epoch]]:
    """The finished iterations of an interrupted fit, and their epochs; nothing if there are none."""
    file = Path(folder) / _STATE
    if not file.is_file():
        return [], []
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
        same = state["format"] == FORMAT and state["key"] == key
        epochs = [Epoch(**epoch) for epoch in state["epochs"]]
        finished = int(state["finished"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file} is damaged ({error}); remove {folder} to start anew") from error
    if not same:
        raise ValueError(
            f"{folder} holds an interrupted fit with other settings, another graph or other labels; "
            "go on with the same ones, or remove it to start anew"
        )
    return [_read_weights(Path(folder) / f"{t}.{_WEIGHTS}", blank()) for t in range(finished)], epochs
