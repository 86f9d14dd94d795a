import os

import pytest

from clgnn.files import others, written


def test_what_a_kill_left_of_a_file_is_no_other_file(tmp_path):
    (tmp_path / ".about.json.x1y2").mkdir()
    assert others(tmp_path / "about.json") == others(tmp_path / "nowhere" / "about.json") == []
    (tmp_path / "thesis.tex").touch()
    assert others(tmp_path / "about.json") == [tmp_path / "thesis.tex"]


def test_a_failed_write_leaves_what_was_there(tmp_path):
    file = tmp_path / "out.txt"
    file.write_text("before")

    def fail():
        with written(file) as temporary:
            temporary.write_text("half")
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        fail()
    assert file.read_text() == "before"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_failed_write_leaves_no_new_folder(tmp_path):
    with pytest.raises(RuntimeError, match="no network"), written(tmp_path / "new" / "inner" / "out.txt"):
        raise RuntimeError("no network")
    assert os.listdir(tmp_path) == []


def test_a_failing_rename_leaves_what_was_there(tmp_path, monkeypatch):
    file = tmp_path / "out.txt"
    file.write_text("before")

    def fail(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space left"), written(file) as temporary:
        temporary.write_text("after")
    assert file.read_text() == "before"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_file_never_replaces_a_folder(tmp_path):
    folder = tmp_path / "pred.parquet"
    folder.mkdir()
    with pytest.raises(IsADirectoryError, match="a file can't replace it"), written(folder) as temporary:
        temporary.write_text("after")
    (folder / "part-0.parquet").write_text("years of work")
    with pytest.raises(IsADirectoryError, match="is a folder with files in it"), written(folder) as temporary:
        temporary.write_text("after")
    assert (folder / "part-0.parquet").read_text() == "years of work"
    assert os.listdir(tmp_path) == ["pred.parquet"]


def test_a_folder_replaces_an_empty_one_at_most(tmp_path):
    for path in (tmp_path / "new", tmp_path / "empty"):
        if path.name == "empty":
            path.mkdir()
        with written(path) as temporary:
            temporary.mkdir()
            (temporary / "a.txt").write_text("a")
        assert (path / "a.txt").read_text() == "a"


def test_relative_names_and_missing_parents(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with written("deep/er/out.txt") as temporary:
        temporary.write_text("here")
    assert (tmp_path / "deep" / "er" / "out.txt").read_text() == "here"


def test_a_private_file_of_a_library_gets_the_users_permissions(tmp_path):
    before = os.umask(0o022)
    try:
        with written(tmp_path / "model") as temporary:
            temporary.mkdir(mode=0o700)
            (temporary / "a").touch(mode=0o600)
        with written(tmp_path / "file") as temporary:
            temporary.touch(mode=0o600)
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("model", "model/a", "file")]
    assert modes == [0o755, 0o644, 0o644]
