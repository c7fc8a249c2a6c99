"""Runs as files of TREC, and measures of them, beside those of trec_eval."""

from __future__ import annotations

import gzip
import random
from collections.abc import Mapping
from pathlib import Path

import pytest
import pytrec_eval

from pgrecall.errors import InputError
from pgrecall.evaluation.datasets.conversation import BenchQuestion, Conversation, Turn
from pgrecall.evaluation.run_file import Found, Run, read_run, write_judgements, write_run
from pgrecall.evaluation.run_measures import ALL, depths_of, run_scores

OWNERS, TURNS, OF_SESSION, QUESTIONS = 6, 40, 8, 7


def conversation(name: str, dice: random.Random) -> Conversation:
    turns = [
        Turn(f"{name}/{n}", f"s{n // OF_SESSION}", n % OF_SESSION, "Ada", f"text {n}", None)
        for n in range(TURNS)
    ]
    questions = []
    for number in range(QUESTIONS):
        chosen = dice.sample(turns, dice.randint(1, 3))
        sessions = tuple(dict.fromkeys(turn.session for turn in chosen))
        ids, kind = tuple(turn.id for turn in chosen), ("odd", "even")[number % 2]
        questions.append(BenchQuestion(f"{name}/q{number}", "?", kind, ids, sessions))
    return Conversation(name, turns, questions)


@pytest.fixture
def talks() -> list[Conversation]:
    dice = random.Random("talks")
    return [conversation(f"owner-{n}", dice) for n in range(OWNERS)]


@pytest.fixture
def found(talks: list[Conversation]) -> Mapping[str, Found]:
    """Thirty turns for each question, some with equal scores, as from a search."""
    dice = random.Random("found")
    runs: dict[str, Found] = {}
    for talk in talks:
        for question in talk.questions:
            turns = dice.sample([turn.id for turn in talk.turns], 30)
            scores = sorted((round(dice.random(), 1) for _ in turns), reverse=True)
            runs[question.id] = list(zip(turns, scores, strict=True))
    return runs


def test_what_is_written_is_read_back_and_measured_alike(
    talks: list[Conversation], found: Mapping[str, Found], tmp_path: Path
) -> None:
    kept = Run(
        "a_way", {question: [turn for turn, _ in turns] for question, turns in found.items()}
    )
    write_run(tmp_path / "run.txt", "a way", found)
    (tmp_path / "run.gz").write_bytes(gzip.compress((tmp_path / "run.txt").read_bytes()))

    for file in ("run.txt", "run.gz"):
        read = read_run(tmp_path / file, talks)
        assert read == kept
    assert run_scores(talks, read, 20) == run_scores(talks, kept, 20)


@pytest.mark.parametrize("decimals", [6, 0])
def test_measures_are_those_of_trec_eval(
    talks: list[Conversation], found: Mapping[str, Found], tmp_path: Path, decimals: int
) -> None:
    """Also of a run from elsewhere that has equal scores."""
    write_run(tmp_path / "run.txt", "mine", found)
    write_judgements(tmp_path / "qrels.txt", talks)
    lines = [one.split() for one in (tmp_path / "run.txt").read_text().splitlines()]
    dealt = lines[:]
    random.Random(0).shuffle(dealt)  # neither the order of lines nor the rank counts
    rounded = [f"{float(line[4]):.{decimals}f}" for line in dealt]
    shuffled = [
        " ".join([*line[:3], "1", score, line[5]])
        for line, score in zip(dealt, rounded, strict=True)
    ]
    (tmp_path / "shuffled.txt").write_text("\n".join(shuffled))
    judged = [one.split() for one in (tmp_path / "qrels.txt").read_text().splitlines()]
    qrels: dict[str, dict[str, int]] = {}
    for question, _, turn, gain in judged:
        qrels.setdefault(question, {})[turn] = int(gain)
    run: dict[str, dict[str, float]] = {}
    for question, _, turn, _, score, _ in map(str.split, shuffled):
        run.setdefault(question, {})[turn] = float(score)

    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, {"recall.5,10,20,30", "ndcg_cut.10", "recip_rank"}
    ).evaluate(run)
    scores = run_scores(talks, read_run(tmp_path / "shuffled.txt", talks), 30).turns

    names = {f"recall@{depth}": f"recall_{depth}" for depth in (5, 10, 20, 30)}
    names |= {"nDCG@10": "ndcg_cut_10", "MRR": "recip_rank"}
    for ours, name in names.items():
        mean = sum(one[name] for one in theirs.values()) / len(theirs)
        assert scores[ALL].means[ours].mean == pytest.approx(mean)
        assert scores[ALL].means[ours].low < mean < scores[ALL].means[ours].high
    assert scores[ALL].questions == scores["odd"].questions + scores["even"].questions == len(qrels)


