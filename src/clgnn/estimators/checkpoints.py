"""Finished iterations on disk, so that an interrupted fit goes on where it ended."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import types
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from clgnn.collective.component import Component
from clgnn.collective.learning import Epoch, Iteration
from clgnn.engine import processes
from clgnn.estimators import snapshots
from clgnn.files import written

FORMAT = 2
_PLAIN = (str, bytes, int, float, complex, list, tuple, dict, np.generic, type(None))
_STATE, _WEIGHTS = "checkpoint.json", "{}.weights.safetensors"
_OWN = re.compile(r"checkpoint\.json|snapshot\.safetensors|\d+\.weights\.safetensors")
_LEFT = re.compile(rf"\.({_OWN.pattern})\.\w+")


def fingerprint(
    parameters: dict[str, Any], tensors: Iterable[Tensor | NDArray[Any] | None], kind: str = ""
) -> str:
    """A hash of everything that a fit depends on: its parameters, its inputs, and the kind of estimator.

    Example:
        >>> from functools import partial
        >>> def gnn(i, o, h=1): ...
        >>> one, other = (fingerprint({"gnn": partial(gnn, h=h)}, []) for h in (1, 2))
        >>> one == other
        False
    """
    digest = hashlib.sha256(kind.encode())
    for name in sorted(parameters):
        digest.update(f"{name}={_described(parameters[name])};".encode())
    for tensor in tensors:
        if isinstance(tensor, np.ndarray):  # it may be mapped from a file: a piece after the other
            digest.update(f"{tensor.dtype}{tensor.shape}".encode())
            for first in range(0, len(tensor), 2**20):
                digest.update(tensor[first : first + 2**20].tobytes())
        else:
            digest.update(b"none" if tensor is None else _bytes(tensor))
    return digest.hexdigest()


def _bytes(tensor: Tensor) -> bytes:
    parts = [tensor]
    if tensor.layout == torch.sparse_csr:
        parts = [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    return b"".join(
        f"{part.dtype}{tuple(part.shape)}".encode() + part.detach().cpu().contiguous().numpy().tobytes()
        for part in parts
    )


def _described(value: Any) -> str:
    """A value as a text that says all that matters of it and that is the same in every run."""
    if isinstance(value, nn.Module):
        digest = hashlib.sha256(repr(value).encode())
        for module in value.modules():
            plain = {k: v for k, v in vars(module).items() if isinstance(v, str | int | float | bool | None)}
            digest.update(f"{_described(type(module))} {_described(plain)}".encode())
        for name, weight in value.state_dict().items():
            known = isinstance(weight, Tensor) and not is_lazy(weight)
            digest.update(name.encode() + (_bytes(weight) if known else b"lazy"))
        return digest.hexdigest()
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, functools.partial):
        return f"partial({_described(value.func)}, {_described(value.args)}, {_described(value.keywords)})"
    if isinstance(value, types.FunctionType):
        inner = [cell.cell_contents for cell in value.__closure__ or ()]
        given = (value.__defaults__, value.__kwdefaults__, inner)
        return f"{value.__module__}.{value.__qualname__} {_described(value.__code__)} {_described(given)}"
    if isinstance(value, types.CodeType):
        return f"{value.co_code.hex()} {value.co_names} {_described(value.co_consts)}"
    if isinstance(value, types.MethodType):
        return f"{_described(value.__self__)}.{_described(value.__func__)}"
    if isinstance(value, dict):
        return str(sorted((str(key), _described(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return str([_described(item) for item in value])
    if value is None or isinstance(value, str | bytes | int | float | complex | bool):
        return repr(value)
    inside = vars(value) if hasattr(value, "__dict__") else {}
    own = {name: item for name, item in inside.items() if isinstance(item, _PLAIN)}
    return f"{_described(type(value))} {_described(own)}"


@dataclass
class Progress:
    """The iterations of a fit that are finished, on disk if it has a folder.

    Attributes:
        components: Θ_0, .., Θ_t.
        epochs: of all of them.
        folder, key: where they are written, and the fingerprint of the fit.
    """

    components: list[Component] = field(default_factory=list)
    epochs: list[Epoch] = field(default_factory=list)
    folder: Path | None = None
    key: str = ""

    def read(self, t: int) -> dict[str, Any] | None:
        """What was written down in the middle of iteration t; None if nothing was."""
        found = None if self.folder is None else snapshots.read(self.folder / snapshots.FILE)
        return found if found is not None and (found["key"], found["t"]) == (self.key, t) else None

    def write(self, t: int, snapshot: dict[str, Any]) -> None:
        """Writes iteration t down while it goes on."""
        if self.folder is not None and processes.rank() == 0:
            snapshots.write(self.folder / snapshots.FILE, {**snapshot, "key": self.key, "t": t})

    def follow(
        self, iterations: Iterable[Iteration], then: Callable[[Iteration], bool] = lambda iteration: False
    ) -> None:
        """Takes iterations in as they are learned, and writes each of them.

        One that a callback has ended before its time is not written: a fit that goes on learns it again.

        Args:
            iterations: as they come.
            then: called after each of them; if it gives True, no further one is learned.
        """
        for iteration in iterations:
            self.components.append(iteration.component)
            self.epochs += iteration.epochs
            if self.folder is not None and not iteration.stopped and processes.rank() == 0:
                self._write(self.folder)
                (self.folder / snapshots.FILE).unlink(missing_ok=True)
            if then(iteration):
                return

    def _write(self, folder: Path) -> None:
        """Writes the newest of the finished iterations; what was there of the others stays."""
        t = len(self.components) - 1
        state = self.components[t].state_dict()
        content = save({name: part.detach().cpu().clone().contiguous() for name, part in state.items()})
        with written(folder / _WEIGHTS.format(t)) as temporary:
            temporary.write_bytes(content)
        sums = [] if t == 0 else _read(folder)["sha256"][:t]
        about = {
            "format": FORMAT,
            "key": self.key,
            "sha256": [*sums, hashlib.sha256(content).hexdigest()],
            "epochs": [{k: None if v != v else v for k, v in asdict(epoch).items()} for epoch in self.epochs],
        }
        with written(folder / _STATE) as temporary:
            temporary.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def resume(cls, folder: str | os.PathLike[str], key: str, blank: Callable[[int], Component]) -> Progress:
        """The finished iterations of an interrupted fit; none if there are none.

        Args:
            folder: where they are, or will be.
            key: the fingerprint of the fit.
            blank: a component of iteration t, whose weights are yet to be read.
        """
        found = cls(folder=Path(folder), key=key)
        if not (Path(folder) / _STATE).is_file():
            return found
        state = _read(Path(folder))
        if state["key"] != key:
            raise ValueError(
                f"{folder} holds an interrupted fit with other settings, another graph or other labels; "
                "go on with the same ones, or remove it to start anew"
            )
        with torch.random.fork_rng():  # a blank component draws weights, which nobody keeps
            for t, expected in enumerate(state["sha256"]):
                path = Path(folder) / _WEIGHTS.format(t)
                try:
                    content = path.read_bytes()
                    if hashlib.sha256(content).hexdigest() != expected:
                        raise ValueError("its checksum is another one")
                    component = blank(t)
                    component.load_state_dict(load(content))
                except (OSError, SafetensorError, RuntimeError, ValueError) as error:
                    reason = str(error).splitlines()[0]
                    raise ValueError(
                        f"{path} is damaged ({reason}); remove {folder} to start anew"
                    ) from error
                found.components.append(component.eval())
        found.epochs = [Epoch(**{**epoch, "metric": _number(epoch["metric"])}) for epoch in state["epochs"]]
        return found


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _read(folder: Path) -> dict[str, Any]:
    file = folder / _STATE
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
        if state["format"] != FORMAT:
            raise ValueError(f"it is of format {state['format']}, and this version writes {FORMAT}")
        sizes = {len(state[name]) for name in ("sha256", "epochs")}
        if 0 in sizes or not isinstance(state["key"], str):
            raise ValueError("it is not complete")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file} is damaged ({error}); remove {folder} to start anew") from error
    return dict(state)


def finished_epochs(folder: str | os.PathLike[str]) -> list[int]:
    """The epochs that each finished iteration of an interrupted fit took; none if there is no such fit."""
    if not (Path(folder) / _STATE).is_file():
        return []
    state = _read(Path(folder))
    took = Counter(epoch["iteration"] for epoch in state["epochs"])
    return [took[t] for t in range(len(state["sha256"]))]


def discard(folder: str | os.PathLike[str]) -> None:
    """Removes the files of a checkpoint, and its folder if nothing else is in it."""
    path = Path(folder)
    if not path.is_dir():
        return
    (path / _STATE).unlink(missing_ok=True)  # without it the others count for nothing
    for file in path.iterdir():
        if _OWN.fullmatch(file.name) and file.is_file():
            file.unlink()
        elif _LEFT.fullmatch(file.name) and file.is_dir():  # of a kill in the middle of a write
            shutil.rmtree(file)
    if not any(path.iterdir()):
        path.rmdir()
