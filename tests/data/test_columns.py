"""How a column is read: what is what, what is refused, and what the features are."""

import re
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from clgnn.data.columns import (
    DateColumn,
    EmbeddingColumn,
    NumberColumn,
    TextColumn,
    column_from_json,
    column_to_json,
    learn_column,
)


def learn(values, declared=None, **options):
    return learn_column(pd.Series(values, name="c", **options), declared)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 3], NumberColumn),
        ([1.5, None], NumberColumn),
        ([True, False], NumberColumn),
        ([True, None, False], NumberColumn),
        ([Decimal("1.50"), None, Decimal(3)], NumberColumn),
        ([None, None], NumberColumn),
        (["a", None, "b"], TextColumn),
        (["1", "2"], TextColumn),  # text by its type, as codes are
        (pd.Categorical([3, 4]), TextColumn),
        ([date(2020, 1, 1), None], DateColumn),
        (pd.to_datetime(["2020-01-01", None]), DateColumn),
        (pd.to_datetime(["2020-01-01"]).tz_localize("Asia/Tokyo"), DateColumn),
        ([[1, 2], [3, 4]], EmbeddingColumn),
        ([np.ones(2, np.float32), None], EmbeddingColumn),
    ],
)
def test_what_a_column_is(values, expected):
    assert type(learn(values)) is expected


def test_numbers_are_scaled_and_a_blank_is_the_mean():
    learned = learn([10, None, 30])
    assert learned == NumberColumn("c", 20.0, 10.0, 1)
    encoded = learned.encode(pd.Series([40, None, 20]))
    assert encoded.dtype == np.float32
    assert encoded.tolist() == [[2.0], [0.0], [0.0]]
    assert learned.encode(pd.Series(["40", "", " 20"])).tolist() == [[2.0], [0.0], [0.0]]


def test_decimals_and_bools_are_numbers():
    assert learn([Decimal("1.5"), None, Decimal("2.5")]) == NumberColumn("c", 2.0, 0.5, 1)
    assert learn([True, None, False]) == NumberColumn("c", 0.0, 1.0, 1, keeps_zero=True)


@pytest.mark.parametrize(
    ("values", "encoded"),
    [
        ([0, 1, 1, 1], [0, 1, 1, 1]),  # flags stay
        ([0, 0, 0, 2, 4, None], [0, 0, 0, 2 / 3, 4 / 3, 0]),  # counts are of the order of 1
        ([0, 1, 2], [-(1.5**0.5), 0, 1.5**0.5]),  # not mostly 0
        ([0, 0, 0, -1, 1], [0, 0, 0, -(2.5**0.5), 2.5**0.5]),  # below 0
    ],
)
def test_what_is_mostly_zero_stays_zero_there(values, encoded):
    learned = learn(values)
    assert learned.encode(pd.Series(values)).flatten().tolist() == pytest.approx(encoded)
    assert column_from_json(column_to_json(learned)) == learned


@pytest.mark.parametrize("values", [[0.1] * 3, [None, None], [7, None, 7]])
def test_a_constant_column_is_zero(values):
    learned = learn(values)
    assert learned.encode(pd.Series(values)).tolist() == [[0.0]] * len(values)
    assert "constant, it says nothing" in learned.describe()


@pytest.mark.parametrize(
    ("slip", "option"),
    [("oops", "oops"), ("12 EUR", "'12 EUR'"), ("3,5", "3,5"), ("NA", "NA"), ("nan", "nan")],
)
def test_numbers_with_a_few_slips_are_refused(slip, option):
    with pytest.raises(
        ValueError, match=f"column 'c' holds numbers, but 2 of its 6 values are not: {slip!r} in row 3"
    ) as e:
        learn(["1", "", slip, "2", "3", slip, "4"])
    assert f"--blank {option}, --categorical c or --ignore c" in str(e.value)
    assert len(learn(["1", "", slip, "2", "3", slip, "4"], "text").categories) == 5
    with pytest.raises(
        ValueError, match=rf"column 'c' has {slip!r} in row 3 \(2 such rows\); expected a number or a blank"
    ):
        learn(["1", "", slip, "2", "3", slip, "4"], "number")


def test_decimal_commas_are_refused_too():
    with pytest.raises(ValueError, match="holds numbers, but 3 of its 3 values are not: '3,5' in row 1"):
        learn(["3,5", "4,1", "7,0"])


def test_texts_with_a_few_numbers_are_categories():
    assert learn(["a", "b", "1", "2"]).categories == ("1", "2", "a", "b")


def test_numbers_can_be_declared():
    assert learn(["1", "", "3"], "number") == NumberColumn("c", 2.0, 1.0, 1)


def test_codes_can_be_declared_categories_and_blanks_change_nothing():
    learned = learn([3, 1, 3], "text")
    assert learned.categories == ("1", "3")
    for values in ([1, 3], [1.0, 3.0], ["1", " 3"]):
        assert learned.encode(pd.Series(values)).toarray().tolist() == [[1, 0], [0, 1]]
    assert learned.encode(pd.Series([1.0, None, 2.5])).toarray().tolist() == [[1, 0], [0, 0], [0, 0]]


def test_texts_of_blanks_alone_are_no_feature():
    learned = learn(["", " ", "  "])
    assert learned == TextColumn("c", (), 3)
    assert learned.encode(pd.Series(["", "x"])).shape == (2, 0)


