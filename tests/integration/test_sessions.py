"""Turns of a dialogue: what makes one, and what comes along with hits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from pgrecall import NewMemory, Profile, ScoredMemory
from pgrecall.errors import DuplicateMemory, InputError, InvalidMemory
from pgrecall.execution.error_mapping import map_errors
from pgrecall.scoring.signals import Similarity
from tests.integration.owner import Owner
from tests.integration.recalling import Connection
from tests.integration.support import NORTH, NOW, before, contents, similar

ALONE = Profile("similarity_alone", {Similarity(): 1.0})
ASKED: dict[str, Any] = {"profile": ALONE, "as_of": NOW, "touch": False}


def turn(
    content: str, score: float, place: int | None, session: str = "s", **more: Any
) -> NewMemory:
    usual: dict[str, Any] = {"embedding": similar(score), "created_at": before(1)}
    return NewMemory(content, session=session, turn=place, **(usual | more))


def noted(content: str, score: float, **more: Any) -> NewMemory:
    """What is no turn."""
    return NewMemory(content, embedding=similar(score), created_at=before(1), **more)


def dialogue(mine: Owner, scores: Sequence[float], **more: Any) -> list[UUID]:
    """A session whose turns are called by their places; stored in another order."""
    turns = [turn(f"{n}", score, n, **more) for n, score in enumerate(scores)]
    mixed = random.Random(1).sample(range(len(turns)), len(turns))
    added = mine.add_many([turns[n] for n in mixed])
    return [id_ for _, id_ in sorted(zip(mixed, added, strict=True))]


def found(mine: Owner, **asked: Any) -> list[ScoredMemory]:
    return list(mine.search(NORTH, **(ASKED | asked)))


# What a turn is


def test_turns_of_one_text_are_many(mine: Owner) -> None:
    said = ["ok", "where?", "OK", "Porto", "ok"]
    added = mine.add_many([turn(text, 0.5, n) for n, text in enumerate(said)])
    assert [one.outcome for one in added] == ["inserted"] * 5

    elsewhere = mine.add(turn("ok", 0.5, 0, "another"))
    noted = mine.add(NewMemory("ok", embedding=NORTH))
    again = mine.add(turn("ok", 0.5, 4))

    assert (elsewhere.outcome, noted.outcome) == ("inserted", "inserted")
    assert (again, again.outcome) == (added[4], "duplicate")
    assert mine.add(NewMemory("ok", embedding=NORTH)) == noted


def test_without_a_turn_the_time_it_was_given_is_its_place(mine: Owner) -> None:
    said = [turn("ok", 0.5, None, created_at=before(days)) for days in (3, 2)]
    live = NewMemory("ok", embedding=NORTH, session="s")
    first = mine.add_many(said)

    again = mine.add_many(said)
    at_once = mine.add_many([live, live])

    assert [one.outcome for one in again] == ["duplicate"] * 2
    assert again == first
    assert [one.outcome for one in at_once] == ["inserted"] * 2
    assert mine.count() == 4


def test_a_turn_is_no_near_duplicate_and_supersedes_nothing(mine: Owner) -> None:
    live = "I live in Porto"
    old = mine.add(turn(live, 1.0, 0))
    other = mine.add(turn("I live in Porto!", 1.0, 1), near_duplicates=0.9)
    plain = mine.add(NewMemory("I live in Porto?", embedding=NORTH), near_duplicates=0.9)
    assert (other.outcome, plain.outcome) == ("inserted", "inserted")

    new = mine.supersede(old, NewMemory("She lives in Lisbon", embedding=similar(0.8)))
    mine.add(turn(live, 0.9, 7))

    found = mine.read(new)
    assert (found.invalidated_at, found.session, found.turn) == (None, None, None)


def test_a_turn_moves_and_meets_no_other(mine: Owner) -> None:
    one, other = mine.add_many([turn("ok", 0.5, 0), turn("ok", 0.5, 1)])
    with pytest.raises(DuplicateMemory):
        mine.update(one, turn=1)
    moved = mine.update(other, session="t", turn=None)
    assert (moved.session, moved.turn) == ("t", None)
    assert mine.update(one, turn=1).turn == 1
    with pytest.raises(InputError):
        mine.update(one, session=None)


def test_a_place_that_cannot_be_is_refused(mine: Owner, connection: Connection) -> None:
    bad: list[dict[str, Any]] = [
        *({"turn": 1}, {"session": "", "turn": 1}, {"session": "x" * 201}, {"session": 7}),
        *({"session": "s", "turn": -1}, {"session": "s", "turn": 2**31}),
        {"session": "s", "turn": True},
    ]
    for one in bad:
        with pytest.raises(InvalidMemory):
            mine.add_many(["good", NewMemory("bad", embedding=NORTH, **one)])
    assert mine.count() == 0
    with pytest.raises(InvalidMemory, match="session"), map_errors():
        connection.execute("SELECT pgrecall.remember(%s, 'x', turn => 3)", [mine.name])


# What comes along


def test_turns_around_each_hit_come_in_their_order(mine: Owner) -> None:
    ids = dialogue(mine, [0.1, 0.1, 0.1, 0.9, 0.1, 0.8, 0.1, 0.1, 0.1])
    mine.add(turn("alone", 0.85, None, "another"))
    mine.add(noted("no turn", 0.7))

    hits = found(mine, k=4, surrounding_turns=2)
    few = found(mine, k=1, surrounding_turns=3, min_score=0.88)

    assert contents(few) == [*"0123456"], "whatever they score"
    assert contents(hits) == [*"1234567", "alone", "no turn"]
    attached = {hit.memory.content: hit.attached_to for hit in hits if hit.attached_to}
    assert attached == {"1": ids[3], "2": ids[3], "4": ids[3], "6": ids[5], "7": ids[5]}
    assert all(
        hit.record().get("attached_to") == (hit.attached_to and str(hit.attached_to))
        for hit in hits
    )
    assert [hit.score for hit in hits if hit.memory.content == "2"] == pytest.approx([0.1])


@pytest.mark.parametrize("k", [1, 2, 4])
def test_what_is_below_the_floor_is_no_hit_and_comes_along(mine: Owner, k: int) -> None:
    """Whether it is among the k best or not."""
    ids = dialogue(mine, [0.1, 0.9, 0.8, 0.1])
    mine.add_many([noted(f"filler {n}", n / 4_000) for n in range(200)])
    mine.repo.rank_indexes.build(agent_id=mine.name, at_least=1)
    asked: dict[str, Any] = {"surrounding_turns": 2, "min_score": 0.85, "as_of": NOW, "k": k}
    asked |= {"profile": ALONE}
    expected = [(id_, None if id_ == ids[1] else ids[1]) for id_ in ids]

    for strategy in ("exact", "index"):
        hits = mine.search(NORTH, touch=False, strategy=strategy, **asked)
        assert hits.strategy == strategy
        assert [(hit.memory.id, hit.attached_to) for hit in hits] == expected
    why = mine.explain(ids[2], NORTH, **asked)
    assert (why.returned, why.reasons, why.hit.attached_to) == (True, (), ids[1])
    context = mine.context(NORTH, **asked)
    assert {(one.hit.memory.id, one.hit.attached_to) for one in context.packed} == set(expected)
    none = mine.search(NORTH, strategy="index", **asked | {"min_score": 0.95})
    assert contents(none) == []


def test_sessions_of_others_of_the_same_name_do_not_mix(mine: Owner) -> None:
    red = Owner(mine.bind, f"{mine.name} red", is_team=True)
    dialogue(mine, [0.1, 0.9, 0.1])
    dialogue(mine.other, [0.2, 0.2, 0.2])
    dialogue(red, [0.3, 0.8, 0.3])
    dialogue(mine.team, [0.7, 0.7, 0.7])

    alone = found(mine, k=1, surrounding_turns=10)
    together = found(mine, k=2, surrounding_turns=10, teams=[red.name])

    assert [hit.memory.agent_id for hit in alone] == [mine.name] * 3
    assert [hit.memory.owner_id for hit in together] == [mine.name] * 3 + [red.stored_id] * 3
    assert contents(together) == [*"012012"]


def test_what_does_not_pass_does_not_come_along(mine: Owner) -> None:
    mine.add_many(
        [
            turn("forgotten", 0.1, 0),
            turn("expired", 0.1, 1, expires_at=before(0.5)),
            turn("passes", 0.1, 2, tags=["kept"]),
            turn("hit", 0.9, 3, tags=["kept"]),
            turn("later", 0.1, 4, tags=["kept"], created_at=before(-1)),
            turn("of another tag", 0.1, 5),
            turn("too far", 0.1, 7, tags=["kept"]),
        ]
    )
    [first] = [one for one in found(mine, k=9) if one.memory.content == "forgotten"]
    mine.invalidate(first.memory.id)

    asked: dict[str, Any] = {"k": 1, "surrounding_turns": 3, "as_of": None}
    now = contents(found(mine, **asked))
    assert now == ["passes", "hit", "later", "of another tag", "too far"]
    assert contents(found(mine, **asked, filter={"tags": "kept"})) == [
        *("passes", "hit", "later", "too far")
    ]
    narrow = {**asked, "surrounding_turns": 2, "as_of": NOW}
    assert contents(found(mine, **narrow)) == ["passes", "hit", "of another tag"]
    assert contents(found(mine, **narrow, filter={"similarity": {"$gte": 0.5}})) == ["hit"]


def test_turns_without_a_place_come_last_by_their_time(mine: Owner) -> None:
    mine.add_many(
        [
            turn("third", 0.1, None, created_at=before(3)),
            turn("fourth", 0.9, None, created_at=before(2)),
            turn("unknown", 0.1, None, created_at=None),
            turn("second", 0.1, 8, created_at=before(1)),
            turn("first", 0.1, 7, created_at=before(0.5)),
        ]
    )
    hits = found(mine, k=1, surrounding_turns=3)
    assert contents(hits) == ["first", "second", "third", "fourth", "unknown"]


def test_links_lead_from_hits_not_from_what_came_along_which_is_touched(mine: Owner) -> None:
    ids = dialogue(mine, [0.1, 0.9, 0.1, 0.1])
    linked, other = mine.add_many([noted(name, 0.05) for name in ("linked", "other")])
    for source, target in ((ids[1], linked), (ids[0], other), (ids[1], ids[2])):
        mine.links.add(source, target)
    hits = found(mine, k=1, surrounding_turns=1, linked=1, touch=True)
    assert contents(hits) == ["0", "1", "2", "linked"]
    assert [mine.read(id_).retrieval_count for id_ in ids] == [1, 1, 1, 0]


# Explaining


# Contexts


def test_a_context_holds_passages_in_order_within_its_budget(mine: Owner) -> None:
    dialogue(mine, [0.2, 0.3, 0.9, 0.2, 0.1, 0.15, 0.8, 0.1], memory_type="episodic")
    mine.add(noted("a fact", 0.85, memory_type="fact"))
    asked: dict[str, Any] = ASKED | {"k": 3}

    whole = mine.context(NORTH, surrounding_turns=1, **asked)
    tight = mine.context(NORTH, surrounding_turns=1, max_tokens=60, **asked)

    bodies = [line.split(": ", 1)[1] for line in whole.text.splitlines()[:-1]]
    assert bodies == ["a fact", *"123567"]
    assert [one.hit.memory.content for one in whole.packed] == [*"213", "a fact", *"657"]
    assert [bool(one.hit.attached_to) for one in whole.packed] == [
        *(False, True, True, False, False, True, True)
    ]
    assert tight.tokens <= 60
    assert 0 < len(tight.packed) < len(whole.packed)
    assert tight.packed[0].hit.memory.content == "2"


# Floors of relevance


def test_a_floor_of_relevance_is_for_hits(mine: Owner) -> None:
    ids = dialogue(mine, [0.1, 0.2, 0.8, 0.3, 0.05])
    asked: dict[str, Any] = {"surrounding_turns": 1, "min_relevance": 0.5}
    given: dict[str, Any] = {"profile": ALONE, "as_of": NOW, **asked}

    hits = found(mine, **asked)
    along, far = (mine.explain(ids[n], NORTH, **given) for n in (3, 4))

    assert [hit.memory.content for hit in hits] == ["1", "2", "3"]
    assert [hit.attached_to for hit in hits] == [ids[2], None, ids[2]]
    assert [hit.relevance for hit in hits] == pytest.approx([0.2, 0.8, 0.3], abs=1e-6)
    assert (along.returned, along.reasons, along.hit.attached_to) == (True, (), ids[2])
    assert far.reasons == ("its relevance 0.050000 is below min_relevance 0.5",)
    assert (far.returned, far.hit.attached_to) == (False, None)
