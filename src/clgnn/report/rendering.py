"""A table of results, and the ways to write it: for a terminal, as Markdown, CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

MISSING = "–"
"""The text of a cell that there are no trials for."""


@dataclass(frozen=True)
class Cell:
    """A cell as it is read: bold for a significant gain or loss, with a star for the best of its column."""

    text: str
    bold: bool = False
    star: bool = False


@dataclass(frozen=True)
class Row:
    """A line of a table.

    Attributes:
        label: the name of the row.
        cells: its numbers, one for each column.
        published: whether the numbers are the paper's, which stand under ours.
        section: whether a new group of rows begins.
    """

    label: str
    cells: tuple[Cell, ...]
    published: bool = False
    section: bool = False


@dataclass(frozen=True)
class ResultTable:
    """A table, ready for any of the renderers.

    Attributes:
        name: the name of its files.
        title: one line above the table.
        stub: what the two levels of the header mean.
        columns: the header of each column, in two levels.
        rows: ours, the published ones directly under them.
        notes: lines below the table.
        data: every number, one row per cell; what :func:`to_csv` writes.
    """

    name: str
    title: str
    stub: tuple[str, str]
    columns: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    data: pd.DataFrame = field(compare=False, repr=False)


def to_rich(table: ResultTable) -> Table:
    """The table for a terminal, with the published numbers dim. :func:`parts` makes a wide one fit."""
    made = Table(
        title=Text(table.title, "bold"),
        caption=Text("\n".join(["", *table.notes]) if table.notes else "", "dim"),
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    made.add_column(Text("\n".join(table.stub), "dim"), no_wrap=True)
    before = None
    for group, column in table.columns:
        made.add_column(
            Text(f"{group if group != before else ''}\n{column}"), justify="right", overflow="fold"
        )
        before = group
    for row in table.rows:
        if row.section:
            made.add_section()
        texts = [Text(cell.text + "*" * cell.star, "bold" if cell.bold else "") for cell in row.cells]
        label = Text(f"  {row.label}" if row.published else row.label)
        made.add_row(label, *texts, style="dim" if row.published else "")
    return made


def parts(table: ResultTable, width: int) -> list[ResultTable]:
    """The table in as many parts as it takes to fit in ``width`` characters.

    A group of columns is never divided; one that does not fit is a part of its own. The last part has the
    notes.
    """
    label = max(map(len, [*table.stub, *(f"  {row.label}" for row in table.rows)]))
    widths = [max(map(len, header)) for header in table.columns]
    for row in table.rows:
        widths = [max(w, len(cell.text) + cell.star) for w, cell in zip(widths, row.cells, strict=True)]
    chunks: list[list[int]] = []
    for _, group in groupby(range(len(widths)), key=lambda i: table.columns[i][0]):
        columns = list(group)
        if chunks and label + sum(widths[i] + 2 for i in chunks[-1] + columns) <= width:
            chunks[-1] += columns
        else:
            chunks.append(columns)
    made = []
    for chunk in chunks:
        rows = (replace(row, cells=tuple(row.cells[i] for i in chunk)) for row in table.rows)
        rows = (row for row in rows if any(cell.text != MISSING for cell in row.cells))
        made.append(
            replace(table, columns=tuple(table.columns[i] for i in chunk), rows=tuple(rows), notes=())
        )
    made[-1] = replace(made[-1], notes=table.notes)
    return made


def to_markdown(table: ResultTable) -> str:
    """The table as Markdown, with the two levels of its header in one."""
    head = [_plain(" / ".join(part for part in table.stub if part))]
    head += [_plain(f"{group}, {column}") for group, column in table.columns]
    lines = [f"### {_plain(table.title)}", "", _pipes(head), _pipes(["---"] + ["---:"] * len(table.columns))]
    for row in table.rows:
        texts = [_plain(cell.text) for cell in row.cells]
        texts = [f"**{text}**" if cell.bold else text for text, cell in zip(texts, row.cells, strict=True)]
        texts = [text + r"\*" * cell.star for text, cell in zip(texts, row.cells, strict=True)]
        label = _plain(row.label)
        lines.append(_pipes([f"*{label}*" if row.published else label, *texts]))
    return "\n".join([*lines, "", *(f"- {_plain(note)}" for note in table.notes)]) + "\n"


def to_csv(table: ResultTable) -> str:
    """All numbers of the table as CSV, with more digits than it shows."""
    return table.data.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def to_latex(table: ResultTable) -> str:
    r"""The table as LaTeX, which needs ``\usepackage{booktabs}``."""
    groups = [(name, len(list(part))) for name, part in groupby(group for group, _ in table.columns)]
    starts = [2 + sum(width for _, width in groups[:i]) for i in range(len(groups))]
    rules = (rf"\cmidrule(lr){{{a}-{a + width - 1}}}" for a, (_, width) in zip(starts, groups, strict=True))
    size = r"\scriptsize\setlength{\tabcolsep}{2pt}" if len(table.columns) > 6 else r"\small"
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table*}",
        r"\centering",
        rf"\caption{{{_tex(table.title)}}}",
        size,
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        _ands([_tex(table.stub[0]), *(rf"\multicolumn{{{w}}}{{c}}{{{_tex(name)}}}" for name, w in groups)]),
        " ".join(rules),
        _ands([_tex(table.stub[1]), *(_tex(column) for _, column in table.columns)]),
        r"\midrule",
    ]
    for row in table.rows:
        texts = [_tex(cell.text) for cell in row.cells]
        texts = [
            rf"\textbf{{{text}}}" if cell.bold else text for text, cell in zip(texts, row.cells, strict=True)
        ]
        star = r"\makebox[0pt][l]{$^{*}$}"
        texts = [text + star * cell.star for text, cell in zip(texts, row.cells, strict=True)]
        label = rf"\quad\textit{{{_tex(row.label)}}}" if row.published else _tex(row.label)
        lines += [r"\addlinespace"] * row.section + [_ands([label, *texts])]
    lines += [r"\bottomrule", r"\end{tabular}", r"\par\medskip\raggedright"]
    lines += [rf"{_tex(note)}\par" for note in table.notes]
    return "\n".join([*lines, r"\end{table*}"]) + "\n"


def _pipes(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _ands(texts: Iterable[str]) -> str:
    return rf"{' & '.join(texts)} \\"


def _plain(text: str) -> str:
    """Escapes a text for Markdown."""
    return "".join(rf"\{c}" if c in r"\`*_{}[]<>#|" else c for c in text)


_TEX = str.maketrans(
    {
        **{c: rf"\{c}" for c in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "[": "{[}",  # \\ and \addlinespace would take what follows them for an option
        "*": "{*}",
        "<": "$<$",
        ">": "$>$",
        "–": "--",
        "†": r"$^{\dagger}$",
    }
)


def _tex(text: str) -> str:
    """Escapes a text for LaTeX; a minus before a number becomes a minus sign."""
    if text[:1] == "-" and text[1:2].isdigit():
        return f"$-${text[1:].translate(_TEX)}"
    return text.translate(_TEX)
