"""`pgrecall context`: the text alone on standard output, the account of it beside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import create_engine

from pgrecall import MemoryRepository, NewMemory
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.core.tokens import estimated_tokens
from tests.integration.commands import CONTROLS, EVIL, Run
from tests.integration.support import NOW
from tests.unit.test_context_style import HOSTILE, READERS, STORABLE_TYPES, Block

QUESTION = "what does Ines drink?"
TEA = "Ines drinks her tea without milk."
SAME_TEA = "Ines drinks her tea without any milk."
RULE = "Offer guests something to drink."
PORT = "The café on Rua das Flores roasts its own beans."
ALL = ("--min-relevance", "0")
"""Whatever it has to do with the question."""


@pytest.fixture
def runs_on(commands_url: str) -> str:
    return commands_url


@pytest.fixture(scope="module")
def repo(commands_url: str, local_embedder: LocalEmbedder) -> Iterator[MemoryRepository]:
    engine = create_engine(commands_url)
    yield MemoryRepository(engine, embedder=local_embedder)
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


def test_the_text_alone_goes_to_standard_output(
    run: Run, agent: str, memories: dict[str, UUID]
) -> None:
    done = run("context", QUESTION, "-a", agent, *ALL)

    assert done.code == 0
    found = blocks(done.out)
    assert {body for *_, body in found} == set(memories)
    assert found[0] == ("instruction", "2026-06-01", RULE)
    assert [kind for kind, *_ in found] == ["instruction", "fact", "fact", "episodic"]
    assert not done.out.endswith("\n\n")
    for style in ("markdown", "xml"):
        styled = run("context", QUESTION, "-a", agent, *ALL, "--style", style)
        assert set(bodies(styled.out, style)) == set(memories)


def test_the_account_goes_to_standard_error(
    run: Run, agent: str, memories: dict[str, UUID]
) -> None:
    done = run("context", QUESTION, "-a", agent, "--max-similarity", "0.8")

    [near] = [line for line in done.err.splitlines() if "nearly the same" in line]
    assert SAME_TEA in near or TEA in near
    assert "score" in done.err.splitlines()[0]
    for body in bodies(done.out):
        [line] = [line for line in done.err.splitlines() if body in line]
        assert line.rstrip(" │").endswith(body)
    tokens, inside = estimated_tokens(done.out), len(blocks(done.out))
    assert done.err.splitlines()[-1] == f"{inside} memories in {tokens} of 4,000 tokens"
    assert "memories in" not in done.out


def test_nothing_known_is_said_with_the_floor(
    run: Run, agent: str, memories: dict[str, UUID]
) -> None:
    nothing = run("context", QUESTION, "-a", "nobody")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err.splitlines()[-1] == "0 memories in 0 of 4,000 tokens"
    asked = ("context", QUESTION, "-a", agent, "--min-relevance", "0.99")
    done, [record] = run(*asked), run(*asked, "--json").records

    assert (done.code, done.out) == (0, "")
    said = re.search(
        r"nothing on this subject: the best relevance is (0\.\d+), the limit 0.99; the nearest: \w",
        done.err,
    )
    assert said is not None
    best = max(one["relevance"] for one in record["left_out"])
    assert float(said[1]) == pytest.approx(best, abs=5e-4)
    assert record["empty_because"] == "min_relevance"
    assert "not relevant enough" in " ".join(done.err.split())


MOMENT = "2026-07-01T00:00:00+00:00"
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("-k 2 --diversity 0.9", {"k": 2, "diversity": 0.9}),
    ("--max-tokens 20 --strategy exact", {"max_tokens": 20, "strategy": "exact"}),
    ("--reserve a=b=0.5 --max-tokens 60", {"reserve": {"a=b": 0.5}, "max_tokens": 60}),
    (
        "--reserve episodic=0.5 --reserve instruction=0.5 --max-tokens 60 -p hybrid",
        {"reserve": {"episodic": 0.5, "instruction": 0.5}, "max_tokens": 60, "profile": "hybrid"},
    ),
    ("--max-similarity 0.8 --style xml", {"max_similarity": 0.8, "style": "xml"}),
    ("-k 1 --fetch-k 1 --min-relevance 0", {"k": 1, "fetch_k": 1, "min_relevance": 0}),
    ("--type instruction --team red", {"filter": {"memory_type": "instruction"}, "teams": ["red"]}),
]


def test_options_reach_the_repository_and_json_is_its_record(
    run: Run, repo: MemoryRepository, agent: str, memories: dict[str, UUID]
) -> None:
    repo.teams.add("red", "Ines has given up coffee.")
    repo.add(agent, NewMemory("Ines drinks old tea.", memory_type="a=b", created_at=None))
    records = []
    for options, arguments in [("", {}), *OPTIONS]:
        asked = ("context", QUESTION, "-a", agent, "--json", "--no-touch", "--as-of", MOMENT)
        done = run(*asked, *options.split())
        as_of = datetime.fromisoformat(MOMENT)
        expected = repo.context(agent, QUESTION, touch=False, as_of=as_of, **arguments).record()

        [record] = done.records
        assert (done.code, done.err) == (0, "")
        text, marker = expected.pop("text"), expected.pop("marker")
        assert record.pop("text") == text.replace(marker, record.pop("marker"))
        assert record == expected, options
        records.append(expected)
    assert all(record != records[0] for record in records[1:])
    assert {counted(repo, agent, id_) for id_ in memories.values()} == {0}

    [inside] = bodies(run("context", QUESTION, "-a", agent, "-k", "1").out)
    assert {text: counted(repo, agent, id_) for text, id_ in memories.items()} == {
        text: int(text == inside) for text in memories
    }


REFUSED: list[tuple[tuple[str, ...], str]] = [
    *(
        ((f"--reserve={given}",), f"--reserve: write NAME=NUMBER, such as fact=0.5; got {given!r}")
        for given in ("fact", "=0.5", "fact=-0.5", "fact==")
    ),
    (("--reserve", "fact=1.5"), "reserve['fact'] must lie within 0 and 1, got 1.5"),
    (("--style", "html"), "unknown style 'html'; the styles are plain, markdown, xml"),
    (("--colour", "red"), "--colour"),
    *(((f"--{option}={EVIL}",), "evil") for option in ("reserve", "style", "profile", "as-of")),
]


def test_a_bad_value_is_named_and_nothing_printed(run: Run, agent: str) -> None:
    for options, message in REFUSED:
        done = run("context", QUESTION, "-a", agent, *options)

        assert (done.code, done.out) == (2, "")
        assert message in " ".join(re.sub("[│╭╰╮╯─]", "", done.err).split())
        assert not CONTROLS & set(done.err)


@pytest.fixture(scope="module")
def hostile(repo: MemoryRepository) -> str:
    """An agent whose name, types and memories speak to terminals and pose as others."""
    evil = f"hostile {EVIL}"
    repo.add_many(
        evil,
        [
            NewMemory(
                f"{number} {text} {EVIL}", memory_type=STORABLE_TYPES[number % len(STORABLE_TYPES)]
            )
            for number, text in enumerate(HOSTILE)
        ],
    )
    repo.add(evil, NewMemory(f"of type {EVIL}", memory_type=EVIL))
    return evil


def test_what_was_written_cannot_speak_to_the_terminal_and_comes_back_as_json(
    run: Run, hostile: str
) -> None:
    asked = ("context", EVIL, "-a", hostile)
    everything = ("-k", "200", "--min-score", "0", "--max-tokens", "100000")
    for style in READERS:
        done = run(*asked, *everything, "--style", style)
        few = run(*asked, "--style", style, "-k", "3", "--max-similarity", "0.5")

        for one in (done, few):
            assert one.code == 0, one.err
            assert not CONTROLS & set(one.out + one.err)
            assert "[bold]x[/bold] [/nothing]" in " ".join(one.out.split())
        assert len(blocks(done.out, style)) == len(HOSTILE) + 1
    record = json.loads(run(*asked, *everything, "--json").out)
    assert len(READERS["plain"](record["text"], record["marker"])) == len(HOSTILE) + 1
    assert {one["content"] for one in record["packed"]} == {
        *(f"{number} {text} {EVIL}" for number, text in enumerate(HOSTILE)),
        f"of type {EVIL}",
    }
