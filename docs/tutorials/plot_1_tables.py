"""
Two tables, and who is a fraud
==============================

From two CSV files to a comparison of methods, a model, calibrated probabilities and a page to pass on. All of
it is done by commands; a little Python makes the tables and draws the picture at the end.

The tables
----------

A bank has 1,200 accounts and knows of 400 whether they were used for fraud. The columns of an account say
something. Frauds also pay each other more often than they pay others: the payments say something else.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

folder = Path(tempfile.mkdtemp())
random = np.random.default_rng(0)
number = 1200
fraud = random.random(number) < 0.2

accounts = pd.DataFrame(
    {
        "id": [f"A{i:04}" for i in range(number)],
        "age_days": (random.exponential(900, number) * np.where(fraud, 0.4, 1)).round(),
        "balance": (random.normal(2000, 900, number) - 900 * fraud).round(2),
        "country": random.choice(["AT", "CH", "DE", "FR"], number),
        "fraud": np.where(fraud, "yes", "no"),
    }
)
known = random.permutation(number) < 400
accounts["truth"] = accounts["fraud"]  # to judge by
accounts["part"] = np.where(known, "observed", "test")
accounts["fraud"] = accounts["fraud"].where(known)  # a blank is unknown

source, target = random.integers(0, number, (2, 12000))
kept = random.random(12000) < np.where(fraud[source] == fraud[target], 0.5, 0.12)
payments = pd.DataFrame({"source": accounts["id"].to_numpy()[source[kept]],
                         "target": accounts["id"].to_numpy()[target[kept]]})  # fmt: skip

accounts.to_csv(folder / "accounts.csv", index=False)
payments.to_csv(folder / "payments.csv", index=False)
print((folder / "accounts.csv").read_text()[:240])


# %%
# How the columns are read
# ------------------------
#
# ``clgnn schema`` shows how every column is understood, before anything is trained. ``truth`` would give the
# answer away and ``part`` is for later, so both are left out.


def run(command: str) -> None:
    """Runs a command in the folder of the tables, as you do in a terminal."""
    print("$", command)
    environment = {**os.environ, "COLUMNS": "110"}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    print(done.stdout)
    done.check_returncode()


tables = "--nodes accounts.csv --edges payments.csv --label fraud --ignore truth --ignore part"
run(f"clgnn schema {tables}")

# %%
# Which method?
# -------------
#
# Every method is fitted to the same splits of the known labels, and judged on those that were left out. Frauds
# are rare, so we compare by average precision and not by accuracy. Three splits and a few methods are enough
# to see how it looks; leave ``--splits`` and ``--methods`` out to have ten and all.

methods = "gcn,gcn+cl,label_propagation,correct_and_smooth,hist_gradient_boosting"
run(f"clgnn compare {tables} --metric average_precision --splits 3 --methods {methods} "
    "--epochs 150 --patience 40 --out comparison --quiet")  # fmt: skip

# %%
# Fit one
# -------
#
# ``--method best --from comparison`` fits the first of the table. Where the first ones can't be told apart, take
# the one that gives you most: collective learning calibrates its probabilities on the validation labels.
# ``--threshold f1:yes`` chooses the probability from which on an account counts as a fraud, in place of one half.

run(f"clgnn fit {tables} --test-labels partial --metric average_precision --epochs 150 --patience 40 "
    "--threshold f1:yes --out model --quiet")  # fmt: skip

# %%
# Predict
# -------
#
# One row per account. The known labels may be seen here, so their column is named.

run("clgnn predict --model model --nodes accounts.csv --edges payments.csv --label fraud "
    "--out predictions.csv --quiet")  # fmt: skip
predictions = pd.read_csv(folder / "predictions.csv")
predictions.sort_values("p(yes)", ascending=False).head()

# %%
# Are the probabilities right?
# ----------------------------
#
# Of the accounts that get a probability of about 0.7, seven in ten should be frauds. We check it on the 800
# accounts whose labels the model has never seen.

import matplotlib.pyplot as plt

unseen = predictions[~predictions["label_was_known"]]
truth = accounts.set_index("id").loc[unseen["id"], "truth"].eq("yes").to_numpy()
bins = pd.cut(unseen["p(yes)"], np.linspace(0, 1, 6)).cat.codes.to_numpy()
places = [(unseen["p(yes)"][bins == b].mean(), truth[bins == b].mean(), (bins == b).sum())
          for b in range(5) if (bins == b).any()]  # fmt: skip
said, found, count = map(np.array, zip(*places, strict=True))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.hist([unseen["p(yes)"][truth], unseen["p(yes)"][~truth]], bins=20, stacked=True, label=["fraud", "none"],
          color=["#e07b39", "#0b6e99"])  # fmt: skip
left.set(xlabel="predicted probability of fraud", ylabel="accounts", title="800 accounts nobody had labelled")
left.legend()
right.plot([0, 1], [0, 1], color="grey", linestyle=":")
right.plot(said, found, color="#0b6e99")
right.scatter(said, found, s=20 + count, color="#0b6e99")
right.set(xlabel="predicted", ylabel="found", title="share of frauds, by predicted probability")
plt.show()

# %%
# A page to pass on
# -----------------
#
# ``clgnn evaluate`` judges the rows whose ``part`` is ``test`` and shows the model the labels of the others.
# It never judges an account that the model learned from. ``--report`` writes one HTML file that
# needs no network: metrics, confusion matrix, reliability, and the graph with true and predicted labels.

run("clgnn evaluate --model model --nodes accounts.csv --edges payments.csv --label truth --split part "
    "--report page.html --quiet")  # fmt: skip
print(f"page.html has {(folder / 'page.html').stat().st_size // 1024} KiB")
