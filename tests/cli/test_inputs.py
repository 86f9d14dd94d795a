"""Wrong input: one clear line in the words of the command line, exit code 2, nothing written or lost."""

import gzip
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import clgnn
from clgnn.cli import main
from clgnn.cli.fit import said_of_caution
from helpers.commands import FIT, QUICK, TABLES, call, refused

FIT_SPLIT = [*FIT, "--split", "part", "--out", "m"]
NUMBERS = [
    "fit", *TABLES, "--label", "size", "--ignore", "truth", "--ignore", "colour", *QUICK, "--split", "part", "--out", "m",
]  # fmt: skip
PREDICT = ["predict", "--model", "model", *TABLES, "--out", "p.csv"]
EVALUATE = ["evaluate", "--model", "model", *TABLES, "--label", "truth"]


def of_nodes(**columns):
    return lambda: pd.read_csv("nodes.csv").assign(**columns).to_csv("nodes.csv", index=False)


def of_edges(**columns):
    return lambda: pd.read_csv("edges.csv").assign(**columns).to_csv("edges.csv", index=False)


def one_cell(column, text):
    return of_nodes(**{column: lambda table: table[column].astype(object).where(table.index != 3, text)})


def rows(change):
    return lambda: change(pd.read_csv("nodes.csv")).to_csv("nodes.csv", index=False)


def content(change, name="nodes.csv"):
    return lambda: Path(name).write_bytes(change(Path(name).read_bytes()))


def renamed(new):
    return lambda: Path("nodes.csv").rename(new)


def parquet(**columns):
    return lambda: pd.read_csv("nodes.csv").assign(**columns).to_parquet("nodes.parquet")


def in_model(**changed):
    """The model's JSON with other values; without those that are None."""

    def change():
        file = Path("model/model.json")
        about = {**json.loads(file.read_text()), "sha256": None, **changed}
        file.write_text(json.dumps({name: value for name, value in about.items() if value is not None}))

    return change


def weights(change):
    def damage():
        (file,) = Path("model").glob("*.safetensors")
        changed = change(file.read_bytes())
        file.unlink() if changed is None else file.write_bytes(changed)

    return damage


def nothing():
    pass


def without_first_line(data):
    return data.split(b"\n", 1)[1]


