"""What makes two memories one: their text, kind and validity, or their key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from sqlalchemy import Engine

from pgrecall import Memory, MemoryRepository, NewMemory
from pgrecall.added import Added
from pgrecall.errors import DuplicateMemory, InputError, SupersessionConflict
from pgrecall.ids import id_of_key, new_id
from tests.integration.support import NORTH, contents, sql
from tests.integration.test_duplicates import WAYS

ADDING = {name: WAYS[name] for name in ("add", "add_many")}


@pytest.fixture(params=ADDING)
def add(request: pytest.FixtureRequest) -> Callable[..., Added]:
    return ADDING[request.param]


def year(number: int | None) -> datetime | None:
    return None if number is None else datetime(number, 1, 1, tzinfo=UTC)


def during(start: int | None, end: int | None, text: str = "tea", **more: Any) -> NewMemory:
    dated = {"valid_from": year(start), "valid_until": year(end)}
    return NewMemory(text, **({"embedding": None} | dated | more))


def validities(engine: Engine, agent: str) -> list[tuple[int | None, int | None]]:
    rows = sql(
        engine,
        "SELECT date_part('year', valid_from)::int, date_part('year', valid_until)::int "
        "FROM pgrecall.agent_memories WHERE agent_id = :agent ORDER BY valid_from NULLS FIRST",
        agent=agent,
    )
    return [(start, end) for start, end in rows]


def read(repo: MemoryRepository, agent: str, memory_id: UUID) -> Memory:
    memory = repo.get(agent, memory_id)
    assert memory is not None
    return memory


# Text, kind and validity


def test_a_text_of_another_type_or_component_is_another_memory(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    kinds: list[dict[str, Any]] = [
        {},
        {"memory_type": "entity"},
        {"component": "hunter"},
        {"component": "meta"},
        {"memory_type": "entity", "component": "meta"},
    ]

    ids = [add(shared_repo, agent, during(None, None, **kind)) for kind in kinds]
    again = [add(shared_repo, agent, during(None, None, "TEA", **kind)) for kind in kinds]

    assert [one.outcome for one in ids] == ["inserted"] * 5
    assert [(one, one.outcome) for one in again] == [(one, "duplicate") for one in ids]


@pytest.mark.parametrize(
    ("second", "same"),
    [
        ((2020, None), False),
        ((2012, 2013), False),
        ((None, 2010), False),
        ((2005, 2010), False),
        ((2011, None), True),
        ((None, 2011), True),
        ((None, None), True),
        ((2010, 2011), True),
        ((2000, 2030), True),
    ],
)
def test_a_text_that_holds_at_another_time_is_another_memory(
    shared_repo: MemoryRepository,
    agent: str,
    add: Callable[..., Added],
    second: tuple[int | None, int | None],
    same: bool,
) -> None:
    first = add(shared_repo, agent, during(2010, 2012))

    other = add(shared_repo, agent, during(*second))

    assert (other == first) is same
    assert other.inserted is not same


def test_a_text_of_another_time_is_stored_beside_a_key(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    add(shared_repo, agent, during(2020, None, key="k"))

    assert add(shared_repo, agent, during(2010, 2012)).outcome == "inserted"
    assert add(shared_repo, agent, during(2010, 2012)).outcome == "duplicate"
    assert shared_repo.count(agent, include_invalid=True) == 2


def test_what_was_forgotten_counts_until_then(shared_repo: MemoryRepository, agent: str) -> None:
    tea = shared_repo.add(agent, during(None, None))
    shared_repo.invalidate(agent, tea)

    later = shared_repo.add(agent, during(2900, None))
    before = shared_repo.add(agent, during(2010, 2020))
    at_any_time = shared_repo.add(agent, during(None, 2800))

    assert later.inserted
    assert (before, before.outcome) == (tea, "duplicate")
    assert (at_any_time, at_any_time.outcome) == (tea, "revived")


@pytest.mark.parametrize("policy", ["bump", "replace"])
def test_what_is_said_again_without_a_time_holds_between_its_neighbours(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, policy: Any
) -> None:
    for years in ((2000, 2005), (2010, 2020), (2900, None)):
        shared_repo.add(agent, during(*years))

    again = shared_repo.add(agent, during(None, None), duplicates=policy)

    assert again.outcome == "revived"
    assert validities(shared_engine, agent) == [(2000, 2005), (2005, 2900), (2900, None)]


def test_a_batch_may_hold_several_validities_of_one_text(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    batch = [during(2010 + n, 2011 + n) for n in range(6)] + [during(2012, 2014)]

    added = shared_repo.add_many(agent, batch)

    assert [one.outcome for one in added] == ["inserted"] * 6 + ["duplicate"]
    assert added[-1] in added[2:4]
    assert validities(shared_engine, agent) == [(2010 + n, 2011 + n) for n in range(6)]


def test_an_update_makes_no_second_memory_of_a_text(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    first = shared_repo.add(agent, during(2010, 2012))
    second = shared_repo.add(agent, during(2020, None))
    other = shared_repo.add(agent, during(2011, None, "coffee"))
    entity = shared_repo.add(agent, during(2011, 2015, memory_type="entity"))
    changes: list[tuple[UUID, dict[str, Any]]] = [
        (second, {"valid_from": year(2011)}),
        (first, {"valid_until": year(2021)}),
        (other, {"content": "TEA", "embedding": None}),
        (entity, {"memory_type": "episodic"}),
    ]
    before = sql(shared_engine, "SELECT * FROM pgrecall.memory_events WHERE agent_id = :a", a=agent)

    for memory_id, change in changes:
        with pytest.raises(DuplicateMemory):
            shared_repo.update(agent, memory_id, **change)

    after = sql(shared_engine, "SELECT * FROM pgrecall.memory_events WHERE agent_id = :a", a=agent)
    assert after == before
    moved = shared_repo.update(
        agent, other, content="TEA", embedding=None, valid_from=year(2012), valid_until=year(2020)
    )
    assert moved.content == "TEA"


def test_a_memory_is_not_revived_into_the_time_of_another(
    shared_repo: MemoryRepository, agent: str
) -> None:
    old = shared_repo.add(agent, during(None, None))
    shared_repo.invalidate(agent, old)
    shared_repo.add(agent, during(2900, None))

    with pytest.raises(DuplicateMemory):
        shared_repo.revive(agent, old)
    shared_repo.update(agent, old, valid_until=year(2900))
    assert shared_repo.revive(agent, old) == 1


# Keys


def test_a_key_is_stored_as_it_is_given(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    keyed = add(shared_repo, agent, during(None, None, key=" A/b é"))
    plain = add(shared_repo, agent, during(None, None, "coffee"))

    assert read(shared_repo, agent, keyed).key == " A/b é"
    assert read(shared_repo, agent, plain).key is None
    assert keyed == id_of_key(agent, " A/b é")


@pytest.mark.parametrize("key", ["k", "é\n🙂", "x" * 200])
def test_sql_makes_the_same_id_of_a_key(shared_engine: Engine, agent: str, key: str) -> None:
    [(made,)] = sql(shared_engine, "SELECT pgrecall.id_of_key(:a, :k)", a=agent, k=key)

    assert made == id_of_key(agent, key)
    assert (made.version, made.variant) == (8, "specified in RFC 4122")


def test_two_keys_with_the_same_text_are_two_memories(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    plain = add(shared_repo, agent, during(None, None))
    keyed = [add(shared_repo, agent, during(None, None, key=key)) for key in "abc"]
    again = [add(shared_repo, agent, during(None, None, key=key)) for key in "abc"]

    assert len({plain, *keyed}) == 4
    assert [(one, one.outcome) for one in again] == [(one, "known") for one in keyed]


def test_a_text_without_a_key_meets_one_that_has_a_key(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    keyed = add(shared_repo, agent, during(None, None, key="k"))

    again = add(shared_repo, agent, during(None, None))

    assert (again, again.outcome) == (keyed, "duplicate")


def test_the_text_of_a_key_may_become_that_of_another(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add(agent, during(None, None))
    keyed = shared_repo.add(agent, during(None, None, "coffee", key="k"))

    assert shared_repo.update(agent, keyed, content="tea", embedding=None).content == "tea"
    shared_repo.invalidate(agent, keyed)
    assert shared_repo.revive(agent, keyed) == 1


# Every row


def test_every_row_is_stored_where_duplicates_are_allowed(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, add: Callable[..., Added]
) -> None:
    shared_repo.add(agent, during(None, None))
    mine = during(None, None, id=uuid4())

    added = [add(shared_repo, agent, during(None, None), duplicates="allow") for _ in range(3)]
    once, twice = (add(shared_repo, agent, mine, duplicates="allow") for _ in range(2))

    assert [one.outcome for one in added] == ["inserted"] * 3
    assert (once.outcome, twice.outcome) == ("inserted", "known")
    assert len(validities(shared_engine, agent)) == 5
    assert add(shared_repo, agent, during(None, None)).outcome == "duplicate"


def test_a_batch_of_one_text_is_stored_whole_where_duplicates_are_allowed(
    shared_repo: MemoryRepository, agent: str
) -> None:
    added = shared_repo.add_many(agent, [during(None, None)] * 20, duplicates="allow")

    assert len(set(added)) == 20


def test_allowing_duplicates_and_looking_for_near_ones_is_refused(
    shared_repo: MemoryRepository, agent: str
) -> None:
    with pytest.raises(InputError, match="near_duplicates"):
        shared_repo.add(agent, during(None, None), duplicates="allow", near_duplicates=0.9)


# What was superseded


def replaced_by(repo: MemoryRepository, agent: str, *texts: str) -> list[Added]:
    """Each text supersedes the one before it."""
    ids = [repo.add(agent, NewMemory(texts[0], embedding=NORTH))]
    for text in texts[1:]:
        ids.append(repo.supersede(agent, ids[-1], NewMemory(text, embedding=NORTH)))
    return ids


@pytest.mark.parametrize("policy", ["bump", "keep", "replace"])
def test_saying_again_what_was_superseded_supersedes_its_successor(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added], policy: str
) -> None:
    rome, paris, oslo = replaced_by(shared_repo, agent, "Rome", "Paris", "Oslo")

    again = add(
        shared_repo, agent, NewMemory("Rome", embedding=NORTH), duplicates=policy, actor="Kai"
    )

    assert (again, again.outcome) == (rome, "revived")
    assert contents(shared_repo.search(agent, NORTH, touch=False)) == ["Rome"]
    assert read(shared_repo, agent, oslo).superseded_by == rome
    assert read(shared_repo, agent, paris).superseded_by == oslo
    told = shared_repo.history(agent, oslo)[-1]
    assert (told.event_type, told.actor) == ("superseded", "Kai")
    assert told.reason == "what it superseded was said again"


@pytest.mark.parametrize("batch", [False, True])
def test_so_does_saying_it_again_after_it_was_put_away(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, batch: bool
) -> None:
    rome, paris = replaced_by(shared_repo, agent, "Rome", "Paris")
    sql(
        shared_engine,
        "UPDATE pgrecall.agent_memories SET status = 'archived' WHERE id = :id RETURNING 1",
        id=rome,
    )
    news = [NewMemory(text, embedding=NORTH) for text in ("Rome", "Bern")]

    again = shared_repo.add_many(agent, news)[0] if batch else shared_repo.add(agent, news[0])

    assert again.inserted
    assert read(shared_repo, agent, paris).superseded_by == again
    assert shared_repo.history(agent, paris)[-1].reason == "what it superseded was said again"
    assert "Paris" not in contents(shared_repo.search(agent, NORTH, touch=False))


def test_of_a_time_gone_by_that_is_a_conflict_too(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    rome = shared_repo.add(agent, during(2000, 2010, "Rome"))
    paris = shared_repo.supersede(agent, rome, during(2005, None, "Paris"), force=True)
    sql(
        shared_engine,
        "UPDATE pgrecall.agent_memories SET status = 'archived' WHERE id = :id RETURNING 1",
        id=rome,
    )

    with pytest.raises(SupersessionConflict, match="both cannot be right"):
        shared_repo.add(agent, during(2006, 2008, "Rome"))

    assert shared_repo.count(agent, include_invalid=True) == 1
    assert read(shared_repo, agent, paris).invalidated_at is None


def test_a_batch_in_which_each_was_superseded_by_the_next_ends_with_one(
    shared_repo: MemoryRepository, agent: str
) -> None:
    texts = ["Rome", "Paris", "Oslo"]
    replaced_by(shared_repo, agent, *texts)

    shared_repo.add_many(agent, [NewMemory(text, embedding=NORTH) for text in texts])

    assert len(shared_repo.search(agent, NORTH, touch=False)) == 1


def test_saying_it_from_a_day_to_come_on_ends_the_successor_then(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    _, paris = replaced_by(shared_repo, agent, "Rome", "Paris")

    later = add(shared_repo, agent, during(2900, None, "Rome"))

    assert later.inserted
    assert read(shared_repo, agent, paris).invalidated_at == year(2900)
    assert read(shared_repo, agent, paris).superseded_by == later


def test_saying_it_of_a_time_gone_by_that_the_successor_claims_is_a_conflict(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, add: Callable[..., Added]
) -> None:
    rome = shared_repo.add(agent, during(2000, None, "Rome"))
    paris = shared_repo.supersede(agent, rome, during(2010, None, "Paris"))
    shared_repo.update(agent, rome, valid_until=year(2010), created_at=None)

    with pytest.raises(SupersessionConflict, match=str(paris)):
        add(shared_repo, agent, during(2015, 2020, "Rome"))

    assert len(validities(shared_engine, agent)) == 2
    assert add(shared_repo, agent, during(1990, 2000, "Rome")).inserted


def test_what_was_superseded_is_revived_beside_its_successor_by_force_only(
    shared_repo: MemoryRepository, agent: str
) -> None:
    rome, paris = replaced_by(shared_repo, agent, "Rome", "Paris")

    with pytest.raises(SupersessionConflict, match=str(paris)):
        shared_repo.revive(agent, rome)
    assert contents(shared_repo.search(agent, NORTH, touch=False)) == ["Paris"]

    assert shared_repo.revive(agent, rome, force=True) == 1
    assert sorted(contents(shared_repo.search(agent, NORTH, touch=False))) == ["Paris", "Rome"]


def test_it_is_revived_without_force_where_its_successor_was_forgotten(
    shared_repo: MemoryRepository, agent: str
) -> None:
    rome, paris = replaced_by(shared_repo, agent, "Rome", "Paris")
    shared_repo.invalidate(agent, paris)

    assert shared_repo.revive(agent, rome) == 1


# From psql


@pytest.mark.parametrize("near", ["NULL", "0.9"])
def test_of_several_under_one_key_or_id_the_first_is_stored_everywhere(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, near: str
) -> None:
    ids = [new_id(), new_id()]
    given = [("z", "k", None), ("a", "k", None), ("y", None, ids[0]), ("b", None, ids[0])]
    given += [("c", None, ids[1]), ("a", "k", None)]
    twin = f"{agent} twin"
    stored = shared_repo.add_many(
        agent, [NewMemory(text, key=key, id=id_, embedding=None) for text, key, id_ in given]
    )
    rows = ", ".join(
        f"pgrecall.new_memory('{text}', key => nullif('{key}', 'None'), "
        f"id => nullif('{id_}', 'None')::uuid)"
        for text, key, id_ in given
    )

    told = sql(
        shared_engine,
        f"SELECT * FROM pgrecall.remember_rows(:agent, ARRAY[{rows}], 'bump', {near}) ORDER BY 1",
        agent=twin,
    )

    assert [row[2] for row in told] == [added.outcome for added in stored]
    assert [added.outcome for added in stored].count("known") == 3
    texts = "SELECT content FROM pgrecall.agent_memories WHERE agent_id = :agent ORDER BY 1"
    assert sql(shared_engine, texts, agent=twin) == [("c",), ("y",), ("z",)]
    assert sql(shared_engine, texts, agent=agent) == [("c",), ("y",), ("z",)]
    assert [row[1] for row in told][2:5] == [ids[0], ids[0], ids[1]]


def test_an_update_forgets_what_was_said_of_the_old_text_and_vector(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    first = NewMemory("a", embedding=NORTH, embedding_model="m", tokens=9)
    id_ = shared_repo.add(agent, first)
    update = (
        "SELECT embedding_model, tokens "
        "FROM pgrecall.update_memory(:agent, :id, CAST(:changes AS jsonb))"
    )
    vector = "[0,1,0,0,0,0,0,0]"

    [row] = sql(shared_engine, update, agent=agent, id=id_, changes=f'{{"embedding": "{vector}"}}')
    assert row == (None, 9)
    [row] = sql(
        shared_engine,
        update,
        agent=agent,
        id=id_,
        changes=f'{{"content": "b", "embedding": "{vector}", "embedding_model": "n"}}',
    )
    assert row == ("n", None)
    told = shared_repo.history(agent, id_)[1]
    assert (told.old_values, told.new_values) == (
        {"embedding_model": "m"},
        {"embedding_model": None},
    )


def test_what_has_to_have_a_value_is_named(shared_url: str) -> None:
    nothing = '{"tags": null, "importance": null, "domain": null}'
    with (
        psycopg.connect(shared_url) as connection,
        pytest.raises(psycopg.Error, match="importance, tags must not be null") as refused,
    ):
        connection.execute(f"SELECT pgrecall.update_memory('a', gen_random_uuid(), '{nothing}')")
    assert refused.value.sqlstate == "PM001"


def test_psql_remembers_as_the_repository_does(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    memory = NewMemory(
        "tea",
        embedding=NORTH,
        key="k",
        tier="short",
        trust=None,
        created_at=None,
        expires_at=None,
        trust_curve=None,
        trust_half_life_hours=None,
        tags=["a"],
        metadata={"a": 1},
        loop="l",
        tokens=3,
    )
    shared_repo.add(agent, memory)
    shared_repo.add(agent, NewMemory("milk", embedding=None, output_type="action", tokens=1))
    twin = f"{agent} twin"
    calls = [
        "'tea', embedding => '[1,0,0,0,0,0,0,0]', key => 'k', tier => 'short', trust => 'NaN', "
        "created_at => '-infinity', expires_at => 'infinity', trust_curve => 'none', "
        "trust_half_life_hours => 'NaN', tags => '{a}', metadata => '{\"a\": 1}', loop => 'l', "
        "tokens => 3",
        "'milk', output_type => 'action', tokens => 1",
    ]
    for call in calls:
        sql(shared_engine, f"SELECT * FROM pgrecall.remember(:agent, {call})", agent=twin)

    mine, theirs = (
        sql(
            shared_engine,
            "SELECT to_jsonb(m) - '{agent_id,id,created_at,updated_at,inserted_at}'::text[], "
            "created_at IS NULL FROM pgrecall.agent_memories m "
            "WHERE agent_id = :agent ORDER BY content",
            agent=owner,
        )
        for owner in (agent, twin)
    )
    assert mine == theirs
    [(actors,)] = sql(
        shared_engine,
        "SELECT array_agg(DISTINCT actor) FROM pgrecall.memory_events WHERE agent_id = :agent",
        agent=twin,
    )
    assert actors == ["postgres"]


REFUSED = {
    "22023": [
        "remember('', 'a')",
        "remember('a', 'a', actor => '')",
        "remember('a', 'a', near_duplicates => 1.5)",
        "remember('a', 'a', near_duplicates => 0.5, duplicates => 'allow')",
        "set_importance('a', NULL, 2)",
        "move_tier('a', '{}', NULL)",
        "forget('a', '{}', metadata => '[]')",
        "invalidate(NULL, '{}')",
    ],
    "PM001": [
        "remember('a', '')",
        "remember('a', NULL)",
        "remember('a', 'a', key => '')",
        "remember('a', 'a', key => 'k', id => gen_random_uuid())",
        "remember('a', 'a', valid_from => '2020-01-01', valid_until => '2020-01-01')",
        "update_memory('a', gen_random_uuid(), '{}')",
        "update_memory('a', gen_random_uuid(), NULL)",
        "update_memory('a', gen_random_uuid(), '{\"key\": \"k\"}')",
        "update_memory('a', gen_random_uuid(), '{\"content\": \"k\"}')",
        "update_memory('a', gen_random_uuid(), '{\"importance\": null}')",
        "update_memory('a', gen_random_uuid(), '{\"content\": null, \"embedding\": null}')",
    ],
    "PM002": [
        "remember('a', 'a', compliant => false)",
        "update_memory('a', gen_random_uuid(), '{\"compliant\": false}')",
    ],
    "PM003": [
        "set_importance('a', gen_random_uuid(), 0.5)",
        "update_memory('a', gen_random_uuid(), '{\"importance\": 0.5}')",
        "supersede('a', gen_random_uuid(), pgrecall.new_memory('b'))",
    ],
    "PM007": [
        "remember('a', 'a', duplicates => 'no')",
        "remember('a', 'a', duplicates => NULL)",
        "update_memory('a', gen_random_uuid(), '{\"status\": \"active\"}')",
    ],
}


@pytest.mark.parametrize(
    ("state", "call"), [(state, call) for state, calls in REFUSED.items() for call in calls]
)
def test_psql_refuses_what_the_repository_refuses(shared_url: str, state: str, call: str) -> None:
    with psycopg.connect(shared_url) as connection, pytest.raises(psycopg.Error) as refused:
        connection.execute(f"SELECT * FROM pgrecall.{call}")

    assert refused.value.sqlstate == state
