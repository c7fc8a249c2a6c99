"""Every operation on Citus. The schema `pgrecall` of the cluster is dropped and created anew."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import psycopg
import pytest
from psycopg.errors import Diagnostic
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import (
    AsyncMemoryRepository,
    Attribute,
    Decay,
    Explanation,
    JudgedQuery,
    MemoryRepository,
    NewMemory,
    Profile,
    ScoredMemory,
    migrate,
)
from pgrecall.core.ids import new_id
from pgrecall.errors import InputError, MigrationFailed, SchemaOutdated
from pgrecall.migrate.connecting import database_url
from pgrecall.scoring.signals import Recency, Similarity
from pgrecall.service.bodies import StudioMethods
from tests.calls import CALLS, OF_ALL, PROCEDURES
from tests.integration.citus import URL, distributed, on_citus, one_and_several_nodes
from tests.integration.conftest import empty
from tests.integration.support import NOW, at, awaited, before
from tests.integration.test_both_repositories import (
    EACH,
    Case,
    Embeds,
    EmbedsLater,
    check,
    furnish,
    number,
)

pytestmark = on_citus
ON_ALL_NODES = OF_ALL | {"erase, and vacuum"}
"""Operations on all owners, or on whole tables."""
IN_TWO_PHASES = {
    *("add_many", "delete, by a filter", "transfer.restore", "upsert_many"),
    *("consolidate", "maintenance.run"),
}
"""Operations of several statements, which the coordinator runs: jobs turn limits of time off
first."""


@dataclass
class Issued:
    """The commands that the coordinator has sent to other nodes."""

    commands: list[tuple[str, str]] = field(default_factory=list)

    def note(self, notice: Diagnostic) -> None:
        if (notice.message_primary or "").startswith("issuing"):
            self.commands.append((notice.message_primary or "", notice.message_detail or ""))

    @property
    def nodes(self) -> set[str]:
        return {re.sub(r" connectionId.*", "", detail) for _, detail in self.commands}

    @property
    def phases(self) -> int:
        return 1 + any("PREPARE TRANSACTION" in command for command, _ in self.commands)


@pytest.fixture(scope="module")
def session() -> Iterator[psycopg.Connection]:
    with distributed() as connection:
        yield connection


@pytest.fixture(scope="module")
def coordinator(session: psycopg.Connection) -> Iterator[Engine]:
    made = create_engine(database_url(URL))
    yield made
    made.dispose()


@pytest.fixture(scope="module")
def issued(session: psycopg.Connection) -> Issued:
    return Issued()


@pytest.fixture(scope="module")
def repositories(
    session: psycopg.Connection, issued: Issued, loop: asyncio.Runner
) -> Iterator[dict[str, MemoryRepository]]:
    """Both repositories; what the synchronous one sends to other nodes is noted."""
    logged = database_url(URL).update_query_dict({"options": "-c citus.log_remote_commands=on"})
    engine, later = create_engine(logged), create_async_engine(database_url(URL))
    event.listen(engine, "connect", lambda driver, _: driver.add_notice_handler(issued.note))
    yield {
        "sync": MemoryRepository(engine, embedder=Embeds()),
        "async": awaited(AsyncMemoryRepository(later, embedder=EmbedsLater()), loop.run),
    }
    engine.dispose()
    loop.run(later.dispose())


@pytest.fixture
def emptied(session: psycopg.Connection) -> Iterator[None]:
    yield
    empty(session)


@pytest.mark.parametrize(("kind", "case"), EACH, ids=[f"{kind}-{case.name}" for kind, case in EACH])
def test_an_operation_does_the_same_and_stays_on_the_node_of_its_owner(
    coordinator: Engine,
    repositories: dict[str, MemoryRepository],
    issued: Issued,
    emptied: None,
    kind: str,
    case: Case,
) -> None:
    furnish(MemoryRepository(coordinator))
    repositories[kind].search("agent", strategy="index", touch=False)  # reads what it caches
    issued.commands.clear()

    check(repositories[kind], case)

    name = case.name if case.name in IN_TWO_PHASES else case.name.partition(",")[0]
    assert len(issued.nodes) <= 1 or name in ON_ALL_NODES
    assert issued.phases == 1 or name in IN_TWO_PHASES


def things(session: psycopg.Connection, repo: MemoryRepository) -> dict[str, str]:
    """An owner 'one' with a team of its name, and what a call names that is about it."""
    empty(session)
    usual: dict[str, Any] = {"tags": ["one"], "tier": "medium"}
    new = [
        NewMemory(f"onesecret number {n}", embedding=at(n), session="s", turn=n, **usual)
        for n in range(6)
    ]
    waiting = NewMemory("onesecret waiting", embedding=at(1), requires_approval=True)
    over = NewMemory("onesecret of old", embedding=at(1), created_at=NOW, valid_until=NOW)
    ids = {}
    for one in (repo.teams, repo):
        ids = dict(enumerate(one.add_many("one", [*new, waiting, over])))
        one.links.add("one", ids[0], ids[1], "one")
        one.record_outcome("one", ids[0], "success", query="onesecret?")
        one.invalidate("one", ids[5])
    run = session.execute("SELECT _begin_maintenance('one', '{}')").fetchall()[0][0]
    row = session.execute(
        "SELECT to_jsonb(m) - '{embedding,terms}'::text[] FROM agent_memories m "
        "WHERE agent_id = 'one' AND id = %s",
        [ids[0]],
    ).fetchall()[0][0]
    named = zip(("memory", "other", "gone", "waiting", "over"), (0, 1, 5, 6, 7), strict=True)
    return {
        **{name: f"'{ids[n]}'::uuid" for name, n in named},
        "vector": f"'{at(3)}'",
        "content": "'onesecret number 0'",
        "run": f"'{run}'::uuid",
        "about": f"new_memory('onesecret says', '{at(1)}', subject => 'onesubject')",
        "new": f"new_memory('onesecret new', '{at(1)}', id => '{new_id()}')",
        "row": f"jsonb_populate_record(new_memory('x'), $row${json.dumps(row)}$row$)",
    }


FUNCTIONS = [
    call
    for name, calls in CALLS.items()
    for call in calls
    # Others have a run that is there already, or work on the node of the positions.
    if not re.search(r"\{relation\}|\{position\}|make_rank_index_here|create_positions", call)
    and name not in ("_begin_maintenance", "matched")
]
COMMITTING = [call for calls in PROCEDURES.values() for call in calls]


@pytest.mark.parametrize("in_transaction", [False, True])
def test_every_function_answers_in_psql(
    session: psycopg.Connection, coordinator: Engine, in_transaction: bool
) -> None:
    """On the node of the owner, and in a caller's transaction on the coordinator."""
    repo, refused = MemoryRepository(coordinator), []
    calls = [
        f"SELECT {'' if re.match(r'(count|length|cardinality|max)[(]', call) else '* FROM '}{call}"
        for call in FUNCTIONS
    ]
    calls += [] if in_transaction else [f"CALL {call}" for call in COMMITTING]
    named = things(session, repo)
    for call in calls:
        statement = call.format(**named).encode()
        try:
            if in_transaction:
                with session.transaction(force_rollback=True):
                    session.execute(statement)
            else:
                session.execute(statement)
                named = things(session, repo)
        except psycopg.Error as error:
            refused.append(f"{error.sqlstate} {call}")
    empty(session)

    assert [one for one in refused if not one.startswith("PM")] == []


