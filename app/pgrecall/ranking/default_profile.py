"""The profile of calls that name none."""

from __future__ import annotations

from functools import lru_cache

from sqlalchemy import TextClause, text

from pgrecall.core.quoting import shortened
from pgrecall.core.steps import Inspect, Lookup, Operation
from pgrecall.errors import UnknownName
from pgrecall.schema import Layout, Tables
from pgrecall.scoring import profiles
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profile_file import from_values


def default_profile(tables: Tables, otherwise: Profile = profiles.DEFAULT) -> Operation[Profile]:
    """The profile that the database holds for calls that name none, or else `otherwise`.

    It is looked up, so a change is obeyed some seconds later. Raises UnknownName if the database
    does not have that profile.
    """
    layout: Layout = yield Inspect()
    if not layout.has_default_profile:
        return otherwise
    [row] = yield Lookup(_statement(tables), {})
    if row.name is None:
        return otherwise
    if row.name in profiles.BUILT_IN:
        return profiles.BUILT_IN[row.name]
    if row.definition is None:
        raise UnknownName(
            f"the default profile of this database, {shortened(row.name)}, is not installed: "
            "install it, choose another one with `pgrecall profiles default`, or name a profile"
        )
    return from_values(row.definition)


@lru_cache
def _statement(tables: Tables) -> TextClause:
    schema = tables.schema
    return text(
        f'SELECT d.name, (SELECT p.definition FROM "{schema}".profiles p WHERE p.name = d.name) '  # noqa: S608  ours
        f'AS definition FROM (SELECT "{schema}".default_profile(NULL) AS name) d'
    )
