"""The profile of calls that name none: the repository's, else the database's, else hybrid."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, create_engine, make_url, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import (
    AsyncMemoryRepository,
    JudgedQuery,
    MemoryRepository,
    NewMemory,
    Profile,
    migrate,
    profiles,
)
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.errors import InputError, UnknownName
from pgrecall.scoring.signals import Importance, Similarity
from pgrecall.testing import new_database
from tests.integration.commands import Run, fast_runner
from tests.integration.rank_indexes import acting_as, new_role
from tests.integration.serving import service_on
from tests.integration.support import NORTH, at, awaited, sql
from tests.left.libraries import Bags
from tests.migrations.asking import restored, run, value, values

A = "agent"
MINE = Profile("mine", {Similarity(): 0.25, Importance(): 0.75}, min_relevance=0.3)
SEARCH = (
    "SELECT jsonb_object_agg(substr(s.key, 8), s.value) "
    f"FROM pgrecall.recall('{A}', query => %s::vector) r, jsonb_each(to_jsonb(r)) s "
    "WHERE starts_with(s.key, 'signal_') AND s.value <> 'null' GROUP BY r.id"
)
SIGNALS = {
    name: {signal.name for signal in profile.signals}
    for name, profile in (profiles.BUILT_IN | {"mine": MINE}).items()
}


@pytest.fixture(autouse=True)
def notices_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Running programs look the profile up in each call, and not after some seconds."""
    monkeypatch.setattr("pgrecall.execution.invocation.TTL_SECONDS", 0.0)


@pytest.fixture
def engine(own_engine: Engine) -> Engine:
    repo = MemoryRepository(own_engine)
    for number in range(4):
        importance = number / 4
        repo.add(A, NewMemory(f"walk {number}", embedding=at(20 * number), importance=importance))
    return own_engine


@pytest.fixture(params=["sync", "async"])
def ranked_by(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Callable[..., Any]]:
    """A repository of either kind, with this profile."""
    if request.param == "sync":
        yield lambda profile=None: MemoryRepository(engine, profile=profile)
        return
    with asyncio.Runner() as loop:
        other = create_async_engine(engine.url)
        yield lambda profile=None: awaited(AsyncMemoryRepository(other, profile=profile), loop.run)
        loop.run(other.dispose())


@pytest.fixture
def command(
    own_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    local_embedder: LocalEmbedder,
) -> Run:
    return fast_runner(monkeypatch, capsys, own_url, local_embedder)


def used(hits: Any) -> str:
    """The profile that ranked, by the signals of the hits as well as by its name."""
    name: str = hits.profile
    assert {frozenset(hit.signals) for hit in hits} == {frozenset(SIGNALS[name])}
    return name


def test_a_call_precedes_its_repository_that_the_database_that_hybrid(
    ranked_by: Callable[..., Any], own_url: str
) -> None:
    assert used(ranked_by().search(A, NORTH)) == "hybrid"
    migrate.set_default_profile(own_url, "trust")
    assert used(ranked_by().search(A, NORTH)) == "trust"
    assert used(ranked_by("tiered").search(A, NORTH)) == "tiered"
    assert used(ranked_by(MINE).search(A, NORTH, profile=None)) == "mine"
    assert used(ranked_by("tiered").search(A, NORTH, profile="last_access")) == "last_access"
    weighed = ranked_by(MINE).search(A, NORTH, weights={"importance": 1.0})
    assert [hit.memory.content for hit in weighed] == [f"walk {n}" for n in (3, 2, 1, 0)]
    migrate.set_default_profile(own_url, None)
    assert used(ranked_by().search(A, NORTH)) == "hybrid"
    with pytest.raises(InputError, match="profile"):
        ranked_by("of nobody")


LATER: dict[str, Any] = {"as_of": datetime(2030, 1, 1, tzinfo=UTC)}
UNTOUCHED: dict[str, Any] = {"touch": False, **LATER}
CALLS: tuple[Callable[..., Any], ...] = (
    lambda repo, **named: repo.search(A, NORTH, **UNTOUCHED, **named),
    lambda repo, **named: repo.teams.search(A, NORTH, **named).profile,
    lambda repo, **named: repo.primary.search(A, NORTH, **UNTOUCHED, **named),
    lambda repo, **named: repo.context(A, NORTH, **UNTOUCHED, **named).packed,
    lambda repo, **named: repo.explain(A, repo.list(A)[0].id, NORTH, **LATER, **named),
    lambda repo, **named: repo.plan(A, NORTH, **named).statement,
)


