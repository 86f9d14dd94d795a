import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from clgnn.experiments.ledger import Ledger, now, read


def row(key, **values):
    cell = {"dataset": "cora", "train_labels": 85, "test_label_percent": 0, "method": "gcn", "trial": 0}
    done = {"status": "done", "metrics": {"accuracy": 0.5}, "settings": {"lr": 0.01}}
    return {"key": key, **cell, **done, "finished": "2026-01-01T00:00:00+00:00", **values}


def test_what_is_written_is_read(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.write(row("a", iterations=[0.4, 0.5], predictions=b"\x00\x01"))
    (found,) = ledger.trials().to_dict("records")
    assert found["accuracy"] == 0.5
    assert found["settings"] == {"lr": 0.01}
    assert found["iterations"] == [0.4, 0.5]
    assert found["predictions"] == b"\x00\x01"


def test_a_failure_is_replaced_and_a_result_never(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.write(row("a", status="failed", error="no memory", metrics=None))
    assert ledger.finished() == set()
    assert ledger.failed() == {"a"}
    ledger.write(row("a", metrics={"accuracy": 0.6}))
    ledger.write(row("a", metrics={"accuracy": 0.1}))
    ledger.write(row("a", status="failed"))
    assert ledger.trials()["accuracy"].tolist() == [0.6]


def test_failures_of_an_earlier_run_are_told_apart(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.write(row("old", status="failed", finished=now()))
    ledger.write(row("older", status="failed", finished="2020-01-01T00:00:00+00:00"))
    began = now()
    assert ledger.failed(began) == set()
    ledger.write(row("old", status="failed", finished=now()))
    assert ledger.failed(began) == {"old"}
    assert ledger.failed() == {"old", "older"}


CELL = ("cora", 85, 0, "gcn")


def test_only_the_latest_plan_gives_the_results_of_its_cells(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.write(row("old", settings={"lr": 1}))
    ledger.write(row("new", settings={"lr": 2, "a": 0}))
    ledger.write(row("more", trial=1, settings={"a": 0, "lr": 2}))
    ledger.write(row("tuning", trial=1000, settings={"lr": 2, "a": 0}, role="other"))
    ledger.write(row("elsewhere", dataset="pubmed"))
    ledger.assign([("new", CELL, '{"a": 0, "lr": 2}')])
    assert set(ledger.trials()["key"]) == {"new", "more", "elsewhere"}
    assert set(ledger.trials("other")["key"]) == {"old", "tuning"}
    ledger.assign([("old", CELL, '{"lr": 1}')])
    assert set(ledger.trials()["key"]) == {"old", "elsewhere"}


def test_what_is_taken_in_does_not_stand_beside_other_settings(tmp_path):
    first, second = Ledger(tmp_path / "a"), Ledger(tmp_path / "b")
    first.write(row("a", settings={"lr": 1}))
    first.write(row("b", settings={"lr": 1}, dataset="pubmed"))
    first.export(tmp_path / "trials.csv")
    second.write(row("c", settings={"lr": 2}))
    second.restore(tmp_path / "trials.csv")
    assert set(second.trials()["key"]) == {"b", "c"}
    second.assign([("a", CELL, '{"lr": 1}')])
    assert set(second.trials()["key"]) == {"a", "b"}


def test_an_export_reads_as_the_ledger_does(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.write(row("a", iterations=[0.25, 0.5], predictions=b"\x01"))
    ledger.write(row("b", trial=1, status="failed", error="no memory", metrics=None))
    ledger.export(tmp_path / "trials.csv")
    exported, kept = read(tmp_path / "trials.csv"), read(tmp_path)
    assert exported["accuracy"].tolist()[0] == kept["accuracy"].tolist()[0] == 0.5
    assert exported["settings"].tolist() == kept["settings"].tolist()
    assert exported["iterations"].tolist()[0] == [0.25, 0.5]
    assert exported["status"].tolist() == ["done", "failed"]
    assert exported["predictions"].isna().all()


def test_a_key_of_digits_stays_a_text(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.write(row("0012"))
    ledger.export(tmp_path / "trials.csv")
    assert read(tmp_path / "trials.csv")["key"].tolist() == ["0012"]


def test_an_export_can_be_taken_in_again(tmp_path):
    first, second = Ledger(tmp_path / "a"), Ledger(tmp_path / "b")
    first.write(row("a", iterations=[0.25, 0.5], validation=0.75, peak_memory=12.5))
    first.write(row("b", trial=1, status="failed", error="no memory", metrics=None))
    first.export(tmp_path / "trials.csv")
    second.restore(tmp_path / "trials.csv")
    second.restore(tmp_path / "trials.csv")
    assert second.finished() == {"a"}
    assert second.failed() == {"b"}
    columns = ["key", "settings", "accuracy", "iterations", "validation", "peak_memory", "error"]
    old, new = (ledger.trials().sort_values("key")[columns].astype(str) for ledger in (first, second))
    assert new.values.tolist() == old.values.tolist()


@pytest.mark.parametrize(
    ("name", "message"),
    [("a.md", "is no CSV file; expected a trials.csv"), ("a.csv", "has no column dataset.*its trials.csv")],
)
def test_another_file_is_not_taken_in(tmp_path, name, message):
    (tmp_path / name).write_text("id,label\n1,a\n")
    with pytest.raises(ValueError, match=message):
        Ledger(tmp_path).restore(tmp_path / name)


def test_no_ledger_is_said_clearly(tmp_path):
    with pytest.raises(ValueError, match=r"is not there; expected a folder that `clgnn reproduce` wrote"):
        read(tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"has no ledger.sqlite; expected a folder"):
        read(tmp_path)


def test_a_file_that_is_no_ledger_is_said_clearly(tmp_path):
    (tmp_path / "ledger.sqlite").write_text("this is no database at all, but text" * 40)
    (tmp_path / "blank.csv").write_text("")
    (tmp_path / "broken.csv").write_text('settings\n"{"""\n')
    for name in ("ledger.sqlite", "blank.csv", "broken.csv"):
        with pytest.raises(ValueError, match=r"(could not be read|has no column) .*; expected a folder"):
            read(tmp_path / name)


def _write_many(folder, name, count):
    for i in range(count):
        Ledger(folder).write(row(f"{name}{i}", trial=i))


def test_two_writers_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(tmp_path, name, 40)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert len(Ledger(tmp_path).finished()) == 80


HOLDS = """
import sys, time
from clgnn.experiments.ledger import Ledger
with Ledger(sys.argv[1]).claim("a") as free:
    print(free, flush=True)
    time.sleep(60)
"""


def test_a_claim_keeps_others_out_and_ends_with_its_process_by_kill_9(tmp_path):
    ledger = Ledger(tmp_path)
    holder = subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline().strip() == "True"
        with ledger.claim("a") as free:
            assert not free
        with ledger.claim("b") as free:
            assert free
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    with ledger.claim("a") as free:
        assert free
    ledger.write(row("a"))
    with ledger.claim("a") as free:
        assert not free


WRITES = """
import json, sys
from clgnn.experiments.ledger import Ledger
ledger, row = Ledger(sys.argv[1]), json.loads(sys.argv[2])
for i in range(100_000):
    ledger.write({**row, "key": str(i), "trial": i, "error": "x" * 20_000})
    print(i, flush=True)
"""


def test_kill_9_while_writing_leaves_every_finished_trial_whole(tmp_path):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITES, str(tmp_path), json.dumps(row("0"))],
        stdout=subprocess.PIPE,
        text=True,
    )
    for _ in range(5):
        writer.stdout.readline()
    time.sleep(0.05)
    os.kill(writer.pid, signal.SIGKILL)
    said = [0, 1, 2, 3, 4, *map(int, writer.stdout.read().split())]
    writer.wait()
    writer.stdout.close()
    ledger = Ledger(tmp_path)
    assert {str(i) for i in said} <= ledger.finished()
    found = ledger.trials()
    assert (found["error"].str.len() == 20_000).all()
    ledger.write(row("after"))
    connection = sqlite3.connect(ledger.path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_cells_are_found_by_an_index(tmp_path):
    """A plan of 100,000 trials would else look through all of them for each of its cells."""
    ledger = Ledger(tmp_path)
    ledger.write(row("a"))
    query = "UPDATE trials SET role = 'other' WHERE dataset = ? AND train_labels = ? AND test_label_percent = ? AND method = ?"
    with sqlite3.connect(ledger.path) as connection:
        (plan,) = connection.execute(f"EXPLAIN QUERY PLAN {query}", ("cora", 85, 0, "gcn")).fetchall()
    connection.close()
    assert "USING INDEX cells" in plan[-1]


def test_reading_creates_nothing(tmp_path):
    ledger = Ledger(tmp_path / "nothing")
    assert ledger.finished() == ledger.failed() == set()
    assert not ledger.folder.exists()


def test_a_file_without_a_table_has_no_trials_yet(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.path.touch()  # killed before the table was made
    assert ledger.finished() == set()
    assert len(ledger.trials()) == 0
    ledger.write(row("a"))
    assert ledger.finished() == {"a"}
