"""Lists: any order, page by page, in Python and in psql, while memories come and go."""

from __future__ import annotations

import json
import random
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Engine

from pgrecall import Memory, MemoryRepository, NewMemory, Page
from pgrecall.errors import InputError, UnknownName
from pgrecall.memories.listing import SORTABLE
from tests.integration.owner import Owner, north, plain
from tests.integration.support import NOW, at, before, sql

Connection = psycopg.Connection[dict[str, Any]]
COLUMNS = tuple(SORTABLE)
ORDERS: tuple[Sequence[str], ...] = (
    (),
    *((column,) for column in COLUMNS),
    *((f"-{column}",) for column in COLUMNS),
    ("-subject", "trust", "-last_accessed_at"),
    ("-retrieval_count", "-id", "tier"),
)


def furnish(mine: Owner, engine: Engine, number: int = 40) -> None:
    """Memories with few different values and many missing ones."""
    chance = random.Random(7)

    def one(n: int) -> NewMemory:
        return plain(
            f"memory {n}",
            created_at=chance.choice([None, before(1), before(2), before(0.000_001)]),
            importance=chance.choice([0.1, 0.5, 1 / 3]),
            trust=chance.choice([None, 0.2, 0.7]),
            subject=chance.choice([None, "a", "b'", "c%s :x"]),
            tier=chance.choice(["short", "medium", "long"]),
            compliant=chance.choice([None, True]),
            tokens=chance.choice([1, 2]),
            session="s" if n % 2 else None,
            turn=n // 7 if n % 2 else None,
            expires_at=None,
        )

    ids = mine.repo.add_many(mine.name, [one(n) for n in range(number)])
    for count in range(1, 3):
        mine.repo.touch(mine.name, ids[: 10 * count])
    sql(
        engine,
        "UPDATE pgrecall.memory_usage SET last_accessed_at = :at WHERE agent_id = :agent "
        "AND retrieval_count = 2",
        at=before(3),
        agent=mine.name,
    )


def sorted_as(memories: Sequence[Memory], order: Sequence[str]) -> list[UUID]:
    """The ids in this order: NULL last, ties by id."""
    found = sorted(memories, key=lambda one: one.id)
    for name in reversed(order):
        column = name.removeprefix("-")
        given = [one for one in found if getattr(one, column) is not None]
        missing = [one for one in found if getattr(one, column) is None]
        given.sort(key=lambda one: getattr(one, column), reverse=name.startswith("-"))
        found = given + missing
    return [one.id for one in found]


def walked(mine: Owner, order: Sequence[str], limit: int) -> Iterator[Page[Memory]]:
    """All pages, one by one."""
    page = mine.list(order=order, limit=limit)
    yield page
    while page.next is not None:
        page = mine.list(order=order, limit=limit, after=page.next)
        yield page


def test_every_order_is_kept_from_page_to_page(mine: Owner, shared_engine: Engine) -> None:
    furnish(mine, shared_engine)
    everything = mine.list(limit=100)
    assert sorted_as(everything, ["-created_at"]) == [one.id for one in everything]
    assert everything.next is None

    for order in ORDERS:
        expected = sorted_as(everything, order)
        pages = list(walked(mine, order, 11))
        assert [one.id for page in pages for one in page] == expected, order
        assert [len(page) for page in pages] == [11, 11, 11, 7]


@pytest.mark.parametrize("order", [("-created_at",), ("importance", "-id")])
def test_pages_stay_right_while_memories_come_and_go(
    mine: Owner, shared_engine: Engine, order: Sequence[str]
) -> None:
    furnish(mine, shared_engine)
    there = {one.id for one in mine.list(limit=100)}
    chance, seen, gone = random.Random(1), [], set()
    for page in walked(mine, order, 4):
        seen += [one.id for one in page]
        lost = {page[-1].id, chance.choice(sorted(there))}  # where the page ends, and anywhere
        gone |= lost
        mine.delete(lost)
        new = plain(
            f"new {len(seen)}", created_at=before(chance.uniform(0, 4)), importance=chance.random()
        )
        mine.add(new)

    assert len(seen) == len(set(seen))
    assert there - gone <= set(seen)