@pytest.mark.parametrize("number", [19, 20])
def test_texts_that_tell_the_nodes_apart_are_refused(number):
    names = [f"{i}@example.org" for i in range(number)]
    if number < 20:
        assert len(learn(names).categories) == number
        return
    with pytest.raises(
        ValueError, match=r"20 different texts in 20 rows, such as '0@.*: say --ignore c, or --categorical c"
    ):
        learn(names)
    assert len(learn(names, "text").categories) == 20
    assert len(learn(pd.Categorical(names)).categories) == 20
    assert len(learn(names[:10] * 2).categories) == 10  # half of them differ
    with pytest.raises(ValueError, match="say --ignore c, --numeric c, or --categorical c"):
        learn([str(i) for i in range(20)])


def test_too_many_categories_are_refused_unless_declared():
    many = [f"n{i}" for i in range(1001)] * 3
    with pytest.raises(ValueError, match="1001 different texts; expected at most 1000 categories"):
        learn(many)
    assert len(learn(many, "text").categories) == 1001


def test_texts_that_are_dates_are_refused_unless_declared():
    values = ["2020-01-01", "", "2020-01-03T12:00"]
    with pytest.raises(ValueError, match="column 'c' holds dates, such as '2020-01-01': say --date c"):
        learn(values)
    assert learn(values, "date") == DateColumn("c", 18263.25, 1.25, 1)
    assert learn([*values, "soon"]).categories  # not all of them are dates
    with pytest.raises(
        ValueError, match=r"column 'c' has '31.12.2020' in row 2 .*; expected a date such as 2024-03-01"
    ):
        learn(["2020-01-01", "31.12.2020"], "date")


def test_dates_are_days():
    learned = learn(pd.to_datetime(["1970-01-01", "1970-01-03", None]))
    assert learned == DateColumn("c", 1.0, 1.0, 1)
    for values in (
        pd.to_datetime(["1970-01-04", None]),
        ["1970-01-04", ""],
        [date(1970, 1, 4), None],
        pd.to_datetime(["1970-01-04T09:00", None]).tz_localize("Asia/Tokyo"),
        ["1970-01-03T20:00-04:00", None],
    ):
        assert learned.encode(pd.Series(values)).tolist() == [[2.0], [0.0]]
    assert learned.describe() == "mean 1970-01-02, std 1 days, 1 blank"
    assert learn([20200101, 20200103], "date").mean == learn(["2020-01-02"], "date").mean


def test_embeddings_are_scaled_by_dimension():
    learned = learn([[0, 5], [2, 5], None])
    assert learned == EmbeddingColumn("c", (1.0, 5.0), (1.0, 0.0), 1)
    assert learned.encode(pd.Series([np.array([3.0, 7.0]), None])).tolist() == [[2.0, 2.0], [0.0, 0.0]]
    assert learned.encode(pd.Series([None, None])).tolist() == [[0.0, 0.0]] * 2
    with pytest.raises(ValueError, match="column 'c' has lists of 3 numbers; expected 2, as in training"):
        learned.encode(pd.Series([[1, 2, 3]], name="c"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [[1, 2], None, [1, 2, 3]],
            "a list of 3 in row 3, and of 2 in row 1; expected lists of equal length.*--ignore c",
        ),
        ([[1, 2], 5], "has 5 in row 2; expected a list of numbers"),
        ([[1, 2], "x"], "has 'x' in row 2; expected a list of numbers"),
        ([[1, 2], ["1", "2"]], r"has \['1', '2'\] in row 2; expected a list of numbers"),
        ([[1, 2], [[1], [2]]], r"has \[\[1\], \[2\]\] in row 2; expected a list of numbers"),
        ([[1, 2], [np.inf, 0]], r"has \[inf, 0\] in row 2; expected a list of numbers"),
        ([{"a": 1}], "column 'c' is of type mixed; expected numbers, texts, dates or lists.*--ignore c"),
        ([b"x"], "column 'c' is of type bytes"),
        (pd.to_timedelta([1, 2]), "column 'c' is of type timedelta"),
        ([1 + 2j], "column 'c' is of type complex128"),
        ([1, np.inf], "column 'c' is infinite in row 2"),
    ],
)
def test_what_is_no_feature_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        learn(values)


def test_names_are_quoted_for_a_shell():
    with pytest.raises(ValueError, match="--date 'date of birth'"):
        learn_column(pd.Series(["2020-01-01"], name="date of birth"))


def test_columns_are_plain_values():
    for values, declared in (
        ([1, 2, None], None),
        (["a", "b"], None),
        (["2020-01-01"], "date"),
        ([[1, 2]], None),
    ):
        learned = learn(values, declared)
        assert column_from_json(column_to_json(learned)) == learned
    assert column_from_json({"name": "a", "mean": 1.0, "std": 2.0}) == NumberColumn("a", 1.0, 2.0)
    assert column_from_json({"name": "b", "categories": ["x", "y"]}) == TextColumn("b", ("x", "y"))


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([f"{i} EUR" for i in range(15)], "numbers with a unit, such as '0 EUR'"),
        ([f"{i},5%" for i in range(15)], "numbers with a unit"),
        ([f"${i}.99" for i in range(15)], "numbers with a unit"),
        ([f"{i + 1}/12/2024" for i in range(15)], "dates, such as '1/12/2024'"),
        ([f"{i + 10}.06.99" for i in range(15)], "dates"),
    ],
)
def test_amounts_and_days_are_no_categories(values, what):
    with pytest.raises(
        ValueError, match=re.escape(f"column 'c' holds {what}") + ".*--categorical c or --ignore c"
    ):
        learn(values * 3)
    assert len(learn(values * 3, "text").categories) == 15


@pytest.mark.parametrize("values", [["A1", "B2", "C3"], ["12 EUR", "15 EUR"], ["room 7", "room 8"]])
def test_a_few_codes_are_categories(values):
    assert learn(values * 5).categories == tuple(sorted(values))
