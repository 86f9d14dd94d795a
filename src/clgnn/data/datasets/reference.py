"""Splits that were published as files: the paper's for Cora, and the one that comes with Friendster."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clgnn.data.datasets import pickles
from clgnn.data.datasets.errors import DatasetError
from clgnn.data.datasets.files import RawFile, data_folder, locate

_CORA = {
    0: {
        "train": "cd9aa52c3cc64e45a559ef3d3b46bcb37a695953b63e62c5ce2f0c7ad8a5b89b",
        "val": "58762bcd2822c1f55c2c1dd99f1416e54c03124814ee9e297483a899cd9533eb",
        "test": "7daf3fe75c83345e95f85d467ed10e8cf27af536b40093500fd253f57824b014",
    },
    2: {
        "train": "ad50af90889bc1a91bf59e96aabeca92bbfb3e4ff48acf10aead65834c58fa5d",
        "val": "0e0551e5da616c1f13f749b022ed3e8d6687355426f9bfb1a741954a6c9f448a",
        "test": "92dc5c219e83afd360534d8450df51feb7694a937a44d24579fccac31962b919",
    },
}
_FRIENDSTER = RawFile(
    "friendster/friendster_25K.split.npz",
    "PurdueMINDS/GNNsMiscalibrated/aa1fb4c2c6bb31de48a7a14ebc0e0204052d44d8/Friendster/friendster_25K.split.npz",
    "a649223ce4161ea2edd6d50a2445d4a15d9a63a702605eb940e395ea367cac81",
)


def reference_nodes(
    name: str, trial: int = 0, root: str | os.PathLike[str] | None = None
) -> list[NDArray[np.int64]]:
    """The training, validation and test nodes of a published split, in the order of its files."""
    if name == "friendster" and trial == 0:
        files, _ = locate([_FRIENDSTER], data_folder(root))
        return [_nodes(part) for part in pickles.load_object_array(files[_FRIENDSTER.name], "arr_0")]
    if name == "cora" and trial in _CORA:
        wanted = [
            RawFile(
                f"clgnn_splits/idx_{part}_cora_{trial}.txt",
                f"PurdueMINDS/CLGNN/d202f8908eccd890fe59a725177db1d838925a43/data/idx_{part}_cora_{trial}.txt",
                checksum,
            )
            for part, checksum in _CORA[trial].items()
        ]
        files, _ = locate(wanted, data_folder(root))
        return [_nodes(np.loadtxt(path)) for path in files.values()]  # the files hold floats
    raise DatasetError(f"no published split {trial} of {name!r}; expected 0 or 2 of cora, or 0 of friendster")


def _nodes(part: NDArray[Any]) -> NDArray[np.int64]:
    return np.asarray(part).astype(np.int64)
