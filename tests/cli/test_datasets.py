import os

import pytest
from click.testing import CliRunner

from clgnn.cli.datasets import datasets
from clgnn.data.datasets import CATALOGUE, DatasetError, is_here


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command in a wide terminal, with its own cache."""
    monkeypatch.setenv("CLGNN_CACHE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")

    def run(*args):
        result = CliRunner().invoke(datasets, args)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.output

    return run


@pytest.fixture
def data():
    if not os.environ.get("CLGNN_DATA") or not all(is_here(name) for name in ("cora", "protein", "csl")):
        pytest.skip("the datasets' files are not here: set CLGNN_DATA to their folder")


def test_the_list_has_a_line_for_each(run, monkeypatch, tmp_path):
    monkeypatch.delenv("CLGNN_DATA", raising=False)
    lines = run().splitlines()
    assert [line.split()[0] for line in lines[1 : 1 + len(CATALOGUE)]] == list(CATALOGUE)
    assert lines[1].split() == ["cora", "1", "2,708", "5,278", "1,433", "7", "no"]
    assert lines[-3].split()[-1] == "yes"  # embedded
    assert lines[-1] == f"folder: {tmp_path / 'data'}"


def test_the_list_fits_a_narrow_terminal(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    output = run("--root", "x")
    assert len(output.splitlines()) == len(CATALOGUE) + 3
    assert "…" not in output


def test_what_is_here(run, data):
    assert run().splitlines()[1].split()[-1] == "yes"


def test_info_of_cora(run, data):
    output = run("info", "cora")
    for part in ("5,278", "homophily   0.810", "mean 3.90, largest 168", "818", "30.2%", "█" * 40):
        assert part in output


def test_info_of_an_embedded_one(run):
    output = run("info", "digits")
    assert "homophily   0.869" in output
    assert output.count("█") > 300


def test_info_of_many_graphs(run, data):
    assert "graphs      84" in run("info", "protein")
    assert "homophily" not in run("info", "csl")


def test_get(run, data):
    output = run("get", "cora", "digits")
    assert "cora: here and intact" in output
    assert "digits: embedded" in output


def test_get_from_a_server_that_is_not_there(run, monkeypatch, tmp_path):
    monkeypatch.setenv("CLGNN_MIRROR", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(DatasetError, match=r"put PROTEINS_full.zip there"):
        run("get", "protein", "--root", str(tmp_path / "data"))


def test_an_unknown_name_is_one_line(run):
    with pytest.raises(DatasetError, match="did you mean 'pubmed'") as caught:
        run("info", "pubmd")
    assert "\n" not in str(caught.value)


def test_a_dataset_as_a_graph_on_disk(tmp_path, monkeypatch):
    import torch

    import clgnn.data
    from clgnn import datasets
    from helpers.commands import QUICK, call, refused

    monkeypatch.chdir(tmp_path)
    call("datasets", "export", "digits", "--graph", "digits.clg")
    graph, data = clgnn.data.open("digits.clg", verify=True), datasets.load("digits")
    again = graph.to_data()
    assert torch.equal(again.x, data.x if data.x.layout == torch.strided else data.x.to_dense())
    assert torch.equal(again.y, data.y)
    assert set(map(tuple, again.edge_index.T.tolist())) == set(map(tuple, data.edge_index.T.tolist()))
    call("fit", "--graph", "digits.clg", *QUICK, "--out", "m")
    call("predict", "--model", "m", "--graph", "digits.clg", "--out", "p.csv", "--quiet")
    assert "exists" in refused("datasets", "export", "digits", "--graph", "digits.clg")
    assert "Missing option '--nodes'" in refused("datasets", "export", "digits")
    assert "--graph and tables are given" in refused(
        "datasets", "export", "digits", "--graph", "g", "--nodes", "n.csv"
    )
