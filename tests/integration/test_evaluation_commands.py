"""pgrecall evaluate and pgrecall tune: what they print and write, and what they end with."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from errno import ENOSPC
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from rich.console import Console
from sqlalchemy import create_engine

from pgrecall import MemoryRepository, NewMemory, Profile, profiles
from pgrecall.cli.evaluating import PROFILES
from pgrecall.cli.output import PIPED_WIDTH
from pgrecall.embedders import LocalEmbedder
from pgrecall.profile_file import as_values
from pgrecall.queries_file import load_queries
from pgrecall.signals import Importance, Recency, Similarity, Usefulness
from tests.conftest import new_database
from tests.integration.commands import CONTROLS, EVIL, Run, fast_runner
from tests.integration.support import NOW, before, sql

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
    url: str
    repo: MemoryRepository
    embedder: LocalEmbedder
    ids: list[UUID]
    questions: list[dict[str, Any]]
    """Answered by what PLANTED ranks first."""


@pytest.fixture(scope="module")
def world(server_url: str, local_template: str) -> Iterator[World]:
    dice, embedder = random.Random("commands"), LocalEmbedder()
    memories = [
        NewMemory(
            f"{' '.join(dice.sample(WORDS, 4))} {number}",
            importance=dice.random(),
            usefulness=dice.random(),
            created_at=before(dice.uniform(0, 90)),
        )
        for number in range(80)
    ]
    with new_database(server_url, local_template) as url:
        engine = create_engine(url)
        repo = MemoryRepository(engine, embedder=embedder)
        ids: list[UUID] = [*repo.add_many(AGENT, memories)]
        questions = []
        for number in range(60):
            query = f"{' '.join(dice.sample(WORDS, 3))}?"
            hits = repo.search(AGENT, query, k=3, profile=PLANTED, as_of=NOW, touch=False)
            relevant = [str(hit.memory.id) for hit in hits]
            questions.append({"query": query, "relevant": relevant, "group": "odd" * (number % 2)})
        for question in questions:
            question["group"] = question["group"] or "even"
        yield World(url, repo, embedder, ids, questions)
        engine.dispose()


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    world: World,
) -> Run:
    monkeypatch.chdir(tmp_path)
    return fast_runner(monkeypatch, capsys, world.url, world.embedder)


@pytest.fixture
def file(tmp_path: Path, world: World) -> Path:
    return written(tmp_path / "queries.jsonl", world.questions)


def written(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


# evaluate


def test_evaluate_prints_a_table_for_all_and_for_each_group(run: Run, file: Path) -> None:
    shown = run("evaluate", file, "-a", AGENT, "-p", "half_life,trust", "-k", 3, *AS_OF)

    assert shown.code == 0
    titles = [
        line.strip() for line in shown.out.splitlines() if line.rstrip().endswith(("60", "30"))
    ]
    assert titles == ["all queries: 60", "even: 30", "odd: 30"]
    for said in ("recall@3", "MRR", "nDCG@3", "half_life", "trust", "± first"):
        assert said in shown.out
    assert shown.out.count("half_life") == shown.out.count("trust") == 3
    assert not CONTROLS & set(shown.out)


def test_evaluate_shows_what_floors_do_to_questions_without_an_answer(
    run: Run, tmp_path: Path, world: World
) -> None:
    nobody = [{"query": f"unheard{n}x unknown{n}y", "relevant": []} for n in range(5)]
    path = written(tmp_path / "both.jsonl", [*world.questions[:20], *nobody])
    asked = ("evaluate", path, "-a", AGENT, "-p", "hybrid,trust", *AS_OF)

    shown = run(*asked, "--precision", 0.9, "--plot", "all.svg")
    [record] = run(*asked, "--json").records

    assert shown.code == 0
    for said in ("5 questions without an answer, 20 with one", "the profile's", "proposed"):
        assert said in shown.out
    assert record["floors"]["unanswered"] == 5
    assert (tmp_path / "all.svg").is_file()
    assert (tmp_path / "all-floors.svg").is_file()
    without = written(tmp_path / "answered.jsonl", world.questions[:20])
    refused = run("evaluate", without, "-a", AGENT, "--precision", 0.9)
    assert refused.code == 2
    assert "queries that name no relevant memory" in " ".join(refused.err.split())


def test_what_evaluate_tells_machines_is_the_repositorys_record(
    run: Run, file: Path, world: World
) -> None:
    asked = ("-p", "half_life,trust,hybrid", "-k", 4, "--seed", 3, *AS_OF)

    shown = run("evaluate", file, "-a", AGENT, *asked, "--json")

    found = world.repo.evaluate(
        AGENT,
        load_queries(file, AGENT),
        profiles=["half_life", "trust", "hybrid"],
        k=4,
        seed=3,
        as_of=NOW,
    )
    assert shown.records == [found.record()]
    assert [one["profile"] for one in shown.records[0]["profiles"]] == [
        *("half_life", "trust", "hybrid")
    ]
    assert shown.out.count("\n") == 1


def test_a_table_says_what_the_record_says(run: Run, file: Path) -> None:
    asked = ("evaluate", file, "-a", AGENT, "-p", "trust,half_life", *AS_OF)
    shown, [record] = run(*asked), run(*asked, "--json").records

    _, second = record["profiles"]
    [line, *_] = [line for line in shown.out.splitlines() if line.strip().startswith("half_life")]
    mean, low, high = second["recall_difference"]
    assert f"{second['recall']:.3f}" in line
    assert f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]" in line
    assert f"{second['ndcg']:.3f}" in line


def test_by_default_the_profiles_built_in_are_compared(run: Run, file: Path) -> None:
    [record] = run("evaluate", file, "-a", AGENT, "--json").records

    assert [one["profile"] for one in record["profiles"]] == PROFILES.split(",")
    assert set(PROFILES.split(",")) == set(profiles.BUILT_IN)
    assert record["k"] == 10


def test_thresholds_reach_the_evaluation(run: Run, file: Path) -> None:
    def recall(*more: Any) -> float:
        [record] = run("evaluate", file, "-a", AGENT, "-p", "half_life", *more, "--json").records
        return float(record["profiles"][0]["recall"])

    assert recall("--min-score", 0.95) == 0
    assert recall("--min-similarity", 0.99) == 0
    assert recall("--as-of", "2020-01-01") == 0
    assert recall() > 0


def test_a_profile_of_a_file_is_compared(run: Run, file: Path, tmp_path: Path) -> None:
    profiles.save(PLANTED.renamed("mine"), tmp_path / "my.toml")

    [record] = run(
        *("evaluate", file, "-a", AGENT, "--profiles", " five_factor, my.toml ,", "-k", 3),
        *("--json", *AS_OF),
    ).records

    assert [one["profile"] for one in record["profiles"]] == ["five_factor", "mine"]
    assert record["profiles"][1]["recall"] == 1.0


@pytest.mark.parametrize(
    ("name", "begins"), [("chart.png", b"\x89PNG\r\n\x1a\n"), ("chart.SVG", b"<?xml")]
)
@pytest.mark.parametrize("machine", [(), ("--json",)], ids=["people", "machines"])
def test_a_chart_is_drawn_beside(
    run: Run, file: Path, tmp_path: Path, name: str, begins: bytes, machine: tuple[str, ...]
) -> None:
    shown = run("evaluate", file, "-a", AGENT, "-p", "trust,tiered", "--plot", name, *machine)

    assert shown.code == 0
    assert "tiered" in shown.out
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_bad_chart_is_refused_before_the_work(run: Run, file: Path, tmp_path: Path) -> None:
    shown = run("evaluate", tmp_path / "queries.jsonl", "-a", AGENT, "--plot", "chart.jpg")

    assert (shown.code, shown.out) == (2, "")
    assert "a chart ends in .png or .svg" in shown.err


def test_a_chart_that_cannot_be_written_is_told(run: Run, file: Path) -> None:
    shown = run("evaluate", file, "-a", AGENT, "-p", "trust", "--plot", "none/chart.png")

    assert shown.code == 2
    assert "none is not a folder" in shown.err


def test_without_matplotlib_it_is_told_before_the_work(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(MemoryRepository, "evaluate", None)

    shown = run("evaluate", file, "-a", AGENT, "-p", "trust", "--plot", "chart.png")

    assert (shown.code, shown.out) == (2, "")
    assert "pip install 'pgrecall[chart]'" in shown.err


@pytest.mark.parametrize("command", ["evaluate", "tune"])
def test_a_folder_in_the_place_of_a_file_is_told_before_the_work(
    run: Run, file: Path, tmp_path: Path, command: str
) -> None:
    (tmp_path / "chart.png").mkdir()
    (tmp_path / "tuned.toml").mkdir()
    more = {"evaluate": ("--plot", "chart.png"), "tune": ("--force",)}[command]

    shown = run(command, file, "-a", AGENT, *more)

    assert (shown.code, shown.out) == (2, "")
    assert "cannot be written: it is a folder" in shown.err


def full(*_: Any, **__: Any) -> None:
    raise OSError(ENOSPC, "No space left on device")


@pytest.mark.parametrize("machine", [(), ("--json",)], ids=["people", "machines"])
def test_what_was_evaluated_is_told_before_the_chart_fails(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch, machine: tuple[str, ...]
) -> None:
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)

    shown = run("evaluate", file, "-a", AGENT, "-p", "trust", "--plot", "chart.png", *machine)

    assert shown.code == 2
    assert "trust" in shown.out
    assert "chart.png cannot be written: No space left on device" in shown.err


@pytest.mark.parametrize("machine", [(), ("--json",)], ids=["people", "machines"])
def test_what_was_tuned_is_told_before_its_file_fails(
    run: Run, file: Path, start: str, monkeypatch: pytest.MonkeyPatch, machine: tuple[str, ...]
) -> None:
    monkeypatch.setattr(Path, "write_text", full)

    shown = run("tune", file, "-a", AGENT, "--start", start, *machine, *AS_OF)

    assert shown.code == 2
    assert "similarity" in shown.out
    assert "written to" not in shown.out
    if machine:
        assert [record["written"] for record in shown.records] == [None]
    assert "tuned.toml cannot be written: No space left on device" in shown.err


def test_differences_over_few_queries_have_no_color(
    run: Run, tmp_path: Path, world: World, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiles.save(PLANTED, tmp_path / "planted.toml")
    colors = Console(force_terminal=True, width=PIPED_WIDTH, color_system="standard")
    monkeypatch.setattr("pgrecall.cli.evaluating.console", colors)

    def has_color(queries: int) -> bool:
        with colors.capture() as captured:
            path = written(tmp_path / "some.jsonl", world.questions[:queries])
            run("evaluate", path, "-a", AGENT, "-p", f"{start},planted.toml", "-k", 3, *AS_OF)
        return "\033[32m+" in captured.get()

    assert [has_color(9), has_color(60)] == [False, True]


def test_tuning_tells_missing_memories(run: Run, tmp_path: Path, world: World, start: str) -> None:
    lines = [{**one, "relevant": [*one["relevant"], "gone"]} for one in world.questions[:12]]
    path = written(tmp_path / "missing.jsonl", lines)
    asked = ("tune", path, "-a", AGENT, "--start", start, "--force", *AS_OF)

    shown, quiet = run(*asked), run(*asked, "--json")

    assert "12 relevant memories are not among those of assistant" in shown.err
    assert "relevant memories" not in quiet.err


def test_missing_memories_are_told(run: Run, tmp_path: Path, world: World) -> None:
    lines = [{**world.questions[0], "relevant": [*world.questions[0]["relevant"], "m-1", "m-2"]}]
    path = written(tmp_path / "missing.jsonl", lines)

    shown = run("evaluate", path, "-a", AGENT, "-p", "trust")
    quiet = run("evaluate", path, "-a", AGENT, "-p", "trust", "--json")

    assert "2 relevant memories are not among those of assistant" in shown.err
    assert quiet.records[0]["missing"] == 2
    assert quiet.err == ""


def test_imported_memories_are_found_by_the_ids_of_their_file(
    run: Run, tmp_path: Path, agent: str
) -> None:
    written(tmp_path / "m.jsonl", [{"id": n, "content": f"{WORDS[n]} {n}"} for n in range(9)])
    queries = written(
        tmp_path / "q.jsonl", [{"query": f"{WORDS[n]} {n}", "relevant": [n]} for n in range(9)]
    )
    run("import", tmp_path / "m.jsonl", "-a", agent)

    [record] = run("evaluate", queries, "-a", agent, "-p", "hybrid", "-k", 1, "--json").records

    assert record["missing"] == 0
    assert record["profiles"][0]["recall"] == 1.0


def recorded(world: World, agent: str, number: int) -> None:
    ids = world.repo.add_many(agent, [NewMemory(f"{WORDS[n]} {n}") for n in range(number)])
    for n, memory in enumerate(ids):
        world.repo.feedback(agent, memory, "useful", query=f"{WORDS[n]}?")


def test_recorded_queries_are_evaluated_by(run: Run, world: World, agent: str) -> None:
    recorded(world, agent, 5)

    shown = run("evaluate", "-a", agent, "--recorded", "-p", "hybrid,trust")
    [record] = run("evaluate", "-a", agent, "--recorded", "-p", "hybrid", "--json").records

    assert "all queries: 5" in shown.out
    assert record["profiles"][0]["queries"] == 5
    assert record["profiles"][0]["recall"] == 1.0


BAD: list[tuple[list[str], str]] = [
    (["evaluate"], "give a file of labelled queries, or --recorded"),
    (["evaluate", "queries.jsonl", "--recorded"], "give a file of labelled queries, or --recorded"),
    (["evaluate", "none.jsonl"], "none.jsonl is not a file"),
    (["evaluate", "--recorded"], "nothing was recorded for"),
    (["evaluate", "queries.jsonl", "-p", "magic"], "unknown profile 'magic'"),
    (["evaluate", "queries.jsonl", "-p", "none.toml"], "none.toml cannot be read"),
    (["evaluate", "queries.jsonl", "-p", ","], "at least one profile"),
    (["evaluate", "queries.jsonl", "-k", "0"], "k must lie within 1"),
    (["evaluate", "queries.jsonl", "--seed", "-1"], "seed must lie within 0"),
    (["evaluate", "queries.jsonl", "--as-of", "soon"], "--as-of"),
    (["evaluate", "queries.jsonl", "--min-score", "2"], "min_score must lie within 0 and 1"),
    (["evaluate", "bad.jsonl"], "bad.jsonl, line 1: not JSON"),
    (["tune"], "give a file of labelled queries, or --recorded"),
    (["tune", "queries.jsonl", "--recorded"], "give a file of labelled queries, or --recorded"),
    (["tune", "none.jsonl"], "none.jsonl is not a file"),
    (["tune", "--recorded"], "nothing was recorded for"),
    (["tune", "queries.jsonl", "--start", "magic"], "unknown profile 'magic'"),
    (["tune", "queries.jsonl", "-o", "tuned.yaml"], "a profile file ends in .toml or .json"),
    (["tune", "queries.jsonl", "-o", "there.toml"], "there.toml is there already"),
    (["tune", "queries.jsonl", "--held-out", "1"], "held_out 1 of 60 queries"),
    (["tune", "few.jsonl"], "at least 10 labelled queries, got 9"),
    (["tune", "bad.jsonl"], "bad.jsonl, line 1: not JSON"),
]


@pytest.mark.parametrize(("command", "said"), BAD, ids=lambda value: str(value)[:60])
def test_bad_input_ends_with_2_and_writes_nothing(
    run: Run, file: Path, tmp_path: Path, world: World, agent: str, command: list[str], said: str
) -> None:
    written(tmp_path / "few.jsonl", world.questions[:9])
    (tmp_path / "bad.jsonl").write_text("tea\n")
    (tmp_path / "there.toml").write_text("mine")
    there = sorted(path.name for path in tmp_path.iterdir())

    shown = run(*command, "-a", agent)

    assert (shown.code, shown.out) == (2, "")
    assert said in " ".join(shown.err.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == there
    assert (tmp_path / "there.toml").read_text() == "mine"


def test_another_database_ends_with_its_own_code(run: Run, file: Path) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:1/none"

    assert run("evaluate", file, "-a", AGENT, "--database-url", nowhere).code == 3
    assert run("tune", file, "-a", AGENT, "--schema", "elsewhere").code == 4


def test_looking_counts_no_retrieval(run: Run, file: Path, world: World) -> None:
    run("evaluate", file, "-a", AGENT, "-p", "trust")

    engine = create_engine(world.url)
    usage = "SELECT 1 FROM pgrecall.memory_usage WHERE agent_id = :agent"
    assert sql(engine, usage, agent=AGENT) == []
    engine.dispose()


# tune


@pytest.fixture
def start(tmp_path: Path) -> str:
    profiles.save(START, tmp_path / "start.toml")
    return "start.toml"


@pytest.mark.parametrize("output", ["tuned.toml", "mine.json"])
def test_tune_writes_a_profile_that_can_be_used(
    run: Run, file: Path, tmp_path: Path, start: str, output: str
) -> None:
    shown = run("tune", file, "-a", AGENT, "--start", start, "-o", output, "-k", 3, *AS_OF)

    found = profiles.load(tmp_path / output)
    assert shown.code == 0
    assert f"written to {output}" in shown.out
    assert "better on the queries that were kept back" in shown.out
    assert found.name == Path(output).stem
    assert found.weights["similarity"] > 0.35 > found.weights["importance"]
    compared = run(
        *("evaluate", file, "-a", AGENT, "-p", f"{start},{output}", "-k", 3, "--json", *AS_OF)
    )
    first, second = compared.records[0]["profiles"]
    assert second["profile"] == found.name
    assert second["ndcg_difference"][1] > 0
    searched = run("search", "tea", "-a", AGENT, "--profile", output, "--json")
    assert searched.code == 0
    assert searched.records
    assert set(first["by_group"]) == {"even", "odd"}


def test_tune_tells_weights_parts_and_progress(run: Run, file: Path, start: str) -> None:
    shown = run("tune", file, "-a", AGENT, "--start", start, *AS_OF)

    for said in ("similarity", "importance", "half-life, days", "start", "found", "30.0", "0.600"):
        assert said in shown.out
    assert shown.out.count("all queries: 30") == 2
    assert "the queries it was chosen by" in shown.out
    assert "the queries kept back" in shown.out
    assert "searching" in shown.err
    assert "100%" in shown.err


def test_the_same_seed_writes_the_same_and_machines_are_told_all(
    run: Run, tmp_path: Path, world: World, start: str
) -> None:
    few = written(tmp_path / "few.jsonl", world.questions[:20])
    asked = ("tune", few, "-a", AGENT, "--start", start, "--seed", 4, "--json", *AS_OF)

    [one] = run(*asked).records

    found = world.repo.tune(AGENT, load_queries(few, AGENT), start=START, seed=4, as_of=NOW)
    assert one == {**found.record(), "written": "tuned.toml"}
    written_there = as_values(profiles.load(tmp_path / "tuned.toml"))
    assert written_there == {**one["found"], "name": "tuned"}


def test_where_it_is_no_better_nothing_is_written(run: Run, file: Path, tmp_path: Path) -> None:
    profiles.save(PLANTED, tmp_path / "planted.toml")
    (tmp_path / "there.toml").write_text("mine")
    asked = ("tune", file, "-a", AGENT, "--start", "planted.toml", *AS_OF)

    shown = run(*asked)
    [record] = run(*asked, "-o", "there.toml", "--force", "--json").records

    assert shown.code == 0
    assert "no better" in shown.out
    assert "nothing is proposed" in shown.out
    assert "written" not in shown.out
    assert not (tmp_path / "tuned.toml").exists()
    assert (record["verdict"], record["written"]) == ("no better", None)
    assert (tmp_path / "there.toml").read_text() == "mine"


def test_thin_evidence_is_told(run: Run, tmp_path: Path, world: World, start: str) -> None:
    few = written(tmp_path / "few.jsonl", world.questions[:24])

    shown = run("tune", few, "-a", AGENT, "--start", start, *AS_OF)

    assert shown.code == 0
    assert "only 12 queries were kept back" in shown.out
    assert "the evidence is too thin" in " ".join(shown.out.split())
    assert (tmp_path / "tuned.toml").exists()


def test_a_file_that_is_there_is_written_over_by_force_alone(
    run: Run, tmp_path: Path, world: World, start: str
) -> None:
    few = written(tmp_path / "few.jsonl", world.questions[:20])
    (tmp_path / "tuned.toml").write_text("mine")
    asked = ("tune", few, "-a", AGENT, "--start", start, *AS_OF)

    refused = run(*asked)

    assert refused.code == 2
    assert "tuned.toml is there already; name another file or pass --force" in refused.err
    assert (tmp_path / "tuned.toml").read_text() == "mine"
    assert run(*asked, "--force").code == 0
    assert profiles.load(tmp_path / "tuned.toml").name == "tuned"


def test_it_can_be_tuned_by_what_was_recorded(run: Run, world: World, agent: str) -> None:
    recorded(world, agent, 12)

    [record] = run("tune", "-a", agent, "--recorded", "--held-out", 0.25, "--json").records

    assert record["training"]["profiles"][0]["queries"] == 9
    assert record["held_out"]["profiles"][1]["queries"] == 3
    assert record["start"]["name"] == profiles.DEFAULT.name


# Several agents, and the baselines


@pytest.fixture(scope="module")
def owners(world: World) -> list[dict[str, Any]]:
    """Questions about six agents' memories, each line with its agent."""
    lines = []
    for place in range(6):
        agent = f"owner-{place}"
        ids = world.repo.add_many(agent, [NewMemory(f"{WORDS[n]} {n}") for n in range(8)])
        lines += [
            {"query": f"{WORDS[n]}?", "relevant": [f"{ids[n]}"], "agent": agent} for n in range(4)
        ]
    return lines


