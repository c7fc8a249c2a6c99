"""The commands for the life of a memory: what they do, print and end with."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, create_engine, text

from pgrecall import Erased, NewMemory
from pgrecall.cli.memory_ids import short_ids
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.core.memory import NewMemoryFields
from tests.integration.commands import BUILT, CONTROLS, EVIL, Run, fast_runner
from tests.integration.owner import Owner

UNKNOWN = "00000000-0000-7000-8000-000000000000"
SAME = [
    "Ines drinks her tea without milk.",
    "Ines drinks her tea without any milk.",
    "Ines drinks tea without milk.",
]
"""More than 0.8 similar to each other by the local embedder."""
COMMANDS: dict[str, Any] = {
    name: command for name, command in BUILT.commands.items() if not hasattr(command, "commands")
}


@pytest.fixture(scope="module")
def commanded(commands_url: str) -> Iterator[Engine]:
    engine = create_engine(commands_url)
    yield engine
    engine.dispose()


@pytest.fixture
def mine(commanded: Engine, local_embedder: LocalEmbedder, agent: str) -> Owner:
    return Owner(commanded, agent, embedder=local_embedder)


@pytest.fixture
def memory(mine: Owner) -> UUID:
    return UUID(int=mine.add(NewMemory("Ines drinks tea", trust=0.78)).int)


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    commands_url: str,
    local_embedder: LocalEmbedder,
    mine: Owner,
) -> Run:
    """Runs a command for this agent, unless it names another."""
    command = fast_runner(monkeypatch, capsys, commands_url, local_embedder)

    def of_agent(*arguments: object, answer: str = "") -> Any:
        named = "-a" in arguments or "--help" in arguments
        name, *rest = arguments
        return command(name, *(() if named else ("-a", mine.name)), *rest, answer=answer)

    return of_agent


# Use


def test_use_is_recorded_and_told(run: Run, mine: Owner, memory: UUID) -> None:
    why = ("--reason", "stale", "--actor", "Ann")

    good = run("outcome", memory, "success", *why)
    first = mine.read(memory)
    [bad] = run("outcome", memory, "failure", "--no-touch", "--json").records
    [raised] = run("trust", memory, "0.1", *why, "--json").records
    lowered = run("trust", *why, "--", memory, "-0.2")
    useful = run("feedback", memory, "useful", "--context", "found it")
    [outdated] = run("feedback", memory, "outdated", "--json").records
    events = run("history", memory, "--json").records
    shown = run("history", memory).out

    last = mine.read(memory)
    assert first.trust == pytest.approx(0.78 + 0.05 / 1.1)
    assert f"{memory}: trust {first.trust:.4f}, trust_usage 0.7150" in good.out
    assert bad["id"] == outdated["id"] == str(memory)
    assert list(bad) == ["id", "trust", "trust_usage", "success_count", "failure_count"]
    assert (bad["trust_usage"], last.retrieval_count) == (last.trust_usage, 1)
    assert raised == {"id": str(memory), "trust": pytest.approx(bad["trust"] + 0.1)}
    assert lowered.out.strip() == f"{memory}: trust {last.trust:.4f}"
    assert f"usefulness {2 / 3:.4f}, needs_review False" in useful.out
    names = ("usefulness", "needs_review", "feedback_up", "feedback_down")
    assert outdated == {"id": str(memory)} | {name: getattr(last, name) for name in names}
    kinds = [event["event_type"] for event in events]
    assert kinds == ["initial", "reinforcement", "penalty", *["manual"] * 2, *["feedback"] * 2]
    assert list(events[3]) == [
        *("id", "memory_id", "event_type", "reason", "actor", "old_values", "new_values"),
        *("trust_delta", "metadata", "occurred_at"),
    ]
    told = [(events[n]["reason"], events[n]["actor"]) for n in (1, 3, 5)]
    assert told == [("stale", "Ann"), ("stale", "Ann"), ("found it", None)]
    assert events[3]["trust_delta"] == pytest.approx(0.1)
    for said in ("initial", "trust 0.78 → 0.82", "stale", "Ann", "found it"):
        assert said in shown
    assert run("history", UNKNOWN).out.strip() == "nothing is known about this memory"
    assert run("history", UNKNOWN, "--json").records == []


# Correct


def test_supersede_puts_a_memory_in_the_place_of_another(run: Run, mine: Owner) -> None:
    ends = datetime(2030, 1, 1, tzinfo=UTC)
    old = mine.add(NewMemory("Ines lives in Rome", valid_until=ends))

    early = run("supersede", old, "Ines lives in Oslo", "--valid-from", "2029-12-31")
    mine.update(old, valid_until=None)
    [record] = run("supersede", old, "Ines lives in Oslo", "--json").records
    forced = run("supersede", old, "Ines lives in Bern", "--force")

    assert (early.code, "overlap" in early.err) == (2, True)
    assert (record["superseded"], record["outcome"]) == (str(old), "inserted")
    assert forced.out.startswith(f"{old} superseded by {mine.read(old).superseded_by}")


def test_commands_on_several_memories_tell_how_many(run: Run, mine: Owner) -> None:
    ids = mine.add_many(["one", "two"])
    note = ("--reason", "why", "--actor", "Ann")
    first = run("invalidate", *ids, UNKNOWN, *note, "--json")
    second = run("revive", ids[0])

    assert first.records == [{"invalidated": 2}]
    assert second.out.strip() == "1 revived"
    event = mine.history(ids[1])[-1]
    assert (event.reason, event.actor) == ("why", "Ann")
    assert run("delete", *ids, ids[1], UNKNOWN, "--json").records == [{"deleted": 2}]
    assert run("delete", ids[0]).out.strip() == "0 deleted"

    ids = [run("add", text, "--requires-approval", "--json").records[0]["id"] for text in "ab"]
    waiting = run("list", "--status", "pending", "--json").records
    assert {record["id"] for record in waiting} == {*ids}
    assert run("approve", *ids[:1], "--json").records == [{"approved": 1}]
    assert run("reject", *ids).out.strip() == "1 rejected"


# Curate


def test_a_dry_run_of_consolidation_shows_what_says_nearly_the_same(run: Run, mine: Owner) -> None:
    ids = [UUID(int=added.int) for added in mine.add_many(SAME)]
    mine.add("The build is broken")
    options = ("--more-than", "3", "--min-similarity", "0.7")

    few, [cluster] = run("consolidate"), run("consolidate", *options, "--dry-run", "--json").records
    shown = run("consolidate", *options, "--dry-run")
    short = short_ids(mine.repo, mine.name, ids).values()
    [done] = run("consolidate", *options, "--actor", "Ann", "--json").records
    again = run("consolidate", *options)

    assert few.out.strip() == again.out.strip() == "nothing to consolidate"
    assert (set(cluster["sources"]), cluster["similarities"][0]) == ({*map(str, ids)}, 1)
    assert [said for said in (*cluster["contents"], *short) if said not in shown.out] == []
    assert (cluster["id"], done | {"id": None}) == (None, cluster)
    assert done["importance"] == pytest.approx(0.6)
    assert {mine.read(id_).status for id_ in ids} == {"consolidated"}


def test_an_erasure_asks_unless_told_not_to(run: Run, mine: Owner) -> None:
    mine.add_many(["one", "two"])
    everything = ("erase", "--everything")

    declined, unanswered = run(*everything, answer="n\n"), run(*everything)
    dry = run(*everything, "--dry-run")
    left = mine.count()
    agreed = run(*everything, "--vacuum", answer="y\n")

    assert (declined.code, unanswered.code, dry.code, left) == (1, 1, 0, 2)
    assert f"Erase everything of {mine.name}?" in declined.out + declined.err
    assert "Traceback" not in declined.err + unanswered.err
    assert dry.out.startswith("dry run: 2 memories")
    assert (agreed.code, mine.count()) == (0, 0)
    assert not [line for line in agreed.err.splitlines() if not line.strip()]
    assert "2 memories" in agreed.out
    assert run(*everything, "--yes", "--json").records == [Erased().record()]


def test_an_erasure_that_a_foreign_key_refuses_says_what_to_do(
    run: Run, mine: Owner, commanded: Engine
) -> None:
    mine.add_many(["one", "two"])
    key = "FOREIGN KEY (agent_id, id) REFERENCES pgrecall.agent_memories"
    with commanded.begin() as connection:
        connection.execute(text(f"CREATE TABLE notes (agent_id text, id uuid, {key})"))
        copied = "INSERT INTO notes SELECT agent_id, id FROM pgrecall.agent_memories"
        connection.execute(text(f"{copied} WHERE agent_id = '{mine.name}'"))
    try:
        refused = run("erase", "--everything", "--yes")
    finally:
        with commanded.begin() as connection:
            connection.execute(text("DROP TABLE notes"))

    assert (refused.code, mine.count()) == (5, 2)
    assert '"notes_agent_id_id_fkey" on table "notes"; delete the rows there first' in refused.err
    assert refused.err.strip().endswith("goes on from there, once the cause is gone")


def test_memories_are_erased_by_their_ids(run: Run, mine: Owner) -> None:
    one, two, three = mine.add_many(["one", "two", "three"])
    mine.delete(one)
    made = mine.links.add(three, two, "consolidates")

    refused = [run("erase", "--yes"), run("erase", str(two), "--everything", "--yes")]
    erased = run("erase", str(one), str(two), "--yes")

    assert made is None
    assert [(done.code, mine.history(two) == []) for done in refused] == [(2, True)] * 2
    assert ["needs the ids" in done.err for done in refused] == [True, False]
    assert "2 memories" not in erased.out
    assert f"made from erased memories: {three}" in " ".join(erased.out.split())
    assert (mine.history(one), mine.history(two), mine.count()) == ([], [], 1)


# Maintain


@pytest.fixture
def poor(mine: Owner) -> list[UUID]:
    """By Grace's rules to be deleted, archived for its trust, archived for its age, and kept."""
    old = datetime.now(UTC) - timedelta(hours=721)
    trusts = {"worst": 0.05, "bad": 0.15, "good": 0.9}
    ids = [mine.add(NewMemory(text, trust=trust)) for text, trust in trusts.items()]
    return [*ids, mine.add(NewMemory("old", trust=0.9, created_at=old))]