ALL: dict[str, Any] = {"teams": ["red", "blue", "green"], "k": 5, "as_of": NOW}


def ranked(repo: MemoryRepository, profile: str) -> list[ScoredMemory]:
    return repo.search("ada", "memory 3", profile=profile, **ALL)


def explained(repo: MemoryRepository, memory: int, **arguments: Any) -> list[Any]:
    found = repo.explain("ada", number(memory), "blue 3", **arguments, **ALL)
    return [found.hit, found]


HALF = {Similarity(): 0.5}
DECAYING = Profile("decaying", {Similarity(): 1.0}, decay=Decay(Recency(half_life=3), floor=0.2))
VIEWED = Profile("viewed", HALF | {Attribute(name="views", metadata="views", most=12): 0.5})
ALONE = ALL | {"teams": ()}


def shortest(query: str, texts: list[str]) -> list[float]:
    return [-len(text) for text in texts]


QUESTIONS: dict[str, Callable[[MemoryRepository], Any]] = {
    **{one: partial(ranked, profile=one) for one in ("hybrid", "trust")},
    "ties": lambda r: r.search("ada", profile="five_factor", **ALL | {"teams": ["green", "red"]}),
    "linked": lambda r: r.search("ada", "red 3", linked=2, **ALL),
    "filtered": lambda r: r.search(
        "ada", "blue 3", filter={"$and": [r.memories.c.importance > 0.4, {"tags": "x"}]}, **ALL
    ),
    "a context of sessions": lambda r: [
        one.hit
        for one in r.context("ada", "blue 3", surrounding_turns=1, diversity=0.3, **ALL).packed
    ],
    "reranked": lambda r: r.search("ada", "red 3", rerank=shortest, **ALL),
    "decayed": lambda r: r.search("ada", "red 3", profile=DECAYING, **ALL),
    "by a number in metadata": lambda r: r.search("ada", "red 3", profile=VIEWED, **ALL),
    "diverse": lambda r: r.search("ada", "red 3", **ALONE, diversity=0.5),
    "explained, of a team": partial(explained, memory=109, min_score=0.9),
    "explained, beside a hit": partial(explained, memory=204, surrounding_turns=1),
}


