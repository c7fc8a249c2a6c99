"""pgrecall bench: published data sets in miniature, searched and measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgrecall import Profile, profiles
from pgrecall.cli.output import console
from pgrecall.core.vectors import VectorLike
from pgrecall.evaluation.datasets.data_sets import DataSetName, read_data_set
from pgrecall.evaluation.run_file import read_run
from pgrecall.evaluation.run_measures import ALL
from pgrecall.scoring.signals import Time
from tests.integration.commands import CONTROLS, Run

DATA = Path(__file__).parents[1] / "data"
LOCOMO = DATA / "locomo" / "locomo10.json"
CASES: dict[DataSetName, tuple[Path, dict[str, int], dict[str, int], dict[str, int]]] = {
    "locomo": (
        LOCOMO,
        {"conversations": 1, "sessions": 3, "turns": 12, "questions": 6},
        {"multi-hop": 1, "single-hop": 1, "temporal": 1},
        {"adversarial": 2},
    ),
    "realtalk": (
        DATA / "realtalk" / "data",
        {"conversations": 1, "sessions": 3, "turns": 12, "questions": 6},
        {"multi-hop": 2, "temporal": 2},
        {},
    ),
    "beam": (
        DATA / "beam" / "chats" / "100K",
        {"conversations": 1, "sessions": 3, "turns": 12, "questions": 10},
        dict.fromkeys(
            (
                *("contradiction_resolution", "event_ordering", "information_extraction"),
                *("instruction_following", "knowledge_update", "multi_session_reasoning"),
                *("summarization", "temporal_reasoning"),
            ),
            1,
        ),
        {"abstention": 1},
    ),
    "longmemeval": (
        DATA / "longmemeval",
        {"conversations": 6, "sessions": 18, "turns": 72, "questions": 6},
        dict.fromkeys(
            (
                *("knowledge-update", "single-session-assistant", "single-session-preference"),
                *("single-session-user", "temporal-reasoning"),
            ),
            1,
        ),
        {"multi-session": 1},
    ),
}
"""Data set → its file, how much it has, the kinds of questions, and those without an answer."""


@pytest.fixture
def runs_on(commands_url: str) -> str:
    return commands_url


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return run


def schemas(url: str) -> list[str]:
    """The schemas that `bench` has left."""
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname ~ '_bench_'")
        return [name for (name,) in found]


@pytest.mark.parametrize("name", CASES)
def test_a_data_set_is_searched_measured_and_dropped_and_its_run_is_read_back(
    run: Run, name: DataSetName, tmp_path: Path, commands_url: str
) -> None:
    file, amount, kinds, unanswerable = CASES[name]

    done = run("bench", name, file, "--json", "--write-run", "r.txt", "--write-qrels", "q.txt")
    again = run("bench", name, file, "--json", "--run", "r.txt")

    assert (done.code, again.code) == (0, 0), done.err + again.err
    [record], [measured] = done.records, again.records
    assert {key: record[key] for key in amount} == amount
    assert f"{amount['turns']} turns" in done.err
    assert "to embed by wordllama" in done.err
    assert {kind: one["questions"] for kind, one in record["by_turns"].items()} == {
        ALL: sum(kinds.values()),
        **kinds,
    }
    assert list(record["by_sessions"]) == list(record["by_turns"])
    assert record["by_turns"][ALL]["recall@20"][0] > 0.5, "meaning and words find something"
    counted = {kind: one["questions"] for kind, one in record["unanswerable"].items()}
    assert counted == unanswerable
    assert 0 < record["milliseconds"]["median"] <= record["milliseconds"]["p95"]
    assert record.pop("milliseconds")
    assert (record.pop("min_relevance"), record["run"]) == (0.15, "hybrid")
    assert record.pop("not_reranked") is None
    assert record.pop("silenced") <= record["by_turns"][ALL]["questions"]
    assert measured == record, "the same figures from the file"
    assert schemas(commands_url) == []
    judged = {tuple(line.split()[::2]) for line in Path("q.txt").read_text().splitlines()}
    conversations = read_data_set(name, file)
    questions = [question for one in conversations for question in one.questions]
    assert judged == {(one.id, turn) for one in questions for turn in one.turns}
    assert read_run(Path("r.txt"), conversations).found.keys() <= {one.id for one in questions}


def test_without_a_database_a_server_is_made_for_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGRECALL_DATABASE_URL")

    done = run("bench", "locomo", LOCOMO, "-p", "hybrid,five_factor", "-k", "5")

    assert done.code == 0, done.err
    for profile in ("hybrid", "five_factor"):
        for unit in ("turns", "sessions"):
            assert f"{profile}, by {unit}, with 95 % intervals over questions" in done.out
    assert done.out.count("1 without evidence in the data set, not counted") == 2
    assert done.out.count("these were asked with a floor of relevance of 0.15, at which 0") == 1
    assert done.out.count("a search takes") == 2
    heading = next(line for line in done.out.splitlines() if line.startswith("question"))
    assert heading.replace("┃", "").split() == ["question", "n", "R@5", "nDCG@5", "MRR", "all@5"]


RERANKERS = """
def longest(query, texts):
    return [len(text) for text in texts]