def test_each_call_that_ranks_obeys_and_evaluations_begin_with_it(
    engine: Engine, own_url: str
) -> None:
    repo, mine = MemoryRepository(engine), MemoryRepository(engine, profile=MINE)
    queries = [JudgedQuery(at(n), relevant=[repo.list(A)[0].id]) for n in range(10)]

    def evaluated(repo: MemoryRepository, **named: Any) -> list[str]:
        return [one.profile.name for one in repo.evaluation.evaluate(A, queries, **named).profiles]

    by_trust = [call(repo, profile="trust") for call in CALLS]
    by_hybrid = [call(repo) for call in CALLS]
    assert all(one != other for one, other in zip(by_trust, by_hybrid, strict=True))
    of_trust = MemoryRepository(engine, profile="trust")
    assert [call(of_trust) for call in CALLS] == by_trust
    assert (evaluated(repo), evaluated(mine)) == (["hybrid"], ["mine"])
    assert repo.evaluation.tune(A, queries).start == profiles.hybrid
    assert mine.evaluation.tune(A, queries).start == MINE
    migrate.set_default_profile(own_url, "trust")
    assert [call(repo) for call in CALLS] == by_trust
    assert evaluated(repo) == ["trust"]
    assert repo.evaluation.tune(A, queries).start == profiles.trust
    assert evaluated(mine, profiles=["tiered", "hybrid"]) == ["tiered", "hybrid"]


def test_psql_obeys(engine: Engine, own_url: str) -> None:
    repo, profile = MemoryRepository(engine), ", profile => NULL"
    memory = repo.list(A)[-1].id
    given = f"query => '{NORTH}', as_of => '2030-01-01Z'"

    def asked(profile: str) -> list[Any]:
        return [
            values(own_url, f"SELECT {what} FROM pgrecall.{call}, {given}{profile})")
            for what, call in (
                ("(id, score, signal_trust)::text", f"recall('{A}'"),
                ("(id, score, signal_trust)::text", f"ranked('{A}'"),
                ("(rank, score, signals)::text", f"explain('{A}', '{memory}'"),
            )
        ]

    assert asked(profile) == asked(", profile => 'hybrid'")
    run(own_url, "SELECT pgrecall.set_default_profile('trust')")
    by_trust = asked("")
    assert by_trust == asked(profile) == asked(", profile => 'trust'")
    for one, other in zip(by_trust, asked(", profile => 'hybrid'"), strict=True):
        assert one != other
    [hit, *_] = repo.search(A, NORTH, touch=False, **LATER)
    assert by_trust[0][0].startswith(f"({hit.memory.id},{hit.score!r},")
    run(own_url, "SELECT pgrecall.set_default_profile(NULL)")
    assert asked(profile) == asked(", profile => 'hybrid'")
    with psycopg.connect(own_url) as connection:  # a plan that is kept
        connection.execute("SET plan_cache_mode = force_generic_plan")
        connection.execute(
            f"PREPARE asked AS SELECT count(signal_trust) FROM pgrecall.ranked('{A}')".encode()
        )
        assert connection.execute("EXECUTE asked").fetchone() == (0,)
        connection.execute("SELECT pgrecall.set_default_profile('trust')")
        assert connection.execute("EXECUTE asked").fetchone() == (4,)


def test_the_command_shows_sets_and_unsets_it(command: Run, engine: Engine) -> None:
    def shown(*arguments: str) -> Any:
        done = command("profiles", "default", *arguments, "--json")
        assert done.code == 0, done.err
        return done.records

    assert shown() == [{"profile": "hybrid", "is_set": False}]
    assert shown("trust") == shown() == [{"profile": "trust", "is_set": True}]
    assert command("profiles", "default").out == "trust\n"
    unknown = command("profiles", "default", "of nobody")
    assert (unknown.code, "unknown profile 'of nobody'; there are " in unknown.err) == (2, True)
    both = command("profiles", "default", "trust", "--unset")
    assert (both.code, "not both" in both.err) == (2, True)
    assert shown() == [{"profile": "trust", "is_set": True}]
    assert shown("--unset") == shown() == [{"profile": "hybrid", "is_set": False}]


