"""From a name to a graph: find the files, read them or their parsed copy, prepare the features."""

import inspect
import os
from typing import Any

from clgnn.data.datasets.cache import parsed
from clgnn.data.datasets.catalogue import find
from clgnn.data.datasets.errors import DatasetError
from clgnn.data.datasets.files import RawFile, data_folder, fetch, locate, missing


def load(
    name: str, root: str | os.PathLike[str] | None = None, *, prepare: bool = True, **options: Any
) -> Any:
    """A dataset by its name, as a graph, or as a list of graphs for ``protein`` and ``csl``.

    Args:
        name: one of ``cora``, ``pubmed``, ``friendster``, ``protein``, ``facebook``,
            ``facebook100/johns_hopkins55``, ``csl``, and, without a file, ``digits`` and ``citations``.
        root: the folder of the raw files, else ``$CLGNN_DATA``, else the user's cache folder. What is
            missing there is downloaded and checked.
        prepare: prepare the features as the paper does: rows that sum to 1 (Cora, Pubmed), z-scores
            (Friendster, Protein). Otherwise they are as in the files.
        options: ``ages="gapless"`` or ``"literal"`` for Friendster; ``target="gender"`` or ``"year"``, a
            number, for Facebook100; the arguments of :func:`digits` and of
            :func:`citations`.

    Returns:
        ``x`` [N, p] float32, sparse CSR where it is sparse; ``edge_index`` [2, E] in both directions,
        sorted, without duplicates or self-loops; ``y`` [N], -1 for unknown. In ``csl`` the graphs have
        classes, ``y`` [1].

    Raises:
        DatasetError: if there is no such dataset or option, or a file is damaged, or missing and out of
            reach.

    Example:
        >>> load("digits", neighbours=3)
        Data(x=[1797, 32], edge_index=[2, ...], y=[1797])
    """
    entry = find(name)
    known = [
        option for option in inspect.signature(entry.build).parameters if option not in ("tensors", "prepare")
    ]
    for option in options.keys() - set(known):
        raise DatasetError(
            f"{entry.name} has no option {option!r}; expected {', '.join(known) or 'none'}: leave it out"
        )
    if entry.parse is None:
        return entry.build(prepare=prepare, **options)
    read = entry.parse
    files, digest = locate(entry.files, data_folder(root))
    return entry.build(parsed(entry.name, digest, lambda: read(files)), prepare=prepare, **options)


def get(name: str, root: str | os.PathLike[str] | None = None) -> list[RawFile]:
    """Downloads what is missing of a dataset, checks all of it, and gives the files that were downloaded."""
    entry = find(name)
    new = fetch(entry.files, data_folder(root))
    locate(entry.files, data_folder(root))
    return new


def is_here(name: str, root: str | os.PathLike[str] | None = None) -> bool:
    """Whether all files of a dataset are in the data folder (see :func:`load`).

    Example:
        >>> is_here("digits")
        True
    """
    return not missing(find(name).files, data_folder(root))
