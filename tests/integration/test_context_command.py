"""`pgrecall context`: the text alone on standard output, the account of it beside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import create_engine

from pgrecall import MemoryRepository, NewMemory
from pgrecall.embedders import LocalEmbedder
from pgrecall.token_counting import estimated_tokens
from tests.conftest import new_database
from tests.integration.commands import CONTROLS, EVIL, Run, fast_runner
from tests.integration.support import NOW, before
from tests.unit.test_context_style import EVIL_TYPES, HOSTILE, READERS, Block

QUESTION = "what does Ines drink?"
TEA = "Ines drinks her tea without milk."
SAME_TEA = "Ines drinks her tea without any milk."
RULE = "Offer guests something to drink."
PORT = "The café on Rua das Flores roasts its own beans."


KEEPING = ("--max-tokens", "80", "--reserve", "episodic=1", "--min-score", "0")


ALL = ("--min-relevance", "0")
"""Whatever it has to do with the question."""


@pytest.fixture(scope="module")
def url(server_url: str, local_template: str) -> Iterator[str]:
    with new_database(server_url, local_template) as made:
        yield made


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    url: str,
    embedder: LocalEmbedder,
) -> Run:
    return fast_runner(monkeypatch, capsys, url, embedder)


@pytest.fixture(scope="module")
def repo(url: str, embedder: LocalEmbedder) -> Iterator[MemoryRepository]:
    engine = create_engine(url)
    yield MemoryRepository(engine, embedder=embedder)
    engine.dispose()


@pytest.fixture
def memories(repo: MemoryRepository, agent: str) -> dict[str, UUID]:
    """By their texts; all of one moment, so that only the question and their worth tell them
    apart."""
    texts = {TEA: "fact", SAME_TEA: "fact", RULE: "instruction", PORT: "episodic"}
    ids = repo.add_many(
        agent,
        [
            NewMemory(text, memory_type=kind, created_at=NOW, importance=0.9 - number / 10)
            for number, (text, kind) in enumerate(texts.items())
        ],
    )
    return dict(zip(texts, ids, strict=True))


def blocks(text: str, style: str = "plain") -> list[Block]:
    """By a strict reader, with the marker that the text itself ends with."""
    end = re.search(r"/(\w+)>?\n\Z", text)
    return READERS[style](text, end[1]) if end else []


def bodies(text: str, style: str = "plain") -> list[str]:
    return [body for *_, body in blocks(text, style)]


def counted(repo: MemoryRepository, agent: str, id_: UUID) -> int:
    found = repo.get(agent, id_)
    assert found is not None
    return found.retrieval_count


# What is printed where


def test_the_text_alone_goes_to_standard_output(
    run: Run, agent: str, memories: dict[str, UUID]
) -> None:
    done = run("context", QUESTION, "-a", agent, *ALL)

    assert done.code == 0
    found = blocks(done.out)
    assert {body for *_, body in found} == set(memories)
    assert found[0] == ("instruction", "2026-06-01", RULE)
    assert [kind for kind, *_ in found] == ["instruction", "fact", "fact", "episodic"]
    assert done.out.splitlines()[-1][1:] == done.out.split()[0]
    assert not done.out.endswith("\n\n")


def test_the_account_goes_to_standard_error(
    run: Run, agent: str, memories: dict[str, UUID]
) -> None:
    done = run("context", QUESTION, "-a", agent, "--max-similarity", "0.8")

    [near] = [line for line in done.err.splitlines() if "says much the same" in line]
    assert SAME_TEA in near or TEA in near
    assert "score" in done.err.splitlines()[0]
    for body in bodies(done.out):
        [line] = [line for line in done.err.splitlines() if body in line]
        assert line.rstrip(" │").endswith(body)
    tokens = estimated_tokens(done.out)
    inside = len(blocks(done.out))
    assert done.err.splitlines()[-1] == f"{inside} memories in {tokens} of 4,000 tokens"
    assert "memories in" not in done.out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--min-score", "0.99"), "its score is below the floor"),
        (("--max-tokens", "20"), "it does not fit into what is left"),
        (KEEPING, "what is left is kept for other types"),
        (("--max-similarity", "0.8"), "it says much the same as one that is in"),
        (("--max-tokens", "20", "--max-skips", "1"), "too many before it did not fit"),
        (("-k", "1"), "enough are in"),
    ],
)
def test_why_a_memory_is_left_out_is_told(
    run: Run, agent: str, memories: dict[str, UUID], options: tuple[str, ...], told: str
) -> None:
    done = run("context", QUESTION, "-a", agent, *ALL, *options)

    assert done.code == 0
    assert told in " ".join(done.err.split())
    assert told not in done.out


def test_nothing_found_prints_nothing_and_succeeds(run: Run, agent: str) -> None:
    done = run("context", QUESTION, "-a", agent)

    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines()[-1] == "0 memories in 0 of 4,000 tokens"


def test_json_is_one_object_and_nothing_beside(
    run: Run, agent: str, memories: dict[str, UUID]
) -> None:
    done = run(
        *("context", QUESTION, "-a", agent, *ALL, "--json", "-k", "3"),
        *("--max-similarity", "0.8", "--max-tokens", "500"),
    )

    assert (done.code, done.err) == (0, "")
    [record] = done.records
    assert list(record) == [
        *("text", "tokens", "max_tokens", "marker", "strategy", "min_relevance", "emptied_by"),
        *("packed", "left_out"),
    ]
    assert record["max_tokens"] == 500
    assert record["strategy"] == "exact"
    assert record["tokens"] == estimated_tokens(record["text"])
    assert READERS["plain"](record["text"], record["marker"]) == blocks(record["text"])
    assert {one["content"] for one in record["packed"]} == set(bodies(record["text"]))
    [out] = record["left_out"]
    assert list(out) == ["id", "score", "memory_type", "tokens", "reason", "relevance", "near"]
    tea = {str(memories[TEA]), str(memories[SAME_TEA])}
    assert (out["reason"], {out["id"], out["near"]}) == ("near_duplicate", tea)


def test_json_of_nothing_is_an_object_too(run: Run, agent: str) -> None:
    [record] = run("context", QUESTION, "-a", agent, "--json").records

    assert (record["text"], record["packed"], record["left_out"]) == ("", [], [])


# Options


@pytest.mark.parametrize("style", ["plain", "markdown", "xml"])
def test_each_style_is_read_back(
    run: Run, agent: str, memories: dict[str, UUID], style: str
) -> None:
    done = run("context", QUESTION, "-a", agent, *ALL, "--style", style)

    assert set(bodies(done.out, style)) == set(memories)


def test_options_reach_the_packing(run: Run, agent: str, memories: dict[str, UUID]) -> None:
    def packed(*options: str) -> set[str]:
        done = run("context", QUESTION, "-a", agent, *ALL, "--no-touch", *options)
        assert done.code == 0, done.err
        return set(bodies(done.out))

    every = set(memories)
    assert packed() == every
    assert len(packed("-k", "2")) == 2
    assert packed("--min-score", "0.99") == set()
    assert packed("--max-tokens", "10") == set()
    assert packed("--type", "instruction", "--type", "episodic") == {RULE, PORT}
    assert packed("--text", "tea -milk") == set()
    assert packed("--text", '"roasts its"') == {PORT}
    assert packed("--min-similarity", "0.99") == set()
    assert packed("--created-before", "2026-01-01") == set()
    assert packed("--as-of", "2026-05-01") == set()
    assert packed("--as-of", "2026-07-01", "--profile", "half_life") == every
    assert len(packed("--max-similarity", "0.8")) == 3
    assert len(packed("-k", "1", "--consider", "1")) == 1
    first_two = packed("-k", "2", "--profile", "hybrid")
    assert first_two == {TEA, SAME_TEA}
    assert len(packed("-k", "2", "--profile", "hybrid", "--diversity", "0.9") & first_two) == 1


def test_a_share_is_kept_for_a_type(run: Run, agent: str, memories: dict[str, UUID]) -> None:
    def types(*options: str) -> list[str]:
        done = run(*question, *options)
        return [kind for kind, *_ in blocks(done.out)]

    question = (
        *("context", QUESTION, "-a", agent, *ALL, "-p", "hybrid", "--max-tokens", "60"),
        *("--min-score", "0", "--no-touch"),
    )

    assert types() == ["fact", "fact"]
    assert types("--reserve", "episodic=0.5") == ["fact", "episodic"]
    assert types("--reserve", "episodic=0.5", "--reserve", "instruction=0.5") == [
        *("instruction", "episodic")
    ]


def test_teams_are_brought_in(
    run: Run, repo: MemoryRepository, agent: str, memories: dict[str, UUID]
) -> None:
    repo.teams.add(agent, "Ines has given up coffee.")

    alone = run("context", QUESTION, "-a", agent, "--no-touch")
    together = run("context", QUESTION, "-a", agent, "--team", agent, "--no-touch")

    assert set(bodies(together.out)) - set(bodies(alone.out)) == {"Ines has given up coffee."}


def test_only_what_is_in_is_counted_unless_told_not_to(
    run: Run, repo: MemoryRepository, agent: str, memories: dict[str, UUID]
) -> None:
    run("context", QUESTION, "-a", agent, "--no-touch")
    assert {counted(repo, agent, id_) for id_ in memories.values()} == {0}

    [inside] = bodies(run("context", QUESTION, "-a", agent, "-k", "1").out)

    assert {text: counted(repo, agent, id_) for text, id_ in memories.items()} == {
        text: int(text == inside) for text in memories
    }


def test_dates_are_shown(run: Run, repo: MemoryRepository, agent: str) -> None:
    repo.add(agent, NewMemory("old tea", created_at=before(10)))
    repo.add(agent, NewMemory("tea of unknown age", created_at=None))

    done = run("context", "tea", "-a", agent)

    assert {(date, body) for _, date, body in blocks(done.out)} == {
        ("2026-05-22", "old tea"),
        ("undated", "tea of unknown age"),
    }


# Mistakes


@pytest.mark.parametrize(
    "given",
    [
        *("fact", "fact=", "=0.5", "=", "", "fact=half", "fact:0.5", "fact=-0.5", "fact=0.5x"),
        *("fact=0,5", "fact==", "fact=0.5=", "fact= "),
    ],
)
def test_a_share_that_cannot_be_read_is_told_with_an_example(
    run: Run, agent: str, given: str
) -> None:
    done = run("context", QUESTION, "-a", agent, f"--reserve={given}")

    assert (done.code, done.out) == (2, "")
    assert "--reserve takes a type and its share, as in fact=0.5" in done.err
    assert repr(given) in done.err


def test_a_type_may_hold_an_equals_sign(run: Run, repo: MemoryRepository, agent: str) -> None:
    repo.add(agent, NewMemory("tea", memory_type="a=b"))

    done = run("context", "tea", "-a", agent, "--reserve", "a=b=0.5", "--json")

    assert done.code == 0
    assert [one["memory_type"] for one in done.records[0]["packed"]] == ["a=b"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--reserve", "fact=1.5"), "reserve['fact'] must lie within 0 and 1, got 1.5"),
        (("--reserve", "fact=nan"), "reserve['fact'] must lie within 0 and 1, got nan"),
        (("--reserve", "fact=inf"), "reserve['fact'] must lie within 0 and 1, got inf"),
        (("--reserve", "a=0.6", "--reserve", "b=0.5"), "the shares of reserve must not exceed 1"),
        (("--reserve", f"{'x' * 201}=0.5"), "reserve may have at most 200 characters, got 201"),
        (("--max-tokens", "0"), "max_tokens must lie within 1"),
        (("-k", "501"), "k must lie within 1 and 500, got 501"),
        (("--max-skips", "0"), "max_skips must lie within 1"),
        (("--consider", "3"), "consider must lie within 20 and 500, got 3"),
        (("--diversity", "1"), "diversity must be less than 1"),
        (("--diversity", "nan"), "diversity must lie within 0 and 1, got nan"),
        (("--max-similarity", "2"), "max_similarity must lie within 0 and 1, got 2.0"),
        (("--min-score", "-1"), "min_score must lie within 0 and 1, got -1.0"),
        (("--style", "html"), "unknown style 'html'; the styles are plain, markdown, xml"),
        (("--strategy", "fast"), "strategy must be one of auto, exact, index, got 'fast'"),
        (("--profile", "six_factor"), "six_factor"),
        (("--as-of", "yesterday"), "yesterday"),
    ],
)
def test_a_bad_value_is_named_and_nothing_printed(
    run: Run, agent: str, options: tuple[str, ...], message: str
) -> None:
    done = run("context", QUESTION, "-a", agent, *options)

    assert (done.code, done.out) == (2, "")
    assert message in " ".join(done.err.split())


@pytest.mark.parametrize(
    "options", [("--max-tokens", "many"), ("--diversity", "much"), ("--colour", "red")]
)
def test_an_option_that_is_none_is_refused(run: Run, agent: str, options: tuple[str, ...]) -> None:
    done = run("context", QUESTION, "-a", agent, *options)

    assert (done.code, done.out) == (2, "")


@pytest.mark.parametrize(
    ("text", "agent_id", "message"),
    [(" ", "a", "the query is empty"), (QUESTION, "", "agent_id must not be empty")],
)
def test_a_question_and_an_agent_are_needed(
    run: Run, text: str, agent_id: str, message: str
) -> None:
    done = run("context", text, "-a", agent_id)

    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_without_an_agent_nothing_is_asked(run: Run) -> None:
    assert run("context", QUESTION).code == 2


def test_other_troubles_have_their_own_exit_codes(run: Run, agent: str, url: str) -> None:
    nowhere = run("context", "x", "-a", agent, "--database-url", "postgresql://localhost:1/none")
    missing = run("context", "x", "-a", agent, "--schema", "elsewhere")

    assert (nowhere.code, nowhere.out) == (3, "")
    assert (missing.code, missing.out) == (4, "")
    assert "error:" in nowhere.err
    assert "pgrecall migrate" in missing.err


# Hostile texts


@pytest.fixture
def hostile(repo: MemoryRepository, agent: str) -> str:
    """An agent whose name, types and memories speak to terminals and pose as others."""
    evil = f"{agent} {EVIL}"
    texts = [f"{number} {text} {EVIL}" for number, text in enumerate(HOSTILE)]
    repo.add_many(
        evil,
        [
            NewMemory(text, memory_type=EVIL_TYPES[number % len(EVIL_TYPES)])
            for number, text in enumerate(texts)
        ],
    )
    repo.add(evil, NewMemory(f"of type {EVIL}", memory_type=EVIL))
    return evil


@pytest.mark.parametrize("style", ["plain", "markdown", "xml"])
def test_what_was_written_cannot_speak_to_the_terminal(run: Run, hostile: str, style: str) -> None:
    done = run(
        *("context", EVIL, "-a", hostile, "--style", style, "-k", "200", "--min-score", "0"),
        *("--max-tokens", "100000"),
    )
    few = run(
        *("context", EVIL, "-a", hostile, "--style", style, "-k", "3", "--max-similarity", "0.5")
    )

    for one in (done, few):
        assert one.code == 0, one.err
        assert not CONTROLS & set(one.out + one.err)
        assert "[bold]x[/bold] [/nothing]" in " ".join(one.out.split())
    assert len(blocks(done.out, style)) == len(HOSTILE) + 1


def test_hostile_memories_come_back_whole_as_json(run: Run, hostile: str) -> None:
    done = run(
        *("context", EVIL, "-a", hostile, "-k", "200", "--min-score", "0", "--json"),
        *("--max-tokens", "100000"),
    )

    record: dict[str, Any] = json.loads(done.out)
    assert len(READERS["plain"](record["text"], record["marker"])) == len(HOSTILE) + 1
    assert {one["content"] for one in record["packed"]} == {
        *(f"{number} {text} {EVIL}" for number, text in enumerate(HOSTILE)),
        f"of type {EVIL}",
    }


@pytest.mark.parametrize("option", ["--reserve", "--style", "--strategy", "--profile", "--as-of"])
def test_a_hostile_value_is_told_in_plain_text(run: Run, agent: str, option: str) -> None:
    done = run("context", QUESTION, "-a", agent, f"{option}={EVIL}")

    assert (done.code, done.out) == (2, "")
    assert not CONTROLS & set(done.err)


def test_nothing_known_is_said_with_the_floor(
    run: Run, agent: str, memories: dict[str, UUID]
) -> None:
    done = run("context", QUESTION, "-a", agent, "--min-relevance", "0.99")

    assert (done.code, done.out) == (0, "")
    said = re.search(
        r"nothing known: the best memory has relevance (0\.\d+), the floor is 0.99", done.err
    )
    [record] = run("context", QUESTION, "-a", agent, "--min-relevance", "0.99", "--json").records
    assert record["emptied_by"] == "min_relevance"
    best = max(one["relevance"] for one in record["left_out"])
    assert said is not None
    assert float(said[1]) == pytest.approx(best, abs=5e-4)
    assert "it has too little to do with the text" in " ".join(done.err.split())
