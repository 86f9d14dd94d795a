"""A folder that nobody may write to: every command says so in one line, and nothing is written."""

import os
import subprocess

import pytest

from clgnn.data.datasets import is_here
from helpers.commands import FIT, QUICK, TABLES, call, refused

COMMANDS = {
    "fit": [*FIT, "--out", "closed/model"],
    "predict": ["predict", "--model", "model", *TABLES, "--out", "closed/p.csv"],
    "compare": ["compare", *TABLES, "--label", "colour", "--ignore", "truth", "--methods", "majority", "--splits", "1", "--out", "closed/c", "--quiet"],
    "tune": ["tune", *TABLES, "--label", "colour", "--ignore", "truth", "--trials", "1", "--out", "closed/t", *QUICK],
    "reproduce": ["reproduce", "main", "--datasets", "cora", "--methods", "random", "--out", "closed/r", "--quiet"],
    "prepare": ["prepare", *TABLES, "--label", "colour", "--ignore", "truth", "--out", "closed/g", "--quiet"],
}  # fmt: skip


@pytest.fixture
def closed(files):
    """A folder for reading alone: by its permissions, or for root, whom they do not stop, by a mount."""
    folder = files / "closed"
    folder.mkdir()
    if os.getuid():
        folder.chmod(0o500)
        yield folder
        folder.chmod(0o700)
        return
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", folder], capture_output=True).returncode:
        pytest.skip("root may write everywhere, and nothing can be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_can_not_be_written_to_is_named(command, closed):
    if command == "reproduce" and not is_here("cora"):
        pytest.skip("needs Cora's files: set CLGNN_DATA")
    if command == "predict":
        call(*FIT, "--out", "model")
    said = refused(*COMMANDS[command])
    assert "closed" in said
    assert not any(closed.iterdir())
