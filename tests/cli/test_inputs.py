"""Wrong input: one clear line in the words of the command line, exit code 2, nothing written or lost."""

import json
import os

import numpy as np
import pandas as pd
import pytest

from helpers.commands import FIT, QUICK, TABLES, call, refused


def test_bad_input_gets_one_clear_line_and_nothing_is_written(files):
    def fit(*changes, **replaced):
        arguments = [*FIT, "--split", "part", "--out", "m", *changes]
        for option, value in replaced.items():
            arguments[arguments.index(f"--{option}") + 1] = value
        return refused(*arguments)

    before = sorted(os.listdir())
    assert "none.csv is not there" in fit(nodes="none.csv")
    assert "no column 'zebra' (id, f0" in fit(label="zebra")
    assert "no column 'Colour' (did you mean 'colour'?)" in fit(label="Colour")
    assert "no column 'who'" in fit("--id", "who")
    assert "expected one of gcn" in fit("--gnn", "gcm")
    assert "'--samples': 0 is not in the range x>=1" in fit("--samples", "0")
    assert "'--iterations': -1 is not in the range x>=0" in fit("--iterations", "-1")
    assert "the split column 'shape' has 'round'" in fit(split="shape")
    nodes = pd.read_csv("nodes.csv")
    wrong = {
        "blank.csv": (nodes.assign(colour=None), "no node has a label"),
        "one.csv": (nodes.assign(colour="red"), "all labels in column 'colour' are 'red'"),
        "double.csv": (pd.concat([nodes, nodes[:1]]), "stands in more than one row"),
        "infinite.csv": (nodes.assign(f0=np.inf), "column 'f0' is infinite in row 1"),
        "empty.csv": (nodes[:0], "the nodes table is empty"),
    }
    for name, (table, message) in wrong.items():
        table.to_csv(name, index=False)
        assert message in fit(nodes=name)
        os.remove(name)
    pd.DataFrame({"source": ["n1"], "target": ["n99"]}).to_csv("far.csv", index=False)
    assert "'n99', which is no id of the nodes table" in fit(edges="far.csv")
    os.remove("far.csv")
    assert sorted(os.listdir()) == before


WRONG_OPTIONS = [
    (["--device", "tpu"], "--device is 'tpu', which can't be used here"),
    (["--device", "cuda:77"], "--device is 'cuda:77', which can't be used here"),
    (["--gnn", "os:getcwd"], "the gnn factory failed"),
    (["--gnn", "nowhere:made"], "--gnn nowhere:made could not be imported"),
    (["--gnn", ":"], "--gnn : could not be imported"),
    (["--epochs", "-1"], "'--epochs': -1 is not in the range x>=1"),
    (["--lr", "0"], "'--lr': 0.0 is not in the range x>0"),
    (["--dropout", "1"], "'--dropout': 1.0 is not in the range 0<=x<1"),
    (["--metric", "auc"], "--metric is 'auc'; expected one of accuracy, balanced_accuracy"),
    (["--metric", "rmse"], "--metric is 'rmse'; expected one of accuracy"),
    (["--metric", "f1:pink"], "--metric is 'f1:pink'; expected a class after f1:, one of blue, green, red"),
    (["--epochz", "3"], "No such option '--epochz'"),
]


@pytest.mark.parametrize(("options", "message"), WRONG_OPTIONS, ids=lambda value: " ".join(value[:2]))
def test_wrong_options_of_fit(options, message, files):
    before = sorted(os.listdir())
    assert message in refused(*FIT, "--split", "part", "--out", "m", *options)
    assert sorted(os.listdir()) == before


def test_a_split_without_training_labels_is_said_in_the_words_of_the_table(files):
    nodes = pd.read_csv("nodes.csv")
    nodes.assign(part="test").to_csv("nodes.csv", index=False)
    message = refused(*FIT, "--split", "part", "--out", "m")
    assert "the split column 'part' leaves nothing to learn from: no row says train" in message
    nodes.assign(part=np.where(nodes["colour"].isna(), "train", "test")).to_csv("nodes.csv", index=False)
    assert "no row that says train has a label" in refused(*FIT, "--split", "part", "--out", "m")


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


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_folder_that_is_no_model_is_refused_before_training(force, files):
    for out in (".", "edges.csv"):
        message = refused(*FIT, "--ignore", "part", "--out", out, *force)
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


def test_a_model_with_a_damaged_schema_is_refused(files):
    call(*FIT, "--ignore", "part", "--out", "model")
    file = files / "model" / "model.json"
    content = json.loads(file.read_text())
    del content["extra"]["table"]["features"]
    file.write_text(json.dumps(content))
    assert "is damaged (its schema" in refused("predict", "--model", "model", *TABLES, "--out", "p.csv")
    del content["features"]
    file.write_text(json.dumps(content))
    assert "is damaged (features missing)" in refused(
        "predict", "--model", "model", *TABLES, "--out", "p.csv"
    )


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
    assert "method is 'plan'; expected one of random, ica" in refused(*fit, "--start", "plan", "--out", "m")


def test_predictions_of_another_model_are_a_start(files):
    fit = [*FIT, "--split", "part"]
    call(*fit, "--method", "ica", "--out", "first")
    call("predict", "--model", "first", *TABLES, "--out", "first.csv")
    call(*fit, "--start-predictions", "first.csv", "--out", "boosted")
    predict = ["predict", "--model", "boosted", *TABLES, "--out", "p.csv"]
    assert "give them again with --start-predictions" in refused(*predict)
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


def test_what_can_not_be_written_or_resumed_is_said_before_training(files):
    fit = [*FIT, "--split", "part"]
    assert "is no folder that you may write to" in refused(*fit, "--out", "nodes.csv/model")
    assert "--method ica has none" in refused(*fit, "--method", "ica", "--resume", "--out", "m")
    assert "name one with --split" in refused(*FIT, "--split", "nope", "--out", "m")


def test_classes_are_called_by_their_names(files):
    nodes = pd.read_csv("nodes.csv")
    train = nodes["part"] == "train"
    nodes.assign(colour=nodes["colour"].where(~train, "red")).to_csv("nodes.csv", index=False)
    assert "all labels to learn from are 'red'" in refused(*FIT, "--split", "part", "--out", "m")
    nodes.assign(colour=nodes["colour"].where(~(train & (nodes["colour"] == "red")))).to_csv(
        "nodes.csv", index=False
    )
    assert "class 'red' is in the validation part" in refused(*FIT, "--split", "part", "--out", "m")
