"""Options of every command: values at the edge of what is allowed, beyond it, and of another kind."""

import os
from pathlib import Path

import click
import pytest
from hypothesis import strategies as st

from clgnn.cli import main
from helpers.fuzzing import QUICK, RUNS, TABLES, check, tables

COMMANDS = {name: command for name, command in main.commands.items() if not isinstance(command, click.Group)}
COMMANDS |= {f"{name} {inner}": one for name, group in main.commands.items() if isinstance(group, click.Group)
             for inner, one in group.commands.items()}  # fmt: skip
TRAINS = {"fit", "compare", "tune", "run", "reproduce"}
SLOW = {"compare", "tune", "run", "reproduce", "theory"}
WORDS = st.sampled_from(
    ["", " ", "0", "1", "-1", "2", "0.5", "1e-300", "1e400", "nan", "inf", "-0", "99999999999999999999", "id", "colour", "size",
     "shape", "part", "n1", "nodes.csv", "edges.csv", "model", "graph", "nowhere", "nowhere/at/all", ".", "..", "/proc/x", "new.csv",
     "new.html", "new.parquet", "new", "gcn", "sage", "auto", "cpu", "cuda:9", "meta", "accuracy", "f1:red", "f1:", "accuracy@x",
     "accuracy@0.5", "roc_auc", "rmse", "majority", "gcn,gcn+cl", ",", "a=b", "=", "a:b:c=edges.csv", "math:pi", "os:getcwd", ":",
     "x" * 300, "é", "\u202e", "[bold]", "<script>", "--json", "-", "%s", "{0}", "latin-1", "utf-16", "5,5", "10,-1", "all"]
)  # fmt: skip
NUMBERS = st.one_of(
    st.integers(-2, 5).map(str), st.floats(-0.5, 1.5).map(str), st.sampled_from(["0", "1", "0.5"])
)
# what would write outside of the room, start processes or workers, or take minutes
LEFT_OUT = {"processes", "jobs", "backend", "address", "memory", "folder", "out", "report_path", "num_trials", "number", "threads",
            "hidden_channels", "max_epochs", "iteration_epochs", "num_samples", "num_layers", "num_iterations", "num_masks",
            "num_splits", "methods", "only", "exported", "method", "start", "preset", "tune"}  # fmt: skip


def value(parameter):
    """What a user could give for an option: mostly what its type allows."""
    kind = parameter.type
    if isinstance(kind, click.Choice):
        return st.sampled_from([str(choice) for choice in kind.choices]) | WORDS
    if isinstance(kind, click.types.IntRange | click.types.FloatRange):
        low, high = kind.min or 0, kind.max if kind.max is not None else (kind.min or 0) + 3
        right = st.integers(low, high) if isinstance(kind, click.IntRange) else st.floats(low, high)
        return right.map(str) | NUMBERS | WORDS
    return WORDS | st.text(
        alphabet=st.characters(blacklist_characters="\x00", blacklist_categories=("Cs",)), max_size=6
    )


@st.composite
def calls(draw):
    """A command with options: those that it needs, those that keep it short, and some at random."""
    name = draw(st.sampled_from(sorted(COMMANDS)))
    command = COMMANDS[name]
    given = [*name.split()]
    wants = {option for parameter in command.params for option in parameter.opts}
    if "--nodes" in wants and draw(st.integers(0, 9)):
        given += TABLES
    if "--label" in wants and draw(st.booleans()):
        given += ["--label", "colour", *(["--ignore", "part"] if "--ignore" in wants else [])]
    if "--model" in wants and name not in ("schema", "prepare") and draw(st.integers(0, 9)):
        given += ["--model", "model"]
    if "--out" in wants and draw(st.integers(0, 9)):
        given += [
            "--out",
            draw(st.sampled_from(["new", "new.csv", "new.html", "model", "nodes.csv", "/proc/x"])),
        ]
    if "--node" in wants and draw(st.booleans()):
        given += ["--node", "n3"]
    for parameter in command.params:
        if isinstance(parameter, click.Argument) and draw(st.integers(0, 5)):
            given.append(draw(value(parameter)))
    free = [
        one
        for one in command.params
        if isinstance(one, click.Option) and (one.name not in LEFT_OUT or name not in TRAINS)
    ]
    free = [one for one in free if one.name not in ("out", "folder", "report_path", "memory")]
    for parameter in draw(st.lists(st.sampled_from(free), max_size=4)) if free else []:
        given.append(draw(st.sampled_from([*parameter.opts, *parameter.secondary_opts])))
        if not parameter.is_flag:
            given.append(draw(value(parameter)))
    if name in SLOW and draw(st.integers(0, 40)):  # most end before the work begins
        parameter = draw(
            st.sampled_from(
                [one for one in command.params if isinstance(one, click.Option) and not one.is_flag]
            )
        )
        given += [
            parameter.opts[0],
            draw(st.sampled_from(["", "nowhere", "-7", "x,y", "/proc/none/x", "1e999"])),
        ]
    if draw(st.integers(0, 20)) == 0:
        given += draw(st.lists(WORDS, max_size=2))
    if name in TRAINS - {"reproduce"}:
        given += QUICK
    given += {"compare": ["--methods", "majority,random", "--splits", "1"], "tune": ["--trials", "1"], "run": ["--splits", "1"],
              "reproduce": ["--quick", "--trials", "1", "--methods", "random", "--datasets", "cora"],
              "theory": ["--quick"] if "--quick" in wants else []}.get(name, [])  # fmt: skip
    return given


def no_network(*_, **__):
    raise OSError("there is no network here")


@pytest.mark.parametrize("number", RUNS)
def test_options(room, number, monkeypatch):
    monkeypatch.setenv("CLGNN_DATA", str(room.root.parent / "data"))
    monkeypatch.setenv("CLGNN_CACHE", str(room.root.parent / "cache"))
    monkeypatch.setattr("pooch.retrieve", no_network)
    tables(room.clean())
    room.run(
        "fit", *TABLES, "--label", "colour", "--ignore", "part", "--out", "model", *QUICK, outputs=["model"]
    )
    room.keep()

    def options(case):
        room.restore()
        named = [Path(word) for word in case if word.strip(". /") and not Path(word).is_absolute()]
        allowed = [word for word in named if "--force" in case or not os.path.lexists(word)]
        allowed += [word.with_name(f"{word.name}.partial") for word in allowed]
        codes = (0, 1, 2) if case[0] in ("reproduce", "compare", "theory") else (0, 2)
        return room.run(
            *case, outputs=[*allowed, "results", "comparison", "tuning", "report.html"], codes=codes
        )

    check(options, calls(), number)
