"""All tables and figures of an experiment, written at once."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import pandas as pd

from clgnn.report import figures, paper_tables


def write(folder: str | PathLike[str], trials: pd.DataFrame) -> tuple[list[Path], str]:
    """Writes every table and figure that there are trials for to ``tables/`` and ``figures/``.

    Args:
        folder: the folder that both lie in.
        trials: one row per trial, from :func:`clgnn.experiments.ledger.read`.

    Returns:
        The paths of the files, and why there are no figures: an empty text if there are.
    """
    paths = paper_tables.write(Path(folder) / "tables", trials)
    try:
        return [*paths, *figures.write(Path(folder) / "figures", trials)], ""
    except ValueError as error:  # matplotlib is not installed
        return paths, str(error)
