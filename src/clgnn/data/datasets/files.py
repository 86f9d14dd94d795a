"""The raw files: where they are, whether they are intact, and how to get those that are missing."""

import hashlib
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

import platformdirs

from clgnn.data.datasets.errors import DatasetError
from clgnn.files import written

HOST = "https://raw.githubusercontent.com"  # CLGNN_MIRROR replaces it


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
        """The last part of its path."""
        return PurePosixPath(self.path).name


def cache_folder() -> Path:
    """``$CLGNN_CACHE``, else the user's cache folder of this platform."""
    chosen = os.environ.get("CLGNN_CACHE")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("clgnn", appauthor=False)


def data_folder(root: str | os.PathLike[str] | None = None) -> Path:
    """Where raw files are looked for: ``root``, else ``$CLGNN_DATA``, else ``data`` in the cache folder.

    Example:
        >>> data_folder("my_data").name
        'my_data'
    """
    chosen = root or os.environ.get("CLGNN_DATA")
    return Path(chosen).expanduser() if chosen else cache_folder() / "data"


def missing(files: Iterable[RawFile], folder: Path) -> list[RawFile]:
    """The files that are not in the folder."""
    return [file for file in files if not (folder / file.path).is_file()]


def locate(files: Iterable[RawFile], folder: Path) -> tuple[dict[str, Path], str]:
    """The places of the files by name, missing ones downloaded and all checked; and one checksum of all.

    Raises:
        DatasetError: if a file is damaged, or missing and out of reach.
    """
    files = tuple(files)
    fetch(files, folder)
    digest = hashlib.sha256()
    for file in files:
        with (folder / file.path).open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if file.sha256 not in (None, found):
            raise DatasetError(
                f"{folder / file.path} has SHA-256 {found[:12]}..., expected {str(file.sha256)[:12]}...: "
                "it is damaged or another version; delete it and load again to fetch it anew"
            )
        digest.update(found.encode())
    return {file.name: folder / file.path for file in files}, digest.hexdigest()


def fetch(files: Iterable[RawFile], folder: Path) -> list[RawFile]:
    """Downloads what is missing in the folder, and gives what was downloaded.

    Raises:
        DatasetError: if a file is not public, out of reach, or not what it should be.
    """
    wanted = missing(files, folder)
    host = (os.environ.get("CLGNN_MIRROR") or HOST).rstrip("/")
    for number, file in enumerate(wanted):
        target = folder / file.path
        names = ", ".join(other.name for other in wanted[number:])
        if file.source is None:
            raise DatasetError(f"{names} not found; {file.advice}put what you have into {target.parent}")
        url = f"{host}/{quote(file.source)}"
        try:
            _download(url, target, f"sha256:{file.sha256}")
        except OSError as error:  # no network, no such page, or no place to write to
            if (answer := getattr(error, "response", None)) is not None:
                answer.close()
            cause = getattr(error.args[0] if error.args else None, "reason", error)  # of a failed connection
            reason = " ".join(str(cause).split())
            raise DatasetError(
                f"{file.name} is not in {target.parent} and cannot be fetched from {url} ({reason}): "
                f"put {names} there, or set CLGNN_DATA to the folder that holds {file.path}"
            ) from error
        except ValueError as error:
            raise DatasetError(
                f"{url} gave a file whose SHA-256 is not the expected {str(file.sha256)[:12]}...; "
                f"nothing was kept: try again, or put the right file at {target}"
            ) from error
    return wanted


def _download(url: str, target: Path, checksum: str) -> None:
    """One file, by the proxies of the environment, with a bar on a terminal.

    Raises:
        OSError: if it can't be fetched.
        ValueError: if its checksum is another.
    """
    import pooch

    pooch.get_logger().setLevel("WARNING")  # it would print each address
    get = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), chunk_size=1 << 18)
    with written(target) as part:  # what pooch writes, only its owner may read
        pooch.retrieve(url, checksum, part.name, part.parent, downloader=get)