def test_several_agents_are_evaluated_together(
    run: Run, tmp_path: Path, owners: list[dict[str, Any]]
) -> None:
    path = written(tmp_path / "owners.jsonl", owners)
    named = [part for place in range(6) for part in ("-a", f"owner-{place}")]

    shown = run("evaluate", path, *named, "-p", "trust")
    [record] = run("evaluate", path, "-p", "trust", "--json").records
    few = run("evaluate", written(tmp_path / "few.jsonl", owners[:8]), "-p", "trust")

    assert "all queries: 24 of 6 agents, intervals over agents" in shown.out
    assert "all queries: 8 of 2 agents, intervals over queries" in few.out
    assert (record["missing"], record["profiles"][0]["owners"]) == (0, 6)


@pytest.mark.parametrize("command", ["evaluate", "tune"])
def test_whose_memories_they_are_has_to_be_said(
    run: Run, tmp_path: Path, owners: list[dict[str, Any]], command: str
) -> None:
    path = written(tmp_path / "owners.jsonl", owners)
    unnamed = written(tmp_path / "unnamed.jsonl", [{**owners[0], "agent": None}])

    def said(*more: Any) -> str:
        shown = run(command, *more)
        assert (shown.code, shown.out) == (2, "")
        return shown.err

    assert "query 4 is about the memories of 'owner-1'" in said(path, "-a", "owner-0")
    assert "unnamed.jsonl, line 1: a line names its agent" in said(unnamed)
    assert "a line names its agent" in said(unnamed, "-a", "owner-0", "-a", "owner-1")
    assert "--recorded needs --agent" in said("--recorded")


