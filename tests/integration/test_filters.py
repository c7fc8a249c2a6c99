"""Filters: which memories take part in a read at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, Table, and_, bindparam, event, exists, or_, select, text

from pgrecall import MemoryRepository
from pgrecall.core.limits import MAX_CONDITIONS, MAX_FILTER_DEPTH, MAX_VALUES
from pgrecall.errors import DatabaseError, InputError
from pgrecall.ranking.filter_keys import COLUMNS, GROUPS, MATCH, OPERATORS, PROVENANCE
from tests.integration.owner import Owner, north, plain
from tests.integration.support import NORTH, NOW, at, before, contents, shown, sql

Filter = dict[str, Any]
REEF = UUID(int=1)
STOCK = [
    north(
        "reef",
        id=REEF,
        memory_type="factual",
        additional_types=["preference"],
        tier="long",
        tags=["sea", "hours"],
        entities=["Reef", "Anna"],
        importance=0.9,
        created_at=before(10),
        trust=0.8,
        trust_curve="exponential",
        trust_half_life_hours=24,
        compliant=True,
        quality_score=0.7,
        component="hunter",
        output_type="action",
        domain="law",
        category="x",
        loop="in",
    ),
    north(
        "harbour",
        memory_type="episodic",
        tier="short",
        tags=["sea"],
        entities=["Anna"],
        importance=0.2,
        created_at=before(5),
        expires_at=None,
        trust=0.6,
        compliant=False,
        has_errors=True,
        component="meta",
        output_type="decision",
        domain="art",
        category="y",
        loop="out",
    ),
    north("task", memory_type="task", tags=["Sea"], created_at=before(1), trust=0.3),
    north("undated", memory_type="preference", created_at=None, trust=None),
    north("archived", tags=["sea"], created_at=before(20)),
    north("over", created_at=before(20), valid_until=before(19)),
]
ACTIVE = "reef harbour task undated"
USED = """
INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count, last_accessed_at)
SELECT agent_id, id, 3, CAST(:day AS timestamptz)
  FROM pgrecall.agent_memories WHERE content = 'reef'
