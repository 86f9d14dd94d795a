"""What a trial says of the source that ran it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from clgnn.experiments.provenance import peak_memory, reset_peak_memory, revision, versions

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def repository(folder: Path, package: str) -> Path:
    """A git repository with one commit that has a package at a path; the folder of the package."""
    found = folder / package
    found.mkdir(parents=True)
    (found / "__init__.py").write_text("")
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "all"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return found


def test_the_revision_of_its_own_checkout(tmp_path: Path) -> None:
    package = repository(tmp_path, "src/clgnn")
    found = revision(package)
    assert found is not None
    assert len(found) == 12
    (package / "__init__.py").write_text("changed = True")
    revision.cache_clear()
    assert revision(package) == f"{found}+"


@pytest.mark.parametrize("place", ["env/lib/site-packages/clgnn", "src/other/clgnn", "clgnn"])
def test_another_repository_says_nothing(tmp_path: Path, place: str) -> None:
    assert revision(repository(tmp_path, place)) is None


def test_no_repository_at_all(tmp_path: Path) -> None:
    assert revision(tmp_path) is None


def test_versions_and_memory() -> None:
    assert {"clgnn", "torch", "python"} <= set(versions())
    reset_peak_memory()
    assert peak_memory() is None or peak_memory() > 1
