"""The filter by text: words as people type them to a search engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import create_engine, or_

from pgrecall import MemoryRepository, NewMemory
from tests.conftest import new_database
from tests.integration.conftest import RepositoryOf
from tests.integration.support import NORTH, NOW, at, before, contents, shown

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
    "seoul": "서울에 갔다.",
    "moscow": "МОСКВА зимой",
    "code": "F-16 and COVID-19, version v1.2.3",
    "mail": "Write to ines@example.org or see https://example.org/a/b.",
    "quote": "O'Brien said: it's \"done\".",
    "wide": "Ｆｕｌｌ ｗｉｄｔｈ １２３ ﬁsh",
    "ships": "Ships were dancing.",
}
EVERY = set(TEXTS)
NAMES = {text: name for name, text in TEXTS.items()}


def typed(value: object) -> str:
    """A parameter in a test's name; what passes is told by the test."""
    return f"{value!a:.30}" if isinstance(value, str) else ""


@pytest.fixture(scope="module")
def stocked(server_url: str, template: str) -> Iterator[MemoryRepository]:
    with new_database(server_url, template) as url:
        engine = create_engine(url)
        repo = MemoryRepository(engine)
        repo.add_many("agent", [NewMemory(one, embedding=NORTH) for one in TEXTS.values()])
        yield repo
        engine.dispose()


def found(repo: MemoryRepository, **filters: Any) -> set[str]:
    """What passes, by name; searching and counting agree."""
    hits = repo.search("agent", NORTH, k=100, touch=False, **filters)
    assert repo.count("agent", **filters) == len(hits)
    return {NAMES[hit.memory.content] for hit in hits}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("fire", {"fire", "rain"}),
        ("FIRE", {"fire", "rain"}),
        ("great fire", {"fire", "rain"}),
        ('"great fire"', {"fire"}),
        ('"Great  FIRE"', {"fire"}),
        ('"fire great"', set()),
        ('"fire of london"', {"fire"}),
        ('"fire london"', set()),
        ('"great fire', {"fire"}),
        ('great fire"', {"fire", "rain"}),
        ('"great fire" -rain', {"fire"}),
        ("fire -rain", {"fire"}),
        ("-rain fire", {"fire"}),
        ("fire -london", {"rain"}),
        ("fire -the", {"fire", "rain"}),
        ('fire -"great fire"', {"rain"}),
        ("-fire", EVERY - {"fire", "rain"}),
        ('-"great fire"', EVERY - {"fire"}),
        ("-fire -café", EVERY - {"fire", "rain", "cafe"}),
        ("london or cafe", {"fire", "cafe"}),
        ("london OR cafe", {"fire", "cafe"}),
        ("great london or cafe", {"fire", "cafe"}),
        ("cafe or fire -rain", {"cafe", "fire"}),
        ('"great fire" or "são bento"', {"fire", "cafe"}),
        ("london or", {"fire"}),
        ("or london", {"fire"}),
        ("london or or cafe", {"fire", "cafe"}),
        ("café", {"cafe"}),
        ("cafe", {"cafe"}),
        ("CAFE\u0301", {"cafe"}),
        ("sao bento naive decor", {"cafe"}),
        ("1,000", {"money"}),
        ("1000", {"money"}),
        ('"1,000 dollars"', {"money"}),
        ("-1000 dollars", set()),
        ("12345.67", {"money"}),
        ("12,345.67", {"money"}),
        ("2026-03-15", {"date"}),
        ('"2026-03-15"', {"date"}),
        ("2026 03 15", {"date"}),
        ("2026-03-16", set()),
        ("2026", {"date"}),
        ("and/or", EVERY),
        ("cats and/or dogs", {"either"}),
        ("cats/dogs", set()),
        ("cats/birds", set()),
        ("-5", EVERY - {"cold"}),
        ("5", {"cold"}),
        ("5 degrees", {"cold"}),
        ("degrees -5", set()),
        ("3.5", {"cold"}),
        ("well-known", {"known"}),
        ("well known", {"known", "spaced"}),
        ('"well known"', {"known"}),
        ("-well-known known", {"spaced"}),
        ("state-of-the-art", {"known"}),
        ("東京", {"tokyo"}),
        ("京", {"tokyo", "kyoto"}),
        ("京東", set()),
        ('"京東"', set()),
        ('"東京"', {"tokyo"}),
        ("京 -東", {"kyoto"}),
        ("서울", {"seoul"}),
        ("москва", {"moscow"}),
        ("Москва зимой", {"moscow"}),
        ("F-16", {"code"}),
        ("f 16", {"code"}),
        ("covid-19", {"code"}),
        ("v1.2.3", {"code"}),
        ("ines@example.org", {"mail"}),
        ("https://example.org/a/b", {"mail"}),
        ("o'brien", {"quote"}),
        ("brien done", {"quote"}),
        ("full width 123 fish", {"wide"}),
        ("ｆｉｓｈ", {"wide"}),
        ("＂great fire＂", {"fire"}),
        ("ship danced", {"ships"}),
        ("dance", {"ships"}),
        ("fir", set()),
        ("fir*", set()),
        ("fir:*", set()),
        ("fire & rain", {"rain"}),
        ("fire | cafe", set()),
        ("!fire", {"fire", "rain"}),
        ("fire <-> great", {"fire", "rain"}),
        ("(fire)", {"fire", "rain"}),
        ("nothing of the kind", set()),
    ],
    ids=typed,
)
def test_the_words_asked_for_pass(
    stocked: MemoryRepository, asked: str, expected: set[str]
) -> None:
    assert found(stocked, text=asked) == expected


