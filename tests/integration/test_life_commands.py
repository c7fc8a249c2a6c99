"""The commands for the life of a memory: what they do, print and end with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from sqlalchemy import create_engine
from typer.main import get_command_name

from pgrecall import MemoryRepository, NewMemory
from pgrecall.cli.main import app
from pgrecall.embedders import LocalEmbedder
from tests.conftest import new_database
from tests.integration.commands import BUILT, CONTROLS, EVIL, Run, fast_runner

UNKNOWN = "00000000-0000-7000-8000-000000000000"
SAME = [
    "Ines drinks her tea without milk.",
    "Ines drinks her tea without any milk.",
    "Ines drinks tea without milk.",
]
"""More than 0.8 similar to each other by the local embedder."""


def named(*panels: str) -> dict[str, Any]:
    """The commands of these parts of the help, or all, by their names."""
    return {
        command.name or get_command_name(command.callback.__name__): command.callback
        for command in app.registered_commands
        if command.callback and (not panels or command.rich_help_panel in panels)
    }


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
def memory(repo: MemoryRepository, agent: str) -> UUID:
    return repo.add(agent, NewMemory("Ines drinks tea", trust=0.78))


# Use


def test_an_outcome_moves_trust_and_is_told(run: Run, agent: str, memory: UUID) -> None:
    shown = run("outcome", memory, "success", "-a", agent)
    [record] = run("outcome", memory, "failure", "-a", agent, "--no-touch", "--json").records

    first = 0.78 + 0.05 / 1.1
    assert shown.code == 0
    assert f"{memory}: trust {first:.4f}, trust_usage 0.7150" in shown.out
    assert list(record) == ["id", "trust", "trust_usage", "success_count", "failure_count"]
    assert record["id"] == str(memory)
    assert record["trust"] == pytest.approx(first - 0.08 / 1.05)
    assert record["trust_usage"] == pytest.approx(0.7 / 2 + 0.3 / 20)
    assert (record["success_count"], record["failure_count"]) == (1, 1)


def test_trust_is_changed_by_hand(run: Run, agent: str, memory: UUID) -> None:
    why = ("--reason", "stale", "--actor", "Ann", "-a", agent)

    [raised] = run("trust", memory, "0.1", *why, "--json").records
    lowered = run("trust", *why, "--", memory, "-0.2")
    floored = run("trust", *why, "--json", "--", memory, "-1").records

    assert raised == {"id": str(memory), "trust": pytest.approx(0.88)}
    assert lowered.out.strip() == f"{memory}: trust 0.6800"
    assert floored == [{"id": str(memory), "trust": 0.0}]


def test_feedback_moves_usefulness(run: Run, agent: str, memory: UUID) -> None:
    shown = run("feedback", memory, "useful", "-a", agent, "--context", "found it")
    [record] = run("feedback", memory, "outdated", "-a", agent, "--json").records

    assert f"usefulness {2 / 3:.4f}, needs_review False" in shown.out
    assert record == {
        "id": str(memory),
        "usefulness": pytest.approx(2 / 4),
        "needs_review": True,
        "feedback_up": 1,
        "feedback_down": 1,
    }


def test_the_history_tells_what_why_and_who(run: Run, agent: str, memory: UUID) -> None:
    run("trust", memory, "0.1", "--reason", "checked", "--actor", "Ann", "-a", agent)
    run("delete", memory, "-a", agent, "--reason", "moved")

    shown = run("history", memory, "-a", agent)
    records = run("history", memory, "-a", agent, "--json").records

    assert [record["event_type"] for record in records] == ["initial", "manual", "deleted"]
    assert list(records[1]) == [
        *("id", "memory_id", "event_type", "reason", "actor", "old_values", "new_values"),
        *("trust_delta", "metadata", "occurred_at"),
    ]
    assert (records[1]["reason"], records[1]["actor"]) == ("checked", "Ann")
    assert records[1]["trust_delta"] == pytest.approx(0.1)
    assert records[1]["new_values"]["trust"] == pytest.approx(0.88)
    assert datetime.fromisoformat(records[1]["occurred_at"]).utcoffset() is not None
    for said in ("initial", "manual", "trust 0.78 → 0.88", "checked", "Ann", "deleted", "moved"):
        assert said in shown.out


def test_the_history_of_nothing_says_so(run: Run, agent: str) -> None:
    shown = run("history", UNKNOWN, "-a", agent)

    assert (shown.code, shown.out.strip()) == (0, "nothing is known of it")
    assert run("history", UNKNOWN, "-a", agent, "--json").records == []


# Correct


def test_supersede_puts_a_memory_in_the_place_of_another(
    run: Run, repo: MemoryRepository, agent: str
) -> None:
    old = repo.add(agent, NewMemory("Ines lives in Rome", importance=0.9))

    [record] = run("supersede", old, "Ines lives in Oslo", "-a", agent, "--json").records
    found = run("search", "Where does Ines live?", "-a", agent, "--json").records

    assert record["superseded"] == str(old)
    assert record["outcome"] == "inserted"
    assert [hit["id"] for hit in found] == [record["id"]]
    new, before = repo.get(agent, UUID(record["id"])), repo.get(agent, old)
    assert new is not None
    assert before is not None
    assert (new.importance, before.superseded_by) == (0.9, new.id)
    assert before.invalidation_reason == "superseded"


def test_supersede_again_is_a_conflict_unless_forced(run: Run, agent: str, memory: UUID) -> None:
    shown = run("supersede", memory, "Ines drinks coffee", "-a", agent)

    refused = run("supersede", memory, "Ines drinks water", "-a", agent)
    forced = run("supersede", memory, "Ines drinks water", "-a", agent, "--force")

    assert shown.out.startswith(f"{memory} superseded by ")
    assert refused.code == 2
    assert "has been superseded already" in refused.err
    assert (refused.out, forced.code) == ("", 0)


def test_supersede_in_time_that_overlaps_is_a_conflict(
    run: Run, repo: MemoryRepository, agent: str
) -> None:
    ends = datetime(2030, 1, 1, tzinfo=UTC)
    old = repo.add(agent, NewMemory("Ines lives in Rome", valid_until=ends))

    early = run("supersede", old, "in Oslo", "-a", agent, "--valid-from", "2029-12-31")
    later = run("supersede", old, "in Oslo", "-a", agent, "--valid-from", "2030-01-01")

    assert (early.code, later.code) == (2, 0)
    assert "overlap" in early.err


def test_supersede_by_the_same_words_is_refused(run: Run, agent: str, memory: UUID) -> None:
    done = run("supersede", memory, "INES drinks  tea", "-a", agent)

    assert done.code == 2
    assert "nothing to supersede" in done.err


@pytest.mark.parametrize(
    ("there", "key", "back"),
    [("invalidate", "invalidated", "revive"), ("demote", "demoted", "promote")],
)
def test_commands_on_several_memories_tell_how_many(
    run: Run, repo: MemoryRepository, agent: str, there: str, key: str, back: str
) -> None:
    ids = repo.add_many(agent, ["one", "two"])

    first = run(there, *ids, UNKNOWN, "-a", agent, "--reason", "why", "--actor", "Ann", "--json")
    second = run(back, ids[0], "-a", agent)
    third = run(there, *ids, "-a", agent, "--json") if there == "invalidate" else None

    assert first.records == [{key: 2}]
    assert second.out.strip() == f"1 {back}d"
    assert third is None or third.records == [{key: 1}]
    event = repo.history(agent, ids[1])[-1]
    assert (event.reason, event.actor) == ("why", "Ann")


def test_nothing_is_revived_beside_what_says_the_same(
    run: Run, repo: MemoryRepository, agent: str
) -> None:
    old = repo.add(agent, NewMemory("Tea", created_at=datetime(2020, 1, 1, tzinfo=UTC)))
    repo.prune(agent, older_than=timedelta(days=1))
    repo.add(agent, "tea")

    done = run("revive", old, "-a", agent)

    assert done.code == 2
    assert "says the same" in done.err


def test_importance_is_overridden(run: Run, agent: str, memory: UUID) -> None:
    shown = run("importance", memory, "0.9", "-a", agent)
    [record] = run("importance", memory, "0", "-a", agent, "--json").records

    assert shown.out.strip() == f"{memory}: importance 0.9000"
    assert record == {"id": str(memory), "importance": 0.0}


# Curate


def test_pairs_that_say_nearly_the_same_are_listed(
    run: Run, repo: MemoryRepository, agent: str
) -> None:
    older, newer = repo.add_many(agent, SAME[:2])
    repo.add(agent, "The build is broken")

    [pair] = run("near-duplicates", "-a", agent, "--threshold", "0.8", "--json").records
    shown = run("near-duplicates", "-a", agent, "--threshold", "0.8")
    none = run("near-duplicates", "-a", agent, "--threshold", "1")

    assert list(pair) == [
        *("similarity", "older_id", "newer_id", "older_content", "newer_content"),
    ]
    assert (pair["older_id"], pair["newer_id"]) == (str(older), str(newer))
    assert (pair["older_content"], pair["newer_content"]) == (SAME[0], SAME[1])
    assert 0.8 < pair["similarity"] < 1
    ids = repo.short_ids(agent, [older, newer]).values()
    assert [id_ for id_ in ids if id_ not in shown.out] == []
    assert f"{pair['similarity']:.4f}" in shown.out
    assert none.out.strip() == "none"


def test_clusters_are_shown_and_consolidated(run: Run, repo: MemoryRepository, agent: str) -> None:
    ids = {str(added) for added in repo.add_many(agent, SAME)}
    repo.add(agent, "The build is broken")
    options = ("-a", agent, "--more-than", "3", "--min-similarity", "0.7")

    few = run("clusters", "-a", agent)
    [cluster] = run("clusters", *options, "--json").records
    shown = run("clusters", *options)
    [done] = run("consolidate", *options, "--actor", "Ann", "--json").records
    again = run("consolidate", *options)

    assert few.out.strip() == "none"
    assert set(cluster["ids"]) == ids
    assert cluster["similarities"][0] == 1
    assert all(content in shown.out for content in cluster["contents"])
    short = repo.short_ids(agent, map(UUID, cluster["ids"])).values()
    assert [id_ for id_ in short if id_ not in shown.out] == []
    assert set(done["sources"]) == ids
    assert done["importance"] == pytest.approx(0.6)
    assert again.out.strip() == "nothing to consolidate"
    statuses = [repo.get(agent, UUID(id_)) for id_ in ids]
    assert {memory.status for memory in statuses if memory} == {"consolidated"}
    assert {link.kind for link in repo.links(agent, UUID(done["id"]))} == {"consolidates"}


def test_tasks_nobody_asked_for_are_completed(run: Run, repo: MemoryRepository, agent: str) -> None:
    old = datetime.now(UTC) - timedelta(days=8)
    repo.add(agent, NewMemory("call Ann", memory_type="task", created_at=old))
    repo.add(agent, NewMemory("call Ben", memory_type="task"))
    repo.add(agent, NewMemory("no task", created_at=old))

    later = run("complete-tasks", "-a", agent, "--days", "9", "--json")
    now = run("complete-tasks", "-a", agent)

    assert later.records == [{"completed": 0}]
    assert now.out.strip() == "1 tasks completed"
    assert repo.count(agent, statuses=["completed"]) == 1


def test_pruning_needs_a_limit_and_tells_how_many(
    run: Run, repo: MemoryRepository, agent: str
) -> None:
    old = datetime.now(UTC) - timedelta(days=400)
    repo.add(agent, NewMemory("old and useless", created_at=old, usefulness=0, confidence=0))
    repo.add(agent, NewMemory("old and useful", created_at=old, usefulness=1, confidence=1))
    repo.add(agent, NewMemory("new and useless", usefulness=0, confidence=0))

    all_of_it = run("prune", "-a", agent)
    both = run("prune", "-a", agent, "--days", "30", "--below-score", "0.1", "--json")
    by_age = run("prune", "-a", agent, "--days", "30", "--reason", "why", "--actor", "Ann")

    assert (all_of_it.code, all_of_it.out) == (2, "")
    assert both.records == [{"archived": 1}]
    assert by_age.out.strip() == "1 archived"
    assert repo.count(agent) == 1


def test_deleting_tells_how_many(run: Run, repo: MemoryRepository, agent: str) -> None:
    ids = repo.add_many(agent, ["one", "two", "three"])

    two = run("delete", ids[0], ids[1], ids[1], UNKNOWN, "-a", agent, "--json")
    none = run("delete", ids[0], "-a", agent)

    assert two.records == [{"deleted": 2}]
    assert (none.code, none.out.strip()) == (0, "0 deleted")
    assert repo.count(agent) == 1


def test_clearing_asks_and_can_be_declined(run: Run, repo: MemoryRepository, agent: str) -> None:
    repo.add_many(agent, ["one", "two"])

    declined = run("clear", "-a", agent, answer="n\n")
    unanswered = run("clear", "-a", agent)
    left = repo.count(agent)
    agreed = run("clear", "-a", agent, answer="y\n")

    assert (declined.code, unanswered.code, left) == (1, 1, 2)
    assert f"Delete everything of {agent}?" in declined.out + declined.err
    assert "Traceback" not in declined.err + unanswered.err
    assert (agreed.code, repo.count(agent)) == (0, 0)
    assert "2 memories deleted" in agreed.out


def test_clearing_with_yes_does_not_ask(run: Run, repo: MemoryRepository, agent: str) -> None:
    repo.add_many(agent, ["one", "two"])

    done = run("clear", "-a", agent, "--yes", "--json")

    assert (done.code, done.records) == (0, [{"cleared": 2}])
    assert run("clear", "-a", agent, "-y", "--json").records == [{"cleared": 0}]


def test_the_question_is_not_part_of_the_json(run: Run, repo: MemoryRepository, agent: str) -> None:
    repo.add(agent, "one")

    done = run("clear", "-a", agent, "--json", answer="y\n")

    assert done.records == [{"cleared": 1}]


# Garbage


@pytest.fixture
def garbage(repo: MemoryRepository, agent: str) -> list[UUID]:
    """To be deleted, archived for its trust, archived for its age, and kept."""
    old = datetime.now(UTC) - timedelta(hours=721)
    return [
        repo.add(agent, NewMemory("worst", trust=0.05)),
        repo.add(agent, NewMemory("bad", trust=0.15)),
        repo.add(agent, NewMemory("old", trust=0.9, created_at=old)),
        repo.add(agent, NewMemory("good", trust=0.9)),
    ]


def test_garbage_is_collected_and_the_run_is_told(
    run: Run, repo: MemoryRepository, url: str, agent: str, garbage: list[UUID]
) -> None:
    [foretold] = run("gc", "-a", agent, "--dry-run", "--json").records
    said = run("gc", "-a", agent, "--dry-run")
    untouched = repo.count(agent), runs_of(url, agent)
    [done] = run("gc", "-a", agent, "--policy", "mine", "--batch-size", "1", "--json").records

    numbers = {"owners": 1, "scanned": 4, "archived": 2, "deleted": 1, "swept": 0}
    assert foretold == {"id": None, "dry_run": True, **numbers, "seconds": foretold["seconds"]}
    assert said.out.startswith(
        "dry run: 4 live memories scanned, 2 archived, 1 deleted, 0 leftovers swept in "
    )
    assert untouched == (4, [])
    assert done == foretold | {"id": done["id"], "dry_run": False, "seconds": done["seconds"]}
    assert runs_of(url, agent) == [(UUID(done["id"]), "mine", True)]
    assert repo.get(agent, garbage[0]) is None
    assert repo.count(agent) == 1


@pytest.mark.parametrize(
    ("options", "archived", "deleted"),
    [
        (("--any-age",), 1, 1),
        (("--max-age-hours", "722"), 1, 1),
        (("--min-trust-threshold", "0", "--delete-threshold", "0"), 1, 0),
        (("--delete-threshold", "0.2"), 1, 2),
        (("--min-trust-threshold", "1"), 3, 1),
        (("--max-live", "0"), 3, 1),
    ],
)
def test_each_option_of_the_garbage_collection_counts(
    run: Run, agent: str, garbage: list[UUID], options: tuple[str, ...], archived: int, deleted: int
) -> None:
    [foretold] = run("gc", "-a", agent, "--dry-run", "--json", *options).records
    [done] = run("gc", "-a", agent, "--json", *options).records

    assert (foretold["archived"], foretold["deleted"]) == (archived, deleted)
    assert (done["archived"], done["deleted"]) == (archived, deleted)


def test_the_garbage_of_a_team_is_not_that_of_the_agent(
    run: Run, repo: MemoryRepository, agent: str, garbage: list[UUID]
) -> None:
    repo.teams.add(agent, NewMemory("of the team", trust=0.0))

    [done] = run("gc", "-a", agent, "--of-team", "--json").records

    assert (done["scanned"], done["deleted"]) == (1, 1)
    assert repo.count(agent) == 4


# Labels and links


def test_labels_are_given_found_and_taken(
    run: Run, repo: MemoryRepository, agent: str, memory: UUID
) -> None:
    repo.add(agent, "Ines drinks coffee")
    given = run("label", memory, "tea", "drink", "-a", agent, "--weight", "0.5", "--json")
    heavier = run("label", memory, "Ines", "-a", agent, "--kind", "concept")

    records = run("labels", memory, "-a", agent, "--json").records
    shown = run("labels", memory, "-a", agent)
    found = run("labelled", "tea", "Ines", "-a", agent, "--json").records
    kept_out = run("labelled", "tea", "-a", agent, "--kind", "concept", "--json").records
    searched = run("search", "Ines", "-a", agent, "--label", "tea", "--json").records
    [why] = run("explain", memory, "Ines", "-a", agent, "--label", "milk", "--json").records
    taken = run("unlabel", memory, "tea", "milk", "-a", agent, "--json")

    assert (given.records, heavier.out.strip()) == ([{"labelled": 2}], "1 labels written")
    assert records == [
        {"value": "Ines", "kind": "concept", "weight": 1.0},
        *({"value": value, "kind": "keyword", "weight": 0.5} for value in ("drink", "tea")),
    ]
    assert [line.split() for line in shown.out.splitlines()] == [
        ["1.000", "concept", "Ines"],
        ["0.500", "keyword", "drink"],
        ["0.500", "keyword", "tea"],
    ]
    assert found == [{"id": str(memory), "weight": 1.5, "content": "Ines drinks tea"}]
    assert kept_out == []
    assert [hit["id"] for hit in searched] == [str(memory)]
    assert "filtered by labels" in why["reasons"][0]
    assert taken.records == [{"unlabelled": 1}]
    assert run("labelled", "tea", "-a", agent, "--json").records == []


def test_links_are_made_shown_and_taken(
    run: Run, repo: MemoryRepository, agent: str, memory: UUID
) -> None:
    other = repo.add(agent, "The kettle is broken")
    pair = (memory, other, "-a", agent, "--kind", "needs")

    [made] = run("link", *pair, "--weight", "0.5", "--json").records
    heavier = run("link", *pair)
    records = run("links", other, "-a", agent, "--json").records
    shown = run("links", memory, "-a", agent)
    taken = run("unlink", *pair, "--json"), run("unlink", *pair, "--json"), run("unlink", *pair)

    expected = {"source": str(memory), "target": str(other), "kind": "needs"}
    assert made == expected | {"weight": 0.5}
    assert heavier.out.strip() == "linked"
    assert records == [expected | {"weight": 1.0}]
    assert shown.out.split() == ["1.000", "needs", str(memory), "→", str(other)]
    assert [done.records for done in taken[:2]] == [[{"unlinked": True}], [{"unlinked": False}]]
    assert taken[2].out.strip() == "there was no such link"


def test_a_search_brings_along_what_its_hits_are_linked_to(
    run: Run, repo: MemoryRepository, agent: str
) -> None:
    contents = ["Ines drinks tea", "Ines drinks green tea", "The build is broken", "Monday is free"]
    ids = repo.add_many(agent, [*contents, "far away"])
    for source, target in pairwise(ids[1:4]):
        repo.link(agent, source, target)

    steps = [
        run("search", "Ines drinks tea", "-a", agent, "-k", "2", "--json", *expand).records
        for expand in ((), ("--expand", "1"), ("--expand", "2"))
    ]

    tea, green_tea, build, monday = contents
    near = {tea: 0, green_tea: 0}
    assert [{hit["content"]: hit.get("steps", 0) for hit in hits} for hits in steps] == [
        near,
        near | {build: 1},
        near | {build: 1, monday: 2},
    ]


# Add and import


def test_a_write_repeated_under_its_key_adds_nothing(
    run: Run, repo: MemoryRepository, agent: str
) -> None:
    first = run("add", "one", "-a", agent, "--key", "k/1", "--json").records
    again = run("add", "one", "-a", agent, "--key", "k/1", "--json").records
    shown = run("add", "one", "-a", agent, "--key", "k/1")

    assert first == [{"id": first[0]["id"], "outcome": "inserted", "similarity": None}]
    assert again == [first[0] | {"outcome": "known"}]
    assert shown.out.strip() == first[0]["id"]
    assert "nothing new is stored" in shown.err
    assert repo.count(agent) == 1


@pytest.mark.parametrize(("policy", "retrievals"), [("bump", 1), ("keep", 0)])
def test_the_same_words_are_stored_once(
    run: Run, repo: MemoryRepository, agent: str, memory: UUID, policy: str, retrievals: int
) -> None:
    [record] = run("add", "ines DRINKS  tea", "-a", agent, "--duplicates", policy, "--json").records

    assert record == {"id": str(memory), "outcome": "duplicate", "similarity": 1.0}
    stored = repo.get(agent, memory)
    assert stored is not None
    assert (stored.retrieval_count, stored.content) == (retrievals, "Ines drinks tea")


def test_the_same_words_can_replace(
    run: Run, repo: MemoryRepository, agent: str, memory: UUID
) -> None:
    run("add", "Ines drinks TEA", "-a", agent, "--duplicates", "replace", "--importance", "0.9")

    stored = repo.get(agent, memory)
    assert stored is not None
    assert (stored.content, stored.importance) == ("Ines drinks TEA", 0.9)


def test_what_says_nearly_the_same_is_met_when_asked_for(
    run: Run, repo: MemoryRepository, agent: str
) -> None:
    first = repo.add(agent, SAME[0])
    given = ("add", SAME[1], "-a", agent)

    [met] = run(*given, "--near-duplicates", "0.8", "--json").records
    shown = run(*given, "--near-duplicates", "0.8")
    strict = run(*given, "--near-duplicates", "1", "--json").records

    assert (met["id"], met["outcome"]) == (str(first), "near_duplicate")
    assert 0.8 < met["similarity"] < 1
    assert f"near duplicate at {met['similarity']:.3f}" in shown.err
    assert strict[0]["outcome"] == "inserted"


def test_what_is_not_compliant_is_refused_unless_told_otherwise(
    run: Run, repo: MemoryRepository, agent: str
) -> None:
    given = ("add", "x", "-a", agent, "--no-compliant", "--component", "meta")

    refused = run(*given)
    stored = run(*given, "--no-check-compliance")

    assert (refused.code, refused.out, stored.code) == (2, "", 0)
    assert "not compliant" in refused.err
    memory = repo.get(agent, UUID(stored.out.strip()))
    assert memory is not None
    assert memory.trust_governance == pytest.approx(0.3)
    assert memory.trust_provenance == pytest.approx(0.6 * 0.8 + 0.4 * 0.8)


def test_fields_given_when_adding_are_stored(run: Run, repo: MemoryRepository, agent: str) -> None:
    added = run(
        *("add", "x", "-a", agent, "--tier", "short", "--subject", "Ines", "--actor", "Ann"),
        *("--output-type", "action", "--compliant", "--confidence", "0.5"),
    )

    memory_id = UUID(added.out.strip())
    memory = repo.get(agent, memory_id)
    assert memory is not None
    assert (memory.tier, memory.subject, memory.compliant) == ("short", "Ines", True)
    assert (memory.trust_curve, memory.trust_half_life_hours) == ("exponential", 72)
    assert memory.expires_at is not None
    left = memory.expires_at - datetime.now(UTC)
    assert timedelta(hours=23) < left <= timedelta(hours=24)
    assert [event.actor for event in repo.history(agent, memory_id)] == ["Ann"]


def test_importing_tells_what_is_said_already(
    run: Run, repo: MemoryRepository, agent: str, memory: UUID, tmp_path: Path
) -> None:
    file = tmp_path / "notes.jsonl"
    lines = ["ines drinks tea", "new", "NEW", "other"]
    file.write_text("".join(json.dumps({"content": line}) + "\n" for line in lines))

    [record] = run("import", file, "-a", agent, "--json").records
    shown = run("import", file, "-a", agent)

    assert {name: record[name] for name in ("added", "already_there", "duplicates")} == {
        "added": 2,
        "already_there": 0,
        "duplicates": 2,
    }
    assert "0 memories added" in shown.out
    assert "2 were there already, 2 said what others say" in shown.out
    assert repo.count(agent) == 3


def test_importing_refuses_what_is_not_compliant_unless_told_otherwise(
    run: Run, repo: MemoryRepository, agent: str, tmp_path: Path
) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text('{"content": "good"}\n{"content": "bad", "compliant": false}\n')

    refused = run("import", file, "-a", agent)
    left = repo.count(agent)
    taken = run("import", file, "-a", agent, "--no-check-compliance")

    assert (refused.code, left, taken.code) == (2, 1, 0)
    assert f"{file}, line 2: " in refused.err
    assert repo.count(agent) == 2


# Teams


def test_every_command_works_on_a_team_and_leaves_the_agent_alone(
    run: Run, repo: MemoryRepository, agent: str
) -> None:
    mine = repo.add(agent, NewMemory("of the agent", trust=0.5))
    before = repo.get(agent, mine)
    team = ("-a", agent, "--of-team", "--json")
    [first] = run("add", "of the team", *team).records
    [second] = run("add", "of the team, too", *team).records
    one, other = first["id"], second["id"]

    commands: list[tuple[object, ...]] = [
        ("outcome", one, "success"),
        ("trust", one, "0.1", "--reason", "why", "--actor", "Ann"),
        ("feedback", one, "useful"),
        ("importance", one, "0.9"),
        ("demote", one),
        ("promote", one),
        ("invalidate", one),
        ("revive", one),
        ("label", one, "x"),
        ("labels", one),
        ("labelled", "x"),
        ("unlabel", one, "x"),
        ("link", one, other),
        ("links", one),
        ("unlink", one, other),
        ("near-duplicates", "--threshold", "0"),
        ("clusters", "--min-size", "2", "--min-similarity", "0", "--more-than", "1"),
        ("complete-tasks",),
        ("prune", "--days", "1"),
        ("supersede", other, "of the team now"),
        ("history", one),
        ("consolidate", "--min-size", "2", "--min-similarity", "0", "--more-than", "1"),
        ("gc",),
        ("delete", one),
        ("clear", "--yes"),
    ]
    done = {str(command[0]): run(*command, *team) for command in commands}

    assert {name: result.err for name, result in done.items() if result.code} == {}
    assert [name for name, result in done.items() if not result.records] == []
    numbers = {key: n for result in done.values() for key, n in result.records[0].items()}
    for name in ("demoted", "promoted", "invalidated", "revived", "labelled", "unlabelled"):
        assert numbers[name] == 1, name
    assert (repo.get(agent, mine), repo.teams.count(agent)) == (before, 0)


def test_the_id_of_a_teams_memory_is_unknown_to_the_agent(
    run: Run, repo: MemoryRepository, agent: str
) -> None:
    of_team = repo.teams.add(agent, "of the team")

    assert run("outcome", of_team, "success", "-a", agent).code == 2
    assert run("delete", of_team, "-a", agent, "--json").records == [{"deleted": 0}]


# What is refused


ID = "{id}"
NO_SUCH_MEMORY: list[tuple[str, ...]] = [
    ("outcome", ID, "success"),
    ("trust", ID, "0.1", "--reason", "x", "--actor", "y"),
    ("feedback", ID, "useful"),
    ("supersede", ID, "new"),
    ("importance", ID, "0.5"),
    ("label", ID, "x"),
    ("unlabel", ID, "x"),
    ("link", ID, UNKNOWN),
]
OTHERS: list[tuple[str, ...]] = [
    *(("history", ID), ("invalidate", ID), ("revive", ID), ("promote", ID), ("demote", ID)),
    *(("delete", ID), ("labels", ID), ("links", ID), ("unlink", ID, UNKNOWN)),
]


@pytest.mark.parametrize("arguments", NO_SUCH_MEMORY, ids=lambda arguments: arguments[0])
def test_an_unknown_memory_ends_with_two(run: Run, agent: str, arguments: tuple[str, ...]) -> None:
    unknown = str(uuid4())

    done = run(*(unknown if text == ID else text for text in arguments), "-a", agent)

    assert (done.code, done.out) == (2, "")
    assert "has no memory" in done.err


@pytest.mark.parametrize("arguments", [*NO_SUCH_MEMORY, *OTHERS], ids=lambda a: a[0])
def test_what_is_no_id_ends_with_two(run: Run, agent: str, arguments: tuple[str, ...]) -> None:
    done = run(*("sev\033en" if text == ID else text for text in arguments), "-a", agent)

    assert (done.code, done.out) == (2, "")
    assert "is not the id of a memory" in done.err
    assert "\033" not in done.err


TAKE_IDS = [*NO_SUCH_MEMORY, *OTHERS, ("explain", ID, "tea")]


@pytest.fixture
def alike(repo: MemoryRepository, agent: str) -> list[UUID]:
    """Three memories, of which two have ids that begin alike."""
    digits = uuid4().hex
    ids = [UUID(f"{digits[:12]}{end}{digits[13:]}") for end in "0f"]
    ids.append(uuid4())
    repo.add_many(agent, [NewMemory(f"memory {id_}", id=id_) for id_ in ids])
    return ids


@pytest.mark.parametrize("arguments", TAKE_IDS, ids=lambda arguments: arguments[0])
def test_the_first_digits_of_an_id_stand_for_it(
    run: Run, repo: MemoryRepository, agent: str, alike: list[UUID], arguments: tuple[str, ...]
) -> None:
    short = repo.short_ids(agent, alike)
    names = {ID: short[alike[0]], UNKNOWN: short[alike[2]]}

    done = run(*(names.get(text, text) for text in arguments), "-a", agent)

    assert (done.code, done.err) == (0, "")
    assert [len(short[id_].replace("-", "")) for id_ in alike] == [13, 13, 8]


@pytest.mark.parametrize("arguments", TAKE_IDS, ids=lambda arguments: arguments[0])
def test_digits_that_begin_several_ids_are_refused_with_these(
    run: Run, repo: MemoryRepository, agent: str, alike: list[UUID], arguments: tuple[str, ...]
) -> None:
    before = [repo.get(agent, id_) for id_ in alike]
    names = {ID: str(alike[0])[:11], UNKNOWN: str(alike[2])}

    done = run(*(names.get(text, text) for text in arguments), "-a", agent)

    assert (done.code, done.out) == (2, "")
    assert [str(id_) in done.err for id_ in alike] == [True, True, False]
    assert [repo.get(agent, id_) for id_ in alike] == before


def test_a_search_shows_digits_that_explain_takes_of_teams_too(
    run: Run, repo: MemoryRepository, agent: str, alike: list[UUID]
) -> None:
    twin = UUID(int=alike[2].int ^ 1)
    repo.teams.add(f"{agent} red", NewMemory("of the team", id=twin))
    teams = ("--team", f"{agent} red", "-a", agent)

    shown = run("search", "memory", *teams)

    assert str(twin) in shown.out
    assert str(alike[2]) in shown.out
    assert str(alike[0])[:14] in shown.out
    assert run("explain", str(alike[2])[:35], "memory", *teams).code == 2
    assert run("explain", str(twin), "memory", *teams).code == 0


REFUSED: list[tuple[tuple[str, ...], str]] = [
    (("outcome", ID, "maybe"), "maybe"),
    (("outcome", ID), "result"),
    (("trust", ID, "2", "--reason", "x", "--actor", "y"), "within -1 and 1"),
    (("trust", ID, "nan", "--reason", "x", "--actor", "y"), "within -1 and 1"),
    (("trust", ID, "much", "--reason", "x", "--actor", "y"), "delta"),
    (("trust", ID, "0.1", "--reason", "", "--actor", "y"), "reason"),
    (("trust", ID, "0.1", "--actor", "y"), "--reason"),
    (("feedback", ID, "good"), "good"),
    (("importance", ID, "1.5"), "importance must lie within 0 and 1"),
    (("importance", ID, "nan"), "importance must lie within 0 and 1"),
    (("supersede", ID, ""), "content must not be empty"),
    (("supersede", ID, "x", "--importance", "2"), "importance"),
    (("supersede", ID, "x", "--valid-from", "soon"), "--valid-from"),
    (("invalidate",), "ID"),
    (("invalidate", ID, "--actor", ""), "actor must not be empty"),
    (("promote", ID, "--actor", "x" * 201), "at most 200"),
    (("near-duplicates", "--threshold", "1.1"), "threshold must lie within 0 and 1"),
    (("near-duplicates", "--threshold", "nan"), "threshold must lie within 0 and 1"),
    (("near-duplicates", "--limit", "0"), "limit must lie within 1"),
    (("near-duplicates", "--newest", "1"), "newest must lie within 2"),
    (("clusters", "--min-size", "1"), "min_size must lie within 2"),
    (("clusters", "--min-similarity", "-1"), "min_similarity must lie within 0 and 1"),
    (("consolidate", "--more-than", "-1"), "more_than must lie within 0"),
    (("complete-tasks", "--days", "-1"), "older_than"),
    (("complete-tasks", "--days", "nan"), "--days"),
    (("complete-tasks", "--days", "inf"), "--days"),
    (("prune", "--days", "1e12"), "--days"),
    (("prune", "--below-score", "2"), "below_score must lie within 0 and 1"),
    (("prune", "--days", "1", "--profile", "x"), "five_factor"),
    (("gc", "--batch-size", "0"), "batch_size must lie within 1"),
    (("gc", "--max-live", "-1"), "max_live must lie within 0"),
    (("gc", "--max-age-hours", "nan"), "max_age_hours must lie within"),
    (("gc", "--min-trust-threshold", "1.1"), "min_trust_threshold must lie within 0 and 1"),
    (("gc", "--delete-threshold", "nan"), "delete_threshold must lie within 0 and 1"),
    (("gc", "--policy", ""), "name must not be empty"),
    (("label", ID, "x", "--kind", "colour"), "colour"),
    (("label", ID, "x", "--weight", "2"), "weight must lie within 0 and 1"),
    (("label", ID, ""), "label must not be empty"),
    (("label", ID), "LABEL"),
    (("labelled", "x", "--kind", "colour"), "colour"),
    (("labelled", "x", "--limit", "0"), "limit must lie within 1"),
    (("link", ID, ID), "twice"),
    (("link", ID, UNKNOWN, "--kind", ""), "kind must not be empty"),
    (("link", ID, UNKNOWN, "--weight", "-0.1"), "weight must lie within 0 and 1"),
    (("add", "x", "--near-duplicates", "1.5"), "near_duplicates"),
    (("add", "x", "--duplicates", "drop"), "drop"),
    (("add", "x", "--tier", "eternal"), "tier"),
    (("add", "x", "--key", ""), "key"),
    (("add", "x", "--confidence", "nan"), "confidence"),
    (("search", "x", "--expand", "3"), "expand"),
    (("search", "x", "--expand", "-1"), "expand"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=lambda value: " ".join(value)[:60])
def test_bad_values_end_with_two_say_why_and_change_nothing(
    run: Run,
    repo: MemoryRepository,
    agent: str,
    memory: UUID,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    before = repo.get(agent, memory), repo.history(agent, memory)

    done = run(*(memory if text == ID else text for text in arguments), "-a", agent)

    assert (done.code, done.out) == (2, "")
    assert message.lower() in done.err.lower()  # Typer wrote arguments in capitals
    assert "Traceback" not in done.err
    assert (repo.get(agent, memory), repo.history(agent, memory)) == before


@pytest.mark.parametrize("name", sorted(named("Use", "Correct", "Curate")))
def test_an_agent_without_a_name_is_refused(run: Run, name: str) -> None:
    arguments: dict[str, tuple[str, ...]] = {
        "outcome": (UNKNOWN, "success"),
        "trust": (UNKNOWN, "0", "--reason", "x", "--actor", "y"),
        "feedback": (UNKNOWN, "useful"),
        "supersede": (UNKNOWN, "x"),
        "importance": (UNKNOWN, "0"),
        "prune": ("--days", "1"),
        "clear": ("--yes",),
        **dict.fromkeys(("near-duplicates", "clusters", "consolidate", "complete-tasks", "gc"), ()),
    }

    done = run(name, *arguments.get(name, (UNKNOWN,)), "-a", "")

    assert done.code == 2
    assert "agent_id must not be empty" in done.err


# Hostile texts


def test_what_was_written_cannot_speak_to_the_terminal(
    run: Run, repo: MemoryRepository, agent: str
) -> None:
    evil = f"{agent} {EVIL}"
    ids = repo.add_many(evil, [f"{EVIL} {text}" for text in SAME])
    repo.label(evil, ids[0], EVIL)
    repo.link(evil, ids[0], ids[1], EVIL)
    note = ("--reason", EVIL, "--actor", EVIL, "-a", evil)
    cluster = ("-a", evil, "--more-than", "2", "--min-similarity", "0.5")

    shown = {
        "trust": run("trust", ids[0], "0.1", *note),
        "outcome": run("outcome", ids[0], "success", *note),
        "feedback": run("feedback", ids[0], "useful", "--context", EVIL, "-a", evil),
        "history": run("history", ids[0], "-a", evil),
        "labels": run("labels", ids[0], "-a", evil),
        "labelled": run("labelled", EVIL, "-a", evil),
        "links": run("links", ids[0], "-a", evil),
        "near-duplicates": run("near-duplicates", "-a", evil, "--threshold", "0.5"),
        "clusters": run("clusters", *cluster),
        "add": run("add", f"{EVIL} {SAME[0]}", *note[2:]),
        "unknown": run("outcome", UNKNOWN, "success", "-a", evil),
        "search": run("search", EVIL, "-a", evil, "--label", EVIL),
        "consolidate": run("consolidate", *cluster, "--actor", EVIL),
        "gc": run("gc", "-a", evil, "--policy", EVIL),
        "clear": run("clear", "-a", evil, answer="y\n"),
    }

    said = {name: done.out + done.err for name, done in shown.items()}
    assert [name for name, text in said.items() if CONTROLS & set(text)] == []
    codes = {name: done.code for name, done in shown.items() if done.code}
    assert codes == {"unknown": 2}
    for name in ("history", "labels", "labelled", "links", "near-duplicates", "clusters"):
        assert "[bold]x[/bold] [/nothing]" in " ".join(said[name].split()), name


def test_an_import_for_a_hostile_agent_is_told_in_plain_text(
    run: Run, agent: str, tmp_path: Path
) -> None:
    file = tmp_path / "a[b] \033[31m.jsonl"
    file.write_text('{"content": "x"}\n')

    done = run("import", file, "-a", f"{agent} {EVIL}")

    assert done.code == 0
    assert not CONTROLS & set(done.out + done.err)


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE pgrecall.agent_memories; --", "%s %(x)s", ":x ::text $1", "{} {0}", "-"]
)
def test_hostile_names_are_only_data(
    run: Run, repo: MemoryRepository, agent: str, text: str
) -> None:
    owner = f"{agent} {text}"
    ids = [UUID(int=added.int) for added in repo.add_many(owner, [text, f"{text} 2"])]

    run("label", ids[0], f"x{text}", "-a", owner, "--actor", text)
    run("link", *ids, "-a", owner, "--kind", text)
    run("feedback", ids[0], "useful", "--context", text, "-a", owner, "--actor", text)

    assert run("labels", ids[0], "-a", owner, "--json").records[0]["value"] == f"x{text}"
    assert run("links", ids[0], "-a", owner, "--json").records[0]["kind"] == text
    told = run("history", ids[0], "-a", owner, "--json").records[-1]
    assert (told["event_type"], told["reason"], told["actor"]) == ("feedback", text, text)
    assert run("clear", "-a", owner, "--yes", "--json").records == [{"cleared": 2}]


# Help


EVERY = named()


@pytest.mark.parametrize("name", EVERY)
def test_the_help_of_a_command_tells_what_it_does(run: Run, name: str) -> None:
    done = run(name, "--help")

    told = " ".join("".join(c for c in done.out if c not in "│╭╮╰╯─").split())
    said = str(EVERY[name].__doc__).split(".")[0]
    assert done.code == 0
    assert " ".join(said.split()) in told


def test_every_argument_and_option_has_its_help() -> None:
    silent = [
        (name, parameter.name)
        for name in EVERY
        for parameter in BUILT.commands[name].params
        if not parameter.help
    ]

    assert silent == []


def test_the_help_of_all_lists_every_command(run: Run) -> None:
    done = run("--help")

    words = set(done.out.split())
    assert done.code == 0
    assert EVERY.keys() <= words


def runs_of(url: str, agent: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT id, policy, finished FROM pgrecall.gc_runs WHERE agent_id = %s", (agent,)
        ).fetchall()
