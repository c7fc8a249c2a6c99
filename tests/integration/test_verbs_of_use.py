"""Verbs of use, labels and links: psql and the repository call the same functions."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import Engine, create_engine, event

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import (
    DatabaseReadOnly,
    InputError,
    InvalidMemory,
    MemoryNotFound,
    UnknownName,
)
from pgrecall.label import Label
from pgrecall.repository.translation import translation
from tests.conftest import new_database
from tests.integration.conftest import RepositoryOf
from tests.integration.support import NORTH
from tests.integration.test_verbs import Connection, Twins, call

NAN = float("nan")
Cases = list[tuple[dict[str, Any], type[Exception]]]


@pytest.fixture(scope="module")
def connection(shared_url: str) -> Iterator[Connection]:
    with psycopg.connect(shared_url, autocommit=True, row_factory=dict_row) as found:
        yield found


@pytest.fixture
def twins(shared_repo: MemoryRepository, connection: Connection, agent: str) -> Twins:
    found = Twins(shared_repo, connection, agent)
    found.add({**{name: {"trust": 0.5} for name in "abcd"}, "never assessed": {"trust": None}})
    return found


# Does the same as the repository


def test_touches_as_those_of_the_repository(twins: Twins) -> None:
    chance = Random(1)
    for _ in range(20):
        names = chance.choices("abcd", k=3)
        counted = twins.repo.touch(twins.one, [*twins.ids(names), uuid4()])
        ids = [*twins.ids(names, 2), uuid4(), None]
        assert twins.call("touch", ids) == [{"touch": counted}]
    for nothing in ([], None, [None]):
        assert twins.call("touch", nothing) == [{"touch": 0}]

    assert twins.rows(2) == twins.rows(1)


def test_labels_as_those_of_the_repository(twins: Twins) -> None:
    note = {"actor": "Ann"}
    weights = [0.25, 1e-200, 1.0, 0.5]
    kinds: list[Any] = ["tag", "keyword", "concept", "tag"]
    values = ["x", "y", "z", "x"]  # of what is given twice the last counts
    given = [Label(*each) for each in zip(values, kinds, weights, strict=True)]
    a, of_two = twins.id("a"), twins.id("a", 2)

    counts = [
        (
            twins.repo.label(twins.one, a, given, **note),
            twins.call("label", of_two, values, kinds, weights, **note),
        ),
        (
            twins.repo.label(twins.one, a, ["x", "new"], **note),
            twins.call("label", of_two, ["x", "new"], **note),
        ),
        (
            twins.repo.label(twins.one, a, [Label(v, "tag", 0.1) for v in "xyz"], **note),
            twins.call("label", of_two, [*"xyz"], ["tag"], [0.1], **note),
        ),
        (
            twins.repo.unlabel(twins.one, a, [Label("x", "tag"), "y", "none"], **note),
            twins.call("unlabel", of_two, ["x", "y", "none"], ["tag", *["keyword"] * 2], **note),
        ),
        (
            twins.repo.unlabel(twins.one, a, ["none", "new"], **note),
            twins.call("unlabel", of_two, ["none", "new"], **note),
        ),
        (twins.repo.label(twins.one, a, []), twins.call("label", of_two, [])),
        (twins.repo.unlabel(twins.one, a, []), twins.call("unlabel", of_two, [])),
        (twins.repo.unlabel(twins.one, a, "none"), twins.call("unlabel", of_two, ["none"])),
    ]

    assert [(python, sql[0].popitem()[1]) for python, sql in counts] == [
        *((3, 3), (2, 2), (3, 3), (2, 2), (1, 1), (0, 0), (0, 0), (0, 0))
    ]
    assert twins.rows(2) == twins.rows(1)
    found = [
        Label(row["value"], row["kind"], row["weight"]) for row in twins.call("labels", of_two)
    ]
    assert found == twins.repo.labels(twins.one, a)
    assert [label.value for label in found] == ["z", "x", "y", "z"]


def test_links_as_those_of_the_repository(twins: Twins) -> None:
    note = {"actor": "Ann"}
    steps: list[tuple[str, str, str, dict[str, Any]]] = [
        ("link", "a", "b", {}),
        ("link", "a", "b", {"weight": 0.25}),
        ("link", "a", "b", {"kind": "next", "weight": 1e-300}),
        ("link", "c", "a", {}),
        ("unlink", "a", "b", {}),
        ("unlink", "a", "b", {}),
        ("unlink", "a", "d", {"kind": "next"}),
    ]

    told = [
        (
            getattr(twins.repo, verb)(twins.one, twins.id(a), twins.id(b), **more, **note) or False,
            twins.call(verb, twins.id(a, 2), twins.id(b, 2), **more, **note)[0][verb] or False,
        )
        for verb, a, b, more in steps
    ]

    assert told == [*[(False, False)] * 4, (True, True), *[(False, False)] * 2]
    assert twins.rows(2) == twins.rows(1)
    names = {id_: name for name in "abcd" for id_ in (twins.id(name), twins.id(name, 2))}
    by_python = [
        (names[link.source_id], names[link.target_id], link.kind, link.weight)
        for link in twins.repo.links(twins.one, twins.id("a"))
    ]
    by_sql = [
        (names[row["source_id"]], names[row["target_id"]], row["kind"], row["weight"])
        for row in twins.call("links", twins.id("a", 2))
    ]
    assert by_sql == by_python == [("c", "a", "related", 1), ("a", "b", "next", 0)]


def test_reasons_and_metadata_of_labels_and_links_are_told(twins: Twins) -> None:
    a, b = twins.ids("ab", 2)
    note: dict[str, Any] = {"reason": "why", "actor": "Ann", "metadata": {"page": 7}}

    twins.call("label", a, ["x"], **note)
    twins.call("unlabel", a, ["x"], **note)
    twins.call("link", a, b, **note)
    twins.call("unlink", a, b, **note)

    events = twins.repo.history(twins.two, a)[1:]
    assert [one.event_type for one in events] == ["labelled", "unlabelled", "linked", "unlinked"]
    assert {(one.reason, one.actor, one.metadata["page"]) for one in events} == {("why", "Ann", 7)}


def test_queries_recorded_in_psql_are_those_of_the_repository(twins: Twins) -> None:
    a, b, c, d = twins.ids("abcd", 2)
    twins.call("record_feedback", a, "useful", query="tea?")
    twins.call("record_outcome", b, "success", query="tea?", metadata={"query": "coffee?"})
    twins.call("record_outcome", c, "failure", query="tea?")
    twins.call("record_feedback", d, "outdated", query="milk?")

    [row] = call(twins.connection, "recorded_queries", twins.two)

    [found] = twins.repo.recorded_queries(twins.two)
    assert (row["query"], row["memory_ids"]) == ("tea?", sorted([a, b]))
    assert (found.query, found.relevant, found.as_of) == tuple(row.values())
    assert twins.repo.history(twins.two, b)[-1].metadata == {"query": "tea?"}


@pytest.mark.parametrize("name", ["record_outcome", "record_feedback"])
def test_an_actor_of_null_is_nobody(twins: Twins, name: str) -> None:
    done = {"record_outcome": "success", "record_feedback": "useful"}[name]

    twins.call(name, twins.id("a", 2), done, actor=None)

    assert twins.repo.history(twins.two, twins.id("a", 2))[-1].actor is None


# What is refused


OF_OWNERS: Cases = [({"agent": owner}, InputError) for owner in (None, "", "team:", "x" * 206)]
OF_NOTES: Cases = [
    ({"actor": ""}, InputError),
    ({"actor": "x" * 201}, InputError),
    ({"metadata": []}, InputError),
    ({"metadata": None}, InputError),
]
OF_LABELS: Cases = [
    *(({"labels": labels}, InputError) for labels in (None, [None], [""], ["x", "y" * 201])),
    ({"labels": [str(n) for n in range(1_001)]}, InputError),
    ({"kinds": ["flavour"]}, UnknownName),
    ({"kinds": [None]}, UnknownName),
    *(({"kinds": kinds}, InputError) for kinds in (None, [], ["tag"] * 3)),
]
OF_LINKS: Cases = [({"kind": kind}, InputError) for kind in (None, "", "x" * 201)]
OF_WEIGHTS = (None, -0.1, 1.1, NAN, float("inf"))
UNKNOWN = UUID(int=7)
REFUSED: dict[str, Cases] = {
    "touch": OF_OWNERS,
    "record_outcome": [
        *OF_OWNERS,
        *OF_NOTES,
        *(({"outcome": word}, UnknownName) for word in (None, "", "Success")),
        ({"query": " "}, InputError),
        ({"touch": None}, InputError),
        ({"memory_id": UNKNOWN}, MemoryNotFound),
        ({"memory_id": None}, MemoryNotFound),
    ],
    "record_feedback": [
        *OF_OWNERS,
        *OF_NOTES,
        *(({"kind": word}, UnknownName) for word in (None, "", "Useful")),
        ({"query": "\n"}, InputError),
        ({"memory_id": UNKNOWN}, MemoryNotFound),
    ],
    "adjust_trust": [
        *OF_OWNERS,
        *OF_NOTES,
        *(({"delta": delta}, InputError) for delta in (None, 1.01, -1.01, NAN)),
        *(({"reason": reason}, InputError) for reason in (None, "", " \t")),
        ({"actor": None}, InputError),
        ({"memory_id": UNKNOWN}, MemoryNotFound),
        ({"content": "never assessed"}, InvalidMemory),
    ],
    "label": [
        *OF_OWNERS,
        *OF_NOTES,
        *OF_LABELS,
        *(({"weights": [weight]}, InputError) for weight in OF_WEIGHTS),
        *(({"weights": weights}, InputError) for weights in (None, [], [1.0] * 3)),
        ({"memory_id": UNKNOWN}, MemoryNotFound),
    ],
    "unlabel": [*OF_OWNERS, *OF_NOTES, *OF_LABELS, ({"memory_id": UNKNOWN}, MemoryNotFound)],
    "link": [
        *OF_OWNERS,
        *OF_NOTES,
        *OF_LINKS,
        *(({"weight": weight}, InputError) for weight in OF_WEIGHTS),
        ({"source_id": UUID(int=8), "target_id": UUID(int=8)}, InputError),
        ({"source_id": UNKNOWN}, MemoryNotFound),
        ({"target_id": UNKNOWN}, MemoryNotFound),
        ({"target_id": None}, MemoryNotFound),
    ],
    "unlink": [
        *OF_OWNERS,
        *OF_NOTES,
        *OF_LINKS,
        ({"source_id": UUID(int=8), "target_id": UUID(int=8)}, InputError),
    ],
    "history": OF_OWNERS,
    "labels": OF_OWNERS,
    "links": OF_OWNERS,
    "recorded_queries": OF_OWNERS,
}
GOOD: dict[str, dict[str, Any]] = {
    "record_outcome": {"outcome": "success"},
    "record_feedback": {"kind": "useful"},
    "adjust_trust": {"delta": 0.1, "reason": "why"},
    "label": {"labels": ["x", "y"]},
    "unlabel": {"labels": ["x", "y"]},
}


@pytest.mark.parametrize(
    ("name", "wrong", "error"),
    [(name, *case) for name, cases in REFUSED.items() for case in cases],
    ids=lambda value: ascii(value)[:40],
)
def test_what_is_refused_is_what_the_repository_raises(
    twins: Twins, name: str, wrong: dict[str, Any], error: type[Exception]
) -> None:
    wrong = dict(wrong)
    a, b = twins.id(wrong.pop("content", "a"), 2), twins.id("b", 2)
    ids: dict[str, Any] = {"memory_id": a}
    match name:
        case "touch":
            ids = {"memory_ids": [a]}
        case "recorded_queries":
            ids = {}
        case "link" | "unlink":
            ids = {"source_id": a, "target_id": b}
    before = twins.rows(2)

    with pytest.raises(psycopg.Error) as refused:
        call(twins.connection, name, **{"agent": twins.two} | ids | GOOD.get(name, {}) | wrong)

    assert type(translation(refused.value)) is error
    assert twins.rows(2) == before


def test_a_missing_memory_of_a_team_is_told_as_the_teams(shared_repo: MemoryRepository) -> None:
    with pytest.raises(MemoryNotFound, match=f"team 'red' has no memory {UNKNOWN}"):
        shared_repo.teams.label("red", UNKNOWN, "x")
    with pytest.raises(MemoryNotFound, match=f"agent 'red' has no memory {UNKNOWN}"):
        shared_repo.label("red", UNKNOWN, "x")


def test_of_several_missing_memories_the_first_is_named(
    shared_repo: MemoryRepository, agent: str
) -> None:
    there = shared_repo.add(agent, NewMemory("a", embedding=NORTH))

    for source, target in ((UNKNOWN, there), (there, UNKNOWN), (UUID(int=9), UNKNOWN)):
        with pytest.raises(MemoryNotFound, match=str(UNKNOWN)):
            shared_repo.link(agent, source, target)


@pytest.mark.parametrize("level", ["READ COMMITTED", "AUTOCOMMIT"])
def test_a_refusal_leaves_the_callers_connection_usable(
    shared_engine: Engine, agent: str, level: Any
) -> None:
    with shared_engine.connect().execution_options(isolation_level=level) as mine:
        repo = MemoryRepository(mine)
        memory_id = repo.add(agent, NewMemory("a", embedding=NORTH))
        for refused in (
            lambda: repo.label(agent, UNKNOWN, "x"),
            lambda: repo.link(agent, memory_id, UNKNOWN),
            lambda: repo.record_outcome(agent, UNKNOWN, "success"),
        ):
            with pytest.raises(MemoryNotFound):
                refused()

        assert repo.label(agent, memory_id, "x") == 1
        mine.rollback()
        assert repo.labels(agent, memory_id) == ([Label("x")] if level == "AUTOCOMMIT" else [])


# One statement


VERBS: dict[str, Any] = {
    "touch": lambda repo, a, b: repo.touch("agent 1", [a, b]),
    "record_outcome": lambda repo, a, b: repo.record_outcome("agent 1", a, "success"),
    "adjust_trust": lambda repo, a, b: repo.adjust_trust("agent 1", a, -0.1, "why", "who"),
    "record_feedback": lambda repo, a, b: repo.feedback("agent 1", a, "useful", query="q"),
    "label": lambda repo, a, b: repo.label("agent 1", a, ["x", Label("y", "tag")]),
    "unlabel": lambda repo, a, b: repo.unlabel("agent 1", a, ["x", "label 3"]),
    "link": lambda repo, a, b: repo.link("agent 1", a, b),
    "unlink": lambda repo, a, b: repo.unlink("agent 1", a, b),
    "history": lambda repo, a, b: repo.history("agent 1", a),
    "labels": lambda repo, a, b: repo.labels("agent 1", a),
    "links": lambda repo, a, b: repo.links("agent 1", a),
    "recorded_queries": lambda repo, a, b: repo.recorded_queries("agent 1"),
}
FILL = """
INSERT INTO pgrecall.agent_memories (agent_id, id, content, trust)
SELECT 'agent ' || n % 10, gen_random_uuid(), 'memory ' || n, 0.5
  FROM generate_series(1, 20000) AS n;
INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count)
SELECT agent_id, id, 1 FROM pgrecall.agent_memories;
INSERT INTO pgrecall.memory_labels (agent_id, memory_id, kind, value)
SELECT agent_id, id, 'keyword', 'label ' || n
  FROM pgrecall.agent_memories, generate_series(1, 4) AS n;
INSERT INTO pgrecall.memory_links (agent_id, source_id, target_id, kind)
SELECT agent_id, source_id, target_id, 'related'
  FROM (SELECT agent_id, id AS source_id,
               lead(id) OVER (PARTITION BY agent_id ORDER BY id) AS target_id
          FROM pgrecall.agent_memories) AS pairs
 WHERE target_id IS NOT NULL;
INSERT INTO pgrecall.memory_events (agent_id, memory_id, id, event_type)
SELECT agent_id, id, gen_random_uuid(), (ARRAY['initial', 'updated'])[n]
  FROM pgrecall.agent_memories, generate_series(1, 2) AS n;
"""


@pytest.fixture(scope="module")
def large(server_url: str, template: str) -> Iterator[Engine]:
    """20,000 memories of ten agents, with all that can belong to one."""
    with new_database(server_url, template) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(FILL)
            connection.execute("VACUUM ANALYZE")
        engine = create_engine(url)
        MemoryRepository(engine).count("agent 1")  # looks at the schema, once per engine
        yield engine
        engine.dispose()


def two_ids(engine: Engine) -> list[UUID]:
    query = "SELECT id FROM pgrecall.agent_memories WHERE agent_id = 'agent 1' ORDER BY id LIMIT 2"
    with engine.connect() as connection:
        return [id_ for (id_,) in connection.exec_driver_sql(query)]


@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("name", VERBS)
def test_rows_are_found_by_keys_and_only_those_asked_for(
    large: Engine, name: str, plans: str
) -> None:
    read = (
        "SELECT relname, seq_scan, idx_scan, seq_tup_read + coalesce(idx_tup_fetch, 0) "
        "FROM pg_stat_xact_user_tables WHERE schemaname = 'pgrecall'"
    )
    ids = two_ids(large)
    with large.connect() as connection:
        connection.exec_driver_sql(f"SET LOCAL plan_cache_mode = {plans}")
        before = {row[0]: row[1:] for row in connection.exec_driver_sql(read)}

        VERBS[name](MemoryRepository(connection), *ids)

        after = {row[0]: row[1:] for row in connection.exec_driver_sql(read)}
        connection.rollback()
    done = {
        table: [now - then for now, then in zip(row, before[table], strict=True)]
        for table, row in after.items()
        if None not in row and row != before[table]
    }
    assert done
    most = 2_000 if name == "recorded_queries" else 20  # all that happened to the owner's
    for table, (scans, lookups, rows) in done.items():
        assert scans == 0, table
        assert lookups > 0, table
        assert rows <= most, table


@pytest.mark.parametrize("name", VERBS)
def test_on_an_engine_a_verb_is_one_statement(large: Engine, name: str) -> None:
    ids, seen = two_ids(large), list[tuple[str, bool]]()

    @event.listens_for(large, "before_cursor_execute")
    def see(connection: Any, _: Any, statement: str, *__: Any) -> None:
        seen.append((statement, connection.connection.driver_connection.autocommit))

    VERBS[name](MemoryRepository(large), *ids)
    event.remove(large, "before_cursor_execute", see)

    [(statement, autocommit)] = seen
    assert f'"pgrecall".{name}(' in statement
    assert autocommit


def test_what_is_asked_of_an_engines_transactions_holds_for_verbs(
    repository_of: RepositoryOf, repo: MemoryRepository, database_url: str
) -> None:
    memory_id = repo.add("agent", NewMemory("a", embedding=NORTH))
    reader = repository_of(database_url, execution_options={"postgresql_readonly": True})
    careful = repository_of(database_url, isolation_level="SERIALIZABLE")

    with pytest.raises(DatabaseReadOnly):
        reader.touch("agent", memory_id)
    with pytest.raises(DatabaseReadOnly):
        reader.label("agent", memory_id, "x")
    assert reader.labels("agent", memory_id) == []
    assert careful.touch("agent", memory_id) == 1
