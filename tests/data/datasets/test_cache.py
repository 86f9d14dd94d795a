import pytest
import torch

import clgnn.data.sparse  # noqa: F401  (torch warns of its first CSR tensor)
from clgnn.data.datasets import cache

TENSORS = {
    "x": torch.eye(3)[:, :2],
    "y": torch.tensor([1, 2]),
    "none": torch.empty(2, 0),
    "words": torch.tensor([[0.0, 2.0], [0.0, 0.0], [1.0, 3.0]]).to_sparse_csr(),
}


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Loads the tensors, and tells whether they were parsed."""
    monkeypatch.setenv("CLGNN_CACHE", str(tmp_path))

    def load(source="a checksum"):
        parsed = []
        tensors = cache.parsed("group/name", source, lambda: parsed.append(True) or TENSORS)
        assert tensors.keys() == TENSORS.keys()
        assert all(tensors[name].layout == TENSORS[name].layout for name in TENSORS)
        assert all(torch.equal(tensors[name].to_dense(), TENSORS[name].to_dense()) for name in TENSORS)
        return bool(parsed)

    return load


@pytest.fixture
def copy(tmp_path):
    return tmp_path / "parsed" / "group-name.safetensors"


def test_the_second_time_it_is_not_parsed(load, copy):
    assert load()
    assert not load()
    assert list(copy.parent.iterdir()) == [copy]


def test_another_source_or_version_is_parsed_anew(load, monkeypatch):
    assert load()
    assert load("another checksum")
    assert not load("another checksum")
    monkeypatch.setattr(cache, "VERSION", "2")
    assert load("another checksum")


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: b"\xff" * len(content),
    ],
)
def test_a_damaged_copy_is_made_anew(load, copy, damage):
    assert load()
    copy.write_bytes(damage(copy.read_bytes()))
    assert load()
    assert not load()


def test_where_no_copy_can_be_written_there_is_none(load, tmp_path):
    (tmp_path / "parsed").write_text("in the way")
    assert load()
    assert load()
