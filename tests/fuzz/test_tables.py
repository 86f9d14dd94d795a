"""Tables of any kind: encodings, delimiters, types, sizes, ids, weights, empty and huge cells, cut and flipped bytes."""

import bz2
import gzip
import io
import lzma
import zipfile

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from helpers.fuzzing import QUICK, RUNS, check, damaged

TEXT = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["", " ", "NA", "nan", "inf", "-inf", "1e400", "-0", "007", "1.0", "0x1f", "1_000", "1,5", "=1+1",
                     "<b>x</b>", "true", "2024-03-01", "2024-13-45", "9" * 400, "x" * 70_000, "a\nb", 'a"b', "a'b",
                     "\ufeff", "\x00", "\u202e", "None", "[1, 2]", "n1", "red", "train"]),
)  # fmt: skip
NUMBER = st.one_of(
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.floats(0, 1, width=32),
    st.sampled_from([0, 1, 1e308, 2**63, 10**400]),
)
NAMES = ["id", "source", "target", "weight", "colour", "size", "part", "", " id", "Colour", "<i>", "p(x)"]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252", "utf-32", "cp037", "shift_jis"]
PACKERS = {
    "": lambda b: b,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zip": lambda b: packed(b),
}


def packed(content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("table.csv", content)
    return stream.getvalue()


@st.composite
def columns(draw, ids, rows):
    """Columns that a fit could take, and a few that it could not."""
    found = {}
    for name in draw(st.lists(st.sampled_from(NAMES) | st.text(max_size=5), max_size=4, unique=True)):
        kind = draw(st.sampled_from(["text", "number", "mixed", "few", "ids", "blank"]))
        cells = {
            "text": TEXT, "number": NUMBER, "mixed": TEXT | NUMBER, "few": st.sampled_from(["red", "green"]),
            "ids": st.sampled_from(ids), "blank": st.just(""),
        }[kind]  # fmt: skip
        found[name] = draw(st.lists(cells, min_size=rows, max_size=rows))
    return found


def mostly_whole(content):
    return st.integers(0, 9).flatmap(lambda n: damaged(content) if n > 5 and content else st.just(content))


@st.composite
def files(draw, table):
    """A table as a file: its ending and its bytes."""
    kind = draw(st.sampled_from(["csv"] * 6 + ["parquet", "bytes"]))
    if kind == "bytes":
        return draw(st.sampled_from([".csv", ".parquet", ".tsv", ".csv.gz", ".zip", ".json", ""])), draw(
            st.binary(max_size=200)
        )
    if kind == "parquet":
        stream = io.BytesIO()
        try:
            pd.DataFrame(table).to_parquet(stream)
        except (pa.ArrowException, ValueError, OverflowError, TypeError, UnicodeError):
            return ".parquet", b"PAR1"
        return ".parquet", draw(mostly_whole(stream.getvalue()))
    delimiter = draw(st.sampled_from([",", ",", ";", "\t", "|", " "]))
    text = pd.DataFrame(table, dtype=object).to_csv(
        index=False, sep=delimiter, quoting=draw(st.sampled_from([0, 1]))
    )
    content = text.encode(
        draw(st.sampled_from(ENCODINGS)) if draw(st.booleans()) else "utf-8", errors="replace"
    )
    packer = draw(st.sampled_from(["", "", "", "", *PACKERS]))
    ending = draw(st.sampled_from([".csv", ".csv", ".csv", ".tsv"]))
    return ending + packer, draw(mostly_whole(PACKERS[packer](content)))


@st.composite
def good(draw):
    """Tables that a fit takes, but for a few cells, in a file that is read, and options that fit to them."""
    size = draw(st.integers(4, 12))
    ids = draw(
        st.sampled_from([[f"n{i}" for i in range(size)], list(range(size)), [f"0{i}" for i in range(size)]])
    )
    nodes = {"id": list(ids), "colour": (["red", "green", ""] * size)[:size]}
    cells = {
        "size": st.floats(-9, 9),
        "count": st.integers(0, 5),
        "shape": st.sampled_from(["round", "square"]),
    }
    for name in draw(st.lists(st.sampled_from(list(cells)), unique=True)):
        nodes[name] = draw(st.lists(cells[name], min_size=size, max_size=size))
    count = draw(st.integers(0, 15))
    ends = st.lists(st.sampled_from(ids), min_size=count, max_size=count)
    edges = {"source": draw(ends), "target": draw(ends)}
    if draw(st.booleans()):
        edges["weight"] = draw(st.lists(st.floats(0, 9), min_size=count, max_size=count))
    for table in draw(st.lists(st.sampled_from([nodes, edges]), max_size=2)):
        column = table[draw(st.sampled_from(list(table)))]
        if column:
            column[draw(st.integers(0, len(column) - 1))] = draw(TEXT | NUMBER)
    delimiter, encoding = (
        draw(st.sampled_from([",", ";", "\t", "|"])),
        draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])),
    )
    packer = draw(st.sampled_from(list(PACKERS)))
    made = []
    for table in (nodes, edges):
        text = pd.DataFrame(table, dtype=object).to_csv(index=False, sep=delimiter)
        made.append((f".csv{packer}", PACKERS[packer](text.encode(encoding, errors="replace"))))
    return *made, [], draw(st.sampled_from(["schema"] * 12 + ["fit", "prepare"]))


@st.composite
def bad(draw):
    """Tables of which anything may be wrong."""
    size = draw(st.integers(0, 12))
    ids = draw(st.lists(TEXT | st.integers(-5, 20).map(str), min_size=size, max_size=size, unique=True)) or [
        "n0"
    ]
    labels = draw(
        st.lists(st.sampled_from(["red", "green", ""]) | NUMBER, min_size=len(ids), max_size=len(ids))
    )
    nodes = {"id": ids, "colour": labels, **draw(columns(ids, len(ids)))}
    count = draw(st.integers(0, 15))
    ends = st.lists(st.sampled_from(ids) | TEXT, min_size=count, max_size=count)
    edges = {"source": draw(ends), "target": draw(ends), **draw(columns(ids, count))}
    options = []
    for name in draw(st.lists(st.sampled_from(["--ignore", "--categorical", "--numeric", "--date", "--feature", "--blank",
                                               "--split", "--edge-features", "--edge-type", "--weight"]), max_size=3)):  # fmt: skip
        options += [name, draw(st.sampled_from([*nodes, *edges]))]
    if draw(st.integers(0, 5)) == 0:
        options += [
            "--encoding",
            draw(st.sampled_from([*ENCODINGS, "none", "rot13", "hex", "idna", "undefined"])),
        ]
    if draw(st.integers(0, 5)) == 0:
        options += ["--delimiter", draw(st.sampled_from([",", ";", "\t", "ab", "", "\x00", "\n", '"', "é"]))]
    return (
        draw(files(nodes)),
        draw(files(edges)),
        options,
        draw(st.sampled_from(["schema"] * 12 + ["fit", "prepare"])),
    )


@pytest.mark.parametrize("number", RUNS)
def test_tables(room, number):
    def tables(case):
        (of_nodes, nodes), (of_edges, edges), options, command = case
        place = room.clean()
        (place / f"nodes{of_nodes}").write_bytes(nodes)
        (place / f"edges{of_edges}").write_bytes(edges)
        more = {"schema": [], "fit": ["--out", "out", *QUICK], "prepare": ["--out", "out"]}[command]
        arguments = ["--nodes", f"nodes{of_nodes}", "--edges", f"edges{of_edges}", "--label", "colour"]
        return room.run(command, *arguments, *options, *more, outputs=["out", "out.partial"] if more else [])

    check(tables, good() | bad(), number)
