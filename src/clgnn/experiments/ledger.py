"""The ledger: one SQLite file with one row per trial, which the worker that ran it writes in a transaction.

A trial is known by its key, a hash of its cell, its number and its settings. A command that is run again
therefore finds what is done, in whichever experiment it was done, and a kill at any moment loses at most the
trials that were running.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout

from clgnn.estimators.metrics import CLASSIFICATION
from clgnn.experiments.methods import CELL, Cell
from clgnn.files import written

_JSON = ("settings", "metrics", "iterations", "reliability", "versions")
_COLUMNS = (
    "key", "role", "dataset", "train_labels", "test_label_percent", "method", "trial", "settings", "status",
    "error", "metrics", "validation", "iterations", "reliability", "predictions", "seconds",
    "predict_seconds", "peak_memory", "versions", "revision", "finished",
)  # fmt: skip
_EXPECTED = "expected a folder that `clgnn reproduce` wrote to, or its trials.csv"
_BINS = ("confidence", "accuracy", "count")
_NUMBER: frozenset[type] = frozenset({int, float, type(None)})
_KINDS: dict[str, frozenset[type]] = {
    **dict.fromkeys(("key", "role", "dataset", "method", "status", "finished"), frozenset({str})),
    **dict.fromkeys(("train_labels", "test_label_percent", "trial"), frozenset({int})),
    **dict.fromkeys(("validation", "seconds", "predict_seconds", "peak_memory"), _NUMBER),
    **dict.fromkeys(("error", "revision"), frozenset({str, type(None)})),
    **dict.fromkeys(("versions", "metrics", "reliability"), frozenset({dict, type(None)})),
    "settings": frozenset({dict}),
    "iterations": frozenset({list, type(None)}),
    "predictions": frozenset({bytes, type(None)}),
}
_CREATE = """
CREATE TABLE IF NOT EXISTS trials (
    key TEXT PRIMARY KEY,            -- a hash of the cell, the trial and the settings
    role TEXT NOT NULL,              -- result; or other: not chosen, or of an earlier plan
    dataset TEXT NOT NULL,
    train_labels INTEGER NOT NULL,   -- as the paper's tables print it
    test_label_percent INTEGER NOT NULL,
    method TEXT NOT NULL,
    trial INTEGER NOT NULL,          -- the seed of the split and of the method
    settings TEXT NOT NULL,          -- JSON: the hyper-parameters
    status TEXT NOT NULL,            -- done or failed
    error TEXT,                      -- why it failed
    metrics TEXT,                    -- JSON: every metric on the test nodes
    validation REAL,                 -- the selection metric on the validation nodes
    iterations TEXT,                 -- JSON: the selection metric on the test nodes after each iteration
    reliability TEXT,                -- JSON: confidence, accuracy, count, by bin of confidence
    predictions BLOB,                -- of trial 0: one byte per node, its predicted class
    seconds REAL,                    -- the time of the fit
    predict_seconds REAL,
    peak_memory REAL,                -- MiB of the process that ran it
    versions TEXT,                   -- JSON: the version of every library that matters
    revision TEXT,                   -- the git revision of clgnn's source, if it runs from its checkout
    finished TEXT NOT NULL           -- UTC, ISO 8601
)
"""


_INDEX = "CREATE INDEX IF NOT EXISTS cells ON trials (dataset, train_labels, test_label_percent, method)"


class Ledger:
    """The trials of a folder.

    Args:
        folder: the place of ``ledger.sqlite``, which is created when it is first needed.

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
    def _open(self, to_write: bool = True) -> Iterator[sqlite3.Connection]:
        """A new connection for each use, so that processes share nothing but the file.

        Reading creates nothing. (It may still end what a killed process had begun to write.)
        """
        if to_write:
            self.folder.mkdir(parents=True, exist_ok=True)
        place = f"{self.path.absolute().as_uri()}?mode={'rwc' if to_write else 'rw'}"
        try:
            with closing(sqlite3.connect(place, timeout=120, uri=True)) as connection, connection:
                if to_write:
                    connection.execute(_CREATE)
                    connection.execute(_INDEX)
                yield connection
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            what = "written" if to_write else "read"
            raise ValueError(f"{self.path} could not be {what} ({error}); {_EXPECTED}") from error

    def write(self, row: dict[str, Any]) -> None:
        """Writes a trial. It replaces one that failed; one that is done stays as it is."""
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

    def finished(self) -> set[str]:
        """The keys of the trials that are done."""
        return self._keys("SELECT key FROM trials WHERE status = 'done'")

    def failed(self, since: str = "") -> set[str]:
        """The keys of the trials that failed at a time, from :func:`now`, or later."""
        return self._keys("SELECT key FROM trials WHERE status = 'failed' AND finished >= ?", since)

    def _keys(self, query: str, *values: str) -> set[str]:
        return {key for (key,) in self._select(query, *values)} if self.path.exists() else set()

    def _select(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """All rows; none of a file without any table, which a kill can leave before the first trial."""
        with self._open(to_write=False) as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master").fetchall():
                return []
            with closing(connection.execute(query, values)) as cursor:  # else it could go on to lock the file
                return cursor.fetchall()

    @contextmanager
    def claim(self, key: str) -> Iterator[bool]:
        """Gives whether this process may run a trial: no other process runs it, and it is not done.

        The claim is a lock of the operating system. It ends with the process, even by ``kill -9``.
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
        """Makes the planned trials the results, and no longer those of their cells with other settings.

        Further trials of a cell with the planned settings stay what they are.

        Args:
            planned: the key, the cell and the settings (JSON with sorted keys) of each trial of the plan.
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
        """A table with one row per trial. Metrics are columns; ``settings`` and the like are Python objects.

        Args:
            role: ``"result"``; or ``"other"`` for trials that validation did not choose, or that only an
                earlier plan had.

        Raises:
            ValueError: if the folder has no ledger.
        """
        if not self.path.exists():
            raise ValueError(f"{self.folder} has no ledger.sqlite; {_EXPECTED}")
        query = f"SELECT {', '.join(_COLUMNS)} FROM trials WHERE role = ?"
        rows = [dict(zip(_COLUMNS, row, strict=True)) for row in self._select(query, role)]
        try:
            return _unpacked(rows)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{self.path} is damaged ({error}); {_EXPECTED}") from error

    def export(self, path: str | PathLike[str]) -> None:
        """Writes the results, without their predictions, to a CSV file that :func:`read` takes."""
        table = self.trials().drop(columns="predictions")
        for column in _JSON:
            if column in table:
                table[column] = [None if v is None else json.dumps(v) for v in table[column]]
        with written(path) as temporary:
            table.sort_values([*CELL, "trial"]).to_csv(temporary, index=False, float_format="%.6g")

    def restore(self, path: str | PathLike[str]) -> None:
        """Takes in the trials of a CSV export, so that they need not be run again."""
        if Path(path).suffix.lower() != ".csv":
            raise ValueError(f"{path} is no CSV file; expected a trials.csv that `clgnn reproduce` wrote")
        table = read(path)
        known = self.trials().to_dict("records") if self.path.exists() else []
        settings = {tuple(row[name] for name in CELL): row["settings"] for row in known}
        for row in table.to_dict("records"):
            given = {str(name): None if _missing(value) else value for name, value in row.items()}
            here = settings.get(tuple(given[name] for name in CELL), given["settings"])
            if here != given["settings"]:  # the cell has chosen settings; a plan can choose these instead
                given["role"] = "other"
            metrics = {name: given.pop(name) for name in CLASSIFICATION if name in given}
            self.write({**given, "metrics": metrics if given["status"] == "done" else None})


def now() -> str:
    """The time as the ledger writes it: UTC, ISO 8601. Later times are greater texts."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def read(path: str | PathLike[str]) -> pd.DataFrame:
    """The results in a ledger.

    Args:
        path: the folder of a ledger, its ``ledger.sqlite``, or a CSV file that :meth:`Ledger.export` wrote.

    Returns:
        One row per trial, as :meth:`Ledger.trials` has them.

    Raises:
        ValueError: if it is not there, or no such file.
    """
    path = Path(path)
    if not path.exists():
        raise ValueError(f"{path} is not there; {_EXPECTED}")
    try:
        if path.suffix.lower() != ".csv":
            return Ledger(path.parent if path.name == "ledger.sqlite" else path).trials()
        return _read_csv(path)
    except (ValueError, RecursionError) as error:
        if str(path) in str(error):
            raise
        raise ValueError(f"{path} could not be read ({error}); {_EXPECTED}") from error


def _read_csv(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path, dtype={"key": str})  # some have digits alone
    metrics = [name for name in table if name not in _COLUMNS]
    if missing := sorted(set(_COLUMNS) - {"metrics", "predictions"} - set(table)):
        raise ValueError(f"{path} has no column {', '.join(missing)}; {_EXPECTED}")
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    made = ({**row, "metrics": json.dumps({name: row.pop(name) for name in metrics})} for row in rows)
    return _unpacked([{**row, "predictions": None} for row in made])


def _unpacked(rows: Sequence[dict[Any, Any]]) -> pd.DataFrame:
    """Rows as they are in a file, as a table; what no ledger has is refused."""
    for row in rows:
        for column in _JSON:
            row[column] = json.loads(row[column]) if isinstance(row[column], str) else None
    _check(rows)
    for row in rows:
        row |= row.pop("metrics") or {}
    columns = [column for column in _COLUMNS if column != "metrics"]
    return pd.DataFrame(rows, columns=None if rows else columns)


def _check(rows: Sequence[dict[Any, Any]]) -> None:
    """Refuses rows with anything of another kind than the ledger writes."""
    for name, kinds in _KINDS.items():
        _kinds(name, (row[name] for row in rows), kinds)
    for row in rows:
        metrics, bins = row["metrics"] or {}, row["reliability"] or {name: [] for name in _BINS}
        if not metrics.keys().isdisjoint(_COLUMNS):
            raise ValueError(f"a trial has metrics {', '.join(metrics)}")
        if not bins.keys() >= set(_BINS) or {type(part) for part in bins.values()} != {list}:
            raise ValueError(f"a trial has reliability {', '.join(bins)}")
        if len({len(part) for part in bins.values()}) != 1:
            raise ValueError("a trial has reliability of several lengths")
        for name, values in (("metrics", metrics.values()), ("iterations", row["iterations"] or ())):
            _kinds(name, values, _NUMBER)
        for part in bins.values():
            _kinds("reliability", part, _NUMBER)


def _kinds(name: str, values: Iterable[Any], kinds: frozenset[type]) -> None:
    values = list(values)
    if not {type(value) for value in values} <= kinds:
        said = repr(next(value for value in values if type(value) not in kinds))
        raise ValueError(f"a trial has {name} {said if len(said) < 60 else said[:57] + '...'}")


def _missing(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
