"""How a column of a table becomes features: as numbers, categories, dates or embeddings.

How a column is read is learned once, in training; later tables are read in the same way. A column that could
be misread is refused, and the message says how to declare what it is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from clgnn.data.typed import checked
from clgnn.data.values import Kind, days, kind_of, numbers, quoted, texts, vectors

MAX_CATEGORIES = 1000  # of a column that was not declared
FEW_ROWS = 20  # with fewer, texts that all differ say nothing
FEW_AMOUNTS = 10  # with fewer of them, amounts and days may well be categories
_DAYS = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}.*"
_AMOUNTS = r"[^\w\s]?\s*[-+]?\d[\d.,']*(\s+[^\d\s]{1,4}|\s*[^\w\s])|[^\w\s]\s*[-+]?\d[\d.,']*"


@dataclass(frozen=True)
class NumberColumn:
    """Numbers, as (value - mean) / std. A blank is the mean; a constant column is 0.

    Words, flags and counts are mostly 0, and what they say is where they are not. So a column of 0 and 1
    stays as it is, and one that is mostly 0 and never below is divided by the mean of its other values: 0
    stays 0, and so does a blank. Scaled like the others, a rare word would be a huge number.

    Attributes:
        name: the column.
        mean, std: of the values in training; std is 0 if they are all the same. Where 0 stays 0, the mean is
            0, and std the mean of the other values.
        blanks: how many cells were blank in training.
        keeps_zero: whether 0 stays 0.

    Example:
        >>> NumberColumn("age", mean=30.0, std=10.0).encode(pd.Series([20, None])).tolist()
        [[-1.0], [0.0]]
        >>> learn_column(pd.Series([0, 0, 0, 3, 1], name="letters")).encode(pd.Series([0, 4])).tolist()
        [[0.0], [2.0]]
    """

    kind: ClassVar = "number"
    name: str
    mean: float
    std: float
    blanks: int = 0
    keeps_zero: bool = False

    @property
    def width(self) -> int:
        """How many columns of x it makes."""
        return 1

    def encode(self, series: pd.Series[Any]) -> NDArray[np.float32]:
        """The column as features ``[N, 1]``."""
        return _scaled(numbers(series), self.mean, self.std)[:, None]

    def describe(self) -> str:
        """What the values in training were."""
        if self.std == 0:
            return "constant, it says nothing" + _blanks(self.blanks)
        if self.keeps_zero:
            others = "0 and 1" if self.std == 1 else f"0 stays 0, mean of the others {self.std:.4g}"
            return others + _blanks(self.blanks)
        return f"mean {self.mean:.4g}, std {self.std:.4g}" + _blanks(self.blanks)


@dataclass(frozen=True)
class DateColumn:
    """Dates, as the days since 1970, scaled like numbers.

    Attributes:
        name: the column.
        mean, std: of the days in training; std is 0 if they are all the same.
        blanks: how many cells were blank in training.

    Example:
        >>> DateColumn("born", mean=10.0, std=5.0).encode(pd.Series(["1970-01-06", ""])).tolist()
        [[-1.0], [0.0]]
    """

    kind: ClassVar = "date"
    name: str
    mean: float
    std: float
    blanks: int = 0

    @property
    def width(self) -> int:
        """How many columns of x it makes."""
        return 1

    def encode(self, series: pd.Series[Any]) -> NDArray[np.float32]:
        """The column as features ``[N, 1]``."""
        return _scaled(days(series), self.mean, self.std)[:, None]

    def describe(self) -> str:
        """What the dates in training were."""
        if self.std == 0:
            return "constant, it says nothing" + _blanks(self.blanks)
        mean = date(1970, 1, 1) + timedelta(days=round(self.mean))
        return f"mean {mean}, std {self.std:.4g} days" + _blanks(self.blanks)


@dataclass(frozen=True)
class TextColumn:
    """Categories, one-hot. A blank, or a text that was not there in training, has zeros only.

    Attributes:
        name: the column.
        categories: the texts in training, sorted.
        blanks: how many cells were blank in training.

    Example:
        >>> TextColumn("job", ("baker", "smith")).encode(pd.Series(["smith", None])).toarray().tolist()
        [[0.0, 1.0], [0.0, 0.0]]
    """

    kind: ClassVar = "text"
    name: str
    categories: tuple[str, ...]
    blanks: int = 0

    @property
    def width(self) -> int:
        """How many columns of x it makes."""
        return len(self.categories)

    def encode(self, series: pd.Series[Any]) -> sp.csr_array:
        """The column as sparse features ``[N, C]``."""
        codes = pd.Index(self.categories).get_indexer(pd.Index(texts(series)))
        rows = np.flatnonzero(codes >= 0)
        values = np.ones(len(rows), np.float32)
        return sp.csr_array((values, (rows, codes[rows])), shape=(len(series), len(self.categories)))

    def describe(self) -> str:
        """How many categories there were in training."""
        return _count(len(self.categories), "value") + _blanks(self.blanks)


@dataclass(frozen=True)
class EmbeddingColumn:
    """Lists of numbers, all of one length; each dimension is scaled like a column of numbers.

    Attributes:
        name: the column.
        mean, std: of each dimension in training; std is 0 where all values are the same.
        blanks: how many cells were blank in training.

    Example:
        >>> EmbeddingColumn("vector", (0.0, 1.0), (1.0, 2.0)).encode(pd.Series([[1, 5], None])).tolist()
        [[1.0, 2.0], [0.0, 0.0]]
    """

    kind: ClassVar = "embedding"
    name: str
    mean: tuple[float, ...]
    std: tuple[float, ...]
    blanks: int = 0

    @property
    def width(self) -> int:
        """How many columns of x it makes."""
        return len(self.mean)

    def encode(self, series: pd.Series[Any]) -> NDArray[np.float32]:
        """The column as features ``[N, d]``."""
        read = vectors(series)
        if series.isna().all():
            return np.zeros((len(series), len(self.mean)), np.float32)
        if read.shape[1] != len(self.mean):
            raise ValueError(
                f"column {self.name!r} has lists of {read.shape[1]} numbers; expected {len(self.mean)}, "
                "as in training"
            )
        for i, (mean, std) in enumerate(zip(self.mean, self.std, strict=True)):
            read[:, i] = _scaled(read[:, i].astype(np.float64), mean, std)
        return read

    def describe(self) -> str:
        """How many dimensions there are."""
        return _count(len(self.mean), "dimension") + _blanks(self.blanks)


Column: TypeAlias = NumberColumn | TextColumn | DateColumn | EmbeddingColumn
_COLUMNS: dict[str, Any] = {c.kind: c for c in (NumberColumn, TextColumn, DateColumn, EmbeddingColumn)}


def learn_column(series: pd.Series[Any], declared: Kind | None = None) -> Column:
    """How a column is to be read, here and in later tables.

    Args:
        series: the column in training, ``[N]``.
        declared: what the user says that it is; by default its type and its values tell.

    Raises:
        ValueError: if it is not what it was declared to be, or could be misread.

    Example:
        >>> learn_column(pd.Series([1, 2, 2], name="grade"), "text")
        TextColumn(name='grade', categories=('1', '2'), blanks=0)
        >>> learn_column(pd.Series(["1", "2", "x"], name="age"))
        Traceback (most recent call last):
        ValueError: column 'age' holds numbers, but 1 of its 3 values is not: 'x' in row 3 is the first; ...
    """
    name, kind = str(series.name), declared or kind_of(series)
    if kind == "embedding":
        read = vectors(series)
        scales = [_scale(read[:, i].astype(np.float64)) for i in range(read.shape[1])]
        means, stds = zip(*scales, strict=True) if scales else ((), ())
        return EmbeddingColumn(name, means, stds, int(series.isna().sum()))
    if kind == "text":
        cells = texts(series)
        known = cells.dropna()
        if len(known) and declared is None and not isinstance(series.dtype, pd.CategoricalDtype):
            _refuse_misread(known.set_axis(np.flatnonzero(cells.notna()) + 1), name)
        return TextColumn(name, tuple(sorted(known.unique())), len(cells) - len(known))
    if kind == "date":
        moments = days(series)
        return DateColumn(name, *_scale(moments), int(np.isnan(moments).sum()))
    values = numbers(series)
    blanks, others = int(np.isnan(values).sum()), _where_not_zero(values)
    if others is not None:
        return NumberColumn(name, 0.0, others, blanks, keeps_zero=True)
    return NumberColumn(name, *_scale(values), blanks)


def mostly_numbers(known: pd.Series[Any]) -> tuple[int, str, int] | None:
    """If most texts are numbers: how many are not, the first of these, and its index. Otherwise None.

    A text with a decimal comma counts as meant to be a number.
    """
    wrong = pd.to_numeric(known, errors="coerce").isna()
    commas = pd.to_numeric(known[wrong].str.replace(",", "."), errors="coerce").notna()
    alike = len(known) - int(wrong.sum()) + int(commas.sum())
    if not wrong.any() or 2 * alike <= len(known):
        return None
    return int(wrong.sum()), str(known[wrong].iloc[0]), int(known.index[wrong][0])


def _refuse_misread(known: pd.Series[Any], name: str) -> None:
    """Texts that are no categories: numbers with a few slips, dates, and what tells the nodes apart."""
    option, different = quoted(name), known.nunique()
    if (found := mostly_numbers(known)) is not None:
        count, first, row = found
        wrong = f"{count} of its {len(known)} values {'is' if count == 1 else 'are'} not"
        remedy = "write them with a decimal point" if "," in first else "correct them"
        raise ValueError(
            f"column {name!r} holds numbers, but {wrong}: {first!r} in row {row} is the first; {remedy}, "
            f"or say --blank {quoted(first)}, --categorical {option} or --ignore {option}"
        )
    if known.str.match(r"\d{4}-\d{2}-\d{2}").all():
        moments = pd.to_datetime(known, format="ISO8601", utc=True, errors="coerce")
        if moments.notna().all():
            raise ValueError(
                f"column {name!r} holds dates, such as {known.iloc[0]!r}: say --date {option} to take them "
                f"as days, --categorical {option} or --ignore {option}"
            )
    for pattern, what, remedy in (
        (_DAYS, "dates", "write them as 2024-12-31 and say --date"),
        (_AMOUNTS, "numbers with a unit", "write the numbers alone"),
    ):
        alike = known.str.fullmatch(pattern)
        if different > FEW_AMOUNTS and 2 * int(alike.sum()) > len(known):
            raise ValueError(
                f"column {name!r} holds {what}, such as {known[alike].iloc[0]!r}: {remedy}, or say "
                f"--categorical {option} or --ignore {option}"
            )
    if len(known) >= FEW_ROWS and 2 * different > len(known):
        number = f", --numeric {option}" if pd.to_numeric(known, errors="coerce").notna().all() else ""
        raise ValueError(
            f"column {name!r} has {different} different texts in {len(known)} rows, such as "
            f"{known.iloc[0]!r}; expected categories that many nodes share: say --ignore {option}{number}, "
            f"or --categorical {option} to take each text as a category"
        )
    if different > MAX_CATEGORIES:
        raise ValueError(
            f"column {name!r} has {different} different texts; expected at most {MAX_CATEGORIES} categories: "
            f"say --ignore {option}, or --categorical {option} to take them all"
        )


def column_to_json(column: Column) -> dict[str, Any]:
    """A column as plain values."""
    return {"kind": column.kind, **asdict(column)}


def column_from_json(content: dict[str, Any]) -> Column:
    """The column that :func:`column_to_json` wrote; without a kind it is text or a number.

    Example:
        >>> column_from_json({"name": "age", "mean": 30.0, "std": 10.0})
        NumberColumn(name='age', mean=30.0, std=10.0, blanks=0, keeps_zero=False)
    """
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in content.items()}
    kind = str(fields.pop("kind", "text" if "categories" in fields else "number"))
    column: Column = checked(_COLUMNS[kind](**fields))
    return column


def _scale(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and standard deviation of what is not blank; a deviation of exactly 0 if it is constant."""
    known = values[~np.isnan(values)]
    if not len(known) or known.min() == known.max():
        return float(known[0]) if len(known) else 0.0, 0.0
    return float(known.mean()), float(known.std())


def _where_not_zero(values: NDArray[np.float64]) -> float | None:
    """The mean of the values that are not 0, if they are flags or mostly 0 and never below; else None."""
    known = values[~np.isnan(values)]
    others = known[known != 0]
    if not 0 < len(others) < len(known) or others.min() < 0:
        return None
    return float(others.mean()) if (others == 1).all() or 2 * len(others) < len(known) else None


def _scaled(values: NDArray[np.float64], mean: float, std: float) -> NDArray[np.float32]:
    return np.nan_to_num((values - mean) / (std or 1.0), nan=0.0).astype(np.float32)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _blanks(number: int) -> str:
    return f", {_count(number, 'blank')}" if number else ""
