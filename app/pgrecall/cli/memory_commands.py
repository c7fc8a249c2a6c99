"""pgrecall add, upsert, list, get, owners"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from pgrecall.cli.app import App
from pgrecall.cli.call import Call
from pgrecall.cli.memory_ids import short_ids
from pgrecall.cli.options import OptionalIds
from pgrecall.cli.output import Output, counted, facts, record_of
from pgrecall.cli.parsers import argument, option
from pgrecall.core.display import Column, Grid, age, numbers
from pgrecall.core.memory import Memory
from pgrecall.errors import InputError, MemoryNotFound
from pgrecall.memories.added import Added
from pgrecall.memories.listing import NEWEST_FIRST, Page

app = App()


@app.method(
    "add",
    'pgrecall add "Zoe plays the cello." --type fact --tag music --agent zoe',
    'pgrecall add "Quaybook ships on Monday." --metadata project=quaybook --agent zoe',
    "pgrecall add - --agent zoe",
    'pgrecall add "Zoe lives in Oslo." --subject home --supersede-subject --agent zoe',
    duplicates=option("What to do if a memory has the same text."),
    near_duplicates=option("Treat memories that are more similar as duplicates, such as 0.92."),
    supersede_subject=option("Supersede what is stored about the same subject."),
)
def add(call: Call) -> Output:
    """Store a memory and print its id.

    The local model embeds the text. If a memory already has the same text, nothing new is stored
    and its id is printed.
    """
    added = call()
    is_superseded = call.arguments["supersede_subject"]
    verdict = "superseded" if is_superseded else "is about the same subject, too"
    return _added(added, *(f"{other} {verdict}" for other in added.same_subject))


@app.method("upsert", 'pgrecall upsert message-17 "The parcel has arrived." --agent zoe')
def upsert(call: Call, key: Annotated[str, argument("Your key for the memory.")]) -> Output:
    """Store a memory under a key, or replace text and fields of the one that has it.

    Counters, history and links stay.
    """
    return _added(call(key=key))


def _added(added: Added, *notes: str) -> Output:
    similarity = "" if added.similarity is None else f" at {added.similarity:.3f}"
    known = f"{added.outcome.replace('_', ' ')}{similarity}: nothing new is stored"
    first = {"inserted": [], "replaced": ["replaced"]}.get(added.outcome, [known])
    record = {
        "id": added,
        "outcome": added.outcome,
        "similarity": added.similarity,
        "same_subject": list(added.same_subject),
        "trust": added.trust,
    }
    return Output([record], str(added), notes=[*first, *notes])


@app.method(
    "list",
    "pgrecall list --agent zoe --type fact --limit 20",
    """pgrecall list --agent zoe --order -trust --filter '{"metadata.age": {"$gte": 30}}'""",
    "pgrecall list --agent zoe --since 2026-01-01 --count",
    order=option(
        "Column to sort by, such as importance; -importance puts the largest first. May be "
        "repeated. Default: -created_at.",
        metavar="COLUMN",
    ),
    total=option("Count all memories that pass, too."),
)
def list_(
    call: Call,
    count: Annotated[bool, option("Print only the number of those that pass.", "--count")] = False,
) -> Output:
    """List memories in any order, page by page, without ranking them."""
    if count:
        of_page = ("order", "limit", "after", "total")
        filters = {name: one for name, one in call.arguments.items() if name not in of_page}
        found = call.repo.count(filters.pop("agent_id"), **filters)
        return Output([{"memories": found}], str(found))
    page = _listed(call)
    ids = short_ids(call.repo, call.agent, (memory.id for memory in page))
    notes = []
    if page.total is not None:
        notes.append(counted(page.total, "memory in all", "memories in all"))
    order = call.arguments.get("order", ())
    shown = _table(page, ids, order or NEWEST_FIRST)
    return _page(page, _record, shown, "no memory passes", notes, order, total=page.total)


def _listed(call: Call) -> Page[Memory]:
    """The page. An error about the cursor names the options."""
    try:
        page: Page[Memory] = call()
    except InputError as problem:
        if not str(problem).startswith("after "):
            raise
        raise InputError(f"--{problem}".replace("`order`", "--order")) from None
    return page


def _table(memories: Sequence[Memory], ids: Mapping[UUID, str], order: Sequence[str]) -> Grid:
    """A table with the columns that it is sorted by."""
    sorted_by = [name.removeprefix("-") for name in order]
    more = [name for name in sorted_by if name not in ("id", "created_at", "memory_type")]
    now = datetime.now(UTC)
    rows = [
        [
            ids[memory.id],
            age(memory.created_at, now),
            memory.memory_type,
            *("" if getattr(memory, name) is None else str(getattr(memory, name)) for name in more),
            memory.content,
        ]
        for memory in memories
    ]
    columns = [Column("id", tone="dim"), *numbers("age"), Column("type"), *map(Column, more)]
    return Grid([*columns, Column("memory", wide=True)], rows)


@app.method(
    "get_many",
    "pgrecall get 0197a3c2 --agent zoe",
    "pgrecall get --key message-17 --agent zoe",
    memory_ids=OptionalIds,
)
def get(call: Call, key: Annotated[str | None, option("The key of a memory.")] = None) -> Output:
    """Show memories with all fields and counters."""
    ids = call.arguments.get("memory_ids", ())
    if not ids and key is None:
        raise InputError("get needs ids or --key")
    memories = call(memory_ids=ids)
    if missing := [id_ for id_ in ids if id_ not in memories]:
        raise MemoryNotFound(f"agent {call.agent!r} has no memory {missing[0]}")
    if key is not None:
        keyed = call.repo.get(call.agent, key=key)
        if keyed is None:
            raise MemoryNotFound(f"agent {call.agent!r} has no memory with the key {key!r}")
        memories[keyed.id] = keyed
    records = [_record(memory) for memory in memories.values()]
    parts = (
        facts((name, value) for name, value in record.items() if value not in (None, [], {}, ""))
        for record in records
    )
    return Output(records, *parts)


@app.method(
    "owners",
    "pgrecall owners",
    "pgrecall owners --prefix customer- --of-team",
    prefix=option("Only ids that begin with this."),
)
def owners(call: Call) -> Output:
    """List the agents that have memories, or with --of-team the teams."""
    page = call()
    rows = [(one.agent_id or str(one.team_id), f"{one.memories:,}") for one in page]
    shown = Grid([Column("owner"), *numbers("memories")], rows)
    return _page(page, lambda one: dict(record_of(one)), shown, "nobody has memories", [])


def _record(memory: Memory) -> dict[str, Any]:
    """All fields but the vector."""
    names = (field.name for field in fields(Memory))
    return {name: getattr(memory, name) for name in names if name != "embedding"}


def _page(
    page: Page[Any],
    record: Any,
    shown: Grid,
    otherwise: str,
    notes: list[str],
    order: Sequence[str] = (),
    **end: Any,
) -> Output:
    """A page; the last record, or a note, says where the next one begins."""
    records = [record(one) for one in page]
    if records:
        last = {"next": page.next, **end}
        records[-1] |= {name: value for name, value in last.items() if value is not None}
    if page.next is not None:
        ordered = "".join(f"--order {name} " for name in order)
        notes = [*notes, f"more: the same command with {ordered}--after {page.next}"]
    return Output(records, shown, otherwise=otherwise, notes=notes)
