"""``clgnn tune``, and settings from a file."""

import json

import pytest

from clgnn.estimators.persistence import read
from helpers.commands import FIT, TABLES, call, refused

pytest.importorskip("optuna")
TUNE = ["tune", *TABLES, "--label", "colour", "--ignore", "truth", "--ignore", "size", "--ignore", "part",
        "--epochs", "5", "--iteration-epochs", "4", "--samples", "2", "--iterations", "1", "--quiet"]  # fmt: skip


def test_fit_takes_what_was_found(files):
    found = json.loads(call(*TUNE, "--trials", "2", "--out", "t", "--json"))
    assert found["trials"] == 2
    assert found["settings"]["max_epochs"] == 5
    call(*FIT[: FIT.index("--epochs")], "--config", "t/settings.toml", "--ignore", "part", "--lr", "0.5",
         "--out", "m", "--quiet")  # fmt: skip
    kept = read("m")["parameters"]
    assert kept["hidden_channels"] == found["settings"]["hidden_channels"]
    assert kept["gnn"] == found["settings"]["gnn"]
    assert kept["lr"] == 0.5, "what is given on the command line counts"
    for name in ("report.html", "trials.csv", "settings.toml"):
        assert (files / "t" / name).stat().st_size > 0
    said = " ".join(call(*TUNE, "--trials", "2", "--out", "t").split())
    assert "Validation accuracy" in said
    assert "clgnn fit --config t/settings.toml" in said


def test_the_plain_gnn(files):
    found = json.loads(call(*TUNE, "--trials", "1", "--plain", "--out", "t", "--json"))
    assert found["settings"]["num_iterations"] == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lr == 3", "is no TOML"),
        ("colour = 3", "sets 'colour', which is no setting"),
        ("lr = -1", "--lr is -1"),
    ],
)
def test_a_wrong_file_of_settings_is_refused(files, text, said):
    (files / "mine.toml").write_text(text)
    assert said in refused(*FIT, "--ignore", "part", "--config", "mine.toml", "--out", "m")


def test_another_search_is_not_written_over(files):
    call(*TUNE, "--trials", "1", "--out", "t")
    assert "holds another search" in refused(*TUNE, "--trials", "1", "--lr", "0.5", "--out", "t")
