"""context(): what goes into a prompt, in which order, within which budget, and what does not.

How memories are packed: test_packing_model.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine, NullPool, bindparam, create_engine, event, text

from pgrecall import Context, LeftOut, Memory, MemoryRepository, NewMemory, Packed, profiles
from pgrecall.context_style import STYLES
from pgrecall.errors import DatabaseReadOnly, EmbedderRequired, InputError, InvalidVector
from pgrecall.token_counting import estimated_tokens
from tests.conftest import new_database
from tests.integration.compass import Compass
from tests.integration.support import NORTH, NOW, at, before, similar, sql
from tests.unit.test_context_style import EVIL_TYPES, HOSTILE, READERS, reckoned
from tests.unit.token_texts import ORDINARY, UNDERCOUNTED

BY_IMPORTANCE: dict[str, Any] = {"profile": "half_life", "weights": {"importance": 1.0}}
"""The score of a memory is its importance."""
NAN = float("nan")
LATER = NOW.replace(year=2030)
"""After all that is written here, so that ages do not depend on the time of day."""


def words(content: str) -> int:
    return len(content.split())


def note(content: str, importance: float, memory_type: str = "fact", **others: Any) -> NewMemory:
    values = {"embedding": None} | others
    return NewMemory(content, importance=importance, memory_type=memory_type, **values)


def contents(found: Context) -> list[str]:
    return [one.hit.memory.content for one in found.packed]


def reasons(found: Context) -> dict[str, str]:
    return {one.hit.memory.content: one.reason for one in found.left_out}


def costs(found: Context) -> dict[str, int]:
    every: list[Packed | LeftOut] = [*found.packed, *found.left_out]
    return {one.hit.memory.content: one.tokens for one in every}


def stored(repo: MemoryRepository, agent: str, id_: UUID) -> Memory:
    found = repo.get(agent, id_)
    assert found is not None
    return found


def retrievals(repo: MemoryRepository, agent: str, ids: list[UUID]) -> list[int]:
    return [stored(repo, agent, id_).retrieval_count for id_ in ids]


def counting(engine: Engine, counter: Callable[[str], Any]) -> MemoryRepository:
    return MemoryRepository(engine, token_counter=counter)


# Text and order


def test_the_text_holds_each_memory_with_its_type_and_date(
    shared_repo: MemoryRepository, agent: str
) -> None:
    tea = note("Ines drinks tea\nwithout milk.", 0.9, created_at=before(3))
    shared_repo.add_many(
        agent, [tea, note("Ask before you buy.", 0.5, "instruction", created_at=None)]
    )

    found = shared_repo.context(agent, **BY_IMPORTANCE)

    assert found.text == (
        f"{found.marker} undated instruction: Ask before you buy.\n"
        f"{found.marker} 20260529 fact: Ines drinks tea\n"
        "  without milk.\n"
        f"/{found.marker}\n"
    )
    assert contents(found) == ["Ines drinks tea\nwithout milk.", "Ask before you buy."]
    assert (found.tokens, found.max_tokens) == (estimated_tokens(found.text), 4000)
    assert (found.left_out, found.strategy) == ((), "exact")


def test_packed_is_by_score_and_the_text_by_type(shared_repo: MemoryRepository, agent: str) -> None:
    order = ["b episodic", "a fact", "c episodic", "d zebra", "e fact", "f apple"]
    for number, content in enumerate(order):
        shared_repo.add(agent, note(content, 0.9 - number / 10, content.split()[1]))

    found = shared_repo.context(agent, style="xml", **BY_IMPORTANCE)

    assert contents(found) == order
    assert [body for *_, body in READERS["xml"](found.text, found.marker)] == [
        *("a fact", "e fact", "b episodic", "c episodic", "f apple", "d zebra")
    ]


def test_a_question_in_words_is_embedded(
    shared_engine: Engine, shared_repo: MemoryRepository, agent: str
) -> None:
    compass = Compass()
    repo = MemoryRepository(shared_engine, embedder=compass)
    repo.add_many(agent, ["10", "80"])

    assert contents(repo.context(agent, "70", k=1)) == ["80"]
    assert compass.queries == ["70"]
    with pytest.raises(EmbedderRequired):
        shared_repo.context(agent, "tea")


def test_without_a_memory_that_fits_the_text_is_empty(
    shared_repo: MemoryRepository, agent: str
) -> None:
    nothing = shared_repo.context(agent, NORTH)
    shared_repo.add(agent, note("tea", 0.9))
    tight = [
        shared_repo.context(agent, style=style, max_tokens=1, **BY_IMPORTANCE) for style in STYLES
    ]

    for found in (nothing, *tight):
        assert (found.text, found.marker, found.tokens, found.packed) == ("", "", 0, ())
    assert nothing.left_out == ()
    assert [reasons(found) for found in tight] == [{"tea": "too_long"}] * 3


def test_ranking_and_packing_are_one_statement(shared_engine: Engine, agent: str) -> None:
    repo = MemoryRepository(shared_engine)
    repo.add(agent, note("tea", 0.9, embedding=at(0)))
    repo.teams.add(agent, note("team tea", 0.9, embedding=at(60)))
    sent: list[str] = []
    asked: dict[str, Any] = {"teams": [agent], "reserve": {"fact": 0.5}, "diversity": 0.3}
    asked |= {"max_similarity": 0.9, "strategy": "exact", "touch": False}

    def note_down(*arguments: Any) -> None:
        sent.append(arguments[2])

    repo.context(agent, NORTH, **asked)
    event.listen(shared_engine, "before_cursor_execute", note_down)
    found = repo.context(agent, NORTH, **asked)
    event.remove(shared_engine, "before_cursor_execute", note_down)

    assert len(found.packed) == 2
    [statement] = sent
    assert "pack(" in statement


def test_the_record_is_plain_json(shared_repo: MemoryRepository, agent: str) -> None:
    tea, _, coffee = (
        note("tea", 0.9, embedding=at(0)),
        note("tea too", 0.8, embedding=at(1)),
        note("coffee", 0.05, "task"),
    )
    ids = shared_repo.add_many(agent, [tea, _, coffee])
    numbers: dict[str, Any] = dict.fromkeys(("max_tokens", "k", "consider"), np.int32(50))

    found = shared_repo.context(
        agent, max_similarity=0.9, min_score=0.1, **numbers, **BY_IMPORTANCE
    )
    record = json.loads(json.dumps(found.record()))

    assert list(record) == [
        *("text", "tokens", "max_tokens", "marker", "strategy", "min_relevance", "emptied_by"),
        *("packed", "left_out"),
    ]
    assert (record["text"], record["marker"]) == (found.text, found.marker)
    assert record["max_tokens"] == 50
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


# The budget


ALPHABET = [
    *("tea ", "\n", "\r\n", "\r", "\u2028", "\x07", "\t", "  "),
    *("<", ">", "&", "&amp;", "> ", "]]>", "é", "中文", "🙂", "x" * 30),
]


@pytest.fixture(scope="module")
def many(shared_engine: Engine) -> MemoryRepository:
    """The agent `budgets` with contents that every style writes longer than they are."""
    chance = random.Random(3)
    repo = MemoryRepository(shared_engine)
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
    return repo


@pytest.mark.parametrize("style", STYLES)
def test_the_budget_is_never_exceeded(many: MemoryRepository, style: str) -> None:
    chance = random.Random(4)
    filled = []
    for _ in range(25):
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


def test_what_is_reckoned_to_fit_fits(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add_many(agent, [note(f"{n:04}", 0.9) for n in range(40)])
    asked: dict[str, Any] = {"k": 40, "touch": False, **BY_IMPORTANCE}

    for name, style in STYLES.items():
        whole = shared_repo.context(agent, style=name, **asked)
        added = style.added([estimated_tokens(sample) for sample in style.samples])
        budget = added.frame + sum(one.tokens for one in whole.packed)
        found = shared_repo.context(agent, style=name, max_tokens=budget, **asked)

        assert whole.tokens <= budget
        assert len(whole.packed) == len(found.packed) == 40


def test_when_the_text_is_longer_than_reckoned_it_is_packed_again_with_less(
    shared_engine: Engine, agent: str
) -> None:
    repo = counting(shared_engine, len)  # the bodies count as much as they are said to below
    ids = repo.add_many(agent, [note(f"{n}" * 40, 0.9 - n / 10, tokens=10) for n in range(5)])

    found = repo.context(agent, max_tokens=140, **BY_IMPORTANCE)

    assert contents(found) == ["0" * 40, "1" * 40]
    assert found.tokens == len(found.text) <= 140
    assert reasons(found) == {f"{n}" * 40: "too_long" for n in (2, 3, 4)}
    assert [one.hit.memory.id for one in found.left_out] == ids[2:]
    assert retrievals(repo, agent, list(ids)) == [1, 1, 0, 0, 0]


def test_nothing_is_left_out_for_the_sake_of_what_gave_way(
    shared_engine: Engine, agent: str
) -> None:
    repo = counting(shared_engine, len)
    several = [("a" * 40, 0.9, 0), ("b" * 40, 0.8, 80), ("c", 0.7, 81)]
    repo.add_many(agent, [note(name, score, embedding=at(d)) for name, score, d in several])

    found = repo.context(agent, max_tokens=170, max_similarity=0.9, **BY_IMPORTANCE)

    packed = {one.hit.memory.id for one in found.packed}
    assert packed
    assert {one.near for one in found.left_out} - {None} <= packed


def test_one_that_was_counted_too_small_does_not_take_the_place_of_all(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    shared_repo.add(agent, note("x" * 40_000, 0.9, tokens=0))
    shared_repo.add_many(agent, [note(f"note {n}", 0.8 - n / 100) for n in range(10)])
    too_long = counting(shared_engine, lambda content: 1_000 if ":" in content else 0)

    found = shared_repo.context(agent, max_tokens=1000, **BY_IMPORTANCE)
    none = too_long.context(agent, max_tokens=999, **BY_IMPORTANCE)

    assert contents(found) == [f"note {n}" for n in range(10)]
    assert reasons(found) == {"x" * 40_000: "too_long"}
    assert (none.text, none.tokens, none.packed) == ("", 0, ())
    assert set(reasons(none).values()) == {"too_long", "stopped"}


def test_texts_that_all_were_counted_too_small_fill_the_budget(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add_many(
        agent, [note(f"{n}" + " tea" * 95, 0.9 - n / 100, tokens=1) for n in range(60)]
    )

    found = shared_repo.context(agent, max_tokens=1000, k=60, **BY_IMPORTANCE)

    assert 900 <= found.tokens <= 1000
    assert len(found.packed) == 9


# Packing, worked out by hand


def test_so_many_of_the_best_are_considered(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add_many(agent, [note(f"{n:02}", 0.9 - n / 200) for n in range(100)])

    several: list[tuple[dict[str, Any], int]] = [
        ({"k": 2}, 6),
        ({"k": 2, "max_skips": 1}, 2),
        ({"k": 2, "consider": 4}, 4),
        ({"k": 20, "max_skips": 500}, 80),
        ({"k": 90, "max_skips": 500}, 90),
        ({"k": 1, "consider": 500}, 100),
        ({"k": 2, "reserve": {"task": 0.1}}, 80),
        ({"k": 2, "reserve": {}}, 6),
        ({"k": 2, "max_similarity": 1.0}, 80),
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
    assert packed({"fact": 1.0})[0] == ["0", "1", "4", "5"]
    assert packed({"preference": 0.9})[0] == ["0", "1", "2", "3"]


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
    strict = shared_repo.context(agent, max_similarity=0.8, touch=False, **BY_IMPORTANCE)

    assert contents(found) == ["first", "second", "near both", "no vector", "nor this"]
    assert {one.hit.memory.id: (one.reason, one.near) for one in found.left_out} == {
        ids[1]: ("near_duplicate", ids[0]),
        ids[3]: ("near_duplicate", ids[2]),
    }
    assert contents(strict) == ["first", "second", "no vector", "nor this"]


def test_diversity_weighs_score_against_similarity(
    shared_repo: MemoryRepository, agent: str
) -> None:
    several = [("best", 0.9, 0), ("like best", 0.85, 15), ("other", 0.6, 90)]
    several.append(("like other", 0.55, 88))
    shared_repo.add_many(
        agent, [note(name, score, embedding=at(degrees)) for name, score, degrees in several]
    )

    def packed(diversity: float, **arguments: Any) -> list[str]:
        arguments = BY_IMPORTANCE | {"touch": False} | arguments
        return contents(shared_repo.context(agent, diversity=diversity, **arguments))

    assert packed(0.1) == ["best", "like best", "other", "like other"]
    assert packed(0.5) == ["best", "other", "like best", "like other"]
    assert packed(0.5, k=2) == ["best", "other"]
    assert packed(0.99, min_score=0.7) == ["best", "like best"]


# Whose memories


def test_teams_are_merged_into_one_ranking(shared_repo: MemoryRepository, agent: str) -> None:
    repo, red, blue = shared_repo, f"{agent} red", f"{agent} blue"
    own = [repo.add(agent, note(f"own {n}", n, id=UUID(int=int(n * 10)))) for n in (0.9, 0.5)]
    # One id in two places is two memories.
    of_red = [repo.teams.add(red, note(f"red {n}", n, id=own[n > 0.5])) for n in (0.7, 0.3)]
    of_blue = [repo.teams.add(blue, note("blue", 0.8))]
    repo.teams.add(f"{agent} green", note("green", 0.95))
    repo.add(red, note("an agent called red", 0.95))

    found = repo.context(agent, teams=[red, blue], k=4, **BY_IMPORTANCE)
    of_team = repo.teams.context(blue, teams=[blue, red], touch=False, **BY_IMPORTANCE)

    assert contents(found) == ["own 0.9", "blue", "red 0.7", "own 0.5"]
    assert [one.hit.memory.team_id for one in found.packed] == [None, blue, red, None]
    assert reasons(found) == {"red 0.3": "limit"}
    assert retrievals(repo, agent, list(own)) == [1, 1]
    assert retrievals(repo.teams, red, list(of_red)) == [1, 0]
    assert retrievals(repo.teams, blue, list(of_blue)) == [1]
    assert contents(of_team) == ["blue", "red 0.7", "red 0.3"]


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
    assert packed(where=shared_repo.memories.c.importance < 0.75) == ["a green tree"]
    assert packed(
        where=[text("content LIKE :mine").bindparams(mine="%tea"), text("importance > 0.5")]
    ) == ["green tea"]


def test_a_parameter_of_ones_own_keeps_its_value_or_is_refused_for_its_name(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add_many(agent, [note(f"{n}", n) for n in (0.2, 0.4, 0.6, 0.8)])
    free = {"mine", "place", "cost"}
    ours = {
        *("floor", "budget", "most", "max_skips", "diversity", "max_similarity"),
        *("block_length", "per_line", "per_escape", "reserved_types", "reserved_shares"),
        *("measured_ids", "measured_costs", "labels", "label_kinds", "hit_ids", "hit_owners"),
    }

    for name in sorted(free | ours):
        for condition in (
            text(f"importance > :{name}").bindparams(**{name: 0.7}),
            shared_repo.memories.c.importance > bindparam(name, 0.7),
        ):
            try:
                found = shared_repo.context(agent, where=condition, touch=False, **BY_IMPORTANCE)
            except InputError as refused:
                assert name in ours
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

    assert (packed(9), packed(6)) == (["over", "old"], ["old"])
    assert packed(1) == ["newer", "old"]


def test_hits_and_their_order_are_those_of_a_search(
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
        {},
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

    with new_database(server_url, template) as url:
        engine = create_engine(url)
        repo = MemoryRepository(engine)
        repo.add_many("a", memories(200, "own"))
        repo.teams.add_many("t", memories(200, "team"))
        repo.build_rank_indexes(at_least=10)
        repo.add_many("a", memories(10, "new"))
        yield repo
        engine.dispose()


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
        asked = {"profile": "five_factor", "teams": teams, "as_of": NOW, "touch": False}
        asked |= arguments
        exact, found = (
            indexed.context("a", at(30), strategy=how, **asked)  # type: ignore[arg-type]
            for how in ("exact", strategy)
        )
        assert (exact.strategy, found.strategy) == ("exact", "index")
        assert contents(found) == contents(exact) != []
        assert reasons(found) == reasons(exact)
        assert (costs(found), found.tokens) == (costs(exact), exact.tokens)
        assert found.text.replace(found.marker, "") == exact.text.replace(exact.marker, "")


def test_an_index_is_not_asked_for_more_than_80(indexed: MemoryRepository) -> None:
    found = indexed.context("a", at(30), consider=81, strategy="index", as_of=NOW, touch=False)

    assert found.strategy == "exact"
    assert len(found.packed) + len(found.left_out) == 81


# Counting retrievals


def test_only_what_is_in_the_text_is_counted_unless_told_not_to(
    shared_repo: MemoryRepository, agent: str
) -> None:
    ids = shared_repo.add_many(
        agent,
        [
            note("in", 0.9, embedding=at(0)),
            note("near", 0.85, embedding=at(1)),
            note("too long", 0.8, tokens=10_000),
            note("in too", 0.7),
            note("over the limit", 0.6),
        ],
    )

    asked: dict[str, Any] = {"k": 2, "max_similarity": 0.9, **BY_IMPORTANCE}
    shared_repo.context(agent, touch=False, **asked)
    assert retrievals(shared_repo, agent, list(ids)) == [0, 0, 0, 0, 0]

    assert contents(shared_repo.context(agent, **asked)) == ["in", "in too"]
    assert retrievals(shared_repo, agent, list(ids)) == [1, 0, 0, 1, 0]


def test_a_database_that_is_read_only_answers_without_counting(
    shared_repo: MemoryRepository, shared_url: str, agent: str
) -> None:
    shared_repo.add(agent, note("tea", 0.9))
    options = {"options": "-c default_transaction_read_only=on"}
    reader = MemoryRepository(create_engine(shared_url, poolclass=NullPool, connect_args=options))

    assert contents(reader.context(agent, touch=False, **BY_IMPORTANCE)) == ["tea"]
    with pytest.raises(DatabaseReadOnly):
        reader.context(agent, **BY_IMPORTANCE)


# Bad arguments


BAD: list[tuple[dict[str, Any], str]] = [
    ({"max_tokens": 0}, r"max_tokens must lie within 1 and 2147483647, got 0"),
    ({"max_tokens": 2**31}, r"max_tokens .*got 2147483648"),
    ({"max_tokens": True}, r"max_tokens must be a whole number, got True"),
    ({"max_tokens": None}, r"max_tokens must be a whole number, got None"),
    ({"k": 0}, r"k must lie within 1 and 500, got 0"),
    ({"k": 501}, r"k must lie within 1 and 500, got 501"),
    ({"max_skips": 0}, r"max_skips must lie within 1 and 500, got 0"),
    ({"max_skips": 501}, r"max_skips .*got 501"),
    ({"consider": 19}, r"consider must lie within 20 and 500, got 19"),
    ({"k": 5, "consider": 4}, r"consider must lie within 5 and 500, got 4"),
    ({"consider": 501}, r"consider .*got 501"),
    ({"min_score": 1.5}, r"min_score must lie within 0 and 1, got 1\.5"),
    ({"min_score": NAN}, r"min_score .*got nan"),
    ({"min_score": "low"}, r"min_score must be a number, got str 'low'"),
    ({"reserve": 0.5}, r"reserve maps types of memory to shares, got float"),
    ({"reserve": {"fact": 1.5}}, r"reserve\['fact'\] must lie within 0 and 1, got 1\.5"),
    ({"reserve": {"fact": None}}, r"reserve\['fact'\] must be a number, got None"),
    ({"reserve": {"a": 0.6, "b": 0.5}}, r"shares of reserve must not exceed 1.*1\.1"),
    ({"reserve": {"": 0.5}}, r"reserve must not be empty"),
    ({"reserve": dict.fromkeys(map(str, range(101)), 0)}, r"at most 100 types, got 101"),
    ({"diversity": 1}, r"diversity must be less than 1"),
    ({"diversity": -0.1}, r"diversity must lie within 0 and 1, got -0\.1"),
    ({"max_similarity": 1.1}, r"max_similarity must lie within 0 and 1, got 1\.1"),
    ({"style": "html"}, r"unknown style 'html'; the styles are plain, markdown, xml"),
    ({"strategy": "fast"}, r"strategy must be one of auto, exact, index, got 'fast'"),
    ({"touch": "no"}, r"touch must be True or False, got 'no'"),
    ({"min_similarity": 2}, r"min_similarity .*got 2"),
    ({"teams": "red"}, r"teams must be a list of texts, got str"),
    ({"profile": "six_factor"}, r"six_factor"),
    ({"weights": {"similarity": 0.5}}, r"sum to 1"),
    ({"as_of": NOW.replace(tzinfo=None)}, r"as_of has no time zone"),
    ({"expand": 1}, r"expand"),
    ({"where": "true"}, r"where takes SQLAlchemy expressions, got str"),
    ({"agent_id": ""}, "agent_id must not be empty"),
    ({"embedding": " "}, "the query is empty"),
    ({"embedding": "x\0"}, "NUL"),
]


def test_a_bad_argument_is_refused_by_name(shared_repo: MemoryRepository) -> None:
    for arguments, message in BAD:
        with pytest.raises(InputError, match=message):
            shared_repo.context(**{"agent_id": "a", "embedding": NORTH, **arguments})
    with pytest.raises(InvalidVector, match="2 dimensions"):
        shared_repo.context("a", [1.0, 2.0])
    shares = dict.fromkeys("abcdefghij", 0.1)
    assert sum(shares.values()) != 1
    assert shared_repo.context("nobody", reserve=shares).text == ""


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
    expected = {"x": 1, "four": 1, "fives": 2, "éàü中🙂": 5, "x" * 1_001: 251}
    shared_repo.add_many(agent, [note(content, 0.5) for content in expected])

    assert stored_tokens(shared_engine, agent) == expected


def test_a_counter_of_ones_own_counts_whatever_is_written(
    shared_engine: Engine, agent: str
) -> None:
    repo = MemoryRepository(shared_engine, token_counter=words, embedder=Compass())
    one = repo.add(agent, note("one two three", 0.5))
    two, six, given = repo.add_many(
        agent, [note("four five", 0.5), note("six", 0.5), note("given", 0.5, tokens=9)]
    )
    repo.add_many(agent, [note("a b c d", 0.5, embedding=NORTH)], near_duplicates=0.9)
    then = stored_tokens(shared_engine, agent)

    repo.update(agent, one, content="one two", embedding=None)
    repo.update(agent, two, importance=0.9)
    repo.update(agent, six, content="six seven eight nine ten", embedding=None, tokens=7)
    repo.supersede(agent, given, note("what comes after it now", 0.5))
    repo.add_many(agent, [note(f"{n}", 0.5, embedding=at(90 + n)) for n in range(4)])
    repo.consolidate(agent, lambda texts: "9_1", min_similarity=0.99, more_than=3)

    assert then == {"one two three": 3, "four five": 2, "six": 1, "given": 9, "a b c d": 4}
    assert stored_tokens(shared_engine, agent) == {
        "one two": 2,
        "four five": 2,
        "six seven eight nine ten": 7,
        "given": 9,
        "what comes after it now": 5,
        "a b c d": 4,
        **dict.fromkeys(["0", "1", "2", "3", "9_1"], 1),
    }


@pytest.mark.parametrize("policy", ["bump", "keep", "replace"])
def test_a_duplicate_counts_what_is_stored_in_the_end(
    shared_engine: Engine, agent: str, policy: Any
) -> None:
    repo = counting(shared_engine, len)
    repo.add(agent, note("Tea  and milk", 0.5))
    repo.add(agent, note("tea and milk", 0.5), duplicates=policy)
    repo.add_many(agent, [note("TEA AND  MILK", 0.5)], duplicates=policy)

    [(content, tokens)] = stored_tokens(shared_engine, agent).items()
    assert tokens == len(content)


def test_what_was_counted_is_what_is_packed_by(shared_engine: Engine, agent: str) -> None:
    repo = counting(shared_engine, words)
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
        (True, r"whole number, got True"),
        (-1, r"0 to 2,147,483,647 tokens, got -1"),
        (2**31, r"0 to 2,147,483,647 tokens, got 2147483648"),
    ],
    ids=str,
)
def test_a_counter_that_returns_nonsense_is_refused_and_nothing_stored(
    shared_engine: Engine, agent: str, returned: Any, message: str
) -> None:
    sound, broken = counting(shared_engine, words), counting(shared_engine, lambda _: returned)
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


def test_what_is_no_counter_is_refused_and_what_it_raises_is_raised(
    shared_engine: Engine, agent: str
) -> None:
    def broken(content: str) -> int:
        raise ConnectionError("no answer")

    with pytest.raises(ConnectionError, match="no answer"):
        counting(shared_engine, broken).add(agent, note("a", 0.5))
    none: Any
    for none in (None, 4, "tiktoken", [len]):
        with pytest.raises(InputError, match="a function from a text to a number, got"):
            counting(shared_engine, none)


def test_a_memory_of_as_many_tokens_as_may_be_stored_is_too_long(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add_many(agent, [note("long", 0.9, tokens=2**31 - 1), note("short", 0.8)])

    found = shared_repo.context(agent, **BY_IMPORTANCE)

    assert contents(found) == ["short"]
    assert reasons(found) == {"long": "too_long"}


def test_the_database_reckons_as_python_does(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    """What raw SQL inserted, without a count, too."""
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

    def found() -> dict[str, Context]:
        arguments = BY_IMPORTANCE | {"max_tokens": 10**6, "k": 500, "touch": False}
        return {one: shared_repo.context(agent, style=one, **arguments) for one in STYLES}

    counted = found()
    sql(
        shared_engine,
        "UPDATE pgrecall.agent_memories SET tokens = NULL WHERE agent_id = :agent",
        agent=agent,
    )
    uncounted = found()

    for name, style in STYLES.items():
        assert costs(counted[name]) == {
            one.hit.memory.content: estimated_tokens(one.hit.memory.content)
            + reckoned(style, one.hit.memory)
            for one in counted[name].packed
        }
        assert set(costs(counted[name])) == set(every)
        assert costs(uncounted[name]) == costs(counted[name])
