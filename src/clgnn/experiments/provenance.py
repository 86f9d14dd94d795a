"""What a trial was run with: the versions, the revision of the source, and the memory that it took."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

from clgnn import __version__

_LIBRARIES = ("torch", "torch_geometric", "numpy", "scipy", "scikit-learn")


@cache
def versions() -> dict[str, str]:
    """The version of Python and of every library that results depend on.

    Example:
        >>> list(versions())[:3]
        ['python', 'clgnn', 'torch']
    """
    found = {name: importlib.metadata.version(name) for name in _LIBRARIES}
    return {"python": platform.python_version(), "clgnn": __version__, **found}


@cache
def revision(package: Path = Path(__file__).parents[1]) -> str | None:
    """The git revision of clgnn's source, with a + if files were changed since.

    Args:
        package: the folder of the package.

    Returns:
        None if the package does not lie in a checkout of its own, as ``src/clgnn``: the revision of somebody
        else's repository that it was installed into would say nothing about it.
    """
    try:
        top = Path(_git(package, "rev-parse", "--show-toplevel"))
        if (top / "src" / "clgnn").resolve() != package.resolve():
            return None
        return _git(package, "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    said = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10, check=True
    )
    return said.stdout.strip()


def reset_peak_memory() -> None:
    """Makes :func:`peak_memory` count from now on, where the system can do that."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # Linux


def peak_memory() -> float | None:
    """The most memory that this process had at a time, in MiB; None where the system does not tell."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