def of_teams(repo: MemoryRepository) -> None:
    """Adds twelve turns of an agent and of each of three teams, some of them linked or tagged."""
    owners = ((repo, "ada"), *((repo.teams, name) for name in ("red", "blue", "green")))
    for place, (of, name) in enumerate(owners):
        ids = [number(100 * place + n) for n in range(12)]
        new = [
            NewMemory(
                f"{name} memory {n}",
                id=ids[n],
                embedding=at(9 * n + place),
                session="s",
                turn=n,
                created_at=before(n),
                importance=n / 12,
                trust=n / 12,
                metadata={"views": n % 5},
                tags=["x"] if n in (3, 9) else [],
            )
            for n in range(12)
        ]
        of.add_many(name, new)
        of.links.add(name, ids[2], ids[7])
        of.record_outcome(name, ids[11], "success")


@pytest.fixture(scope="module")
def one_and_several(
    session: psycopg.Connection, server_url: str, template: str
) -> Iterator[tuple[MemoryRepository, MemoryRepository]]:
    empty(session)
    with one_and_several_nodes(server_url, template, of_teams, embedder=Embeds()) as found:
        yield found


IN_PSQL = {
    **{
        f"recall by {name}": f"recall('ada', '{{query}}', {{asked}}, profile => '{name}', k => 8)"
        for name in ("hybrid", "five_factor", "tiered", "trust")
    },
    "ranked, and filtered": "ranked('ada', '{query}', {asked}) WHERE tags && '{{x}}' "
    "ORDER BY score DESC, id",
    "explained": "explain('ada', '{memory}', '{query}', {asked})",
    "no agent": "(SELECT count(*) FROM ranked(NULL, '{query}', {asked})) n",
}


COMPARED = "agent_id, id, content, score, signal_similarity, signal_keyword, signal_entity_overlap"


