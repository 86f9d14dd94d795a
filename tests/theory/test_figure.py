import sys

import pytest

from clgnn.theory import figure
from clgnn.theory.pictures import pictures as made

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def pictures():
    return made()


def test_colours_on_the_right_are_those_on_the_left_where_a_class_stays(pictures):
    theorem, proposition, _ = pictures
    assert figure._keep(theorem).tolist() == [0] * 4 + [2] * 4 + [1] * 2
    kept = figure._keep(proposition)
    assert kept[0] == proposition.alone[0] != kept[1]
    assert len(kept.unique()) == len(proposition.collective.unique()) <= len(figure.PALETTE)
    assert len(set(figure.PALETTE)) == len(figure.PALETTE)


def test_a_row_has_two_drawings(tmp_path):
    drawn = figure.draw()
    assert len(drawn.axes) == 6
    titles = [text.get_text() for axes in drawn.axes for text in axes.texts]
    assert any(title.startswith("the GNN alone (1-WL): 2 classes") for title in titles)
    assert any(title.startswith("the same GNN with CL: 3 classes") for title in titles)
    assert {str(number) for number in range(1, 12)} <= set(titles)


def test_the_same_seed_writes_the_same_small_file(tmp_path):
    for name in ("a.svg", "b.svg"):
        figure.write(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.svg").stat().st_size < 200_000


def test_a_file_is_not_overwritten_unless_forced(tmp_path):
    path = tmp_path / "theory.png"
    path.write_bytes(b"mine")
    with pytest.raises(FileExistsError, match="exists; choose another name, or force"):
        figure.write(path)
    assert path.read_bytes() == b"mine"
    figure.write(path, force=True)
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["theory", "theory.docx"])
def test_an_unknown_format(tmp_path, name):
    with pytest.raises(ValueError, match=r"expected a name that ends in \.svg, \.png or \.pdf"):
        figure.write(tmp_path / name)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="is no folder"):
        figure.write(tmp_path / "nowhere" / "theory.svg")


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for call in (figure.draw, lambda: figure.write(tmp_path / "theory.svg")):
        with pytest.raises(ValueError, match=r"pip install 'clgnn\[plot\]'"):
            call()
