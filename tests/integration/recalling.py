"""Calls of `recall` as psql makes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb
from psycopg.types.range import TimestamptzRange

from pgrecall import Decay, Importance, Keyword, Profile, Recency, Similarity, profiles
from pgrecall.core.resources import with_extension
from pgrecall.migrate.psql_arguments import PsqlFilters
from pgrecall.migrate.score_function import score_functions
from pgrecall.scoring.signals import Clock

Connection = psycopg.Connection[dict[str, Any]]
Rows = list[dict[str, Any]]
DECAYING = Profile(
    "decaying",
    {Similarity(): 0.5, Keyword(): 0.3, Importance(): 0.2},
    redistribute=True,
    decay=Decay(Recency(half_life=40, clock=Clock.LATEST), floor=0.3),
)
"""A profile of one's own, for tests that install it."""


def recall(
    connection: Connection,
    profile: str,
    agent: str | None,
    *,
    function: str = "recall",
    **given: Any,
) -> Rows:
    """Its rows, with its arguments given by name."""
    for name in ("metadata", "weights", "reserve"):
        if given.get(name) is not None:
            given[name] = Jsonb(given[name])
    if isinstance(period := given.pop("period", None), tuple):
        given["query_time"] = TimestamptzRange(*period)
    if given.get("query") is not None:
        given["query"] = str(given["query"])
    given = {"agent": agent, "profile": profile, **given}
    call = sql.SQL("SELECT * FROM pgrecall.{}({})").format(
        sql.Identifier(function),
        sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name))
            for name in given
        ),
    )
    return connection.execute(call, given).fetchall()


def in_psql(asked: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a search by the names that psql has for them."""
    return {"query_entities" if name == "entities" else name: asked[name] for name in asked}


_LISTS = {
    **{name: name for name in ("tags", "entities")},
    **{f"{name}s": name for name in ("memory_nature", "content_type", "tier")},
    **{f"{name}s": f"provenance.{name}" for name in ("component", "output_type", "domain", "loop")},
    "categories": "provenance.category",
}
_KEYS = {
    **{name: (key, "$in") for name, key in _LISTS.items()},
    "all_tags": ("tags", "$all"),
    "all_entities": ("entities", "$all"),
    "text": ("content", "$match"),
    "created_after": ("created_at", "$gte"),
    "created_before": ("created_at", "$lt"),
    "compliant": ("provenance.constitutional_compliance", "$eq"),
    "needs_review": ("needs_review", "$eq"),
    "min_trust": ("decayed_trust", "$gte"),
    "min_similarity": ("similarity", "$gte"),
}
"""A filter of psql → the key and the operator that ask for the same in Python."""
_ENDS = ("valid_until", "expires_at", "invalidated_at")


def in_python(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the repository that ask for the same as these of psql."""
    beside = {*_KEYS, *PsqlFilters.__annotations__}
    ours = {name: value for name, value in given.items() if name not in beside}
    if "query_entities" in ours:
        ours["entities"] = ours.pop("query_entities")
    parts: list[Any] = [
        {key: {operator: given[name]}} for name, (key, operator) in _KEYS.items() if name in given
    ]
    for path, one in given.get("metadata", {}).items():
        compares = not isinstance(one, Mapping) or any(name.startswith("$") for name in one)
        parts.append({f"metadata.{path}": one if compares else {"$eq": one}})
    if types := given.get("memory_types"):
        parts.append({"$or": [{"memory_type": types}, {"additional_types": types}]})
    if {"statuses", "include_invalid"} & given.keys():
        ours["include_inactive"] = True
        parts.append({"status": given.get("statuses", ["active"])})
        if not given.get("include_invalid"):
            moment = given.get("as_of") or datetime.now(UTC)
            over = [{end: {"$lte": moment}} for end in _ENDS]
            parts.append({"$not": [{"valid_from": {"$gt": moment}}, *over]})
    return ours | {"filter": {"$and": parts}} if parts else ours


@contextmanager
def installed(connection: Connection, profile: Profile) -> Iterator[None]:
    """The functions of a profile of one's own, as long as this lasts."""
    with connection.transaction(force_rollback=True):
        if profile.name not in profiles.BUILT_IN:
            install(connection, profile)
        yield


def install(connection: Connection, profile: Profile) -> None:
    """The functions of a profile of one's own, from now on."""
    with connection.transaction():
        connection.execute("SET LOCAL search_path = pgrecall, public")
        connection.execute(with_extension(score_functions(profile), "public").encode())
