import json
import subprocess
import sys
from importlib import import_module

import pytest
from click.testing import CliRunner

from clgnn.cli import main
from clgnn.data import datasets, splits
from clgnn.experiments import run as running
from clgnn.experiments.ledger import Ledger, now
from clgnn.experiments.methods import CELL
from clgnn.experiments.plan import config_text, read_config, trial_of

MODULE = import_module("clgnn.cli.reproduce")  # its name in clgnn.cli is that of the command


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """A small generated graph in place of every dataset."""
    data = datasets.load("citations", num_nodes=300)

    def split(name, train_labels, test_label_percent, trial, data):
        observed = 40 if test_label_percent else 0
        return splits.random(data, 40, observed, test_nodes=100, val_nodes=50, seed=trial)

    monkeypatch.setattr(datasets, "load", lambda name, *rest, **options: data)
    monkeypatch.setattr(running, "_dataset", lambda name: data)
    monkeypatch.setattr(splits, "paper", split)


def call(*arguments):
    return CliRunner().invoke(main, ["reproduce", *map(str, arguments)])


def quick(tmp_path, *arguments):
    out = tmp_path / "results"
    options = ("--quick", "--datasets", "cora", "--methods", "gcn,gcn+cl", "--quiet", "--out", out)
    return out, call("main", *options, *arguments)


def test_it_writes_a_ledger_tables_and_figures(tmp_path):
    out, result = quick(tmp_path)
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1] == "8 of 8 trials are done, 0 failed."
    assert "GCN + CL" in result.output
    assert (out / "tables" / "main.md").exists()
    assert (out / "tables" / "main.tex").exists()
    assert (out / "trials.csv").exists()
    assert (out / "figures" / "gains.svg").exists()
    assert set(Ledger(out).trials()["method"]) == {"gcn", "gcn+cl"}


def test_without_matplotlib_it_names_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    _, result = quick(tmp_path)
    assert result.exit_code == 0, result.output
    assert 'pip install "clgnn[plot]"' in result.output  # square brackets are no markup


def test_the_same_command_again_runs_nothing(tmp_path, monkeypatch):
    quick(tmp_path)
    monkeypatch.setattr(running, "run_trial", lambda *_: pytest.fail("ran again"))
    _, result = quick(tmp_path, "--json")
    assert json.loads(result.output)["done"] == 8
    assert json.loads(result.output)["failed"] == []


def test_more_trials_are_added_to_those_that_are_there(tmp_path):
    out, _ = quick(tmp_path, "--trials", 1)
    before = set(Ledger(out).trials()["finished"])
    _, result = quick(tmp_path, "--trials", 3)
    assert result.exit_code == 0
    trials = Ledger(out).trials()
    assert len(trials) == 12
    assert before <= set(trials["finished"])


def test_when_all_trials_fail_they_are_named_and_it_exits_with_1(tmp_path, monkeypatch):
    def fail(trial, *_):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(running, "run_trial", fail)
    out, result = quick(tmp_path, "--trials", 1)
    assert result.exit_code == 1
    said = " ".join(result.output.split())
    for cell in ("0 %, gcn", "0 %, gcn+cl", "50 %, gcn", "50 %, gcn+cl"):
        assert f"failed: cora 85 labels, {cell}, trial 0: out of luck" in said
    assert result.stdout.splitlines()[-1] == "0 of 4 trials are done, 4 failed."
    assert not (out / "tables").exists()
    _, again = quick(tmp_path, "--trials", 1, "--json")
    assert again.exit_code == 1
    outcome = json.loads(again.stdout)
    assert (outcome["done"], len(outcome["failed"]), outcome["files"]) == (0, 4, [])


def test_one_trial_that_is_done_is_a_success(tmp_path, monkeypatch):
    real = running.run_trial

    def fail(trial, *_):
        if trial.method == "gcn+cl":
            raise RuntimeError("out of luck")
        return real(trial)

    monkeypatch.setattr(running, "run_trial", fail)
    _, result = quick(tmp_path, "--trials", 1)
    assert result.exit_code == 0
    assert "failed: cora 85 labels, 50 %, gcn+cl, trial 0: out of luck" in " ".join(result.output.split())
    assert result.stdout.splitlines()[-1] == "2 of 4 trials are done, 2 failed."