def test_the_command_line_and_the_service_obey(
    server_url: str,
    local_template: str,
    local_embedder: LocalEmbedder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with (
        new_database(server_url, local_template) as url,
        service_on(url, local_embedder) as service,
    ):
        command = fast_runner(monkeypatch, capsys, url, local_embedder)
        client = service.client(A)
        client.post("/memories", json={"content": "Zoe plays the cello"})

        def said(*options: str) -> str:
            done = command("search", "cello", "--agent", A, *options)
            assert done.code == 0, done.err
            return done.out

        def found(**fields: Any) -> tuple[str, set[str]]:
            answer = client.post("/search", json={"query": "cello", **fields}).json()
            return answer["profile"], set(answer["results"][0]["signals"])

        assert found() == ("hybrid", SIGNALS["hybrid"])
        migrate.set_default_profile(url, "trust")
        assert found() == ("trust", SIGNALS["trust"])
        assert found(profile="tiered") == ("tiered", SIGNALS["tiered"])
        assert "by trust" in said()
        assert "by tiered" in said("--profile", "tiered")
        monkeypatch.setenv("PGRECALL_PROFILE", "last_access")
        assert "by last_access" in said()


def test_a_server_for_models_obeys(engine: Engine, own_url: str) -> None:
    tools = pytest.importorskip("pgrecall.mcp.memory_tools")
    accessed = "SELECT count(last_accessed_at) FROM pgrecall.memory_usage"
    migrate.set_default_profile(own_url, "trust")

    async def recalled(**given: Any) -> None:
        other = create_async_engine(engine.url)
        made = tools.MemoryTools(AsyncMemoryRepository(other, embedder=Bags()), **given)
        await made.recall(A, "tea")
        await other.dispose()

    asyncio.run(recalled())
    assert sql(engine, accessed) == [(0,)], "trust does not move the clock"
    asyncio.run(recalled(profile="hybrid"))
    assert sql(engine, accessed) == [(4,)]


def test_an_installed_profile_can_be_the_default_and_then_stays(
    command: Run, engine: Engine, own_url: str, empty_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    profiles.save(MINE, file)
    with pytest.raises(UnknownName, match="unknown profile 'mine'; there are five_factor"):
        migrate.set_default_profile(own_url, "mine")
    done = command("profiles", "install", file, "--database-url", own_url)
    assert done.code == 0, done.err
    migrate.set_default_profile(own_url, "mine")
    repo = MemoryRepository(engine)
    assert used(repo.search(A, NORTH)) == "mine"
    assert repo.context(A, NORTH).min_relevance == MINE.min_relevance
    assert set(value(own_url, SEARCH + " LIMIT 1", str(NORTH))) == SIGNALS["mine"]
    migrate.upgrade(own_url)
    assert migrate.default_profile(own_url) == "mine"

    restored(own_url, empty_url)  # from a dump
    other = create_engine(engine.url.set(database=make_url(empty_url).database))
    assert used(MemoryRepository(other).search(A, NORTH)) == "mine"
    other.dispose()
    assert set(value(empty_url, SEARCH + " LIMIT 1", str(NORTH))) == SIGNALS["mine"]
    run(own_url, "DELETE FROM pgrecall.profiles")
    with pytest.raises(UnknownName, match="default profile 'mine' is no longer among"):
        migrate.upgrade(own_url)
    with pytest.raises(UnknownName, match="default profile of this database, 'mine', is not inst"):
        repo.search(A, NORTH)
    assert used(repo.search(A, NORTH, profile="hybrid")) == "hybrid"
    migrate.set_default_profile(own_url, None)
    migrate.upgrade(own_url)
    assert used(repo.search(A, NORTH)) == "hybrid"
    assert migrate.downgrade(own_url).revision is None


def test_only_the_owner_sets_it_and_readers_obey(engine: Engine, own_url: str) -> None:
    migrate.set_default_profile(own_url, "trust")
    with new_role(own_url, "reader") as role:
        migrate.grant(own_url, role, "reader")
        with acting_as(engine, role) as connection:
            assert used(MemoryRepository(connection).search(A, NORTH, touch=False)) == "trust"
            assert connection.scalar(text("SELECT pgrecall.default_profile()")) == "trust"
            connection.commit()
            with pytest.raises(ProgrammingError, match="permission denied for function"):
                connection.execute(text("SELECT pgrecall.set_default_profile('hybrid')"))


def test_a_program_notices_a_change_after_some_seconds(
    monkeypatch: pytest.MonkeyPatch, engine: Engine, own_url: str
) -> None:
    monkeypatch.setattr("pgrecall.execution.invocation.TTL_SECONDS", 3600.0)
    repo = MemoryRepository(engine)
    assert used(repo.search(A, NORTH)) == "hybrid"
    migrate.set_default_profile(own_url, "trust")
    assert used(repo.search(A, NORTH)) == "hybrid"
    monkeypatch.setattr("pgrecall.execution.invocation.TTL_SECONDS", 0.0)
    assert used(repo.search(A, NORTH)) == "trust"
