"""recall by words and the text filter in psql, against the repository's search."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import NullPool, create_engine

from pgrecall import Label, MemoryRepository, NewMemory, Profile, profiles
from pgrecall.embedders import LocalEmbedder
from pgrecall.signals import Importance, Keyword, Similarity
from tests.conftest import DIMENSIONS, new_database
from tests.integration.commands import fast_runner
from tests.integration.recalling import recall
from tests.integration.support import NOW, before

EXACT = 1e-12
AGENT, TEAMS = "agent", ["red", "blue"]
WORDS = ("tea", "milk", "café", "fire", "great", "rain", "dancing", "Zoë", "1,000", "the", "東京")
Connection = psycopg.Connection[dict[str, Any]]


@dataclass(frozen=True)
class World:
    repository: MemoryRepository
    connection: Connection
    url: str


def random_memory(dice: random.Random, number: int) -> NewMemory:
    def maybe(value: Any, chance: float = 0.5) -> Any:
        return value if dice.random() < chance else None

    return NewMemory(
        f"{' '.join(dice.choices(WORDS, k=dice.randint(0, 6)))} no{number}",
        embedding=maybe([float(dice.randint(-5, 5)) or 1.0 for _ in range(DIMENSIONS)], 0.9),
        created_at=maybe(before(dice.uniform(-20, 300)), 0.9),
        memory_type=dice.choice(["episodic", "task", "note"]),
        tier=dice.choice(["short", "medium", "long"]),
        tags=dice.sample(["a", "b", "c"], dice.randint(0, 3)),
        entities=dice.sample(["Ann", "Bob"], dice.randint(0, 2)),
        metadata={"n": dice.randint(0, 2)},
        importance=dice.random(),
        trust=maybe(dice.random()),
        component=maybe("hunter"),
        output_type=maybe("action"),
        domain=maybe("law"),
        category=maybe("x"),
        loop=maybe("inner"),
        compliant=dice.choice([None, True, False]),
        valid_from=maybe(before(dice.uniform(-20, 100)), 0.1),
        expires_at=maybe(before(dice.uniform(-200, 20)), 0.1),
    )


@pytest.fixture(scope="module")
def world(server_url: str, template: str) -> Iterator[World]:
    dice = random.Random("recall hybrid")
    with new_database(server_url, template) as url:
        engine = create_engine(url)
        repo = MemoryRepository(engine)
        for among, owner, size in (
            (repo, AGENT, 300),
            (repo, "red", 40),
            (repo.teams, "red", 90),
            (repo.teams, "blue", 50),
        ):
            memories = [random_memory(dice, number) for number in range(size)]
            ids = among.add_many(owner, memories, check_compliance=False)
            for id_ in ids[::9]:
                among.label(owner, id_, [Label("porto", "concept")])
            for id_ in ids[::11]:
                among.invalidate(owner, id_)
        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
            yield World(repo, connection, url)
        engine.dispose()


def assert_same(
    world: World, profile: Profile, *, query: Any, weights: Any = None, **arguments: Any
) -> int:
    """The repository's search and the function tell the same rows; returns how many."""
    asked: dict[str, Any] = {"as_of": NOW, "k": 25} | arguments
    hits = world.repository.search(
        AGENT, query, profile=profile, weights=weights, touch=False, strategy="exact", **asked
    )
    rows = recall(world.connection, profile.name, AGENT, query=query, weights=weights, **asked)

    assert [row["id"] for row in rows] == [hit.memory.id for hit in hits]
    for row, hit in zip(rows, hits, strict=True):
        assert row["score"] == pytest.approx(hit.score, abs=EXACT)
        assert row["similarity"] == pytest.approx(hit.similarity, abs=EXACT)
        assert row["agent_id"] == hit.memory.owner_id
        assert (row["content"], row["created_at"]) == (hit.memory.content, hit.memory.created_at)
        assert row["signals"] == pytest.approx(hit.signals, abs=EXACT)
    return len(rows)


