"""A room for the commands, which ends where it began."""

import os

import pytest

from helpers.fuzzing import Room


@pytest.fixture
def room(tmp_path):
    here = os.getcwd()
    yield Room(tmp_path / "room")
    os.chdir(here)
