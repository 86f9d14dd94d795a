import os
from pathlib import Path

import pytest

from clgnn.data.datasets import CATALOGUE, is_here


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory):
    """Parsed copies of the whole run go to one temporary folder."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("CLGNN_CACHE", str(folder))
        yield folder


@pytest.fixture
def data():
    """The folder of the real files."""
    if not os.environ.get("CLGNN_DATA"):
        pytest.skip("the datasets' files are not here: set CLGNN_DATA to their folder")
    lost = [name for name in CATALOGUE if name != "facebook" and not is_here(name)]
    if lost:
        pytest.skip(f"the files of {', '.join(lost)} are not in CLGNN_DATA")
    return Path(os.environ["CLGNN_DATA"])
