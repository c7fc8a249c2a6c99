"""context(): what goes into a prompt, in which order, within which budget, and what does not."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
import tiktoken
from sqlalchemy import Engine, NullPool, bindparam, create_engine, event, text
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import (
    AsyncMemoryRepository,
    Context,
    LeftOut,
    Memory,
    MemoryRepository,
    NewMemory,
    Packed,
    profiles,
)
from pgrecall.context_style import STYLES
from pgrecall.errors import (
    DatabaseReadOnly,
    EmbedderRequired,
    ExtraMissing,
    InputError,
    InvalidMemory,
    InvalidVector,
)
from pgrecall.token_counting import estimated_tokens, tiktoken_counter
from tests.conftest import new_database
from tests.integration.compass import Compass
from tests.integration.support import NORTH, NOW, at, awaited, before, similar, sql
from tests.unit.test_context_style import EVIL_TYPES, HOSTILE, READERS, reckoned
from tests.unit.token_texts import ORDINARY, UNDERCOUNTED

BY_IMPORTANCE: dict[str, Any] = {"profile": "half_life", "weights": {"importance": 1.0}}
"""The score of a memory is its importance."""
NAN = float("nan")
LATER = NOW.replace(year=2030)
"""After all that is written here, so that ages do not depend on the time of day."""

Counter = Callable[[str], Any]


def words(content: str) -> int:
    return len(content.split())


def note(content: str, importance: float, memory_type: str = "fact", **others: Any) -> NewMemory:
    values = {"embedding": None} | others
    return NewMemory(content, importance=importance, memory_type=memory_type, **values)


def contents(found: Context) -> list[str]:
    return [one.hit.memory.content for one in found.packed]


def reasons(found: Context) -> dict[str, str]:
    return {one.hit.memory.content: one.reason for one in found.left_out}


def retrievals(repo: MemoryRepository, agent: str, ids: list[UUID]) -> list[int]:
    return [stored(repo, agent, id_).retrieval_count for id_ in ids]


def stored(repo: MemoryRepository, agent: str, id_: UUID) -> Memory:
    found = repo.get(agent, id_)
    assert found is not None
    return found


def costs(found: Context) -> dict[str, int]:
    every: list[Packed | LeftOut] = [*found.packed, *found.left_out]
    return {one.hit.memory.content: one.tokens for one in every}


def counting(kind: str, url: str, counter: Counter) -> MemoryRepository:
    if kind == "sync":
        return MemoryRepository(create_engine(url, poolclass=NullPool), token_counter=counter)
    engine = create_async_engine(url, poolclass=NullPool)
    return awaited(AsyncMemoryRepository(engine, token_counter=counter), asyncio.run)


kinds = pytest.mark.parametrize("kind", ["sync", "async"])


# Text and order


def test_the_text_holds_each_memory_with_its_type_and_date(either: MemoryRepository) -> None:
    either.add("a", note("Ines drinks tea\nwithout milk.", 0.9, created_at=before(3)))
    either.add("a", note("Ask before you buy.", 0.5, "instruction", created_at=None))

    found = either.context("a", **BY_IMPORTANCE)

    assert found.text == (
        f"{found.marker} undated instruction: Ask before you buy.\n"
        f"{found.marker} 20260529 fact: Ines drinks tea\n"
        "  without milk.\n"
        f"/{found.marker}\n"
    )
    assert contents(found) == ["Ines drinks tea\nwithout milk.", "Ask before you buy."]
    assert (found.tokens, found.max_tokens) == (estimated_tokens(found.text), 4000)
    assert found.left_out == ()
    assert found.strategy == "exact"


def test_packed_is_by_score_and_the_text_by_type(shared_repo: MemoryRepository, agent: str) -> None:
    order = ["b episodic", "a fact", "c episodic", "d zebra", "e fact", "f apple"]
    for number, content in enumerate(order):
        shared_repo.add(agent, note(content, 0.9 - number / 10, content.split()[1]))

    found = shared_repo.context(agent, style="xml", **BY_IMPORTANCE)

    assert contents(found) == order
    assert [body for *_, body in READERS["xml"](found.text, found.marker)] == [
        *("a fact", "e fact", "b episodic", "c episodic", "f apple", "d zebra")
    ]


def test_every_hit_carries_its_score_and_what_it_is_made_of(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add_many(agent, [NewMemory(f"{n}", embedding=at(n * 20)) for n in range(4)])

    found = shared_repo.context(agent, NORTH, touch=False)
    hits = shared_repo.search(agent, NORTH, touch=False)

    assert [one.hit.memory for one in found.packed] == [hit.memory for hit in hits]
    for one, hit in zip(found.packed, hits, strict=True):
        assert one.hit.score == pytest.approx(hit.score)
        assert one.hit.signals.keys() == hit.signals.keys()
        assert sum(one.hit.contributions.values()) == pytest.approx(one.hit.score)


def test_a_question_in_words_is_embedded(database_url: str) -> None:
    compass = Compass()
    repo = MemoryRepository(create_engine(database_url, poolclass=NullPool), embedder=compass)
    repo.add_many("a", ["10", "80"])

    assert contents(repo.context("a", "70", k=1)) == ["80"]
    assert compass.queries == ["70"]


def test_a_question_in_words_needs_an_embedder(shared_repo: MemoryRepository, agent: str) -> None:
    with pytest.raises(EmbedderRequired):
        shared_repo.context(agent, "tea")


def test_nothing_found_is_an_empty_text(either: MemoryRepository) -> None:
    found = either.context("nobody", NORTH)

    assert (found.text, found.marker, found.tokens) == ("", "", 0)
    assert (found.packed, found.left_out) == ((), ())


def test_nothing_that_fits_is_an_empty_text(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add(agent, note("tea", 0.9))

    for style in STYLES:
        found = shared_repo.context(agent, style=style, max_tokens=1, **BY_IMPORTANCE)
        assert (found.text, found.marker, found.tokens) == ("", "", 0)
        assert reasons(found) == {"tea": "too_long"}


def test_ranking_and_packing_are_one_statement(shared_engine: Engine, agent: str) -> None:
    repo = MemoryRepository(shared_engine)
    repo.add(agent, note("tea", 0.9, embedding=at(0)))
    repo.teams.add(agent, note("team tea", 0.9, embedding=at(60)))
    sent: list[str] = []

    def ask() -> Context:
        return repo.context(
            *(agent, NORTH),
            teams=[agent],
            reserve={"fact": 0.5},
            diversity=0.3,
            max_similarity=0.9,
            strategy="exact",
            touch=False,
        )

    def note_down(*arguments: Any) -> None:
        sent.append(arguments[2])

    ask()
    event.listen(shared_engine, "before_cursor_execute", note_down)
    found = ask()
    event.remove(shared_engine, "before_cursor_execute", note_down)

    assert len(found.packed) == 2
    assert len(sent) == 1
    assert "pack(" in sent[0]


def test_numbers_of_numpy_are_plain_in_the_record(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add(agent, note("a", 0.9))
    numbers: dict[str, Any] = {
        name: np.int32(50) for name in ("max_tokens", "k", "max_skips", "consider")
    }

    found = shared_repo.context(agent, **numbers, **BY_IMPORTANCE)

    assert json.loads(json.dumps(found.record()))["max_tokens"] == 50


def test_the_record_is_plain_json(shared_repo: MemoryRepository, agent: str) -> None:
    ids = shared_repo.add_many(
        agent,
        [
            note("tea", 0.9, embedding=at(0)),
            note("tea too", 0.8, embedding=at(1)),
            note("coffee", 0.05, "task"),
        ],
    )

    found = shared_repo.context(agent, max_similarity=0.9, min_score=0.1, **BY_IMPORTANCE)
    record = json.loads(json.dumps(found.record()))

    assert list(record) == [
        *("text", "tokens", "max_tokens", "marker", "strategy", "min_relevance", "emptied_by"),
        *("packed", "left_out"),
    ]
    assert (record["text"], record["marker"]) == (found.text, found.marker)
    [packed] = record["packed"]
    assert (packed["id"], packed["memory_type"], packed["score"]) == (str(ids[0]), "fact", 0.9)
    assert packed["tokens"] == found.packed[0].tokens
    assert [(one["id"], one["reason"], one.get("near")) for one in record["left_out"]] == [
        (str(ids[1]), "near_duplicate", str(ids[0])),
        (str(ids[2]), "min_score", None),
    ]


def test_two_assemblies_differ_in_nothing_but_the_marker(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add_many(agent, [note("tea", 0.9), note("coffee", 0.8)])

    one, two = (
        shared_repo.context(agent, as_of=LATER, touch=False, **BY_IMPORTANCE) for _ in range(2)
    )

    assert one.marker != two.marker
    assert one.text.replace(one.marker, two.marker) == two.text
    assert replace(one, text="", marker="") == replace(two, text="", marker="")


def test_both_repositories_agree(shared_url: str, agent: str) -> None:
    repos = [counting(kind, shared_url, words) for kind in ("sync", "async")]
    repos[0].add_many(
        agent,
        [NewMemory(f"tea {'x ' * n}", embedding=at(n * 9), tokens=n * 3) for n in range(10)],
    )

    several: list[dict[str, Any]] = [
        {},
        {"max_tokens": 60, "style": "xml"},
        {"max_tokens": 60, "diversity": 0.4, "reserve": {"fact": 0.2}},
        {"max_similarity": 0.99, "k": 3, "style": "markdown"},
    ]
    for arguments in several:
        sync, asynchronous = (
            repo.context(agent, NORTH, as_of=LATER, touch=False, **arguments) for repo in repos
        )
        assert sync.text.replace(sync.marker, "") == asynchronous.text.replace(
            asynchronous.marker, ""
        )
        assert replace(sync, text="", marker="") == replace(asynchronous, text="", marker="")
        assert sync.packed


# The budget


ALPHABET = [
    *("tea ", "\n", "\r\n", "\r", "\u2028", "\x07", "\t", "  "),
    *("<", ">", "&", "&amp;", "> ", "]]>", "é", "中文", "🙂", "x" * 30),
]


@pytest.fixture(scope="module")
def many(shared_url: str) -> Iterator[MemoryRepository]:
    """The agent `budgets` with contents that every style writes longer than they are."""
    chance = random.Random(3)
    engine = create_engine(shared_url)
    repo = MemoryRepository(engine)
    repo.add_many(
        "budgets",
        [
            note(
                f"{n}{''.join(chance.choices(ALPHABET, k=chance.choice((1, 5, 20, 60))))}",
                chance.random(),
                chance.choice(("fact", "task", "t" * 80, "\n x <&> ")),
                created_at=chance.choice((NOW, None)),
                tokens=chance.choice((None, None, 0)),
            )
            for n in range(120)
        ],
    )
    yield repo
    engine.dispose()


@pytest.mark.parametrize("style", STYLES)
def test_the_budget_is_never_exceeded(many: MemoryRepository, style: str) -> None:
    chance = random.Random(4)
    filled = []
    for _ in range(60):
        budget = chance.choice((chance.randrange(1, 80), chance.randrange(80, 1_500)))
        found = many.context(
            "budgets",
            max_tokens=budget,
            style=style,
            k=chance.choice((1, 5, 40)),
            max_skips=chance.choice((1, 3, 10)),
            reserve=chance.choice((None, {"fact": 0.5, "task": 0.2})),
            touch=False,
            **BY_IMPORTANCE,
        )
        assert found.tokens == estimated_tokens(found.text) <= budget
        if any(one.reason == "stopped" for one in found.left_out):
            filled.append(found.tokens / budget)

    assert max(filled) > 0.9


@pytest.mark.parametrize("style", STYLES)
def test_what_is_reckoned_to_fit_fits(
    shared_repo: MemoryRepository, agent: str, style: str
) -> None:
    shared_repo.add_many(agent, [note(f"{n:04}", 0.9) for n in range(40)])
    whole = shared_repo.context(agent, k=40, style=style, touch=False, **BY_IMPORTANCE)
    added = STYLES[style].added([estimated_tokens(sample) for sample in STYLES[style].samples])
    reckoned = added.frame + sum(one.tokens for one in whole.packed)

    found = shared_repo.context(
        agent, k=40, style=style, max_tokens=reckoned, touch=False, **BY_IMPORTANCE
    )

    assert len(whole.packed) == 40
    assert whole.tokens <= reckoned
    assert len(found.packed) == 40


def test_when_the_text_is_longer_than_reckoned_it_is_packed_again_with_less(
    shared_url: str, agent: str
) -> None:
    repo = counting("sync", shared_url, len)  # the bodies count as much as they are said to below
    ids = repo.add_many(agent, [note(f"{n}" * 40, 0.9 - n / 10, tokens=10) for n in range(5)])

    found = repo.context(agent, max_tokens=140, **BY_IMPORTANCE)

    assert contents(found) == ["0" * 40, "1" * 40]
    assert found.tokens == len(found.text) <= 140
    assert reasons(found) == {f"{n}" * 40: "too_long" for n in (2, 3, 4)}
    assert [one.hit.memory.id for one in found.left_out] == ids[2:]
    assert retrievals(repo, agent, list(ids)) == [1, 1, 0, 0, 0]


def test_nothing_is_left_out_for_the_sake_of_what_gave_way(shared_url: str, agent: str) -> None:
    repo = counting("sync", shared_url, len)
    repo.add_many(
        agent,
        [
            note("a" * 40, 0.9, embedding=at(0)),
            note("b" * 40, 0.8, embedding=at(80)),
            note("c", 0.7, embedding=at(81)),
        ],
    )

    found = repo.context(agent, max_tokens=170, max_similarity=0.9, **BY_IMPORTANCE)

    packed = {one.hit.memory.id for one in found.packed}
    assert len(packed) >= 1
    assert {one.near for one in found.left_out} - {None} <= packed


def test_one_that_was_counted_too_small_does_not_take_the_place_of_all(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    shared_repo.add(agent, note("x" * 40_000, 0.9, tokens=0))
    shared_repo.add_many(agent, [note(f"note {n}", 0.8 - n / 100) for n in range(10)])
    statements = 0

    def count(*_: Any) -> None:
        nonlocal statements
        statements += 1

    event.listen(shared_engine, "before_cursor_execute", count)
    try:
        found = shared_repo.context(agent, max_tokens=4000, touch=False, **BY_IMPORTANCE)
    finally:
        event.remove(shared_engine, "before_cursor_execute", count)

    assert contents(found) == [f"note {n}" for n in range(10)]
    assert reasons(found) == {"x" * 40_000: "too_long"}
    assert all(one.tokens >= 8_000 for one in found.left_out)
    assert statements <= 3  # one of them looks at the schema


def test_many_that_were_counted_too_small_are_measured_together(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add_many(
        agent, [note(f"{n}" + " tea" * 95, 0.9 - n / 100, tokens=1) for n in range(60)]
    )

    found = shared_repo.context(agent, max_tokens=1000, k=60, **BY_IMPORTANCE)

    assert 900 <= found.tokens <= 1000
    assert len(found.packed) == 9


def test_a_counter_that_finds_everything_too_long_leaves_nothing(
    shared_url: str, agent: str
) -> None:
    repo = counting("sync", shared_url, lambda content: 1_000 if ":" in content else 0)
    repo.add_many(agent, [note("a", 0.9), note("b", 0.8)])

    found = repo.context(agent, max_tokens=999, **BY_IMPORTANCE)

    assert (found.text, found.tokens, found.packed) == ("", 0, ())
    assert reasons(found) == {"a": "too_long", "b": "too_long"}


# Packing


def test_no_more_than_k_are_in(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add_many(agent, [note(f"{n}", 0.9 - n / 10) for n in range(5)])

    found = shared_repo.context(agent, k=2, **BY_IMPORTANCE)

    assert contents(found) == ["0", "1"]
    assert reasons(found) == {"2": "limit", "3": "limit", "4": "limit"}


def test_what_scores_below_the_floor_is_out(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add_many(agent, [note(f"{n}", n) for n in (0.0, 0.09, 0.1, 0.5, 0.6)])

    def packed(**arguments: Any) -> list[str]:
        return contents(shared_repo.context(agent, touch=False, **arguments, **BY_IMPORTANCE))

    assert packed(min_score=0.1) == ["0.6", "0.5", "0.1"]
    assert packed(min_score=0.5) == ["0.6", "0.5"]
    assert packed() == packed(min_score=0) == ["0.6", "0.5", "0.1", "0.09", "0.0"]
    assert packed() == packed(min_score=None)
    assert reasons(shared_repo.context(agent, min_score=0.1, **BY_IMPORTANCE)) == {
        "0.09": "min_score",
        "0.0": "min_score",
    }


def test_equal_scores_go_by_id(shared_repo: MemoryRepository, agent: str) -> None:
    ids = [UUID(int=n) for n in (5, 3, 9, 1)]
    shared_repo.add_many(agent, [note(f"{id_}", 0.5, id=id_) for id_ in ids])

    found = shared_repo.context(agent, k=3, **BY_IMPORTANCE)

    assert [one.hit.memory.id for one in found.packed] == [UUID(int=n) for n in (1, 3, 5)]


def long_and_short(repo: MemoryRepository, agent: str, pattern: str) -> None:
    """By falling score, L does not fit into 200 tokens, S takes up 10 and its block."""
    repo.add_many(
        agent,
        [
            note(f"{n} {kind}", 0.9 - n / 100, tokens=1_000 if kind == "L" else 10)
            for n, kind in enumerate(pattern)
        ],
    )


@pytest.mark.parametrize(
    ("pattern", "arguments", "packed", "stopped"),
    [
        ("SLLSLLS", {}, [0, 3, 6], []),
        ("SLLLSS", {}, [0], [4, 5]),
        ("SLLLSS", {"max_skips": 4}, [0, 4, 5], []),
        ("LSLLS", {"max_skips": 2}, [1], [4]),
        ("LS", {"max_skips": 1}, [], [1]),
        ("SLS", {"max_skips": 1}, [0], [2]),
    ],
)
def test_what_does_not_fit_is_passed_over_and_packing_stops_after_some_in_a_row(
    shared_repo: MemoryRepository,
    agent: str,
    pattern: str,
    arguments: dict[str, Any],
    packed: list[int],
    stopped: list[int],
) -> None:
    long_and_short(shared_repo, agent, pattern)

    found = shared_repo.context(agent, max_tokens=200, **arguments, **BY_IMPORTANCE)

    assert contents(found) == [f"{n} S" for n in packed]
    assert [name for name, why in reasons(found).items() if why == "stopped"] == [
        f"{n} {pattern[n]}" for n in stopped
    ]
    assert all(
        why == "too_long" for name, why in reasons(found).items() if int(name[0]) not in stopped
    )


def test_so_many_of_the_best_are_considered(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add_many(agent, [note(f"{n:02}", 0.9 - n / 200) for n in range(100)])

    several: list[tuple[dict[str, Any], int]] = [
        ({"k": 2}, 6),
        ({"k": 2, "max_skips": 1}, 2),
        ({"k": 2, "consider": 4}, 4),
        ({"k": 3, "consider": 3}, 3),
        ({"k": 20, "max_skips": 500}, 80),
        ({"k": 90, "max_skips": 500}, 90),
        ({"k": 1, "consider": 500}, 100),
        ({"k": 2, "reserve": {"task": 0.1}}, 80),
        ({"k": 2, "reserve": {}}, 6),
        ({"k": 2, "max_similarity": 1.0}, 80),
        ({"k": 90, "max_similarity": 1.0}, 90),
        ({"k": 2, "diversity": 0.1}, 6),
    ]
    for arguments, considered in several:
        found = shared_repo.context(agent, touch=False, **arguments, **BY_IMPORTANCE)
        every = [*contents(found), *reasons(found)]
        assert every == [f"{n:02}" for n in range(considered)], arguments


def test_a_share_of_the_budget_is_kept_for_a_type(
    shared_repo: MemoryRepository, agent: str
) -> None:
    order = ["task", "task", "task", "task", "fact", "fact"]
    shared_repo.add_many(
        agent, [note(f"{n}", 0.9 - n / 10, kind, tokens=80) for n, kind in enumerate(order)]
    )

    def packed(reserve: dict[str, float] | None) -> tuple[list[str], dict[str, str]]:
        found = shared_repo.context(
            agent, max_tokens=400, reserve=reserve, min_score=0.1, touch=False, **BY_IMPORTANCE
        )
        assert all(92 <= cost <= 95 for cost in costs(found).values())
        return contents(found), reasons(found)

    assert packed(None) == (["0", "1", "2", "3"], {"4": "too_long", "5": "too_long"})
    assert packed({"fact": 0.5}) == (["0", "1", "4", "5"], {"2": "reserved", "3": "reserved"})
    assert packed({"fact": 0.25}) == (["0", "1", "2", "4"], {"3": "reserved", "5": "too_long"})
    assert packed({"fact": 0.5, "task": 0.5})[0] == ["0", "1", "4", "5"]
    assert packed({"task": 1.0})[0] == ["0", "1", "2", "3"]


def test_what_a_share_is_kept_for_may_be_further_down_than_packing_would_look(
    shared_repo: MemoryRepository, agent: str
) -> None:
    order = ["task"] * 9 + ["fact"] * 2
    shared_repo.add_many(
        agent, [note(f"{n}", 0.9 - n / 100, kind, tokens=80) for n, kind in enumerate(order)]
    )

    found = shared_repo.context(
        agent, max_tokens=400, reserve={"fact": 0.5}, max_skips=1, **BY_IMPORTANCE
    )

    assert contents(found) == ["0", "1", "9", "10"]
    assert set(reasons(found).values()) == {"reserved"}


def test_a_share_is_not_kept_for_what_can_never_go_in(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add(agent, note("long", 0.95, "fact", tokens=1000))
    shared_repo.add_many(agent, [note(f"{n}", 0.9 - n / 100, "task", tokens=80) for n in range(4)])

    found = shared_repo.context(agent, max_tokens=400, reserve={"fact": 0.5}, **BY_IMPORTANCE)

    assert contents(found) == ["0", "1", "2", "3"]
    assert reasons(found) == {"long": "too_long"}


def test_what_was_kept_back_in_vain_goes_in_last(shared_repo: MemoryRepository, agent: str) -> None:
    tasks = [note(f"{n}", 0.9 - n / 100, "task", embedding=at(45 * n)) for n in range(4)]
    like_the_first = [note(f"like {n}", 0.5, "fact", embedding=at(1 + n)) for n in range(2)]
    shared_repo.add_many(agent, [replace(one, tokens=80) for one in (*tasks, *like_the_first)])

    found = shared_repo.context(
        agent, max_tokens=400, reserve={"fact": 0.5}, max_similarity=0.9, **BY_IMPORTANCE
    )

    assert contents(found) == ["0", "1", "2", "3"]
    assert set(reasons(found).values()) == {"near_duplicate"}


def test_what_a_type_cannot_fill_is_free_for_all(shared_repo: MemoryRepository, agent: str) -> None:
    order = ["task", "task", "task", "task", "fact"]
    shared_repo.add_many(
        agent, [note(f"{n}", 0.9 - n / 10, kind, tokens=80) for n, kind in enumerate(order)]
    )
    shared_repo.add(agent, note("below the floor", 0.05, "fact", tokens=80))

    def packed(**reserve: float) -> list[str]:
        found = shared_repo.context(
            agent, max_tokens=400, reserve=reserve, min_score=0.1, touch=False, **BY_IMPORTANCE
        )
        return contents(found)

    assert packed(fact=1.0) == ["0", "1", "2", "4"]
    assert packed(preference=0.9) == ["0", "1", "2", "3"]


def test_a_share_that_others_may_not_use_does_not_limit_its_own_type(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add_many(agent, [note(f"{n}", 0.9 - n / 10, tokens=80) for n in range(4)])

    found = shared_repo.context(agent, max_tokens=400, reserve={"fact": 0.25}, **BY_IMPORTANCE)

    assert len(found.packed) == 4


def test_near_duplicates_of_what_is_in_are_left_out(
    shared_repo: MemoryRepository, agent: str
) -> None:
    degrees = {"first": 0, "near first": 10, "second": 60, "near second": 55, "near both": 30}
    ids = shared_repo.add_many(
        agent,
        [note(name, 0.9 - n / 10, embedding=at(d)) for n, (name, d) in enumerate(degrees.items())],
    )
    shared_repo.add_many(agent, [note("no vector", 0.3), note("nor this", 0.2)])

    found = shared_repo.context(agent, max_similarity=0.9, touch=False, **BY_IMPORTANCE)
    every = shared_repo.context(agent, max_similarity=None, touch=False, **BY_IMPORTANCE)
    strict = shared_repo.context(agent, max_similarity=0.8, touch=False, **BY_IMPORTANCE)

    assert contents(found) == ["first", "second", "near both", "no vector", "nor this"]
    assert {one.hit.memory.id: (one.reason, one.near) for one in found.left_out} == {
        ids[1]: ("near_duplicate", ids[0]),
        ids[3]: ("near_duplicate", ids[2]),
    }
    assert len(every.packed) == 7
    assert contents(strict) == ["first", "second", "no vector", "nor this"]


def test_near_duplicates_are_no_skips_and_end_none(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add_many(
        agent,
        [note(f"{n}", 0.9 - n / 100, embedding=at(n)) for n in range(6)]
        + [note("other", 0.5, embedding=at(90))],
    )

    found = shared_repo.context(agent, k=2, max_similarity=0.9, max_skips=1, **BY_IMPORTANCE)

    assert contents(found) == ["0", "other"]


def test_diversity_weighs_score_against_similarity(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add_many(
        agent,
        [
            note("best", 0.9, embedding=at(0)),
            note("like best", 0.85, embedding=at(15)),
            note("other", 0.6, embedding=at(90)),
            note("like other", 0.55, embedding=at(88)),
        ],
    )

    def packed(diversity: float, **arguments: Any) -> list[str]:
        arguments = BY_IMPORTANCE | {"touch": False} | arguments
        return contents(shared_repo.context(agent, diversity=diversity, **arguments))

    assert packed(0.0) == ["best", "like best", "other", "like other"]
    assert packed(0.1) == ["best", "like best", "other", "like other"]
    assert packed(0.5) == ["best", "other", "like best", "like other"]
    assert packed(0.5, k=2) == ["best", "other"]
    assert packed(0.99, min_score=0.7) == ["best", "like best"]


# Whose memories


def test_teams_are_merged_into_one_ranking(either: MemoryRepository, database_url: str) -> None:
    repo = MemoryRepository(create_engine(database_url, poolclass=NullPool))
    own = [repo.add("a", note(f"own {n}", n)) for n in (0.9, 0.5)]
    red = [repo.teams.add("red", note(f"red {n}", n)) for n in (0.7, 0.3)]
    blue = [repo.teams.add("blue", note("blue", 0.8))]
    repo.teams.add("green", note("green", 0.95))
    repo.add("red", note("an agent called red", 0.95))

    found = either.context("a", teams=["red", "blue"], k=4, **BY_IMPORTANCE)

    assert contents(found) == ["own 0.9", "blue", "red 0.7", "own 0.5"]
    assert [one.hit.memory.team_id for one in found.packed] == [None, "blue", "red", None]
    assert reasons(found) == {"red 0.3": "limit"}
    assert retrievals(repo, "a", list(own)) == [1, 1]
    assert retrievals(repo.teams, "red", list(red)) == [1, 0]
    assert retrievals(repo.teams, "blue", list(blue)) == [1]


def test_near_duplicates_across_owners_are_left_out(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add(agent, note("same", 0.5, embedding=NORTH))
    shared_repo.teams.add(agent, note("same", 0.6, embedding=NORTH))

    found = shared_repo.context(agent, teams=[agent], max_similarity=0.99, **BY_IMPORTANCE)

    assert [one.hit.memory.team_id for one in found.packed] == [agent]
    assert [one.near for one in found.left_out] == [found.packed[0].hit.memory.id]


def test_one_id_in_two_places_is_two_memories(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add(agent, note("own", 0.5, id=UUID(int=7)))
    shared_repo.teams.add(agent, note("of the team", 0.5, id=UUID(int=7)))

    found = shared_repo.context(agent, teams=[agent], **BY_IMPORTANCE)

    assert sorted(contents(found)) == ["of the team", "own"]


def test_a_team_has_a_context_of_its_own(shared_repo: MemoryRepository, agent: str) -> None:
    id_ = shared_repo.teams.add(agent, note("ours", 0.5))
    shared_repo.add(agent, note("mine", 0.9))

    found = shared_repo.teams.context(agent, **BY_IMPORTANCE)

    assert contents(found) == ["ours"]
    assert retrievals(shared_repo.teams, agent, [id_]) == [1]


def test_a_team_named_twice_has_each_memory_once(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.teams.add(agent, note("ours", 0.5, embedding=NORTH))
    shared_repo.teams.add(f"{agent} too", note("theirs", 0.4, embedding=NORTH))
    teams = [agent, f"{agent} too"]

    found = shared_repo.teams.context(agent, teams=teams, touch=False, **BY_IMPORTANCE)
    hits = shared_repo.teams.search(agent, NORTH, teams=teams, touch=False)

    assert contents(found) == ["ours", "theirs"]
    assert sorted(hit.memory.content for hit in hits) == ["ours", "theirs"]


# The arguments of a search


def test_filters_narrow_what_is_considered(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add_many(
        agent,
        [
            note("green tea", 0.9, "fact", tags=["drink"]),
            note("black coffee", 0.8, "task", tags=["drink"]),
            note("a green tree", 0.7, "fact", embedding=at(60)),
        ],
    )

    def packed(query: Any = None, **filters: Any) -> list[str]:
        found = shared_repo.context(agent, query, touch=False, **filters, **BY_IMPORTANCE)
        assert found.left_out == ()
        return contents(found)

    assert packed(memory_types=["task"]) == ["black coffee"]
    assert packed(tags=["drink"]) == ["green tea", "black coffee"]
    assert packed(text="green -tree") == ["green tea"]
    assert packed(NORTH, min_similarity=0.4) == ["a green tree"]
    assert packed(where=shared_repo.memories.c.importance < 0.85) == [
        *("black coffee", "a green tree")
    ]
    assert packed(
        where=[text("content LIKE :mine").bindparams(mine="%tea"), text("importance > 0.5")]
    ) == ["green tea"]


@pytest.mark.parametrize("name", ["mine", "place", "cost"])
def test_a_parameter_of_ones_own_keeps_its_value(
    shared_repo: MemoryRepository, agent: str, name: str
) -> None:
    shared_repo.add_many(agent, [note(f"{n}", n) for n in (0.2, 0.4, 0.6, 0.8)])
    condition = text(f"importance > :{name}").bindparams(**{name: 0.7})

    found = shared_repo.context(agent, where=condition, **BY_IMPORTANCE)

    assert contents(found) == ["0.8"]


@pytest.mark.parametrize(
    "name",
    [
        *("floor", "budget", "most", "max_skips", "diversity", "max_similarity"),
        *("block_length", "per_line", "per_escape", "reserved_types", "reserved_shares"),
        *("measured_ids", "measured_costs", "labels", "label_kinds", "hit_ids", "hit_owners"),
    ],
)
def test_a_parameter_with_a_name_of_ours_is_refused_or_kept_apart(
    shared_repo: MemoryRepository, agent: str, name: str
) -> None:
    shared_repo.add_many(agent, [note(f"{n}", n) for n in (0.2, 0.4, 0.6, 0.8)])

    for condition in (
        text(f"importance > :{name}").bindparams(**{name: 0.7}),
        shared_repo.memories.c.importance > bindparam(name, 0.7),
    ):
        try:
            found = shared_repo.context(agent, where=condition, touch=False, **BY_IMPORTANCE)
        except InputError as refused:
            assert f":{name}" in str(refused)  # noqa: PT017
        else:
            assert contents(found) == ["0.8"]


def test_as_of_is_the_moment_asked_about(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add_many(
        agent,
        [
            note("old", 0.5, created_at=before(10)),
            note("newer", 0.6, created_at=before(5)),
            note("over", 0.7, created_at=before(20), valid_until=before(7)),
        ],
    )

    def packed(days: float) -> list[str]:
        return contents(
            shared_repo.context(agent, as_of=before(days), touch=False, **BY_IMPORTANCE)
        )

    assert packed(9) == ["over", "old"]
    assert packed(6) == ["old"]
    assert packed(1) == ["newer", "old"]


def test_profiles_and_weights_are_those_of_a_search(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add_many(
        agent,
        [
            NewMemory(
                f"{n} tea{' cup' * (n % 2)}",
                embedding=similar(n / 10),
                importance=1 - n / 10,
                usefulness=n % 3 / 3,
            )
            for n in range(8)
        ],
    )

    several: list[dict[str, Any]] = [
        {"profile": "trust"},
        {"profile": profiles.tiered},
        {"profile": "hybrid", "query_text": "a cup"},
        {"weights": {"similarity": 2, "usefulness": 1}, "normalise_weights": True},
        {"profile": "trust", "apply_decay": False},
        {"min_similarity": 0.35},
    ]
    for arguments in several:
        found = shared_repo.context(
            agent, NORTH, min_relevance=0, touch=False, as_of=LATER, **arguments
        )
        hits = shared_repo.search(agent, NORTH, touch=False, as_of=LATER, **arguments)
        assert [one.hit for one in found.packed] == list(hits)
        assert len(hits) >= 4


@pytest.fixture(scope="module")
def indexed(server_url: str, template: str) -> Iterator[MemoryRepository]:
    """The agent `a` and the team `t`, each with an index, and what was written after it."""
    with new_database(server_url, template) as url:
        engine = create_engine(url)
        repo = MemoryRepository(engine)
        index(repo)
        yield repo
        engine.dispose()


def index(repo: MemoryRepository) -> None:
    chance = random.Random(6)

    def memories(count: int, name: str) -> list[NewMemory]:
        return [
            NewMemory(
                f"{name} {n} {'x ' * chance.randrange(60)}",
                memory_type=chance.choice(("fact", "task", "episodic")),
                embedding=at(chance.random() * 90),
                usefulness=chance.random(),
                created_at=before(chance.random() * 60),
            )
            for n in range(count)
        ]

    repo.add_many("a", memories(200, "own"))
    repo.teams.add_many("t", memories(200, "team"))
    repo.build_rank_indexes(at_least=10)
    repo.add_many("a", memories(10, "new"))


@pytest.mark.parametrize("strategy", ["index", "auto"])
@pytest.mark.parametrize("teams", [[], ["t"]], ids=["alone", "team"])
def test_an_index_gives_the_context_that_scoring_everything_gives(
    indexed: MemoryRepository, strategy: Any, teams: list[str]
) -> None:
    several: list[dict[str, Any]] = [
        {},
        {"k": 5, "profile": "hybrid"},
        {"k": 5, "max_tokens": 150, "style": "xml"},
        {"k": 10, "diversity": 0.4, "max_similarity": 0.999, "max_tokens": 300},
        {"reserve": {"fact": 0.6}, "max_tokens": 250, "style": "markdown", "min_score": 0.6},
        {"where": indexed.memories.c.usefulness > 0.2},
    ]
    for arguments in several:
        query = at(30)
        exact, found = (
            indexed.context(
                *("a", query),
                strategy=how,
                teams=teams,
                as_of=NOW,
                touch=False,
                **{"profile": "five_factor", **arguments},
            )
            for how in ("exact", strategy)
        )
        assert (exact.strategy, found.strategy) == ("exact", "index")
        assert contents(found) == contents(exact) != []
        assert reasons(found) == reasons(exact)
        assert [one.tokens for one in found.packed] == [one.tokens for one in exact.packed]
        assert found.tokens == exact.tokens
        assert found.text.replace(found.marker, "") == exact.text.replace(exact.marker, "")


def test_an_index_is_not_asked_for_more_than_80(indexed: MemoryRepository) -> None:
    found = indexed.context("a", at(30), consider=81, strategy="index", as_of=NOW, touch=False)

    assert found.strategy == "exact"
    assert len(found.packed) + len(found.left_out) == 81


# Counting retrievals


def test_only_what_is_in_the_text_is_counted(either: MemoryRepository) -> None:
    ids = either.add_many(
        "a",
        [
            note("in", 0.9, embedding=at(0)),
            note("near", 0.85, embedding=at(1)),
            note("too long", 0.8, tokens=10_000),
            note("in too", 0.7),
            note("over the limit", 0.6),
            note("below", 0.05),
        ],
    )

    found = either.context("a", k=2, max_similarity=0.9, **BY_IMPORTANCE)

    assert contents(found) == ["in", "in too"]
    assert retrievals(either, "a", list(ids)) == [1, 0, 0, 1, 0, 0]


def test_nothing_is_counted_when_told_so(either: MemoryRepository) -> None:
    ids = either.add_many("a", [note("tea", 0.9), note("coffee", 0.8)])

    either.context("a", touch=False, **BY_IMPORTANCE)

    assert retrievals(either, "a", list(ids)) == [0, 0]


def test_the_callers_transaction_undoes_what_was_counted(transaction: Any) -> None:
    def assemble(repo: MemoryRepository) -> int:
        id_ = repo.add("a", note("tea", 0.9))
        assert contents(repo.context("a", **BY_IMPORTANCE)) == ["tea"]
        return stored(repo, "a", id_).retrieval_count

    assert transaction(assemble, commit=False) == 1
    assert transaction(lambda repo: repo.context("a", **BY_IMPORTANCE).text, commit=True) == ""


def test_a_database_that_is_read_only_answers_without_counting(
    shared_repo: MemoryRepository, shared_url: str, agent: str
) -> None:
    shared_repo.add(agent, note("tea", 0.9))
    engine = create_engine(
        shared_url,
        poolclass=NullPool,
        connect_args={"options": "-c default_transaction_read_only=on"},
    )
    reader = MemoryRepository(engine)

    assert contents(reader.context(agent, touch=False, **BY_IMPORTANCE)) == ["tea"]
    with pytest.raises(DatabaseReadOnly):
        reader.context(agent, **BY_IMPORTANCE)


# Bad arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_tokens": 0}, r"max_tokens must lie within 1 and 2147483647, got 0"),
        ({"max_tokens": -5}, r"max_tokens .*got -5"),
        ({"max_tokens": 2**31}, r"max_tokens .*got 2147483648"),
        ({"max_tokens": True}, r"max_tokens must be a whole number, got True"),
        ({"max_tokens": 99.5}, r"max_tokens must be a whole number, got 99\.5"),
        ({"max_tokens": "99"}, r"max_tokens must be a whole number, got '99'"),
        ({"max_tokens": None}, r"max_tokens must be a whole number, got None"),
        ({"k": 0}, r"k must lie within 1 and 500, got 0"),
        ({"k": 501}, r"k must lie within 1 and 500, got 501"),
        ({"k": 2.0}, r"k must be a whole number, got 2\.0"),
        ({"max_skips": 0}, r"max_skips must lie within 1 and 500, got 0"),
        ({"max_skips": 501}, r"max_skips .*got 501"),
        ({"max_skips": None}, r"max_skips must be a whole number, got None"),
        ({"consider": 19}, r"consider must lie within 20 and 500, got 19"),
        ({"k": 5, "consider": 4}, r"consider must lie within 5 and 500, got 4"),
        ({"consider": 501}, r"consider .*got 501"),
        ({"consider": "all"}, r"consider must be a whole number, got 'all'"),
        ({"min_score": 1.5}, r"min_score must lie within 0 and 1, got 1\.5"),
        ({"min_score": NAN}, r"min_score .*got nan"),
        ({"min_score": "low"}, r"min_score must be a number, got str 'low'"),
        ({"reserve": 0.5}, r"reserve maps types of memory to shares, got float"),
        ({"reserve": ["fact"]}, r"reserve maps types of memory to shares, got list"),
        ({"reserve": {"fact": 1.5}}, r"reserve\['fact'\] must lie within 0 and 1, got 1\.5"),
        ({"reserve": {"fact": -0.1}}, r"reserve\['fact'\] .*got -0\.1"),
        ({"reserve": {"fact": NAN}}, r"reserve\['fact'\] .*got nan"),
        ({"reserve": {"fact": None}}, r"reserve\['fact'\] must be a number, got None"),
        ({"reserve": {"fact": "half"}}, r"reserve\['fact'\] must be a number, got str 'half'"),
        ({"reserve": {"fact": True}}, r"reserve\['fact'\] must be a number, got bool True"),
        ({"reserve": {"a": 0.6, "b": 0.5}}, r"shares of reserve must not exceed 1.*1\.1"),
        ({"reserve": {"": 0.5}}, r"reserve must not be empty"),
        ({"reserve": dict.fromkeys(map(str, range(101)), 0)}, r"at most 100 types, got 101"),
        ({"reserve": {7: 0.5}}, r"reserve must be text, got int"),
        ({"reserve": {"a\0": 0.5}}, r"reserve contains a NUL"),
        ({"reserve": {"x" * 201: 0.5}}, r"reserve may have at most 200 characters, got 201"),
        ({"diversity": 1}, r"diversity must be less than 1"),
        ({"diversity": -0.1}, r"diversity must lie within 0 and 1, got -0\.1"),
        ({"diversity": 1.1}, r"diversity .*got 1\.1"),
        ({"diversity": NAN}, r"diversity .*got nan"),
        ({"diversity": None}, r"diversity must be a number, got None"),
        ({"max_similarity": 1.1}, r"max_similarity must lie within 0 and 1, got 1\.1"),
        ({"max_similarity": "near"}, r"max_similarity must be a number, got str 'near'"),
        ({"style": "html"}, r"unknown style 'html'; the styles are plain, markdown, xml"),
        ({"style": None}, r"unknown style None"),
        ({"style": []}, r"unknown style \[\]"),
        ({"strategy": "fast"}, r"strategy must be one of auto, exact, index, got 'fast'"),
        ({"touch": "no"}, r"touch must be True or False, got 'no'"),
        ({"min_similarity": 2}, r"min_similarity .*got 2"),
        ({"teams": "red"}, r"teams must be a list of texts, got str"),
        ({"profile": "six_factor"}, r"six_factor"),
        ({"weights": {"similarity": 0.5}}, r"sum to 1"),
        ({"as_of": NOW.replace(tzinfo=None)}, r"as_of has no time zone"),
        ({"expand": 1}, r"expand"),
        ({"colour": "red"}, r"colour"),
        ({"where": "true"}, r"where takes SQLAlchemy expressions, got str"),
    ],
    ids=str,
)
def test_a_bad_argument_is_refused_by_name(
    shared_repo: MemoryRepository, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        shared_repo.context("a", NORTH, **arguments)


def test_a_bad_agent_or_question_is_refused(shared_repo: MemoryRepository) -> None:
    for agent_id, query, error, message in (
        ("", NORTH, InputError, "agent_id must not be empty"),
        ("a", [1.0, 2.0], InvalidVector, "2 dimensions"),
        ("a", " ", InputError, "the query is empty"),
        ("a", "x\0", InputError, "NUL"),
    ):
        with pytest.raises(error, match=message):
            shared_repo.context(agent_id, query)


def test_shares_that_sum_to_one_but_for_rounding_are_taken(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shares = dict.fromkeys("abcdefghij", 0.1)
    assert sum(shares.values()) != 1

    assert shared_repo.context(agent, reserve=shares).text == ""


# Token counters


def stored_tokens(engine: Engine, agent: str) -> dict[str, int | None]:
    rows = sql(
        engine,
        "SELECT content, tokens FROM pgrecall.agent_memories WHERE agent_id = :agent",
        agent=agent,
    )
    return dict(rows)


def test_by_default_tokens_are_estimated(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    texts = ["x", "four", "fives", "éàü中🙂", "x" * 1_001]
    shared_repo.add(agent, note(texts[0], 0.5))
    shared_repo.add_many(agent, [note(content, 0.5) for content in texts[1:]])

    assert stored_tokens(shared_engine, agent) == {
        "x": 1,
        "four": 1,
        "fives": 2,
        "éàü中🙂": 5,
        "x" * 1_001: 251,
    }


@kinds
def test_a_counter_of_ones_own_counts_whatever_is_written(
    shared_url: str, shared_engine: Engine, agent: str, kind: str
) -> None:
    repo = counting(kind, shared_url, words)
    one = repo.add(agent, note("one two three", 0.5))
    many = repo.add_many(
        agent, [note("four five", 0.5), note("six", 0.5), note("given", 0.5, tokens=9)]
    )
    repo.add_many(agent, [note("a b c d", 0.5, embedding=NORTH)], near_duplicates=0.9)

    assert stored_tokens(shared_engine, agent) == {
        "one two three": 3,
        "four five": 2,
        "six": 1,
        "given": 9,
        "a b c d": 4,
    }

    repo.update(agent, one, content="one two", embedding=None)
    repo.update(agent, many[0], importance=0.9)
    repo.update(agent, many[1], content="six seven eight nine ten", embedding=None, tokens=7)
    repo.supersede(agent, many[2], note("what comes after it now", 0.5))

    assert stored(repo, agent, one).tokens == 2
    assert stored_tokens(shared_engine, agent) == {
        "one two": 2,
        "four five": 2,
        "six seven eight nine ten": 7,
        "given": 9,
        "what comes after it now": 5,
        "a b c d": 4,
    }


@pytest.mark.parametrize("policy", ["bump", "keep", "replace"])
def test_a_duplicate_counts_what_is_stored_in_the_end(
    shared_url: str, shared_engine: Engine, agent: str, policy: Any
) -> None:
    repo = counting("sync", shared_url, len)
    repo.add(agent, note("Tea  and milk", 0.5))
    repo.add(agent, note("tea and milk", 0.5), duplicates=policy)
    repo.add_many(agent, [note("TEA AND  MILK", 0.5)], duplicates=policy)

    [(content, tokens)] = stored_tokens(shared_engine, agent).items()
    assert tokens == len(content)


def test_a_summary_is_counted(shared_url: str, shared_engine: Engine, agent: str) -> None:
    engine = create_engine(shared_url, poolclass=NullPool)
    repo = MemoryRepository(engine, token_counter=len, embedder=Compass())
    repo.add_many(agent, ["10", "11", "12", "13"])

    repo.consolidate(agent, lambda texts: "11.50", min_similarity=0.9, more_than=3)

    assert stored_tokens(shared_engine, agent)["11.50"] == 5


def test_what_was_counted_is_what_is_packed_by(shared_url: str, agent: str) -> None:
    repo = counting("sync", shared_url, words)
    repo.add_many(agent, [note("long but few words " + "x" * 4_000, 0.9), note("a " * 400, 0.8)])

    found = repo.context(agent, max_tokens=100, **BY_IMPORTANCE)

    [packed], [out] = found.packed, found.left_out
    around = words(f"{found.marker} 20261122 fact: {found.text.splitlines()[-1]}")
    assert found.tokens == words(found.text) == around + 5
    assert packed.tokens - 5 == out.tokens - 400
    assert around - 1 <= packed.tokens - 5 <= around + 1
    assert out.reason == "too_long"


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, r"whole number, got None"),
        (1.5, r"whole number, got 1\.5"),
        ("3", r"whole number, got '3'"),
        (True, r"whole number, got True"),
        (-1, r"0 to 2,147,483,647 tokens, got -1"),
        (2**31, r"0 to 2,147,483,647 tokens, got 2147483648"),
        (10**30, r"0 to 2,147,483,647 tokens"),
    ],
    ids=str,
)
@kinds
def test_a_counter_that_returns_nonsense_is_refused_and_nothing_stored(
    shared_url: str, shared_engine: Engine, agent: str, kind: str, returned: Any, message: str
) -> None:
    sound, broken = (
        counting(kind, shared_url, counter) for counter in (words, lambda content: returned)
    )
    id_ = sound.add(agent, note("tea", 0.5))

    for write in (
        lambda: broken.add(agent, note("a", 0.5)),
        lambda: broken.add_many(agent, [note("given", 0.5, tokens=1), note("b", 0.5)]),
        lambda: broken.update(agent, id_, content="c", embedding=None),
        lambda: broken.supersede(agent, id_, note("d", 0.5)),
        lambda: broken.context(agent, **BY_IMPORTANCE),
    ):
        with pytest.raises(InputError, match=f"the token counter must return .*{message}"):
            write()

    assert stored_tokens(shared_engine, agent) == {"tea": 1}
    assert stored(sound, agent, id_).retrieval_count == 0


@kinds
def test_what_a_counter_raises_is_raised(shared_url: str, agent: str, kind: str) -> None:
    def broken(content: str) -> int:
        raise ConnectionError("no answer")

    with pytest.raises(ConnectionError, match="no answer"):
        counting(kind, shared_url, broken).add(agent, note("a", 0.5))


@pytest.mark.parametrize("counter", [None, 4, "tiktoken", [len]], ids=str)
@kinds
def test_a_counter_that_is_none_is_refused(shared_url: str, kind: str, counter: Any) -> None:
    with pytest.raises(InputError, match="a function from a text to a number, got"):
        counting(kind, shared_url, counter)


@pytest.mark.parametrize("tokens", [-1, 2**31, 1.5, True, "3"])
def test_tokens_that_are_none_are_refused(
    shared_repo: MemoryRepository, agent: str, tokens: Any
) -> None:
    with pytest.raises(InvalidMemory, match="tokens must"):
        shared_repo.add(agent, note("a", 0.5, tokens=tokens))


def test_a_memory_of_many_tokens_is_too_long(shared_url: str, agent: str) -> None:
    repo = counting("sync", shared_url, lambda content: 10**9 if content == "long" else 1)
    repo.add_many(agent, [note("long", 0.9), note("short", 0.8)])

    found = repo.context(agent, max_tokens=10**9, **BY_IMPORTANCE)

    assert contents(found) == ["short"]
    assert reasons(found) == {"long": "too_long"}


def test_a_memory_of_as_many_tokens_as_may_be_stored_is_too_long(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add_many(agent, [note("long", 0.9, tokens=2**31 - 1), note("short", 0.8)])

    found = shared_repo.context(agent, **BY_IMPORTANCE)

    assert contents(found) == ["short"]
    assert reasons(found) == {"long": "too_long"}


def test_what_raw_sql_inserted_counts_as_by_default(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    shared_repo.add(agent, note("y" * 401, 0.5))
    sql(
        shared_engine,
        "INSERT INTO pgrecall.agent_memories (agent_id, id, content, memory_type, importance) "
        "VALUES (:agent, gen_random_uuid(), :content, 'fact', 0.9)",
        agent=agent,
        content="x" * 401,
    )

    found = shared_repo.context(agent, touch=False, **BY_IMPORTANCE)
    tight = shared_repo.context(agent, max_tokens=100, **BY_IMPORTANCE)

    raw, counted = found.packed
    assert (raw.hit.memory.tokens, counted.hit.memory.tokens) == (None, 101)
    assert raw.tokens == counted.tokens > 101
    assert [one.reason for one in tight.left_out] == ["too_long", "too_long"]


@pytest.mark.parametrize("style", STYLES)
def test_the_database_reckons_as_python_does(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, style: str
) -> None:
    chance = random.Random(5)
    near = [*ALPHABET, *"aZ9 \n\t\v\x85\u036f\u0370\u1fff\u2000Жй中🙂\U0010ffff"]
    rare = [chr(number) for number in range(1, 700)]
    known = [text for texts in (ORDINARY, UNDERCOUNTED) for _, text in texts.values()]
    made = ["".join(chance.choices(signs, k=60)) for signs in (near, rare) for _ in range(150)]
    every = [f"{n}{text}" for n, text in enumerate([*known, *HOSTILE, *made])]
    kinds = chance.choices([*EVIL_TYPES, "fact"], k=len(every))
    shared_repo.add_many(
        agent, [note(content, 0.9, kind) for content, kind in zip(every, kinds, strict=True)]
    )

    def found() -> Context:
        arguments = BY_IMPORTANCE | {"max_tokens": 10**6, "k": 500, "touch": False}
        return shared_repo.context(agent, style=style, **arguments)

    counted = found()
    sql(
        shared_engine,
        "UPDATE pgrecall.agent_memories SET tokens = NULL WHERE agent_id = :agent",
        agent=agent,
    )

    assert costs(counted) == {
        one.hit.memory.content: estimated_tokens(one.hit.memory.content)
        + reckoned(STYLES[style], one.hit.memory)
        for one in counted.packed
    }
    assert set(costs(counted)) == set(every)
    assert costs(found()) == costs(counted)


# tiktoken


@pytest.fixture
def encoding() -> tiktoken.Encoding:
    """One token for each byte."""
    return tiktoken.Encoding(
        name="bytes",
        pat_str=r"\w+|\W",
        mergeable_ranks={bytes([number]): number for number in range(256)},
        special_tokens={"<|endoftext|>": 256},
    )


@pytest.fixture
def no_download(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder for tiktoken's files; to fetch one is an error."""

    def fetched(blobpath: str) -> bytes:
        raise ConnectionError(f"fetched {blobpath}")

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("tiktoken.load.read_file", fetched)
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})
    return tmp_path


