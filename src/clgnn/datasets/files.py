"""The raw files: where they are, whether they are intact, and how to get those that are missing."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import OpenerDirector, build_opener
from uuid import uuid4

import platformdirs
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from clgnn.datasets.errors import DatasetError

HOST = "https://raw.githubusercontent.com"  # CLGNN_MIRROR replaces it
_TIMEOUT = 30.0  # seconds without an answer
_CHUNK = 1 << 18


@dataclass(frozen=True)
class RawFile:
    """A file of a dataset.

    Attributes:
        path: its place below the data folder.
        source: its place below the host; None if it is not public.
        sha256: its checksum; None if it is not public, since nobody knows it.
        advice: what else can be done when it is not public and not there.
    """

    path: str
    source: str | None = None
    sha256: str | None = None
    advice: str = ""

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name


def cache_folder() -> Path:
    """``$CLGNN_CACHE``, else the user's cache folder of this platform."""
    chosen = os.environ.get("CLGNN_CACHE")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("clgnn", appauthor=False)


def data_folder(root: str | os.PathLike[str] | None = None) -> Path:
    """Where raw files are looked for: ``root``, else ``$CLGNN_DATA``, else ``data`` in the cache folder."""
    chosen = root or os.environ.get("CLGNN_DATA")
    return Path(chosen).expanduser() if chosen else cache_folder() / "data"


def missing(files: Iterable[RawFile], folder: Path) -> list[RawFile]:
    """The files that are not in the folder."""
    return [file for file in files if not (folder / file.path).is_file()]


def locate(files: Iterable[RawFile], folder: Path) -> tuple[dict[str, Path], str]:
    """The places of the files by name, missing ones downloaded and all checked; and one checksum of all."""
    files = tuple(files)
    fetch(files, folder)
    digest = hashlib.sha256()
    for file in files:
        found = hashlib.sha256((folder / file.path).read_bytes()).hexdigest()
        if file.sha256 not in (None, found):
            raise DatasetError(
                f"{folder / file.path} has SHA-256 {found[:12]}..., expected {str(file.sha256)[:12]}...: "
                "it is damaged or another version; delete it and load again to fetch it anew"
            )
        digest.update(found.encode())
    return {file.name: folder / file.path for file in files}, digest.hexdigest()


def fetch(files: Iterable[RawFile], folder: Path) -> list[RawFile]:
    """Download what is missing in the folder; gives what was downloaded."""
    wanted = missing(files, folder)
    if not wanted:
        return []
    opener = build_opener()  # knows the proxies of the environment
    host = (os.environ.get("CLGNN_MIRROR") or HOST).rstrip("/")
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        for number, file in enumerate(wanted):
            target = folder / file.path
            names = ", ".join(other.name for other in wanted[number:])
            if file.source is None:
                raise DatasetError(f"{names} not found; {file.advice}put what you have into {target.parent}")
            url = f"{host}/{quote(file.source)}"
            try:
                _download(opener, url, target, str(file.sha256), progress)
            except (OSError, HTTPException) as error:
                if isinstance(error, HTTPError):
                    error.close()
                raise DatasetError(
                    f"{file.name} is not in {target.parent} and cannot be fetched from {url} ({error}): "
                    f"put {names} there, or set CLGNN_DATA to the folder that holds {file.path}"
                ) from error
    return wanted


def _download(opener: OpenerDirector, url: str, target: Path, sha256: str, progress: Progress) -> None:
    with opener.open(url, timeout=_TIMEOUT) as answer, replacing(target) as part, part.open("wb") as stream:
        length = answer.headers.get("Content-Length")
        task = progress.add_task(target.name, total=int(length) if length else None)
        digest = hashlib.sha256()
        while chunk := answer.read(_CHUNK):
            digest.update(chunk)
            stream.write(chunk)
            progress.advance(task, len(chunk))
        if digest.hexdigest() != sha256:
            raise DatasetError(
                f"{url} gave a file with SHA-256 {digest.hexdigest()[:12]}..., expected {sha256[:12]}...; "
                f"nothing was kept: try again, or put the right file at {target}"
            )


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary name to write to, renamed to the target at the end: the target is never there in part."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
