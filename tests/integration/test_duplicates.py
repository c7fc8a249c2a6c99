"""What is said again is not stored again: by its text, kind and time, its key, or its vector."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from pgrecall import Memory, NewMemory
from pgrecall.core.ids import id_of_key
from pgrecall.errors import DuplicateMemory, SupersessionConflict
from pgrecall.memories.added import Added
from pgrecall.testing import new_database
from tests.conftest import DIMENSIONS
from tests.integration.owner import Owner, north, plain
from tests.integration.rank_indexes import build
from tests.integration.support import NORTH, NOW, at, before
from tests.integration.test_fields import FULL
from tests.integration.test_races import OVERLAPPING, WAITING
from tests.migrations.asking import wait_until

PAST = datetime(2020, 1, 1, tzinfo=UTC)
FUTURE = datetime(2900, 1, 1, tzinfo=UTC)

Add = Callable[..., Added]
WAYS: dict[str, Add] = {
    "add": lambda of, memory, **options: of.add(memory, **options),
    "add_many": lambda of, memory, **options: of.add_many([memory], **options)[0],
    "one_by_one": lambda of, memory, **options: of.add_many(
        [memory], **{"near_duplicates": 1.0, **options}
    )[0],
}
POLICIES = ["bump", "keep", "replace"]
SAID_AGAIN = "what it superseded was said again"


@pytest.fixture(params=WAYS)
def add(request: pytest.FixtureRequest) -> Add:
    """Each way for a memory to come in."""
    return WAYS[request.param]


def outcomes(added: list[Added]) -> list[str]:
    return [one.outcome for one in added]


def test_case_white_space_and_unicode_form_do_not_tell_texts_apart(mine: Owner, add: Add) -> None:
    first = add(mine, plain("Tea at the café"))
    assert (first.outcome, first.similarity, first.inserted) == ("inserted", None, True)

    for again in (
        *("Tea at the café", "tea at the CAFÉ", "  Tea at the café\n", "Tea\tat \r\n the\f\vcafé"),
        *("Tea at the cafe\u0301", "\nTEA  at the CAFE\u0301 "),
    ):
        second = add(mine, plain(again))
        assert (second, second.outcome) == (first, "duplicate")
        assert (second.similarity, second.inserted) == (1.0, False)

    assert mine.read(first).content == "Tea at the café"
    assert (mine.read(first).retrieval_count, mine.count()) == (6, 1)
    for other in ("Tea at the café!", "Teaat the café", "Tea at the café\u200b"):
        assert add(mine, plain(other)).inserted


@pytest.mark.parametrize(
    ("stored", "said", "expected"),
    [
        (before(90), [before(60)], before(60)),
        (before(60), [before(90)], before(60)),  # told out of order: not before its creation
        (before(90), [before(30), before(60)], before(30)),  # never back
        (None, [before(60)], before(60)),
        (before(90), [None], None),  # nobody knows when
        (before(90), [FUTURE], "now"),
        (FUTURE, [before(90)], "now"),
    ],
)
def test_bump_moves_the_clock_to_when_the_text_was_said_again(
    mine: Owner, add: Add, stored: datetime | None, said: list[datetime | None], expected: Any
) -> None:
    first = mine.add(plain("tea", created_at=stored))
    start = datetime.now(UTC)

    for moment in said:
        add(mine, plain("tea", created_at=moment))

    after = mine.read(first)
    assert after.retrieval_count == len(said)
    if expected == "now":
        assert after.last_accessed_at is not None
        assert abs(after.last_accessed_at - start) < timedelta(minutes=1)
    else:
        assert after.last_accessed_at == expected


def test_replace_takes_on_every_field_as_if_it_was_stored_now(mine: Owner, add: Add) -> None:
    rich = replace(FULL, id=None, content="TEA", requires_approval=False)
    same = ("memory_type", "component", "session", "turn")
    kind = {name: getattr(rich, name) for name in same}
    first = mine.add(north("tea", tags=["old"], **kind))
    mine.touch(first)
    fresh = mine.other.add(rich, check_compliance=False)

    again = add(mine, rich, duplicates="replace", check_compliance=False)

    old = mine.get(again, include_embedding=True)
    new = mine.other.get(fresh, include_embedding=True)
    assert (again, again.outcome) == (first, "duplicate")
    assert (old.id, old.retrieval_count, new.id) == (first, 1, fresh)
    assert comparable(old) == comparable(new)


def comparable(memory: Memory) -> dict[str, Any]:
    own = ("agent_id", "id", "updated_at", "retrieval_count", "last_accessed_at")
    return {name: value for name, value in asdict(memory).items() if name not in own}


def test_what_was_said_again_and_replaced_is_in_the_history(mine: Owner, add: Add) -> None:
    first = mine.add(plain("tea", importance=0.2), actor="Ines")

    new = plain("TEA", importance=0.9, created_at=NOW)
    add(mine, new, duplicates="replace", actor="Kai")

    initial, restated, replaced = mine.history(first)
    kinds = [(one.event_type, one.actor) for one in (initial, restated, replaced)]
    assert kinds == [("initial", "Ines"), ("restated", "Kai"), ("replaced", "Kai")]
    assert restated.metadata["similarity"] == 1.0
    assert datetime.fromisoformat(restated.metadata["created_at"]) == NOW
    assert replaced.delta("importance") == pytest.approx(0.7)
    assert (replaced.old_values["content"], replaced.new_values["content"]) == ("tea", "TEA")


def forgotten(mine: Owner) -> Added:
    memory_id: Added = mine.add(north("tea"))
    mine.invalidate(memory_id)
    return memory_id


def test_saying_again_what_is_not_recalled_revives_it(mine: Owner, add: Add) -> None:
    gone = forgotten(mine)

    again = add(mine, north("TEA", valid_until=FUTURE), actor="Kai")

    assert (again, again.outcome, again.similarity) == (gone, "revived", 1.0)
    [hit] = mine.search(NORTH, touch=False)
    assert (hit.memory.id, hit.memory.content, hit.memory.retrieval_count) == (gone, "tea", 1)
    told = mine.event(gone, "revived")
    assert (told.actor, told.old_values["invalidation_reason"]) == ("Kai", "forgotten")
    assert told.new_values["invalidated_at"] is None


def test_saying_again_what_will_be_invalidated_later_does_not_revive_it(mine: Owner) -> None:
    tea = mine.add(plain("tea"))
    mine.supersede(tea, plain("coffee", valid_from=FUTURE))

    again = mine.add(plain("tea"))

    assert (again, again.outcome, mine.read(tea).invalidated_at) == (tea, "duplicate", FUTURE)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_batch_ends_like_the_same_memories_one_after_the_other(mine: Owner, policy: Any) -> None:
    chance = random.Random(2)
    known = [plain(text, importance=0.5) for text in "ab"] + [plain("e", expires_at=PAST)]
    batch = [plain(chance.choice("aAbBcCdDe"), importance=n / 40) for n in range(20)]
    batch += [plain("e", expires_at=FUTURE), plain("e", valid_until=FUTURE)]
    owners = (mine, mine.other, mine.other.other)
    for owner in owners:
        owner.add_many(known)

    results = [
        mine.add_many(batch, duplicates=policy),
        [mine.other.add(memory, duplicates=policy) for memory in batch],
        mine.other.other.add_many(batch, duplicates=policy, near_duplicates=0.9),
    ]

    assert outcomes(results[0]) == outcomes(results[1]) == outcomes(results[2])
    states = [state(owner) for owner in owners]
    assert states[0] == states[1] == states[2]


def state(owner: Owner) -> list[tuple[Any, ...]]:
    memories = [hit.memory for hit in owner.search(k=100, touch=False)]
    return sorted(
        (
            *(memory.content, memory.importance, memory.retrieval_count),
            *(str(memory.expires_at), str(memory.valid_until)),
            *(sorted(set(kinds := owner.kinds(memory.id))), kinds.count("restated")),
        )
        for memory in memories
    )


@pytest.mark.parametrize("near_duplicates", [None, 0.92])
def test_the_same_key_or_id_twice_in_a_batch_is_stored_once(
    mine: Owner, near_duplicates: float | None
) -> None:
    tea, ours = mine.add(plain("tea")), uuid4()
    batch = [plain("tea", key="k"), plain("TEA", key="k")]
    batch += [plain("milk", id=ours), plain("coffee", id=ours)]

    added = mine.add_many(batch, near_duplicates=near_duplicates)

    assert outcomes(added) == ["inserted", "known", "inserted", "known"]
    assert added[0] == added[1] != tea  # beside the text
    assert added[2:] == [ours, ours]
    assert (mine.read(ours).content, mine.read(tea).retrieval_count) == ("milk", 0)


def test_a_known_id_wins_over_a_text_that_is_there(mine: Owner, add: Add) -> None:
    tea, coffee = mine.add_many([plain("tea"), plain("coffee")])

    again = add(mine, plain("coffee", id=tea), duplicates="replace")

    assert (again, again.outcome, mine.read(tea).content) == (tea, "known", "tea")
    assert mine.kinds(coffee) == ["initial"]


SITUATIONS: dict[str, Callable[[Owner], object]] = {
    "new": lambda mine: None,
    "duplicate": lambda mine: mine.add(NewMemory("TEA", embedding=at(60))),
    "near duplicate": lambda mine: mine.add(NewMemory("chai", embedding=at(10))),
    "revived": forgotten,
}


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("name", ["key", "id"])
def test_a_write_that_is_repeated_changes_nothing(mine: Owner, name: str, situation: str) -> None:
    for owner, policy in zip((mine, mine.other, mine.team), POLICIES, strict=True):
        SITUATIONS[situation](owner)
        named: dict[str, Any] = {"key": "mine"} if name == "key" else {"id": uuid4()}
        memory = north("tea", **named)
        options = {"duplicates": policy, "near_duplicates": 0.92}
        first = owner.add(memory, **options)
        stored = owner.everything()

        again = [way(owner, memory, **options) for way in WAYS.values()]

        assert again == [first] * 3
        assert not any(one.inserted for one in again)
        assert owner.everything() == stored
        beside = situation == "duplicate" and name == "key"  # known by its key, not by its text
        assert owner.count() == 1 + beside


LIKE_NORTH = [23.0, 8.0, 4.0, 4.0, *[0.0] * (DIMENSIONS - 4)]
"""Its length is 25 and its similarity to NORTH 23/25, without a rounding error."""


@pytest.mark.parametrize("way", ["add", "one_by_one"])
@pytest.mark.parametrize(("threshold", "near"), [(0.92, False), (0.9199999, True)])
def test_near_duplicates_are_strictly_more_similar_than_the_threshold(
    mine: Owner, way: str, threshold: float, near: bool
) -> None:
    there = mine.add(north("north"))

    nearly = NewMemory("nearly north", embedding=LIKE_NORTH)
    added = WAYS[way](mine, nearly, near_duplicates=threshold)

    assert added.inserted is not near
    if near:
        assert (added, added.outcome, added.similarity) == (there, "near_duplicate", 23 / 25)
        assert mine.read(there).retrieval_count == 1
        assert mine.event(there, "restated").metadata["similarity"] == 23 / 25


def test_the_most_similar_is_met_and_by_a_repeated_write_the_same_again(mine: Owner) -> None:
    ours = north("tea", key="mine")
    ids = [mine.add(NewMemory(f"{degrees}", embedding=at(degrees))) for degrees in (20, 8, -12)]
    first = mine.add(ours, near_duplicates=0.9)
    nearer = mine.add(NewMemory("nearer", embedding=at(5)))

    assert first == mine.add(ours, near_duplicates=0.9) == ids[1]
    assert first.similarity == pytest.approx(0.99026806874157, abs=1e-7)  # cos 8°
    assert (mine.read(ids[1]).retrieval_count, mine.read(nearer).retrieval_count) == (1, 0)


def test_each_of_a_batch_is_compared_with_those_before_it(mine: Owner) -> None:
    batch = [NewMemory(f"{degrees}", embedding=at(degrees)) for degrees in (0, 20, 40, 10, 41)]

    added = mine.add_many(batch, near_duplicates=0.92)

    zero, twenty, forty, ten, last = added  # cos 20° is 0.9397: 20° is near 0°, 40° is not
    near = "near_duplicate"
    assert outcomes(added) == ["inserted", near, "inserted", near, near]
    assert (twenty, ten, last) == (zero, zero, forty)
    assert mine.count() == 2


def test_what_add_returns_is_a_uuid_that_tells_how_it_went() -> None:
    plain_id = UUID("01a1fded-1c76-7430-9ad1-d371091b5d5c")
    near = Added(plain_id, "near_duplicate", 0.95)
    copies = [copy.copy(near), copy.deepcopy(near)]
    protocols = range(pickle.HIGHEST_PROTOCOL + 1)
    copies += [pickle.loads(pickle.dumps(near, protocol)) for protocol in protocols]

    assert isinstance(near, UUID)
    assert (near == plain_id, plain_id == near, hash(near)) == (True, True, hash(plain_id))
    assert {plain_id: "found"}[near] == "found"
    assert (near.bytes, near.version) == (plain_id.bytes, 7)
    assert repr(Added(plain_id, "inserted")) == f"Added('{plain_id}', inserted)"
    assert repr(near) == f"Added('{plain_id}', near_duplicate 0.950)"
    assert str(near) == f"{near}" == str(plain_id)
    told = [(type(one), one.int, one.outcome, one.similarity) for one in copies]
    assert told == [(Added, plain_id.int, "near_duplicate", 0.95)] * len(copies)
    with pytest.raises(TypeError):
        near.outcome = "known"


def year(number: int | None) -> datetime | None:
    return None if number is None else datetime(number, 1, 1, tzinfo=UTC)


def during(start: int | None, end: int | None, text: str = "tea", **more: Any) -> NewMemory:
    return plain(text, valid_from=year(start), valid_until=year(end), **more)


def validities(mine: Owner) -> list[tuple[int | None, int | None]]:
    return mine.sql(
        "SELECT date_part('year', valid_from)::int, date_part('year', valid_until)::int "
        "FROM pgrecall.agent_memories WHERE agent_id = :agent ORDER BY valid_from NULLS FIRST"
    )


# Text, kind and validity


def test_a_text_that_holds_at_another_time_is_another_memory(mine: Owner, add: Add) -> None:
    cases = {
        **dict.fromkeys([(2020, None), (2012, 2013), (None, 2010), (2005, 2010)], False),
        **dict.fromkeys([(2011, None), (None, 2011), (None, None), (2010, 2011)], True),
        (2000, 2030): True,
    }
    for n, (second, same) in enumerate(cases.items()):
        first = add(mine, during(2010, 2012, f"text {n}"))

        other = add(mine, during(*second, f"text {n}"))

        assert ((other == first), other.inserted) == (same, not same), second


def test_what_was_forgotten_counts_until_then(mine: Owner) -> None:
    tea = mine.add(plain("tea"))
    mine.invalidate(tea)

    assert mine.add(during(2900, None)).inserted
    before, at_any_time = mine.add(during(2010, 2020)), mine.add(during(None, 2800))
    assert (before, before.outcome) == (tea, "duplicate")
    assert (at_any_time, at_any_time.outcome) == (tea, "revived")


@pytest.mark.parametrize("policy", ["bump", "replace"])
def test_what_is_said_again_without_a_time_holds_between_its_neighbours(
    mine: Owner, policy: Any
) -> None:
    for years in ((2000, 2005), (2010, 2020), (2900, None)):
        mine.add(during(*years))

    assert mine.add(plain("tea"), duplicates=policy).outcome == "revived"
    assert validities(mine) == [(2000, 2005), (2005, 2900), (2900, None)]


def test_a_batch_may_hold_several_validities_of_one_text(mine: Owner) -> None:
    batch = [during(2010 + n, 2011 + n) for n in range(6)] + [during(2012, 2014)]

    added = mine.add_many(batch)

    assert [one.outcome for one in added] == ["inserted"] * 6 + ["duplicate"]
    assert added[-1] in added[2:4]
    assert validities(mine) == [(2010 + n, 2011 + n) for n in range(6)]


def test_an_update_makes_no_second_memory_of_a_text(mine: Owner) -> None:
    first = mine.add(during(2010, 2012))
    second = mine.add(during(2020, None))
    other = mine.add(during(2011, None, "coffee"))
    entity = mine.add(during(2011, 2015, memory_type="entity"))
    stored = mine.everything()

    for memory_id, change in (
        (second, {"valid_from": year(2011)}),
        (first, {"valid_until": year(2021)}),
        (other, {"content": "TEA", "embedding": None}),
        (entity, {"memory_type": "episodic"}),
    ):
        with pytest.raises(DuplicateMemory):
            mine.update(memory_id, **change)

    assert mine.everything() == stored
    between = {"valid_from": year(2012), "valid_until": year(2020)}
    assert mine.update(other, content="TEA", embedding=None, **between).content == "TEA"


# Keys


@pytest.mark.parametrize("key", [" A/b é", "é\n🙂", "x" * 200])
def test_a_key_makes_an_id_of_its_owner_s_beside_the_same_text(
    mine: Owner, add: Add, key: str
) -> None:
    keyed = add(mine, plain("tea", key=key))
    theirs = [add(of, plain("tea", key=key)) for of in (mine.other, mine.team)]
    another = add(mine, plain("tea", key=f"{key[:-1]}K"))

    assert mine.read(keyed).key == key
    assert keyed == id_of_key(mine.name, key)
    assert mine.sql("SELECT pgrecall.id_of_key(:agent, :key)", key=key) == [keyed]
    assert (keyed.version, keyed.variant) == (8, "specified in RFC 4122")
    again = add(mine, plain("anything", key=key))
    assert (again, again.outcome) == (keyed, "known")
    assert len({keyed, *theirs, another}) == 4
    unnamed = add(mine, plain("tea"))
    assert (unnamed in (keyed, another), unnamed.outcome) == (True, "duplicate")
    beside = add(mine, during(2010, 2012, "milk")), add(mine, during(2020, None, "milk", key="m"))
    assert [one.outcome for one in beside] == ["inserted"] * 2


# Every row


@pytest.mark.parametrize("way", ["add", "add_many"])
def test_every_row_is_stored_where_duplicates_are_allowed(mine: Owner, way: str) -> None:
    add = WAYS[way]
    mine.add(plain("tea"))
    ours = plain("tea", id=uuid4())

    added = [add(mine, plain("tea"), duplicates="allow") for _ in range(3)]
    once, twice = (add(mine, ours, duplicates="allow") for _ in range(2))

    assert [one.outcome for one in added] == ["inserted"] * 3
    assert (once.outcome, twice.outcome) == ("inserted", "known")
    assert mine.count() == 5
    assert add(mine, plain("tea")).outcome == "duplicate"
    assert len(set(mine.add_many([plain("tea")] * 20, duplicates="allow"))) == 20


# What was superseded


def replaced_by(mine: Owner, *texts: str) -> list[Added]:
    """Each text supersedes the one before it."""
    ids = [mine.add(north(texts[0]))]
    for text in texts[1:]:
        ids.append(mine.supersede(ids[-1], north(text)))
    return ids


@pytest.mark.parametrize("policy", ["bump", "keep", "replace"])
def test_saying_again_what_was_superseded_supersedes_its_successor(
    mine: Owner, add: Add, policy: str
) -> None:
    rome, paris, oslo = replaced_by(mine, "Rome", "Paris", "Oslo")

    again = add(mine, north("Rome"), duplicates=policy, actor="Kai")

    assert (again, again.outcome, mine.recalled()) == (rome, "revived", ["Rome"])
    assert (mine.read(oslo).superseded_by, mine.read(paris).superseded_by) == (rome, oslo)
    told = mine.history(oslo)[-1]
    assert (told.event_type, told.actor, told.reason) == ("superseded", "Kai", SAID_AGAIN)


def test_saying_it_from_a_day_to_come_on_ends_the_successor_then(mine: Owner, add: Add) -> None:
    _, paris = replaced_by(mine, "Rome", "Paris")

    later = add(mine, during(2900, None, "Rome"))

    assert later.inserted
    memory = mine.read(paris)
    assert (memory.invalidated_at, memory.superseded_by) == (year(2900), later)


@pytest.mark.parametrize("put_away", [False, True])
def test_saying_it_of_a_time_gone_by_that_the_successor_claims_is_a_conflict(
    mine: Owner, add: Add, put_away: bool
) -> None:
    rome = mine.add(during(2000, None, "Rome"))
    paris = mine.supersede(rome, during(2010, None, "Paris"))
    mine.update(rome, valid_until=year(2010), created_at=None)
    if put_away:
        mine.put(rome, status="archived")

    with pytest.raises(SupersessionConflict, match=f"{paris} has taken .* both cannot be right"):
        add(mine, during(2015, 2020, "Rome"))

    assert len(validities(mine)) == 2
    assert mine.read(paris).invalidated_at is None
    assert add(mine, during(1990, 2000, "Rome")).inserted


def test_an_update_forgets_what_was_said_of_the_old_text_and_vector(mine: Owner) -> None:
    id_ = mine.add(plain("a", embedding=NORTH, embedding_model="m", tokens=9))
    update = (
        "SELECT embedding_model, tokens "
        "FROM pgrecall.update_memory(:agent, :id, CAST(:changes AS jsonb))"
    )
    vector = f'"embedding": "{at(90)}"'

    moved = mine.sql(update, id=id_, changes=f"{{{vector}}}")
    rewritten = f'{{"content": "b", {vector}, "embedding_model": "n"}}'

    assert moved == [(None, 9)]
    assert mine.sql(update, id=id_, changes=rewritten) == [("n", None)]
    told = mine.history(id_)[1]
    assert told.old_values == {"embedding_model": "m"}
    assert told.new_values == {"embedding_model": None}


def test_an_index_sees_what_was_said_again_in_the_past_since_its_build(mine: Owner) -> None:
    now = datetime.now(UTC)
    mine.add(north("old", importance=0.5, created_at=before(999)))
    mine.add(north("new", importance=0.1, created_at=now))
    mine.add_many([north(f"{n}", importance=0.6, created_at=before(300)) for n in range(200)])
    built = build(mine.repo, mine.name)
    mine.add(north("old", created_at=now - timedelta(days=2)))

    [hit] = found = mine.search(NORTH, k=1, profile="last_access", strategy="index", touch=False)
    assert (found.strategy, hit.memory.content) == ("index", "old")
    assert hit.memory.last_accessed_at < built.as_of


NEXT_EDITION_WAITS = """
ALTER FUNCTION pgrecall.next_edition(text, bytea) RENAME TO next_edition_now;
CREATE FUNCTION pgrecall.next_edition(agent text, hash bytea) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1);
    RETURN pgrecall.next_edition_now(agent, hash);
