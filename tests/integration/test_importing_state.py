"""Importing lines of another system: their names, ids, times, owners and state."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from pgrecall import NewMemory, import_file
from pgrecall.errors import InputError, InvalidLine
from tests.integration.owner import Owner

GRACE = """
{"agent_id": "%(agent)s", "id": "mem_1", "body": "first", "embedding": null, \
"made": "2026-05-01 10:00", "stats": {"uses": 12, "used": "2026-06-01T08:00"}, \
"src": {"by": "ann"}}
{"agent_id": "%(agent)s", "id": "mem_2", "body": "second", "embedding": null, \
"status": "archived", "superseded_by": "mem_3", "invalidated_at": "2026-06-02T00:00:00Z", \
"invalidation_reason": "superseded", \
"links": ["mem_3", {"target_id": "mem_1", "kind": "next", "weight": 0.25}]}
{"team_id": "%(agent)s", "id": 7, "body": "of the team", "embedding": null, "trust": 0.25, \
"success_count": 2, "failure_count": 1, "feedback_up": 3, "feedback_down": 1}
{"id": "mem_3", "body": "second", "embedding": null, "retrieval_count": 1, "theirs": null}
{"id": "mem_4", "body": "second", "embedding": null, "retrieval_count": 1}
"""
FIELDS = {
    "body": "content",
    "made": "created_at",
    "stats.uses": "retrieval_count",
    "stats.used": "last_accessed_at",
    "src.by": "metadata.author",
}


def write(path: Path, *lines: Any) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def test_what_another_system_knew_comes_along(mine: Owner, tmp_path: Path) -> None:
    file = tmp_path / "grace.jsonl"
    file.write_text(GRACE % {"agent": mine.name}, encoding="utf-8")
    zone = ZoneInfo("Europe/Berlin")

    def imported() -> tuple[int, int]:
        done = import_file(mine.repo, mine.name, file, fields=FIELDS, timezone=zone)
        return done.added, done.already_there

    assert imported() == (5, 0)

    one, two, three, four = (mine.get(key=f"mem_{n}").id for n in range(1, 5))
    first, second = mine.read(one), mine.read(two)
    assert (first.key, first.content, first.metadata) == ("mem_1", "first", {"author": "ann"})
    assert first.created_at == datetime(2026, 5, 1, 8, tzinfo=UTC)
    assert first.last_accessed_at == datetime(2026, 6, 1, 6, tzinfo=UTC)
    assert (first.retrieval_count, first.status) == (12, "active")
    assert (second.status, second.superseded_by) == ("archived", three)
    assert second.invalidated_at == datetime(2026, 6, 2, tzinfo=UTC)
    links = {(link.target_id, link.kind, link.weight) for link in mine.links.of(two)}
    assert links == {(three, "related", 1.0), (one, "next", 0.25)}
    assert [event.event_type for event in mine.history(two)] == ["initial"]
    # Of one text, but of two ids: both are there.
    assert mine.read(three).content == mine.read(four).content
    of_team = mine.team.get(key="7")
    counted = (of_team.success_count, of_team.failure_count)
    assert (of_team.key, of_team.trust, counted) == ("7", 0.25, (2, 1))
    assert (of_team.feedback_up, of_team.feedback_down) == (3, 1)
    assert imported() == (0, 5)


BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"status": "open"}, "unknown status 'open'; known are active"),
    ({"retrieval_count": -1}, "retrieval_count must lie within 0 and"),
    ({"last_accessed_at": "2026-05-01 10:00"}, "last_accessed_at has no time zone"),
    ({"links": [{"to": "x"}]}, r"links\[0\]: unknown field to"),
    ({"events": [{"reason": "x"}]}, r"event_type of events\[0\]"),
    ({"key": "k", "id": str(UUID(int=1))}, "is not that of key 'k'"),
    ({"agent_id": "a", "team_id": "b"}, "one owner"),
)


@pytest.mark.parametrize(("fields", "reason"), BAD)
def test_state_that_cannot_be_is_refused_and_named(
    mine: Owner, tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    file = write(tmp_path / "bad.jsonl", {"content": "x", "embedding": None, **fields})

    with pytest.raises(InvalidLine, match=rf"bad\.jsonl, line 1: .*{reason}"):
        import_file(mine.repo, mine.name, file)

    assert mine.count() == 0


def test_all_unknown_fields_of_a_file_are_named_at_once(mine: Owner, tmp_path: Path) -> None:
    file = write(
        tmp_path / "odd.jsonl",
        {"content": "good", "embedding": None},
        {"content": "x", "color": "red", "old": 1, "agent_id": mine.name},
        {"content": "y", "size": 2, "color": "blue", "status": "odd"},
        *({"content": "z", f"f{n}": 1} for n in range(60)),
    )
    with pytest.raises(InvalidLine) as raised:
        import_file(mine.repo, mine.name, file, fields={"old": ""})
    assert "line 2: unknown fields color, size, f0, f1, " in str(raised.value)
    assert "f47 and 12 more: rename or leave out" in str(raised.value)
    assert mine.count() == 1

    told: dict[int, str] = {}
    bad = tmp_path / "bad.jsonl"
    import_file(mine.repo, mine.name, file, rejects=bad, on_reject=told.__setitem__)
    assert "unknown fields color, old:" in told[2]
    assert "unknown field f0:" in told[4]


def test_the_database_checks_what_is_restored_by_sql(mine: Owner) -> None:
    link = {"target_id": str(UUID(int=1)), "kind": ""}
    for bad in ('{"retrieval_count": -1}', json.dumps({"links": [link]})):
        with pytest.raises(Exception, match="violates check constraint"):
            mine.sql(
                "SELECT * FROM pgrecall.restore_rows(:agent, "
                "ARRAY[pgrecall.new_memory('x')], ARRAY[CAST(:bad AS jsonb)])",
                bad=bad,
            )
    with pytest.raises(Exception, match="is given twice"):
        mine.sql(
            "SELECT * FROM pgrecall.restore_rows(:agent, "
            "ARRAY[pgrecall.new_memory('x', key => 'k'), pgrecall.new_memory('y', key => 'k')], "
            "ARRAY['{}', '{}']::jsonb[])"
        )
    assert mine.everything() == Owner(mine.bind, "nobody at all").everything()


def test_rejected_lines_go_to_a_file_and_the_others_are_stored(
    mine: Owner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.memories.lines.MOST_LINE_BYTES", 1_000)
    monkeypatch.setattr("pgrecall.memories.imported_lines.MOST_LINE_BYTES", 1_000)
    lines = [
        '{"content": "good", "embedding": null}',
        "{not json",
        '{"content": "bad vector", "embedding": [1, 2]}',
        f'{{"content": "{"x" * 5_000}", "embedding": null}}',
        '{"content": "state", "embedding": null, "status": "archived"}',
        '{"content": "bad state", "embedding": [0], "status": "archived"}',
        '{"content": "last", "embedding": null}',
    ]
    file, bad = tmp_path / "mixed.jsonl", tmp_path / "bad.jsonl"
    file.write_text("\n".join(lines))
    told: dict[int, str] = {}

    done = import_file(mine.repo, mine.name, file, rejects=bad, on_reject=told.__setitem__)

    assert (done.added, done.rejected, sorted(told)) == (3, 4, [2, 3, 4, 6])
    assert "not JSON" in told[2]
    assert "2 dimensions" in told[3]
    assert "has more than" in told[4]
    left = bad.read_text().splitlines()
    assert {*left} - {lines[1], lines[2], lines[5]} == {lines[3][:1_001]}
    assert mine.count(include_inactive=True) == 3
    with pytest.raises(InputError, match="exists already"):
        import_file(mine.repo, mine.name, file, rejects=bad)


def test_a_name_that_two_fields_get_is_refused(mine: Owner, tmp_path: Path) -> None:
    line = {"content": "x", "text": "y", "embedding": None, "odd": {"a": 1, "b": {"c": 2}}}
    file = write(tmp_path / "lines.jsonl", line)

    with pytest.raises(InvalidLine, match="'text' and another field both become 'content'"):
        import_file(mine.repo, mine.name, file, fields={"text": "content"})
    with pytest.raises(InvalidLine, match="unknown field odd"):
        import_file(mine.repo, mine.name, file, fields={"text": "", "odd.a": ""})
    fields = {"text": "", "odd.a": "metadata.a", "odd.b.c": "turn", "odd.b": "", "odd": ""}
    with pytest.raises(InvalidLine, match="a turn is a place in a session"):
        import_file(mine.repo, mine.name, file, fields=fields)


def test_a_memory_of_the_same_edition_is_left_alone(mine: Owner) -> None:
    there = mine.add(NewMemory("Said.", embedding=None))
    before = mine.everything()

    [restored] = mine.transfer.restore([{"content": "SAID.", "embedding": None, "edition": 0}])

    assert (restored.outcome, restored != there) == ("duplicate", True)
    assert mine.everything() == before
    mine.transfer.restore([{"content": "Other.", "embedding": None, "status": "archived"}])
    assert mine.rows("memory_usage") == []  # no row until the first use


def test_a_restored_memory_is_in_a_rank_index_at_once(mine: Owner) -> None:
    vector = [1.0, *[0.0] * 7]
    mine.add_many([NewMemory(f"memory {n}", embedding=[n, 1, *[0.0] * 6]) for n in range(50)])
    mine.repo.rank_indexes.build(agent_id=mine.name, at_least=1)
    mine.transfer.restore(
        [{"content": "new", "embedding": vector, "importance": 1, "retrieval_count": 50}]
    )

    hits = mine.search(vector, k=1, strategy="index", profile="five_factor", touch=False)

    assert [hit.memory.content for hit in hits] == ["new"]
    assert hits.strategy == "index"


@pytest.mark.parametrize(
    ("line", "then", "after_one_more"),
    [
        ({"feedback_up": 8}, 9 / 10, 10 / 11),
        ({"feedback_up": 3, "feedback_down": 1}, 4 / 6, 5 / 7),
        ({"feedback_up": 8, "usefulness": 0.5}, 0.5, 6 / 11),
    ],
)
def test_votes_that_come_along_count(
    mine: Owner, line: dict[str, Any], then: float, after_one_more: float
) -> None:
    """As if they had been given here; a usefulness in the line is kept. Also in psql."""
    by_python, other = mine.transfer.restore(
        [
            {"id": "a", "content": "a", "embedding": None} | line,
            {"id": "b", "content": "b", "embedding": None, "usefulness": 0.75},
        ]
    )
    [by_psql] = mine.sql(
        "SELECT memory_id FROM pgrecall.restore_rows(:agent, "
        "ARRAY[pgrecall.new_memory('c', usefulness => :usefulness)], ARRAY[cast(:line AS jsonb)])",
        usefulness=line.get("usefulness"),
        line=json.dumps(line),
    )

    assert mine.read(other).usefulness == 0.75
    for memory_id in (by_python, by_psql):
        assert mine.read(memory_id).usefulness == pytest.approx(then, abs=1e-9)
        voted = mine.feedback(memory_id, "useful")
        assert voted.usefulness == pytest.approx(after_one_more, abs=1e-9)
