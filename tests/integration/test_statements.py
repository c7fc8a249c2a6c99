"""Statements stand once, in `sql/statements`: PostgreSQL accepts each with any options, and Python
and psql compose the same."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from inspect import signature
from itertools import combinations, permutations
from typing import Any

import psycopg
import pytest
from psycopg.errors import DatabaseError
from psycopg.rows import dict_row
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory, profiles
from pgrecall.errors import InputError, InvalidProfile, UnknownName
from pgrecall.execution.error_mapping import map_errors
from pgrecall.migrate.psql_arguments import PsqlFilters
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.composing import composed
from pgrecall.schema import tables
from pgrecall.schema.composer import RANKING, blocks, entries, known_options
from pgrecall.scoring.profiles import BUILT_IN
from tests.conftest import DIMENSIONS
from tests.integration.recalling import (
    DECAYING,
    Connection,
    in_python,
    install,
    installed,
    recall,
)
from tests.integration.support import before
from tests.integration.test_profiles_agree import OTHERS

WORDS = ("tea", "milk", "fire", "great", "rain", "boat", "night", "letter", "the", "office")
AGENT, TEAM = "agent", "red"


@pytest.fixture(scope="module")
def repo(module_engine: Engine) -> MemoryRepository:
    dice = random.Random("statements")
    made = MemoryRepository(module_engine)
    made.add_many(AGENT, [memory(dice, n) for n in range(120)], duplicates="allow")
    made.teams.add_many(TEAM, [memory(dice, n) for n in range(40)], duplicates="allow")
    ids = [one.id for one in made.list(AGENT, limit=20)]
    made.touch(AGENT, ids)
    for near, far in zip(ids, ids[3:], strict=False):
        made.links.add(AGENT, near, far)
    return made


@pytest.fixture(scope="module")
def connection(module_url: str, repo: MemoryRepository) -> Iterator[Connection]:
    with psycopg.connect(module_url, autocommit=True, row_factory=dict_row) as made:
        install(made, DECAYING)
        yield made


def memory(dice: random.Random, number: int) -> NewMemory:
    return NewMemory(
        " ".join(dice.choices(WORDS, k=dice.randint(1, 20))),
        embedding=[dice.gauss(0, 1) for _ in range(DIMENSIONS)] if number % 9 else None,
        created_at=before(dice.uniform(-10, 300)),
        memory_type=dice.choice(["episodic", "task", "fact"]),
        tier=dice.choice(["short", "medium", "long"]),
        importance=dice.random(),
        trust=dice.random() if number % 4 else None,
        tags=dice.sample(["a", "b", "c"], k=dice.randint(0, 3)),
        entities=dice.sample(["Ann", "Bob", "Cleo"], k=dice.randint(0, 2)),
        metadata={"a": number % 5, "b": {"c": number % 3}},
        **dict.fromkeys(("component", "domain", "loop"), "mine" if number % 2 else None),
        subject=f"subject {number % 7}" if number % 2 else None,
        session=f"s{number // 20}" if number % 3 else None,
        turn=number % 20 if number % 3 else None,
    )


def options_named_in(name: str) -> list[str]:
    """Those that decide something in this statement, whether they follow from others or not."""
    lines = (line for head, file in entries(name) for line in (head, *blocks(file)))
    named = {option for line in lines for option in line.needs | line.excludes}
    return [one for one in known_options() if one in named or one in FOLLOWED]


FOLLOWED = ("keyword", "redistribute", "divided", "surrounding_turns", "index", "touch")


@pytest.mark.parametrize("name", RANKING)
def test_a_statement_prepares_with_every_option_each_and_each_pair(
    connection: Connection, name: str
) -> None:
    own, dice = options_named_in(name), random.Random(name)
    several = [dice.sample(own, len(own) // 2) for _ in range(60)]
    assert {*combinations(own, 2)} <= {pair for one in several for pair in permutations(one, 2)}
    for options in ([], own, *([one] for one in own), *several):
        row = connection.execute("SELECT pgrecall.statement(%s, %s)", (name, options))
        [text] = row.fetchone().values()  # type: ignore[union-attr]
        connection.execute(f"PREPARE it AS {text}".encode())
        connection.execute("DEALLOCATE it")


def test_python_and_psql_compose_the_same_text(connection: Connection) -> None:
    """Of any profile, and so with any parameters of its signals."""
    dice = random.Random("the same text")
    connection.execute("SET search_path = pgrecall, public")
    for number in range(1_000):
        name = dice.choice(RANKING)
        profile = OTHERS[number] if number < len(OTHERS) else dice.choice([*BUILT_IN.values()])
        options = dice.sample(known_options(), dice.randint(0, 25))
        derived = "statement_options(%(name)s::text || %(given)s::text[])"
        query = (
            "SELECT filled(composed(%(name)s, %(given)s, t.score, t.signals), "
            "profile_literals(f)) AS composed "
            f"FROM pgrecall.profile_{profile.name}() f, scored_text(f, {derived}) t"
        )
        with installed(connection, profile):
            given = {"name": name, "given": options}
            row = connection.execute(query.encode(), given).fetchone()
        signals = tuple(profile.signals)
        ours = composed(tables(), name, frozenset(options), signals, decay=profile.decay)
        assert row is not None
        assert row["composed"] == ours.named
    connection.execute("RESET search_path")


def test_what_statement_returns_runs_as_the_search_does(
    connection: Connection, repo: MemoryRepository
) -> None:
    query = [1.0, -1.0] * (DIMENSIONS // 2)
    hits = repo.search(AGENT, query, keywords="great fire", filter={"tags": "a"}, k=5, touch=False)
    call = "SELECT pgrecall.statement('search', '{tags,words}', profile => 'hybrid') AS text"
    row = connection.execute(call).fetchone()
    assert row is not None
    text = row["text"]
    begun = re.match(r"/\* pgrecall search: (.*) \*/", text)
    assert begun is not None
    # It redistributes the weights of a missing period, and of missing names.
    weights = profiles.hybrid.without("time", "entity_overlap").weights
    values: dict[str, Any] = {
        "owner_id": AGENT,
        "query": str(query),
        "keywords": "great fire",
        "tags": ["a"],
        "all_owners": [AGENT],
        "whole_owners": [AGENT],
        "worded_owners": [AGENT],
        "as_of": None,
        "ranked": 5,
        **{f"{name}_weight": weight for name, weight in weights.items()},
    }
    found = re.findall(r"\$\d+ (\w+) ([\w.\[\]]+)(?: \(([\d.e-]+)\))?(?:, |$)", begun[1])
    shown = {name.removesuffix("_weight"): float(weight) for name, _, weight in found if weight}
    missing = "time", "entity_overlap"
    assert shown == {name: profiles.hybrid.weights[name] for name in weights if name not in missing}
    connection.execute(f"PREPARE theirs AS {text}".encode())
    given = psycopg.sql.SQL(", ").join(psycopg.sql.Literal(values[name]) for name, *_ in found)
    rows = connection.execute(psycopg.sql.SQL("EXECUTE theirs ({})").format(given)).fetchall()
    connection.execute("DEALLOCATE theirs")

    assert [row["id"] for row in rows] == [hit.memory.id for hit in hits]
    assert [row["score"] for row in rows] == pytest.approx([hit.score for hit in hits], abs=1e-9)


def test_statement_refuses_what_it_does_not_know(connection: Connection) -> None:
    for arguments, message in (
        ("'nothing'", "unknown statement 'nothing'; known are search"),
        ("'search', '{tag}'", "unknown option 'tag'; known are all_entities"),
    ):
        with pytest.raises(DatabaseError, match=message) as refused:
            connection.execute(f"SELECT pgrecall.statement({arguments})".encode())
        assert refused.value.sqlstate == "PM007"


OF_ONE = (
    *("memory_natures", "content_types", "components", "output_types", "domains"),
    *("categories", "loops"),
)
PROFILES = {**BUILT_IN, DECAYING.name: DECAYING}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "keywords": ("great fire", "the", "Bob and Ann drink tea", "", "'); -- tea $recall$"),
    "profile": (*PROFILES,),
    "k": (1, 5, 10, 0, 200),
    "weights": (
        {"similarity": 0.5, "importance": 0.5},
        {"similarity": 0.5},
        {"importance": 1e-12, "similarity": 1 - 1e-12},
        {"nothing": 1.0},
        {"trust": -1.0},
    ),
    "half_life": (3.0, 90, 0.0),
    "linked": (1, 2, 3),
    "min_score": (0.3, 0.6, 2.0),
    "min_similarity": (-0.5, 0.3),
    "min_relevance": (0.0, 0.3, -1.0),
    "teams": ([TEAM], ["team:red", "blue"], [""]),
    "query_entities": (["Ann"], ["Ann", "Bob", "Ann"], ["nobody"]),
    "period": ((before(60), before(50)),),
    "surrounding_turns": (1, 3, 99),
    "diversity": (0.3, 0.7, 1.0),
    "as_of": (before(0), before(100)),
    "memory_types": (["fact"], ["task", "fact"]),
    "tiers": (["long"], ["endless"]),
    "tags": (["a"], ["a", "b"]),
    "all_tags": (["a", "b"],),
    "entities": (["Bob"],),
    "all_entities": (["Ann", "Bob"],),
    **{name: (["mine"],) for name in OF_ONE},
    "text": ("tea or milk", "-tea"),
    "metadata": (
        {"a": 1},
        {"a": {"$gte": 2}},
        {"b.c": 1, "a": {"$in": [1, 2]}},
        {"a": {"$gte": 1, "$lt": 4, "$ne": 2, "$exists": True, "$nin": [0]}},
        {"a": {"$near": 1}},
    ),
    "created_after": (before(200),),
    "created_before": (before(20),),
    "min_trust": (0.2, 0.9),
    "statuses": (["active"], ["archived", "active"], ["gone"]),
    "include_invalid": (True,),
    "needs_review": (False,),
    "compliant": (True,),
}


SETS, REFUSALS = 500, (InputError, InvalidProfile, UnknownName)


def test_python_and_psql_agree_for_random_arguments(
    repo: MemoryRepository, connection: Connection
) -> None:
    """On refusals, hits, their order, scores, and the values of all signals; with every argument
    but those that only Python has."""
    wanted = {*signature(MemoryRepository.search).parameters, *SearchArguments.__annotations__}
    alone = {"self", "agent_id", "query", "arguments", "timezone", "rerank"}
    filters = {*PsqlFilters.__annotations__, "min_similarity"}
    assert filters < ARGUMENTS.keys()
    how = {"strategy", "touch", "filter", "include_inactive", "entities"}
    assert wanted - alone == ARGUMENTS.keys() - filters - {"half_life", "query_entities"} | how
    dice = random.Random("random arguments")
    refused = found = 0
    for _ in range(SETS):
        names = dice.sample([*ARGUMENTS], k=dice.choice([0, 1, 1, 2, 2, 3, 4, 6]))
        given = {name: dice.choice(ARGUMENTS[name]) for name in names}
        profile = given.pop("profile", "hybrid")
        query = [dice.gauss(0, 1) for _ in range(DIMENSIONS)] if dice.random() < 0.8 else None
        if not query and dice.random() < 0.5:
            given.setdefault("keywords", "tea")
        hits: Any = None
        ours = in_python(given)
        try:
            chosen: Any = PROFILES[profile]
            if "half_life" in ours:  # in Python, of the profile
                chosen = chosen.with_half_life(ours.pop("half_life"))
            hits = repo.search(AGENT, query, profile=chosen, touch=False, **ours)
        except REFUSALS:
            refused += 1
            with pytest.raises(REFUSALS), map_errors():
                recall(connection, profile, AGENT, query=query, **given)
            continue
        rows = recall(connection, profile, AGENT, query=query, **given)
        found += bool(rows)
        near = 1e-12 if "as_of" in given else 1e-6  # two statements, and so two moments
        assert [row["id"] for row in rows] == [hit.memory.id for hit in hits], given
        for row, hit in zip(rows, hits, strict=True):
            assert row["attached_to"] == hit.attached_to, given
            assert row["hops"] == hit.hops, given
            assert row["score"] == pytest.approx(hit.score, abs=near), given
            assert row["signals"] == pytest.approx(hit.signals, abs=near), given
            memory = hit.memory
            assert [row[name] for name in SHOWN] == [getattr(memory, name) for name in SHOWN]
    assert SETS / 10 < refused < SETS / 2
    assert found > SETS / 4


SHOWN = ("content", "memory_type", "created_at", "importance", "tier", "key", "last_accessed_at")
