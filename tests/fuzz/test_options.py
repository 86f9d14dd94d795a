"""Options of every command: values at the edge of what is allowed, beyond it, and of another kind."""

import os
import re
from pathlib import Path

import click
import pytest
from hypothesis import strategies as st

from clgnn.cli import main
from clgnn.experiments.ledger import Ledger
from helpers.fuzzing import QUICK, RUNS, TABLES, check, row, tables

COMMANDS = {name: command for name, command in main.commands.items() if not isinstance(command, click.Group)}
COMMANDS |= {f"{name} {inner}": one for name, group in main.commands.items() if isinstance(group, click.Group)
             for inner, one in group.commands.items()}  # fmt: skip
TRAINS = {"fit", "compare", "tune", "run", "reproduce"}
SLOW = {"compare", "tune", "run", "reproduce"}
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
OUTSIDE = {"folder", "report_path", "memory"}


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


RIGHT = {
    "nodes": ["nodes.csv"], "edges": ["edges.csv"], "graph": ["graph"], "model": ["model"], "node": ["n3", "n11"],
    "explained": ["n3"], "label": ["colour"], "id_column": ["id"], "source": ["source"], "target": ["target"],
    "weight": ["weight"], "split": ["part"], "columns": ["part"], "ignore": ["size", "shape", "part"],
    "categorical": ["shape", "size", "part"], "numeric": ["size"], "features": ["size", "shape"],
    "edge_features": ["weight"], "edge_type": ["kind"], "delimiter": [","], "encoding": ["utf-8", "latin-1", "utf-8-sig"],
    "blank": ["", "?", "round"], "gnn": ["gcn", "sage", "gin"], "gnn_name": ["gcn"], "device": ["cpu", "auto"],
    "metric": ["accuracy", "macro_f1", "f1:red", "accuracy@0.5"], "threshold": ["accuracy", "f1:red"],
    "config": ["settings.toml"], "neighbors": ["3", "2,2"], "start_predictions": ["start.csv"], "root": ["data"],
    "name": ["digits", "citations", "cora"], "names": ["digits"], "results": ["done", "done/trials.csv"],
    "experiment": ["main", "all", "running-time"], "path": ["new.png", "new.svg"], "report_path": ["new.html"],
}  # fmt: skip
"""What goes with the tables of the room, by the name of the parameter."""
NEEDS = {
    "fit": ["nodes", "edges", "label", "out"], "prepare": ["nodes", "edges", "label", "out"],
    "compare": ["nodes", "edges", "label", "out"], "tune": ["nodes", "edges", "label", "out"],
    "schema": ["nodes", "edges", "label"], "predict": ["nodes", "edges", "model", "out"],
    "evaluate": ["nodes", "edges", "model", "label"], "explain": ["nodes", "edges", "model", "node"],
    "report": ["out"], "reproduce": ["out"], "datasets export": ["nodes", "edges"],
}  # fmt: skip
OUT = {
    ("predict", "out"): ["new.csv", "new.parquet"], ("report", "out"): ["new.html"], ("evaluate", "nodes"): ["others.csv"],
    ("evaluate", "edges"): ["links.csv"], ("datasets export", "nodes"): ["new.csv", "new.parquet"],
    ("datasets export", "edges"): ["links.parquet", "new2.csv"], ("datasets export", "graph"): ["new"],
}  # fmt: skip
QUICKLY = {
    "compare": ["--methods", "majority,random", "--splits", "1"], "tune": ["--trials", "1"], "run": ["--splits", "1"],
    "reproduce": ["--quick", "--trials", "1", "--methods", "random", "--datasets", "cora"],
}  # fmt: skip


def right(name, parameter):
    """What could be right for a parameter of a command."""
    if (name, parameter.name) in OUT:
        return st.sampled_from(OUT[name, parameter.name])
    if parameter.name == "out":
        return st.just("new")
    if parameter.name in RIGHT:
        return st.sampled_from(RIGHT[parameter.name])
    if isinstance(parameter.type, click.Choice):
        return st.sampled_from([str(choice) for choice in parameter.type.choices])
    if isinstance(parameter.type, click.types.FloatRange):
        return st.floats(max(parameter.type.min or 0, 0.125), parameter.type.max or 3).map(str)
    return st.integers(1, 3).map(str)