@pytest.mark.parametrize(
    "asked",
    [
        "",
        " ",
        "\n",
        "the",
        "the of AND",
        "-the",
        '"the of"',
        '""',
        '"',
        "-",
        "or",
        "🙂",
        "…",
        "!&|",
    ],
    ids=ascii,
)
def test_what_holds_only_stop_words_and_signs_narrows_nothing(
    stocked: MemoryRepository, asked: str
) -> None:
    assert found(stocked, text=asked) == EVERY
    why = stocked.explain(
        "agent", stocked.search("agent", NORTH, k=1, touch=False)[0].memory.id, NORTH, text=asked
    )
    assert (why.passes, why.ranked) == (True, len(EVERY))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("-東京", EVERY - {"tokyo"}),
        ("京 -東京", {"kyoto"}),
        ("-서울", EVERY - {"seoul"}),
        ("-2026-03-15", EVERY - {"date"}),
        ("-F-16", EVERY - {"code"}),
        ("-cats/dogs", EVERY),
        ("-https://example.org/a/b", EVERY - {"mail"}),
    ],
    ids=typed,
)
def test_what_is_excluded_is_excluded_as_a_whole(
    stocked: MemoryRepository, asked: str, expected: set[str]
) -> None:
    assert found(stocked, text=asked) == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ('"-5 degrees"', {"cold"}),
        ("was,-5", {"cold"}),
    ],
    ids=typed,
)
def test_a_negative_number_is_found_as_it_is_stored(
    stocked: MemoryRepository, asked: str, expected: set[str]
) -> None:
    assert found(stocked, text=asked) == expected


@pytest.mark.parametrize(
    ("stored", "asked"), [("+49 170 1234567", "49 170"), ("It was 5 degrees", "+5 degrees")]
)
def test_a_plus_sign_does_not_make_another_number(
    shared_repo: MemoryRepository, agent: str, stored: str, asked: str
) -> None:
    shared_repo.add(agent, NewMemory(stored, embedding=None))

    assert shared_repo.count(agent, text=asked) == 1


