"""One corpus of bad values, one property: whatever is passed to whichever argument, it works or is
refused by an error of ours, in a short message, before anything is written.
"""

from __future__ import annotations

import gzip
import inspect
import json
import re
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, event, text

from pgrecall import (
    JudgedQuery,
    MemoryRepository,
    NewMemory,
    Profile,
    RetentionPolicy,
    embedded,
    migrate,
    profiles,
    score,
)
from pgrecall.errors import InputError, InvalidLine, PgRecallError
from pgrecall.evaluation.queries_file import load_queries, save_queries
from pgrecall.memories.file_export import export_file
from pgrecall.memories.importing import import_file
from pgrecall.memories.lines import MOST_LINE_BYTES
from pgrecall.memories.record import STATE
from pgrecall.migrate.moving_in import import_from
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.scoring.scorer import VALUES
from pgrecall.scoring.signals import KINDS, Recency, Similarity
from tests.calls import GOOD, ID, OF_ALL, OTHER
from tests.integration.support import NORTH
from tests.methods import NOWHERE, method, public

MARK = "¤"
"""Occurs in no text of ours, so that what is quoted of a value can be counted."""
LONGEST_QUOTE, LONGEST_MESSAGE = 200, 900


class Unprintable:
    """Cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError(MARK)


def nested(depth: int, inside: Callable[[Any], Any]) -> Any:
    value: Any = MARK
    for _ in range(depth):
        value = inside(value)
    return value


CORPUS: dict[str, Any] = {
    "none": None,
    "number": 5,
    "negative": -1,
    "large number": 10**5_000,
    "large fraction": Fraction(10**5_000 + 1, 7),
    "nan": float("nan"),
    "array": np.arange(3.0),
    "array of words": np.array(["success", "keyword", "auto"]),
    "array without a dimension": np.array(5),
    "NUL": "a\0",
    "surrogate": "\ud800",
    "long": MARK * 500_000,
    "bytes": MARK.encode() * 500_000,
    "deep list": nested(50_000, lambda value: [value]),
    "deep object": nested(50_000, lambda value: {MARK: value}),
    "object": object(),
    "unprintable": Unprintable(),
    "list of NUL": ["a\0"],
    "list of surrogates": ["\udfff"],
    "list of long": [MARK * 100_000] * 20,
    "list of unprintables": [Unprintable()],
    "object of long": {MARK * 100_000: MARK * 100_000},
    "object of surrogates": {"\ud800": "\ud800"},
    "object of numbers": {7: 10**5_000},
    "generator": (value for value in [MARK]),
    "infinity": float("inf"),
}

SHARED = {*SearchArguments.__annotations__, "agent_id", "memory_id", "memory_ids"}
"""Arguments that one function checks for all methods: WHOLE are passed the whole corpus."""
WHOLE = ("search", "get", "touch")
ALIKE = ("NewMemory of a batch", "changes")
"""Checked as NewMemory is."""
FEW = ("negative", "NUL", "long", "deep list", "unprintable")

Call = tuple[Callable[..., Any], dict[str, Any], list[str]]
"""What is called, with what that is good, and the arguments that take bad values."""


def _method(name: str, good: dict[str, Any]) -> Call:
    arguments = [*inspect.signature(method(NOWHERE, name)).parameters]
    if "agent_id" in arguments and name not in OF_ALL:
        good = {"agent_id": "a"} | good
    return lambda repo, **given: method(repo, name)(**given), good, arguments


def _made(kind: Any, use: Callable[[MemoryRepository, Any], Any], **good: Any) -> Call:
    """A value of this kind, used."""
    names = [field.name for field in fields(kind) if field.init]
    return lambda repo, **given: use(repo, kind(**given)), good, names


def _alone(call: Callable[[Any], Any]) -> Call:
    return lambda repo, value: call(value), {}, ["value"]


def _weighed(repo: MemoryRepository, weight: Any) -> None:
    repo.search("a", NORTH, profile=Profile("a", {Similarity(): weight}))


def _weighed_once(repo: MemoryRepository, weight: Any) -> None:
    repo.search("a", NORTH, weights={"similarity": weight})


UNKNOWN = MARK * 100_000
"""A name that nothing has."""
FIVE = profiles.five_factor
CALLS: dict[str, Call] = {
    **{name: _method(name, good) for name, good in GOOD.items()},
    **{
        kind.__name__: _made(
            kind,
            lambda repo, signal: repo.search("a", NORTH, profile=Profile("a", {signal: 1.0})),
            **({"half_life": 3.0} if kind is Recency else {}),
        )
        for kind in KINDS.values()
    },
    "NewMemory": _made(
        NewMemory, lambda repo, new: repo.add("a", new), content="a", embedding=NORTH
    ),
    "NewMemory of a batch": _made(
        NewMemory, lambda repo, new: repo.add_many("a", [new]), content="a", embedding=NORTH
    ),
    "changes": (
        lambda repo, **given: repo.update("a", ID, **given),
        {},
        [*(field.name for field in fields(NewMemory) if field.init), UNKNOWN],
    ),
    "JudgedQuery": _made(
        JudgedQuery,
        lambda repo, one: repo.evaluation.evaluate("a", [one]),
        query=NORTH,
        relevant=[ID],
    ),
    "RetentionPolicy": _made(RetentionPolicy, lambda repo, policy: repo.maintenance.run(policy)),
    "Profile": (
        lambda repo, **given: repo.search("a", NORTH, profile=Profile(**given)),
        {"name": "a", "signals": {Similarity(): 1.0}},
        ["name", "signals"],
    ),
    "weight": (_weighed, {"weight": 1.0}, ["weight"]),
    "weights": (_weighed_once, {"weight": 1.0}, ["weight"]),
    "renamed": _alone(FIVE.renamed),
    "with_half_life": _alone(FIVE.with_half_life),
    "named": _alone(profiles.named),
    "load": _alone(profiles.load),
    "load_queries": _alone(lambda path: load_queries(path, "a")),
    "save_queries": _alone(lambda path: save_queries(path, [])),
    "save": _alone(lambda path: profiles.save(FIVE, path)),
    "save what": _alone(lambda what: profiles.save(what, "nowhere/at-all.toml")),
    "with_weights": (
        lambda repo, **given: FIVE.with_weights(**given),
        {},
        [*FIVE.weights, UNKNOWN],
    ),
    "score": (
        lambda repo, **given: score(**given),
        {"profile": profiles.tiered, "values": {}},
        ["profile", "values", "as_of"],
    ),
    "values of score": (
        lambda repo, **given: score(profiles.tiered, given),
        {},
        [*VALUES, UNKNOWN],
    ),
    "import_file": (
        lambda repo, **given: import_file(**({"store": repo} | given)),
        {"agent_id": "a", "path": Path("nowhere")},
        [
            *("agent_id", "path", "batch_size", "check_compliance", "on_progress"),
            *("fields", "timezone", "rejects", "on_reject", "dry_run"),
        ],
    ),
    "import_from": (
        lambda repo, **given: import_from(**({"store": repo} | given)),
        {"agent_id": "a", "system": "mem0", "source": "postgresql://nobody@127.0.0.1:1/nothing"},
        [
            *("agent_id", "system", "source", "table", "collection", "model", "owner_labels"),
            *("batch_size", "check_compliance", "on_start", "on_progress", "fields", "timezone"),
            *("rejects", "on_reject", "dry_run"),
        ],
    ),
    "export_file": (
        lambda repo, **given: export_file(**({"store": repo, "path": Path("new")} | given)),
        {},
        ["path", "agent_id", "events", "filters", "resume", "on_progress"],
    ),
    "fields of a restored memory": (
        lambda repo, **given: repo.transfer.restore(
            "a", [{"content": "b", "embedding": None} | given]
        ),
        {},
        ["id", "key", *STATE, UNKNOWN],
    ),
    "MemoryRepository": (
        lambda repo, **given: MemoryRepository(**({"bind": repo._bind} | given)).count("a"),
        {},
        ["bind", "schema", "embedder", "token_counter", "entities"],
    ),
    "embedded.database": (
        lambda repo, **given: embedded.database(**given).start(),
        {"postgres_version": 3},
        ["directory", "postgres_version"],
    ),
    "migrate.upgrade": (
        lambda repo, **given: migrate.upgrade(**given),
        {"target": "postgresql+psycopg://nobody@127.0.0.1:1/nothing"},
        ["target", "dimensions", "embedding_type", "language", "schema", "revision"],
    ),
    "migrate.sql": (
        lambda repo, **given: migrate.sql(**given),
        {},
        ["dimensions", "embedding_type", "language", "schema", "start"],
    ),
}


@pytest.fixture
def connection(module_engine: Engine) -> Iterator[Connection]:
    """With two memories, in a transaction that is rolled back: some methods look at all agents."""
    with module_engine.connect() as opened:
        repo = MemoryRepository(opened)
        for id_ in (ID, OTHER):
            repo.add("a", NewMemory(f"memory {id_}", id=id_, embedding=NORTH, trust=0.5))
        yield opened
        opened.rollback()


def test_the_corpus_is_passed_to_every_method() -> None:
    assert GOOD.keys() == {*public(NOWHERE)}


WRITTEN = text(
    "SELECT (SELECT count(*) FROM pgrecall.memory_events), "
    "(SELECT sum(retrieval_count) FROM pgrecall.memory_usage), "
    "(SELECT string_agg(format('%s %s', m.id, m.xmin), ',' ORDER BY id) "
    "FROM pgrecall.agent_memories m), "
    "(SELECT count(*) FROM pgrecall.memory_links), "
    "(SELECT count(*) FROM pgrecall.maintenance_runs), (SELECT count(*) FROM pgrecall.rank_indexes)"
)


def faults(message: str) -> Iterator[str]:
    """What is wrong with the message of an error."""
    if len(message) > LONGEST_MESSAGE or message.count(MARK) > LONGEST_QUOTE:
        yield f"{len(message)} characters: {message:.200}"
    if re.search(rf"\d{{{LONGEST_QUOTE}}}", message):
        yield f"a long number: {message:.200}"


@pytest.mark.parametrize("call", CALLS)
def test_a_bad_value_works_or_is_refused_before_anything_is_written(
    connection: Connection, call: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    function, good, arguments = CALLS[call]
    repo = MemoryRepository(connection)
    before = connection.execute(WRITTEN).one()
    sent: list[str] = []
    event.listen(connection, "before_cursor_execute", lambda *told: sent.append(told[2]))
    wrong = []
    savepoint = connection.begin_nested()
    for argument in arguments:
        shared = call in GOOD and call not in WHOLE and argument in SHARED
        for kind in FEW if shared or call in ALIKE else CORPUS:
            value = CORPUS[kind]
            where = f"{argument:.20}, {kind}"
            sent.clear()
            try:
                function(repo, **(good | {argument: value}))
            except PgRecallError as error:
                wrong += [f"{where}: {fault}" for fault in faults(str(error))]
                if (
                    isinstance(error, InputError)
                    and sent
                    and connection.execute(WRITTEN).one() != before
                ):
                    wrong.append(f"{where}: something was written")
            except Exception as error:
                wrong.append(f"{where}: {type(error).__name__}: {error!s:.150}")
            if sent:  # most are refused before anything is asked of the database
                savepoint.rollback()
                savepoint = connection.begin_nested()

    assert not wrong, "\n".join(["", *wrong])


def test_a_line_that_is_too_long_is_refused_in_little_memory(
    shared_repo: MemoryRepository, agent: str, tmp_path: Path
) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"content": "first", "embedding": null}\n{"content": "')
        for _ in range(200):
            file.write(b"x" * 1_000_000)
    tracemalloc.start()

    with pytest.raises(InvalidLine, match=r"bomb\.jsonl\.gz, line 2: has more than 33,554,432 "):
        import_file(shared_repo, agent, path)

    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 3 * MOST_LINE_BYTES
    assert shared_repo.count(agent) == 1


def test_long_lines_are_stored_a_few_at_a_time(
    shared_repo: MemoryRepository, agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.memories.importing.MOST_BATCH_BYTES", 5_000)
    path = tmp_path / "long.jsonl"
    lines = [{"content": f"{n} {'x' * 2_000}", "embedding": None} for n in range(9)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    added: list[int] = []

    import_file(shared_repo, agent, path, on_progress=lambda done, _: added.append(done.added))

    assert added == [3, 6, 9]