QUERY = [3.0, -1.0, 2.0, 1.0, -4.0, 1.0, 2.0, -2.0]
ARGUMENTS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "teams": {"teams": TEAMS},
    "a team named twice": {"teams": ["red", "red"]},
    "a team that is none": {"teams": ["nobody"]},
    "no as_of of long ago": {"as_of": before(60)},
    "all": {"k": 1_000, "teams": TEAMS},
    "one": {"k": 1},
    "min_score": {"min_score": 0.3, "teams": TEAMS},
    "min_similarity": {"min_similarity": 0.2},
    "memory_types": {"memory_types": ["task", "note"]},
    "tiers": {"tiers": ["short"]},
    "tags": {"tags": ["a"], "teams": TEAMS},
    "all_tags": {"all_tags": ["a", "b"]},
    "entities": {"entities": ["Ann"]},
    "all_entities": {"all_entities": ["Ann", "Bob"]},
    "labels": {"labels": ["porto"], "label_kinds": ["concept"], "teams": TEAMS},
    "metadata": {"metadata": {"n": 1}},
    "created": {"created_after": before(200), "created_before": before(20)},
    "components": {"components": ["hunter"]},
    "output_types": {"output_types": ["action"]},
    "domains": {"domains": ["law"]},
    "categories": {"categories": ["x"]},
    "loops": {"loops": ["inner"]},
    "compliant": {"compliant": True},
    "min_trust": {"min_trust": 0.3},
    "trust as stored": {"min_trust": 0.3, "apply_decay": False},
    "statuses": {"statuses": ["active", "archived"]},
    "include_invalid": {"include_invalid": True, "teams": TEAMS},
    "text": {"text": '"great fire" or zoe -rain', "teams": TEAMS},
    "several": {"text": "tea", "tags": ["b", "c"], "teams": ["blue"], "min_similarity": 0.0},
}
each_arguments = pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=list(ARGUMENTS))


@each_arguments
@pytest.mark.parametrize("with_vector", [True, False], ids=["vector", "words_alone"])
def test_recall_tells_what_the_search_tells(
    world: World, arguments: dict[str, Any], with_vector: bool
) -> None:
    if not with_vector and "min_similarity" in arguments:
        arguments = {k: v for k, v in arguments.items() if k != "min_similarity"}

    found = assert_same(
        world,
        profiles.hybrid,
        query=QUERY if with_vector else None,
        query_text="a great cafe for Zoë's dance",
        **arguments,
    )

    assert found >= 1


QUERY_TEXTS = {
    "absent": {},
    "NULL": {"query_text": None},
    "empty": {"query_text": ""},
    "stop words": {"query_text": "the and of"},
    "unknown": {"query_text": "xyzzy"},
    "known and unknown": {"query_text": "tea xyzzy"},
    "repeated": {"query_text": "tea tea TEA téa milk"},
    "operators": {"query_text": "tea & !milk | (fire <-> 'rain') :* \\ \" -great"},
    "chinese": {"query_text": "東京"},
    "number": {"query_text": "1000"},
    "very long": {"query_text": "tea " + " ".join(f"w{n}" for n in range(3_000)) + " milk"},
    "sql": {"query_text": "'); DROP TABLE pgrecall.agent_memories; -- tea"},
    "$recall$": {"query_text": "$recall$ tea $$"},
}


@pytest.mark.parametrize("asked", QUERY_TEXTS.values(), ids=list(QUERY_TEXTS))
def test_every_text_of_a_query_means_the_same_in_psql(world: World, asked: dict[str, Any]) -> None:
    assert assert_same(world, profiles.hybrid, query=QUERY, teams=TEAMS, **asked) == 25


@pytest.mark.parametrize("asked", [None, "", "the and of", "!!!", "xyzzy"])
def test_a_text_without_known_words_leaves_the_signal_at_0(world: World, asked: str | None) -> None:
    rows = recall(
        world.connection, "hybrid", AGENT, query=QUERY, query_text=asked, teams=TEAMS, k=1_000
    )

    assert {row["signals"]["keyword"] for row in rows} == {0.0}
    assert len(rows) > 100


def test_vector_text_and_profile_come_after_the_agent(world: World) -> None:
    call = "SELECT * FROM pgrecall.recall('agent', %s, 'tea', 'hybrid', 5)"
    rows = world.connection.execute(call, (str(QUERY),)).fetchall()

    named = recall(world.connection, "hybrid", AGENT, query_text="tea", query=QUERY, k=5)
    assert [row["id"] for row in rows] == [row["id"] for row in named]


@pytest.mark.parametrize(
    "weights",
    [
        {"keyword": 1.0},
        {"keyword": 0.5, "similarity": 0.5},
        {"similarity": 0.9, "importance": 0.1},
        {"keyword": 1e-12, "similarity": 1 - 1e-12},
    ],
    ids=str,
)
def test_other_weights_rank_alike(world: World, weights: dict[str, float]) -> None:
    assert_same(
        world, profiles.hybrid, query=QUERY, query_text="great tea", weights=weights, teams=TEAMS
    )


@pytest.mark.parametrize("weight", [-0.1, 1e-13, 2, None, "1"], ids=str)
def test_a_weight_of_words_that_is_none_is_refused(world: World, weight: object) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="the weight of keyword must"):
        recall(world.connection, "hybrid", AGENT, query_text="tea", weights={"keyword": weight})


