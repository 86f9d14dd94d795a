"""Files in every spelling, read alike; and files that can't be read, with what to do."""

import gzip
import zipfile

import pandas as pd
import pytest

from clgnn.data.reading import column, read_table

TABLE = pd.DataFrame(
    {"id": ["01", "02", "03"], "age": [10.5, None, 30.0], "job": ["baker", "Müller; und", None]}
)


def same(table):
    assert table.columns.equals(TABLE.columns)
    assert table.astype(object).where(table.notna(), None).to_dict("list") == {
        name: [None if pd.isna(cell) else cell for cell in TABLE[name]] for name in TABLE
    }


@pytest.mark.parametrize(
    "ending", ["csv", "tsv", "csv.gz", "csv.bz2", "csv.xz", "csv.zip", "CSV", "parquet", "pq"]
)
def test_files_of_every_kind(tmp_path, ending):
    path = tmp_path / f"nodes.2024.{ending}"
    if ending in ("parquet", "pq"):
        TABLE.to_parquet(path)
    else:
        TABLE.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    same(read_table(path, ("id",)))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    TABLE.to_csv(tmp_path / "n.csv", index=False, sep=delimiter)
    same(read_table(tmp_path / "n.csv", ("id",)))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("id;price;note\n1;3,5;it's\n2;4,1;'x', 'y'\n", ["id", "price", "note"]),
        ("id,note\n1,a;b\n2,c;d\n", ["id", "note"]),
        ('"id","a;b"\n1,"x;y"\n2,"z;w"\n', ["id", "a;b"]),
        ("id\n1\n2\n", ["id"]),
        ("\n\nid;x\n1;2\n", ["id", "x"]),
        ("id;x\n" + "1;some, text, with, commas\n" * 5000, ["id", "x"]),  # more than is looked at
    ],
)
def test_other_delimiters_in_the_cells_do_not_count(tmp_path, text, names):
    (tmp_path / "n.csv").write_text(text)
    assert list(read_table(tmp_path / "n.csv").columns) == names


def test_the_delimiter_may_be_named(tmp_path):
    (tmp_path / "n.csv").write_text("id:x\n1:2\n")
    assert read_table(tmp_path / "n.csv", delimiter=":").x.tolist() == [2]
    (tmp_path / "t.csv").write_text("id\tx,y\n1\t2,3\n")
    assert list(read_table(tmp_path / "t.csv", delimiter="\\t").columns) == [
        "id",
        "x,y",
    ]  # as a shell gives it
    with pytest.raises(ValueError, match="the delimiter '::' can't be; expected one character"):
        read_table(tmp_path / "n.csv", delimiter="::")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_encoding_is_found(tmp_path, encoding):
    TABLE.to_csv(tmp_path / "n.csv", index=False, encoding=encoding, sep=";")
    same(read_table(tmp_path / "n.csv", ("id",)))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le"])
def test_another_encoding_must_be_named(tmp_path, encoding):
    TABLE.to_csv(tmp_path / "n.csv", index=False, encoding=encoding)
    with pytest.raises(
        ValueError, match=r"n\.csv could not be read: it is not UTF-8 text; name its --encoding"
    ):
        read_table(tmp_path / "n.csv")
    same(read_table(tmp_path / "n.csv", ("id",), encoding=encoding))


def test_a_wrong_encoding_is_refused(tmp_path):
    TABLE.to_csv(tmp_path / "n.csv", index=False)
    with pytest.raises(ValueError, match="there is no encoding 'latin-99'"):
        read_table(tmp_path / "n.csv", encoding="latin-99")
    with pytest.raises(ValueError, match=r"it is not ascii .*; name another --encoding"):
        read_table(tmp_path / "n.csv", encoding="ascii")


def test_only_an_empty_cell_is_a_blank(tmp_path):
    words = ["NA", "None", "null", "nan", "N/A", "-"]
    pd.DataFrame({"id": [*words, "x"], "land": [*words, ""], "n": [1, 2, "", 4, 5, 6, 7]}).to_csv(
        tmp_path / "n.csv", index=False
    )
    table = read_table(tmp_path / "n.csv", ("id",))
    assert table.id.tolist() == [*words, "x"]
    assert table.land.fillna("blank").tolist() == [*words, "blank"]
    assert table.n.fillna(0).tolist() == [1, 2, 0, 4, 5, 6, 7]
    declared = read_table(tmp_path / "n.csv", blank=("NA", "-"))
    assert declared.land.isna().tolist() == [True, *[False] * 4, True, True]


