"""The paper's own code as an anchor: the seconds of its epochs on Cora, beside ours on the same split.

python -m benchmarks.reference PATH [--epochs 20]

PATH is a checkout of the code that the authors published, which the user has. Its script runs as it is, in a
process of its own, on one thread: a plain GNN, then one iteration of collective learning, K = 10, each for
as many epochs as it is told. What the further epochs of a longer run take is the time of an epoch of both;
ours is timed in the same way. An epoch is a gradient step and a validation.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

SHORT = 2
# NumPy 2 has dropped a name that the script takes from it
RUN = """
import runpy, sys, numpy, torch
numpy.Inf = numpy.inf
torch.set_num_threads(1)
sys.path.insert(0, "")
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def main() -> None:
    """Prints both, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--python", default=sys.executable, help="An interpreter that can run the checkout.")
    given = parser.parse_args()
    found = compare(given.path, given.epochs, given.python)
    print("an epoch of a plain GCN and one with K = 10, on Cora, one thread:")
    print(f"the paper's code {found['theirs']:.3f} s, ours {found['ours']:.4f} s, {found['ratio']:.0f} times")


def compare(path: Path, epochs: int = 20, python: str = sys.executable) -> dict[str, float]:
    """Seconds of an epoch of both kinds together, theirs and ours."""
    script = path / "clgnn" / "train_unlabeled.py"
    if not script.is_file():
        raise SystemExit(f"{script} is not there; expected a checkout of the paper's code")
    theirs = [_theirs(script, number, python) for number in (SHORT, SHORT + epochs)]
    ours = [_ours(number) for number in (SHORT, SHORT + 10 * epochs)]
    one, mine = (theirs[1] - theirs[0]) / epochs, (ours[1] - ours[0]) / (10 * epochs)
    return {"theirs": one, "ours": mine, "ratio": one / mine}


def _theirs(script: Path, epochs: int, python: str) -> float:
    """Seconds of a run of the script with so many epochs."""
    options = ["--no-cuda", "--model_choice", "gcn_rand", "--iterations", "1", "--nround", "1"]
    options += ["--epochs", str(epochs), "--patience", str(10 * epochs)]
    command = [python, "-c", f"import sys; sys.argv = sys.argv[1:]\n{RUN}", script.name, *options]
    began = time.perf_counter()
    done = subprocess.run(
        command, cwd=script.parent, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise SystemExit(f"{script.name} ended with {done.returncode}: {last[0]}; try another --python")
    return time.perf_counter() - began


def _ours(epochs: int) -> float:
    """Seconds of a fit with so many epochs of the plain GNN, and as many of one iteration."""
    import torch

    from clgnn import CollectiveClassifier, datasets, splits

    torch.set_num_threads(1)
    data, split = datasets.load("cora"), splits.reference("cora", 0)
    model = CollectiveClassifier(
        num_iterations=1, max_epochs=epochs, patience=10 * epochs, iteration_epochs=epochs,
        iteration_patience=10 * epochs,
    )  # fmt: skip
    began = time.perf_counter()
    model.fit(data, split.train_mask, split.val_mask)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