def written(draw, parameter, value):
    """An option as it stands on the command line."""
    if isinstance(parameter, click.Argument):
        return [value]
    flag = draw(st.sampled_from([*parameter.opts, *parameter.secondary_opts]))
    return [flag] if parameter.is_flag else [flag, value]


@st.composite
def calls(draw):
    """A command with options: what it needs and some more, mostly right, and none, one or a few wrong.

    What takes seconds is mostly wrong, so that it ends before the work begins.
    """
    slow = draw(st.integers(0, 9)) == 7  # 0 would be drawn more often
    name = draw(st.sampled_from(sorted(SLOW if slow else COMMANDS.keys() - SLOW - {"theory"})))
    if draw(st.integers(0, 299)) == 177:
        name = "theory"
    command = COMMANDS[name]
    needs = NEEDS.get(name, [])
    usual = [one for one in command.params if one.name in needs or isinstance(one, click.Argument)]
    free = [one for one in command.params if isinstance(one, click.Option) and one.name not in needs]
    free = [one for one in free if one.name not in (LEFT_OUT if name in TRAINS else OUTSIDE)]
    more = draw(st.lists(st.sampled_from(free), max_size=3)) if free else []
    wrong = draw(st.sampled_from([1, 1, 1, 2] if slow and draw(st.integers(0, 19)) else [0, 0, 0, 1, 1, 2]))
    chosen = [*usual, *more]
    odd = draw(st.lists(st.integers(0, len(chosen) - 1), min_size=wrong, max_size=wrong)) if chosen else []
    given = name.split()
    for place, parameter in enumerate(chosen):
        if place in odd and parameter in usual and draw(st.booleans()):
            continue  # it is left out
        fitting = value(parameter) if place in odd else right(name, parameter)
        given += written(draw, parameter, draw(fitting))
    if draw(st.integers(0, 30)) == 0:
        given += draw(st.lists(WORDS, max_size=2))
    if name in TRAINS - {"reproduce"}:
        given += QUICK
    return given + QUICKLY.get(name, [])


def no_network(*_, **__):
    raise OSError("there is no network here")


def furnish(room):
    """A room with tables, settings, predictions, a model, a prepared graph and results."""
    place = room.clean()
    tables(place)
    edges = (place / "edges.csv").read_text().splitlines()
    rows = [f"{row},{1 + i % 3},{'ab'[i % 2]}" for i, row in enumerate(edges[1:])]
    (place / "edges.csv").write_text("\n".join([f"{edges[0]},weight,kind", *rows]) + "\n")
    for name, other in (("nodes.csv", "others.csv"), ("edges.csv", "links.csv")):
        (place / other).write_text(re.sub(r"\bn(\d)", r"m\1", (place / name).read_text()))
    (place / "settings.toml").write_text('lr = 0.02\ngnn = "gcn"\n')
    (place / "start.csv").write_text("id,p(green),p(red)\n" + "".join(f"n{i},0.5,0.5\n" for i in range(12)))
    learned = [*TABLES, "--label", "colour", "--ignore", "part"]
    assert room.run("fit", *learned, "--out", "model", *QUICK, outputs=["model"]) == "answered"
    assert room.run("prepare", *learned, "--out", "graph", outputs=["graph"]) == "answered"
    ledger = Ledger(place / "done")
    for trial, method in enumerate(["gcn", "gcn+cl"]):
        ledger.write(row(f"{trial}abc", ("cora", 85, 0, method), trial))
    ledger.export(place / "done" / "trials.csv")
    room.keep()


@pytest.mark.parametrize("number", RUNS)
def test_options(room, number, monkeypatch):
    monkeypatch.setenv("CLGNN_DATA", str(room.root.parent / "data"))
    monkeypatch.setenv("CLGNN_CACHE", str(room.root.parent / "cache"))
    monkeypatch.setattr("pooch.retrieve", no_network)
    monkeypatch.setattr("clgnn.estimators.explanation.EPOCHS", 3)
    furnish(room)

    def options(case):
        room.restore()
        named = [Path(word) for word in case if word.strip("./") and not Path(word).is_absolute()]
        allowed = [word for word in named if "--force" in case or not os.path.lexists(word)]
        allowed += [word.with_name(f"{word.name}.partial") for word in allowed]
        codes = (0, 1, 2) if case[0] in ("reproduce", "compare", "theory") else (0, 2)
        return room.run(
            *case, outputs=[*allowed, "results", "comparison", "tuning", "report.html"], codes=codes
        )

    check(options, calls(), number)
