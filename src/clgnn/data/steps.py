"""A folder that is filled step by step, so that a kill loses the current step and no other."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from clgnn.files import moved, written

_FILE = "steps.json"


class Steps:
    """The steps of a work that ends in a folder.

    They happen in ``NAME.partial`` beside the folder. What they depend on is kept there too: if it has
    changed, the work begins again.

    Args:
        out: the folder that is to be.
        made_from: everything that the result depends on, as plain values.

    Example:
        >>> import tempfile
        >>> steps = Steps(Path(tempfile.mkdtemp()) / "graph.clg", made_from=[1])
        >>> steps.once("count", lambda: 3), steps.once("count", lambda: 4)
        (3, 3)
    """

    def __init__(self, out: Path, made_from: Any) -> None:
        self.out = out
        self.folder = out.with_name(out.name + ".partial")
        self.result = self.folder / "graph"
        self._made_from = json.loads(json.dumps(made_from))
        self.finished: dict[str, Any] = {}
        try:
            content = json.loads((self.folder / _FILE).read_text(encoding="utf-8"))
            if content["made_from"] == self._made_from:
                self.finished = content["finished"]
        except (OSError, ValueError, KeyError, TypeError):
            pass  # no step was finished, or none that can be told
        if not self.finished and self.folder.is_dir():
            shutil.rmtree(self.folder)

    def begin(self) -> None:
        """Makes the folder; nothing is written before."""
        self.result.mkdir(parents=True, exist_ok=True)
        self._keep()

    def once(self, name: str, work: Callable[[], Any]) -> Any:
        """What the step gave: now, or when it was finished earlier. It must be plain values."""
        if name not in self.finished:
            given = json.loads(json.dumps(work()))
            self.begin()
            self.finished[name] = given
            self._keep()
        return self.finished[name]

    def finish(self, force: bool) -> None:
        """Renames the result into its place, and removes the rest."""
        moved(self.result, self.out, force)
        shutil.rmtree(self.folder)

    def _keep(self) -> None:
        with written(self.folder / _FILE) as temporary:
            temporary.write_text(json.dumps({"made_from": self._made_from, "finished": self.finished}))


def state_of(paths: Iterable[str | os.PathLike[str]]) -> list[tuple[str, int, int]]:
    """Name, size and time of change of files, and of all files in folders: other values, other content."""
    files = [Path(os.path.abspath(path)) for path in paths]
    every = [part for file in files for part in ([file] if file.is_file() else sorted(file.rglob("*")))]
    states = [(str(file), file.stat()) for file in every if file.is_file()]
    return [(name, state.st_size, state.st_mtime_ns) for name, state in states]