def test_what_several_agents_recorded_counts_together(run: Run, world: World, agent: str) -> None:
    others = [f"{agent} one", f"{agent} two"]
    for other in others:
        recorded(world, other, 3)

    [record] = run("evaluate", "--recorded", "-a", others[0], "-a", others[1], "--json").records

    assert (record["profiles"][0]["queries"], record["profiles"][0]["owners"]) == (6, 2)


def test_the_baselines_stand_below_a_line(run: Run, file: Path) -> None:
    shown = run("evaluate", file, "-a", AGENT, "-p", "trust,half_life", *AS_OF)

    lines = [line.strip() for line in shown.out.split("even: 30")[0].splitlines()]
    names = [line.split("│")[0].strip() for line in lines if "│" in line]
    assert names == ["trust", "half_life", "similarity alone", "keyword alone", "hybrid"]
    [rule] = [place for place, line in enumerate(lines) if "┼" in line and place > 2]
    assert "similarity alone" in lines[rule + 1]


def test_a_baseline_that_is_better_is_named(run: Run, tmp_path: Path, world: World) -> None:
    """Answered by importance and meaning, and the start knows but one of them."""
    poor = Profile("poor", {Recency(half_life=30.0): 0.9, Importance(): 0.1})
    profiles.save(poor, tmp_path / "poor.toml")
    planted = Profile("planted", {Similarity(): 0.6, Importance(): 0.4})
    lines = []
    for question in world.questions[:24]:  # without words, which would be brought in
        vector: Any = world.embedder.embed_query(question["query"])
        asked = [*map(float, vector)]
        hits = world.repo.search(AGENT, asked, k=3, profile=planted, as_of=NOW, touch=False)
        lines.append({"embedding": asked, "relevant": [str(hit.memory.id) for hit in hits]})
    path = written(tmp_path / "vectors.jsonl", lines)

    shown = run("tune", path, "-a", AGENT, "--start", "poor.toml", *AS_OF)

    assert shown.code == 0
    said = " ".join(shown.out.split())
    assert "better than its start, but worse than" in said
    assert "nothing is proposed" in said
    assert not (tmp_path / "tuned.toml").exists()


