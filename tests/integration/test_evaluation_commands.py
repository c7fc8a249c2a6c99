"""pgrecall evaluate and pgrecall tune: what they print and write, and what they end with."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from pgrecall import MemoryRepository, NewMemory, Profile, profiles
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.evaluation.queries_file import load_queries
from pgrecall.scoring.profile_file import as_values
from pgrecall.scoring.signals import Importance, Recency, Similarity, Usefulness
from tests.integration.commands import CONTROLS, EVIL, Run
from tests.integration.support import NOW, before

AGENT = "assistant"
WORDS = (
    *("tea", "milk", "harbour", "piano", "winter", "ticket", "garden", "engine", "doctor"),
    *("bread", "violin", "summer", "bicycle", "passport", "kitchen", "river", "teacher"),
)
AS_OF = ("--as-of", NOW.isoformat())
START = Profile(
    "start", {Similarity(): 0.2, Usefulness(): 0.1, Recency(half_life=30.0): 0.1, Importance(): 0.6}
)
PLANTED = START.with_weights(similarity=0.7, usefulness=0.1, recency=0.1, importance=0.1)


@dataclass(frozen=True)
class World:
    repo: MemoryRepository
    questions: list[dict[str, Any]]
    """Answered by what PLANTED ranks first."""


@pytest.fixture(scope="module")
def world(commands_url: str, local_embedder: LocalEmbedder) -> Iterator[World]:
    dice = random.Random("commands")
    memories = [
        NewMemory(
            f"{' '.join(dice.sample(WORDS, 4))} {number}",
            importance=dice.random(),
            usefulness=dice.random(),
            created_at=before(dice.uniform(0, 90)),
        )
        for number in range(60)
    ]
    engine = create_engine(commands_url)
    repo = MemoryRepository(engine, embedder=local_embedder)
    repo.add_many(AGENT, memories)
    questions = []
    for number in range(60):
        query = f"{' '.join(dice.sample(WORDS, 3))}?"
        hits = repo.search(AGENT, query, k=3, profile=PLANTED, as_of=NOW, touch=False)
        relevant = [str(hit.memory.id) for hit in hits]
        group = "odd" if number % 2 else "even"
        questions.append({"query": query, "relevant": relevant, "group": group})
    yield World(repo, questions)
    engine.dispose()


@pytest.fixture
def runs_on(commands_url: str) -> str:
    return commands_url


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    # A short search: how good what it finds is, test_tune tells.
    for name, value in (("BY_CHANCE", 12), ("ROUNDS_OF_EACH", 3), ("LAST_ROUNDS", 3)):
        monkeypatch.setattr(f"pgrecall.evaluation.weight_search.{name}", value)
    profiles.save(START, tmp_path / "start.toml")
    profiles.save(PLANTED, tmp_path / "planted.toml")
    return run


@pytest.fixture
def file(tmp_path: Path, world: World) -> Path:
    return written(tmp_path / "queries.jsonl", world.questions)


@pytest.fixture
def few(tmp_path: Path, world: World) -> Path:
    return written(tmp_path / "few.jsonl", world.questions[:20])


def written(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def asked_of(command: str, path: Path, *more: Any) -> tuple[Any, ...]:
    start = ("--start", "start.toml") if command == "tune" and "--start" not in more else ()
    return (command, path, "-a", AGENT, *start, *more, *AS_OF)


def test_evaluate_prints_a_table_for_all_and_for_each_group(run: Run, few: Path) -> None:
    asked = asked_of("evaluate", few, "-p", "trust,half_life", "-k", 3)
    shown, [record] = run(*asked), run(*asked, "--json").records

    assert shown.code == 0
    lines = [line.strip() for line in shown.out.splitlines()]
    titles = [line for line in lines if line.endswith((": 20", ": 10"))]
    assert titles == ["all queries: 20", "even: 10", "odd: 10"]
    for said in ("recall@3", "MRR", "nDCG@3", "± first"):
        assert said in shown.out
    assert not CONTROLS & set(shown.out)
    _, second = record["profiles"]
    mean, low, high = second["recall_difference"]
    line = next(line for line in lines if line.startswith("half_life"))
    assert f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]" in line
    assert f"{second['recall']:.3f}" in line
    assert f"{second['ndcg']:.3f}" in line
    first = [line.strip() for line in shown.out.split("even: 10")[0].splitlines()]
    names = [line.split("│")[0].strip() for line in first if "│" in line]
    assert names == ["trust", "half_life", "similarity alone", "keyword alone", "hybrid"]
    [rule] = [place for place, line in enumerate(first) if "┼" in line and place > 2]
    assert "similarity alone" in first[rule + 1]


def test_what_evaluate_tells_machines_is_the_repositorys_record(
    run: Run, few: Path, world: World
) -> None:
    asked: list[Any] = ["-p", "half_life, planted.toml ,hybrid,", "-k", 4, "--seed", 3]
    floors: dict[str, Any] = {"min_score": 0.3, "filter": {"similarity": {"$gte": 0.2}}}
    asked += ["--min-score", 0.3, "--filter", json.dumps(floors["filter"])]

    shown = run(*asked_of("evaluate", few, *asked, "--json"))

    ranked: list[Any] = ["half_life", profiles.load("planted.toml"), "hybrid"]
    found = world.repo.evaluation.evaluate(
        AGENT, load_queries(few, AGENT), profiles=ranked, k=4, seed=3, as_of=NOW, **floors
    )
    without = world.repo.evaluation.evaluate(
        AGENT, load_queries(few, AGENT), profiles=ranked, as_of=NOW
    )
    assert found.profiles[0].per_query["mrr"] != without.profiles[0].per_query["mrr"]
    assert shown.records == [found.record()]
    assert shown.out.count("\n") == 1


def test_queries_that_people_judged_are_evaluated_and_tuned_by(
    run: Run, world: World, agent: str
) -> None:
    ids = world.repo.add_many(agent, [NewMemory(f"{WORDS[n]} {n}") for n in range(12)])
    for n, memory in enumerate(ids):
        [said] = run("judge", memory, f"{WORDS[n]}?", "-a", agent, "--json").records
        assert said == {"id": str(memory), "answers": True, "changed": True}
    assert run("judge", ids[1], f"{WORDS[0]}?", "--answer", "no", "-a", agent).out == "judged\n"
    assert "so before" in run("judge", ids[1], f"{WORDS[0]}?", "--answer", "no", "-a", agent).out
    for answer in ("yes", "unknown"):
        assert run("judge", ids[2], "never mind", "--answer", answer, "-a", agent).code == 0
    assert run("judge", ids[2], "tea", "--answer", "perhaps", "-a", agent).code == 2

    [measured] = run("evaluate", "--judged", "-p", "hybrid", "--json", "-a", agent).records
    [tuned] = run("tune", "-a", agent, "--judged", "--folds", 3, "--json").records
    assert [measured["profiles"][0][name] for name in ("queries", "recall")] == [12, 1.0]
    assert tuned["held_out"]["profiles"][0]["queries"] == 12


NOT_BOTH = "give one of these: a file of judged queries, or --judged"
BAD: list[tuple[list[str], str]] = [
    (["evaluate"], NOT_BOTH),
    (["evaluate", "queries.jsonl", "--judged"], NOT_BOTH),
    (["evaluate", "--judged"], "no queries are judged for"),
    (["evaluate", "none.jsonl"], "none.jsonl is not a file"),
    (["evaluate", "queries.jsonl", "-p", "magic"], "unknown profile 'magic'"),
    (["evaluate", "queries.jsonl", "-p", "none.toml"], "none.toml cannot be read"),
    (["evaluate", "queries.jsonl", "-p", ","], "at least one profile"),
    (["evaluate", "queries.jsonl", "--as-of", "soon"], "--as-of"),
    (["evaluate", "bad.jsonl"], "bad.jsonl, line 1: not JSON"),
    (["tune"], NOT_BOTH),
    (["tune", "queries.jsonl", "--judged"], NOT_BOTH),
    (["tune", "none.jsonl"], "none.jsonl is not a file"),
    (["tune", "--judged"], "no queries are judged for"),
    (["tune", "queries.jsonl", "--start", "magic"], "unknown profile 'magic'"),
    (["tune", "queries.jsonl", "-o", "tuned.yaml"], "a profile file must end in .toml or .json"),
    (["tune", "queries.jsonl", "-o", "start.toml"], "start.toml already exists"),
    (["tune", "queries.jsonl", "--folds", "1"], "folds must lie within 2 and 100"),
    (["tune", "nine.jsonl"], "at least 10 judged queries, got 9"),
    (["tune", "bad.jsonl"], "bad.jsonl, line 1: not JSON"),
]


def test_bad_input_ends_with_2_and_writes_nothing(
    run: Run, file: Path, tmp_path: Path, world: World, agent: str
) -> None:
    written(tmp_path / "nine.jsonl", world.questions[:9])
    (tmp_path / "bad.jsonl").write_text("tea\n")
    there = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    for command, said in BAD:
        shown = run(*command, "-a", agent)
        assert (shown.code, shown.out) == (2, "")
        assert said in " ".join(shown.err.split())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == there
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    assert run(*asked_of("evaluate", file, "--database-url", nowhere)).code == 3
    assert run(*asked_of("tune", file, "--schema", "elsewhere")).code == 4


def test_tune_writes_a_profile_that_can_be_used(run: Run, file: Path, tmp_path: Path) -> None:
    shown = run(*asked_of("tune", file, "-o", "mine.json", "-k", 3))

    found = profiles.load(tmp_path / "mine.json")
    assert (shown.code, found.name) == (0, "mine")
    for said in (
        *("weight", "similarity", "importance", "before", "after", "0.6"),
        *("written to mine.json", "start_tuned is better than start on 60 held-out questions"),
        "all queries: 60",
    ):
        assert said in " ".join(shown.out.split())
    assert shown.err == "", "bars are for terminals"
    assert found.weights["similarity"] > 0.35 > found.weights["importance"]
    compared = run(*asked_of("evaluate", file, "-p", "start.toml,mine.json", "-k", 3, "--json"))
    first, second = compared.records[0]["profiles"]
    assert (second["profile"], set(first["by_group"])) == ("mine", {"even", "odd"})
    assert second["ndcg_difference"][1] > 0
    assert run("search", "tea", "-a", AGENT, "--profile", "mine.json", "--json").records


def test_machines_are_told_all_and_a_file_is_written_over_by_force_alone(
    run: Run, few: Path, tmp_path: Path, world: World
) -> None:
    (tmp_path / "tuned.toml").write_text("mine")
    asked = asked_of("tune", few, "--seed", 4)

    refused = run(*asked)
    there = (tmp_path / "tuned.toml").read_text()
    [one] = run(*asked, "--force", "--json").records

    assert (refused.code, there) == (2, "mine")
    assert "tuned.toml already exists; name another file, or pass --force" in refused.err
    found = world.repo.evaluation.tune(
        AGENT, load_queries(few, AGENT), start=START, seed=4, as_of=NOW
    )
    assert one == {**found.record(), "written": "tuned.toml"}
    assert as_values(profiles.load(tmp_path / "tuned.toml")) == {**one["found"], "name": "tuned"}


def test_where_it_is_no_better_nothing_is_written(run: Run, few: Path, tmp_path: Path) -> None:
    (tmp_path / "there.toml").write_text("mine")
    asked = asked_of("tune", few, "--start", "planted.toml")

    shown = run(*asked)
    [record] = run(*asked, "-o", "there.toml", "--force", "--json").records

    assert (shown.code, "written" in shown.out) == (0, False)
    assert "No profile is proposed" in shown.out
    assert not (tmp_path / "tuned.toml").exists()
    assert (record["verdict"], record["written"]) == ("no better", None)
    assert (tmp_path / "there.toml").read_text() == "mine"


def test_several_agents_are_evaluated_together(run: Run, tmp_path: Path, world: World) -> None:
    lines = []
    for place in range(6):
        agent = f"owner-{place}"
        ids = world.repo.add_many(agent, [NewMemory(f"{WORDS[n]} {n}") for n in range(4)])
        lines += [
            {"query": f"{WORDS[n]}?", "relevant": [f"{ids[n]}"], "agent": agent} for n in range(4)
        ]
    path = written(tmp_path / "owners.jsonl", lines)
    unnamed = written(tmp_path / "unnamed.jsonl", [{**lines[0], "agent": None}])
    named = [part for place in range(6) for part in ("-a", f"owner-{place}")]

    shown = run("evaluate", path, *named, "-p", "trust")
    [record] = run("evaluate", path, "-p", "trust", "--json").records
    few = run("evaluate", written(tmp_path / "few.jsonl", lines[:8]), "-p", "trust")

    assert "all queries: 24 of 6 agents, intervals over agents" in shown.out
    assert "all queries: 8 of 2 agents, intervals over queries" in few.out
    assert (record["missing"], record["profiles"][0]["owners"]) == (0, 6)
    for command in ("evaluate", "tune"):
        for more, said in (
            ((path, "-a", "owner-0"), "query 4 is about the memories of 'owner-1'"),
            ((unnamed,), "unnamed.jsonl, line 1: a line needs agent"),
            ((unnamed, "-a", "owner-0", "-a", "owner-1"), "a line needs agent"),
            (("--judged",), "--judged needs --agent"),
        ):
            refused = run(command, *more)
            assert (refused.code, refused.out) == (2, "")
            assert said in refused.err


def test_hostile_names_and_thin_evidence_are_told_plainly(
    run: Run, few: Path, tmp_path: Path, world: World
) -> None:
    lines = [{**question, "group": EVIL} for question in world.questions[:3]]
    path = written(tmp_path / "evil.jsonl", lines)
    profiles.save(START.renamed(EVIL), tmp_path / "evil.toml")

    shown = run("evaluate", path, "-a", EVIL, "-p", "evil.toml")
    tuned = run(*asked_of("tune", few, "--start", "evil.toml"))

    assert (shown.code, tuned.code) == (0, 0)
    assert "[bold]x[/bold] [/nothing]: 3" in shown.out
    assert "[/nothing]" in shown.err
    assert "[/nothing]" in tuned.out
    assert not CONTROLS & set(shown.out + shown.err + tuned.out)
    assert "on 20 held-out questions" in " ".join(tuned.out.split())
    assert "too few to be sure" in " ".join(tuned.out.split())
    assert (tmp_path / "tuned.toml").exists()