def test_an_agent_and_a_team_of_one_name_weigh_words_each_for_itself(world: World) -> None:
    arguments: dict[str, Any] = {"query_text": "tea fire", "k": 1_000, "as_of": NOW}
    own = recall(world.connection, "hybrid", "red", **arguments)
    both = recall(world.connection, "hybrid", "red", teams=["red"], **arguments)

    assert [r for r in both if r["agent_id"] == "red"] == own
    shares = {
        tuple(sorted({r["signals"]["keyword"] for r in both if r["agent_id"] == owner}))
        for owner in ("red", "team:red")
    }
    assert len(shares) == 2


# The text filter


FILTERS = {
    "word": "tea",
    "all of several": "tea milk",
    "or": "tea or fire",
    "phrase": '"great fire"',
    "without": "tea -milk",
    "only without": "-tea",
    "accents": "cafe ZOE",
    "number": '"1000"',
    "cjk": "東京",
    "stop words": "the of",
    "empty": "",
    "signs": "!!! & | :* <->",
    "unclosed": '"great fire',
    "operators": "tea & !milk | (fire)",
    "unknown": "xyzzy",
    "quotes": "'tea' \\ 'milk",
}


@pytest.mark.parametrize("text", FILTERS.values(), ids=list(FILTERS))
@pytest.mark.parametrize("name", profiles.BUILT_IN)
def test_the_text_filter_is_that_of_the_search_in_every_function(
    world: World, name: str, text: str
) -> None:
    found = assert_same(world, profiles.named(name), query=QUERY, text=text, teams=TEAMS, k=1_000)

    everything = len(
        recall(world.connection, name, AGENT, as_of=NOW, teams=TEAMS, k=1_000, query=QUERY)
    )
    if text in ("the of", "", "!!! & | :* <->"):
        assert found == everything
    elif text == "xyzzy":
        assert found == 0
    else:
        assert 0 < found < everything


@pytest.mark.parametrize("name", profiles.BUILT_IN)
def test_a_text_filter_of_null_is_none(world: World, name: str) -> None:
    without = recall(world.connection, name, AGENT, k=1_000, as_of=NOW)

    assert recall(world.connection, name, AGENT, k=1_000, as_of=NOW, text=None) == without


# Profiles of one's own


MINE = Profile("my_words", {Keyword(): 0.7, Similarity(missing=0.25): 0.2, Importance(): 0.1})
WORDS_ALONE = Profile("words_alone", {Keyword(): 1.0})


@pytest.mark.parametrize("profile", [MINE, WORDS_ALONE], ids=lambda profile: str(profile.name))
def test_a_profile_of_one_s_own_installed_by_the_command_ranks_alike(
    world: World,
    profile: Profile,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "mine.toml"
    profiles.save(profile, file)
    assert profiles.load(file) == profile
    run = fast_runner(monkeypatch, capsys, world.url, LocalEmbedder())

    for _ in range(2):  # again replaces it
        done = run("profiles", "install", file)
        assert done.code == 0, done.err

    for teams in ([], TEAMS):
        found = assert_same(
            world, profile, query=QUERY, query_text="great tea", text="-rain", teams=teams
        )
        assert found == 25


@pytest.mark.parametrize("search_path", ["", "elsewhere, public"])
def test_what_the_caller_s_search_path_holds_does_no_harm(own_url: str, search_path: str) -> None:
    repo = MemoryRepository(create_engine(own_url, poolclass=NullPool))
    repo.add(AGENT, NewMemory("great tea", embedding=QUERY))
    with psycopg.connect(own_url, autocommit=True, row_factory=dict_row) as connection:
        connection.execute("CREATE SCHEMA elsewhere")
        for schema in ("elsewhere", "pg_temp"):
            connection.execute(
                f"CREATE TABLE {schema}.agent_memories (agent_id text, id uuid, "
                "terms tsvector)".encode()
            )
            connection.execute(
                f"CREATE FUNCTION {schema}.text_language() RETURNS regconfig LANGUAGE sql "
                "RETURN 'simple'::regconfig".encode()
            )
        connection.execute("SELECT set_config('search_path', %s, false)", (search_path,))
        connection.execute("SET default_text_search_config = 'german'")

        [row] = recall(connection, "hybrid", AGENT, query_text="the teas", text="the teas")

        assert row["signals"]["keyword"] == 1.0


def test_a_read_only_transaction_may_ask(world: World) -> None:
    with world.connection.transaction():
        world.connection.execute("SET TRANSACTION READ ONLY")
        assert recall(world.connection, "hybrid", AGENT, query_text="tea", k=3)
