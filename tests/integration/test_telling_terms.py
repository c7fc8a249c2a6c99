"""The most telling terms of an agent: by the repository, the command and the view."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.errors import InputError
from tests.integration.commands import CONTROLS, EVIL, Run, fast_runner
from tests.integration.support import NORTH

EXACT = 1e-12
WORDS = ("tea", "milk", "rain", "fog", "tram", "port", "sardin", "tower")
"""As English leaves them."""
STOP = ("the", "of", "and")
Told = Sequence[tuple[str, int, float, float]]


@pytest.fixture(scope="module")
def repo(module_engine: Engine) -> MemoryRepository:
    return MemoryRepository(module_engine)


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    module_url: str,
    local_embedder: LocalEmbedder,
) -> Run:
    return fast_runner(monkeypatch, capsys, module_url, local_embedder)


def memories(texts: Sequence[str]) -> list[NewMemory]:
    return [NewMemory(text, embedding=NORTH) for text in texts]


def texts_of(seed: str, count: int) -> list[str]:
    dice = random.Random(seed)
    weights = range(1, len(WORDS) + 1)
    return [
        f"{' '.join([*dice.choices(WORDS, weights, k=dice.randint(0, 4)), dice.choice(STOP)])} x{n}"
        for n in range(count)
    ]


def expected(texts: Sequence[str]) -> Told:
    """Term, memories, weight, telling: in Python alone."""
    counts = Counter(word for text in texts for word in set(text.split()) - set(STOP))
    total = len(texts)
    found = []
    for term, n in counts.items():
        weight = math.log(1 + (total - n + 0.5) / (n + 0.5))
        found.append((term, n, weight, n / total * weight))
    return sorted(found, key=lambda one: (-round(one[3], 12), one[0]))


def told(terms: Any) -> Told:
    return [(one.term, one.memories, one.weight, one.telling) for one in terms]


def assert_told(found: Any, wanted: Told) -> None:
    assert [one[:2] for one in found] == [one[:2] for one in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one[2:] == pytest.approx(other[2:], abs=EXACT)


def test_terms_are_counted_weighed_and_ordered(repo: MemoryRepository, agent: str) -> None:
    for size in (1, 2, 3, 80):
        texts = texts_of(f"{agent} {size}", size)
        repo.add_many(f"{agent} {size}", memories(texts))
        for limit in (3, 10_000):
            found = repo.upkeep.telling_terms(f"{agent} {size}", limit=limit)
            assert_told(told(found), expected(texts)[:limit])
    repo.add(agent, NewMemory(" ".join(f"w{n}" for n in range(10_050)), embedding=NORTH))
    assert len(repo.upkeep.telling_terms(agent)) == 20
    assert len(repo.upkeep.telling_terms(agent, limit=10_000)) == 10_000


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
    assert_told(told(repo.upkeep.telling_terms(agent)), expected(left))


def test_a_word_counts_once_for_a_memory_however_often_it_stands_there(
    repo: MemoryRepository, agent: str
) -> None:
    repo.add_many(agent, memories(["Tea, TEA, téa and teas!", "rain"]))

    found = repo.upkeep.telling_terms(agent)

    assert [(one.term, one.memories) for one in found] == [("rain", 1), ("tea", 1)]


def test_without_words_there_are_no_terms(repo: MemoryRepository, agent: str, run: Run) -> None:
    repo.add_many(agent, memories(["the of and", "!!!", "\U0001f600"]))

    for name in (agent, "nobody"):
        assert repo.upkeep.telling_terms(name) == []
        shown, as_json = run("terms", "-a", name), run("terms", "-a", name, "--json")
        assert (shown.code, shown.out.strip()) == (0, "no words")
        assert (as_json.code, as_json.out) == (0, "")


def test_an_agent_and_a_team_of_one_name_and_others_are_kept_apart(
    repo: MemoryRepository, agent: str, module_url: str
) -> None:
    """Whatever they are called; and the plan of the view reaches the tables by the owner."""
    for name in (agent, "'; DROP TABLE x; --", "100% %s :name", '_q"q\\ ünï'):
        own, theirs = texts_of("own", 20), texts_of("theirs", 35)
        repo.add_many(name, memories(own))
        repo.teams.add_many(name, memories(theirs))
        repo.add_many(f"{name}x", memories(texts_of("other", 15)))

        assert_told(told(repo.upkeep.telling_terms(name, limit=100)), expected(own))
        assert_told(told(repo.teams.upkeep.telling_terms(name, limit=100)), expected(theirs))
        query = sql.SQL(
            "SELECT term, memories, weight, telling FROM pgrecall.telling_terms "
            "WHERE agent_id = {} ORDER BY telling DESC, term"
        )
        with psycopg.connect(module_url) as connection:
            for owner_id, texts in ((name, own), (f"team:{name}", theirs)):
                asked = query.format(owner_id)
                assert_told(connection.execute(asked).fetchall(), expected(texts))
            explained = connection.execute(sql.SQL("EXPLAIN ") + query.format(agent)).fetchall()
            plan = "\n".join(row[0] for row in explained)
            assert plan.count(f"agent_id = '{agent}'") >= 2


def test_what_cannot_be_is_refused(repo: MemoryRepository, run: Run) -> None:
    limits: list[Any] = [0, -1, 10_001, 1.5, True, None, "5"]
    for limit in limits:
        with pytest.raises(InputError, match="limit"):
            repo.upkeep.telling_terms("agent", limit=limit)
    names: list[Any] = ["", None, 3, "a\0b"]
    for name in names:
        with pytest.raises(InputError, match="agent_id"):
            repo.upkeep.telling_terms(name)
    for told in ("0", "10001", "many"):
        done = run("terms", "-a", "agent", "--limit", told)
        assert (done.code, done.out) == (2, "")
        assert "limit" in done.err


def test_the_command_tells_the_same_as_json_and_as_a_table(
    run: Run, repo: MemoryRepository, agent: str
) -> None:
    texts = texts_of("json", 40)
    repo.add_many(agent, memories(texts))
    repo.teams.add_many(agent, memories(texts[:7]))

    for options, wanted in (
        ((), expected(texts)[:20]),
        (("--limit", 10_000), expected(texts)),
        (("--of-team", "-n", 4), expected(texts[:7])[:4]),
    ):
        done = run("terms", "--agent", agent, "--json", *options)
        assert done.code == 0, done.err
        assert list(done.records[0]) == ["term", "memories", "weight", "telling"]
        assert_told([tuple(record.values()) for record in done.records], wanted)

    shown = run("terms", "-a", agent)
    term, count, weight, telling = expected(texts)[0]
    [line] = [line for line in shown.out.splitlines() if line.split()[0] == term]
    assert all(part in line for part in (str(count), f"{weight:.3f}", f"{telling:.3f}"))

    repo.add(EVIL, NewMemory(f"{EVIL} host[bold].org/x[/nothing]", embedding=NORTH))
    evil = run("terms", "-a", EVIL)
    assert evil.code == 0, evil.err
    assert not CONTROLS & set(evil.out)
    assert "evil" in evil.out
