"""The table of arguments, and what is made from it or says the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, TypedDict

import pytest

from pgrecall.core import limits
from pgrecall.core.checks import SHARE, K, Needs, Number, arguments_of, checked, descriptions
from pgrecall.core.resources import sql_folder
from pgrecall.errors import InputError
from pgrecall.memories.listing import MOST
from pgrecall.migrate.repeatable import files
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.filters import FilterArguments

CONCEPTS = Path(__file__).parents[2] / "docs" / "concepts.md"
LIMITS = {
    "an id of an agent": [limits.MAX_NAME_LENGTH],
    "a subject": [limits.MAX_TEXT_LENGTH],
    "the text of a query": [limits.MAX_QUERY_LENGTH, limits.MAX_FILTER_TEXT],
    "tags": [limits.MAX_VALUES],
    "metadata": [limits.MAX_METADATA, limits.MAX_DEPTH],
    "a filter on metadata": [limits.MAX_COMPARISONS, limits.MAX_VALUES, limits.MAX_DEPTH],
    "`k`": [K.most, limits.MAX_CONSIDERED],
    "entities of a query": [limits.MAX_QUERY_ENTITIES],
    "turns around a hit": [limits.MAX_EXPAND_SESSION],
}
"""How a row of the page begins → the numbers that it begins with."""


def test_the_page_of_limits_has_the_numbers_that_hold() -> None:
    _, _, table = CONCEPTS.read_text(encoding="utf-8").partition("\n## Limits\n")
    rows = dict(re.findall(r"^\| (.*?) \| (.*?) \|$", table, re.MULTILINE))
    for begin, numbers in LIMITS.items():
        [said] = [limit for what, limit in rows.items() if re.match(rf"{begin}\b|{begin}$", what)]
        found = [int(one.replace(",", "")) for one in re.findall(r"\d[\d,]*\d|\d", said)]
        assert found[: len(numbers)] == numbers, begin


class Own(TypedDict, total=False):
    share: Annotated[float | None, SHARE, Needs(("whole",), "needs a whole")]
    """The share."""
    whole: int
    flag: bool


def test_an_entry_is_a_type_a_check_and_what_it_needs() -> None:
    table = arguments_of(Own)

    assert table["share"] == (float, Number(0, 1), Needs(("whole",), "needs a whole"), True)
    assert checked(Own, {"share": None}) == {}
    assert checked(Own, {"share": 1e-200, "whole": 3}) == {"share": 0.0, "whole": 3}
    assert checked(Own, {"share": 0.5}, also=("whole",)) == {"share": 0.5}
    for wrong, said in (
        ({"share": 0.5}, "share needs a whole"),
        ({"share": 0.5, "whole": 0}, "share needs a whole"),
        ({"share": 2, "whole": 1}, "share must lie within 0 and 1, got 2"),
        ({"flag": None}, "flag must be True or False, got None"),
    ):
        with pytest.raises(InputError, match=said):
            checked(Own, wrong)
    assert descriptions(Own) == {"share": "The share."}


def test_every_argument_has_a_docstring() -> None:
    said = {**descriptions(FilterArguments), **descriptions(SearchArguments)}

    assert said.keys() == SearchArguments.__annotations__.keys()


def test_sql_has_no_limit_of_its_own() -> None:
    """Numbers and lists of words that the limits have are named there."""
    lists = (limits.STATUSES, limits.TIERS)
    numbers = {limits.MAX_TEXT_LENGTH, limits.MAX_QUERY_LENGTH, limits.MAX_METADATA, MOST}
    forbidden = [*map(",".join, lists), *(str(n) for n in numbers), *(f"{n:,}" for n in numbers)]
    for folder in ("recall", "verbs", "words"):
        for path in (sql_folder() / folder).glob("*.sql"):
            text = path.read_text(encoding="utf-8")
            for one in forbidden:
                assert not re.search(rf"(?<![\d,]){one}(?![\d,])", text), (path.name, one)
    for file in files():
        left = {*re.findall(r"@[a-zA-Z_,]+@", file.text)} - {"@extschema@"}
        assert not left, file.path