def test_maintenance_shows_what_a_policy_removes_and_asks(
    run: Run, mine: Owner, poor: list[UUID]
) -> None:
    [foretold] = run("maintain", "--grace", "--dry-run", "--json").records
    said = run("maintain", "--grace", "--dry-run").out
    refused = run("maintain", "--grace")
    declined = run("maintain", "--grace", answer="n\n")
    untouched = mine.count(), mine.rows("maintenance_runs")
    done = run("maintain", "--grace", "--policy", "mine", "--json", answer="y\n")

    told = "2 memories archived, 1 deleted"
    assert f"dry run: {told}" in said
    assert (refused.code, refused.out, "--yes" in refused.err) == (2, "", True)
    assert (declined.code, f"dry run: {told}" in declined.err) == (1, True)
    assert untouched == (4, [])
    [record] = done.records
    changed = {name: record[name] for name in ("id", "dry_run", "seconds")}
    assert record == foretold | changed
    assert (record["scanned"], record["archived"], record["deleted"]) == (4, 2, 1)
    log = "SELECT id, policy->>'name', finished FROM pgrecall.maintenance_runs "
    logged = mine.sql(f"{log} WHERE agent_id = :agent")
    assert logged == [(UUID(record["id"]), "mine", True)]
    assert (mine.get(poor[0]), mine.count()) == (None, 1)
    assert run("maintain", "--grace", "--yes").out.strip() == "nothing is due"
    assert run("maintain", "--grace", answer="y\n").out.strip() == "nothing is due"