def test_a_page_has_what_passes_the_filters(mine: Owner) -> None:
    for n, tags in enumerate((["a"], ["a", "b"], ["b"], ["a"])):
        mine.add(NewMemory(f"m {n}", embedding=at(n), tags=tags, created_at=before(n)))
    mine.other.add(north("of another", tags=["a"]))
    first = mine.list(filter={"tags": "a"}, limit=2, total=True)

    assert [one.content for one in first] == ["m 0", "m 1"]
    assert (first.total, first[0].embedding) == (3, None)
    rest = mine.list(filter={"tags": "a"}, limit=2, after=first.next, include_embedding=True)
    assert ([one.content for one in rest], rest.next, rest.total) == (["m 3"], None, None)
    assert rest[0].embedding == pytest.approx(at(3), abs=1e-6)
    assert [one.content for one in mine.list(as_of=before(1.5), order="id")] == ["m 2", "m 3"]
    assert mine.list(filter={"content": {"$match": "m"}}, total=True).total == 4
    third = mine.repo.memories.c.content == "m 2"
    assert mine.list(filter=third, total=True).total == 1
    mine.touch([one.id for one in mine.list(filter=third)])
    by_use = mine.list(filter={"tags": "a"}, order=["-retrieval_count", "-id"], limit=2)
    assert ([one.content for one in by_use], by_use.next is None) == (["m 3", "m 1"], False)
    mine.invalidate([one.id for one in rest])
    assert len(mine.list()) == 3
    assert len(mine.list(include_inactive=True)) == 4


def cursor(said: Any) -> str:
    return urlsafe_b64encode(json.dumps(said).encode()).decode()


LASTS: tuple[Any, ...] = (
    *(None, [], "ab", [NOW.isoformat()], [None, None], [1, str(UUID(int=1))]),
    *(["soon", str(UUID(int=1))], [NOW.isoformat(), "x"], ["x" * 10_000, str(UUID(int=1))]),
)
GOOD = {"order": ["-created_at", "id"], "last": [NOW.isoformat(), str(UUID(int=1))]}
HOSTILE: tuple[str, ...] = (
    *("", "x", "a" * 100_000, "é", "'; DROP TABLE x; --"),
    *map(cursor, (None, [], "x", {"order": ["-created_at", "id"]})),
    *(cursor(GOOD | {"last": last}) for last in LASTS),
    urlsafe_b64encode(b"[" * 100_000).decode(),
    urlsafe_b64encode(b'{"order": "\xff"}').decode(),
)


def test_a_hostile_cursor_is_refused(mine: Owner) -> None:
    for after in HOSTILE:
        with pytest.raises(InputError, match=r"after must be|after was made") as refused:
            mine.list(after=after)
        assert len(str(refused.value)) < 300


def test_values_of_a_cursor_must_fit_their_columns(mine: Owner) -> None:
    wrong: dict[str, tuple[Any, ...]] = {
        "importance": ("0.5", True, [], float("inf"), float("nan"), 10**400),
        "tokens": (1.5, -1, 2**31, "1", True),
        "compliant": (0, "true"),
        "subject": ("a\0", "\ud800", 3),
        "created_at": ("2026-01-01T00:00:00", 5, "0001-01-01T00:00:00+00:00"),
        "superseded_by": (5, "x"),
    }
    for column, values in wrong.items():
        for value in values:
            said = {"order": [column, "id"], "last": [value, str(UUID(int=1))]}
            with pytest.raises(InputError, match=r"after"):
                mine.list(order=column, after=cursor(said))


def test_a_cursor_belongs_to_its_order_which_names_columns_that_can_be_sorted(
    mine: Owner,
) -> None:
    mine.add_many([north(f"m {n}") for n in range(3)])
    after = mine.list(limit=1).next
    said = r"after was made for the order .*-created_at.*importance.*the same `?order"
    with pytest.raises(InputError, match=said):
        mine.list(order="importance", after=after)
    for name in ("content", "embedding", "tags", "metadata", "terms", "agent_id", "--id", "", "x'"):
        with pytest.raises(UnknownName, match="unknown column"):
            mine.list(order=name)


def test_owners_are_listed_page_by_page(engine: Engine) -> None:
    repo = MemoryRepository(engine)
    for owner in ("ada", "adam", "bob", "ad%", "team", "zoë"):
        repo.add_many(owner, [plain(f"{owner} {n}") for n in range(2)])
    repo.teams.add("ada", plain("of a team"))
    repo.invalidate("bob", [one.id for one in repo.list("bob")])

    assert {(one.agent_id, one.team_id, one.memories) for one in repo.owners()} == {
        (name, None, 2) for name in ("ada", "adam", "bob", "ad%", "team", "zoë")
    }
    assert [(one.agent_id, one.team_id, one.memories) for one in repo.teams.owners()] == [
        (None, "ada", 1)
    ]
    assert {one.agent_id for one in repo.owners(prefix="ada")} == {"ada", "adam"}
    assert repo.owners(prefix="x") == []
    seen = []
    page = repo.owners(limit=4)
    while True:
        seen += [one.agent_id for one in page]
        if page.next is None:
            break
        repo.erase_owner(seen[-1] or "")
        page = repo.owners(limit=4, after=page.next)
    assert sorted(filter(None, seen)) == ["ad%", "ada", "adam", "bob", "team", "zoë"]
    rows = sql(engine, "SELECT agent_id, memories FROM pgrecall.owners(prefix => 'ad')")
    assert set(rows) >= {("team:ada", 1)}