"""


@pytest.fixture(scope="module")
def stocked(module_engine: Engine) -> MemoryRepository:
    repo = MemoryRepository(module_engine)
    repo.add_many("agent", STOCK, check_compliance=False)
    repo.add("another", north("reef", importance=0.9))
    for text_, importance in (("ours", 0.9), ("dull", 0.1)):
        repo.teams.add("red", north(text_, importance=importance, entities=["Anna"]))
    put_away = "UPDATE pgrecall.agent_memories SET status = content WHERE content = 'archived'"
    sql(module_engine, put_away)
    sql(module_engine, "UPDATE pgrecall.agent_memories SET needs_review = content = 'harbour'")
    sql(module_engine, USED, day=before(1))
    return repo


def assert_found(repo: MemoryRepository, expected: str, asked: Any, **arguments: Any) -> None:
    """By a search, a list and a count."""
    hits = repo.search("agent", NORTH, touch=False, filter=asked, **arguments)
    memories = repo.list("agent", filter=asked, **arguments)

    assert {*contents(hits)} == {*expected.split()}
    assert {one.content for one in memories} == {*expected.split()}
    assert repo.count("agent", filter=asked, **arguments) == len(hits) == len(memories)


SEA, HOURS, FACT = {"tags": "sea"}, {"tags": "hours"}, {"memory_type": "factual"}
PASSES: list[tuple[Filter, str]] = [
    # Texts
    (FACT, "reef"),
    ({"memory_type": {"$eq": "factual"}}, "reef"),
    ({"memory_type": {"$ne": "factual"}}, "harbour task undated"),
    ({"memory_type": ["factual", "task"]}, "reef task"),
    ({"memory_type": {"$in": ["factual"]}}, "reef"),
    ({"memory_type": {"$nin": ["factual", "task"]}}, "harbour undated"),
    ({"content": {"$gt": "reef"}}, "task undated"),
    ({"content": {"$gte": "reef", "$lt": "undated"}}, "reef task"),
    ({"content": {"$lte": "reef"}}, "reef harbour"),
    ({"content": {"$between": ["h", "s"]}}, "reef harbour"),
    ({"content": {"$like": "%r%"}}, "reef harbour"),
    ({"content": {"$like": "R%"}}, ""),
    ({"content": {"$like": "____"}}, "reef task"),
    ({"content": {"$ilike": "R%"}}, "reef"),
    ({"content": {"$match": "harbour or tasks"}}, "harbour task"),
    ({"tier": "short"}, "harbour"),
    ({"subject": {"$exists": False}}, ACTIVE),
    ({"subject": None}, ACTIVE),
    ({"subject": {"$ne": None}}, ""),
    ({"subject": {"$ne": "x"}}, ACTIVE),
    ({"subject": {"$nin": ["x"]}}, ACTIVE),
    *(({"subject": {operator: ""}}, "") for operator in ("$gt", "$gte", "$lt", "$lte", "$eq")),
    # Numbers
    ({"importance": 0.9}, "reef"),
    ({"importance": [0.9, 0.2, 7]}, "reef harbour"),
    ({"importance": {"$gt": 0.8}}, "reef"),
    ({"importance": {"$lt": 0.3}}, "harbour"),
    ({"importance": {"$between": [0.2, 0.2]}}, "harbour"),
    ({"trust": {"$gte": 0.8}}, "reef"),
    ({"trust": {"$ne": 0.8}}, "harbour task undated"),
    ({"trust": None}, "undated"),
    ({"turn": {"$exists": False}}, ACTIVE),
    # Counters
    ({"retrieval_count": {"$gte": 3}}, "reef"),
    ({"retrieval_count": 0}, "harbour task undated"),
    ({"success_count": {"$lt": 1}, "retrieval_count": [3]}, "reef"),
    ({"last_accessed_at": {"$exists": True}}, "reef"),
    ({"last_accessed_at": {"$gt": before(1)}}, ""),
    ({"$or": [{"retrieval_count": {"$gt": 2}}, {"tier": "short"}]}, "reef harbour"),
    # Times
    ({"created_at": {"$gte": before(5)}}, "harbour task"),
    ({"created_at": {"$lt": before(5)}}, "reef"),
    ({"created_at": before(5)}, "harbour"),
    ({"created_at": before(5).isoformat()}, "harbour"),
    ({"created_at": {"$between": [before(10), before(5).isoformat()]}}, "reef harbour"),
    ({"created_at": None}, "undated"),
    # Ids, flags, vectors
    ({"id": REEF}, "reef"),
    ({"id": [str(REEF), UUID(int=9)]}, "reef"),
    ({"id": {"$ne": str(REEF)}}, "harbour task undated"),
    ({"needs_review": True}, "harbour"),
    ({"needs_review": {"$ne": True}}, "reef task undated"),
    ({"needs_review": [True, False]}, ACTIVE),
    ({"embedding": {"$exists": True}}, ACTIVE),
    ({"embedding": {"$exists": False}}, ""),
    # Lists
    (SEA, "reef harbour"),
    ({"tags": ["hours", "Sea"]}, "reef task"),
    ({"tags": frozenset(("sea",))}, "reef harbour"),
    ({"tags": {"$all": ["sea", "hours"]}}, "reef"),
    ({"tags": {"$ne": "sea"}}, "task undated"),
    ({"tags": {"$nin": ["sea", "Sea"]}}, "undated"),
    ({"tags": {"$in": ["sea"], "$nin": ["hours"]}}, "harbour"),
    ({"tags": {"$exists": True}}, "reef harbour task"),
    ({"tags": {"$exists": False}}, "undated"),
    ({"entities": "Reef"}, "reef"),
    ({"entities": {"$all": ["Anna", "Reef"]}}, "reef"),
    ({"entities": {"$nin": ["Reef"]}}, "harbour task undated"),
    ({"additional_types": "preference"}, "reef"),
    # Provenance
    ({"provenance.component": "hunter"}, "reef"),
    ({"provenance.component": {"$ne": "hunter"}}, "harbour task undated"),
    ({"provenance.output_type": ["decision", "other"]}, "harbour"),
    ({"provenance.domain": {"$like": "_a_"}}, "reef"),
    ({"provenance.category": "y"}, "harbour"),
    ({"provenance.loop": ["in", "out"]}, "reef harbour"),
    ({"provenance.quality_score": {"$gt": 0.6}}, "reef"),
    ({"provenance.constitutional_compliance": False}, "harbour"),
    ({"provenance.constitutional_compliance": None}, "task undated"),
    ({"provenance.errors": True}, "harbour"),
    *(
        ({f"provenance.{name}": False}, ACTIVE)
        for name in ("requires_approval", "policy_violation", "policy_review")
    ),
    # Groups
    ({}, ACTIVE),
    (SEA | FACT, "reef"),
    ({"$and": [SEA, HOURS]}, "reef"),
    ({"$or": [HOURS, {"tags": "Sea"}]}, "reef task"),
    ({"$or": [SEA | {"tier": "short"}, HOURS]}, "reef harbour"),
    ({"$not": SEA}, "task undated"),
    ({"$not": SEA | HOURS}, "harbour task undated"),
    ({"$not": [HOURS, {"tier": "short"}]}, "task undated"),
    ({"$not": {"trust": {"$gt": 0.5}}}, "task undated"),
    ({"$not": {"$or": [HOURS, {"$not": SEA}]}}, "harbour"),
    ({"$or": [{"$and": [SEA, HOURS]}, {"$not": {"$or": [SEA, {"trust": None}]}}]}, "reef task"),
    ({"AND": [SEA, {"OR": [HOURS, {"NOT": [FACT]}]}]}, "reef harbour"),
    ({"NOT": FACT}, "harbour task undated"),
    ({"tags": "sea", "$or": [HOURS], "$and": [FACT], "$not": {"tier": "short"}}, "reef"),
]


@pytest.mark.parametrize(("asked", "expected"), PASSES, ids=shown)
def test_a_filter_passes_what_it_says(
    stocked: MemoryRepository, asked: Filter, expected: str
) -> None:
    assert_found(stocked, expected, asked)
    assert_found(stocked, expected, {"$and": [asked]} if asked else None)


def written(asked: Filter) -> Iterator[tuple[str, str]]:
    """Each key of a filter with each of its operators."""
    for key, value in asked.items():
        if key in GROUPS:
            for one in value if isinstance(value, list) else [value]:
                yield from written(one)
        else:
            several = value if isinstance(value, dict) else ["$eq"]
            yield from ((key, operator) for operator in several)


def test_every_operator_and_every_key_of_provenance_is_here() -> None:
    tried = {one for asked, _ in PASSES for one in written(asked)}
    for kind in ("text", "text[]", "vector"):
        of_kind = {operator for key, operator in tried if COLUMNS.get(key) == kind}
        assert {*OPERATORS[kind]} - {"$eq"} <= of_kind, kind
    assert ("content", MATCH) in tried
    assert {f"provenance.{name}" for name in PROVENANCE} <= {key for key, _ in tried}


def test_trust_is_what_is_stored_and_decayed_trust_what_it_is_at_the_moment(
    stocked: MemoryRepository,
) -> None:
    for least, expected in ((0.41, "harbour"), (0.39, "harbour reef")):  # of 0.8 a half is left
        assert_found(stocked, expected, {"decayed_trust": {"$gte": least}}, as_of=NOW)
    assert_found(stocked, "undated", {"decayed_trust": None}, as_of=NOW)
    assert_found(stocked, "reef", {"tags": "sea"}, as_of=before(7))


def test_similarity_is_the_cosine_with_the_query(mine: Owner) -> None:
    mine.add_many([north("near"), north("far", embedding=at(120)), plain("bare")])

    for asked, expected in (
        ({"similarity": {"$gte": 0.5}}, ["near"]),
        ({"similarity": {"$lt": 0}}, ["far"]),
        ({"similarity": None}, ["bare"]),
        ({"$or": [{"similarity": {"$lt": 0}}, {"content": "near"}]}, ["far", "near"]),
        ({"$not": {"similarity": {"$gte": -1}}}, ["bare"]),
    ):
        assert sorted(contents(mine.search(NORTH, filter=asked, touch=False))) == expected


def _shares_an_entity(one: Table, other: Any) -> Any:
    return exists(
        select(1)
        .select_from(other)
        .where(other.c.entities.overlap(one.c.entities), other.c.id != one.c.id)
    )


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (lambda m: m.c.importance > 0.5, "reef"),
        (lambda m: or_(m.c.tier == "short", m.c.created_at.is_(None)), "harbour undated"),
        (lambda m: and_(m.c.agent_id == "agent", m.c.content.like("h%")), "harbour"),
        (lambda m: or_(m.c.agent_id == "agent", m.c.agent_id != "agent"), ACTIVE),
        (lambda m: ~m.c.tags.contains(["sea"]), "task undated"),
        (lambda m: m.c.id.in_(select(m.alias().c.id).limit(0)), ""),
        (lambda m: _shares_an_entity(m, m.alias()), "reef harbour"),
        (lambda m: text("true OR true"), ACTIVE),
        (lambda m: text("content <> ')' OR 1 = 1"), ACTIVE),
        (lambda m: text("content = :mine").bindparams(mine="reef"), "reef"),
        (lambda m: m.c.content == bindparam("my.own (text)", "reef"), "reef"),
        (lambda m: {"$and": [text("true OR true"), m.c.importance > 0.5]}, "reef"),
        (lambda m: {"$and": [m.c.importance < 0.5, SEA, {"$and": [m.c.id != REEF]}]}, "harbour"),
        (lambda m: {"AND": [m.c.content != "reef"], "tags": "sea"}, "harbour"),
    ],
)
def test_conditions_of_sqlalchemy_stand_alone_or_below_and(
    stocked: MemoryRepository, asked: Callable[[Table], Any], expected: str
) -> None:
    assert_found(stocked, expected, asked(stocked.memories))


def test_filters_hold_for_memories_of_teams_too(stocked: MemoryRepository) -> None:
    """And an alias stands for its entity, by which one of the agent and the teams knows it."""
    bright = {"$and": [stocked.memories.c.importance > 0.4, {"entities": "Ann"}]}
    stocked.teams.names.alias("red", "Ann", "Anna")
    for asked in (bright, {"importance": {"$gt": 0.4}, "entities": {"$all": ["ann"]}}):
        found = stocked.search("agent", NORTH, teams=["red"], touch=False, filter=asked)
        assert sorted(contents(found)) == ["ours", "reef"]
        assert stocked.count("agent", filter=asked) == 0
    stocked.teams.names.remove("red", "Ann")
    with pytest.raises(DatabaseError, match="boolean"):  # what is no condition
        stocked.search("agent", NORTH, filter=stocked.memories.c.content)


def test_inactive_memories_are_looked_at_only_if_asked_for(stocked: MemoryRepository) -> None:
    everything = f"{ACTIVE} archived over"
    assert_found(stocked, everything, None, include_inactive=True)
    assert_found(stocked, "reef harbour archived", SEA, include_inactive=True)
    assert_found(stocked, "archived", {"status": "archived"}, include_inactive=True)
    assert_found(stocked, f"{ACTIVE} over", {"status": "active"}, include_inactive=True)
    assert_found(stocked, "over", {"valid_until": {"$lt": NOW}}, include_inactive=True)
    assert_found(stocked, "", {"status": "archived"})


def test_deleting_and_exporting_look_at_what_lists_look_at(mine: Owner) -> None:
    mine.add_many([plain(f"m {n}", tags=["x"] if n else []) for n in range(4)])
    x: Filter = {"filter": {"tags": "x"}}
    ids = [one.id for one in mine.list(**x)]
    mine.invalidate(ids[0])
    mine.put(ids[1], status="archived")

    def exported(**asked: Any) -> int:
        exporting = mine.repo.transfer.export
        return int(exporting(lambda lines: None, agent_id=mine.name, **asked))

    assert [exported(**x), mine.delete(**x, dry_run=True), mine.count(**x)] == [1, 1, 1]
    every = x | {"include_inactive": True}
    assert [exported(**every), mine.delete(**every, dry_run=True), mine.count(**every)] == [3, 3, 3]
    assert (exported(), exported(filter=None, include_inactive=False)) == (4, 2)
    assert mine.delete(**x) == 1
    assert mine.delete(**every) == 2
    assert mine.count(include_inactive=True) == 1


METADATA: dict[str, dict[str, Any]] = {
    "one": {"n": 1, "state": "open", "tags": ["x"], "on": True},
    "two": {"n": 2, "state": "late", "deep": {"a": 1, "b.c": {"d": "x"}}},
    "ten": {"n": 10, "state": None},
    "text": {"n": "2", "state": "open"},
    "none": {},
    "dots": {"deep.a": 7, "b\\": 1, "b\\.c": 2, "b": {"c": 3}, "steps": [{"cost": 4}, "y"]},
}
COMPARISONS: tuple[tuple[Filter, str], ...] = (
    ({"state": "open"}, "one text"),
    ({"on": True}, "one"),
    ({"n": 1}, "one"),
    ({"n": "2"}, "text"),
    ({"deep": {"$eq": {"a": 1, "b.c": {"d": "x"}}}}, "two"),
    ({"n": {"$ne": 2}}, "one ten text none dots"),
    ({"n": {"$gt": 2}}, "ten"),
    ({"n": {"$lt": 2}}, "one"),
    ({"n": {"$gt": 1, "$lt": 10}}, "two"),
    ({"n": {"$between": [1, 2]}}, "one two"),
    ({"n": {"$gte": "1"}}, "text"),
    ({"n": {"$lte": 10**400}}, "one two ten"),
    ({"n": [1, "2"]}, "one text"),
    ({"n": {"$nin": [1, "2"]}}, "two ten none dots"),
    ({"n": {"$exists": False}}, "none dots"),
    ({"state": {"$exists": True}}, "one two ten text"),
    ({"state": None}, "ten"),
    ({"state": {"$in": [None, "late"]}}, "two ten"),
    ({"state": {"$like": "_ate"}}, "two"),
    ({"state": {"$ilike": "OP%"}}, "one text"),
    ({"n": {"$like": "%"}}, "text"),
    ({"tags": {"$all": ["x"]}}, "one"),
    ({"tags": {"$eq": ["x"]}}, "one"),
    ({"n": {"$gte": 1, "$ne": 10}, "state": ["open"]}, "one"),
    ({"deep.a": {"$gte": 1}}, "two"),
    ({"deep.x": {"$exists": False}, "n": {"$exists": True}}, "one two ten text"),
    ({"deep.b\\.c.d": "x"}, "two"),
    ({"deep\\.a": {"$gt": 6}}, "dots"),
    ({"b\\": 1}, "dots"),
    ({"b\\\\\\.c": 2}, "dots"),
    ({"b.c": 3}, "dots"),
    ({"steps.0.cost": {"$lt": 5}, "steps.-1": ["y"]}, "dots"),
    ({"'; DROP TABLE x; --": "%s :name {} \\"}, ""),
    ({"deep.'; DROP TABLE x; --.%s": {"$gt": "{0,path}"}}, ""),
)


def test_values_in_metadata_are_compared_at_their_paths(mine: Owner) -> None:
    mine.add_many([plain(name, metadata=values) for name, values in METADATA.items()])
    for asked, names in COMPARISONS:
        paths = {f"metadata.{path}": one for path, one in asked.items()}
        found = mine.search(k=100, filter=paths, touch=False)
        assert {*contents(found)} == {*names.split()}, asked
        assert mine.count(filter=paths) == len(found)
        left = mine.list(filter={"$not": paths})
        assert {one.content for one in left} == METADATA.keys() - {*names.split()}, asked


def test_lists_in_metadata_are_values_like_others(mine: Owner) -> None:
    for n, value in enumerate(([1], 1, ["a"], "a", [], [[1]], {"x": [1]})):
        mine.add(plain(f"{n}", metadata={"k": value}))
    for asked, found in (
        ([[1], [2]], "0"),
        ([["a"], "zz"], "2"),
        ([[]], "4"),
        ([[[1]], {"x": [1]}, "a"], "356"),
    ):
        kept = mine.list(filter={"metadata.k": {"$in": asked}})
        left = mine.list(filter={"metadata.k": {"$nin": asked}})
        assert sorted(one.content for one in kept) == list(found)
        assert len(kept) + len(left) == 7


def test_a_filter_at_its_limits_passes(mine: Owner) -> None:
    mine.add(plain("m", metadata={"n": 5}, tags=["t1"]))
    deepest: Filter = {"tags": "t1"}
    for _ in range(MAX_FILTER_DEPTH - 1):
        deepest = {"$or": [deepest]}
    many = [f"t{number}" for number in range(MAX_VALUES)]
    for asked in (
        deepest,
        {"$and": [{"metadata.n": {"$lt": n}} for n in range(6, 6 + MAX_CONDITIONS)]},
        {"tags": many, "metadata.n": [*range(MAX_VALUES)]},
        {".".join(["metadata", *"a" * 31]): {"$exists": False}},
        {f"metadata.{'a' * 9_991}": {"$exists": False}, "subject": {"$ne": "x" * 10_000}},
        {"metadata.n": {"$ne": [[1] * 900]}},
    ):
        assert len(mine.search(touch=False, filter=asked)) == mine.count(filter=asked) == 1


@contextmanager
def sent(engine: Engine) -> Iterator[list[str]]:
    """The statements that are sent meanwhile."""
    texts: list[str] = []

    def note(*given: Any) -> None:
        texts.append(given[2])

    event.listen(engine, "before_cursor_execute", note)
    yield texts
    event.remove(engine, "before_cursor_execute", note)


def test_filters_of_one_shape_share_a_statement(
    stocked: MemoryRepository, module_engine: Engine
) -> None:
    def shaped(n: int) -> Filter:
        either = [{"importance": {"$gt": n / 9}}, {f"metadata.a{n}.b": n}, {"tags": [f"{n}"] * n}]
        return {"memory_type": f"type {n}", "$or": either, "content": {"$like": f"%{n}"}}

    reads: tuple[Callable[[Filter], Any], ...] = (
        lambda asked: stocked.search("agent", NORTH, touch=False, filter=asked),
        lambda asked: stocked.list("agent", filter=asked),
        lambda asked: stocked.count("agent", filter=asked),
    )
    for read in reads:
        read(shaped(1))
        with sent(module_engine) as texts:
            for n in range(1, 6):
                read(shaped(n))
        assert len({one for one in texts if "agent_memories" in one}) == 1


def test_nothing_but_the_check_of_its_words_is_sent_for_a_match_of_stop_words(
    stocked: MemoryRepository, module_engine: Engine
) -> None:
    for words in ("", "the", "the of AND", "-the", '"the of"', "…"):
        asked: Filter = {"$or": [SEA, {"content": {"$match": words}}]}
        with sent(module_engine) as texts, pytest.raises(InputError, match="only stop words"):
            stocked.count("agent", filter=asked)
        assert not any("agent_memories" in one for one in texts)