@pytest.mark.parametrize("question", IN_PSQL)
def test_psql_answers_about_several_nodes_as_about_one(
    one_and_several: tuple[MemoryRepository, MemoryRepository], question: str
) -> None:
    asked = IN_PSQL[question].format(
        query=list(at(27)),
        memory=number(3),
        asked=f"'blue memory 3', teams => '{{red,blue}}', as_of => '{NOW}'",
    )
    answers = []
    for repo in one_and_several:
        engine: Any = repo._bind
        url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(url) as psql:
            psql.execute("SET search_path = pgrecall, public")
            columns = "*" if question in ("explained", "no agent") else COMPARED
            answers.append(psql.execute(f"SELECT {columns} FROM {asked}".encode()).fetchall())

    assert answers[1] == answers[0] != []


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_search_of_several_nodes_is_that_of_one(
    one_and_several: tuple[MemoryRepository, MemoryRepository],
    repositories: dict[str, MemoryRepository],
    issued: Issued,
    question: str,
) -> None:
    """It counts its hits, so what psql shows is compared before."""
    issued.commands.clear()

    def told(of: ScoredMemory | Explanation) -> Any:
        if isinstance(of, Explanation):
            return of.rank, of.ranked, of.returned, of.reasons, of.needed_score, of.signals
        return of.memory.owner_id, of.memory.id, of.score, of.attached_to

    expected, found = (
        [told(one) for one in QUESTIONS[question](repo)]
        for repo in (one_and_several[0], repositories["sync"])
    )
    assert found == expected != []
    assert issued.phases == 1 or question == "linked"  # which is one transaction


def test_profiles_that_read_different_things_are_judged_on_several_nodes_as_on_one(
    one_and_several: tuple[MemoryRepository, MemoryRepository],
) -> None:
    """The first one reads no words."""
    queries = [
        JudgedQuery(at(10 * n), [number(n)], keywords=f"blue memory {n}", as_of=NOW)
        for n in range(6)
    ]

    one, several = (
        repo.evaluation.evaluate(
            "ada", queries, teams=["red", "blue"], profiles=["five_factor", "hybrid"]
        )
        for repo in one_and_several
    )

    assert several == one
    assert len({profile.overall.means["mrr"] for profile in (*one.profiles, *one.baselines)}) > 1


def test_what_compares_hits_of_several_nodes_is_refused(
    one_and_several: tuple[MemoryRepository, MemoryRepository],
) -> None:
    with pytest.raises(InputError, match="does not go with teams on Citus"):
        one_and_several[1].search("ada", "red 3", **ALL, diversity=0.5)
    with pytest.raises(InputError, match="candidates do not go with teams on Citus"):
        StudioMethods(one_and_several[1]).candidates("ada", "red 3", **ALL)  # type: ignore[arg-type,unused-coroutine]


def test_what_reads_tables_within_a_statement_keeps_it_from_being_parallel(
    session: psycopg.Connection,
) -> None:
    """Citus fails in a parallel plan: a search of many memories by words would."""
    nested = (
        "SELECT proname, proparallel FROM pg_proc WHERE pronamespace = 'pgrecall'::regnamespace "
        "AND proconfig @> '{citus.allow_nested_distributed_execution=on}'"
    )
    found: dict[str, str] = dict(session.execute(nested).fetchall())
    assert found["keyword_shares"] == "u"
    assert {*found.values()} == {"u"}


def test_a_distributed_schema_is_migrated_like_another_and_not_downgraded(
    session: psycopg.Connection,
) -> None:
    session.execute("UPDATE installed_sql SET hash = NULL WHERE file LIKE 'verbs/%'")
    with pytest.raises(SchemaOutdated, match="migrate up"):
        migrate.distribute(URL)

    status = migrate.upgrade(URL)
    again = migrate.distribute(URL)

    assert status.pending == []
    assert sum(status.nodes.values()) == 32
    assert again.distributed_tables == again.reference_tables == again.functions == []
    assert again.nodes == status.nodes
    with pytest.raises(MigrationFailed, match="DROP SCHEMA"):
        migrate.downgrade(URL)
    assert migrate.status(URL).nodes == status.nodes


def test_an_old_citus_is_refused(session: psycopg.Connection) -> None:
    said = "ALTER EXTENSION citus UPDATE"
    with session.transaction(force_rollback=True):
        session.execute("UPDATE pg_extension SET extversion = '11.3-1' WHERE extname = 'citus'")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match=said):
            session.execute("SELECT distribute()")


def test_a_worker_is_refused(session: psycopg.Connection) -> None:
    [(host, port)] = session.execute(
        "SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0 LIMIT 1"
    )

    with (
        psycopg.connect(URL, host=host, port=port) as worker,
        pytest.raises(psycopg.errors.FeatureNotSupported, match="connect to the coordinator"),
    ):
        worker.execute("SELECT pgrecall.distribute()")