def test_tiktoken_counts_by_an_encoding(
    shared_url: str, shared_engine: Engine, agent: str, encoding: tiktoken.Encoding
) -> None:
    repo = counting("sync", shared_url, tiktoken_counter(encoding))
    repo.add_many(agent, [note("tea", 0.9), note("中文", 0.8), note("<|endoftext|>", 0.7)])

    found = repo.context(agent, **BY_IMPORTANCE)

    assert stored_tokens(shared_engine, agent) == {"tea": 3, "中文": 6, "<|endoftext|>": 13}
    assert found.tokens == len(found.text.encode())
    assert len(found.packed) == 3


def test_what_tiktoken_cannot_take_whole_is_counted_in_parts() -> None:
    encoding = tiktoken.Encoding(
        name="of OpenAI",
        pat_str=r"\s+(?!\S)|\s+|\S+",  # as theirs end
        mergeable_ranks={bytes([number]): number for number in range(256)},
        special_tokens={},
    )
    spaces = " " * 1_000_000
    with pytest.raises(ValueError, match="stack size"):
        encoding.encode(spaces)

    assert tiktoken_counter(encoding)(spaces) == len(spaces)


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "p50k_base", "r50k_base"])
def test_an_encoding_that_is_not_at_hand_is_not_fetched(no_download: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"the encoding {name} is not on this machine.*tiktoken"):
        tiktoken_counter(name)

    assert list(no_download.iterdir()) == []


