"""What is said again is not stored again: exact and near duplicates, retries, older schemas."""

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
from sqlalchemy import Engine

from pgrecall import Memory, MemoryRepository, NewMemory
from pgrecall.added import Added
from pgrecall.errors import InputError, InvalidMemory, UnknownName
from tests.conftest import DIMENSIONS
from tests.integration.support import NORTH, NOW, at, before, sql, stored

PAST = datetime(2020, 1, 1, tzinfo=UTC)
SOON, FUTURE = datetime(2800, 1, 1, tzinfo=UTC), datetime(2900, 1, 1, tzinfo=UTC)

WAYS: dict[str, Callable[..., Added]] = {
    "add": lambda repo, owner, memory, **options: repo.add(owner, memory, **options),
    "add_many": lambda repo, owner, memory, **options: repo.add_many(owner, [memory], **options)[0],
    "one_by_one": lambda repo, owner, memory, **options: repo.add_many(
        owner, [memory], **{"near_duplicates": 1.0, **options}
    )[0],
}
POLICIES = ["bump", "keep", "replace"]


@pytest.fixture(params=WAYS)
def add(request: pytest.FixtureRequest) -> Callable[..., Added]:
    """Each way for a memory to come in."""
    return WAYS[request.param]


def plain(content: str, **fields: Any) -> NewMemory:
    return NewMemory(content, embedding=None, **fields)


def read(repo: MemoryRepository, owner: str, memory_id: UUID) -> Memory:
    memory = repo.get(owner, memory_id)
    assert memory is not None
    return memory


def happened(repo: MemoryRepository, owner: str, memory_id: UUID) -> list[str]:
    return [event.event_type for event in repo.history(owner, memory_id)]


def outcomes(added: list[Added]) -> list[str]:
    return [one.outcome for one in added]


# Exact duplicates


def test_the_same_text_is_stored_once(
    either: MemoryRepository, engine: Engine, add: Callable[..., Added]
) -> None:
    first = add(either, "agent", plain("Tea at five."))
    second = add(either, "agent", plain("Tea at five."))

    assert (first.outcome, first.similarity, first.inserted) == ("inserted", None, True)
    assert (second.outcome, second.similarity, second.inserted) == ("duplicate", 1.0, False)
    assert second == first
    assert stored(engine, "agent") == 1


@pytest.mark.parametrize(
    "again",
    [
        "tea at the CAFÉ",
        "  Tea at the café\n",
        "Tea\tat \r\n the\f\vcafé",
        "Tea at the cafe\u0301",
        "\nTEA  at the CAFE\u0301 ",
    ],
)
def test_case_white_space_and_unicode_form_do_not_tell_texts_apart(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added], again: str
) -> None:
    first = shared_repo.add(agent, plain("Tea at the café"))

    second = add(shared_repo, agent, plain(again))

    assert (second, second.outcome) == (first, "duplicate")
    assert read(shared_repo, agent, first).content == "Tea at the café"


@pytest.mark.parametrize("other", ["Tea at 5!", "Teaat 5", "Tea at ５", "Tea at 5\u200b"])
def test_texts_that_differ_otherwise_are_stored_apart(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added], other: str
) -> None:
    shared_repo.add(agent, plain("Tea at 5"))

    assert add(shared_repo, agent, plain(other)).inserted


@pytest.mark.parametrize("content", ["Tea", "  A \t b\n", "CAFE\u0301 É", "🙂 Zwölf\r\n", " ' \\ "])
def test_the_hash_is_the_sha_256_of_the_normalised_text(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, content: str
) -> None:
    memory_id = shared_repo.add(agent, plain(content))

    composed = unicodedata.normalize("NFC", content)
    normalised = re.sub(r"\s+", " ", composed).strip().lower()
    [(found,)] = sql(
        shared_engine,
        "SELECT content_hash FROM pgrecall.agent_memories WHERE agent_id = :agent AND id = :id",
        agent=agent,
        id=memory_id,
    )
    assert bytes(found) == hashlib.sha256(normalised.encode()).digest()


