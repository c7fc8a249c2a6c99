"""pgrecall consolidate, delete, erase"""

from __future__ import annotations

from typing import Annotated

import typer

from pgrecall.cli.app import App
from pgrecall.cli.call import Call
from pgrecall.cli.memory_ids import short_ids
from pgrecall.cli.options import OptionalIds
from pgrecall.cli.output import Output, counted, number, plain, progress_bar
from pgrecall.cli.parsers import option
from pgrecall.core.display import Cell
from pgrecall.errors import InputError
from pgrecall.lifecycle.consolidating import Consolidation
from pgrecall.lifecycle.erasing import Erased

app = App()

Yes = Annotated[bool, option("Do not ask for confirmation.", "--yes", "-y")]


@app.method(
    "consolidate",
    "pgrecall consolidate --agent zoe",
    "pgrecall consolidate --min-similarity 0.92 --min-size 2 --more-than 1 --dry-run --agent zoe",
    min_similarity=option("Similarity of each memory to the central one, 0 to 1."),
)
def consolidate(call: Call) -> Output:
    """Find groups of similar active memories, and store a new memory in place of each.

    An agent with few memories has none: --more-than.
    """
    with progress_bar("consolidating") as advance:
        found: list[Consolidation] = call(on_progress=advance)
    shown: list[Cell | str] = []
    if call.arguments["dry_run"]:
        ids = short_ids(call.repo, call.agent, {id_ for one in found for id_ in one.source_ids})
        for place, one in enumerate(found, start=1):
            shown.append(Cell(f"cluster {place}", "bold"))
            members = zip(one.similarities, one.source_ids, one.contents, strict=True)
            shown += [f"  {share:.3f}  {ids[id_]}  {text}" for share, id_, text in members]
    else:
        shown += [
            f"{one.memory_id} replaces {len(one.source_ids)} memories, importance "
            f"{one.importance:g}"
            for one in found
        ]
    records = (
        {
            "id": one.memory_id,
            "sources": one.source_ids,
            "contents": one.contents,
            "similarities": [round(share, 6) for share in one.similarities],
            "importance": one.importance,
        }
        for one in found
    )
    return Output(records, *shown, otherwise="nothing to consolidate")


@app.method(
    "delete",
    "pgrecall delete 0197a3c2 0197a3d8 --agent zoe",
    "pgrecall delete --tag draft --until 2026-01-01 --dry-run --agent zoe",
    memory_ids=OptionalIds,
)
def delete(call: Call, yes: Yes = False) -> Output:
    """Delete memories by their ids, or all that pass a filter. Their history remains."""
    dry_run = call.arguments["dry_run"]
    if "memory_ids" not in call.arguments and not yes and not dry_run:
        _confirm(f"Delete {counted(call(dry_run=True), 'memory', 'memories')}", call)
    return number("deleted", call(), "to be deleted" if dry_run else "deleted")


def _confirm(what: str, call: Call) -> None:
    question = f"{what} of {plain(call.agent)}? This cannot be undone."
    typer.confirm(question, abort=True, err=True)


@app.method(
    "erase",
    "pgrecall erase 0197a3c2 --agent zoe --vacuum",
    "pgrecall erase --everything --agent zoe --dry-run",
    memory_ids=OptionalIds,
    vacuum=option("Then remove the deleted rows from the tables: VACUUM."),
)
def erase(
    call: Call,
    everything: Annotated[
        bool, option("Erase the agent, instead of some memories.", "--everything")
    ] = False,
    yes: Yes = False,
) -> Output:
    """Delete memories, or everything of an agent, and leave nothing: neither history nor counters.

    `delete` keeps the history. An interrupted erasure of an agent can be started again.
    """
    ids, dry_run = call.arguments.get("memory_ids", ()), call.arguments["dry_run"]
    if not ids and not everything:
        raise InputError("erase needs the ids of memories, or --everything of the agent")
    if ids and everything:
        raise InputError("erase takes ids of memories, or --everything of the agent; not both")
    if not yes and not dry_run:
        _confirm(f"Erase {counted(len(ids), 'memory', 'memories') if ids else 'everything'}", call)
    if not everything:
        with progress_bar("erasing"):
            erased = call()
        return Output([erased], *_erasure(erased))
    if call.arguments["vacuum"]:  # before anything is erased: who may not, learns it now
        call(memory_ids=(), dry_run=True)
    with progress_bar("erasing") as advance:
        erased = call.repo.erase_owner(
            call.agent,
            dry_run=dry_run,
            on_progress=lambda done, memories: advance(done.memories, memories),
        )
    if call.arguments["vacuum"] and not dry_run:
        with progress_bar("vacuuming"):
            call(memory_ids=())
    return Output([erased], *_erasure(erased))


def _erasure(erased: Erased) -> list[str]:
    counts = (
        counted(erased.memories, "memory", "memories"),
        counted(erased.counters, "counter", "counters"),
        counted(erased.links, "link", "links"),
        counted(erased.events, "event", "events"),
        counted(erased.positions, "position", "positions"),
        counted(erased.mentions, "mention", "mentions"),
        counted(erased.runs, "run of maintenance", "runs of maintenance"),
    )
    start = "dry run: " if erased.dry_run else ""
    lines = [f"{start}{', '.join(counts)} erased"]
    if erased.derived:
        lines.append(
            "not erased, but made from erased memories: " + ", ".join(map(str, erased.derived))
        )
    return lines
