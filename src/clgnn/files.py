"""The one atomic writer: a file, or a new folder, that is there in whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary name to write to, which is renamed to ``path`` at the end.

    The caller creates a file or a folder under the temporary name. It gets the permissions that the
    user's umask gives to any new file. After an error nothing is left behind. After a kill at any moment
    ``path`` is what it was before, or what it was to become.

    A file replaces a file. A folder replaces nothing: no user's file is ever deleted.

    Raises:
        IsADirectoryError: if ``path`` is a folder that is not empty, or a file is to replace a folder.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "hello.txt"
        >>> with written(path) as temporary:
        ...     _ = temporary.write_text("hello")
        >>> path.read_text(), [file.name for file in path.parent.iterdir()]
        ('hello', ['hello.txt'])
    """
    target = Path(os.path.abspath(path))
    if target.is_dir() and any(target.iterdir()):
        raise IsADirectoryError(f"{path} is a folder with files in it; choose another name, or remove it")
    new = [folder for folder in target.parents if not folder.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    room = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        temporary = room / target.name
        yield temporary
        if target.is_dir() and not temporary.is_dir():
            raise IsADirectoryError(f"{path} is a folder; a file can't replace it: choose another name")
        _usual_permissions(temporary, room)
        moved(temporary, target)
    finally:
        shutil.rmtree(room, ignore_errors=True)
        for folder in new:
            with suppress(OSError):  # it is not empty: all went well
                folder.rmdir()


def others(path: Path) -> list[Path]:
    """What is beside ``path``, but for what a kill left in the middle of writing it."""
    folder = path.parent
    beside = folder.iterdir() if folder.is_dir() else ()
    return [one for one in beside if one != path and not one.name.startswith(f".{path.name}.")]


def moved(temporary: Path, target: Path, force: bool = False) -> None:
    """Renames a file or a folder into its place, once all of it has reached the disk.

    Args:
        temporary: what was written.
        target: its place. A file replaces a file, and a folder an empty folder.
        force: whether a folder replaces a folder with files in it. For a moment there is none.
    """
    for file in (temporary, *temporary.rglob("*")) if temporary.is_dir() else (temporary,):
        _to_disk(file)
    if force and temporary.is_dir() and target.is_dir() and any(target.iterdir()):
        old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        os.replace(target, old / "old")
        os.replace(temporary, target)
        shutil.rmtree(old)
    else:
        os.replace(temporary, target)
    _to_disk(target.parent)


def _usual_permissions(path: Path, room: Path) -> None:
    """What the umask gives to new files and folders; some libraries create private ones."""
    probe = room / "probe"
    probe.touch()
    mode = probe.stat().st_mode & 0o777
    for file in (path, *path.rglob("*")) if path.is_dir() else (path,):
        # whoever may read a folder may also enter it
        file.chmod(mode | (mode & 0o444) >> 2 if file.is_dir() else mode)


def _to_disk(path: Path) -> None:
    """Waits until the content has reached the disk, where the system can tell."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:  # a folder, on Windows
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