def test_the_default_encoding_is_not_fetched_either(no_download: Path) -> None:
    with pytest.raises(InputError, match="o200k_base is not on this machine"):
        tiktoken_counter()


def key_of(name: str) -> str:
    """The file that the message of tiktoken_counter asks for."""
    with pytest.raises(InputError) as caught:
        tiktoken_counter(name)
    return str(caught.value).split(" as ")[1].split()[0]


RANKS = b"".join(b64encode(bytes([number])) + b" %d\n" % number for number in range(256))


def test_an_encoding_at_hand_is_read_from_its_file(
    no_download: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (no_download / key_of("o200k_base")).write_bytes(RANKS)
    monkeypatch.setattr("tiktoken.load.check_hash", lambda data, expected: data == RANKS)
    known = {"o200k_base": sha256(RANKS).hexdigest()}
    monkeypatch.setattr("pgrecall.token_counting._HASHES", known)

    assert tiktoken_counter("o200k_base")("four") == 4


def test_a_damaged_file_is_neither_deleted_nor_fetched_anew(no_download: Path) -> None:
    file = no_download / key_of("o200k_base")
    file.write_bytes(b"cut off")

    with pytest.raises(InputError, match="o200k_base"):
        tiktoken_counter("o200k_base")

    assert file.read_bytes() == b"cut off"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("gpt-4o", r"unknown encoding 'gpt-4o'; known are o200k_base"),
        ("", r"unknown encoding ''"),
        ("../o200k_base", r"unknown encoding"),
        (None, r"a tiktoken\.Encoding or a name, got NoneType"),
        (len, r"a tiktoken\.Encoding or a name, got builtin"),
    ],
)
def test_what_is_no_encoding_is_refused(no_download: Path, given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tiktoken_counter(given)


def test_without_tiktoken_its_installation_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)

    with pytest.raises(ExtraMissing, match=r"pip install 'pgrecall\[tiktoken\]'"):
        tiktoken_counter()
