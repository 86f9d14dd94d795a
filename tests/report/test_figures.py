"""The figures: what is drawn where, and that the same trials give the same files."""

import sys
from pathlib import Path

import pandas as pd
import pytest

from clgnn.experiments.published import published
from clgnn.experiments.statistics import cells
from clgnn.report import figures
from clgnn.report.calibration import pooled

pytest.importorskip("matplotlib")


def test_gains(tiny_trials: pd.DataFrame) -> None:
    figure = figures.gains(cells(tiny_trials), published("main"))
    assert figure is not None
    gcn, tk = figure.axes
    assert (gcn.get_title(), tk.get_title()) == ("GCN", "TK")
    assert [label.get_text() for label in gcn.get_yticklabels()] == [
        "Cora 85, 0 %", "Cora 85, 50 %", "Cora 105, 0 %", "Friendster 641, 0 %",
    ]  # fmt: skip
    ours, theirs = gcn.containers
    assert ours.lines[0].get_xdata() == pytest.approx([31 / 6, 14.5, 6])
    assert theirs.lines[0].get_xdata() == pytest.approx([6.29, 15.69, 0.81])
    zero = gcn.lines[0].get_xdata()
    assert list(zero) == [0, 0]
    assert "Friendster: balanced accuracy." in figure.texts[0].get_text()


def test_learning_curves(tiny_trials: pd.DataFrame) -> None:
    figure = figures.learning_curves(cells(tiny_trials))
    assert figure is not None
    zero, half = figure.axes
    assert (zero.get_title(), half.get_title()) == ("Cora, 0 % of test labels", "Cora, 50 % of test labels")
    plain, boosted = zero.lines
    assert (plain.get_linestyle(), boosted.get_linestyle()) == ("--", "-")
    assert list(plain.get_xdata()) == [85, 105]
    assert plain.get_ydata() == pytest.approx([50, 61])


def test_by_iteration(tiny_trials: pd.DataFrame) -> None:
    figure = figures.by_iteration(tiny_trials)
    assert figure is not None
    (axes,) = figure.axes
    with_predicted, without = axes.lines
    assert with_predicted.get_ydata() == pytest.approx([45.5, 55.5, 65.5])
    assert without.get_ydata() == pytest.approx([40, 50, 60])
    band = axes.collections[1].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(61)  # a standard deviation of 1


def test_less_than_a_decade_of_seconds_has_numbers_too(tiny_trials: pd.DataFrame) -> None:
    figure = figures.time_against_accuracy(
        cells(tiny_trials.assign(seconds=range(13, 13 + len(tiny_trials))))
    )
    assert figure is not None
    figure.draw_without_rendering()
    for axes in figure.axes:
        low, high = axes.get_xlim()
        said = [
            tick.label1.get_text() for tick in axes.xaxis.get_major_ticks() if low <= tick.get_loc() <= high
        ]
        assert [text for text in said if text], (low, high)


def test_time_against_accuracy(tiny_trials: pd.DataFrame) -> None:
    figure = figures.time_against_accuracy(cells(tiny_trials))
    assert figure is not None
    assert len(figure.axes) == 6, "three datasets, without and with labels"
    assert all(axes.get_xscale() == "log" for axes in figure.axes)
    names = {text.get_text() for text in figure.legends[0].get_texts()}
    assert names == {"GCN", "GCN + CL", "GraphSAGE", "TK", "TK + CL", "ICA", "GNN, all labels†", "my_own"}
    said = figure.texts[0].get_text()
    assert "stands in for the paper's Facebook" in said
    assert "†" in said


def test_reliability_pools_what_was_run_both_ways(tiny_trials: pd.DataFrame) -> None:
    figure = figures.reliability(tiny_trials)
    assert figure is not None
    cora, friendster = figure.axes
    assert (cora.get_title(), friendster.get_title()) == ("Cora", "Friendster")
    _, plain, boosted = cora.lines
    assert plain.get_xdata() == pytest.approx([0.4, 0.9])
    assert plain.get_ydata() == pytest.approx([0.2, 0.7])
    assert boosted.get_ydata() == pytest.approx([0.4, 0.9])
    assert cora.texts[0].get_text() == "calibration error in %\nplain: 20.0\nboosted: 0.0"


def test_bins_count_by_their_nodes() -> None:
    one = {"confidence": [0.2, None], "accuracy": [0.0, None], "count": [10, 0]}
    other = {"confidence": [0.4, 0.8], "accuracy": [1.0, 0.5], "count": [30, 4]}
    found = pooled([one, other, None])
    assert found == {"confidence": [0.35, 0.8], "accuracy": [0.75, 0.5], "count": [40, 4]}
    assert pooled([None, {}]) is None


def test_write_gives_the_same_files(tiny_trials: pd.DataFrame, tmp_path: Path) -> None:
    paths = figures.write(tmp_path / "a", tiny_trials)
    again = figures.write(tmp_path / "b", tiny_trials)
    names = ["gains", "learning-curves", "by-iteration", "time-against-accuracy", "reliability"]
    assert [path.name for path in paths] == [f"{name}.svg" for name in names]
    for path, other in zip(paths, again, strict=True):
        assert path.read_bytes() == other.read_bytes()
        assert b"<dc:date>" not in path.read_bytes()


def test_no_trials(tiny_trials: pd.DataFrame, tmp_path: Path) -> None:
    assert figures.figures(tiny_trials.assign(status="failed")) == {}
    assert figures.write(tmp_path, tiny_trials.assign(status="failed")) == []
    plain = tiny_trials[tiny_trials["method"] == "ica"].assign(reliability=None, seconds=None)
    assert figures.figures(plain) == {}


def test_without_matplotlib(tiny_trials: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ValueError, match=r'pip install "clgnn\[plot\]"'):
        figures.figures(tiny_trials)
