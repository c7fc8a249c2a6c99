"""Ids of memories as commands show and read them: their first digits, or a key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, func, literal_column, select

from pgrecall.core.ids import id_of_key
from pgrecall.core.quoting import shortened
from pgrecall.core.statement import Statement
from pgrecall.core.steps import READS, Operation, Run, needs
from pgrecall.core.validation import require_name
from pgrecall.errors import InputError, MemoryNotFound
from pgrecall.execution import MemoryRepository
from pgrecall.execution.method import Namespace, R_co, method
from pgrecall.ranking.passing import OWNER
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner, require_owners

FEWEST_SHOWN = 8
"""Hexadecimal digits of an id that are shown at least."""
FEWEST_DIGITS = 4
"""The fewest hexadecimal digits of an id that can be looked up."""
MOST_CANDIDATES = 5
"""Ids in the error about a beginning that several have."""


def short_ids(
    repo: MemoryRepository, agent: str, ids: Iterable[UUID], teams: Sequence[str | UUID] = ()
) -> dict[UUID, str]:
    """The shortest beginning of each id that no other memory of the agent and teams has.

    Ids made at about the same time begin alike, so their beginnings are longer.
    """
    several = [*ids]
    shortened = [
        _Ids(repo).shorten(agent, several),
        *(_Ids(repo.teams).shorten(team, several) for team in teams),
    ]
    return {id_: max((each[id_] for each in shortened), key=len) for id_ in several}


def resolve(
    repo: MemoryRepository, agent: str, text: str, teams: Sequence[str | UUID] = ()
) -> UUID:
    """The id of the memory of the agent or teams that a text names."""
    id_: UUID = _Ids(repo).resolve(agent, text, teams=teams)
    return id_


@needs(READS)
def _shorten(
    tables: Tables, /, agent_id: str | UUID, ids: Sequence[UUID]
) -> Operation[dict[UUID, str]]:
    owner_id = require_owner(tables, agent_id)
    rows = yield Run(_neighbours(tables), {"owner_id": owner_id, "ids": ids})
    return {row.id: _shortest(row.id, (row.before, row.after)) for row in rows}


@needs(READS)
def _resolve(
    tables: Tables,
    /,
    agent_id: str | UUID,
    prefix_or_key: str,
    *,
    teams: Sequence[str | UUID] = (),
) -> Operation[UUID]:
    """The id of the agent's memory with this key, or whose id begins with these digits.

    A key precedes digits. Digits are hexadecimal, at least 4, with or without hyphens. A whole id
    is returned as it is. With `teams`, the memories of these teams are looked up, too.

    Raises MemoryNotFound if there is no such memory, and InputError if several ids begin alike.
    """
    owner_ids = [
        require_owner(tables, agent_id),
        *require_owners(tables.of_teams(), teams, "teams"),
    ]
    text = require_name("prefix_or_key", prefix_or_key)
    with suppress(ValueError):
        return UUID(text)
    for owner_id in owner_ids:
        id_ = id_of_key(owner_id, text)
        if (yield _ids_within(tables, owner_id, id_, id_)):
            return id_
    digits = text.replace("-", "").lower()
    if not re.fullmatch(rf"[0-9a-f]{{{FEWEST_DIGITS},32}}", digits):
        raise MemoryNotFound(
            f"{shortened(text)} is neither the id of a memory nor its first digits "
            f"({FEWEST_DIGITS} or more), and agent {shortened(agent_id)} has none with this key"
        )
    ids: set[UUID] = set()
    for owner_id in owner_ids:
        first, last = UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
        rows = yield _ids_within(tables, owner_id, first, last)
        ids.update(row.id for row in rows)
    return _the_one(sorted(ids), agent_id, text)


def _ids_within(tables: Tables, owner_id: str, first: UUID, last: UUID) -> Run:
    return Run(_within(tables), {"owner_id": owner_id, "first": first, "last": last})


@lru_cache
def _within(tables: Tables) -> Statement:
    """The owner's ids from `first` to `last`, in order."""
    m = tables.memories.c
    within = m.id.between(bindparam("first", type_=Uuid()), bindparam("last", type_=Uuid()))
    found = select(m.id).where(m.agent_id == OWNER, within).order_by(m.id)
    return Statement.of("ids_within", found.limit(literal_column(f"{MOST_CANDIDATES + 1}")))


@lru_cache
def _neighbours(tables: Tables) -> Statement:
    """The owner's ids just before and after each of `ids`: two index lookups each."""
    given = (
        func.unnest(bindparam("ids", type_=ARRAY(Uuid))).table_valued("id").render_derived("given")
    )
    m = tables.memories.c
    own = select(m.id).where(m.agent_id == OWNER).limit(literal_column("1"))
    before = own.where(m.id < given.c.id).order_by(m.id.desc()).scalar_subquery()
    after = own.where(m.id > given.c.id).order_by(m.id).scalar_subquery()
    return Statement.of(
        "ids_beside", select(given.c.id, before.label("before"), after.label("after"))
    )


def _the_one(ids: Sequence[UUID], agent_id: str | UUID, prefix: str) -> UUID:
    """The only id. Raises MemoryNotFound for none, and InputError for several."""
    if not ids:
        raise MemoryNotFound(
            f"agent {shortened(agent_id)} has no memory whose id begins with {shortened(prefix)}, "
            "and none with this key"
        )
    if len(ids) > 1:
        candidates = ", ".join(map(str, ids[:MOST_CANDIDATES]))
        others = " and others" if len(ids) > MOST_CANDIDATES else ""
        raise InputError(
            f"several ids begin with {shortened(prefix)}: {candidates}{others}; give more digits"
        )
    return ids[0]


def _shortest(id_: UUID, neighbours: Sequence[UUID | None]) -> str:
    """The shortest beginning that differs from the neighbouring ids, which are the most similar."""
    shared = [(128 - (id_.int ^ other.int).bit_length()) // 4 for other in neighbours if other]
    digits = max(FEWEST_SHOWN, 1 + max(shared, default=0))
    hyphens = sum(digits > place for place in (8, 12, 16, 20))
    return str(id_)[: digits + hyphens]


class _Ids(Namespace[R_co]):
    shorten = method(lambda: _shorten)
    resolve = method(lambda: _resolve)
