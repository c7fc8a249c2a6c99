"""The profile of calls that name none."""

from __future__ import annotations

from functools import lru_cache

from pgrecall.core.quoting import shortened
from pgrecall.core.statement import Statement
from pgrecall.core.steps import Keep, Operation, Run
from pgrecall.errors import UnknownName
from pgrecall.schema import Tables
from pgrecall.scoring import profiles
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profile_file import from_values


def default_profile(tables: Tables) -> Operation[Profile]:
    """The profile that the database holds for calls that name none, or else the library's default.

    It is kept, so a change is obeyed some seconds later. Raises UnknownName if the database
    does not have that profile.
    """
    [(name,)] = yield Run(_name(tables), keep=Keep())
    if name is None:
        return profiles.DEFAULT
    if name in profiles.BUILT_IN:
        return profiles.BUILT_IN[name]
    rows = yield Run(_definition(tables), {"name": name}, keep=Keep())
    if not rows:
        raise UnknownName(
            f"the default profile of this database, {shortened(name)}, is not installed: "
            "install it, choose another one with `pgrecall profiles default`, or name a profile"
        )
    return from_values(rows[0].definition)


@lru_cache
def _name(tables: Tables) -> Statement:
    return Statement(f'SELECT "{tables.schema}".default_profile(NULL) AS name')


@lru_cache
def _definition(tables: Tables) -> Statement:
    """Of an installed profile. A role may have been let in by hand, and not to read these."""
    text = f'SELECT p.definition FROM "{tables.schema}".profiles p WHERE p.name = :name'  # noqa: S608  ours
    return Statement(text)
