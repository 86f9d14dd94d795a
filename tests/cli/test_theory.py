import pytest
from click.testing import CliRunner

import clgnn.theory
from clgnn.cli.theory import theory
from clgnn.theory import Statement

TRUE = Statement("theorem 0", "it is so", {"gap": 1.2e-5, "classes": 3, "by": "all"}, True)
FALSE = Statement("theorem 00", "it is not", {"gap": 0.0}, False)


def run(*arguments):
    result = CliRunner().invoke(theory, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def quick(monkeypatch):
    """Statements that are computed in no time; notes the seeds."""
    seeds = []

    def found(seed):
        seeds.append(seed)
        return iter([TRUE])

    monkeypatch.setattr(clgnn.theory, "statements", found)
    return seeds


def test_one_line_per_statement():
    result = run()
    lines = result.output.splitlines()
    assert result.exit_code == 0
    assert [line[:45].rstrip() for line in lines] == [
        "holds           theorem 1",
        "holds           theorem 2, 9 and 10 labelled",
        "holds           theorem 2, no labels",
        "holds           corollary 1",
        "holds           proposition 1",
        "holds           proposition 1, reach",
        "holds           proposition 2, bound",
        "holds           proposition 2, gradients",
        "holds           circular skip links",
    ]
    assert "WL-GNN gap 0; CL gap 0.00" in lines[1]


def test_a_statement_that_does_not_hold(monkeypatch):
    monkeypatch.setattr(clgnn.theory, "statements", lambda seed: iter([FALSE, TRUE]))
    result = run()
    assert result.exit_code == 1
    assert [" ".join(line.split()) for line in result.output.splitlines()] == [
        "does not hold theorem 00 it is not: gap 0",
        "holds theorem 0 it is so: gap 1.2e-05; classes 3; by all",
    ]


def test_the_seed(quick):
    run("--seed", 7)
    assert quick == [7]


def test_a_figure(quick, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "[red]theory.svg"
    assert f"figure: {path}" in run("--figure", path).output
    assert path.read_text().startswith("<?xml")


def test_a_figure_is_not_overwritten_unless_forced(quick, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "theory.svg"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="force"):
        run("--figure", path)
    assert path.read_text() == "mine"
    assert quick == []  # it is refused before anything is computed
    assert run("--figure", path, "--force").exit_code == 0
    assert path.read_text() != "mine"


def test_wrong_input(quick, tmp_path):
    pytest.importorskip("matplotlib")
    assert run("--seed", -1).exit_code == 2
    assert run("--seed", "one").exit_code == 2
    assert run("--figure", tmp_path).exit_code == 2  # a folder
    with pytest.raises(ValueError, match="ends in"):
        run("--figure", tmp_path / "theory.doc")
    with pytest.raises(OSError, match="is no folder"):
        run("--figure", tmp_path / "nowhere" / "theory.svg")
    assert quick == []