def test_a_session_has_the_rank_of_its_first_turn_and_all_needs_all() -> None:
    turns = [Turn(f"o/{n}", f"s{n // 2}", n % 2, "", "x", None) for n in range(20)]
    asked = BenchQuestion("o/q", "?", "kind", ("o/0", "o/3", "o/19"), ("s0", "s1", "s9"))
    no_turn = BenchQuestion("o/r", "?", "kind", (), ("s0",))
    found = ["o/2", "o/0", *(f"o/{n}" for n in range(4, 12)), "o/3", "o/18"]
    run = Run("x", {"o/q": found, "o/r": ["o/1"]})

    scores = run_scores([Conversation("o", turns, [asked, no_turn])], run, 20)

    by_turns, by_sessions = scores.turns["kind"], scores.sessions["kind"]
    assert (by_turns.questions, by_sessions.questions) == (1, 2)
    values = {name: mean.mean for name, mean in by_turns.means.items()}
    assert values["recall@5"] == values["recall@10"] == pytest.approx(1 / 3)
    assert values["recall@20"] == pytest.approx(2 / 3)
    assert values["MRR"] == 1 / 2
    assert [values[f"all@{k}"] for k in (5, 10, 20)] == [0, 0, 0]
    sessions = {name: mean.mean for name, mean in by_sessions.means.items()}
    assert sessions["recall@5"] == sessions["recall@10"] == pytest.approx((2 / 3 + 1) / 2)
    assert sessions["recall@20"] == sessions["all@20"] == 1, "s9 at 12"
    assert (sessions["all@10"], sessions["MRR"]) == (1 / 2, 1)


def test_questions_without_answer_evidence_or_hits_are_counted_apart() -> None:
    turns = [Turn(f"o/{n}", "s", n, "", "x", None) for n in range(3)]
    questions = [
        BenchQuestion("q1", "?", "none", answerable=False),
        BenchQuestion("q2", "?", "none", answerable=False),
        BenchQuestion("q3", "?", "kind"),
        BenchQuestion("q4", "?", "kind", ("o/1",), ("s",)),
    ]

    scores = run_scores([Conversation("o", turns, questions)], Run("x", {"q1": ["o/1"]}), 10)

    assert (scores.silent, scores.without_evidence, scores.lost) == ({"none": (1, 2)}, 1, 1)
    assert scores.turns[ALL].means["recall@10"].mean == 0
    assert list(scores.turns) == [ALL, "kind"]


def test_depths_end_at_what_is_searched() -> None:
    assert [depths_of(k) for k in (1, 7, 20, 50)] == [
        *((1,), (5, 7), (5, 10, 20), (5, 10, 20, 50)),
    ]


BAD = (
    ("owner-0/q0 Q0 owner-0/1 1 0.5", "must be `question Q0 turn rank score tag`"),
    ("q0 Q0 owner-0/1 1 0.5 x", "no question 'q0'; they are called owner-0/q0, owner-0/q1"),
    ("owner-0/q0 Q0 owner-1/1 1 0.5 x", "of owner-0/q0 has no turn 'owner-1/1'"),
    ("owner-0/q0 Q0 owner-0/1 1 high x", "could not convert"),
    ("owner-0/q0 Q0 owner-0/1 1 nan x", "a finite number, got nan"),
    ("owner-0/q0 Q0 owner-0/0 1 0.4 x", "'owner-0/0' is there twice"),
    ("\udcff", "not UTF-8"),
)


@pytest.mark.parametrize(("line", "why"), BAD)
def test_a_bad_line_is_named(
    talks: list[Conversation], line: str, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "run.txt"
    text = f"owner-0/q0 Q0 owner-0/0 1 0.5 x\n{line}\n"
    file.write_bytes(text.encode(errors="surrogateescape"))

    with pytest.raises(InputError, match="line 2: ") as caught:
        read_run(file, talks)

    assert why in str(caught.value)


def test_a_file_is_one_run(talks: list[Conversation], tmp_path: Path) -> None:
    line = "owner-0/q0 Q0 owner-0/{} 1 0.5 {}\n"
    for text, why in (
        ("", "has no line"),
        (line.format(1, "a") + line.format(2, "b"), "lines of several runs: a, b"),
    ):
        (tmp_path / "run.txt").write_text(text)
        with pytest.raises(InputError, match=why):
            read_run(tmp_path / "run.txt", talks)