def test_a_folder_that_is_not_there_is_told_before_the_work(
    run: Run, tmp_path: Path, world: World, start: str
) -> None:
    few = written(tmp_path / "few.jsonl", world.questions[:20])

    shown = run("tune", few, "-a", AGENT, "--start", start, "-o", "none/tuned.toml", *AS_OF)

    assert shown.code == 2
    assert "none" in shown.err


# Names that speak to terminals


def test_an_evil_group_is_shown_plainly(run: Run, tmp_path: Path, world: World) -> None:
    lines = [{**question, "group": EVIL} for question in world.questions[:3]]
    path = written(tmp_path / "evil.jsonl", lines)

    shown = run("evaluate", path, "-a", AGENT, "-p", "trust")

    assert shown.code == 0
    assert "[bold]x[/bold] [/nothing]: 3" in shown.out
    assert not CONTROLS & set(shown.out)


def test_an_evil_profile_is_shown_plainly(
    run: Run, file: Path, tmp_path: Path, world: World
) -> None:
    profiles.save(START.renamed(EVIL), tmp_path / "evil.toml")

    shown = run("evaluate", file, "-a", AGENT, "-p", "evil.toml,trust")

    assert shown.code == 0
    assert "[/nothing]" in shown.out
    assert not CONTROLS & set(shown.out)


def test_an_evil_agent_is_shown_plainly(run: Run, file: Path) -> None:
    shown = run("evaluate", file, "-a", EVIL, "-p", "trust")

    assert shown.code == 0
    assert "[/nothing]" in shown.err
    assert not CONTROLS & set(shown.err)


def test_tuning_an_evil_profile_shows_it_plainly(run: Run, tmp_path: Path, world: World) -> None:
    few = written(tmp_path / "few.jsonl", world.questions[:20])
    profiles.save(START.renamed(EVIL), tmp_path / "evil.toml")

    shown = run("tune", few, "-a", AGENT, "--start", "evil.toml", *AS_OF)

    assert shown.code == 0
    assert "[/nothing]" in shown.out
    assert not CONTROLS & set(shown.out)