@pytest.mark.parametrize(
    "stored",
    ["tea\u00adpot", "teapot\u200b", "tea\ufeffpot", "tea\u2060pot", "\u200eteapot\u200f"],
    ids=ascii,
)
def test_signs_that_nobody_sees_do_not_make_another_word(
    shared_repo: MemoryRepository, agent: str, stored: str
) -> None:
    shared_repo.add(agent, NewMemory(stored, embedding=None))

    assert shared_repo.count(agent, text="teapot") == 1


@pytest.mark.parametrize("asked", ["“great fire”", "„great fire“", "«great fire»"], ids=ascii)
def test_quotes_as_keyboards_type_them_make_a_phrase(stocked: MemoryRepository, asked: str) -> None:
    assert found(stocked, text=asked) == {"fire"}


@pytest.mark.parametrize("asked", ["great - fire", "great -- fire -"])
def test_a_dash_between_words_excludes_nothing(stocked: MemoryRepository, asked: str) -> None:
    """And two do not cancel each other out: neither asks for anything but the words."""
    assert found(stocked, text=asked) == {"fire", "rain"} == found(stocked, text=f"{asked} -xyz")


def test_text_is_one_filter_among_others(stocked: MemoryRepository) -> None:
    m = stocked.memories

    assert found(stocked, text="fire", where=m.c.content.like("%rain%")) == {"rain"}
    assert found(
        stocked, text="fire", where=or_(m.c.content.like("%rain%"), m.c.content.like("%Cats%"))
    ) == {"rain"}
    assert found(stocked, text="fire", statuses=["archived"]) == set()
    assert found(stocked, text="fire", tags=["none"]) == set()
    assert found(stocked, text=None) == EVERY


@pytest.mark.parametrize("profile", ["five_factor", "hybrid", "last_access", "tiered", "trust"])
@pytest.mark.parametrize("query", [None, NORTH])
def test_text_narrows_under_any_profile(
    stocked: MemoryRepository, profile: str, query: list[float] | None
) -> None:
    hits = stocked.search(
        *("agent", query),
        profile=profile,
        text='"great fire" or 1000',
        query_text="rain",
        touch=False,
    )

    assert {NAMES[hit.memory.content] for hit in hits} == {"fire", "money"}


@pytest.fixture
def ids(shared_repo: MemoryRepository, agent: str) -> list[UUID]:
    memories = [
        NewMemory("The great fire.", embedding=at(0), created_at=before(3)),
        NewMemory("A fire so great.", embedding=at(5), created_at=before(2)),
        NewMemory("Only rain.", embedding=at(10), created_at=before(1)),
    ]
    return [*shared_repo.add_many(agent, memories)]


@pytest.mark.parametrize("asked", ['"great fire"', "fire -rain", "-fire or comet"])
def test_explain_tells_that_the_words_do_not_pass(
    shared_repo: MemoryRepository, agent: str, ids: list[UUID], asked: str
) -> None:
    passing = {hit.memory.id for hit in shared_repo.search(agent, NORTH, text=asked, touch=False)}
    assert 0 < len(passing) < len(ids)

    for memory_id in ids:
        why = shared_repo.explain(agent, memory_id, NORTH, text=asked)

        assert why.passes == why.returned == (memory_id in passing)
        assert why.ranked == len(passing)
        reason = f"filtered by text: its words do not pass {asked!r}"
        assert why.reasons == (() if why.passes else (reason,))


def test_the_filter_of_explain_is_about_the_memory_not_the_query(
    shared_repo: MemoryRepository, agent: str, ids: list[UUID]
) -> None:
    why = shared_repo.explain(
        *(agent, ids[2], NORTH), text="fire", query_text="rain fire", profile="hybrid"
    )

    assert {term.term: term.matched for term in why.terms} == {"rain": True, "fire": False}
    assert why.hit.signals["keyword"] > 0
    assert not why.passes


