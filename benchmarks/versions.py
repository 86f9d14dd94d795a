"""The whole suite with the lowest versions that pyproject.toml allows, or with the newest that there are.

    pip install uv
    python -m benchmarks.versions lowest
    python -m benchmarks.versions newest --pin torch==2.13.0 --find-links FOLDER

It resolves the versions, prints those that pyproject.toml names, installs them into a new virtual environment
and runs the tests there. What comes after ``--`` goes to pytest.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESOLUTION = {"lowest": "lowest-direct", "newest": "highest"}


def named() -> set[str]:
    """The packages that pyproject.toml names for the library and its tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    return {re.split(r"[\[><=~!]", one)[0].replace("_", "-").lower() for part in lists for one in part}


def resolve(which: str, pins: list[str], place: list[str], python: str, out: Path) -> list[str]:
    """The versions that are to be installed, one requirement a line."""
    constraints = out.with_name("pins.txt")
    constraints.write_text("\n".join(pins))
    subprocess.run(
        ["uv", "pip", "compile", str(ROOT / "pyproject.toml"), "--extra", "test", "--no-annotate",
         "--no-header", "--resolution", RESOLUTION[which], "--python-version", python,
         "-c", str(constraints), *place, "-o", str(out), "--quiet"],
        check=True,
    )  # fmt: skip
    return out.read_text().split()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions")
    parser.add_argument("which", choices=list(RESOLUTION))
    parser.add_argument(
        "--pin", action="append", default=[], help="a requirement that counts before all others"
    )
    parser.add_argument("--find-links", help="a folder with further wheels")
    parser.add_argument("--python", default=f"{sys.version_info.major}.{sys.version_info.minor}")
    parser.add_argument("--venv", type=Path, help="install into this folder, and keep it")
    mine, _, pytest = " ".join(sys.argv[1:]).partition(" -- ")
    given = parser.parse_args(mine.split())
    if shutil.which("uv") is None:
        parser.error("uv is not installed; run pip install uv")
    place = [] if given.find_links is None else ["--find-links", given.find_links]
    with tempfile.TemporaryDirectory() as room:
        wanted = Path(room) / "requirements.txt"
        ours = named()
        versions = resolve(given.which, given.pin, place, given.python, wanted)
        print(*(one for one in versions if one.partition("==")[0] in ours), flush=True)
        venv = given.venv or Path(room) / "venv"
        python = str(venv / "bin" / "python")
        began = time.perf_counter()
        for command in (
            ["uv", "venv", "--quiet", "--allow-existing", "--python", given.python, str(venv)],
            ["uv", "pip", "install", "--quiet", "--python", python, *place, "-r", str(wanted)],
            ["uv", "pip", "install", "--quiet", "--python", python, "--no-deps", "-e", str(ROOT)],
        ):
            subprocess.run(command, check=True)
        print(f"installed in {time.perf_counter() - began:.0f} s", flush=True)
        return subprocess.run([python, "-m", "pytest", *(pytest or "-q").split()], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
