"""The one error of this package."""

from pathlib import Path


class DatasetError(ValueError):
    """A dataset that is missing, damaged or unknown; the message says what to do."""


def unreadable(path: str | Path, problem: object, expected: str) -> DatasetError:
    """The error for a raw file that does not hold what it should."""
    return DatasetError(
        f"{path} cannot be read: {problem}; expected {expected}: delete it and load again to fetch it anew"
    )
