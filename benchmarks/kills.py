"""Commands that are interrupted at random moments, and then run again: the result is that of a quiet run.

    python -m benchmarks.kills --number 1000 --out /dev/shm/kills
    python -m benchmarks.kills --way full --number 200 --out full

Ways to interrupt ``fit``, ``compare``, ``reproduce``, ``predict`` and ``tune``: ``kill`` (SIGKILL at a random
moment), ``full`` (no file can grow beyond a random size, as on a full disk), ``two`` (two processes on the
same output at the same time, one of them killed in half of the cases) and ``clock`` (the clock jumps by days,
forwards and back). After each, the same command is run to its end, with ``--resume`` where there is one. Its
output must be that of a run that nobody interrupted, byte for byte, and it may not have run what was done.

So that bytes can be compared, processes have a clock that stands still, and memory that nobody measures:
timings and dates are the only thing that may differ. Left out are ``ledger.sqlite`` and ``study.log``, whose
pages and lines depend on the order of writing, and whose content is compared as ``trials.csv``; and locks.

Each case is a line of ``cases.jsonl`` in ``--out``; the same command goes on after a stop.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

FIT = "--epochs 12 --iteration-epochs 6 --iterations 2 --samples 2 --hidden 4 --quiet".split()  # noqa: SIM905
TABLES = ["--nodes", "../nodes.csv", "--edges", "../edges.csv"]
LABEL = ["--label", "colour"]
COMMANDS = {
    "fit": ["fit", *TABLES, *LABEL, *FIT, "--out", "model"],
    "predict": ["predict", *TABLES, "--model", "../model", "--out", "predictions.csv", "--quiet"],
    "compare": ["compare", *TABLES, *LABEL, "--methods", "majority,label_propagation", "--splits", "2",
                "--out", "out", *FIT],
    "tune": ["tune", *TABLES, *LABEL, "--trials", "3", "--gnn", "gcn", "--start", "plain",
             "--out", "out", *FIT],
    "reproduce": ["reproduce", "main", "--datasets", "cora", "--methods", "random,majority",
                  "--trials", "2", "--quick", "--out", "out", "--quiet"],
}  # fmt: skip
SHARES = {"fit": 40, "predict": 25, "compare": 15, "tune": 12, "reproduce": 8}
RESUMES = {"fit": ["--resume"]}
FINISHED = re.compile(rb"\d{4}-01-01T00:00:00\.000000\+00:00")
LEFT_OUT = {"ledger.sqlite", "ledger.sqlite-journal", "study.log", "study.log.lock", "running"}


def tables(folder: Path) -> None:
    """Forty nodes in a ring with chords, three classes, three quarters of the labels."""
    draw = random.Random(0)
    names = ["red", "green", "blue"]
    rows = ["id,size,shape,colour"]
    for i in range(40):
        label = names[i % 3] if draw.random() < 0.75 or i < 6 else ""
        rows.append(f"n{i},{draw.gauss(i % 3, 1):.4f},{draw.choice(['round', 'square'])},{label}")
    edges = ["source,target", *(f"n{i},n{(i + 1) % 40}" for i in range(40))]
    edges += [f"n{i},n{(i + 3 * draw.randint(1, 12)) % 40}" for i in range(40)]
    (folder / "nodes.csv").write_text("\n".join(rows) + "\n")
    (folder / "edges.csv").write_text("\n".join(edges) + "\n")


def prepare(log: Path | None, clock: random.Random | None = None) -> None:
    """Makes a process comparable: its clock stands still; what it works on is written to a log."""
    import optuna

    from clgnn.collective import iteration, learning
    from clgnn.experiments import run, tuning
    from clgnn.report import leaderboard as board
    from clgnn.report import tuning as page

    def note(what: str) -> None:
        if log is not None:
            with open(log, "a") as file:
                file.write(what + "\n")

    def noted(function: Callable[..., Any], name: Callable[..., str]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            note(name(*arguments))
            return function(*arguments, **keywords)

        return call

    iteration.SNAPSHOT_SECONDS = 0.0  # as often as can be
    for module in (iteration, run):
        module.time = Still()  # type: ignore[attr-defined]
    page.made_now = board.made_now = list  # type: ignore[attr-defined]
    run.peak_memory = lambda: 1.0
    run.now = lambda: "2026-01-01T00:00:00.000000+00:00"
    run.revision = lambda: "0"
    if clock is not None:
        days, real = 86400, time.time
        run.now = lambda: f"{clock.randint(1970, 2100)}-01-01T00:00:00.000000+00:00"
        time.time = lambda: real() + clock.uniform(-10_000 * days, 10_000 * days)
    optuna.trial.FrozenTrial.duration = property(lambda self: None)  # type: ignore[assignment]
    run.run_trial = noted(run.run_trial, lambda trial, *_: f"trial {trial.key}")
    learning.iterate = noted(learning.iterate, lambda steps, *_: f"iteration {steps.t}")
    tuning._model = noted(tuning._model, lambda *given: f"settings {json.dumps(given[3], sort_keys=True)}")


class Still:
    """Time, as far as it is measured, stands still."""

    @staticmethod
    def perf_counter() -> float:
        return 0.0


def fork(arguments: list[str], place: Path, log: Path, **how: Any) -> int:
    """Starts a command in a process of its own, which has everything imported already; gives its id."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.chdir(place)
        full = how.get("room") is not None  # then what it says and notes could not be written either
        out = os.open(os.devnull if full else "../said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(out, 1)
        os.dup2(out, 2)
        clock = how.get("clock")
        prepare(None if full else log, None if clock is None else random.Random(clock))
        if full:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (how["room"], how["room"]))
        from clgnn.cli import main

        main.main(arguments, prog_name="clgnn")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def ended(child: int) -> int:
    """Waits; the exit code, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def outputs(place: Path) -> dict[str, bytes]:
    """All files that a command wrote, but for those that are left out."""
    files = (file for file in sorted(place.rglob("*")) if file.is_file())
    named = {str(file.relative_to(place)): file for file in files}
    kept = {n: f.read_bytes() for n, f in named.items() if not LEFT_OUT & set(Path(n).parts)}
    return {name: FINISHED.sub(b"", content) for name, content in kept.items()}


def done_before(name: str, place: Path) -> set[str]:
    """The work that was finished when a command was interrupted, in the words of the log."""
    if name in ("compare", "reproduce"):
        from clgnn.experiments.ledger import Ledger

        return {f"trial {key}" for key in Ledger(place / "out").finished()}
    if name == "fit":
        state = place / "model.partial" / "checkpoint.json"
        if state.is_file():
            return {f"iteration {t}" for t in range(len(json.loads(state.read_text())["sha256"]))}
    if name == "tune" and (place / "out" / "study.log").is_file():
        from clgnn.experiments.tuning import _DONE, _study

        try:
            trials = _study(place / "out").trials
        except KeyError:  # it was killed before there was a study
            return set()
        return {f"settings {json.dumps(t.params, sort_keys=True)}" for t in trials if t.state in _DONE}
    return set()


class Arena:
    """Where commands are interrupted; knows what each gives, and how long it takes, if nobody does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.expected: dict[str, dict[str, bytes]] = {}
        self.seconds: dict[str, float] = {}
        self.sizes: dict[str, int] = {}
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        tables(folder)
        self.warm()
        for name in COMMANDS:
            twice = []
            for _ in range(2):
                place = self.fresh()
                began = time.perf_counter()
                code = ended(fork(COMMANDS[name], place, self.folder / "log.txt"))
                self.seconds[name] = time.perf_counter() - began
                if code:
                    raise SystemExit(f"{name} alone ends with {code}: {(folder / 'said.txt').read_text()}")
                twice.append(outputs(place))
                files = [file.stat().st_size for file in place.rglob("*") if file.is_file()]
                self.sizes[name] = max(files)
            self.expected[name] = twice[0]
            if differing := self.differing(name, twice[1]):
                raise SystemExit(f"{name} alone does not give the same twice: {differing}")
            if name == "fit":
                shutil.copytree(place / "model", folder / "model")
            print(f"{name}: {self.seconds[name]:.2f} s, {len(twice[0])} files", flush=True)

    def warm(self) -> None:
        """Runs every command in this process, so that those that are forked have all modules at once."""
        from clgnn.cli import main

        here, place = Path.cwd(), self.fresh()
        os.chdir(place)
        for name, arguments in COMMANDS.items():
            main.main(arguments, prog_name="clgnn", standalone_mode=False)
            if name == "fit":
                shutil.copytree("model", "../model")
            shutil.rmtree("out", ignore_errors=True)
        os.chdir(here)
        shutil.rmtree(self.folder / "model")
        gc.collect()
        gc.freeze()  # a trial collects garbage: not among all that was imported, in each process anew

    def fresh(self) -> Path:
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        (self.folder / "said.txt").write_text("")
        return place

    def differing(self, name: str, found: dict[str, bytes]) -> list[str]:
        expected = self.expected[name]
        return sorted(n for n in expected.keys() | found.keys() if expected.get(n) != found.get(n))

    def case(self, number: int, way: str, seed: int) -> dict[str, Any]:
        """Interrupts a command, perhaps more than once, and runs it to its end."""
        draw = random.Random(f"{seed} {number}")
        name = draw.choices(list(SHARES), list(SHARES.values()))[0]
        place, log = self.fresh(), self.folder / "log.txt"
        found = {"number": number, "way": way, "command": name, "kills": 0, "codes": []}
        again = [*COMMANDS[name], *RESUMES.get(name, [])]
        finished: set[str] = set()
        repeated: list[str] = []
        for turn in range(draw.choice([1, 2, 5, 10])):
            log.write_text("")
            arguments = again if turn else COMMANDS[name]
            how: dict[str, Any] = {}
            if way == "full":
                how["room"] = int(self.sizes[name] * draw.random() ** 2)
            if way == "clock":
                how["clock"] = draw.randint(0, 10**6)
            children = [fork(arguments, place, log, **how) for _ in range(2 if way == "two" else 1)]
            if way == "kill" or (way == "two" and draw.random() < 0.5):
                time.sleep(draw.uniform(0, 1.05 * self.seconds[name]))
                os.kill(children[0], signal.SIGKILL)
            codes = [ended(child) for child in children]
            found["kills"] += codes.count(-signal.SIGKILL)
            found["codes"] += codes
            if way != "two":
                repeated += sorted(finished & set(log.read_text().splitlines()))
            finished |= done_before(name, place)
        log.write_text("")
        last = ended(fork(again, place, log))
        repeated += sorted(finished & set(log.read_text().splitlines()))
        said = (self.folder / "said.txt").read_text()
        there = last == 2 and "exists; choose another" in said.strip().splitlines()[-1]  # it was done already
        rest = outputs(place)
        hidden = {n for n in rest if any(part.startswith(".") for part in Path(n).parts)}
        partial = {n for n in rest if n.startswith("model.partial")} if there else set()
        wrong = self.differing(name, {n: c for n, c in rest.items() if n not in hidden | partial})
        found |= {"last": last, "there": there, "left": len(hidden), "partial": len(partial)}
        strange = [code for code in found["codes"] if code not in (0, 2, -signal.SIGKILL)]
        found["bad"] = [
            *([f"differs: {wrong}"] if wrong else []),
            *([f"done twice: {repeated}"] if repeated else []),
            *([f"ends with {last}"] if last and not there else []),
            *([f"ended with {strange}"] if strange else []),
            *(["a traceback"] if "Traceback" in said else []),
        ]
        if found["bad"]:
            found["said"] = said[-3000:]
        return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills")
    parser.add_argument("--way", choices=["kill", "full", "two", "clock"], default="kill")
    parser.add_argument("--number", type=int, default=1000, help="kills, or cases of another way, in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    threadpool_limits(1)
    given.out.mkdir(parents=True, exist_ok=True)
    record = given.out / "cases.jsonl"
    cases = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    arena = Arena(given.out / "arena")
    began = time.perf_counter()

    def reached() -> int:
        return sum(case["kills"] for case in cases) if given.way == "kill" else len(cases)

    while reached() < given.number:
        case = arena.case(len(cases), given.way, given.seed)
        cases.append(case)
        with open(record, "a") as file:
            file.write(json.dumps(case) + "\n")
        if case["bad"]:
            print(json.dumps(case), flush=True)
        if len(cases) % 50 == 0:
            print(f"{len(cases)} cases, {sum(c['kills'] for c in cases)} kills", flush=True)
    kills = Counter(case["command"] for case in cases for _ in range(case["kills"]))
    bad = [case for case in cases if case["bad"]]
    print(f"{given.way}, seed {given.seed}: {len(cases)} cases, {sum(kills.values())} kills ({dict(kills)})")
    there, left = (sum(bool(case[name]) for case in cases) for name in ("there", "left"))
    print(f"{len(bad)} went wrong; the output was there already in {there}; {left} left a temporary file")
    print(f"{time.perf_counter() - began:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