def test_blanks_of_a_parquet_file(tmp_path):
    pd.DataFrame(
        {"n": [1, 2], "land": ["NA ", "DE"], "list": [[1], [2]], "c": pd.Categorical(["NA", "x"])}
    ).to_parquet(tmp_path / "n.parquet")
    table = read_table(tmp_path / "n.parquet", blank=("NA",))
    assert table.isna().sum().to_dict() == {"n": 0, "land": 1, "list": 0, "c": 1}
    assert read_table(tmp_path / "n.parquet").isna().sum().sum() == 0


def test_a_folder_of_parquet_parts_is_one_table(tmp_path):
    TABLE[:2].to_parquet(tmp_path / "part-0.parquet")
    TABLE[2:].to_parquet(tmp_path / "part-1.parquet")
    same(read_table(tmp_path).reset_index(drop=True))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="empty is a folder without Parquet files; expected a file"):
        read_table(tmp_path / "empty")


def test_what_can_t_be_read_says_what_to_do(tmp_path):
    text = TABLE.to_csv(index=False).encode()
    (tmp_path / "packed.csv").write_bytes(gzip.compress(text))
    (tmp_path / "unpacked.csv.gz").write_bytes(text)
    TABLE.to_parquet(tmp_path / "parquet.csv")
    with zipfile.ZipFile(tmp_path / "excel.csv", "w") as archive:
        archive.writestr("sheet.xml", "")
    (tmp_path / "bad.parquet").write_text("no")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "n.xlsx").write_text("")
    (tmp_path / "long.csv").write_text("a,b\n1,2,3\n4,5,6\n")
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n4,5,6\n")
    for name, message in (
        (
            "packed.csv",
            "packed.csv could not be read: it is compressed by gzip, and not text: add .gz to its name",
        ),
        ("parquet.csv", "it is a Parquet file, and not text: add .parquet to its name"),
        ("excel.csv", "it is a zip archive or an Excel file, and not text"),
        ("unpacked.csv.gz", "unpacked.csv.gz could not be read: .*gzip"),
        ("bad.parquet", "bad.parquet could not be read"),
        ("empty.csv", "empty.csv could not be read"),
        ("n.xlsx", r"it ends in .xlsx; expected .csv, .tsv, .parquet or .pq"),
        ("none.csv", "none.csv is not there; expected a CSV or Parquet file"),
        ("long.csv", "its rows have more values than its first line has names"),
        ("ragged.csv", "Expected 2 fields in line 3, saw 3"),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            read_table(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_a_column_that_is_not_there():
    with pytest.raises(
        ValueError, match=r"the nodes table has no column 'ID' \(did you mean 'id'\?\); name one with --id"
    ):
        column(TABLE, "ID", "nodes", "--id")
    with pytest.raises(ValueError, match=r"the edges table has no column 'source' \(id, age, job\)"):
        column(TABLE, "source", "edges", "--source")


def test_two_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text('id,"a, b",x,x\n1,2,3,4\n')
    with pytest.raises(ValueError, match="two of its columns are called 'x'; expected a name of its own"):
        read_table(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text('id,"a, b",x,\n1,2,3,4\n')  # one without a name is no other's
    assert len(read_table(tmp_path / "t.csv").columns) == 4


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zip"])
def test_a_name_that_promises_another_compression(ending, tmp_path):
    path = tmp_path / f"t.csv{ending}"
    path.write_text("id,x\n1,2\n")
    with pytest.raises(ValueError, match=f"it is no {ending} file, or a damaged one"):
        read_table(path)


@pytest.mark.parametrize("content", ["", "\n", " \n\n"])
def test_an_empty_file_is_named_so(content, tmp_path):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(ValueError, match="it is empty; expected a first line with the names"):
        read_table(tmp_path / "t.csv")


def test_what_may_be_wrong_with_a_table_without_the_column():
    with pytest.raises(ValueError, match="or another --delimiter: it was read as a single column"):
        column(pd.DataFrame({"id;x": ["1;2"]}), "id", "nodes", "--id")
    with pytest.raises(ValueError, match="or add a first line with the names"):
        column(pd.DataFrame({"a": [1], "0.5": [2]}), "id", "nodes", "--id")
