from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from pgrecall import JudgedQuery
from pgrecall.errors import InputError, InvalidLine
from pgrecall.evaluation.queries_file import KEYS, load_queries, record_of, save_queries
from pgrecall.memories.record import id_of_source

AGENT = "agent"
ONE, TWO = (UUID(f"00000000-0000-7000-8000-00000000000{n}") for n in (1, 2))
GOOD = json.dumps({"query": "tea", "relevant": [str(ONE)]})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "queries.jsonl"


def loaded(file: Path, *lines: Any, agent: str = AGENT) -> list[JudgedQuery]:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    file.write_text("\n".join(texts), encoding="utf-8")
    return load_queries(file, agent)


def test_every_key_is_read(file: Path) -> None:
    words, vector = (
        {
            "query": "What does Ines drink?",
            "relevant": [str(ONE), str(TWO)],
            "group": "food",
            "time": "2026-06-01T12:00:00+02:00",
            "keywords": "Ines drink",
            "entities": ["Ines"],
            "agent": "another",
            "period": ["2026-05-01T00:00:00+02:00", "2026-06-01T00:00:00+02:00"],
            "irrelevant": [str(TWO)],
        },
        {"query": [1, 0.5], "relevant": {str(ONE): 3, str(TWO): 0.5}},
    )

    found = loaded(file, words, vector)

    assert {*words, *vector} == set(KEYS)
    null = dict.fromkeys(set(KEYS) - {"query", "relevant"})
    assert loaded(file, json.loads(GOOD) | null) == [JudgedQuery("tea", [ONE])]
    assert found == [
        JudgedQuery(
            "What does Ines drink?",
            [ONE, TWO],
            group="food",
            as_of=datetime(2026, 6, 1, 12, tzinfo=timezone(timedelta(hours=2))),
            keywords="Ines drink",
            entities=["Ines"],
            agent_id="another",
            period=(
                datetime(2026, 5, 1, tzinfo=timezone(timedelta(hours=2))),
                datetime(2026, 6, 1, tzinfo=timezone(timedelta(hours=2))),
            ),
            irrelevant=[TWO],
        ),
        JudgedQuery([1, 0.5], {ONE: 3, TWO: 0.5}),
    ]


def test_line_ends_byte_order_marks_and_empty_lines_do_not_matter(file: Path) -> None:
    other = GOOD.replace("tea", "té\u2028two\x85three")
    for ending, mark in (("\n", ""), ("\r\n", ""), ("\n", "\ufeff"), ("\r\n", "\ufeff")):
        file.write_bytes((mark + ending.join([GOOD, "", "  ", other, ""])).encode())

        texts = [query.query for query in load_queries(file, AGENT)]
        assert texts == ["tea", "té\u2028two\x85three"]


def test_ids_of_imported_files_are_those_of_their_memories(file: Path) -> None:
    lines = [
        {"query": "a", "relevant": ["m-17", 17, str(ONE).upper()]},
        {"query": "b", "relevant": {"m-17": 2, "17": 1}},
    ]

    first, second = loaded(file, *lines)
    [theirs, _] = loaded(file, *lines, agent="another")

    ids = [id_of_source("m-17", AGENT), id_of_source(17, AGENT), ONE]
    assert first.relevant == ids
    assert second.relevant == {ids[0]: 2, ids[1]: 1}
    assert list(theirs.relevant)[2] == ONE
    assert not {*list(theirs.relevant)[:2]} & {*ids}


BAD: list[tuple[str, str]] = [
    ("tea", r"not JSON: .* at column 1"),
    ('{"query": "tea", ', r"not JSON"),
    ('{"query": "a", "relevant": ["x"], "colour": 1, "as_of": 2}', r"unknown key as_of, colour"),
    ('{"relevant": ["x"]}', r"needs query, a text or a vector"),
    ('{"embedding": [1], "relevant": ["x"]}', r"unknown key embedding \(did you mean query\?\)"),
    ('{"query": 5, "relevant": ["x"]}', r"query must be a text or a list of numbers, got 5"),
    (f'{{"query": [1, {10**400}], "relevant": ["x"]}}', r"query has a number.*too large"),
    ('{"query": "a", "relevant": "x"}', r"relevant must be a list of ids or an object.*'x'"),
    ('{"query": "a", "relevant": [""]}', r"an id must be text that is not empty"),
    ('{"query": "a", "relevant": ["x"], "period": "May"}', r"period must be two datetimes"),
    ('{"query": " ", "relevant": ["x"]}', r"query"),
    ('{"query": "a", "relevant": {"x": 0}}', r"a gain must lie within"),
    ('{"query": "a", "relevant": ["x"], "agent": ""}', r"agent"),
    ('{"query": "a", "relevant": ["x"], "time": "yesterday"}', r"time is not an ISO 8601 time"),
    ("[" * 100_000, r"nested too deeply"),
]


def test_a_bad_line_is_named_by_its_number(file: Path) -> None:
    for line, message in BAD:
        with pytest.raises(InvalidLine, match=rf"queries\.jsonl, line 3: .*{message}"):
            loaded(file, GOOD, "", line, GOOD)


def test_a_file_that_is_no_text_or_has_no_query_is_refused(file: Path, tmp_path: Path) -> None:
    file.write_bytes(GOOD.encode() + b"\n\xff")
    with pytest.raises(InvalidLine, match=r"queries\.jsonl, line 2: not UTF-8: byte 0xff"):
        load_queries(file, AGENT)
    for text in ("", "\n \n", "\ufeff"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"queries\.jsonl contains no query"):
            load_queries(file, AGENT)
    with pytest.raises(InputError, match=r"cannot be read: Is a directory"):
        load_queries(tmp_path, AGENT)


SAVED = [
    JudgedQuery("tea", [ONE]),
    JudgedQuery('té 東京 \u2028 \n "q" \'', [ONE, TWO]),
    JudgedQuery("graded", {ONE: 3.0, TWO: 0.5}),
    JudgedQuery("of one moment", [TWO], as_of=datetime(2026, 6, 1, 12, 30, 1, 5, tzinfo=UTC)),
    JudgedQuery(*("all", [ONE]), group="food", keywords="words", entities=["Ann", "Sir W."]),
    JudgedQuery([0.25, -1.0], [ONE], keywords="words of a vector"),
    JudgedQuery("of another", [ONE], agent_id="another"),
    JudgedQuery("without an answer", []),
]


def test_what_is_saved_is_loaded(file: Path) -> None:
    save_queries(file, SAVED)

    assert load_queries(file, AGENT) == SAVED
    assert load_queries(str(file), "whoever") == SAVED
    assert len(file.read_text("utf-8").split("\n")) == len(SAVED) + 1
    several = (memory_id for memory_id in (ONE, TWO))
    for query in (JudgedQuery("tea", several), JudgedQuery("tea", {ONE: 1.0, TWO: 1})):
        expected = {"query": "tea", "relevant": [str(ONE), str(TWO)]}
        assert record_of(query) == record_of(query) == expected