def test_text_narrows_the_memories_of_teams_too(
    shared_repo: MemoryRepository, agent: str, ids: list[UUID]
) -> None:
    theirs = shared_repo.teams.add_many(
        agent,
        [
            NewMemory("Their great fire.", embedding=at(90), created_at=before(9)),
            NewMemory("Their tea.", embedding=at(0)),
        ],
    )

    hits = shared_repo.search(agent, NORTH, teams=[agent], text='"great fire"', touch=False)
    why = shared_repo.explain(agent, theirs[1], NORTH, teams=[agent], text='"great fire"')

    assert contents(hits) == ["The great fire.", "Their great fire."]
    assert why.reasons[0].startswith("filtered by text")
    assert shared_repo.teams.count(agent, text="fire") == 1
    assert contents(shared_repo.teams.search(agent, NORTH, text="tea")) == ["Their tea."]


def test_neighbours_pass_the_filter_or_stay_away(
    shared_repo: MemoryRepository, agent: str, ids: list[UUID]
) -> None:
    shared_repo.link(agent, ids[0], ids[1])
    shared_repo.link(agent, ids[0], ids[2])

    hits = shared_repo.search(agent, NORTH, k=1, expand=2, text="fire", touch=False)

    assert contents(hits) == ["The great fire.", "A fire so great."]


def test_text_narrows_what_was_there_at_the_moment_asked_about(
    shared_repo: MemoryRepository, agent: str, ids: list[UUID]
) -> None:
    hits = shared_repo.search(agent, NORTH, text="fire", as_of=before(2.5), touch=False)

    assert contents(hits) == ["The great fire."]
    assert shared_repo.count(agent, text="fire", as_of=before(2.5)) == 1
    assert shared_repo.count(agent, text="fire", as_of=NOW) == 2


def test_the_filter_follows_every_change_at_once(
    shared_repo: MemoryRepository, agent: str, ids: list[UUID]
) -> None:
    shared_repo.update(agent, ids[2], content="The fire is out.", embedding=at(10))
    assert shared_repo.count(agent, text="fire") == 3
    shared_repo.delete(agent, ids[0])
    assert shared_repo.count(agent, text="fire") == 2
    shared_repo.supersede(agent, ids[1], NewMemory("Rain.", embedding=at(5)))
    assert shared_repo.count(agent, text="fire") == 1
    assert shared_repo.count(agent, text="fire", include_invalid=True) == 2


def test_another_agents_words_do_not_pass(
    shared_repo: MemoryRepository, agent: str, ids: list[UUID]
) -> None:
    shared_repo.add(f"{agent}-another", NewMemory("Their comet.", embedding=NORTH))

    assert shared_repo.count(agent, text="comet") == 0
    assert shared_repo.count(f"{agent}-another", text="comet") == 1


def test_the_filter_works_in_both_repositories(
    repository_of: RepositoryOf, database_url: str
) -> None:
    repo = repository_of(database_url)
    memory_id, _ = repo.add_many(
        "agent", [NewMemory("great fire", embedding=NORTH), NewMemory("rain", embedding=NORTH)]
    )

    assert contents(repo.search("agent", NORTH, text='"great fire" -rain')) == ["great fire"]
    assert (repo.count("agent", text="-fire"), repo.count("agent", text="the")) == (1, 2)
    assert repo.explain("agent", memory_id, text="rain").reasons == (
        "filtered by text: its words do not pass 'rain'",
    )


@pytest.mark.parametrize(
    ("expected", "filters"),
    [(1, {"text": "fire"}), (2, {"text": "fire", "include_invalid": True})],
    ids=shown,
)
def test_what_is_forgotten_passes_only_where_asked_for(
    shared_repo: MemoryRepository,
    agent: str,
    ids: list[UUID],
    expected: int,
    filters: dict[str, Any],
) -> None:
    shared_repo.invalidate(agent, ids[0])

    assert shared_repo.count(agent, **filters) == expected
