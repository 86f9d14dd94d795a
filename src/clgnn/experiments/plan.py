"""Which trials an experiment has: the cells of the paper's tables, and the settings of each.

Importing this module needs none of torch, pandas and scikit-learn: a command line can offer the names.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import product
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clgnn.baselines import PLAIN, make
from clgnn.estimators.settings import CollectiveSettings, all_epochs, as_plain
from clgnn.experiments.methods import (
    BOOSTS,
    CELL,
    EXTRA,
    GENERAL,
    GNNS,
    NAMED,
    NEEDS_TEST_LABELS,
    OWN_TRAINING,
    RIVALS,
    TABULAR,
    Cell,
    check,
    gnn_of,
    methods,
)

if TYPE_CHECKING:
    from clgnn.estimators.node import NodeEstimator

EXPERIMENTS = ("main", "learning-curve", "ablation-uniform", "ablation-predicted", "running-time")
"""The names of the paper's tables and figures that can be run."""
TUNING_SPLITS = (1000, 1001)
"""The splits that choose settings; no result comes from them."""
_FOR = ("dataset", "train_labels", "test_label_percent", "gnn", "method")


@dataclass(frozen=True)
class Trial:
    """One fit and its test.

    Attributes:
        dataset: the name of the dataset.
        train_labels: the number of training labels, as the paper's tables print it.
        test_label_percent: 0 or 50.
        method: a GNN (``"gcn"``); its boosted self (``"gcn+cl"``, or for the ablations
            ``"gcn+cl-uniform"`` and ``"gcn+cl-observed"``); or a rival.
        trial: the number of the split, and the seed of the method.
        settings: the settings of the method, as JSON with sorted keys; all others have their defaults.
    """

    dataset: str
    train_labels: int
    test_label_percent: int
    method: str
    trial: int
    settings: str

    @property
    def cell(self) -> Cell:
        """The cell of a table that this trial counts in."""
        return self.dataset, self.train_labels, self.test_label_percent, self.method

    @property
    def key(self) -> str:
        """A hash of everything that the result depends on."""
        content = json.dumps([*self.cell, self.trial, json.loads(self.settings)], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    def model(self) -> NodeEstimator:
        """A new model of the method, yet to be fitted."""
        from clgnn.estimators.collective import CollectiveClassifier

        # ledgers of version 0.1 name no start: theirs was the paper's, and so it still is left out
        given = {"start": "paper", **json.loads(self.settings), "seed": self.trial}
        if gnn_of(self.method) is None:
            return make(self.method, **given)
        return CollectiveClassifier(**given)


@dataclass(frozen=True)
class Config:
    """The settings of all trials by rules, and the grid that tuning searches; see ``paper.toml``.

    Attributes:
        rules: pairs of conditions and settings; a later rule overrides an earlier one.
        grid: the values to try of each setting.
    """

    rules: tuple[tuple[dict[str, Any], dict[str, Any]], ...]
    grid: dict[str, list[Any]]

    def settings(self, cell: Cell) -> dict[str, Any]:
        """What the rules set for a cell.

        Example:
            >>> config = read_config()
            >>> config.settings(("friendster", 641, 50, "gcn+cl"))["num_samples"]
            8
        """
        facts = {**dict(zip(CELL, cell, strict=True)), "gnn": gnn_of(cell[3]) or "gcn"}
        found: dict[str, Any] = {}
        for conditions, values in self.rules:
            if all(facts[name] == value for name, value in conditions.items()):
                found |= values
        return found

    def own_settings(self, cell: Cell) -> dict[str, Any]:
        """What those rules set for a cell that name its method."""
        only = tuple(rule for rule in self.rules if rule[0].get("method") == cell[3])
        return replace(self, rules=only).settings(cell)


def read_config(path: str | PathLike[str] | None = None, quick: bool = False) -> Config:
    """The settings of a TOML file, or the paper's.

    Args:
        path: a file like ``paper.toml``; None for the paper's settings.
        quick: cuts all fits down to seconds.

    Raises:
        ValueError: if the file is no TOML, or has an entry that means nothing.
    """
    texts = [Path(path).read_text(encoding="utf-8") if path is not None else config_text()]
    if quick:
        texts.append(config_text("quick.toml"))
    rules: list[tuple[dict[str, Any], dict[str, Any]]] = []
    grid: dict[str, list[Any]] = {}
    for text in texts:
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(
                f"{path} is no TOML ({error}); expected a file like `clgnn reproduce --print-config` prints"
            ) from error
        for rule in content.get("rule", []):
            conditions, values = rule.get("for", {}), rule.get("set", {})
            for name in conditions.keys() - set(_FOR):
                raise ValueError(f"a rule in {path} is for {name!r}; expected {', '.join(_FOR)}")
            for name in rule.keys() - {"for", "set"}:
                raise ValueError(f"a rule in {path} has {name!r}; expected for and set")
            rules.append((conditions, values))
        for name in content.keys() - {"rule", "grid"}:
            raise ValueError(f"{path} has {name!r}; expected [[rule]] and [grid]")
        grid |= content.get("grid", {})
    return Config(tuple(rules), grid)


def config_text(name: str = "paper.toml") -> str:
    """The text of a configuration that comes with clgnn: ``paper.toml`` or ``quick.toml``."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def trial_of(cell: Cell, number: int, config: Config, **tuned: Any) -> Trial:
    """A trial with the settings of a configuration, and tuned ones over them.

    Raises:
        ValueError: if there is no such method, or no such setting.
    """
    method = cell[3]
    check(method)
    given = _rival(cell, config, tuned) if gnn_of(method) is None else _gnn(cell, config, tuned)
    if given.get("start") == "paper":
        del given["start"]
    return Trial(*cell, number, json.dumps(given, sort_keys=True))


def _gnn(cell: Cell, config: Config, tuned: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a GNN; a plain one has the epochs of all iterations of its boosted self."""
    from clgnn.estimators.collective import CollectiveClassifier

    general = {**_schedule(), **config.settings(cell), **tuned}
    gnn, _, boost = cell[3].partition("+")
    given = {**general, "gnn": gnn, **BOOSTS[boost or "cl"]}
    if not boost:
        given = as_plain(given)
    elif given["num_iterations"] == 0:  # nothing is boosted: the budget of all stages is one's own
        given |= all_epochs(general)
    for name in given.keys() - CollectiveClassifier().get_params(deep=False).keys():
        raise ValueError(f"{name!r} is no setting of {cell[3]}; expected one of CollectiveClassifier")
    return given


def _rival(cell: Cell, config: Config, tuned: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a rival: those of a GNN, if it trains one, and those of the rules that name it."""
    general = {**_schedule(), **config.settings(cell), **tuned}
    given = {name: value for name, value in general.items() if name in GENERAL}
    if cell[3] not in OWN_TRAINING:
        given = {**general, "gnn": "gcn"}
    if cell[3] in PLAIN:
        given |= all_epochs(general)
    return {**given, **config.own_settings(cell), **tuned}


def _schedule() -> dict[str, Any]:
    """The defaults that the number of a plain GNN's epochs comes from."""
    defaults = CollectiveSettings()
    return {name: getattr(defaults, name) for name in ("start", "max_epochs", "patience", "num_iterations")}


@cache
def datasets() -> tuple[str, ...]:
    """The paper's datasets; Facebook100 stands in for its Facebook, which was never published."""
    from clgnn.data.datasets import FACEBOOK100

    return "cora", "pubmed", "friendster", FACEBOOK100, "protein"


@cache
def experiments() -> dict[str, list[Cell]]:
    """The cells of each of :data:`EXPERIMENTS`."""
    pairs = [f"{gnn}{boost}" for gnn in GNNS for boost in ("", "+cl")]
    starts = [f"{gnn}+{boost}" for gnn in ("gcn", "sage") for boost in ("start-mean", "cl-auto")]
    starts += ["sage+all-labels", "sage+cl-all-labels"]  # GCN's are among the extra rivals
    starts += [f"{gnn}+cl-all-labels-auto" for gnn in ("gcn", "sage")]
    uniform = [f"{gnn}{boost}" for gnn in GNNS for boost in ("", "+cl-uniform")]
    made = (
        _cells(datasets(), (0, 50), [*pairs, *starts, *RIVALS, *EXTRA, *NAMED, *TABULAR]),
        _cells(("cora", "pubmed"), (0, 50), [*pairs, *RIVALS[:3]], all_columns=True),
        _cells(datasets(), (0,), uniform, all_columns=True),
        [
            *_cells(("cora",), (50,), ["gcn+cl", "gcn+cl-observed"]),
            *_cells(("pubmed",), (50,), ["tk+cl", "tk+cl-observed"]),
        ],
        _cells(datasets()[:4], (0, 50), ["gcn", "gcn+cl", "tk", "tk+cl"]),
    )
    return dict(zip(EXPERIMENTS, made, strict=True))


def _cells(
    names: Iterable[str], percents: Sequence[int], wanted: Iterable[str], all_columns: bool = False
) -> list[Cell]:
    from clgnn.data.splits import COLUMNS

    columns = [
        (dataset, labels)
        for dataset in names
        for labels in (COLUMNS[dataset] if all_columns else COLUMNS[dataset][:1])
    ]
    return [
        (dataset, labels, percent, name)
        for name in wanted
        for dataset, labels in columns
        for percent in percents
        if percent or name not in NEEDS_TEST_LABELS
    ]


def cells(experiment: str, only: Sequence[str] = (), names: Sequence[str] = ()) -> list[Cell]:
    """The cells of an experiment, each once.

    Args:
        experiment: one of :data:`EXPERIMENTS`, or ``"all"``.
        only: some of the datasets; all by default. ``"facebook"`` means what stands in for it.
        names: some of the methods; all by default.

    Raises:
        ValueError: if a name is unknown, or no cell is left.

    Example:
        >>> cells("main", ["cora"], ["gcn"])
        [('cora', 85, 0, 'gcn'), ('cora', 85, 50, 'gcn')]
    """
    from clgnn.data.datasets import FACEBOOK100

    if experiment != "all" and experiment not in EXPERIMENTS:
        raise ValueError(f"experiment is {experiment!r}; expected {', '.join(EXPERIMENTS)} or all")
    wanted = [FACEBOOK100 if name in ("facebook", "facebook100") else name for name in only]
    for name in wanted:
        if name not in datasets():
            raise ValueError(f"dataset is {name!r}; expected {', '.join(datasets())}")
    for name in names:
        if name not in methods():
            raise ValueError(f"method is {name!r}; expected {', '.join(methods())}")
    chosen = experiments().values() if experiment == "all" else [experiments()[experiment]]
    found = dict.fromkeys(cell for some in chosen for cell in some)
    left = [cell for cell in found if (not wanted or cell[0] in wanted) and (not names or cell[3] in names)]
    if not left:
        raise ValueError(f"{experiment} has none of these methods on these datasets; ask for others")
    return left


def number_of_trials(experiment: str, cell: Cell) -> int:
    """How many trials the paper has of a cell.

    Example:
        >>> cell = ("cora", 85, 50, "gcn+cl")
        >>> number_of_trials("main", cell), number_of_trials("ablation-predicted", cell)
        (5, 10)
    """
    ablation = experiment in ("all", "ablation-predicted")
    return 10 if ablation and cell in experiments()["ablation-predicted"] else 5


def trials(
    numbers: Mapping[Cell, int], config: Config, tuned: Mapping[Cell, Mapping[str, Any]] | None = None
) -> list[Trial]:
    """The trials of cells: first those with number 0, so that there soon is a bit of everything.

    Args:
        numbers: how many trials of each cell.
        config: their settings.
        tuned: the settings of some cells that go over those of ``config``.
    """
    best = tuned or {}
    made = (
        trial_of(cell, i, config, **best.get(cell, {}))
        for cell, number in numbers.items()
        for i in range(number)
    )
    return sorted(made, key=lambda trial: trial.trial)


def tuning(chosen: Sequence[Cell], config: Config) -> Iterator[tuple[Cell, dict[str, Any], list[Trial]]]:
    """The trials of the grid: every combination for each cell of a GNN, plain and boosted alike."""
    for cell in chosen:
        if gnn_of(cell[3]) is None:
            continue
        for values in product(*config.grid.values()):
            point = dict(zip(config.grid, values, strict=True))
            yield cell, point, [trial_of(cell, number, config, **point) for number in TUNING_SPLITS]
