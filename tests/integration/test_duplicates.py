"""What is said again is not stored again: exact and near duplicates, batches, retries."""

from __future__ import annotations

import copy
import hashlib
import pickle
import random
import re
import unicodedata
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from pgrecall import Memory, NewMemory
from pgrecall.memories.added import Added
from tests.conftest import DIMENSIONS
from tests.integration.owner import Owner, north, plain
from tests.integration.support import NORTH, NOW, at, before
from tests.integration.test_fields import FULL

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


@pytest.mark.parametrize("content", ["Tea", "  A \t b\n", "CAFE\u0301 É", "🙂 Zwölf\r\n", " ' \\ "])
def test_the_hash_is_the_sha_256_of_the_normalised_text(mine: Owner, content: str) -> None:
    mine.add(plain(content))

    normalised = re.sub(r"\s+", " ", unicodedata.normalize("NFC", content)).strip().lower()
    [found] = mine.sql("SELECT content_hash FROM pgrecall.agent_memories WHERE agent_id = :agent")
    assert bytes(found) == hashlib.sha256(normalised.encode()).digest()


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


def test_what_feedback_taught_fits_the_votes_after_a_replacement(mine: Owner) -> None:
    tea = mine.add(plain("tea"))
    for _ in range(8):
        mine.feedback(tea, "useful")

    mine.add(plain("TEA"), duplicates="replace")

    memory = mine.feedback(tea, "useful")
    assert memory.usefulness == pytest.approx((2 * 0.5 + 9) / (2 + 9))
    assert memory.feedback_up == 9


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


def test_a_retry_does_not_revive_what_was_forgotten_since(mine: Owner, add: Add) -> None:
    tea, retry = mine.add(plain("tea")), plain("tea", id=uuid4())
    add(mine, retry)
    mine.invalidate(tea)

    again = add(mine, retry)

    assert (again, again.outcome) == (tea, "known")
    assert mine.read(tea).invalidated_at is not None


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


def test_what_add_returns_serves_wherever_an_id_does(mine: Owner) -> None:
    a, b = mine.add(north("a")), UUID(int=mine.add(NewMemory("b", embedding=at(40))).int)

    is_a = mine.repo.memories.c.id == a
    assert [hit.memory.id for hit in mine.search(where=is_a)] == [a]
    assert mine.get_many([a, b]).keys() == {a, b}
    assert (mine.touch(a), mine.touch([a, b])) == (1, 2)
    assert mine.update(a, importance=0.9).id == a
    assert mine.explain(a, NORTH).returned
    mine.links.add(a, b, kind="next")
    assert mine.add(plain("other", id=a)).outcome == "known"
    elsewhere = mine.other.add(plain("x"))
    batch = [plain("a", id=elsewhere), plain("c", id=a), plain("d", id=uuid4())]
    assert mine.add_many(batch)[:2] == [a, a]
    assert mine.supersede(a, north("e")).inserted
    assert mine.delete([a, b]) == 2
