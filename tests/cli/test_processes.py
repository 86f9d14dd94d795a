"""Several processes: the same bits as one, and one line when a process ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clgnn import datasets
from clgnn.data.datasets.export import as_tables
from helpers.commands import call, refused

FIT = ["fit", "--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "label", "--hidden", "4", "--samples", "2",
       "--iterations", "1", "--threads", "1", "--quiet"]  # fmt: skip
BATCHES = ["--batch-size", "50", "--epochs", "3", "--iteration-epochs", "3"]


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table in zip(
        ("nodes", "edges"), as_tables(datasets.load("citations", num_nodes=200)), strict=True
    ):
        table.to_csv(f"{name}.csv", index=False)


def weights(folder):
    (file,) = Path(folder).glob("*.safetensors")
    return file.read_bytes()


def run(*arguments):
    """The command in processes of its own; several of them do not outlive it."""
    command = [sys.executable, "-m", "clgnn", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def test_batches_on_the_command_line(tables):
    call(*FIT, *BATCHES, "--out", "all")
    call(*FIT, *BATCHES, "--neighbors", "3,2", "--out", "few")
    assert weights("all") != weights("few")


@pytest.mark.parametrize("test_labels", ["none", "partial"])
def test_two_processes_give_the_bits_of_one(tables, test_labels):
    options = [*FIT, *BATCHES, "--neighbors", "3", "--test-labels", test_labels]
    call(*options, "--out", "one")
    done = run(*options, "--out", "two", "--processes", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("The model is in") == 1
    assert weights("one") == weights("two")


def test_what_several_processes_can_not_share_is_refused(tables):
    assert "say its size: --batch-size" in refused(*FIT, "--out", "m", "--processes", "2")
    many = refused(*FIT, *BATCHES, "--out", "m", "--processes", "9")
    assert "raise --parts" in many
    assert "expected a number, or one for each hop" in refused(
        *FIT, *BATCHES, "--out", "m", "--neighbors", "3,x"
    )
    rival = refused(*FIT, *BATCHES, "--out", "m", "--method", "pl_em")
    assert "not for --method pl_em" in rival


def test_a_wrong_setting_is_said_once(tables):
    done = run(*FIT, *BATCHES, "--out", "m", "--processes", "2", "--gnn", "nonsense")
    assert done.returncode == 2
    assert done.stderr.count("Error:") == 1
    assert len(done.stderr.strip().splitlines()) == 1


def children(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return sorted(found)


@pytest.mark.slow
def test_a_killed_process_ends_all_with_one_line_and_resume_ends_as_if_it_had_not(tables):
    options = [
        *FIT,
        "--batch-size",
        "50",
        "--epochs",
        "4",
        "--iteration-epochs",
        "200",
        "--iteration-patience",
        "200",
    ]
    call(*options, "--out", "one")
    command = [sys.executable, "-m", "clgnn", *options, "--out", "two", "--processes", "2"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not Path("two.partial/checkpoint.json").exists() and time.monotonic() < until:
        time.sleep(0.05)
    workers = children(started.pid)
    os.kill(workers[-1], signal.SIGKILL)
    _, said = started.communicate(timeout=60)
    assert started.returncode == 2
    assert [line.startswith("Error: process") for line in said.strip().splitlines()] == [True], said
    assert "--resume" in said
    assert not Path("two").exists()
    done = run(*options, "--out", "two", "--processes", "2", "--resume")
    assert done.returncode == 0, done.stderr
    assert weights("one") == weights("two")


def test_a_prepared_graph_in_batches_gives_the_bits_of_its_tables(tables):
    """Of a folder only parts are in memory; in tables all is."""
    call(
        "prepare",
        "--nodes",
        "nodes.csv",
        "--edges",
        "edges.csv",
        "--label",
        "label",
        "--out",
        "graph",
        "--quiet",
    )
    options = ["--hidden", "4", "--samples", "2", "--iterations", "1", "--threads", "1", "--quiet", *BATCHES]
    call("fit", "--graph", "graph", *options, "--out", "folder")
    call(*FIT, *BATCHES, "--out", "tables")
    assert weights("folder") == weights("tables")
