"""The most telling terms of an agent: by the repository, the command and the view."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import psycopg.sql
import pytest
from sqlalchemy import create_engine

from pgrecall import MemoryRepository, NewMemory
from pgrecall.embedders import LocalEmbedder
from pgrecall.errors import InputError
from tests.conftest import new_database
from tests.integration.commands import CONTROLS, EVIL, Run, fast_runner
from tests.integration.conftest import RepositoryOf
from tests.integration.support import NORTH

EXACT = 1e-12
WORDS = ("tea", "milk", "rain", "fog", "tram", "port", "sardin", "tower")
"""As English leaves them."""
STOP = ("the", "of", "and")


@pytest.fixture(scope="module")
def url(server_url: str, template: str) -> Iterator[str]:
    with new_database(server_url, template) as made:
        yield made


@pytest.fixture(scope="module")
def repo(url: str) -> Iterator[MemoryRepository]:
    engine = create_engine(url)
    yield MemoryRepository(engine)
    engine.dispose()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str) -> Run:
    return fast_runner(monkeypatch, capsys, url, LocalEmbedder())


def memories(texts: Sequence[str]) -> list[NewMemory]:
    return [NewMemory(text, embedding=NORTH) for text in texts]


def texts_of(seed: str, count: int) -> list[str]:
    dice = random.Random(seed)
    weights = range(1, len(WORDS) + 1)
    return [
        f"{' '.join([*dice.choices(WORDS, weights, k=dice.randint(0, 4)), dice.choice(STOP)])} x{n}"
        for n in range(count)
    ]


def expected(texts: Sequence[str]) -> list[tuple[str, int, float, float]]:
    """Term, memories, weight, telling: in Python alone."""
    counts = Counter(word for text in texts for word in set(text.split()) - set(STOP))
    total = len(texts)
    found = []
    for term, n in counts.items():
        weight = math.log(1 + (total - n + 0.5) / (n + 0.5))
        found.append((term, n, weight, n / total * weight))
    return sorted(found, key=lambda one: (-round(one[3], 12), one[0]))


def told(terms: Any) -> list[tuple[str, int, float, float]]:
    return [(one.term, one.memories, one.weight, one.telling) for one in terms]


def assert_told(found: Any, wanted: Sequence[tuple[str, int, float, float]]) -> None:
    assert [one[:2] for one in found] == [one[:2] for one in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one[2:] == pytest.approx(other[2:], abs=EXACT)


@pytest.mark.parametrize("size", [1, 2, 3, 80])
def test_terms_are_counted_weighed_and_ordered(
    repo: MemoryRepository, agent: str, size: int
) -> None:
    texts = texts_of(f"{agent} {size}", size)
    repo.add_many(agent, memories(texts))

    assert_told(told(repo.telling_terms(agent, limit=10_000)), expected(texts))
    assert_told(told(repo.telling_terms(agent, limit=3)), expected(texts)[:3])


def test_every_kind_of_repository_tells_the_same(
    repository_of: RepositoryOf, url: str, repo: MemoryRepository, agent: str
) -> None:
    repo.add_many(agent, memories(texts_of("kinds", 30)))

    assert repository_of(url).telling_terms(agent) == repo.telling_terms(agent)


def test_memories_of_every_status_count_and_deleted_ones_do_not(
    repo: MemoryRepository, agent: str
) -> None:
    texts = [f"tea w{n}" for n in range(6)]
    ids = repo.add_many(agent, memories(texts))
    repo.invalidate(agent, ids[0])
    repo.supersede(agent, ids[1], NewMemory("milk", embedding=NORTH))
    repo.delete(agent, [ids[2]])
    repo.update(agent, ids[3], content="fog w3", embedding=NORTH)

    left = [texts[0], texts[1], "fog w3", texts[4], texts[5], "milk"]
    assert_told(told(repo.telling_terms(agent)), expected(left))


def test_a_word_counts_once_for_a_memory_however_often_it_stands_there(
    repo: MemoryRepository, agent: str
) -> None:
    repo.add_many(agent, memories(["Tea, TEA, téa and teas!", "rain"]))

    assert told(repo.telling_terms(agent))[0][:2] == ("rain", 1)
    assert {one.term: one.memories for one in repo.telling_terms(agent)} == {"tea": 1, "rain": 1}


@pytest.mark.parametrize("texts", [[], ["the of and"], ["!!!", "\U0001f600"]], ids=str)
def test_without_words_there_are_no_terms(
    repo: MemoryRepository, agent: str, run: Run, texts: list[str]
) -> None:
    repo.add_many(agent, memories(texts))

    assert repo.telling_terms(agent) == []
    shown, as_json = run("terms", "-a", agent), run("terms", "-a", agent, "--json")
    assert (shown.code, shown.out.strip()) == (0, "no words")
    assert (as_json.code, as_json.out) == (0, "")


def test_an_agent_and_a_team_of_one_name_and_others_are_kept_apart(
    repo: MemoryRepository, agent: str, url: str
) -> None:
    own, theirs = texts_of("own", 20), texts_of("theirs", 35)
    repo.add_many(agent, memories(own))
    repo.teams.add_many(agent, memories(theirs))
    repo.add_many(f"{agent}x", memories(texts_of("other", 15)))

    assert_told(told(repo.telling_terms(agent, limit=100)), expected(own))
    assert_told(told(repo.teams.telling_terms(agent, limit=100)), expected(theirs))
    query = (
        "SELECT term, memories, weight, telling FROM pgrecall.telling_terms "
        "WHERE agent_id = %s ORDER BY telling DESC, term"
    )
    with psycopg.connect(url) as connection:
        for owner_id, texts in ((agent, own), (f"team:{agent}", theirs)):
            assert_told(connection.execute(query, (owner_id,)).fetchall(), expected(texts))


HOSTILE = ["'; DROP TABLE x; --", "a%b", "_", "100%", 'q"q', "\\", " ", "ünï", "%s", ":name"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_of_an_agent_is_only_a_name(
    repo: MemoryRepository, run: Run, name: str
) -> None:
    repo.add(name, NewMemory("tea", embedding=NORTH))

    assert [one.term for one in repo.telling_terms(name)] == ["tea"]
    [record] = run("terms", "-a", name, "--json").records
    assert (record["term"], record["memories"]) == ("tea", 1)


@pytest.mark.parametrize("limit", [0, -1, 10_001, 1.5, True, None, "5"])
def test_a_limit_out_of_bounds_is_refused(repo: MemoryRepository, limit: Any) -> None:
    with pytest.raises(InputError, match="limit"):
        repo.telling_terms("agent", limit=limit)


@pytest.mark.parametrize("name", ["", None, 3, "a\0b"])
def test_an_agent_that_cannot_be_is_refused(repo: MemoryRepository, name: Any) -> None:
    with pytest.raises(InputError, match="agent_id"):
        repo.telling_terms(name)


def test_the_limits_at_the_bounds_are_taken(repo: MemoryRepository, agent: str) -> None:
    repo.add(agent, NewMemory(" ".join(f"w{n}" for n in range(10_050)), embedding=NORTH))

    assert len(repo.telling_terms(agent)) == 20
    assert len(repo.telling_terms(agent, limit=1)) == 1
    assert len(repo.telling_terms(agent, limit=10_000)) == 10_000


# The command


def test_the_command_tells_the_same_as_json(run: Run, repo: MemoryRepository, agent: str) -> None:
    texts = texts_of("json", 40)
    repo.add_many(agent, memories(texts))
    repo.teams.add_many(agent, memories(texts[:7]))

    for options, wanted in (
        ((), expected(texts)[:20]),
        (("-n", 2), expected(texts)[:2]),
        (("--limit", 10_000), expected(texts)),
        (("--of-team", "-n", 4), expected(texts[:7])[:4]),
    ):
        done = run("terms", "--agent", agent, "--json", *options)
        assert done.code == 0, done.err
        assert [list(record) for record in done.records[:1]] == [
            ["term", "memories", "weight", "telling"]
        ]
        assert_told([tuple(record.values()) for record in done.records], wanted)
        assert all(json.dumps(record) for record in done.records)


def test_the_command_prints_a_table(run: Run, repo: MemoryRepository, agent: str) -> None:
    repo.add_many(agent, memories(["tea w1", "tea w2", "w3"]))

    done = run("terms", "-a", agent)

    assert done.code == 0
    weight = math.log(1 + 1.5 / 2.5)
    [line] = [line for line in done.out.splitlines() if line.split()[0] == "tea"]
    assert all(part in line for part in ("2", f"{weight:.3f}", f"{weight * 2 / 3:.3f}"))


@pytest.mark.parametrize("limit", ["0", "-3", "10001", "many"])
def test_a_limit_out_of_bounds_is_bad_input_of_the_command(run: Run, limit: str) -> None:
    done = run("terms", "-a", "agent", "--limit", limit)

    assert done.code == 2
    assert done.out == ""
    assert "limit" in done.err


def test_what_words_hold_does_nothing_to_the_terminal(
    run: Run, repo: MemoryRepository, agent: str
) -> None:
    repo.add(agent, NewMemory(f"{EVIL} host[bold].org/x[/nothing]", embedding=NORTH))

    done = run("terms", "-a", agent)

    assert done.code == 0, done.err
    assert not CONTROLS & set(done.out)
    assert "evil" in done.out


# The view


def test_the_view_of_one_agent_does_not_read_the_memories_of_others(
    repo: MemoryRepository, url: str, agent: str
) -> None:
    """By its plan: what is asked for reaches the tables."""
    repo.add_many(agent, memories(texts_of("plan", 20)))
    with psycopg.connect(url) as connection:
        query = "EXPLAIN (COSTS OFF) SELECT * FROM pgrecall.telling_terms WHERE agent_id = {}"
        explained = connection.execute(psycopg.sql.SQL(query).format(psycopg.sql.Literal(agent)))
        plan = "\n".join(row[0] for row in explained)

    assert plan.count(f"agent_id = '{agent}'") >= 2