def fails(query, texts):
    raise ValueError
"""


def test_a_reranker_is_the_last_step(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "rerankers_of_bench.py").write_text(RERANKERS)
    measured = {}
    for name in ("longest", "fails"):
        asked = ("bench", "locomo", LOCOMO, "--rerank", f"rerankers_of_bench:{name}")
        [measured[name]] = run(*asked, "--json", "--write-run", f"{name}.txt").records
    [plain] = run("bench", "locomo", LOCOMO, "--json", "--write-run", "plain.txt").records

    conversations = read_data_set("locomo", LOCOMO)
    texts = {turn.id: turn.text for one in conversations for turn in one.turns}
    found = {
        name: read_run(Path(f"{name}.txt"), conversations).found for name in (*measured, "plain")
    }
    assert found["fails"] == found["plain"]
    for question, turns in found["longest"].items():
        assert {*turns} == {*found["plain"][question]}
        sizes = [len(texts[turn]) for turn in turns]
        assert sizes == sorted(sizes, reverse=True)
    counted = [one["not_reranked"] for one in (measured["longest"], measured["fails"], plain)]
    assert counted == [0, 6, None]


def test_above_a_high_floor_nothing_is_found(run: Run) -> None:
    for floor, silent in (("1", 2), ("0", 0)):
        asked = ("bench", "locomo", LOCOMO, "--min-relevance", floor, "--write-run", "r.txt")
        [record] = run(*asked, "--json").records

        assert record["min_relevance"] == float(floor)
        assert record["unanswerable"] == {"adversarial": {"questions": 2, "silent": silent}}
        assert (record["lost"], record["silenced"]) == ((3, 3) if silent else (0, 0))
    [measured] = run("bench", "locomo", LOCOMO, "--run", "r.txt", "--json").records
    assert measured["unanswerable"] == record["unanswerable"]


def with_questions(path: Path, file: Path, texts: Sequence[str], date: str) -> Path:
    """The first record, once for each question, which all turns of its third session answer."""
    [record, *_] = json.loads(file.read_bytes())
    for turn in record["haystack_sessions"][2]:
        turn["has_answer"] = True
    changed = {
        "answer_session_ids": record["haystack_session_ids"][2:],
        "question_date": date,
    }
    several = [
        record | changed | {"question_id": f"q{number}", "question": text}
        for number, text in enumerate(texts)
    ]
    path.write_text(json.dumps(several), encoding="utf-8")
    return path


@pytest.mark.parametrize("date", ["2023/06/15 (Thu) 09:30", "2021/01/01 (Fri) 00:00"])
def test_dates_in_questions_are_found_and_count_from_when_they_are_asked(
    run: Run, tmp_path: Path, date: str
) -> None:
    profiles.save(Profile("time", {Time(): 1.0}), tmp_path / "time.toml")
    texts = ["What did I say on 11 June 2023?"]
    if date.startswith("2023"):
        texts.append("What did I say four days ago?")
    source = DATA / "longmemeval" / "longmemeval_s_cleaned.json"
    file = with_questions(tmp_path / "longmemeval_s.json", source, texts, date)
    asked = ("bench", "longmemeval", file, "-p", "time.toml", "-k", "4", "--json")

    [found], [ignored] = run(*asked).records, run(*asked, "--no-dates").records

    assert found["by_turns"][ALL]["all@4"] == [1, 1, 1]
    assert ignored["by_turns"][ALL]["all@4"] == [0, 0, 0]


def test_a_dry_run_says_how_much_there_is(run: Run, commands_url: str) -> None:
    shown = run("bench", "beam", DATA / "beam", "--dry-run", "--write-qrels", "q.txt")
    [record] = run("bench", "beam", DATA / "beam", "--dry-run", "--json").records

    amount = "1 conversation, 3 sessions, 12 turns, 10 questions, 1,148 characters"
    assert shown.out.strip() == amount
    assert record["characters"] == 1148
    assert Path("q.txt").read_text().startswith("chats/100K/1/")


@pytest.mark.parametrize("width", [80, 140])
def test_tables_fit_the_width(
    run: Run, width: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(console, "width", width)
    source = DATA / "longmemeval"
    conversations = read_data_set("longmemeval", source)
    for tag, place in (("mine", 0), ("theirs", 4)):
        lines = [f"{one.name} Q0 {one.turns[place].id} 1 1.0 {tag}\n" for one in conversations]
        (tmp_path / f"{tag}.txt").write_text("".join(lines))
    runs = ("--run", "mine.txt", "--run", "theirs.txt")

    done = run("bench", "longmemeval", source, *runs)
    first, second = run("bench", "longmemeval", source, *runs, "--json").records

    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= width
    assert "single-session-preference" in done.out, "on one line"
    tables = 1 if width == 140 else 2
    beginnings = [line.partition(", with")[0] for line in done.out.splitlines()]
    for title in ("mine, by turns", "theirs, by sessions", "theirs less mine, by turns"):
        assert beginnings.count(title) == tables
    assert "a search takes" not in done.out
    assert not CONTROLS & set(done.out)
    assert "gains" not in first
    [before, *_], [after, *_] = (one["by_turns"][ALL]["MRR"] for one in (first, second))
    [gain, low, high] = second["gains"][ALL]["MRR"]
    assert gain == pytest.approx(after - before)
    assert low < gain < high
    assert f"{gain:+.3f}" in done.out
    assert f"{low:+.2f}…{high:+.2f}".replace("0.", ".") in done.out


class Failing:
    """An embedder that fails while memories are stored."""

    def embed_documents(self, texts: list[str]) -> Sequence[VectorLike]:
        raise OSError("the model is gone")

    def embed_query(self, text: str) -> VectorLike:
        return [1.0, 0.0]


def test_what_failed_leaves_no_schema(run: Run, commands_url: str) -> None:
    failing = f"{__name__}:Failing"

    done = run("bench", "locomo", LOCOMO, "--embedder", failing)

    assert (done.code, "the model is gone" in done.err) == (1, True)
    assert schemas(commands_url) == []


REFUSED: tuple[tuple[tuple[Any, ...], str], ...] = (
    (("locomo", "none.json"), "none.json cannot be read as LoCoMo: it does not exist"),
    (("beam", LOCOMO.parent), "there is no chat.json in it; give chat.json of github.com/moham"),
    (("locomo", LOCOMO, "-k", "0"), "k must lie within 1"),
    (("locomo", LOCOMO, "-p", "no_such"), "unknown profile 'no_such'"),
    (("locomo", LOCOMO, "--run", "none.txt"), "none.txt"),
    (
        ("locomo", LOCOMO, "-p", "hybrid,trust", "--write-run", "r.txt"),
        "--write-run takes one profile",
    ),
    (
        ("locomo", LOCOMO, "--run", "r.txt", "-p", "hybrid"),
        "--run searches nothing: leave out --profile",
    ),
    (
        ("locomo", LOCOMO, "--run", "r.txt", "--dry-run"),
        "--run searches nothing: leave out --dry-run",
    ),
    (("locomo", LOCOMO, "--write-run", "none/r.txt"), "none is not a folder"),
    (("locomo", LOCOMO, "--lend", "0.3"), "expand_session"),
)


@pytest.mark.parametrize(("arguments", "why"), REFUSED)
def test_what_cannot_be_done_is_said_at_once(
    run: Run, arguments: tuple[Any, ...], why: str, commands_url: str
) -> None:
    done = run("bench", *arguments)

    assert done.code == 2
    assert why in done.err
    assert "to embed by" not in done.err
    assert schemas(commands_url) == []


def test_another_data_set_is_unknown(run: Run) -> None:
    done = run("bench", "musique", LOCOMO)

    assert done.code == 2
    assert "longmemeval" in done.err