def test_bump_counts_a_retrieval_and_changes_nothing_else(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    first = shared_repo.add(agent, plain("tea", importance=0.2))
    before = read(shared_repo, agent, first)

    add(shared_repo, agent, plain("TEA", importance=0.9, tags=["new"]))

    after = read(shared_repo, agent, first)
    assert after.last_accessed_at is not None
    assert after == replace(before, retrieval_count=1, last_accessed_at=after.last_accessed_at)


@pytest.mark.parametrize(
    ("stored", "said", "expected"),
    [
        (before(90), before(60), before(60)),
        (before(60), before(90), before(60)),  # told out of order: not before its creation
        (None, before(60), before(60)),
        (before(90), None, None),  # nobody knows when
        (before(90), FUTURE, "now"),
        (FUTURE, before(90), "now"),
    ],
)
def test_bump_moves_the_clock_to_when_the_text_was_said_again(
    shared_repo: MemoryRepository,
    agent: str,
    add: Callable[..., Added],
    stored: datetime | None,
    said: datetime | None,
    expected: datetime | str | None,
) -> None:
    first = shared_repo.add(agent, plain("tea", created_at=stored))

    start = datetime.now(UTC)
    add(shared_repo, agent, plain("tea", created_at=said))

    after = read(shared_repo, agent, first)
    assert after.retrieval_count == 1
    if expected == "now":
        assert after.last_accessed_at is not None
        assert abs(after.last_accessed_at - start) < timedelta(minutes=1)
    else:
        assert after.last_accessed_at == expected


def test_bump_never_moves_the_clock_back(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    first = shared_repo.add(agent, plain("tea", created_at=before(90)))
    for days in (30, 60):
        add(shared_repo, agent, plain("tea", created_at=before(days)))

    after = read(shared_repo, agent, first)

    assert (after.retrieval_count, after.last_accessed_at) == (2, before(30))


def test_bump_is_the_policy_where_none_is_named_and_adds_up(
    shared_repo: MemoryRepository, agent: str
) -> None:
    first = shared_repo.add(agent, plain("tea"))
    shared_repo.touch(agent, first)

    shared_repo.add(agent, plain("tea"))
    shared_repo.add(agent, plain("tea"), duplicates="bump")

    assert read(shared_repo, agent, first).retrieval_count == 3


def test_keep_leaves_the_memory_as_it_is(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    first = shared_repo.add(agent, plain("tea"))
    before = read(shared_repo, agent, first)

    again = add(shared_repo, agent, plain("TEA", importance=0.9), duplicates="keep")

    assert (again, again.outcome) == (first, "duplicate")
    assert read(shared_repo, agent, first) == before
    assert happened(shared_repo, agent, first) == ["initial", "restated"]


RICH = NewMemory(
    "TEA",
    embedding=at(30),
    embedding_model="by hand",
    memory_type="preference",
    additional_types=["factual"],
    memory_nature="semantic",
    content_type="text/plain",
    tier="medium",
    subject="drinks",
    tags=["t"],
    entities=["Ines"],
    metadata={"a": [1, None]},
    importance=0.9,
    usefulness=0.6,
    confidence=0.7,
    component="hunter",
    output_type="action",
    domain="d",
    category="c",
    loop="l",
    quality_score=0.4,
    compliant=True,
    requires_approval=True,
    has_errors=True,
    violates_policy=True,
    under_policy_review=True,
    created_at=PAST,
    observed_at=PAST,
    valid_from=PAST,
    valid_until=FUTURE,
    expires_at=FUTURE,
)


def test_replace_takes_on_every_field_as_if_it_was_stored_now(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    kind = {"memory_type": RICH.memory_type, "component": RICH.component}
    first = shared_repo.add(agent, NewMemory("tea", embedding=NORTH, tags=["old"], **kind))  # type: ignore[arg-type]
    shared_repo.touch(agent, first)
    fresh = shared_repo.add(f"{agent} fresh", RICH)

    again = add(shared_repo, agent, RICH, duplicates="replace")

    old = shared_repo.get(agent, again, include_embedding=True)
    new = shared_repo.get(f"{agent} fresh", fresh, include_embedding=True)
    assert old is not None
    assert new is not None
    assert (again, again.outcome) == (first, "duplicate")
    assert (old.id, old.retrieval_count, new.id) == (first, 1, fresh)
    assert _comparable(old) == _comparable(new)


def test_what_feedback_taught_fits_the_votes_after_a_replacement(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    tea = shared_repo.add(agent, plain("tea"))
    for _ in range(8):
        shared_repo.feedback(agent, tea, "useful")

    add(shared_repo, agent, plain("TEA"), duplicates="replace")
    memory = shared_repo.feedback(agent, tea, "useful")

    votes = memory.feedback_up + memory.feedback_down
    mean = (2 * 0.5 + memory.feedback_up) / (2 + votes)
    assert memory.usefulness == pytest.approx(mean)


def test_replace_notes_the_old_and_the_new_values(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    first = shared_repo.add(agent, plain("tea", importance=0.2))

    add(shared_repo, agent, plain("TEA", importance=0.9), duplicates="replace", actor="Kai")

    *_, restated, replaced = shared_repo.history(agent, first)
    assert (restated.event_type, replaced.event_type) == ("restated", "replaced")
    assert (restated.actor, replaced.actor) == ("Kai", "Kai")
    assert replaced.delta("importance") == pytest.approx(0.7)
    assert (replaced.old_values["content"], replaced.new_values["content"]) == ("tea", "TEA")


def test_what_was_said_again_is_in_the_history(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    first = shared_repo.add(agent, plain("tea"), actor="Ines")

    add(shared_repo, agent, plain("tea", created_at=NOW), actor="Kai")

    initial, restated = shared_repo.history(agent, first)
    assert (initial.event_type, initial.actor) == ("initial", "Ines")
    assert (restated.event_type, restated.actor) == ("restated", "Kai")
    assert restated.metadata["similarity"] == 1.0
    assert datetime.fromisoformat(restated.metadata["created_at"]) == NOW


def test_other_agents_and_teams_have_their_own_texts(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    hers = shared_repo.add(f"{agent} other", plain("tea"))
    teams = shared_repo.teams.add(f"{agent} team", plain("tea"))

    mine = add(shared_repo, agent, plain("tea"))
    again = add(shared_repo, agent, plain("tea"), duplicates="replace")

    assert (mine.inserted, again) == (True, mine)
    assert len({mine, hers, teams}) == 3
    assert happened(shared_repo, f"{agent} other", hers) == ["initial"]
    assert happened(shared_repo.teams, f"{agent} team", teams) == ["initial"]
    assert read(shared_repo, f"{agent} other", hers).retrieval_count == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_the_texts_of_a_team_are_kept_apart_just_so(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added], policy: str
) -> None:
    teams = shared_repo.teams
    first = add(teams, agent, plain("tea", importance=0.2), duplicates=policy)
    again = add(teams, agent, plain("TEA", importance=0.9), duplicates=policy)

    memory = read(teams, agent, first)
    assert (again, again.outcome) == (first, "duplicate")
    assert memory.retrieval_count == (1 if policy == "bump" else 0)
    assert memory.importance == (0.9 if policy == "replace" else 0.2)
    assert (teams.count(agent), shared_repo.count(agent)) == (1, 0)


@pytest.mark.parametrize("status", ["consolidated", "completed", "archived"])
def test_only_active_memories_have_duplicates(
    shared_repo: MemoryRepository,
    shared_engine: Engine,
    agent: str,
    add: Callable[..., Added],
    status: str,
) -> None:
    retired = shared_repo.add(agent, NewMemory("tea", embedding=NORTH))
    _set_status(shared_engine, agent, retired, status)

    new = add(shared_repo, agent, NewMemory("tea", embedding=NORTH), near_duplicates=0.5)

    assert new.inserted
    assert happened(shared_repo, agent, retired) == ["initial"]


def test_a_deleted_text_can_be_added_again(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    first = shared_repo.add(agent, plain("tea"))
    shared_repo.delete(agent, first)

    assert add(shared_repo, agent, plain("tea")).inserted


# Memories that are no longer recalled


def _forgotten(repo: MemoryRepository, agent: str) -> Added:
    memory_id = repo.add(agent, NewMemory("tea", embedding=NORTH))
    repo.invalidate(agent, memory_id)
    return memory_id


def _superseded(repo: MemoryRepository, agent: str) -> Added:
    memory_id = repo.add(agent, NewMemory("tea", embedding=NORTH))
    coffee = repo.supersede(agent, memory_id, NewMemory("coffee", embedding=at(90)))
    repo.delete(agent, coffee)
    return memory_id


NOT_RECALLED: dict[str, Callable[[MemoryRepository, str], Added]] = {
    "forgotten": _forgotten,
    "superseded": _superseded,
    "expired": lambda repo, agent: repo.add(
        agent, NewMemory("tea", embedding=NORTH, expires_at=PAST)
    ),
    "no longer valid": lambda repo, agent: repo.add(
        agent, NewMemory("tea", embedding=NORTH, valid_until=PAST)
    ),
    "not yet valid": lambda repo, agent: repo.add(
        agent, NewMemory("tea", embedding=NORTH, valid_from=SOON)
    ),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("why", NOT_RECALLED)
def test_saying_again_what_is_not_recalled_revives_it(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added], why: str, policy: str
) -> None:
    gone = NOT_RECALLED[why](shared_repo, agent)
    assert shared_repo.search(agent, NORTH, touch=False) == []
    new = NewMemory("TEA", embedding=NORTH, valid_until=FUTURE)

    again = add(shared_repo, agent, new, duplicates=policy)

    [hit] = shared_repo.search(agent, NORTH, touch=False)
    memory = hit.memory
    assert (again, again.outcome, again.similarity) == (gone, "revived", 1.0)
    assert memory.id == gone
    assert (memory.valid_from, memory.valid_until, memory.expires_at) == (None, FUTURE, None)
    assert (memory.invalidated_at, memory.invalidation_reason) == (None, None)
    assert memory.superseded_by is None
    assert memory.retrieval_count == (1 if policy == "bump" else 0)
    assert memory.content == ("TEA" if policy == "replace" else "tea")
    last = "replaced" if policy == "replace" else "revived"
    assert happened(shared_repo, agent, gone)[-2:] == ["restated", last]


def test_reviving_notes_what_it_undid(shared_repo: MemoryRepository, agent: str) -> None:
    gone = _forgotten(shared_repo, agent)

    shared_repo.add(agent, NewMemory("tea", embedding=NORTH), actor="Kai")

    event = shared_repo.history(agent, gone)[-1]
    assert (event.event_type, event.actor) == ("revived", "Kai")
    assert event.old_values["invalidation_reason"] == "forgotten"
    assert event.new_values["invalidated_at"] is None


def test_saying_again_what_will_be_invalidated_later_does_not_revive_it(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    tea = shared_repo.add(agent, plain("tea"))
    shared_repo.supersede(agent, tea, plain("coffee", valid_from=FUTURE))

    again = add(shared_repo, agent, plain("tea"))

    assert (again, again.outcome) == (tea, "duplicate")
    assert read(shared_repo, agent, tea).invalidated_at == FUTURE


@pytest.mark.parametrize("old", [{"valid_until": PAST}, {"expires_at": PAST}], ids=str)
def test_what_does_not_hold_itself_revives_nothing(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added], old: dict[str, Any]
) -> None:
    tea = _forgotten(shared_repo, agent)

    again = add(shared_repo, agent, NewMemory("tea", embedding=NORTH, **old))

    recalled = shared_repo.search(agent, NORTH, touch=False) != []
    assert again == tea
    assert (again.outcome == "revived") == recalled


def test_a_retry_does_not_say_that_it_revived_what_stays_forgotten(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    tea = shared_repo.add(agent, plain("tea"))
    mine = uuid4()
    add(shared_repo, agent, plain("tea", id=mine))
    shared_repo.invalidate(agent, tea)

    again = add(shared_repo, agent, plain("tea", id=mine))

    recalled = read(shared_repo, agent, tea).invalidated_at is None
    assert again == tea
    assert (again.outcome == "revived") == recalled


# Batches


def test_of_several_that_say_the_same_the_first_is_stored(
    either: MemoryRepository, engine: Engine
) -> None:
    batch = [plain(text) for text in ("tea", "coffee", "TEA", " tea ", "coffee", "milk")]

    added = either.add_many("agent", batch)

    tea, coffee, *_ = added
    assert outcomes(added) == ["inserted", "inserted", *["duplicate"] * 3, "inserted"]
    assert added[2:5] == [tea, tea, coffee]
    assert read(either, "agent", tea).content == "tea"
    assert read(either, "agent", tea).retrieval_count == 2
    assert read(either, "agent", coffee).retrieval_count == 1
    assert happened(either, "agent", tea) == ["initial", "restated", "restated"]
    assert stored(engine, "agent") == 3


def test_with_replace_the_last_of_a_batch_stands(shared_repo: MemoryRepository, agent: str) -> None:
    batch = [plain("tea", importance=share) for share in (0.1, 0.2, 0.3)]

    first, *_ = shared_repo.add_many(agent, batch, duplicates="replace")

    assert read(shared_repo, agent, first).importance == 0.3


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(4))
def test_a_batch_ends_like_the_same_memories_one_after_the_other(
    shared_repo: MemoryRepository, agent: str, policy: Any, seed: int
) -> None:
    chance = random.Random(seed)
    known = [plain(text, importance=0.5) for text in ("a", "b")]
    batch = [plain(chance.choice("aAbBcCdD"), importance=n / 40) for n in range(20)]
    owners = [f"{agent} batch", f"{agent} each", f"{agent} compared"]
    for owner in owners:
        shared_repo.add_many(owner, known)

    many, each, compared = owners
    results = [
        shared_repo.add_many(many, batch, duplicates=policy),
        [shared_repo.add(each, memory, duplicates=policy) for memory in batch],
        shared_repo.add_many(compared, batch, duplicates=policy, near_duplicates=0.9),
    ]

    by_batch, by_one, by_comparison = (outcomes(added) for added in results)
    assert by_batch == by_one == by_comparison
    assert _state(shared_repo, many) == _state(shared_repo, each) == _state(shared_repo, compared)


@pytest.mark.parametrize("policy", ["bump", "keep"])
def test_what_a_batch_revives_holds_as_if_added_one_after_the_other(
    shared_repo: MemoryRepository, agent: str, policy: Any
) -> None:
    batch = [plain("tea", expires_at=FUTURE), plain("tea", valid_until=FUTURE)]
    owners = [f"{agent} batch", f"{agent} each"]
    for owner in owners:
        shared_repo.add(owner, plain("tea", expires_at=PAST))

    many = shared_repo.add_many(owners[0], batch, duplicates=policy)
    each = [shared_repo.add(owners[1], memory, duplicates=policy) for memory in batch]

    first, second = (
        read(shared_repo, owner, added[0])
        for owner, added in zip(owners, (many, each), strict=True)
    )
    assert (first.expires_at, first.valid_until) == (second.expires_at, second.valid_until)
    assert outcomes(many) == outcomes(each)


def test_the_same_id_twice_in_a_batch_is_stored_once(
    shared_repo: MemoryRepository, agent: str
) -> None:
    mine = uuid4()

    added = shared_repo.add_many(agent, [plain("tea", id=mine), plain("coffee", id=mine)])

    assert added == [mine, mine]
    assert outcomes(added) == ["inserted", "known"]
    assert read(shared_repo, agent, mine).content == "tea"


@pytest.mark.parametrize("near_duplicates", [None, 0.92])
def test_the_same_key_twice_in_a_batch_is_one_memory_beside_the_text(
    shared_repo: MemoryRepository, agent: str, near_duplicates: float | None
) -> None:
    tea = shared_repo.add(agent, plain("tea"))

    added = shared_repo.add_many(
        agent, [plain("tea", key="k"), plain("tea", key="k")], near_duplicates=near_duplicates
    )

    assert outcomes(added) == ["inserted", "known"]
    assert added[0] == added[1] != tea
    assert read(shared_repo, agent, tea).retrieval_count == 0


def test_a_known_id_wins_over_a_text_that_is_there(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added]
) -> None:
    tea, coffee = shared_repo.add_many(agent, [plain("tea"), plain("coffee")])

    again = add(shared_repo, agent, plain("coffee", id=tea), duplicates="replace")

    assert (again, again.outcome) == (tea, "known")
    assert read(shared_repo, agent, tea).content == "tea"
    assert happened(shared_repo, agent, coffee) == ["initial"]


# Retries


SITUATIONS: dict[str, Callable[[MemoryRepository, str], object]] = {
    "new": lambda repo, agent: None,
    "duplicate": lambda repo, agent: repo.add(agent, NewMemory("TEA", embedding=at(60))),
    "near duplicate": lambda repo, agent: repo.add(agent, NewMemory("chai", embedding=at(10))),
    "revived": _forgotten,
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("name", [{"key": "mine"}, {"id": UUID(int=7)}], ids=["key", "id"])
def test_a_write_that_is_repeated_changes_nothing(
    shared_repo: MemoryRepository,
    agent: str,
    add: Callable[..., Added],
    name: dict[str, Any],
    situation: str,
    policy: str,
) -> None:
    SITUATIONS[situation](shared_repo, agent)
    memory = NewMemory("tea", embedding=NORTH, **name)
    options = {"duplicates": policy, "near_duplicates": 0.92}
    first = add(shared_repo, agent, memory, **options)
    once = read(shared_repo, agent, first)
    history = shared_repo.history(agent, first)

    again = [WAYS[way](shared_repo, agent, memory, **options) for way in WAYS]

    assert again == [first] * 3
    assert not any(one.inserted for one in again)
    beside = situation == "duplicate" and "key" in name  # known by its key, not by its text
    assert shared_repo.count(agent) == 1 + beside
    assert read(shared_repo, agent, first) == once
    assert shared_repo.history(agent, first) == history


def test_a_repeated_near_duplicate_counts_once_though_a_nearer_one_came_between(
    shared_repo: MemoryRepository, agent: str
) -> None:
    mine = NewMemory("tea", embedding=NORTH, key="mine")
    chai = shared_repo.add(agent, NewMemory("chai", embedding=at(15)))
    shared_repo.add(agent, mine, near_duplicates=0.92)
    nearer = shared_repo.add(agent, NewMemory("teas", embedding=at(5)))

    again = shared_repo.add(agent, mine, near_duplicates=0.92)

    assert again == chai
    assert read(shared_repo, agent, chai).retrieval_count == 1
    assert read(shared_repo, agent, nearer).retrieval_count == 0


def test_a_key_gives_each_owner_an_id_of_its_own(shared_repo: MemoryRepository, agent: str) -> None:
    mine = shared_repo.add(agent, plain("tea", key="k"))
    [hers] = shared_repo.add_many(f"{agent} other", [plain("tea", key="k")])
    other = shared_repo.add(agent, plain("coffee", key="K"))

    assert len({mine, hers, other}) == 3
    assert mine.inserted
    assert hers.inserted
    assert other.inserted


def test_the_key_of_a_team_is_not_that_of_an_agent_of_the_same_name(
    shared_repo: MemoryRepository, agent: str
) -> None:
    mine = shared_repo.add(agent, plain("tea", key="k"))
    theirs = shared_repo.teams.add(agent, plain("tea", key="k"))

    shared_repo.touch(agent, mine)

    assert mine != theirs
    assert read(shared_repo.teams, agent, theirs).retrieval_count == 0


@pytest.mark.parametrize("key", ["'; --", "%s {0}", "a\nb", "🙂" * 200, " "])
def test_any_text_is_a_key(shared_repo: MemoryRepository, agent: str, key: str) -> None:
    first = shared_repo.add(agent, plain("tea", key=key))
    [again] = shared_repo.add_many(agent, [plain("anything", key=key)])

    assert (again, again.outcome) == (first, "known")


@pytest.mark.parametrize(
    "memory",
    [
        plain("tea", key=""),
        plain("tea", key="k" * 201),
        plain("tea", key="a\0b"),
        plain("tea", key="\ud800"),
        plain("tea", key="k", id=UUID(int=1)),
        plain("tea", key=5),
    ],
    ids=lambda memory: f"{memory.key!a:.9}",
)
def test_a_key_that_is_none_is_refused(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., Added], memory: NewMemory
) -> None:
    with pytest.raises(InvalidMemory, match="key"):
        add(shared_repo, agent, memory)
    assert shared_repo.count(agent) == 0


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"duplicates": "ignore"}, UnknownName),
        ({"duplicates": None}, UnknownName),
        ({"duplicates": ["bump"]}, UnknownName),
        ({"near_duplicates": 1.01}, InputError),
        ({"near_duplicates": -0.01}, InputError),
        ({"near_duplicates": float("nan")}, InputError),
        ({"near_duplicates": True}, InputError),
        ({"near_duplicates": "0.9"}, InputError),
        ({"actor": ""}, InputError),
        ({"actor": "a\0"}, InputError),
        ({"check_compliance": None}, InputError),
    ],
    ids=str,
)
def test_a_policy_that_is_none_is_refused(
    shared_repo: MemoryRepository,
    agent: str,
    add: Callable[..., Added],
    options: dict[str, Any],
    error: type[Exception],
) -> None:
    with pytest.raises(error):
        add(shared_repo, agent, plain("tea"), **options)
    assert shared_repo.count(agent) == 0


def test_a_duplicate_in_a_transaction_that_is_rolled_back_left_nothing(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    tea = _forgotten(shared_repo, agent)
    before, history = read(shared_repo, agent, tea), shared_repo.history(agent, tea)

    with shared_engine.connect() as connection:
        mine = MemoryRepository(connection)
        mine.add(agent, NewMemory("tea", embedding=NORTH))
        mine.add_many(agent, [NewMemory("TEA", embedding=at(9))], duplicates="replace")
        inside = read(mine, agent, tea)
        connection.rollback()

    assert (inside.content, inside.retrieval_count, inside.invalidated_at) == ("TEA", 1, None)
    assert read(shared_repo, agent, tea) == before
    assert shared_repo.history(agent, tea) == history


# Near duplicates

LIKE_NORTH = [23.0, 8.0, 4.0, 4.0, *[0.0] * (DIMENSIONS - 4)]
"""Its length is 25 and its similarity to NORTH 23/25, without a rounding error."""


@pytest.mark.parametrize("add_near", [WAYS["add"], WAYS["one_by_one"]])
@pytest.mark.parametrize(("threshold", "near"), [(0.92, False), (0.9199999, True), (0.93, False)])
def test_near_duplicates_are_strictly_more_similar_than_the_threshold(
    shared_repo: MemoryRepository,
    agent: str,
    add_near: Callable[..., Added],
    threshold: float,
    near: bool,
) -> None:
    north = shared_repo.add(agent, NewMemory("north", embedding=NORTH))

    new = NewMemory("nearly north", embedding=LIKE_NORTH)
    added = add_near(shared_repo, agent, new, near_duplicates=threshold)

    assert added.inserted is not near
    if near:
        assert (added, added.outcome, added.similarity) == (north, "near_duplicate", 23 / 25)
        assert read(shared_repo, agent, north).retrieval_count == 1
        [_, event] = shared_repo.history(agent, north)
        assert (event.event_type, event.metadata["similarity"]) == ("restated", 23 / 25)


def test_the_most_similar_of_several_is_the_near_duplicate(either: MemoryRepository) -> None:
    ids = [
        either.add("agent", NewMemory(f"{degrees}", embedding=at(degrees)))
        for degrees in (20, 8, -12)
    ]

    added = either.add("agent", NewMemory("new", embedding=NORTH), near_duplicates=0.9)

    assert added == ids[1]
    assert added.similarity == pytest.approx(0.99026806874157, abs=1e-7)  # cos 8°


def test_the_same_text_comes_before_a_similar_one(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add(agent, NewMemory("similar", embedding=NORTH))
    same = shared_repo.add(agent, NewMemory("same", embedding=at(90)))
    shared_repo.invalidate(agent, same)

    first = shared_repo.add(agent, NewMemory("SAME", embedding=NORTH), near_duplicates=0.5)
    second = shared_repo.add(agent, NewMemory("SAME", embedding=NORTH), near_duplicates=0.5)

    assert (first, first.outcome, first.similarity) == (same, "revived", 1.0)
    assert (second, second.outcome, second.similarity) == (same, "duplicate", 1.0)


def test_only_ones_own_recalled_memories_with_a_vector_are_near(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add(f"{agent} other", NewMemory("other's", embedding=NORTH))
    shared_repo.teams.add(agent, NewMemory("team's", embedding=NORTH))
    shared_repo.add(agent, plain("without a vector"))
    for n, why in enumerate(("expired", "no longer valid", "not yet valid", "forgotten")):
        gone = NOT_RECALLED[why](shared_repo, agent)
        shared_repo.update(agent, gone, content=f"{why} {n}", embedding=NORTH)

    new = shared_repo.add(agent, NewMemory("new", embedding=NORTH), near_duplicates=0.1)

    assert new.inserted


def test_a_memory_without_a_vector_has_no_near_duplicate(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add(agent, NewMemory("a", embedding=NORTH))

    assert shared_repo.add(agent, plain("b"), near_duplicates=0.0).inserted


def test_each_of_a_batch_is_compared_with_those_before_it(
    either: MemoryRepository,
) -> None:
    batch = [NewMemory(f"{degrees}", embedding=at(degrees)) for degrees in (0, 20, 40, 10, 41)]

    added = either.add_many("agent", batch, near_duplicates=0.92)

    zero, twenty, forty, ten, last = added  # cos 20° is 0.9397: 20° is near 0°, 40° is not
    assert outcomes(added) == [
        *("inserted", "near_duplicate", "inserted", "near_duplicate", "near_duplicate")
    ]
    assert (twenty, ten, last) == (zero, zero, forty)
    assert either.count("agent") == 2


def test_without_being_asked_nothing_is_compared(shared_repo: MemoryRepository, agent: str) -> None:
    batch = [NewMemory("a", embedding=NORTH), NewMemory("b", embedding=NORTH)]

    assert outcomes(shared_repo.add_many(agent, batch)) == ["inserted", "inserted"]
    assert shared_repo.add(agent, NewMemory("c", embedding=NORTH)).inserted


def test_keep_leaves_a_near_duplicate_as_it_is(shared_repo: MemoryRepository, agent: str) -> None:
    north = shared_repo.add(agent, NewMemory("north", embedding=NORTH))
    before = read(shared_repo, agent, north)

    shared_repo.add(
        agent, NewMemory("nearly", embedding=at(5)), near_duplicates=0.92, duplicates="keep"
    )

    assert read(shared_repo, agent, north) == before


def test_replace_gives_a_near_duplicate_the_new_text_and_vector(
    either: MemoryRepository,
) -> None:
    north = either.add("agent", NewMemory("north", embedding=NORTH))

    new = NewMemory("nearly north", embedding=at(15), importance=0.9)
    added = either.add("agent", new, near_duplicates=0.92, duplicates="replace")
    then = either.add("agent", NewMemory("more", embedding=at(30)), near_duplicates=0.92)

    [hit] = either.search("agent", at(15), touch=False)
    assert (added, added.outcome, hit.memory.id) == (north, "near_duplicate", north)
    assert (hit.memory.content, hit.memory.importance) == ("nearly north", 0.9)
    assert hit.signals["similarity"] == pytest.approx(1)
    assert then == north  # 30° is near 15°, not 0°
    assert either.add("agent", plain("north")).inserted


# Added


def _each_added() -> list[Added]:
    memory_id = UUID("01a1fded-1c76-7430-9ad1-d371091b5d5c")
    return [
        Added(memory_id, "inserted"),
        Added(memory_id, "near_duplicate", 0.95),
        Added(memory_id, "duplicate", 1.0),
    ]


def test_what_add_returns_is_a_uuid_equal_to_the_plain_one() -> None:
    for added in _each_added():
        plain_id = UUID(str(added))
        assert isinstance(added, UUID)
        assert added == plain_id
        assert plain_id == added
        assert hash(added) == hash(plain_id)
        assert {plain_id: "found"}[added] == "found"
        assert not added < plain_id
        assert (added.bytes, added.hex, added.version) == (plain_id.bytes, plain_id.hex, 7)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_add_returns_survives_pickling(protocol: int) -> None:
    for added in _each_added():
        again = pickle.loads(pickle.dumps(added, protocol))
        assert _parts(again) == _parts(added)


@pytest.mark.parametrize("copying", [copy.copy, copy.deepcopy])
def test_what_add_returns_survives_copying(copying: Callable[[Added], Added]) -> None:
    for added in _each_added():
        assert _parts(copying(added)) == _parts(added)


def test_what_add_returns_shows_how_it_went() -> None:
    inserted, near, _ = _each_added()

    assert repr(inserted) == "Added('01a1fded-1c76-7430-9ad1-d371091b5d5c', inserted)"
    assert repr(near) == "Added('01a1fded-1c76-7430-9ad1-d371091b5d5c', near_duplicate 0.950)"
    assert str(near) == f"{near}" == "01a1fded-1c76-7430-9ad1-d371091b5d5c"


def test_what_add_returns_cannot_be_changed() -> None:
    [inserted, *_] = _each_added()

    with pytest.raises(TypeError):
        inserted.outcome = "known"


def test_what_add_returns_serves_wherever_an_id_does(either: MemoryRepository) -> None:
    a = either.add("agent", NewMemory("a", embedding=NORTH))
    b = either.add("agent", NewMemory("b", embedding=at(40)))

    is_a = either.memories.c.id == a
    assert [hit.memory.id for hit in either.search("agent", where=is_a)] == [a]
    assert either.existing("agent", [a, b]) == {a, b}
    assert either.touch("agent", a) == 1
    assert either.touch("agent", [a, b]) == 2
    assert either.update("agent", a, importance=0.9).id == a
    assert either.set_importance("agent", a, 0.8).id == a
    assert either.record_outcome("agent", a, "success").success_count == 1
    assert either.adjust_trust("agent", a, 0.1, "reason", "actor").id == a
    assert either.feedback("agent", a, "useful").feedback_up == 1
    assert either.explain("agent", a, NORTH).returned
    either.link("agent", a, b, kind="next")
    assert either.label("agent", a, "x") == 1
    assert either.invalidate("agent", [a]) == 1
    assert either.revive("agent", a) == 1
    assert either.add("agent", NewMemory("other", id=a, embedding=None)).outcome == "known"
    assert either.add_many("agent", [plain("other", id=a)])[0].outcome == "known"
    assert either.supersede("agent", a, NewMemory("c", embedding=NORTH)).inserted
    assert len(either.history("agent", a)) > 5
    assert either.delete("agent", [a, b]) == 2


def test_ids_of_both_kinds_go_together(shared_repo: MemoryRepository, agent: str) -> None:
    a, b = shared_repo.add_many(agent, [plain("a"), plain("b")])
    mixed = [a, UUID(int=b.int)]
    elsewhere = shared_repo.add(f"{agent} other", plain("a"))

    assert shared_repo.touch(agent, mixed) == 2
    assert shared_repo.existing(agent, mixed) == {a, b}
    batch = [plain("a", id=elsewhere), plain("b", id=uuid4()), plain("c", id=uuid4())]
    assert shared_repo.add_many(agent, batch)[:2] == mixed
    assert shared_repo.delete(agent, mixed) == 2


def _set_status(engine: Engine, agent: str, memory_id: UUID, status: str) -> None:
    sql(
        engine,
        "UPDATE pgrecall.agent_memories SET status = :status WHERE agent_id = :agent AND id = :id",
        status=status,
        agent=agent,
        id=memory_id,
    )


def _comparable(memory: Memory) -> dict[str, Any]:
    own = ("agent_id", "id", "updated_at", "retrieval_count", "last_accessed_at")
    return {name: value for name, value in asdict(memory).items() if name not in own}


def _state(repo: MemoryRepository, owner: str) -> list[tuple[Any, ...]]:
    rows = repo.search(owner, NORTH, k=100, touch=False)
    return sorted(
        (
            *(hit.memory.content, hit.memory.importance, hit.memory.retrieval_count),
            sorted(set(events := happened(repo, owner, hit.memory.id))),
            events.count("restated"),
        )
        for hit in rows
    )


def _parts(added: Added) -> tuple[Any, ...]:
    return type(added), added.int, added.outcome, added.similarity
