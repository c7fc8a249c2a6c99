"""Calls of `ranked`, `recall` and `explain` as psql makes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb
from psycopg.types.range import TimestamptzRange

from pgrecall import Decay, Importance, Keyword, Profile, Recency, Similarity, profiles
from pgrecall.migrate import repeatable
from pgrecall.migrate.settings import Settings
from pgrecall.scoring.profile_file import as_values, from_values
from pgrecall.scoring.signals import Clock

Connection = psycopg.Connection[dict[str, Any]]
Rows = list[dict[str, Any]]
DECAYING = Profile(
    "decaying",
    {Similarity(): 0.5, Keyword(): 0.3, Importance(): 0.2},
    redistribute=True,
    decay=Decay(Recency(half_life=40, clock=Clock.LATEST), floor=0.3),
)
"""A custom profile, for tests that install it."""


def recall(
    connection: Connection,
    profile: str | None,
    agent: str | None,
    *,
    function: str = "recall",
    **given: Any,
) -> Rows:
    """Its rows, with its arguments given by name."""
    if isinstance(given.get("weights"), dict):
        given["weights"] = Jsonb(given["weights"])
    if isinstance(given.get("period"), tuple):
        given["period"] = TimestamptzRange(*given["period"])
    if given.get("query") is not None:
        given["query"] = str(given["query"])
    given = {"agent_id": agent, "profile": profile, **given}
    call = sql.SQL("SELECT * FROM pgrecall.{}({})").format(
        sql.Identifier(function),
        sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier(name), sql.Literal(value))
            for name, value in given.items()
        ),
    )
    return connection.execute(call).fetchall()


def signals_of(row: dict[str, Any]) -> dict[str, float]:
    """The signals of a row of `ranked` or `recall` that its profile has."""
    return {
        name.removeprefix("signal_"): value
        for name, value in row.items()
        if name.startswith("signal_") and value is not None
    }


def in_psql(asked: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a search by the names that psql has for them."""
    return {"query_entities" if name == "entities" else name: asked[name] for name in asked}


@contextmanager
def installed(connection: Connection, profile: Profile) -> Iterator[None]:
    """A profile that is installed as long as this lasts."""
    with connection.transaction(force_rollback=True):
        if profile.name not in profiles.BUILT_IN:
            install(connection, profile)
        yield


def install(connection: Connection, profile: Profile) -> None:
    """Installs a profile as `pgrecall profiles install` does."""
    with connection.transaction():
        connection.execute("SET LOCAL search_path = pgrecall, pg_temp")
        connection.execute("DELETE FROM profiles WHERE name = %s", [profile.name])
        values = [profile.name, Jsonb(as_values(profile))]
        connection.execute("INSERT INTO profiles (name, definition) VALUES (%s, %s)", values)
        rows = connection.execute("SELECT definition FROM profiles ORDER BY name").fetchall()
        every = [from_values(row["definition"]) for row in rows]
        for statement in repeatable.applied(repeatable.files(*every), Settings()):
            connection.execute(statement.encode())