@pytest.mark.usefixtures("poor")
def test_each_option_of_a_policy_counts(run: Run) -> None:
    for options, archived, deleted in (
        ("--max-age-hours 700", 1, 0),
        ("--min-trust-threshold 0.2", 2, 0),
        ("--grace --max-age-hours 722", 1, 1),
        ("--grace --min-trust-threshold 0 --delete-threshold 0", 1, 0),
        ("--grace --delete-threshold 0.2", 1, 2),
        ("--max-live 0", 4, 0),
    ):
        [done] = run("maintain", "--dry-run", "--json", *options.split()).records
        assert (done["archived"], done["deleted"]) == (archived, deleted), options


# Links


def test_links_are_made_shown_and_followed(run: Run, mine: Owner) -> None:
    texts = ["Ines drinks green tea", "Ines drinks tea", "The build is broken", "Monday is free"]
    green, tea, build, monday = mine.add_many([*texts, "far away"])[:4]
    pair = (tea, build, "--kind", "needs")

    [made] = run("link", *pair, "--weight", "0.5", "--json").records
    heavier = run("link", *pair)
    run("link", build, monday)
    records = run("links", tea, "--json").records
    shown = run("links", tea)
    near = [
        run("search", "Ines drinks tea", "-k", "2", "--json", "--linked", steps).records
        for steps in "012"
    ]
    taken = run("unlink", *pair, "--json"), run("unlink", *pair, "--json"), run("unlink", *pair)

    expected = {"source": str(tea), "target": str(build), "kind": "needs"}
    assert (made, records) == (expected | {"weight": 0.5}, [expected | {"weight": 1.0}])
    assert heavier.out.strip() == "linked"
    assert shown.out.split() == ["1.000", "needs", str(tea), "→", str(build)]
    steps = [{hit["id"]: hit.get("hops", 0) for hit in hits} for hits in near]
    hits = {str(tea): 0, str(green): 0}
    further = hits | {str(build): 1}
    assert steps == [hits, further, further | {str(monday): 2}]
    assert [done.records for done in taken[:2]] == [[{"unlinked": True}], [{"unlinked": False}]]
    assert taken[2].out.strip() == "there was no such link"


