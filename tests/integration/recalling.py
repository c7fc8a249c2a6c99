"""Calls of `recall` as psql makes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb
from psycopg.types.range import TimestamptzRange

from pgrecall import Decay, Importance, Keyword, Profile, Recency, Similarity, profiles
from pgrecall.core.resources import with_extension
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
