"""The operator $match: words as people type them to a search engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository
from pgrecall.errors import InputError
from tests.integration.owner import Owner, north, plain
from tests.integration.support import NORTH, at, before, contents

TEXTS = {
    "fire": "The Great Fire of London broke out at night.",
    "rain": "Great rain put out a fire.",
    "cafe": "Le Café São Bento, naïve décor.",
    "money": "It costs 1,000 dollars, or 12,345.67 in all.",
    "date": "Signed on 2026-03-15 by both.",
    "either": "Cats and/or dogs.",
    "cold": "It was -5 degrees at 3.5 km.",
    "known": "A well-known state-of-the-art method.",
    "spaced": "The art is known well.",
    "tokyo": "東京タワーに行った。",
    "kyoto": "京都の寺。",
    "moscow": "МОСКВА зимой",
    "wide": "Ｆｕｌｌ ｗｉｄｔｈ １２３ ﬁsh",
    "ships": "Ships were dancing.",
}
EVERY = set(TEXTS)
NAMES = {text: name for name, text in TEXTS.items()}


@pytest.fixture(scope="module")
def stocked(module_engine: Engine) -> MemoryRepository:
    repo = MemoryRepository(module_engine)
    repo.add_many("agent", [north(one) for one in TEXTS.values()])
    return repo


def matching(words: str) -> dict[str, Any]:
    return {"content": {"$match": words}}


def found(repo: MemoryRepository, words: str) -> set[str]:
    """What passes, by name; searching and counting agree."""
    hits = repo.search("agent", NORTH, k=100, touch=False, filter=matching(words))
    assert repo.count("agent", filter=matching(words)) == len(hits)
    return {NAMES[hit.memory.content] for hit in hits}


PASSES: dict[str, tuple[str, ...]] = {
    "fire rain": (
        *("fire", "FIRE", "great fire", 'great fire"', "fire -the", "!fire", "fire <-> great"),
        *("(fire)", "great - fire", "great -- fire -", "great - fire -xyz"),
        *("great -- fire - -xyz",),
    ),
    "fire": (
        *('"great fire"', '"Great  FIRE"', '"fire of london"', '"great fire'),
        *('"great fire" -rain', "fire -rain", "-rain fire", "london or", "or london"),
        *("＂great fire＂", "“great fire”", "„great fire“", "«great fire»"),
    ),
    "none": (
        *('"fire great"', '"fire london"', "-1000 dollars", "2026-03-16", "cats/dogs"),
        *("cats/birds", "degrees -5", "京東", '"京東"', "fir", "fir*", "fir:*", "fire | cafe"),
        *("nothing of the kind",),
    ),
    "rain": ("fire -london", 'fire -"great fire"', "fire & rain"),
    "all but fire rain": ("-fire",),
    "all but fire": ('-"great fire"',),
    "fire cafe": (
        *("london or cafe", "london OR cafe", "great london or cafe", "cafe or fire -rain"),
        *('"great fire" or "são bento"', "london or or cafe"),
    ),
    "cafe": ("café", "cafe", "CAFÉ", "sao bento naive decor"),
    "money": ("1,000", "1000", '"1,000 dollars"', "12345.67", "12,345.67"),
    "date": ("2026-03-15", '"2026-03-15"', "2026 03 15", "2026"),
    "all": ("-cats/dogs",),
    "either": ("cats and/or dogs",),
    "all but cold": ("-5",),
    "cold": ("5", "5 degrees", "3.5", '"-5 degrees"', "was,-5"),
    "known": ("well-known", '"well known"', "state-of-the-art"),
    "spaced": ("-well-known known",),
    "tokyo": ("東京", '"東京"'),
    "kyoto": ("京 -東", "京 -東京"),
    "moscow": ("москва", "Москва зимой"),
    "wide": ("full width 123 fish", "ｆｉｓｈ"),
    "ships": ("ship danced", "dance"),
}
"""Which texts pass, by name → what is asked."""
NARROW_NOTHING = (
    *("", " ", "\n", "the", "the of AND", "-the", '"the of"', '""', '"', "-", "or", "🙂", "…"),
    *("!&|", "and/or"),
)


@pytest.mark.parametrize("names", PASSES)
def test_the_words_asked_for_pass(stocked: MemoryRepository, names: str) -> None:
    """Phrases, alternatives, what is excluded as a whole, numbers, signs and scripts."""
    all_but, named = names.startswith("all"), {*names.split()} & EVERY
    expected = EVERY - named if all_but else named

    assert {asked: found(stocked, asked) for asked in PASSES[names]} == dict.fromkeys(
        PASSES[names], expected
    )


def test_stop_words_and_signs_alone_are_refused(stocked: MemoryRepository) -> None:
    [first] = stocked.search("agent", NORTH, k=1, touch=False)
    for words in NARROW_NOTHING:
        asked: dict[str, Any] = {"filter": {"$not": matching(words)}}
        reads: tuple[Callable[[], Any], ...] = (
            partial(stocked.search, "agent", NORTH, **asked),
            partial(stocked.explain, "agent", first.memory.id, NORTH, **asked),
            *(partial(read, "agent", **asked) for read in (stocked.list, stocked.delete)),
        )
        for read in reads:
            with pytest.raises(InputError, match=r"\$match has only stop words"):
                read()


def test_signs_that_nobody_sees_or_says_do_not_make_another_word(mine: Owner) -> None:
    for stored, asked in (
        *(("+49 170 1234567", "49 170"), ("It was 5 degrees", "+5 degrees")),
        *((f"{one}.", "teapot") for one in ("tea\u00adpot", "teapot\u200b", "tea\ufeffpot")),
        *((f"{one}!", "teapot") for one in ("tea\u2060pot", "\u200eteapot\u200f")),
    ):
        mine.add(plain(stored))
        assert mine.count(filter=matching(asked)) == 1, ascii(stored)
        mine.erase_owner()


@pytest.fixture
def ids(mine: Owner) -> list[UUID]:
    texts = ("The great fire.", "A fire so great.", "Only rain.")
    new = [north(t, embedding=at(5 * n), created_at=before(3 - n)) for n, t in enumerate(texts)]
    return [*mine.add_many(new)]


@pytest.mark.parametrize("asked", ['"great fire"', "fire -rain", "-fire or comet"])
def test_explain_tells_that_the_words_do_not_pass(mine: Owner, ids: list[UUID], asked: str) -> None:
    passing = {hit.memory.id for hit in mine.search(NORTH, filter=matching(asked), touch=False)}
    assert 0 < len(passing) < len(ids)

    for memory_id in ids:
        why = mine.explain(memory_id, NORTH, filter=matching(asked))

        assert why.passes == why.returned == (memory_id in passing)
        assert why.ranked == len(passing)
        reason = f"filtered by 'content', which requires {matching(asked)['content']}"
        assert why.reasons == (() if why.passes else (reason,))
    words: dict[str, Any] = {
        "keywords": "rain fire",
        "profile": "hybrid",
        "filter": matching("fire"),
    }
    why = mine.explain(ids[2], NORTH, **words)
    assert {term.term: term.matched for term in why.terms} == {"rain": True, "fire": False}
    assert why.hit.signals["keyword"] > 0, "the terms are of the query, not of the filter"
    assert not why.passes


def test_the_filter_follows_every_change_at_once(mine: Owner, ids: list[UUID]) -> None:
    for other in ids[1:]:
        mine.links.add(ids[0], other)
    expanded = contents(mine.search(NORTH, k=1, linked=2, filter=matching("fire"), touch=False))
    assert expanded == ["The great fire.", "A fire so great."], "neighbours pass it or stay away"
    mine.other.add(north("Their fire."))
    assert mine.count(filter=matching("fire")) == 2
    assert mine.count(filter=matching("fire"), as_of=before(2.5)) == 1
    mine.update(ids[2], content="The fire is out.", embedding=at(10))
    assert mine.count(filter=matching("fire")) == 3
    mine.delete(ids[0])
    assert mine.count(filter=matching("fire")) == 2
    mine.supersede(ids[1], north("Rain.", embedding=at(5)))
    assert mine.count(filter=matching("fire")) == 1
    assert mine.count(filter=matching("fire"), include_inactive=True) == 2
