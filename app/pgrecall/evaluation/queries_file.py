"""Files of judged queries: JSON Lines, one query each."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from pgrecall.core.dates import moment_of
from pgrecall.core.memory import TEAM
from pgrecall.core.quoting import LONGEST, did_you_mean, listed, path_of, shortened
from pgrecall.core.validation import require_name
from pgrecall.errors import InputError
from pgrecall.evaluation.checked_query import JudgedQuery, checked_query
from pgrecall.memories.lines import lines_of, naming_line
from pgrecall.memories.record import id_of_source

KEYS = (
    *("query", "relevant", "group", "time", "keywords", "entities", "period"),
    *("agent", "irrelevant"),
)


def load_queries(
    path: str | Path, agent_id: str | UUID | None = None, *, of_teams: bool = False
) -> list[JudgedQuery]:
    """Reads judged queries from a .jsonl file, gzipped or not.

    A line is a JSON object with `query` (a text, or a vector as a list of numbers) and `relevant`:
    a list of memory ids, or an object from id to gain; empty if no memory answers. Optional keys
    are `agent` (default: `agent_id`), `group`, `time` (the `as_of`, ISO 8601 with a time zone),
    `keywords`, `entities`, `period` (two times) and `irrelevant` (ids). An id that is
    not a UUID is a key, such as one from an imported file; with `of_teams` it is that of a team's
    memory. Raises InvalidLine with file and line number, and InputError if the file has no
    query or cannot be read.
    """
    path = path_of(path)
    queries = []
    for number, line, _ in lines_of(path):
        with naming_line(path, number):
            queries.append(_parsed(line.decode("utf-8-sig"), agent_id, of_teams))
    if not queries:
        raise InputError(f"{shortened(path, LONGEST)} contains no query")
    return queries


def save_queries(path: str | Path, queries: list[JudgedQuery]) -> None:
    """Writes queries whose `query` is text to a file that `load_queries` reads.

    Raises InputError if the file cannot be written.
    """
    path = path_of(path)
    lines = [json.dumps(record_of(query), ensure_ascii=False) + "\n" for query in queries]
    try:
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{shortened(path, LONGEST)} cannot be written: {error.strerror or error}"
        ) from error


def record_of(query: JudgedQuery) -> dict[str, Any]:
    """The JSON object of a query in a file."""
    relevant = query.relevant
    gains = relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1.0)
    record: dict[str, Any] = {"query": query.query}
    record["relevant"] = (
        [str(memory_id) for memory_id in gains]
        if set(gains.values()) <= {1.0}
        else {str(memory_id): gain for memory_id, gain in gains.items()}
    )
    if query.group is not None:
        record["group"] = query.group
    if query.as_of is not None:
        record["time"] = query.as_of.isoformat()
    if query.keywords is not None:
        record["keywords"] = query.keywords
    if query.entities is not None:
        record["entities"] = list(query.entities)
    if query.agent_id is not None:
        record["agent"] = str(query.agent_id)
    if query.period is not None:
        record["period"] = [moment.isoformat() for moment in query.period]
    if irrelevant := [*map(str, query.irrelevant)]:
        record["irrelevant"] = irrelevant
    return record


def _parsed(line: str, agent_id: str | UUID | None, of_teams: bool) -> JudgedQuery:
    values = json.loads(line)
    if not isinstance(values, dict):
        raise InputError(f"a line must be one JSON object, got {type(values).__name__}")
    unknown = [name for name in values if name not in KEYS]
    if unknown:
        advice = did_you_mean(unknown, KEYS)
        raise InputError(f"unknown key {listed(unknown)}{advice}; the keys are {', '.join(KEYS)}")
    if "query" not in values:
        raise InputError("a line needs query, a text or a vector")
    if "relevant" not in values:
        raise InputError("a line needs relevant, the ids of relevant memories")
    query = values["query"]
    if not isinstance(query, str) and not _are_numbers(query):
        raise InputError(f"query must be a text or a list of numbers, got {shortened(query)}")
    named = values.get("agent")
    owner = agent_id if named is None else require_name("agent", named)
    if isinstance(owner, UUID):
        owner = str(owner)
    if owner is None:
        raise InputError("a line needs agent, unless one agent_id is given for all lines")
    whose = TEAM + owner.removeprefix(TEAM) if of_teams else owner
    labelled = JudgedQuery(
        query,
        _relevant(values["relevant"], whose),
        group=values.get("group"),
        as_of=moment_of("time", values.get("time")),
        keywords=values.get("keywords"),
        entities=values.get("entities"),
        agent_id=named,
        period=_period(values.get("period")),
        irrelevant=_ids("irrelevant", values["irrelevant"], whose)
        if values.get("irrelevant") is not None
        else (),
    )
    checked_query(labelled)  # checked here, so that the error names the line
    return labelled


def _period(value: Any) -> Any:
    """Parses two times; anything else is returned for `checked_query` to refuse."""
    if not isinstance(value, list):
        return value
    return tuple(moment_of("period", moment) for moment in value)


def _are_numbers(values: object) -> bool:
    try:
        return (
            isinstance(values, list)
            and bool(values)
            and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
            and all(map(math.isfinite, values))
        )
    except OverflowError:
        raise InputError(f"query has a number that is too large: {shortened(values)}") from None


def _relevant(relevant: object, agent_id: str) -> list[UUID] | dict[UUID, float]:
    if isinstance(relevant, dict):
        return {_id(memory_id, agent_id): gain for memory_id, gain in relevant.items()}
    return _ids("relevant", relevant, agent_id, " or an object from id to gain")


def _ids(name: str, values: object, agent_id: str, otherwise: str = "") -> list[UUID]:
    if not isinstance(values, list):
        raise InputError(f"{name} must be a list of ids{otherwise}, got {shortened(values)}")
    return [_id(memory_id, agent_id) for memory_id in values]


def _id(value: object, agent_id: str) -> UUID:
    if value == "" or isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"an id must be text that is not empty, got {shortened(value)}")
    return id_of_source(value, agent_id)
