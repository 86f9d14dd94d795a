"""The ledger: one SQLite file, a row a trial, written in a transaction by the worker that ran it.

A trial is known by its key, a hash of its cell, its number and its settings. So a command that is run again
finds what is done, in whichever experiment it was done, and a kill at any moment loses at most the trials
that were running.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
from filelock import FileLock, Timeout

from clgnn.metrics import CLASSIFICATION
from clgnn.persistence import written

_JSON = ("settings", "metrics", "iterations", "reliability", "versions")
_COLUMNS = (
    "key", "role", "dataset", "train_labels", "test_label_percent", "method", "trial", "settings", "status",
    "error", "metrics", "validation", "iterations", "reliability", "predictions", "seconds",
    "predict_seconds", "peak_memory", "versions", "revision", "finished",
)  # fmt: skip
_CELL = ("dataset", "train_labels", "test_label_percent", "method")
Cell: TypeAlias = tuple[str, int, int, str]
_CREATE = """
CREATE TABLE IF NOT EXISTS trials (
    key TEXT PRIMARY KEY,            -- a hash of the cell, the trial and the settings
    role TEXT NOT NULL,              -- result, or other: not chosen, or of an earlier plan
    dataset TEXT NOT NULL,
    train_labels INTEGER NOT NULL,   -- as the paper's tables print it
    test_label_percent INTEGER NOT NULL,
    method TEXT NOT NULL,
    trial INTEGER NOT NULL,          -- the seed of the split and of the method
    settings TEXT NOT NULL,          -- JSON: the hyper-parameters
    status TEXT NOT NULL,            -- done or failed
    error TEXT,                      -- of a failed one
    metrics TEXT,                    -- JSON: every metric on the test nodes
    validation REAL,                 -- the selection metric on the validation nodes
    iterations TEXT,                 -- JSON: the selection metric on the test nodes after each iteration
    reliability TEXT,                -- JSON: confidence, accuracy, count, by bin of confidence
    predictions BLOB,                -- a byte a node: its predicted class, of the first trial
    seconds REAL,                    -- of the fit
    predict_seconds REAL,
    peak_memory REAL,                -- MiB of the process that ran it
    versions TEXT,                   -- JSON
    revision TEXT,                   -- of the source, where it is a git checkout
    finished TEXT NOT NULL           -- UTC, ISO 8601
)
"""


class Ledger:
    """The trials of a folder.

    Args:
        folder: where ``ledger.sqlite`` lies or will lie.

    Example:
        >>> import tempfile
        >>> ledger = Ledger(tempfile.mkdtemp())
        >>> cell = {"dataset": "cora", "train_labels": 85, "test_label_percent": 0, "method": "gcn"}
        >>> ledger.write({"key": "a", **cell, "trial": 0, "settings": {}, "status": "done",
        ...               "metrics": {"accuracy": 0.5}, "finished": "2026-01-01T00:00:00+00:00"})
        >>> ledger.trials()[["dataset", "method", "accuracy"]].values.tolist()
        [['cora', 'gcn', 0.5]]
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self.path = self.folder / "ledger.sqlite"

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own for each use: nothing is shared between processes but the file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.path, timeout=120)) as connection, connection:
            connection.execute(_CREATE)
            yield connection

    def write(self, row: dict[str, Any]) -> None:
        """Writes a trial; one that failed is replaced, one that is done stays as it is."""
        row = {"role": "result", **row}
        values = [
            json.dumps(row[column], sort_keys=True)
            if column in _JSON and row.get(column) is not None
            else row.get(column)
            for column in _COLUMNS
        ]
        marks = ", ".join("?" * len(_COLUMNS))
        with self._open() as connection:
            connection.execute("DELETE FROM trials WHERE key = ? AND status = 'failed'", (row["key"],))
            connection.execute(
                f"INSERT OR IGNORE INTO trials ({', '.join(_COLUMNS)}) VALUES ({marks})", values
            )

    def finished(self, failed: bool = False) -> set[str]:
        """The keys of what is done; with ``failed``, of what failed as well."""
        with self._open() as connection:
            rows = connection.execute("SELECT key FROM trials WHERE status = 'done' OR ?", (failed,))
            return {key for (key,) in rows}

    @contextmanager
    def claim(self, key: str) -> Iterator[bool]:
        """Whether this process may run a trial: no other is running it, and it is not done.

        The claim is a lock of the operating system, which ends with the process, also by ``kill -9``.
        """
        locks = self.folder / "running"
        locks.mkdir(parents=True, exist_ok=True)
        lock = FileLock(locks / f"{key}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            yield False
            return
        try:
            yield key not in self.finished()
        finally:
            lock.release()

    def assign(self, planned: Iterable[tuple[str, Cell, str]]) -> None:
        """Says which trials are results: the planned ones; and which are not: others of their cells.

        Further trials of a cell with the planned settings stay what they are.

        Args:
            planned: key, cell (dataset, train_labels, test_label_percent, method) and settings, as JSON with
                sorted keys, of each trial that the latest plan has.
        """
        rows = list(planned)
        with self._open() as connection:
            connection.executemany(
                "UPDATE trials SET role = 'other' WHERE dataset = ? AND train_labels = ? "
                "AND test_label_percent = ? AND method = ? AND settings != ?",
                {(*cell, settings) for _, cell, settings in rows},
            )
            connection.executemany(
                "UPDATE trials SET role = 'result' WHERE key = ?", [(key,) for key, _, _ in rows]
            )

    def trials(self, role: str = "result") -> pd.DataFrame:
        """A row a trial; the metrics are columns, ``settings`` and the like Python objects.

        Args:
            role: ``"result"``, or ``"other"``: those that validation did not choose, or of an earlier plan.
        """
        if not self.path.exists():
            raise ValueError(
                f"{self.folder} has no ledger.sqlite; expected a folder that `clgnn reproduce` wrote"
            )
        with self._open() as connection:
            query = f"SELECT {', '.join(_COLUMNS)} FROM trials WHERE role = ?"
            table = pd.read_sql_query(query, connection, params=(role,))
        return _unpacked(table.to_dict("records"))

    def export(self, path: str | PathLike[str]) -> None:
        """Writes the trials to a CSV file that :func:`read` takes; predictions and claims stay behind."""
        table = self.trials().drop(columns="predictions")
        for column in _JSON:
            if column in table:
                table[column] = [None if v is None else json.dumps(v) for v in table[column]]
        order = ["dataset", "train_labels", "test_label_percent", "method", "trial"]
        with written(Path(path)) as temporary:
            table.sort_values(order).to_csv(temporary, index=False, float_format="%.6g")

    def restore(self, path: str | PathLike[str]) -> None:
        """Takes the trials of a CSV export in, so that they need not be run again."""
        expected = "expected a trials.csv that `clgnn reproduce` wrote"
        if Path(path).suffix.lower() != ".csv":
            raise ValueError(f"{path} is no CSV file; {expected}")
        table = read(path)
        for column in set(_COLUMNS) - {"metrics"} - set(table):
            raise ValueError(f"{path} has no column {column}; {expected}")
        known = self.trials().to_dict("records") if self.path.exists() else []
        settings = {tuple(row[name] for name in _CELL): row["settings"] for row in known}
        for row in table.to_dict("records"):
            given = {str(name): None if _missing(value) else value for name, value in row.items()}
            here = settings.get(tuple(given[name] for name in _CELL), given["settings"])
            if here != given["settings"]:  # what is here has been chosen; this can be, by a plan
                given["role"] = "other"
            metrics = {name: given.pop(name) for name in CLASSIFICATION if name in given}
            self.write({**given, "metrics": metrics if given["status"] == "done" else None})


def _missing(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def read(path: str | PathLike[str]) -> pd.DataFrame:
    """The trials of a folder's ledger, or of a CSV export of one."""
    path = Path(path)
    if path.suffix.lower() != ".csv":
        return Ledger(path.parent if path.name == "ledger.sqlite" else path).trials()
    table = pd.read_csv(path)
    for column in set(_JSON) & set(table):
        table[column] = [json.loads(v) if isinstance(v, str) else None for v in table[column]]
    return table.assign(predictions=None)


def _unpacked(rows: Sequence[dict[Any, Any]]) -> pd.DataFrame:
    for row in rows:
        for column in _JSON:
            row[column] = json.loads(row[column]) if isinstance(row[column], str) else None
        row |= row.pop("metrics") or {}
    columns = [column for column in _COLUMNS if column != "metrics"]
    return pd.DataFrame(rows, columns=None if rows else columns)
