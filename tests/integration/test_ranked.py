"""ranked, recall and explain of psql: they rank as the repository does, PostgreSQL inlines them,
and they refuse what they cannot rank by."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from sqlalchemy import Engine

from pgrecall import Attribute, MemoryRepository, NewMemory, Profile, migrate, profiles
from pgrecall.errors import (
    InputError,
    InvalidProfile,
    InvalidVector,
    MemoryNotFound,
    PgRecallError,
    UnknownName,
)
from pgrecall.execution.error_mapping import map_errors
from pgrecall.migrate.ranked_function import require_function_name
from pgrecall.scoring.profile_file import as_values
from pgrecall.scoring.signals import (
    Clock,
    Confidence,
    Curve,
    EntityOverlap,
    Frequency,
    Importance,
    Keyword,
    Recency,
    Similarity,
    Time,
    Trust,
    Usefulness,
)
from tests.conftest import DIMENSIONS
from tests.integration.owner import north
from tests.integration.recalling import (
    DECAYING,
    Connection,
    Rows,
    install,
    recall,
    signals_of,
)
from tests.integration.support import NORTH, NOW, at, before, read

AGENT, TEAM = "agent", "red"
WORDS = ("tea", "milk", "fire", "great", "rain", "dancing", "boat", "night", "letter", "office")
NAMES = ("Ines", "Otto Klein", "Berlin")
EVERYTHING = Profile(
    "everything",
    {
        Similarity(shift=0.4, missing=0.3): 0.2,
        Keyword(b=0.5, pivot=100): 0.1,
        EntityOverlap(): 0.1,
        Time(unknown=0.1): 0.1,
        Recency(
            half_life=20, half_lives_by_type=(("task", 3.0), ("fact", 90.0)), curve=Curve.LINEAR
        ): 0.1,
        Usefulness(): 0.05,
        Importance(): 0.05,
        Confidence(): 0.05,
        Frequency(cap=3): 0.05,
        Trust(): 0.1,
        Attribute(name="stars", metadata="rated.'stars\\.now", least=1, most=5, falling=True): 0.1,
    },
    redistribute=True,
)
REQUIRED = Profile("required", {Similarity(required=True): 0.5, Trust(decay=False): 0.5})
INSTALLED = (DECAYING, EVERYTHING, REQUIRED)
EVERY = {**profiles.BUILT_IN, **{profile.name: profile for profile in INSTALLED}}


def memory(dice: random.Random, number: int) -> NewMemory:
    created = before(dice.uniform(0, 300))
    return NewMemory(
        f"{' '.join(dice.choices(WORDS, k=dice.randint(1, 30)))}\nno{number}",
        embedding=[dice.gauss(0, 1) for _ in range(DIMENSIONS)] if dice.random() < 0.9 else None,
        created_at=created if dice.random() < 0.9 else None,
        observed_at=before(dice.uniform(0, 300)) if dice.random() < 0.2 else None,
        valid_from=before(dice.choice([-50, 50])) if dice.random() < 0.1 else None,
        expires_at=before(dice.choice([-10, 10])) if dice.random() < 0.1 else None,
        memory_type=dice.choice(["episodic", "task", "fact"]),
        tier=dice.choice(["short", "medium", "long"]),
        entities=dice.sample(NAMES, dice.randint(0, 2)),
        subject=dice.choice(NAMES) if dice.random() < 0.2 else None,
        metadata={"rated": {"'stars.now": dice.randint(0, 6)}},
        importance=dice.random(),
        trust=dice.random() if dice.random() < 0.8 else None,
        tokens=dice.randint(1, 50) if dice.random() < 0.5 else None,
    )


@pytest.fixture(scope="module")
def repo(module_engine: Engine) -> MemoryRepository:
    """An agent and a team; nothing changes them."""
    dice = random.Random("ranked agrees")
    made = MemoryRepository(module_engine)
    ids = made.add_many(AGENT, [memory(dice, n) for n in range(300)])
    made.teams.add_many(TEAM, [memory(dice, n) for n in range(60)])
    for one in ids[::7]:
        made.touch(AGENT, [one])
    for one in ids[::11]:
        made.invalidate(AGENT, one, reason="wrong")
    return made


@pytest.fixture(scope="module")
def session(module_url: str) -> Iterator[Connection]:
    """Where those are, with profiles of an application."""
    with psycopg.connect(module_url, autocommit=True, row_factory=dict_row) as made:
        for profile in INSTALLED:
            install(made, profile)
        yield made


def near(value: Any) -> Any:
    return pytest.approx(value, abs=1e-9)


def asked(dice: random.Random) -> dict[str, Any]:
    """Arguments that the repository and psql have in common."""
    given: dict[str, Any] = {"as_of": dice.choice([NOW, before(40)])}
    if dice.random() < 0.8:
        given["query"] = [dice.gauss(0, 1) for _ in range(DIMENSIONS)]
    if dice.random() < 0.6:
        given["keywords"] = dice.choice(
            [" ".join(dice.choices((*WORDS, *NAMES), k=3)), "nobodyhasit tea", "the of and"]
        )
    if dice.random() < 0.3:
        given["teams"] = [TEAM]
    if dice.random() < 0.3:
        given["period"] = before(dice.uniform(20, 90)), before(dice.uniform(0, 19))
    if dice.random() < 0.2:
        given["entities"] = dice.choices(NAMES, k=3)
    if dice.random() < 0.2:
        given["include_inactive"] = True
    return given


def searched(
    repo: MemoryRepository, profile: Profile, given: dict[str, Any], **more: Any
) -> list[tuple[UUID, float, dict[str, float]]]:
    """What the repository finds."""
    given = dict(given)
    query = given.pop("query", None)
    given.setdefault("period", None)
    hits = repo.search(
        AGENT, query, profile=profile, touch=False, strategy="exact", **given, **more
    )
    return [(hit.memory.id, hit.score, dict(hit.signals)) for hit in hits]


@pytest.mark.parametrize("name", EVERY)
def test_all_rank_as_the_repository_does(
    repo: MemoryRepository, session: Connection, name: str
) -> None:
    dice = random.Random(name)
    profile = EVERY[name]
    for _ in range(15):
        given = asked(dice)
        ours, ranking = dict(given), profile
        if (profile.find(Recency) or profile.decay) and dice.random() < 0.3:
            ours["half_life"] = dice.uniform(1, 50)
            ranking = profile.with_half_life(ours["half_life"])
        if dice.random() < 0.3:
            first, second = [one.name for one in profile.signals][:2]
            ours["weights"] = {first: 0.25, second: 0.75}
            given["weights"] = ours["weights"]

        hits = searched(repo, ranking, given, k=400)
        rows = recall(session, name, AGENT, function="ranked", **ours)
        rows.sort(key=lambda row: (-row["score"], row["id"]))

        assert {row["id"] for row in rows} == {id_ for id_, *_ in hits}, given
        assert [row["score"] for row in rows] == near([score for _, score, _ in hits]), given
        found = {row["id"]: signals_of(row) for row in rows}
        for id_, _, signals in hits:
            if "weights" in given and "time" in signals:  # compared only if it weighs anything
                signals["time"] = found[id_]["time"]
            assert found[id_] == near(signals), given
        ours.pop("include_inactive", None)
        given.pop("include_inactive", None)
        k = dice.choice([1, 5, 30])
        best = searched(repo, ranking, given, k=k)
        rows = recall(session, name, AGENT, k=k, **ours)
        assert [(row["id"], row["score"]) for row in rows] == [
            (id_, near(score)) for id_, score, _ in best
        ]


def test_explain_accounts_for_a_memory(repo: MemoryRepository, session: Connection) -> None:
    dice = random.Random("explain")
    every = [memory.id for memory in repo.list(AGENT, limit=300, include_inactive=True)]
    for name, profile in EVERY.items():
        for id_ in dice.sample(every, 6):
            given = asked(dice)
            given.pop("include_inactive", None)
            said = repo.explain(
                AGENT,
                id_,
                given.get("query"),
                profile=profile,
                **{"period": None, **{n: one for n, one in given.items() if n != "query"}},
            )
            [row] = recall(session, name, AGENT, function="explain", memory_id=id_, **given)
            is_scored = not any(one.startswith(("created", "has no")) for one in row["reasons"])
            assert (row["ranked"], bool(row["reasons"])) == (
                said.ranked,
                any("outranked" not in one for one in said.reasons),
            ), (said.reasons, row["reasons"])
            if is_scored:
                assert (row["rank"], row["score"]) == (said.rank, near(said.hit.score))
                assert row["signals"] == near(dict(said.hit.signals))
            else:
                assert row["score"] is row["signals"] is None


def test_reasons_are_given_in_words(own_url: str, own_repo: MemoryRepository) -> None:
    later, gone, plain = own_repo.add_many(
        AGENT,
        [
            NewMemory("later", embedding=None, created_at=NOW, valid_from=before(-3)),
            NewMemory("gone", embedding=None, created_at=NOW, expires_at=NOW),
            NewMemory("plain", embedding=None, created_at=NOW),
        ],
    )
    own_repo.invalidate(AGENT, plain, reason="wrong")
    with psycopg.connect(own_url, autocommit=True, row_factory=dict_row) as session:
        session.execute("SET TimeZone = UTC")

        def reasons(id_: UUID, **given: Any) -> list[str]:
            asked = {"function": "explain", "memory_id": id_, **given}
            [row] = recall(session, "last_access", AGENT, **asked)
            return list(row["reasons"])

        assert reasons(later, as_of=NOW) == ["valid only from 2026-06-04 12:00:00+00"]
        assert reasons(gone, as_of=NOW) == ["expired at 2026-06-01 12:00:00+00"]
        [wrong] = reasons(plain)
        assert wrong.startswith("forgotten at ")
        assert reasons(gone, as_of=before(1)) == ["created after as_of, at 2026-06-01 12:00:00+00"]
        assert reasons(plain, as_of=NOW, query=NORTH) == [
            "has no embedding, which this profile requires"
        ]


def plan_of(session: Connection, statement: str) -> str:
    rows = session.execute(f"EXPLAIN (COSTS OFF) {statement}".encode()).fetchall()
    return "\n".join(row["QUERY PLAN"] for row in rows)


@pytest.mark.usefixtures("repo")
def test_ranked_is_inlined(session: Connection) -> None:
    ranked = f"pgrecall.ranked('agent', '{NORTH}', 'tea Ines', 'hybrid', teams => '{{red}}')"
    plan = plan_of(
        session,
        f"SELECT r.content, r.score, o.name FROM {ranked} r JOIN pgrecall.entity_names o "
        "ON o.agent_id = r.agent_id AND o.entity = r.subject "
        "WHERE r.tags && '{work}' AND r.importance > 0.2 ORDER BY r.score DESC, r.id LIMIT 5",
    )
    for shown in (
        "on agent_memories",
        "on memory_usage",
        "Function Scan on keyword_shares",
        "Function Scan on query_facts",
        "tags && '{work}'::text[]",
        "importance > '0.2'::double precision",
    ):
        assert shown in plan
    assert not re_search_functions(plan), plan
    # Nothing is sorted for the subquery, and each signal is computed once.
    assert plan.count("Sort Key") == 1 + plan.count("Sort Key: query_facts.agent_id"), plan
    assert plan.count("<=>") == 1, "the score reads signal_similarity"

    counted = plan_of(session, f"SELECT count(*) FROM {ranked}")
    for unread in ("memory_usage", "keyword_shares", "query_facts"):
        assert unread not in counted
    grouped = plan_of(session, f"SELECT tier, avg(signal_recency) FROM {ranked} GROUP BY tier")
    assert "keyword_shares" not in grouped
    other = plan_of(session, "SELECT score FROM pgrecall.ranked('agent', profile => 'five_factor')")
    assert "CASE" not in other.partition("Filter")[0]
    assert "keyword_shares" not in other


def re_search_functions(plan: str) -> bool:
    """True if a plan calls a function that PostgreSQL should have inlined."""
    return any(
        f"{name}(" in plan
        for name in ("ranked", "matched", "keyword", "recency_exponential", "similarity", "_weight")
    )


@pytest.mark.usefixtures("repo")
def test_it_may_be_prepared_joined_laterally_and_given_subqueries(session: Connection) -> None:
    """Where PostgreSQL cannot inline it, or does not know its arguments, it returns the same."""
    [[vector]] = [
        [row["embedding"]]
        for row in session.execute(
            "SELECT embedding FROM pgrecall.agent_memories WHERE agent_id = 'agent' "
            "AND embedding IS NOT NULL ORDER BY id LIMIT 1"
        )
    ]
    first = "ORDER BY r.score DESC, r.id LIMIT 5"
    expected = recall(session, "five_factor", AGENT, query=vector, as_of=NOW, k=5)
    as_of = f"profile => 'five_factor', as_of => '{NOW}'"
    lateral = (
        "SELECT r.id, r.score FROM (SELECT embedding FROM pgrecall.agent_memories WHERE "
        "agent_id = 'agent' AND embedding IS NOT NULL ORDER BY id LIMIT 1) q, "
        f"LATERAL pgrecall.ranked('agent', q.embedding, {as_of}) r {first}"
    )
    nested = (
        "SELECT r.id, r.score FROM pgrecall.ranked('agent', (SELECT embedding FROM "
        "pgrecall.agent_memories WHERE agent_id = 'agent' AND embedding IS NOT NULL "
        f"ORDER BY id LIMIT 1), {as_of}) r {first}"
    )
    session.execute(
        "PREPARE asked AS SELECT r.id, r.score FROM pgrecall.ranked($1, $2, $3, $4, $5, $6, $7, "
        f"$8, $9, $10) r {first}".encode()
    )
    session.execute("SET plan_cache_mode = force_generic_plan")
    prepared = (
        f"EXECUTE asked('agent', '{vector}', NULL, 'five_factor', NULL, NULL, NULL, NULL, NULL, "
        f"'{NOW}')"
    )
    try:
        for statement in (lateral, nested, prepared):
            rows = session.execute(statement.encode()).fetchall()
            assert [(row["id"], row["score"]) for row in rows] == [
                (row["id"], near(row["score"])) for row in expected
            ], statement
    finally:
        session.execute("RESET plan_cache_mode")
        session.execute("DEALLOCATE asked")


def test_null_means_not_given(repo: MemoryRepository, session: Connection) -> None:
    def found(**given: Any) -> Rows:
        agent = given.pop("agent_id", AGENT)
        rows = recall(session, given.pop("profile", None), agent, as_of=NOW, **given)
        return [{"id": row["id"], "score": row["score"]} for row in rows]

    plain = found()
    assert len(plain) == 10
    nothing = dict.fromkeys(
        ("query", "keywords", "weights", "half_life", "entities", "period", "teams", "k")
    )
    assert found(**nothing, max_tokens=None, touch=None) == plain
    assert found(agent_id=None) == found(agent_id=None, teams=[TEAM]) == []
    assert found(teams=[]) == plain
    assert found(teams=[None]) == plain
    everything = recall(session, None, AGENT, function="ranked", as_of=NOW, include_inactive=None)
    live = recall(session, None, AGENT, function="ranked", as_of=NOW)
    assert len(everything) == len(live) < 300
    assert found(k=1_000) == [
        {"id": row["id"], "score": near(row["score"])}
        for row in sorted(live, key=lambda row: (-row["score"], row["id"]))
    ]
    assert repo.count(AGENT, as_of=NOW) == len(live)


def test_a_recall_may_be_short_of_tokens(repo: MemoryRepository, session: Connection) -> None:
    packed = repo.context(
        AGENT, NORTH, profile="five_factor", as_of=NOW, max_tokens=4_000, k=40, touch=False
    )
    assert packed.packed
    every = recall(session, "five_factor", AGENT, query=NORTH, as_of=NOW, k=40)
    sizes = [
        row["tokens"] if row["tokens"] is not None else estimated(row["content"]) for row in every
    ]
    for most in (1, sum(sizes[:1]), sum(sizes[:7]) - 1, sum(sizes[:7]), sum(sizes)):
        given: dict[str, Any] = {"query": NORTH, "as_of": NOW, "k": 40, "max_tokens": most}
        rows = recall(session, "five_factor", AGENT, **given)
        fitting = [n for n in range(len(sizes) + 1) if sum(sizes[:n]) <= most][-1]
        assert rows == every[:fitting]


def estimated(content: str) -> int:
    from pgrecall.core.tokens import estimated_tokens

    return estimated_tokens(content)


def test_a_recall_counts_as_a_search_does_if_it_is_told_to(
    connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    ids = [shared_repo.add(agent, NewMemory(f"it {n}", embedding=at(40 * n))) for n in range(3)]
    theirs = shared_repo.teams.add(agent, north("theirs"))
    given: dict[str, Any] = {"query": NORTH, "teams": [agent], "k": 3}

    with connection.transaction():
        connection.execute("SET TRANSACTION READ ONLY")
        not_counted = recall(connection, "five_factor", agent, **given)
    rows = recall(connection, "five_factor", agent, touch=True, **given)

    assert {row["id"] for row in rows} == {row["id"] for row in not_counted} == {*ids[:2], theirs}
    assert [row["retrieval_count"] for row in rows] == [0, 0, 0]
    found = [read(shared_repo, agent, id_) for id_ in ids]
    found.append(read(shared_repo.teams, agent, theirs))
    assert [one.retrieval_count for one in found] == [1, 1, 0, 1]
    assert found[0].last_accessed_at is not None

    recall(connection, "trust", agent, touch=True, query=at(80), k=1)
    last = read(shared_repo, agent, ids[2])
    assert (last.retrieval_count, last.last_accessed_at) == (1, None)  # accessed_by use


@contextmanager
def refused(error: type[PgRecallError], match: str) -> Iterator[None]:
    """As the repository would say it."""
    with pytest.raises(error, match=match), map_errors():
        yield


WEIGHTS: tuple[tuple[Any, str], ...] = (
    ({"similarity": 0.9, "recency": 0.2}, "sum to 1, they sum to 1.1"),
    ({}, "sum to 1, they sum to 0"),
    ({"similarity": 1.5, "recency": -0.5}, "must be 0 or lie within"),
    ({"similarity": 1.0, "recency": None}, "must be a number"),
    ({"similarity": "1"}, 'must be a number, got "1"'),
    (Jsonb([1.0]), "must map signals to numbers"),
)
NO_SIGNAL = "profile 'trust' has no signal 'keyword'; its signals are trust, similarity"
NO_PROFILE = "unknown profile .*; there are .*five_factor, half_life"
NO_PERIODS = (
    *("empty", "(,)", "[2026-01-01,)", "(,2026-01-01)", "[2026-01-01,2026-01-01]"),
    *("[2026-01-01,infinity)", "[-infinity,2026-01-01)", "[4000-01-01 BC,2026-01-01)"),
)
REFUSED: tuple[tuple[dict[str, Any], type[PgRecallError], str], ...] = (
    *(({"agent": a}, InputError, "agent must be an id") for a in ("", "team:", "a" * 206)),
    *(({"profile": p}, UnknownName, NO_PROFILE) for p in ("nobody", "", "trust'", "Trust")),
    *(({"weights": weights}, InputError, said) for weights, said in WEIGHTS),
    ({"weights": {"similarity": 0.5, "keyword": 0.5}}, UnknownName, NO_SIGNAL),
    ({"query": [0.0] * DIMENSIONS}, InvalidVector, "no direction"),
    ({"query": [1.0, 2.0]}, InvalidVector, "has 2 dimensions, .* stores 8"),
    ({"as_of": "0001-01-01 00:00+00"}, InputError, "as_of must lie within 0001-01-02"),
    *(({"period": period}, InputError, "period must") for period in NO_PERIODS),
    ({"teams": [""]}, InputError, "agent must be an id"),
    ({"teams": ["red"] * 1_001}, InputError, "teams may have at most 1,000"),
    ({"entities": [f"{n}" for n in range(33)]}, InputError, "entities may hold at most 32"),
    ({"keywords": "a" * 200_001}, InputError, "keywords may have at most 200,000"),
    ({"half_life": 0}, InputError, "half_life must lie within"),
    ({"half_life": float("nan")}, InputError, "half_life must lie within"),
    ({"half_life": 3, "profile": "required"}, InputError, "'required' has no recency signal"),
)


@pytest.mark.parametrize(
    ("given", "error", "said"), REFUSED, ids=[f"{given!s:.50}" for given, *_ in REFUSED]
)
@pytest.mark.usefixtures("repo")
def test_what_cannot_be_ranked_by_is_refused_in_words(
    session: Connection, given: dict[str, Any], error: type[PgRecallError], said: str
) -> None:
    for function in ("ranked", "recall", "explain"):
        asked = {"profile": "trust", "agent": AGENT, **given}
        if function == "explain":
            asked["memory_id"] = session.execute(
                "SELECT id FROM pgrecall.agent_memories WHERE agent_id = 'agent' LIMIT 1"
            ).fetchall()[0]["id"]
        with refused(error, said):
            recall(session, asked.pop("profile"), asked.pop("agent"), function=function, **asked)


def test_what_one_of_them_cannot_do_is_refused(connection: Connection) -> None:
    for given in ({"k": 0}, {"k": 1_000_001}, {"max_tokens": 0}, {"max_tokens": -3}):
        asked: dict[str, Any] = given
        with refused(InputError, "(k|max_tokens) must lie within 1 and"):
            recall(connection, "trust", AGENT, **asked)
    id_ = "019aa0e2-0000-7000-8000-000000000000"
    with refused(MemoryNotFound, f"agent 'agent' has no memory {id_}"):
        recall(connection, "trust", AGENT, function="explain", memory_id=id_)
    for agent in (None, "", "team:"):
        with refused(InputError, "agent must be an id"):
            recall(connection, "trust", agent, function="explain", memory_id=id_)
    for name in ("Mine", "mine; DROP TABLE x", 'a"b', "1st", "a-b", "ä", "a" * 52, "a\n", "a b"):
        with pytest.raises(InvalidProfile, match="lower-case letters"):
            require_function_name(Profile(name, {Similarity(): 1}))
    with connection.transaction(force_rollback=True):
        connection.execute("SET LOCAL gin_fuzzy_search_limit = 5")
        with pytest.raises(psycopg.Error, match="miss memories at random"):
            recall(connection, "trust", AGENT)


@pytest.mark.parametrize("search_path", ["", "elsewhere, public"])
def test_the_search_path_of_the_caller_does_not_matter(
    own_url: str, own_repo: MemoryRepository, search_path: str
) -> None:
    own_repo.add("agent-1", north("great tea", created_at=before(-30)))
    with psycopg.connect(own_url, autocommit=True, row_factory=dict_row) as connection:
        connection.execute("CREATE SCHEMA elsewhere")
        for schema in ("elsewhere", "pg_temp"):
            connection.execute(f"CREATE TABLE {schema}.agent_memories (id int)".encode())
            connection.execute(
                f"CREATE FUNCTION {schema}.text_language() RETURNS regconfig LANGUAGE sql "
                "RETURN 'simple'::regconfig".encode()
            )
        connection.execute("SELECT set_config('search_path', %s, false)", (search_path,))
        connection.execute("SET default_text_search_config = 'german'")
        given: dict[str, Any] = {"query": NORTH, "keywords": "the teas", "teams": ["none"]}
        for name in profiles.BUILT_IN:
            for function in ("recall", "ranked"):
                asked = {"function": function, **given}
                assert recall(connection, name, "agent-1", as_of=NOW, **asked) == []
                [row] = recall(connection, name, "agent-1", **asked)
                assert signals_of(row).get("keyword", 1.0) == 1.0


def test_pgvector_may_move_to_another_schema(own_url: str, own_repo: MemoryRepository) -> None:
    own_repo.add(AGENT, north("tea"))
    with psycopg.connect(own_url, autocommit=True, row_factory=dict_row) as connection:
        before = connection.execute(
            f"SELECT content, score FROM pgrecall.ranked('agent', '{NORTH}')".encode()
        ).fetchall()
        connection.execute("CREATE SCHEMA vectors")
        connection.execute("ALTER EXTENSION vector SET SCHEMA vectors")
        after = connection.execute(
            f"SELECT content, score FROM pgrecall.ranked('agent', '{NORTH}')".encode()
        ).fetchall()

    assert [row["content"] for row in before] == ["tea"]
    assert after == [{"content": "tea", "score": near(before[0]["score"])}]


def test_profiles_are_installed_and_replaced(own_url: str, own_repo: MemoryRepository) -> None:
    """With signals that are new or gone, and below views of a DBA's own."""
    mine = Profile("mine", {Similarity(): 0.5, Recency(half_life=3): 0.3, Importance(): 0.2})
    theirs = Profile("zz", {Attribute(name="stars", metadata="stars"): 1.0})
    first = Profile("aa", {Attribute(name="depth", metadata="depth", most=9): 1.0})
    own_repo.add(AGENT, north("it", created_at=before(3), metadata={"stars": 0.5, "depth": 3}))
    with psycopg.connect(own_url, autocommit=True, row_factory=dict_row) as session:
        session.execute(
            "CREATE VIEW best AS SELECT content, score FROM pgrecall.ranked('agent') "
            "ORDER BY score DESC LIMIT 3"
        )
        install(session, mine)
        install(session, theirs)
        assert [row["content"] for row in session.execute("SELECT * FROM best")] == ["it"]
        session.execute("DROP VIEW best")
        install(session, first)
        for profile in (mine, theirs, first):
            [hit] = own_repo.search(AGENT, NORTH, profile=profile, as_of=NOW, touch=False)
            [row] = recall(session, profile.name, AGENT, query=NORTH, as_of=NOW)
            assert row["score"] == near(hit.score)
            assert signals_of(row) == near(dict(hit.signals))

        session.execute("DELETE FROM pgrecall.profiles WHERE name IN ('aa', 'zz')")
        longer = replace(mine, signals={Similarity(): 0.5, Recency(half_life=9): 0.5})
        session.execute("UPDATE pgrecall.profiles SET definition = %s", [Jsonb(as_values(longer))])
        migrate.upgrade(own_url)
        [row] = recall(session, "mine", AGENT, query=NORTH, as_of=NOW)
        assert "signal_depth" not in row
        [hit] = own_repo.search(AGENT, NORTH, profile=longer, as_of=NOW, touch=False)
        assert row["score"] == near(hit.score)
        # As where the signature of a signal has changed.
        session.execute("SELECT pgrecall.drop_objects('{recency_exponential}')")
        migrate.upgrade(own_url)
        assert recall(session, "mine", AGENT, query=NORTH, as_of=NOW) == [row]
        with refused(UnknownName, "unknown profile 'zz'; there are .*mine"):
            recall(session, "zz", AGENT)


def test_a_decay_runs_from_the_latest_use() -> None:
    assert DECAYING.decay is not None
    assert DECAYING.decay.recency.clock is Clock.LATEST