# Add and import


def test_what_is_said_again_is_told(run: Run, mine: Owner, memory: UUID) -> None:
    trust = mine.read(memory).trust
    first = run("add", "one", "--key", "k/1", "--json").records
    again = run("add", "one", "--key", "k/1", "--json").records
    shown = run("add", "one", "--key", "k/1")
    [bumped] = run("add", "ines DRINKS  tea", "--json").records
    run("add", "Ines drinks tea", "--duplicates", "keep")
    run("add", "Ines drinks TEA", "--duplicates", "replace", "--importance", "0.9")

    new: dict[str, Any] = {"outcome": "inserted", "similarity": None, "same_subject": []}
    new["trust"] = mine.read(UUID(first[0]["id"])).trust
    assert first == [{"id": first[0]["id"], **new}]
    assert again == [first[0] | {"outcome": "known"}]
    assert shown.out.strip() == first[0]["id"]
    assert "nothing new is stored" in shown.err
    told = {"id": str(memory), "outcome": "duplicate", "similarity": 1.0, "trust": trust}
    assert bumped == {**new, **told}
    stored = mine.read(memory)
    assert (stored.content, stored.importance) == ("Ines drinks TEA", 0.9)
    assert (stored.retrieval_count, mine.count()) == (1, 2)
    mine.add(SAME[0])
    [met] = run("add", SAME[1], "--near-duplicates", "0.8", "--json").records
    shown = run("add", SAME[1], "--near-duplicates", "0.8")
    assert met["outcome"] == "near_duplicate"
    assert f"near duplicate at {met['similarity']:.3f}" in shown.err


def test_each_field_of_a_memory_is_an_option_of_what_stores_one(run: Run, mine: Owner) -> None:
    for name in ("add", "upsert", "supersede"):
        names = {one.name for one in COMMANDS[name].params}
        assert NewMemoryFields.__annotations__.keys() - names == {"embedding"}
    options = (
        *("--tier", "short", "--tag", "a", "--tag", "b", "--metadata", "n=1", "--no-compliant"),
        *("--trust", "0.5", "--turn", "3", "--session", "s", "--observed-at", "2026-05-01"),
        *("--actor", "Ann", "--run", "job 7"),
    )
    refused, added = run("add", "x", *options), run("add", "x", *options, "--no-check-compliance")

    assert (refused.code, refused.out, "not compliant" in refused.err) == (2, "", True)
    memory = mine.read(UUID(added.out.strip()))
    assert (memory.tier, memory.tags, memory.metadata) == ("short", ["a", "b"], {"n": 1})
    assert (memory.compliant, memory.trust, memory.turn) == (False, 0.5, 3)
    assert memory.observed_at == datetime(2026, 5, 1, tzinfo=UTC)
    [event] = mine.history(memory.id)
    assert (event.actor, event.run) == ("Ann", "job 7")
    assert "job 7" in run("history", memory.id).out


@pytest.mark.usefixtures("memory")
def test_importing_tells_what_is_said_already(run: Run, mine: Owner, tmp_path: Path) -> None:
    file = tmp_path / "a[b] \033[31m.jsonl"
    lines = ["ines drinks tea", "new", "NEW", "other"]
    file.write_text("".join(json.dumps({"content": line}) + "\n" for line in lines))

    [record] = run("import", file, "--json").records
    shown = run("import", file)
    file.write_text('{"content": "good"}\n{"content": "bad", "compliant": false}\n')
    refused = run("import", file)
    left = mine.count()
    taken = run("import", file, "--no-check-compliance")

    told = {name: record[name] for name in ("added", "already_there", "duplicates")}
    assert told == {"added": 2, "already_there": 0, "duplicates": 2}
    assert "0 memories added" in shown.out
    assert "2 known by id, 2 known by text" in shown.out
    assert not CONTROLS & set(shown.out + shown.err + refused.err)
    assert ", line 2: " in refused.err
    assert (refused.code, left, taken.code, mine.count()) == (2, 4, 0, 5)