# what is wrong: what is changed before, the command, and a part of the message
WRONG = {
    # options
    "no such device": (nothing, [*FIT_SPLIT, "--device", "tpu"], "--device is 'tpu', which can't be used here"),
    "a device that is not here": (nothing, [*FIT_SPLIT, "--device", "cuda:77"], "--device is 'cuda:77', which can't be used here"),
    "a function that is no GNN": (nothing, [*FIT_SPLIT, "--gnn", "os:getcwd"], "the gnn factory failed"),
    "a number as a GNN": (nothing, [*FIT_SPLIT, "--gnn", "math:pi"], "--gnn is a float; expected a name, a module or a factory"),
    "a GNN that is nowhere": (nothing, [*FIT_SPLIT, "--gnn", "nowhere:made"], "--gnn nowhere:made could not be imported"),
    "a GNN without a name": (nothing, [*FIT_SPLIT, "--gnn", ":"], "--gnn : could not be imported"),
    "a mistyped GNN": (nothing, [*FIT_SPLIT, "--gnn", "gcm"], "--gnn is 'gcm'; expected one of gcn"),
    "negative epochs": (nothing, [*FIT_SPLIT, "--epochs", "-1"], "'--epochs': -1 is not in the range x>=1"),
    "epochs in words": (nothing, [*FIT_SPLIT, "--epochs", "many"], "'--epochs': 'many' is not a valid integer"),
    "no samples": (nothing, [*FIT_SPLIT, "--samples", "0"], "'--samples': 0 is not in the range x>=1"),
    "negative iterations": (nothing, [*FIT_SPLIT, "--iterations", "-1"], "'--iterations': -1 is not in the range x>=0"),
    "no learning rate": (nothing, [*FIT_SPLIT, "--lr", "0"], "'--lr': 0.0 is not in the range x>0"),
    "all dropped": (nothing, [*FIT_SPLIT, "--dropout", "1"], "'--dropout': 1.0 is not in the range 0<=x<1"),
    "all labels held out": (nothing, [*FIT_SPLIT, "--val-share", "1"], "'--val-share': 1.0 is not in the range 0<=x<1"),
    "no memory": (nothing, [*FIT_SPLIT, "--memory-budget", "0"], "'--memory-budget': 0.0 is not in the range x>0"),
    "a mistyped option": (nothing, [*FIT_SPLIT, "--epochz", "3"], "--epochz"),
    "a mistyped command": (nothing, ["fti"], "No such command 'fti'"),
    "a mistyped option of all": (nothing, ["--halp"], "--halp"),
    "no nodes": (nothing, ["fit", "--edges", "edges.csv", "--label", "colour", "--out", "m"], "Missing option '--nodes'"),
    "no such metric": (nothing, [*FIT_SPLIT, "--metric", "auc"], "--metric is 'auc'; expected one of accuracy, balanced_accuracy"),
    "a metric of numbers": (nothing, [*FIT_SPLIT, "--metric", "rmse"], "--metric is 'rmse'; expected one of accuracy"),
    "F1 of no such class": (nothing, [*FIT_SPLIT, "--metric", "f1:pink"], "--metric is 'f1:pink'; expected a class after f1:, one of blue, green, red"),
    "F1 of no class": (nothing, [*FIT_SPLIT, "--metric", "f1:"], "--metric is 'f1:'; expected a class after f1:"),
    "a threshold metric for three": (nothing, [*FIT_SPLIT, "--metric", "accuracy@0.3"], "which is for two classes; there are 3"),
    "a threshold for three classes": (nothing, [*FIT_SPLIT, "--threshold", "accuracy"], "a threshold is for two classes, and there are 3 (blue, green, red)"),
    "a threshold for numbers": (nothing, [*NUMBERS, "--threshold", "accuracy"], "--threshold is for two classes, and 'size' holds numbers"),
    "no such start": (nothing, [*FIT_SPLIT, "--start", "nobody"], "--start is 'nobody'; expected paper, given, auto, or some of plain, random"),
    "one start of two": (nothing, [*FIT_SPLIT, "--start", "plain,nobody"], "--start is a list with 'nobody'; expected some of plain, random"),
    "a start that is not given": (nothing, [*FIT_SPLIT, "--start", "given"], "name their table with --start-predictions"),
    "first predictions of nobody": (nothing, [*FIT_SPLIT, "--start-predictions", "nodes.csv"], "nodes.csv has no column 'p(blue)'; expected id and p(blue)"),
    "no such method": (nothing, [*FIT_SPLIT, "--method", "nobody"], "'nobody' is not one of 'collective'"),
    "a method for classes": (nothing, [*NUMBERS, "--method", "ica"], "--method ica is for classes, and 'size' holds numbers"),
    "resume without iterations": (nothing, [*FIT_SPLIT, "--method", "ica", "--resume"], "--method ica has none; leave it out"),
    # where it is written to
    "the folder itself": (nothing, [*FIT_SPLIT, "--out", "."], "is a folder with files in it, and no model; choose another"),
    "a file as the model": (nothing, [*FIT_SPLIT, "--out", "edges.csv"], "is a file; expected a folder for the model"),
    "below a file": (nothing, [*FIT_SPLIT, "--out", "edges.csv/m"], "is no folder that you may write to; choose another"),
    "where nobody may write": (nothing, [*FIT_SPLIT, "--out", "/proc/m"], "/proc is no folder that you may write to"),
    "a model that is there": (nothing, [*FIT_SPLIT, "--out", "model"], "model exists; choose another --out, or --force"),
    "predictions in a text": (nothing, [*PREDICT, "--out", "p.txt"], "p.txt ends in .txt; expected .csv"),
    "predictions over a table": (nothing, [*PREDICT, "--out", "nodes.csv"], "nodes.csv exists; choose another --out"),
    "predictions as a folder": (lambda: os.mkdir("p.csv"), PREDICT, "--out p.csv is a folder; expected a file name"),
    "predictions nobody may write": (nothing, [*PREDICT, "--out", "/proc/p.csv"], "--out /proc/p.csv can't be written"),
    "a page in a text": (nothing, [*EVALUATE, "--report", "page.txt"], "page.txt ends in .txt; expected .html"),
    # files
    "no such table": (nothing, [*FIT_SPLIT, "--nodes", "none.csv"], "none.csv is not there; expected a CSV or Parquet file"),
    "a folder as a table": (lambda: os.mkdir("tables"), [*FIT_SPLIT, "--nodes", "tables"], "tables is a folder without Parquet files"),
    "another delimiter": (nothing, [*FIT_SPLIT, "--delimiter", ";"], "or another --delimiter: it was read as a single column"),
    "two characters as one": (nothing, [*FIT_SPLIT, "--delimiter", "ab"], "the delimiter 'ab' can't be; expected one character"),
    "UTF-16 without its mark": (content(lambda b: b.decode().encode("utf-16-le")), FIT_SPLIT, "it is not UTF-8 text; name its --encoding"),
    "Latin": (content(lambda b: b.replace(b"round", "ründ".encode("latin-1"))), FIT_SPLIT, "it is not UTF-8 text; name its --encoding, such as latin-1"),
    "no such encoding": (nothing, [*FIT_SPLIT, "--encoding", "utf-99"], "there is no encoding 'utf-99'"),
    "another encoding": (nothing, [*FIT_SPLIT, "--encoding", "utf-16"], "it is not utf-16"),
    "gzip named .csv": (content(gzip.compress), FIT_SPLIT, "it is compressed by gzip, and not text: add .gz to its name"),
    "text named .gz": (renamed("nodes.csv.gz"), [*FIT_SPLIT, "--nodes", "nodes.csv.gz"], "it is no .gz file, or a damaged one"),
    "text named .xz": (renamed("nodes.csv.xz"), [*FIT_SPLIT, "--nodes", "nodes.csv.xz"], "it is no .xz file, or a damaged one"),
    "text named .parquet": (renamed("nodes.pq"), [*FIT_SPLIT, "--nodes", "nodes.pq"], "nodes.pq could not be read"),
    "Excel": (renamed("nodes.xlsx"), [*FIT_SPLIT, "--nodes", "nodes.xlsx"], "it ends in .xlsx; expected .csv"),
    "nothing in the file": (content(lambda b: b""), FIT_SPLIT, "nodes.csv could not be read: it is empty; expected a first line with the names"),
    "no rows": (rows(lambda table: table[:0]), FIT_SPLIT, "the nodes table is empty; expected one row per node"),
    "no names": (content(lambda b: without_first_line(b).replace(b",red,red,", b",red,,")), FIT_SPLIT, "or add a first line with the names: there seem to be values in it"),
    "no names of edges": (content(without_first_line, "edges.csv"), FIT_SPLIT, "the edges table has no column 'source' (n0, n1); name one with --source"),
    "one name twice": (content(lambda b: b.replace(b"f1", b"f0", 1)), FIT_SPLIT, "two of its columns are called 'f0'; expected a name of its own for each"),
    "a longer row": (content(lambda b: b + b"a" + 15 * b",a" + b"\n"), FIT_SPLIT, "Expected 11 fields in line 62, saw 16; correct this line"),
    "tables the wrong way round": (nothing, [*FIT, "--out", "m", "--nodes", "edges.csv", "--edges", "nodes.csv"], "the nodes table has no column 'id'"),
    # columns
    "no such label": (nothing, [*FIT_SPLIT, "--label", "zebra"], "no column 'zebra' (id, f0"),
    "a mistyped label": (nothing, [*FIT_SPLIT, "--label", "Colour"], "no column 'Colour' (did you mean 'colour'?)"),
    "the id as the label": (nothing, [*FIT_SPLIT, "--label", "id"], "--label id is the id of the nodes too"),
    "no such id": (nothing, [*FIT_SPLIT, "--id", "who"], "no column 'who'"),
    "no such source": (nothing, [*FIT_SPLIT, "--source", "from"], "the edges table has no column 'from' (source, target); name one with --source"),
    "no such weight": (nothing, [*FIT_SPLIT, "--weight", "strength"], "name one with --weight"),
    "no such split": (nothing, [*FIT_SPLIT, "--split", "nope"], "name one with --split"),
    "nothing to ignore": (nothing, [*FIT_SPLIT, "--ignore", "nope"], "name one with --ignore"),
    "the label as a category": (nothing, [*FIT_SPLIT, "--categorical", "colour"], "--categorical colour is no feature: it is the id, the label or ignored"),
    "two kinds": (nothing, [*FIT_SPLIT, "--categorical", "f0", "--numeric", "f0"], "column 'f0' is declared twice; expected one kind"),
    "texts as numbers": (nothing, [*FIT_SPLIT, "--numeric", "shape"], "column 'shape' has 'square' in row 1 (60 such rows); expected a number or a blank"),
    "texts as dates": (nothing, [*FIT_SPLIT, "--date", "shape"], "expected a date such as 2024-03-01 or a blank"),
    "texts to regress": (nothing, [*FIT_SPLIT, "--task", "regression"], "column 'colour' has 'red' in row 1 (40 such rows); expected a number"),
    "a split that is none": (nothing, [*FIT_SPLIT, "--split", "shape"], "the split column 'shape' has 'round'; expected train, val, test, observed or a blank"),
    # cells
    "no labels": (of_nodes(colour=None), FIT_SPLIT, "no node has a label in column 'colour'; expected some"),
    "one class": (of_nodes(colour="red"), FIT_SPLIT, "all labels in column 'colour' are 'red'; expected two classes or more"),
    "one class in training": (of_nodes(colour=lambda t: t["colour"].where(t["part"] != "train", "red")), FIT_SPLIT, "all labels to learn from are 'red'"),
    "a class of validation alone": (of_nodes(colour=lambda t: t["colour"].where((t["part"] != "train") | (t["colour"] != "red"))), FIT_SPLIT, "class 'red' is in the validation part, and not in the training part; add it there"),
    "no training part": (of_nodes(part="test"), FIT_SPLIT, "the split column 'part' leaves nothing to learn from: no row says train"),
    "no label in training": (of_nodes(part=lambda t: np.where(t["colour"].isna(), "train", "test")), FIT_SPLIT, "no row that says train has a label"),
    "a wrong word in the split": (one_cell("part", "trian"), FIT_SPLIT, "the split column 'part' has 'trian'"),
    "a node twice": (rows(lambda table: pd.concat([table, table[:1]])), FIT_SPLIT, "id 'n0' stands in more than one row of the nodes table"),
    "a blank id": (one_cell("id", None), FIT_SPLIT, "row 4 of the nodes table has no id in column 'id'"),
    "an edge to nobody": (of_edges(target="n99"), FIT_SPLIT, "'n99', which is no id of the nodes table (117 such rows); add the node, or drop the edge"),
    "a blank end": (of_edges(target=""), FIT_SPLIT, "row 1 of the edges table has no id in column 'target'"),
    "some ids with .0": (lambda: [of_nodes(id=["x", *(f"{i}.0" for i in range(59))])(), of_edges(source=1)()], FIT_SPLIT, "there is '1.0': write ids alike in both tables"),
    "negative weights": (of_edges(weight=-1.0), FIT_SPLIT, "has a blank or negative weight in row 1"),
    "blank weights": (of_edges(weight=""), FIT_SPLIT, "has a blank or negative weight in row 1"),
    "weights in words": (of_edges(weight="heavy"), FIT_SPLIT, "column 'weight' has 'heavy' in row 1"),
    "infinite features": (of_nodes(f0=np.inf), FIT_SPLIT, "column 'f0' is infinite in row 1; expected numbers, or a blank"),
    "NaN in letters": (one_cell("f0", "NaN"), FIT_SPLIT, "'NaN' in row 4 is the first; correct them, or say --blank NaN, --categorical f0 or --ignore f0"),
    "a word in a number": (one_cell("f0", "oops"), FIT_SPLIT, "'oops' in row 4 is the first; correct them, or say --blank oops"),
    "texts that tell nodes apart": (of_nodes(remark=[f"text {i}" for i in range(60)]), FIT_SPLIT, "say --ignore remark, or --categorical remark"),
    "days as texts": (of_nodes(day="2021-06-06"), FIT_SPLIT, "column 'day' holds dates, such as '2021-06-06': say --date day"),
    "a second label": (of_nodes(other=lambda t: t["colour"]), FIT_SPLIT, "column 'other' has the same values as the label column 'colour'"),
    "lists of two lengths": (parquet(v=[[1.0, 2.0]] * 59 + [[1.0]]), [*FIT_SPLIT, "--nodes", "nodes.parquet"], "expected lists of equal length: correct it, or say --ignore v"),
    "hours": (parquet(v=pd.to_timedelta(1, "h")), [*FIT_SPLIT, "--nodes", "nodes.parquet"], "expected numbers, texts, dates or lists: convert it, or say --ignore v"),
    # models
    "no such model": (nothing, [*PREDICT, "--model", "nowhere"], "nowhere is not a model: it has no model.json"),
    "a file as a model to use": (nothing, [*PREDICT, "--model", "nodes.csv"], "nodes.csv is not a model"),
    "a model without features": (in_model(features=None), PREDICT, "is damaged (features missing); fit the model again"),
    "settings that are none": (in_model(parameters=3), PREDICT, "is damaged (parameters missing); fit the model again"),
    "a history that is none": (in_model(history=3), PREDICT, "is damaged (history missing); fit the model again"),
    "no such kind of model": (in_model(kind="Nope"), PREDICT, "model is a 'Nope'; expected one of"),
    "a model of the future": (in_model(format=99), PREDICT, "written by a newer version of clgnn; upgrade to read it"),
    "a model that is not of tables": (in_model(extra=None), PREDICT, "model was not fitted from tables"),
    "a model without its columns": (in_model(extra={"table": {}}), PREDICT, "is damaged (its schema"),
    "a threshold in letters": (in_model(labels={"values": [0, 1], "threshold": "x"}), PREDICT, "threshold is 'x'; expected a number from 0 to 1"),
    "half a JSON": (lambda: Path("model/model.json").write_text("{"), PREDICT, "model.json is damaged"),
    "a flipped bit": (weights(lambda b: b[:-1] + bytes([b[-1] ^ 1])), PREDICT, "is damaged (SHA-256"),
    "half of the weights": (weights(lambda b: b[:50]), PREDICT, "is damaged (SHA-256"),
    "no weights": (weights(lambda b: None), PREDICT, "is damaged, or of another GNN"),
    "another GNN": (nothing, [*PREDICT, "--gnn", "sage"], "model was fitted with the GNN gcn, and 'sage' is given; leave that out"),
    "a missing column": (rows(lambda table: table.drop(columns="f1")), PREDICT, "the nodes table has no column 'f1', which the model was fitted with"),
    "a text for a number": (of_nodes(f1="abc"), PREDICT, "column 'f1' has 'abc' in row 1"),
    "labels for a model without": (nothing, [*PREDICT, "--label", "colour"], "fit it with --test-labels partial, or leave --label out"),
    "a start for a model without": (nothing, [*PREDICT, "--start-predictions", "nodes.csv"], "the model was fitted without: leave it out"),
    "an unknown class": (of_nodes(truth="pink"), EVALUATE, "has class 'pink', unseen in training; expected one of blue, green, red, or a blank for unknown: say --blank pink"),
    "nothing left to judge": (nothing, [*EVALUATE[:-2], "--label", "colour"], "the model learned from all 40 nodes that have a label"),
    "a feature to judge by": (nothing, [*EVALUATE, "--label", "shape"], "--label shape was a feature in training"),
    # how tables are read
    "nothing to read": (nothing, ["schema"], "nothing is given; expected --nodes and --edges, or --model"),
    "one table": (nothing, ["schema", "--nodes", "nodes.csv"], "--nodes alone is given; expected --nodes and --edges"),
    "a model and a table": (nothing, ["schema", "--model", "model", "--nodes", "nodes.csv"], "--model and --nodes are given"),
    "the columns of no model": (nothing, ["schema", "--model", "nowhere"], "nowhere is not a model"),
}  # fmt: skip


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Where the model of these tables waits, once it is fitted."""
    return tmp_path_factory.mktemp("kept") / "model"


@pytest.mark.parametrize("what", WRONG)
def test_wrong_input_gets_one_clear_line_and_nothing_is_written(what, files, kept):
    change, arguments, message = WRONG[what]
    if "model" in arguments:
        if not kept.exists():
            call(*FIT, "--split", "part", "--out", kept)
        shutil.copytree(kept, "model")
    change()
    before = {path: path.stat().st_mtime_ns for path in files.rglob("*")}
    result = CliRunner().invoke(main, arguments)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert message in line
    assert {path: path.stat().st_mtime_ns for path in files.rglob("*")} == before


def test_a_folder_is_never_replaced_by_predictions(files):
    """As Spark writes them: a folder whose name ends in .parquet."""
    call(*FIT, "--ignore", "part", "--out", "model")
    (files / "pred.parquet").mkdir()
    (files / "pred.parquet" / "part-0.parquet").write_text("years of work")
    arguments = ["predict", "--model", "model", *TABLES, "--out", "pred.parquet", "--force"]
    assert "--out pred.parquet is a folder" in refused(*arguments)
    assert (files / "pred.parquet" / "part-0.parquet").read_text() == "years of work"


def test_fit_with_force_leaves_files_that_are_not_the_models(files):
    call(*FIT, "--ignore", "part", "--out", "model")
    (files / "model" / "notes.txt").write_text("mine")
    call(*FIT, "--ignore", "part", "--out", "model", "--force", "--seed", "3")
    assert (files / "model" / "notes.txt").read_text() == "mine"
    assert len(list((files / "model").glob("*.safetensors"))) == 1
    (files / "model.partial").mkdir()
    (files / "model.partial" / "mine.txt").write_text("mine")
    call(*FIT, "--ignore", "part", "--out", "model", "--force")
    assert (files / "model.partial" / "mine.txt").read_text() == "mine"


def test_a_folder_that_is_no_model_is_refused_with_force_too(files):
    for out in (".", "edges.csv"):
        message = refused(*FIT, "--ignore", "part", "--out", out, "--force")
        assert "and no model; choose another" in message or "is a file; expected a folder" in message


def test_a_second_column_of_labels_is_no_feature_unasked(files):
    """It was one in training, and the same column as the truth gave an accuracy that meant nothing."""
    fit = [
        "fit",
        *TABLES,
        "--label",
        "colour",
        "--ignore",
        "size",
        "--ignore",
        "part",
        *QUICK,
        "--out",
        "model",
    ]
    assert "column 'truth' has the same values as the label column 'colour'" in refused(*fit)
    call(*fit, "--feature", "truth")
    message = refused("evaluate", "--model", "model", *TABLES, "--label", "truth")
    assert "--label truth was a feature in training" in message
    assert "--ignore truth" in message


def test_evaluate_never_judges_nodes_that_were_learned_from(files):
    call(*FIT, "--ignore", "part", "--out", "model")
    output = call("evaluate", "--model", "model", *TABLES, "--label", "truth")
    assert "20 nodes judged" in output
    assert "40 nodes with a label were left out: the model learned from them." in output
    whole = json.loads(call("evaluate", "--model", "model", *TABLES, "--label", "truth", "--json"))
    split = ["--label", "truth", "--split", "part", "--json"]
    parts = json.loads(call("evaluate", "--model", "model", *TABLES, *split))
    assert whole["left_out"] == 40
    assert whole["accuracy"] == parts["accuracy"]
    assert "nothing is left to judge" in refused("evaluate", "--model", "model", *TABLES, "--label", "colour")


def test_the_columns_are_shown_before_training(files):
    output = call(*(word for word in FIT if word != "--quiet"), "--ignore", "part", "--out", "model")
    lines = [line.split() for line in output.splitlines()]
    assert ["shape", "category", "2", "values"] in [line[:4] for line in lines]
    assert ["f0", "number"] in [line[:2] for line in lines]
    assert ["truth", "ignored"] in [line[:2] for line in lines]
    edges = len(pd.read_csv("edges.csv"))
    assert f"60 nodes, {edges} undirected edges" in " ".join(output.split())


def test_predict_reads_tables_whose_columns_have_other_names(files):
    call(*FIT, "--ignore", "part", "--out", "model")
    predict = ["predict", "--model", "model", "--out"]
    call(*predict, "one.csv", *TABLES)
    pd.read_csv("nodes.csv").rename(columns={"id": "who"}).to_csv("n.csv", index=False, sep=";")
    links = pd.read_csv("edges.csv").rename(columns={"source": "from", "target": "to"})
    links.to_csv("e.csv", index=False, encoding="utf-16")
    names = ["--id", "who", "--source", "from", "--target", "to"]
    call(*predict, "two.csv", "--nodes", "n.csv", "--edges", "e.csv", *names)
    one, two = pd.read_csv("one.csv"), pd.read_csv("two.csv").rename(columns={"who": "id"})
    pd.testing.assert_frame_equal(one, two)


def test_a_name_of_the_users_does_not_collide_with_ours(files):
    nodes = pd.read_csv("nodes.csv").rename(columns={"id": "prediction"})
    nodes.to_csv("nodes.csv", index=False)
    call(*FIT, "--ignore", "part", "--id", "prediction", "--out", "model")
    call("predict", "--model", "model", *TABLES, "--out", "p.csv")
    table = pd.read_csv("p.csv")
    assert table["prediction"].tolist() == nodes["prediction"].tolist()
    assert set(table["prediction_"]) <= {"red", "green", "blue"}


def test_json_has_no_nan(files):
    output = call(*FIT, "--ignore", "part", "--val-share", "0", "--out", "m", "--json")
    assert "NaN" not in output
    assert json.loads(output)["best"] == [None, None]


def test_starts_on_the_command_line(files):
    fit = [*FIT, "--split", "part"]
    for start in ("paper", "auto", "pl_em,plain", "ica"):
        out = f"model-{start}"
        call(*fit, "--start", start, "--out", out)
        call("predict", "--model", out, *TABLES, "--out", f"{out}.csv")
        assert len(pd.read_csv(f"{out}.csv")) == 60


def test_the_start_is_named_with_its_own_score(files):
    fit = [*FIT, "--split", "part"]
    text = call(*fit, "--start", "label_propagation,plain", "--out", "shown")
    assert "0 (the mean of LabelPropagation and the plain GNN)" in " ".join(text.split())
    found = json.loads(call(*fit, "--start", "ica", "--json", "--out", "told"))
    model = clgnn.load("told")
    assert (found["start"], found["best"]) == ("ICA", model.stage_scores_)
    assert found["best"][0] == pytest.approx(model.starts_[0].best_score_)


def test_it_says_why_the_start_predicts(files):
    fit = [*FIT, "--split", "part", "--iterations", "2"]
    for caution in ("0", "1000"):
        text = " ".join(call(*fit, "--caution", caution, "--out", caution).split())
        model = clgnn.load(caution)
        better = max(model.stage_scores_) > model.stage_scores_[0]
        said = "The best iteration is not better than the start by more than --caution 1000 standard errors"
        assert (said in text) == (caution == "1000" and better)
        assert model.best_iteration_ == 0 or caution == "0"


@pytest.mark.parametrize(
    ("scores", "metric", "predicts", "caution", "says"),
    [
        ([0.5, 0.6], "accuracy", 0, 1.0, True),
        ([0.5, 0.6], "accuracy", 1, 1.0, False),
        ([0.6, 0.5], "accuracy", 0, 1.0, False),
        ([0.6, 0.5], "log_loss", 0, 1.0, True),
        ([0.5], "accuracy", 0, 1.0, False),
        ([None, None], "accuracy", 1, 1.0, False),
    ],
)
def test_caution_is_named_where_it_decides(scores, metric, predicts, caution, says):
    facts = {"stage_scores_": scores, "metric_name": metric, "best_iteration_": predicts, "caution": caution}
    facts |= {"best_score_": scores[predicts], "lower_is_better_": metric == "log_loss"}
    assert (said_of_caution(SimpleNamespace(**facts)) is not None) == says


def test_predictions_of_another_model_are_a_start(files):
    fit = [*FIT, "--split", "part"]
    call(*fit, "--method", "ica", "--out", "first")
    call("predict", "--model", "first", *TABLES, "--out", "first.csv")
    call(*fit, "--start-predictions", "first.csv", "--out", "boosted")
    predict = ["predict", "--model", "boosted", *TABLES, "--out", "p.csv"]
    assert "give them again with --start-predictions" in refused(*predict)
    both = refused(*fit, "--start", "pl_em", "--start-predictions", "first.csv", "--out", "both")
    assert "--start pl_em and --start-predictions are two starts; leave one of them out" in both
    call(*predict, "--start-predictions", "first.csv")
    assert "the model was fitted without" in refused(
        "predict", "--model", "first", *TABLES, "--out", "q.csv", "--start-predictions", "first.csv"
    )
    pd.read_csv("first.csv").drop(columns="p(red)").to_csv("less.csv", index=False)
    assert "less.csv has no column 'p(red)'" in refused(
        *predict, "--force", "--start-predictions", "less.csv"
    )
    pd.read_csv("first.csv")[:9].to_csv("few.csv", index=False)
    message = refused(*predict, "--force", "--start-predictions", "few.csv")
    assert "few.csv has no row for node 'n9' (51 nodes are missing)" in message


def test_the_papers_preset(files):
    call(*FIT, "--split", "part", "--preset", "paper", "--out", "model")
    content = json.loads((files / "model" / "model.json").read_text())["parameters"]
    assert (content["start"], content["calibrate"], content["keep_best"]) == ("paper", False, False)
    assert content["max_epochs"] == 5  # given beside it
    call("fit", *TABLES, "--label", "colour", "--ignore", "truth", "--ignore", "size", "--quiet", "--preset",
         "paper", "--test-labels", "partial", "--epochs", "2", "--samples", "1", "--out", "partial")  # fmt: skip
    content = json.loads((files / "partial" / "model.json").read_text())["parameters"]
    assert (content["num_iterations"], content["num_masks"], content["max_epochs"]) == (10, 10, 2)


def test_observed_labels_can_be_learned_from(files):
    nodes = pd.read_csv("nodes.csv")
    nodes.loc[30:34, "part"] = "observed"
    nodes.to_csv("nodes.csv", index=False)
    fit = [*FIT, "--split", "part", "--test-labels", "partial"]
    call(*fit, "--learn-observed", "--out", "all")
    call(*fit, "--out", "shown")
    judge = ["--label", "truth", "--json"]
    left = [json.loads(call("evaluate", "--model", m, *TABLES, *judge))["left_out"] for m in ("all", "shown")]
    assert left == [40, 35]


def test_a_rival_keeps_its_own_defaults(files):
    call(*FIT, "--split", "part", "--method", "label_propagation", "--out", "model")
    content = json.loads((files / "model" / "model.json").read_text())["parameters"]
    assert content["test_labels"] == "partial"
    call(*FIT, "--split", "part", "--method", "gmnn", "--out", "gmnn")
    content = json.loads((files / "gmnn" / "model.json").read_text())["parameters"]
    assert (content["lr"], content["optimizer"], content["max_epochs"]) == (0.05, "rmsprop", 5)


def test_nodes_of_another_graph_are_judged_though_their_ids_are_the_same(files):
    call(*FIT, "--ignore", "part", "--out", "model")
    nodes = pd.read_csv("nodes.csv")
    nodes["f0"] = nodes["f0"] + 1
    nodes.to_csv("other.csv", index=False)
    judge = ["evaluate", "--model", "model", "--edges", "edges.csv", "--label", "truth", "--json"]
    assert json.loads(call(*judge, "--nodes", "other.csv"))["judged"] == 60
    assert "n3" not in (files / "model" / "model.json").read_text()  # no id can be read from a model
