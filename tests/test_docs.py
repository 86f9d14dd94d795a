"""The documentation says what is so: its Python runs, its commands exist, its links lead somewhere."""

import importlib
import re
import shlex
import textwrap
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from clgnn import baselines
from clgnn.cli import main
from clgnn.data.datasets import is_here
from clgnn.estimators.collective import CollectiveClassifier, CollectiveRegressor
from clgnn.estimators.multilabel import CollectiveMultiLabelClassifier

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/api").glob("*.md")])
FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
OUTPUT = {"text", "toml", "json", "csv", "bibtex"}
NEEDS_CORA = {"datasets.md", "rivals.md"}


def blocks(page, language):
    """The fenced blocks of a page, without their indentation; those inside of lists too."""
    return [
        textwrap.dedent(body) for _, said, body in FENCE.findall(page.read_text()) if said.strip() == language
    ]


def commands(page):
    """The calls of clgnn in a page, as words: continued lines are joined, comments and other programs are not."""
    lines = "\n".join(blocks(page, "bash")).replace("\\\n", " ").splitlines()
    parts = [part for line in lines for part in re.split(r"&&|\|", line)]
    calls = [shlex.split(part, comments=True) for part in parts]
    return [call[1:] for call in calls if call[:1] == ["clgnn"]]


def with_blocks(language):
    return [pytest.param(page, id=page.name) for page in PAGES if blocks(page, language)]


def parse(words):
    """What click makes of the words of a command, without running it: (command, options)."""
    command, context = main, click.Context(main, info_name="clgnn")
    while isinstance(command, click.Group) and words and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
        context = click.Context(command, info_name=command.name, parent=context)
    options, left, _ = command.make_parser(context).parse_args(list(words))
    assert not left, f"{command.name} does not take {left}"
    for parameter in command.get_params(context):
        if isinstance(parameter.type, click.Choice) and options.get(parameter.name) is not None:
            values = options[parameter.name]
            for value in values if isinstance(values, list) else [values]:
                parameter.type.convert(value, parameter, context)
    return command, options


@pytest.fixture
def short(monkeypatch):
    """Fits have few epochs, unless a page says how many."""
    for kind in (CollectiveClassifier, CollectiveRegressor, CollectiveMultiLabelClassifier):
        code = kind.__init__.__code__
        names = code.co_varnames[1 : code.co_argcount]
        changed = {"max_epochs": 4, "patience": 4}
        defaults = [
            changed.get(name, value) for name, value in zip(names, kind.__init__.__defaults__, strict=True)
        ]
        monkeypatch.setattr(kind.__init__, "__defaults__", tuple(defaults))
    assert CollectiveClassifier().max_epochs == 4


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The tables of the guide, in the folder where we are: 120 people with a topic, known for a half."""
    random = np.random.default_rng(0)
    topic = random.integers(0, 3, 120)
    truth = np.array(["art", "math", "music"])[topic]
    known = random.random(120) < 0.5
    people = pd.DataFrame(
        {
            "id": [f"{i:03}" for i in range(120)],
            "age": (random.normal(30, 10, 120) + 10 * topic).round(1),
            "city": random.choice(["Oslo", "Rome", "Bern"], 120),
            "joined": pd.to_datetime("2021-01-01") + pd.to_timedelta(random.integers(0, 900, 120), "D"),
            "topic": np.where(known, truth, None),
            "truth": truth,
        }
    )
    people.to_csv(tmp_path / "nodes.csv", index=False)
    part = random.choice(["train", "val", "test", "observed"], 120)
    people.drop(columns="topic").assign(part=part).to_csv(tmp_path / "split.csv", index=False)
    source, target = random.integers(0, 120, (2, 1500))
    kept = random.random(1500) < np.where(topic[source] == topic[target], 0.4, 0.05)
    edges = pd.DataFrame(
        {"source": people["id"].to_numpy()[source], "target": people["id"].to_numpy()[target]}
    )
    edges[kept].to_csv(tmp_path / "edges.csv", index=False)
    monkeypatch.chdir(tmp_path)
    tables = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "topic", "--ignore", "truth"]
    prepared = CliRunner().invoke(main, ["prepare", *tables, "--date", "joined", "--out", "graph.clg"])
    assert prepared.exit_code == 0, prepared.output
    return tmp_path


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])
def test_every_block_is_run_or_marked_as_output(page):
    languages = {said.strip() for _, said, _ in FENCE.findall(page.read_text())}
    directives = {said for said in languages if said.startswith("{")}
    assert languages - directives <= {"python", "bash"} | OUTPUT


@pytest.mark.parametrize("page", with_blocks("python"))
def test_python_runs(page, short, folder):
    if page.name in NEEDS_CORA and not is_here("cora"):
        pytest.skip("needs Cora's files: set CLGNN_DATA")
    namespace: dict[str, object] = {}
    for number, block in enumerate(blocks(page, "python")):
        exec(compile(block, f"{page.name}, block {number}", "exec"), namespace)


@pytest.mark.parametrize("page", with_blocks("bash"))
def test_commands_exist_with_their_options(page):
    for words in commands(page):
        parse(words)


def test_what_does_not_exist_is_found():
    for words in (["fit", "--nodez", "a.csv"], ["fit", "--test-labels", "some"], ["theory", "nodes.csv"]):
        with pytest.raises((click.UsageError, AssertionError)):
            parse(words)


def test_the_commands_of_the_guide_run_in_their_order(short, folder):
    """Those about nodes.csv and split.csv, up to the explanation; the others need tables of their own."""
    told = [words for words in commands(ROOT / "docs/guide.md") if {"nodes.csv", "split.csv"} & set(words)]
    last = next(number for number, words in enumerate(told) if words[0] == "explain")
    for words in told[: last + 1]:
        done = CliRunner().invoke(main, [*words, "--quiet"] if words[0] != "explain" else words)
        assert done.exit_code == 0, f"{words}: {done.output}"
    assert {"model", "partial", "model-2"} <= {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])
def test_links_lead_to_files(page):
    """Sphinx checks those of the site, with their anchors; pages on GitHub have others."""
    outside = re.sub(FENCE, "", page.read_text())
    for target in re.findall(r"\]\(([^)\s]+)\)", outside):
        if not target.startswith(("http", "#", "gallery/")):  # the gallery is there when the site is built
            assert (page.parent / target.partition("#")[0]).exists(), target


def test_every_rival_is_in_the_reference():
    listed = re.findall(r"auto\w+:: (\w+)", (ROOT / "docs/api/baselines.md").read_text())
    assert sorted(listed) == sorted(set(baselines.__all__) - {"load"})


def test_tutorials_have_a_picture_and_need_no_file():
    for path in (ROOT / "docs/tutorials").glob("*.py"):
        text = path.read_text()
        assert text.startswith('"""\n'), path.name
        assert "plt.show()" in text, path.name
        assert not re.search(r"load\(\"(cora|pubmed|friendster|protein|facebook)", text), path.name


def test_tables_of_results_are_those_of_the_trials(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "figures"))
    results = importlib.import_module("results")
    tables = results.blocks()
    for page in results.PAGES:
        text = page.read_text()
        assert text == results.filled(text, tables), f"run python docs/figures/results.py for {page.name}"
        assert results.filled(text, dict.fromkeys(tables, "")) != text, "no table is filled in"
