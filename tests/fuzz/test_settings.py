"""Settings in TOML files: of a fit, and of the paper's experiments."""

import json

import pytest
import torch
from hypothesis import strategies as st

from clgnn.estimators.settings import CollectiveSettings
from clgnn.experiments.plan import config_text
from helpers.fuzzing import QUICK, RUNS, TABLES, check, tables

KNOWN = sorted(vars(CollectiveSettings()))
NAMES = st.sampled_from(KNOWN) | st.text("abcdefgh_-.\"' é[]=#\n", max_size=6)
VALUES = st.one_of(
    st.integers(-2, 4).map(str),
    st.floats().map(str),
    st.sampled_from(["true", "false", '"gcn"', '"sage"', '"auto"', '"plain"', '"paper"', '"none"', '"partial"', '"cpu"', '"all"', '"adam"',
                     '"nobody"', '""', "[]", "[1, 2]", '["plain", "majority"]', "{}", "{a = 1}", "2024-01-01", "07:30:00", "1979-05-27T07:32:00Z",
                     "inf", "nan", "-0.0", "0x10", "1_000", '"""x"""', "'", '"', "10000000000000000000000", '"f1:red"', '"accuracy"', '"os:getcwd"']),
)  # fmt: skip


USUAL = {name: value for name, value in vars(CollectiveSettings()).items() if value is not None}
NEAR = {
    bool: st.sampled_from(["true", "false"]), int: st.integers(0, 3).map(str), float: st.floats(0, 1).map(str),
    str: st.sampled_from(['"gcn"', '"plain"', '"none"', '"partial"', '"sampled"', '"soft"', '"all"', '"iid"', '"adam"', '"auto"', '"cpu"', '"macro_f1"']),
}  # fmt: skip


@st.composite
def near(draw):
    """Lines that could be right: settings that there are, with values of their type."""
    lines = []
    for name in draw(st.lists(st.sampled_from(sorted(USUAL)), min_size=1, max_size=3, unique=True)):
        usual = json.dumps(USUAL[name])
        lines.append(f"{name} = {draw(st.just(usual) | st.just(usual) | NEAR[type(USUAL[name])])}")
    return "\n".join(lines).encode()


@st.composite
def far(draw):
    kind = draw(st.sampled_from(["lines"] * 8 + ["bytes", "plan", "nested", "table"]))
    if kind == "bytes":
        return draw(st.binary(max_size=60))
    if kind == "nested":
        depth = draw(st.integers(1, 2000))
        return b"lr = " + b"[" * depth + b"]" * draw(st.sampled_from([depth, 0]))
    if kind == "plan":
        text = config_text().encode()
        at = draw(st.integers(0, len(text)))
        return text[:at] + draw(st.binary(max_size=3)) + text[at + draw(st.integers(0, 40)) :]
    lines = [f"{draw(NAMES)} = {draw(VALUES)}" for _ in range(draw(st.integers(0, 3)))]
    if kind == "table":
        lines.insert(
            draw(st.integers(0, len(lines))),
            draw(st.sampled_from(["[a]", "[[cells]]", "[grid]", "[", "[[", "[lr]", "[a.b.c]"])),
        )
    return "\n".join(lines).encode()


@pytest.mark.parametrize("number", RUNS)
def test_settings(room, number):
    tables(room.clean())
    room.keep()
    fit = [
        "fit",
        *TABLES,
        "--label",
        "colour",
        "--ignore",
        "part",
        "--out",
        "out",
        *QUICK[:-1],
        "--layers",
        "2",
        "--masks",
        "1",
        "--quiet",
    ]
    reproduce = ["reproduce", "main", "--datasets", "nowhere", "--out", "out", "--quiet"]

    def settings(case):
        content, command = case
        room.restore()
        (room.place / "settings.toml").write_bytes(content)
        torch.set_num_threads(1)
        return room.run(*command, "--config", "settings.toml", outputs=["out", "out.partial"])

    check(settings, st.tuples(near() | far(), st.sampled_from([fit, fit, fit, reproduce])), number)