# Teams


def test_every_command_works_on_a_team_and_leaves_the_agent_alone(run: Run, mine: Owner) -> None:
    ours = mine.add(NewMemory("of the agent", trust=0.5))
    stored = mine.everything()
    team = ("--of-team", "--json")
    [first] = run("add", "of the team", *team).records
    [second] = run("add", "of the team, too", *team).records
    one, other = first["id"], second["id"]
    everything = ("--min-size", "2", "--min-similarity", "0", "--more-than", "1")
    commands: list[tuple[object, ...]] = [
        *(("outcome", one, "success"), ("trust", one, "0.1", "--reason", "why", "--actor", "Ann")),
        *(("feedback", one, "useful"), ("invalidate", one), ("revive", one), ("link", one, other)),
        *(("links", one), ("unlink", one, other)),
        ("maintain", "--max-live", "9", "--yes"),
        *(("supersede", other, "of the team now"), ("history", one), ("consolidate", *everything)),
        *(("delete", one), ("erase", "--everything", "--yes")),
    ]

    done = {str(command[0]): run(*command, *team) for command in commands}

    assert {name: result.err for name, result in done.items() if result.code} == {}
    assert [name for name, result in done.items() if not result.records] == []
    numbers = {key: n for result in done.values() for key, n in result.records[0].items()}
    for name in ("invalidated", "revived"):
        assert numbers[name] == 1, name
    assert (mine.everything(), mine.team.count()) == (stored, 0)
    assert run("outcome", ours, "success", *team).code == 2


# What is refused

ID = "{id}"
NO_SUCH_MEMORY: list[tuple[str, ...]] = [
    *(("outcome", ID, "success"), ("trust", ID, "0.1", "--reason", "x", "--actor", "y")),
    *(("feedback", ID, "useful"), ("supersede", ID, "new")),
    ("link", ID, UNKNOWN),
]
OTHERS: list[tuple[str, ...]] = [
    *(("history", ID), ("invalidate", ID), ("revive", ID)),
    *(("delete", ID), ("links", ID), ("unlink", ID, UNKNOWN)),
]


def test_an_unknown_memory_and_what_is_no_id_end_with_two(run: Run) -> None:
    cases = [(arguments, str(uuid4()), "has no memory") for arguments in NO_SUCH_MEMORY]
    for arguments in (*NO_SUCH_MEMORY, *OTHERS):
        cases.append((arguments, "sev\033en", "is neither the id of a memory"))
    for arguments, id_, message in cases:
        done = run(*(id_ if text == ID else text for text in arguments))

        assert (done.code, done.out) == (2, ""), arguments
        assert message in done.err
        assert "\033" not in done.err


@pytest.fixture
def alike(mine: Owner) -> list[UUID]:
    """Three memories, of which two have ids that begin alike."""
    digits = uuid4().hex
    ids = [UUID(f"{digits[:12]}{end}{digits[13:]}") for end in "0f"]
    ids.append(uuid4())
    mine.add_many([NewMemory(f"memory {id_}", id=id_) for id_ in ids])
    return ids


def test_the_first_digits_of_an_id_stand_for_it_unless_they_begin_several(
    run: Run, mine: Owner, alike: list[UUID]
) -> None:
    for arguments in (*NO_SUCH_MEMORY, *OTHERS, ("explain", ID, "tea")):
        short = short_ids(mine.repo, mine.name, alike)
        stored = mine.everything()
        assert [len(short[id_].replace("-", "")) for id_ in alike] == [13, 13, 8]
        names = {ID: str(alike[0])[:11], UNKNOWN: str(alike[2])}
        done = run(*(names.get(text, text) for text in arguments))
        assert (done.code, done.out, mine.everything()) == (2, "", stored)
        assert [str(id_) in done.err for id_ in alike] == [True, True, False]

        names = {ID: short[alike[0]], UNKNOWN: short[alike[2]]}
        done = run(*(names.get(text, text) for text in arguments))
        assert (done.code, done.err) == (0, ""), arguments
        if arguments[0] in ("supersede", "delete"):
            mine.erase_owner()
            mine.add_many([NewMemory(f"memory {id_}", id=id_) for id_ in alike])


