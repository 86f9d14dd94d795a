import functools
import hashlib
import http.server
import logging
import sys
import threading

import pytest

from clgnn.data.datasets import DatasetError, data_folder
from clgnn.data.datasets.files import RawFile, fetch, locate

CONTENT = bytes(range(256)) * 4096
FILE = RawFile("folder/a file.bin", "owner/repository/a file.bin", hashlib.sha256(CONTENT).hexdigest())


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        self.server.seen.append(self.path)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server on this machine that has the file; yields its folder and what was asked for."""
    folder = tmp_path / "served"
    place = folder / FILE.source
    place.parent.mkdir(parents=True)
    place.write_bytes(CONTENT)
    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.seen = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv("CLGNN_MIRROR", f"http://127.0.0.1:{server.server_port}/")
        yield place, server
        server.shutdown()
        thread.join()


def test_only_a_terminal_shows_a_bar(server, tmp_path, monkeypatch, capsys, caplog):
    with caplog.at_level(logging.DEBUG, logger="pooch"):
        fetch([FILE], tmp_path / "quiet")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    fetch([FILE], tmp_path / "data")
    out, err = capsys.readouterr()
    assert not out
    assert "100%" in err


def leftovers(folder):
    return [path for path in folder.rglob("*") if path.is_file() or path.name.startswith(".")]


def test_a_missing_file_is_downloaded_once(server, tmp_path):
    root = tmp_path / "data"
    assert fetch([FILE], root) == [FILE]
    assert leftovers(root) == [root / FILE.path]
    assert (root / FILE.path).read_bytes() == CONTENT
    (root / "usual").touch()
    assert (root / FILE.path).stat().st_mode == (root / "usual").stat().st_mode  # all may read it
    (root / "usual").unlink()
    places, _ = locate([FILE], root)
    assert places == {"a file.bin": root / FILE.path}
    assert server[1].seen == ["/owner/repository/a%20file.bin"]


@pytest.mark.parametrize("content", [CONTENT[:-1], b"", b"<html>sign in</html>"])
def test_a_download_with_a_wrong_checksum_is_not_kept(server, tmp_path, content):
    server[0].write_bytes(content)
    with pytest.raises(
        DatasetError,
        match=r"gave a file whose SHA-256 is not the expected \w+\.\.\.; nothing was kept: try again",
    ):
        fetch([FILE], tmp_path / "data")
    assert not leftovers(tmp_path / "data")


def test_a_download_that_does_not_exist(server, tmp_path):
    other = RawFile("folder/b.bin", "owner/b.bin", FILE.sha256)
    with pytest.raises(DatasetError) as caught:
        fetch([other, FILE], tmp_path / "data")
    message = str(caught.value)
    assert "\n" not in message
    assert "404 Client Error" in message
    assert f"b.bin is not in {tmp_path / 'data' / 'folder'}" in message
    assert "put b.bin, a file.bin there, or set CLGNN_DATA" in message


def test_without_a_network_the_message_says_which_file_to_put_where(tmp_path, monkeypatch):
    monkeypatch.setenv("CLGNN_MIRROR", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(
        DatasetError, match=r"cannot be fetched from http://127.0.0.1:1/.*: put a file.bin there"
    ):
        locate([FILE], tmp_path)
    assert not leftovers(tmp_path)


@pytest.mark.parametrize("mirror", ["ftp://127.0.0.1", "file:///tmp", "nowhere"])
def test_a_mirror_speaks_http(tmp_path, monkeypatch, mirror):
    monkeypatch.setenv("CLGNN_MIRROR", mirror)
    with pytest.raises(DatasetError, match=f"cannot be fetched from {mirror}/owner"):
        fetch([FILE], tmp_path)


def test_an_interrupted_download_is_not_kept(server, tmp_path, monkeypatch):
    def interrupted(self, url, output_file, pooch):
        with open(output_file, "wb") as stream:
            stream.write(CONTENT[:1000])
        raise KeyboardInterrupt

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch([FILE], tmp_path / "data")
    assert not leftovers(tmp_path / "data")


def test_proxies_are_honoured(server, tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server[1].server_port}")
    monkeypatch.setenv("CLGNN_MIRROR", "http://data.invalid")
    # the server, asked as a proxy, does not know that host
    with pytest.raises(DatasetError, match="404 Client Error"):
        fetch([FILE], tmp_path / "data")
    assert server[1].seen[0].startswith("http://data.invalid/owner")


@pytest.mark.parametrize("content", [CONTENT[:1000], CONTENT[:-1] + b"x"])
def test_a_damaged_file_is_one_clear_error(tmp_path, content):
    (tmp_path / "folder").mkdir()
    (tmp_path / FILE.path).write_bytes(content)
    with pytest.raises(
        DatasetError, match=r"a file\.bin has SHA-256 .*, expected .*: it is damaged .*; delete it"
    ):
        locate([FILE], tmp_path)


def test_a_file_that_is_not_public(tmp_path):
    with pytest.raises(DatasetError, match=r"mine.npy not found; take yours, or put what you have into"):
        locate([RawFile("mine.npy", advice="take yours, or ")], tmp_path)


def test_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CLGNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CLGNN_DATA", raising=False)
    assert data_folder() == tmp_path / "cache" / "data"
    monkeypatch.setenv("CLGNN_DATA", str(tmp_path / "data"))
    assert data_folder() == tmp_path / "data"
    assert data_folder(tmp_path / "root") == tmp_path / "root"
    monkeypatch.delenv("CLGNN_DATA")
    monkeypatch.delenv("CLGNN_CACHE")
    assert "clgnn" in str(data_folder())
