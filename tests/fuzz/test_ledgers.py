"""Ledgers and their exports with flipped, cut and swapped bytes, and with values of another kind."""

import json
import sqlite3
from contextlib import closing

import pytest
from hypothesis import strategies as st

from clgnn.experiments.ledger import Ledger
from helpers.fuzzing import RUNS, check, damaged, row

CELLS = [
    ("cora", 85, 0, "gcn"),
    ("cora", 85, 0, "gcn+cl"),
    ("cora", 85, 50, "ica"),
    ("pubmed", 300, 0, "gcn"),
]
COLUMNS = ["key", "role", "dataset", "train_labels", "test_label_percent", "method", "trial", "settings", "status", "error", "metrics", "validation",
           "iterations", "reliability", "predictions", "seconds", "predict_seconds", "peak_memory", "versions", "revision", "finished"]  # fmt: skip
VALUES = st.one_of(
    st.none(), st.integers(-3, 5), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=5), st.binary(max_size=5),
    st.sampled_from(["{}", "[]", "[1]", "null", '"x"', '{"accuracy": "x"}', '{"accuracy": null}', '{"accuracy": 1e999}', "[" * 5000, "done", "failed", "result",
                     "other", '{"confidence": 1}', '{"key": 1}', '{"method": [1]}', "<script>", "gcn+cl", "+cl", "cora", "2026-01-01"]),
)  # fmt: skip


@pytest.mark.parametrize("number", RUNS)
def test_ledgers(room, number):
    ledger = Ledger(room.clean() / "results")
    for i, cell in enumerate(CELLS):
        for trial in range(2):
            ledger.write(row(f"{i}-{trial}", cell, trial))
    ledger.export(room.place / "trials.csv")
    room.keep()
    whole = {name: (room.place / name).read_bytes() for name in ("results/ledger.sqlite", "trials.csv")}
    changes = st.one_of(
        st.tuples(st.just("results/ledger.sqlite"), damaged(whole["results/ledger.sqlite"])),
        st.tuples(st.just("trials.csv"), damaged(whole["trials.csv"])),
        st.tuples(st.just("cells"), st.lists(st.tuples(st.sampled_from(COLUMNS), VALUES, st.booleans()), min_size=1, max_size=3)),
        st.tuples(st.just("sql"), st.sampled_from(["DROP TABLE trials", "ALTER TABLE trials DROP COLUMN error", "DELETE FROM trials",
                                                   "ALTER TABLE trials ADD COLUMN more TEXT", "CREATE VIEW v AS SELECT 1", "PRAGMA user_version = 9",
                                                   "ALTER TABLE trials RENAME COLUMN method TO way", "UPDATE trials SET method = 1"])),
    )  # fmt: skip

    def ledgers(case):
        (what, change), command = case
        room.restore()
        if what in whole:
            (room.place / what).write_bytes(change)
        else:
            with closing(sqlite3.connect(ledger.path)) as connection, connection:
                if what == "sql":
                    connection.execute(change)
                else:
                    for column, value, one in change:
                        try:
                            connection.execute(
                                f"UPDATE trials SET {column} = ?" + " WHERE key = '0-0'" * one, (value,)
                            )
                        except sqlite3.IntegrityError:
                            return "not written"
        told = {
            "report": ["report", "trials.csv" if what == "trials.csv" else "results", "--out", "page.html"],
            "from": ["reproduce", "main", "--from", "trials.csv", "--datasets", "nowhere", "--out", "other", "--quiet"],
            "reproduce": ["reproduce", "main", "--datasets", "nowhere", "--out", "results", "--quiet"],
            "best": ["fit", "--method", "best", "--from", "results", "--nodes", "x", "--edges", "y", "--label", "z", "--out", "other"],
        }[command]  # fmt: skip
        outputs = {"report": ["page.html"], "from": ["other"], "reproduce": [], "best": []}[command]
        return room.run(*told, outputs=outputs)

    check(
        ledgers, st.tuples(changes, st.sampled_from(["report"] * 5 + ["from", "reproduce", "best"])), number
    )
    json.dumps(CELLS)
