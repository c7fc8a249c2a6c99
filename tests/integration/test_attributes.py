"""Signals of one's own: numbers in metadata, and in a table beside.

That searches, psql and the scorer agree for random ranges and numbers is in test_profiles_agree
and test_statements.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import Engine, create_engine, text

from pgrecall import Attribute, JudgedQuery, MemoryRepository, NewMemory, Profile, Similarity, score
from pgrecall.errors import InputError, InvalidProfile
from pgrecall.migrate.installing import install_profile
from pgrecall.migrate.settings import Settings
from tests.integration.owner import Owner, plain
from tests.integration.recalling import recall
from tests.integration.support import at

TABLE = """
CREATE SCHEMA "their own";
CREATE TABLE "their own"."page views" (
    agent_id text, memory_id uuid, "from-$site" {type}, PRIMARY KEY (agent_id, memory_id));
"""
VIEWS = Attribute(
    name="views", schema="their own", table="page views", column="from-$site", most=100, missing=0.3
)


def alone(signal: Attribute, name: str = "alone") -> Profile:
    return Profile(name, {signal: 1.0})


def values(hits: Any) -> dict[str, float]:
    return {hit.memory.content: hit.score for hit in hits}


@pytest.mark.parametrize(
    ("found", "value"),
    [
        *((50, 0.5), (25.5, 0.255), (-1, 0.0), (101, 1.0), (0, 0.0), (10**400, 1.0), (1e-320, 0.0)),
        *((-(10**300), 0.0), (True, 0.3), (None, 0.3), ("50", 0.3), ([50], 0.3), ({"a": 50}, 0.3)),
    ],
)
@pytest.mark.parametrize("falling", [False, True])
def test_what_is_no_number_counts_as_missing_and_what_is_beyond_as_the_end(
    mine: Owner, found: Any, value: float, falling: bool
) -> None:
    signal = Attribute(
        name="views", metadata=r"pgrecall\.:a.0.views", most=100, falling=falling, missing=0.3
    )
    metadata = {"pgrecall.:a": [{"views": found}]}
    mine.add(plain("page", metadata=metadata))
    expected = 1 - value if falling and value != 0.3 else value

    [hit] = mine.search(profile=alone(signal), touch=False)

    assert hit.signals == pytest.approx({"views": expected}, abs=1e-12)
    assert score(alone(signal), {"metadata": metadata}).score == pytest.approx(expected, abs=1e-12)
    [account] = mine.explain(hit.memory.id, profile=alone(signal)).signals
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    assert account.number == (float(min(found, sys.float_info.max)) if is_number else None)


def test_the_number_stands_beside_the_value_in_explanations(mine: Owner) -> None:
    id_ = mine.add(plain("page", metadata={"views": 25.5}))
    explained = mine.explain(id_, profile=alone(Attribute(name="v", metadata="views", most=100)))

    assert "0.2550 (25.5)" in str(explained._repr_html_())
    assert explained.record()["account"][0]["number"] == 25.5


def test_the_scorer_takes_attributes_by_name_only_as_a_mapping() -> None:
    profile = alone(Attribute(name="views", metadata="views"))
    given = {"metadata": {"views": 0.5}, "attributes": {"views": 0.75, "other": 1}}

    assert score(profile, given).score == 0.75
    assert score(profile, given | {"attributes": {"views": None}}).score == 0.5
    with pytest.raises(InputError, match="attributes must map names to numbers, got"):
        score(profile, {"attributes": [0.5]})


@pytest.fixture(scope="module")
def engine(module_url: str) -> Iterator[Engine]:
    made = create_engine(module_url)
    with made.begin() as connection:
        connection.execute(text(TABLE.format(type="numeric")))
    yield made
    made.dispose()


def installed(engine: Engine, profile: Profile) -> None:
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL search_path = pgrecall, pg_temp"))
        install_profile(connection, Settings("pgrecall", extension_schema="public"), profile)


def test_a_column_of_ones_own_table_ranks_in_python_and_in_psql(
    engine: Engine, module_url: str
) -> None:
    repo = MemoryRepository(engine)
    numbers = ["40", "100", "1e400", "-3", "NaN", "Infinity", None]
    ids = repo.add_many("ada", [plain(f"page {number}") for number in numbers])
    repo.teams.add("red", plain("of the team"))
    repo.add("bob", plain("no row"))
    with engine.begin() as connection:
        for id_, number in zip(ids, numbers, strict=True):
            connection.execute(
                text('INSERT INTO "their own"."page views" VALUES (:agent, :id, :number)'),
                {"agent": "ada", "id": id_, "number": number},
            )
    half = Profile("half", {VIEWS: 0.5, Similarity(missing=1): 0.5})
    installed(engine, half)
    wanted = {
        "page 40": 0.4,
        "page 100": 1.0,
        "page 1e400": 1.0,
        "page -3": 0.0,
        **dict.fromkeys(("page NaN", "page Infinity", "page None", "of the team"), 0.3),
    }
    with psycopg.connect(module_url, row_factory=dict_row) as connection:
        rows = recall(connection, "half", "ada", query=None, teams=["red"])

    hits = repo.search("ada", profile=half, teams=["red"], touch=False)

    assert {hit.memory.content: hit.signals["views"] for hit in hits} == wanted
    assert [row["id"] for row in rows] == [hit.memory.id for hit in hits]
    assert [row["signals"] for row in rows] == [hit.signals for hit in hits]
    explained = repo.explain("ada", ids[0], profile=half)
    assert [one.value for one in explained.signals] == [0.4, 1.0]
    assert repo.explain("bob", repo.list("bob")[0].id, profile=half).signals[0].value == 0.3


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "views: there is no table 'public.beside'; create it"),
        ("agent_id text, memory_id uuid", "'n' of 'public.beside' is missing; it must be smallint"),
        ("agent_id text, n int, PRIMARY KEY (agent_id)", "the column 'memory_id' .* is missing"),
        ("agent_id text, memory_id text, n int", "'memory_id' .* is text; it must be uuid"),
        ("agent_id text, memory_id uuid, n text", "'n' .* is text; it must be smallint"),
        ("agent_id text, memory_id uuid, n real", "has no index that begins with agent_id and"),
    ],
)
def test_a_table_that_cannot_be_joined_is_refused_by_name(
    engine: Engine, table: str, message: str
) -> None:
    signal = Attribute(name="views", table="beside", column="n")
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE IF EXISTS public.beside"))
        if table:
            connection.execute(text(f"CREATE TABLE public.beside ({table})"))

    with pytest.raises(InvalidProfile, match=message):
        installed(engine, alone(signal, "refused"))


def test_several_rows_of_a_memory_count_as_the_greatest_and_the_scorer_agrees(
    engine: Engine,
) -> None:
    """An index that begins with the key need not be unique."""
    dice = random.Random("rows")
    repo = MemoryRepository(engine)
    ids = repo.add_many("cleo", [plain(f"page {n}") for n in range(60)])
    rows = [(id_, dice.uniform(0, 10)) for id_ in ids[5:] for _ in range(dice.randint(0, 3))]
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE IF EXISTS public.beside"))
        connection.execute(
            text("CREATE TABLE public.beside (agent_id varchar, memory_id uuid, n float8)")
        )
        connection.execute(text("CREATE INDEX ON public.beside (memory_id, agent_id)"))
        connection.execute(
            text("INSERT INTO public.beside VALUES ('cleo', :id, :n), ('other', :id, 99)"),
            [{"id": id_, "n": number} for id_, number in rows],
        )
    signal = Attribute(
        name="views", table="beside", column="n", least=1, most=9, falling=True, missing=0.4
    )
    installed(engine, alone(signal))
    greatest = {id_: max((n for one, n in rows if one == id_), default=None) for id_ in ids}

    found = {hit.memory.id: hit.score for hit in repo.search("cleo", profile=alone(signal), k=60)}

    scored = {
        id_: score(alone(signal), {"attributes": {"views": number}}).score
        for id_, number in greatest.items()
    }
    assert found == pytest.approx(scored, abs=1e-12)
    assert len({*found.values()}) > 20


def test_a_table_s_row_level_security_applies_to_the_caller(engine: Engine) -> None:
    repo = MemoryRepository(engine)
    id_ = repo.add("dora", plain("page"))
    with engine.begin() as connection:
        for statement in (
            "CREATE TABLE public.guarded (agent_id text, memory_id uuid, n int,"
            " PRIMARY KEY (agent_id, memory_id))",
            f"INSERT INTO public.guarded VALUES ('dora', '{id_}', 1)",
            "ALTER TABLE public.guarded ENABLE ROW LEVEL SECURITY",
            "CREATE ROLE attribute_reader",
            "GRANT USAGE ON SCHEMA pgrecall TO attribute_reader",
            "GRANT SELECT ON ALL TABLES IN SCHEMA pgrecall, public TO attribute_reader",
            "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pgrecall TO attribute_reader",
        ):
            connection.execute(text(statement))
    signal = Attribute(name="views", table="guarded", column="n")
    try:
        with engine.connect() as connection:
            seen = MemoryRepository(connection).search("dora", profile=alone(signal), touch=False)
            connection.execute(text("SET LOCAL ROLE attribute_reader"))
            hidden = MemoryRepository(connection).search("dora", profile=alone(signal), touch=False)
            connection.rollback()
    finally:
        with engine.begin() as connection:
            connection.execute(text("DROP OWNED BY attribute_reader"))
            connection.execute(text("DROP ROLE attribute_reader"))

    assert [values(seen), values(hidden)] == [{"page": 1.0}, {"page": 0.0}]


def test_evaluations_rank_by_it_and_tune_finds_its_weight(engine: Engine) -> None:
    """The answers are those that a table beside knows."""
    repo = MemoryRepository(engine)
    ids = repo.add_many("eve", [NewMemory(f"n{n}", embedding=at(6 * n)) for n in range(60)])
    with engine.begin() as connection:
        for statement in (
            "CREATE TABLE public.known (agent_id text, memory_id uuid, n int,"
            " PRIMARY KEY (agent_id, memory_id))",
            *(f"INSERT INTO public.known VALUES ('eve', '{id_}', 1)" for id_ in ids[-6:]),
        ):
            connection.execute(text(statement))
    signal = Attribute(name="known", table="known", column="n")
    halves = Profile("halves", {Similarity(): 0.5, signal: 0.5})
    queries = [JudgedQuery(at(n), ids[-6:]) for n in range(120, 240)]

    evaluated = repo.evaluation.evaluate("eve", queries, profiles=[halves], k=6)

    tuned = repo.evaluation.tune(
        "eve", queries, start=halves.with_weights(similarity=0.99, known=0.01)
    )
    recalls = {one.profile.name: one.overall.means["recall"] for one in evaluated.compared}
    assert recalls["halves"] > 0.9 > recalls["similarity alone"]
    assert tuned.proposed is not None
    assert tuned.proposed.weights["known"] > 0.1


@pytest.mark.parametrize("analysed", [False, True])
def test_each_memory_is_looked_up_by_its_key(engine: Engine, analysed: bool) -> None:
    repo = MemoryRepository(engine)
    repo.add_many(f"gil {analysed}", [plain(f"page {n}") for n in range(3_000)])
    with engine.begin() as connection:
        for statement in (
            "DROP TABLE IF EXISTS public.keyed",
            "CREATE TABLE public.keyed (agent_id text, memory_id uuid, n int,"
            " PRIMARY KEY (agent_id, memory_id))",
            "INSERT INTO public.keyed SELECT agent_id, id, 1 FROM pgrecall.agent_memories",
            *(["ANALYZE public.keyed"] if analysed else []),
        ):
            connection.execute(text(statement))
    profile = alone(Attribute(name="views", table="keyed", column="n"))

    plan = repo.plan(f"gil {analysed}", profile=profile).plan

    scans = {
        line.strip(" ->").split("  ")[0] for line in plan.split("\n") if " on public.k" in line
    }
    assert {scan.split(" on ")[0] for scan in scans} == {"Index Scan using keyed_pkey"}
    assert "attribute_value(" not in plan