def test_failures_of_an_earlier_run_are_no_progress(tmp_path, monkeypatch):
    class Bar:
        def add_task(self, name, total, completed, detail):
            self.seen = [(completed, detail)]

        def update(self, task, completed, detail):
            self.seen.append((completed, detail))

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            pass

    bar = Bar()
    monkeypatch.setattr(MODULE, "progress_bar", lambda quiet: bar)
    ledger = Ledger(tmp_path)
    trials = [trial_of(("cora", 85, 0, "gcn"), number, read_config()) for number in range(3)]

    def write(trial, status):
        cell = dict(zip(CELL, trial.cell, strict=True))
        ledger.write(
            {
                "key": trial.key,
                **cell,
                "trial": trial.trial,
                "settings": {},
                "status": status,
                "finished": now(),
            }
        )

    write(trials[0], "done")
    write(trials[1], "failed")
    with MODULE.progress(ledger, 1, True, "main", trials):
        pass
    assert bar.seen == [(1, ""), (1, "1 running, 1 left")]
    with MODULE.progress(ledger, 1, True, "main", trials):
        write(trials[1], "failed")
    assert bar.seen == [(1, ""), (2, "1 running, 0 left, 1 failed")]


def test_tuning_writes_what_it_chose_as_a_configuration(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text(config_text().partition("[grid]")[0] + "[grid]\nlr = [0.01, 0.05]\n")
    out, result = quick(tmp_path, "--tune", "--config", mine, "--trials", 1)
    assert result.exit_code == 0, result.output
    assert len(Ledger(out).trials("other")) == 2 * 2 * 2 * 2  # methods, scenarios, rates, splits
    again = call("main", "--quick", "--datasets", "cora", "--methods", "gcn", "--trials", 1, "--quiet",
                 "--out", out, "--config", out / "tuned.toml")  # fmt: skip
    assert again.exit_code == 0, again.output
    rows = Ledger(out).trials()
    assert set(rows["trial"]) == {0}
    assert {row["lr"] for row in rows["settings"]} <= {0.01, 0.05}


def test_a_cell_that_could_not_be_tuned_is_named(tmp_path, monkeypatch):
    real = running.run_trial

    def fail(trial, *_):
        if trial.trial >= 1000 and trial.method == "gcn+cl":
            raise RuntimeError("out of luck")
        return real(trial)

    monkeypatch.setattr(running, "run_trial", fail)
    mine = tmp_path / "mine.toml"
    mine.write_text(config_text().partition("[grid]")[0] + "[grid]\nlr = [0.05]\n")
    _, result = quick(tmp_path, "--tune", "--config", mine, "--trials", 1)
    said = " ".join(result.output.split())
    assert "not tuned: cora 85 labels, 0 %, gcn+cl: out of luck" in said
    assert "not tuned: cora 85 labels, 0 %, gcn:" not in said


def test_the_settings_can_be_printed_to_copy():
    assert call("--print-config").output == config_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "which experiment? One of main, learning-curve"),
        (("main", "--datasets", "coral"), "dataset is 'coral'; expected cora, pubmed"),
        (("main", "--methods", "gnc"), "method is 'gnc'; expected gcn"),
        (("ablation-predicted", "--datasets", "protein"), "has none of these methods on these datasets"),
    ],
)
def test_mistakes_end_in_one_clear_line(tmp_path, arguments, message):
    result = call(*arguments, "--out", tmp_path)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_ray_is_an_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    _, result = quick(tmp_path, "--backend", "ray")
    assert result.exit_code == 2
    assert 'pip install "clgnn[ray]"' in result.output


STARTS = """
import sys
from clgnn.cli import main
for line in sys.stdin:
    try:
        main(line.split())
    except SystemExit as end:
        print("code", end.code)
print("imported", [name for name in sys.argv[1:] if name in sys.modules])
"""


def test_help_and_mistakes_import_nothing_heavy():
    helps = ["run --help", "reproduce --help", "report --help", "theory --help", "datasets get --help"]
    mistakes = [
        "run --nope",
        "run --method nope",
        "reproduce mian",
        "report",
        "theory --seed one",
        "datasets info",
    ]
    heavy = ["torch", "torch_geometric", "pandas", "sklearn", "scipy", "numpy"]
    done = subprocess.run(
        [sys.executable, "-c", STARTS, *heavy],
        input="\n".join(helps + mistakes),
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    codes = [line for line in lines if line.startswith("code")]
    assert codes == ["code 0"] * len(helps) + ["code 2"] * len(mistakes), done.stderr
    assert lines[-1] == "imported []"