END $$
"""
WRITES: dict[str, Callable[[Owner, UUID], object]] = {
    "update": lambda of, other: of.update(other, content="tea", embedding=None),
    "revive": lambda of, other: of.revive([other]),
    "approve": lambda of, other: of.approve([other]),
    "add": lambda of, other: of.add(plain("tea")),
    "add_many": lambda of, other: of.add_many([plain("tea"), plain("milk")]),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_memory_that_becomes_active_while_an_edition_is_read_is_found(
    server_url: str, template: str, name: str
) -> None:
    with (
        new_database(server_url, template) as url,
        psycopg.connect(url, autocommit=True) as beside,
        ThreadPoolExecutor(1) as threads,
    ):
        mine = Owner(create_engine(url, poolclass=NullPool), "one")
        archived = mine.add(plain("tea"))
        put_away = "UPDATE pgrecall.agent_memories SET status = 'archived' WHERE id = %s"
        beside.execute(put_away, [archived])
        other = mine.add(plain("coffee" if name == "update" else "tea"), duplicates="keep")
        if name == "revive":
            beside.execute(put_away, [other])
        elif name == "approve":
            beside.execute(
                "UPDATE pgrecall.agent_memories SET status = 'pending' WHERE id = %s", [other]
            )
        elif name.startswith("add"):
            beside.execute(
                "UPDATE pgrecall.agent_memories SET memory_type = 'entity' WHERE id = %s", [other]
            )
        beside.execute(NEXT_EDITION_WAITS)
        with beside.transaction():
            beside.execute("SELECT pg_advisory_xact_lock(1)")
            written = threads.submit(WRITES[name], mine, other)
            wait_until("it waits", lambda: mine.sql(WAITING) == [1])
            beside.execute(
                "UPDATE pgrecall.agent_memories SET status = 'active', edition = 5 WHERE id = %s",
                [archived],
            )
        with suppress(DuplicateMemory):
            written.result()

        assert mine.sql(OVERLAPPING) == []
        assert "tea" in mine.sql("SELECT content FROM pgrecall.agent_memories")
