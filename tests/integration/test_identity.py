"""What makes two memories one: their text, kind and validity, or their key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from pgrecall import NewMemory
from pgrecall.core.ids import id_of_key, new_id
from pgrecall.errors import DuplicateMemory, SupersessionConflict
from pgrecall.memories.added import Added
from tests.integration.owner import Owner, north, plain
from tests.integration.support import NORTH, at
from tests.integration.test_duplicates import WAYS

Add = Callable[..., Added]
SAID_AGAIN = "what it superseded was said again"


@pytest.fixture(params=["add", "add_many"])
def add(request: pytest.FixtureRequest) -> Add:
    return WAYS[request.param]


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


def test_a_text_of_another_type_or_component_is_another_memory(mine: Owner, add: Add) -> None:
    kinds: list[dict[str, Any]] = [
        *({}, {"memory_type": "entity"}, {"component": "hunter"}, {"component": "meta"}),
        {"memory_type": "entity", "component": "meta"},
    ]

    ids = [add(mine, plain("tea", **kind)) for kind in kinds]
    again = [add(mine, plain("TEA", **kind)) for kind in kinds]

    assert [one.outcome for one in ids] == ["inserted"] * 5
    assert [(one, one.outcome) for one in again] == [(one, "duplicate") for one in ids]


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


def test_a_text_of_another_time_is_stored_beside_a_key(mine: Owner, add: Add) -> None:
    add(mine, during(2020, None, key="k"))

    assert add(mine, during(2010, 2012)).outcome == "inserted"
    assert add(mine, during(2010, 2012)).outcome == "duplicate"
    assert mine.count(include_invalid=True) == 2


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


def test_what_is_put_away_may_say_what_an_active_memory_says(mine: Owner) -> None:
    away = mine.add(plain("tea"))
    mine.put(away, status="archived")
    mine.add(plain("coffee"))

    changed = mine.update(away, content="coffee", embedding=None)

    assert (changed.content, changed.status) == ("coffee", "archived")


def test_a_memory_is_not_revived_into_the_time_of_another(mine: Owner) -> None:
    old = mine.add(plain("tea"))
    mine.invalidate(old)
    mine.add(during(2900, None))

    with pytest.raises(DuplicateMemory):
        mine.revive(old)
    mine.update(old, valid_until=year(2900))
    assert mine.revive(old) == 1


# Keys


@pytest.mark.parametrize("key", [" A/b é", "é\n🙂", "x" * 200, "'; --", "%s {0}", " x "])
def test_a_key_makes_an_id_of_its_owner_s(mine: Owner, add: Add, key: str) -> None:
    keyed = add(mine, plain("tea", key=key))
    theirs = [add(of, plain("tea", key=key)) for of in (mine.other, mine.team)]

    assert (mine.read(keyed).key, mine.read(add(mine, plain("milk"))).key) == (key, None)
    assert keyed == id_of_key(mine.name, key)
    assert mine.sql("SELECT pgrecall.id_of_key(:agent, :key)", key=key) == [keyed]
    assert (keyed.version, keyed.variant) == (8, "specified in RFC 4122")
    again = add(mine, plain("anything", key=key))
    assert (again, again.outcome) == (keyed, "known")
    assert len({keyed, *theirs, add(mine, plain("coffee", key=f"{key[:-1]}K"))}) == 4
    assert [one.inserted for one in theirs] == [True, True]


def test_keys_keep_the_same_text_apart_and_no_key_meets_one(mine: Owner, add: Add) -> None:
    keyed = [add(mine, plain("tea", key=key)) for key in "abc"]
    unnamed = add(mine, plain("tea"))

    assert len(set(keyed)) == 3
    assert (unnamed in keyed, unnamed.outcome) == (True, "duplicate")


def test_the_text_of_a_key_may_become_that_of_another(mine: Owner) -> None:
    mine.add(plain("tea"))
    keyed = mine.add(plain("coffee", key="k"))

    assert mine.update(keyed, content="tea", embedding=None).content == "tea"
    mine.invalidate(keyed)
    assert mine.revive(keyed) == 1


# Every row


def test_every_row_is_stored_where_duplicates_are_allowed(mine: Owner, add: Add) -> None:
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


@pytest.mark.parametrize("batch", [False, True])
def test_so_does_saying_it_again_after_it_was_put_away(mine: Owner, batch: bool) -> None:
    rome, paris = replaced_by(mine, "Rome", "Paris")
    mine.put(rome, status="archived")

    again = mine.add_many([north("Rome"), north("Bern")])[0] if batch else mine.add(north("Rome"))

    assert again.inserted
    assert mine.read(paris).superseded_by == again
    assert mine.history(paris)[-1].reason == SAID_AGAIN
    assert "Paris" not in mine.recalled()


def test_a_batch_in_which_each_was_superseded_by_the_next_ends_with_one(mine: Owner) -> None:
    replaced_by(mine, "Rome", "Paris", "Oslo")

    mine.add_many([north(text) for text in ("Rome", "Paris", "Oslo")])

    assert len(mine.recalled()) == 1


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


def test_what_was_superseded_is_revived_beside_its_successor_by_force_only(mine: Owner) -> None:
    rome, paris = replaced_by(mine, "Rome", "Paris")

    with pytest.raises(SupersessionConflict, match=str(paris)):
        mine.revive(rome)
    assert mine.recalled() == ["Paris"]

    assert mine.revive(rome, force=True) == 1
    assert mine.recalled() == ["Paris", "Rome"]
    oslo, bern = replaced_by(mine, "Oslo", "Bern")
    mine.invalidate(bern)
    assert mine.revive(oslo) == 1  # without force, as its successor was forgotten


# From psql


@pytest.mark.parametrize("near", ["NULL", "0.9"])
def test_of_several_under_one_key_or_id_the_first_is_stored_everywhere(
    mine: Owner, near: str
) -> None:
    ids = [new_id(), new_id()]
    given = [("z", "k", None), ("a", "k", None), ("y", None, ids[0]), ("b", None, ids[0])]
    given += [("c", None, ids[1]), ("a", "k", None)]
    stored = mine.add_many([plain(text, key=key, id=id_) for text, key, id_ in given])
    rows = ", ".join(
        f"pgrecall.new_memory('{text}', key => nullif('{key}', 'None'), "
        f"id => nullif('{id_}', 'None')::uuid)"
        for text, key, id_ in given
    )

    told = mine.other.sql(
        f"SELECT * FROM pgrecall.remember_rows(:agent, ARRAY[{rows}], 'bump', {near}) ORDER BY 1"
    )

    outcomes = [added.outcome for added in stored]
    assert [row[2] for row in told] == outcomes
    assert outcomes.count("known") == 3
    texts = "SELECT content FROM pgrecall.agent_memories WHERE agent_id = :agent ORDER BY 1"
    assert mine.sql(texts) == mine.other.sql(texts) == ["c", "y", "z"]
    assert [row[1] for row in told][2:5] == [ids[0], ids[0], ids[1]]


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


def test_psql_remembers_as_the_repository_does(mine: Owner) -> None:
    unknown = ("trust", "created_at", "expires_at", "trust_curve", "trust_half_life_hours")
    more: dict[str, Any] = {"tier": "short", "tags": ["a"], "metadata": {"a": 1}, "loop": "l"}
    mine.add(north("tea", key="k", tokens=3, **more, **dict.fromkeys(unknown)))
    mine.add(plain("milk", output_type="action", tokens=1))
    for call in (
        "'tea', embedding => '[1,0,0,0,0,0,0,0]', key => 'k', tier => 'short', trust => 'NaN', "
        "created_at => '-infinity', expires_at => 'infinity', trust_curve => 'none', "
        "trust_half_life_hours => 'NaN', tags => '{a}', metadata => '{\"a\": 1}', loop => 'l', "
        "tokens => 3",
        "'milk', output_type => 'action', tokens => 1",
    ):
        mine.other.sql(f"SELECT * FROM pgrecall.remember(:agent, {call})")

    mine_and_theirs = [
        of.sql(
            "SELECT to_jsonb(m) - '{agent_id,id,created_at,updated_at,inserted_at}'::text[], "
            "created_at IS NULL FROM pgrecall.agent_memories m "
            "WHERE agent_id = :agent ORDER BY content"
        )
        for of in (mine, mine.other)
    ]
    assert mine_and_theirs[0] == mine_and_theirs[1]
    actors = "SELECT DISTINCT actor FROM pgrecall.memory_events WHERE agent_id = :agent"
    assert mine.other.sql(actors) == mine.sql("SELECT session_user::text")
