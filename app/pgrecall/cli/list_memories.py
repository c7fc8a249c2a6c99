"""pgrecall list, get, owners"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Annotated, Any, Unpack
from uuid import UUID

from rich.table import Column, Table

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.memory_ids import OptionalIds, short_ids
from pgrecall.cli.options import Limit
from pgrecall.cli.output import Output, age, counted, facts, plain, right, table
from pgrecall.cli.written import option
from pgrecall.core.memory import Memory
from pgrecall.errors import InputError, MemoryNotFound
from pgrecall.execution import MemoryRepository
from pgrecall.memories.ordering import NEWEST_FIRST
from pgrecall.ranking.filters import FilterArguments

app = App(panel="Store and search")

After = Annotated[
    str | None, option("Continue a list: what the page before named.", metavar="CURSOR")
]


@app.declare(
    "pgrecall list --agent zoe --type fact --limit 20",
    "pgrecall list --agent zoe --order -retrieval_count --metadata 'user.age>=30'",
    name="list",
)
def list_(
    repo: MemoryRepository,
    agent: Agent,
    order: Annotated[
        Sequence[str] | None,
        option(
            "Column to sort by, such as importance; -importance puts the largest first. May be "
            "repeated. Default: -created_at.",
            metavar="COLUMN",
        ),
    ] = None,
    limit: Limit = 50,
    after: After = None,
    total: Annotated[bool, option("Count all memories that pass, too.", "--total")] = False,
    **filters: Unpack[FilterArguments],
) -> Output:
    """List memories in any order, page by page, without ranking them."""
    order = order or NEWEST_FIRST
    page = repo.list(agent, order=order, limit=limit, after=after, total=total, **filters)
    ids = short_ids(repo, agent, (memory.id for memory in page))
    notes = []
    if page.total is not None:
        notes.append(counted(page.total, "memory in all", "memories in all"))
    return Output(
        _with_end([_record(one) for one in page], next=page.next, total=page.total),
        _listed(page, ids, order),
        otherwise="no memory passes",
        notes=[*notes, *_more(page.next)],
    )


def _listed(memories: Sequence[Memory], ids: Mapping[UUID, str], order: Sequence[str]) -> Table:
    """A table with the columns that it is sorted by."""
    sorted_by = [name.removeprefix("-") for name in order]
    more = [name for name in sorted_by if name not in ("id", "created_at", "memory_type")]
    now = datetime.now(UTC)
    rows = (
        [
            ids[one.id],
            age(one.created_at, now),
            one.memory_type,
            *("" if getattr(one, name) is None else getattr(one, name) for name in more),
            plain(one.content),
        ]
        for one in memories
    )
    first = Column("id", style="dim", no_wrap=True)
    last = Column("memory", ratio=1, overflow="fold")
    return table(first, *right("age"), "type", *more, last, rows=rows)


@app.declare("pgrecall get 0197a3c2 --agent zoe", "pgrecall get --key message-17 --agent zoe")
def get(
    repo: MemoryRepository,
    agent: Agent,
    memory: OptionalIds = None,
    key: Annotated[str | None, option("The key of a memory.")] = None,
) -> Output:
    """Show memories with all fields and counters."""
    if not memory and key is None:
        raise InputError("get needs ids or --key")
    memories = repo.get_many(agent, memory or ())
    if missing := [id_ for id_ in memory or () if id_ not in memories]:
        raise MemoryNotFound(f"agent {agent!r} has no memory {missing[0]}")
    if key is not None:
        keyed = repo.get(agent, key=key)
        if keyed is None:
            raise MemoryNotFound(f"agent {agent!r} has no memory with the key {key!r}")
        memories[keyed.id] = keyed
    records = [_record(one) for one in memories.values()]
    parts = (
        facts((name, value) for name, value in one.items() if value not in (None, [], {}, ""))
        for one in records
    )
    return Output(records, *parts)


@app.declare("pgrecall owners", "pgrecall owners --prefix customer- --of-team")
def owners(
    repo: MemoryRepository,
    prefix: Annotated[str, option("Only ids that begin with this.")] = "",
    limit: Limit = 100,
    after: After = None,
) -> Output:
    """List the agents that have memories, or with --of-team the teams."""
    page = repo.owners(prefix=prefix, limit=limit, after=after)
    rows = ((one.agent_id or one.team_id, f"{one.memories:,}") for one in page)
    return Output(
        _with_end([asdict(one) for one in page], next=page.next),
        table("owner", *right("memories"), rows=rows),
        otherwise="nobody has memories",
        notes=_more(page.next),
    )


def _more(cursor: str | None) -> list[str]:
    return [] if cursor is None else [f"more: --after {cursor}"]


def _record(memory: Memory) -> dict[str, Any]:
    """All fields but the vector."""
    names = (field.name for field in fields(Memory))
    return {name: getattr(memory, name) for name in names if name != "embedding"}


def _with_end(records: list[dict[str, Any]], **end: Any) -> list[dict[str, Any]]:
    """The records; the last one also says where the next page begins."""
    if records:
        records[-1] |= {name: value for name, value in end.items() if value is not None}
    return records