REFUSED: list[tuple[tuple[str, ...], str]] = [
    (("outcome", ID, "maybe"), "maybe"),
    (("outcome", ID), "result"),
    (("trust", ID, "much", "--reason", "x", "--actor", "y"), "delta"),
    (("trust", ID, "0.1", "--actor", "y"), "--reason"),
    (("feedback", ID, "good"), "good"),
    (("supersede", ID, "x", "--importance", "nan"), "importance must lie within 0 and 1"),
    (("supersede", ID, "x", "--valid-from", "soon"), "--valid-from"),
    (("invalidate",), "ID"),
    (("maintain", "--stale-tasks-after", "-1"), "stale_tasks_after"),
    (("maintain", "--stale-tasks-after", "inf"), "--stale-tasks-after"),
    (("maintain", "--max-live", "-1"), "max_live"),
    (("add", "x", "--duplicates", "drop"), "drop"),
    (("add", "x", "--tier", "eternal"), "tier"),
]


def test_bad_values_end_with_two_say_why_and_change_nothing(
    run: Run, mine: Owner, memory: UUID
) -> None:
    stored = mine.everything()
    of_nobody = [((*arguments, "-a", ""), "agent_id must not be empty") for arguments in OTHERS]

    for arguments, message in (*REFUSED, *of_nobody):
        done = run(*(memory if text == ID else text for text in arguments))

        assert (done.code, done.out) == (2, ""), arguments
        assert message.lower() in done.err.lower()  # Typer wrote arguments in capitals
        assert "Traceback" not in done.err
    assert mine.everything() == stored


# Hostile texts


def test_what_was_written_cannot_speak_to_the_terminal(run: Run, mine: Owner) -> None:
    evil = Owner(mine.bind, f"{mine.name} {EVIL}", embedder=LocalEmbedder())
    ids = evil.add_many([f"{EVIL} {text}" for text in SAME])
    evil.links.add(ids[0], ids[1], EVIL)
    of = ("-a", evil.name)
    note = ("--reason", EVIL, "--actor", EVIL, *of)
    cluster = (*of, "--more-than", "2", "--min-similarity", "0.5")

    shown = {
        "trust": run("trust", ids[0], "0.1", *note),
        "outcome": run("outcome", ids[0], "success", *note),
        "feedback": run("feedback", ids[0], "useful", "--context", EVIL, *of),
        "history": run("history", ids[0], *of),
        "links": run("links", ids[0], *of),
        "clusters": run("consolidate", *cluster, "--dry-run"),
        "add": run("add", f"{EVIL} {SAME[0]}", *note[2:]),
        "unknown": run("outcome", UNKNOWN, "success", *of),
        "search": run("search", EVIL, *of, "--tag", EVIL),
        "explain": run("explain", ids[0], EVIL, *of),
        "consolidate": run("consolidate", *cluster, "--actor", EVIL),
        "maintain": run("maintain", *of, "--policy", EVIL, "--max-live", "0", "--yes"),
        "erase": run("erase", "--everything", *of, answer="y\n"),
    }

    said = {name: done.out + done.err for name, done in shown.items()}
    assert [name for name, text in said.items() if CONTROLS & set(text)] == []
    assert {name: done.code for name, done in shown.items() if done.code} == {"unknown": 2}
    for name in ("history", "links", "clusters"):
        assert "[bold]x[/bold] [/nothing]" in " ".join(said[name].split()), name


# Help


def test_the_help_of_each_command_and_argument_tells_what_it_does(run: Run) -> None:
    for name, command in COMMANDS.items():
        done = run(name, "--help")

        told = " ".join("".join(c for c in done.out if c not in "│╭╮╰╯─").split())
        said = str(command.callback.__doc__).split(".")[0]
        assert done.code == 0
        assert " ".join(said.split()) in told
        assert "bool" not in told.lower(), name
        assert re.search(r"`\w+_\w+`", told) is None, name  # a name of Python
        silent = [one.name for one in BUILT.commands[name].params if not one.help]
        assert silent == [], name
    assert COMMANDS.keys() <= set(run("--help").out.split())


def _all_commands() -> dict[str, Any]:
    inner = {
        f"{group} {name}": command
        for group, found in BUILT.commands.items()
        for name, command in getattr(found, "commands", {}).items()
    }
    return COMMANDS | inner


def test_each_command_has_examples_of_itself_that_can_be_read() -> None:
    commands = _all_commands()
    for name, command in commands.items():
        _, *examples = command.epilog.replace("\\[", "[").splitlines()
        assert examples, name
        for example in examples:
            words = shlex.split(example.partition(" > ")[0])
            assert words[: len(name.split()) + 1] == ["pgrecall", *name.split()]
            command.make_context(name, words[len(name.split()) + 1 :])
    assert len(commands) > 45
