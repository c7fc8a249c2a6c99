"""The table of arguments, and what is made from it or says the same."""

from __future__ import annotations

import re
from pathlib import Path

from pgrecall.core import limits
from pgrecall.core.checks import K, descriptions
from pgrecall.core.resources import sql_folder
from pgrecall.memories.listing import MOST
from pgrecall.migrate.repeatable import files
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.filters import FilterArguments

CONCEPTS = Path(__file__).parents[2] / "docs" / "concepts.md"
MOST_KEYS = limits.MAX_DEPTH - 1
"""Of a path, behind metadata."""
LIMITS = {
    "an id of an agent": [limits.MAX_NAME_LENGTH],
    "a subject": [limits.MAX_TEXT_LENGTH],
    "the text of a query": [limits.MAX_QUERY_LENGTH, limits.MAX_FILTER_TEXT],
    "tags": [limits.MAX_VALUES],
    "metadata": [limits.MAX_METADATA, limits.MAX_DEPTH],
    "a filter": [
        *(limits.MAX_CONDITIONS, limits.MAX_FILTER_DEPTH, limits.MAX_FILTER_VALUES, MOST_KEYS)
    ],
    "`k`": [K.most, limits.MAX_CONSIDERED],
    "entities of a query": [limits.MAX_QUERY_ENTITIES],
    "turns around a hit": [limits.MAX_SURROUNDING_TURNS],
}
"""How a row of the page begins → the numbers that it begins with."""


def test_the_page_of_limits_has_the_numbers_that_hold() -> None:
    _, _, table = CONCEPTS.read_text(encoding="utf-8").partition("\n## Limits\n")
    rows = dict(re.findall(r"^\| (.*?) \| (.*?) \|$", table, re.MULTILINE))
    for begin, numbers in LIMITS.items():
        [said] = [limit for what, limit in rows.items() if re.match(rf"{begin}\b|{begin}$", what)]
        found = [int(one.replace(",", "")) for one in re.findall(r"\d[\d,]*\d|\d", said)]
        assert found[: len(numbers)] == numbers, begin


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
