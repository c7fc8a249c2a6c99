"""pgrecall import, export"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import tzinfo
from pathlib import Path
from typing import Annotated, Any, Unpack, cast

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from pgrecall.cli.app import App
from pgrecall.cli.configuration import VARIABLES
from pgrecall.cli.embedding import StoresTexts
from pgrecall.cli.output import Output, counted, plain, print_lines, warnings
from pgrecall.cli.parsers import argument, option, standard_input
from pgrecall.core.limits import STATUSES
from pgrecall.core.quoting import cut, shortened
from pgrecall.errors import InputError, InvalidLine
from pgrecall.execution import MemoryRepository
from pgrecall.memories.file_export import export_file
from pgrecall.memories.importing import Imported, import_file
from pgrecall.memories.listing import MOST
from pgrecall.memories.record import UnknownField
from pgrecall.ranking.filters import FilterArguments

app = App()
MOST_REASONS = 10
"""Reasons of rejected lines that are printed."""
MOST_OFFERED = 1_000


@contextmanager
def _bar(file: Path, total: int | None) -> Iterator[Callable[[int, int], None]]:
    """Bar, share, rate and time left. Yields advance(position, memories so far)."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]:,.0f} memories/s"),
        TimeRemainingColumn(),
    )
    start = time.monotonic()
    with Progress(*columns, console=warnings) as progress:
        task = progress.add_task(plain(file.name), total=total, rate=0.0)

        def advance(position: int, memories: int) -> None:
            rate = memories / (time.monotonic() - start)
            progress.update(task, completed=position, rate=rate)

        yield advance


@app.function(
    "pgrecall import memories.jsonl --agent zoe",
    "pgrecall import backup.jsonl.gz",
    "pgrecall import - --agent zoe",
    "pgrecall import old.jsonl --agent zoe --map text=content --map meta.uses=retrieval_count "
    "--timezone Europe/Berlin --rejects bad.jsonl",
)
def import_(
    repo: StoresTexts,
    file: Annotated[
        Path, argument("JSON Lines, may be gzipped; .parquet; or - for standard input.")
    ],
    agent: Annotated[
        str | None,
        option(
            "Agent of lines that name no owner.",
            *("--agent", "-a"),
            envvar=VARIABLES["agent"],
            show_default=False,
        ),
    ] = None,
    fields: Annotated[
        list[str] | None,
        option(
            "Rename a field: old=new. The old name may be a path such as meta.user, the new one "
            "metadata.KEY or nothing, to leave the field out. @FILE reads such lines from a file. "
            "May be repeated.",
            "--map",
            metavar="OLD=NEW|@FILE",
        ),
    ] = None,
    timezone: Annotated[
        str | tzinfo | None,
        option("Time zone of times that have none, such as UTC or Europe/Berlin."),
    ] = None,
    rejects: Annotated[
        Path | None, option("Write lines that cannot be stored to this new file, and go on.")
    ] = None,
    check_compliance: Annotated[bool, option("Refuse memories that are not compliant.")] = True,
) -> Output:
    """Store each line of a file as a memory.

    A line is an object with content and, optionally, agent_id or team_id, id, created_at (ISO 8601)
    and the other fields of NewMemory; also with state, such as status, retrieval_count or labels,
    as pgrecall export writes it. Texts that come without an embedding are embedded.
    An interrupted import can be repeated: nothing is stored twice.
    """
    source: Any = standard_input() if str(file) == "-" else file
    if source is file and (not file.exists() or file.is_dir()):
        raise InputError(f"{file} is not a file")
    renaming = _renaming(fields or [])
    start = time.monotonic()
    reasons: list[str] = []

    def reject(number: int, reason: str) -> None:
        if len(reasons) < MOST_REASONS:
            reasons.append(f"{file.name}, line {number}: {reason}")

    total = file.stat().st_size or None if source is file else None  # a pipe has no size
    with _bar(file, total) as advance, _offering_map():
        done = import_file(
            repo,
            agent,
            source,
            check_compliance=check_compliance,
            fields=renaming,
            timezone=timezone,
            rejects=rejects,
            on_progress=lambda done, position: advance(position, _stored(done)),
            on_reject=reject,
        )
    seconds = time.monotonic() - start
    owner = "" if agent is None else f" for {agent}"
    text = (
        f"{counted(done.added, 'memory', 'memories')} added{owner} in {seconds:.1f} s, "
        f"{done.already_there:,} known by id, {done.duplicates:,} known by text"
    )
    record = asdict(done) | {"seconds": round(seconds, 3)}
    problem = None
    if done.rejected:
        problem = InvalidLine(
            f"{counted(done.rejected, 'line', 'lines')} could not be stored, and "
            f"{'was' if done.rejected == 1 else 'were'} written to {rejects}"
        )
    return Output([record], text, notes=reasons, problem=problem)


def _stored(done: Imported) -> int:
    return done.added + done.already_there + done.duplicates


@contextmanager
def _offering_map() -> Iterator[None]:
    """Adds to an error about unknown fields the options that leave them out."""
    try:
        yield
    except InvalidLine as error:
        if not isinstance(error.__cause__, UnknownField):
            raise
        options = " ".join(f"--map {shlex.quote(f'{one}=')}" for one in error.__cause__.names)
        raise InvalidLine(f"{error}. To leave them out: {cut(options, MOST_OFFERED)}") from error


def _lines(texts: list[str]) -> Iterator[str]:
    """The texts, and in place of @FILE its lines, without empty ones and comments."""
    for text in texts:
        if not text.startswith("@"):
            yield text
            continue
        try:
            lines = Path(text[1:]).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise InputError(f"--map: cannot read {shortened(text[1:])}: {error}") from None
        yield from (line for line in map(str.strip, lines) if line and not line.startswith("#"))


def _renaming(texts: list[str]) -> dict[str, str]:
    """OLD=NEW, each old name once."""
    renaming: dict[str, str] = {}
    for text in _lines(texts):
        old, sign, new = text.partition("=")
        if not old or not sign:
            raise InputError(f"--map: write OLD=NEW, such as text=content; got {shortened(text)}")
        if old in renaming:
            raise InputError(f"--map: {shortened(old)} is given twice")
        renaming[old] = new
    return renaming


class Exporting(FilterArguments, total=False):
    """The arguments of an export."""

    agents: Annotated[
        Sequence[str],
        option("Only this agent. May be repeated. Default: all agents and teams.", "--agent", "-a"),
    ]


@app.function(
    "pgrecall export zoe.jsonl --agent zoe",
    "pgrecall export everything.jsonl.gz --events",
    "pgrecall export - --agent zoe > zoe.jsonl",
    "pgrecall export facts.parquet --agent zoe --type fact",
)
def export(
    repo: MemoryRepository,
    file: Annotated[
        Path,
        argument(
            "A new file: .jsonl, gzipped if it ends with .gz, or .parquet; - is standard output."
        ),
    ],
    events: Annotated[bool, option("Export the history of each memory too.", "--events")] = False,
    resume: Annotated[
        bool, option("Go on with an interrupted export, with the same options.", "--resume")
    ] = False,
    **arguments: Unpack[Exporting],
) -> Output:
    """Write memories to a file, with all that belongs to them.

    A line has every field of a memory, its embedding, counters, votes, status, labels and links;
    pgrecall import makes the same memory of it, with the same id and the same scores. All lines
    show the database at one moment, except in an export that was resumed. With filters, only the
    memories that pass are exported, whatever their status and validity.
    """
    agents = arguments.pop("agents", None)
    filters = cast(FilterArguments, arguments)
    is_piped = str(file) == "-"
    if is_piped and resume:
        raise InputError("--resume needs a file: what standard output has taken cannot be read")
    start = time.monotonic()
    total = None if filters or resume else count_exported(repo, agents)
    with _bar(file, total) as advance:
        if is_piped:
            number = repo.transfer.export(
                print_lines, agent_id=agents, events=events, filters=filters
            )
        else:
            number = export_file(
                repo,
                file,
                agent_id=agents,
                events=events,
                filters=filters,
                resume=resume,
                on_progress=lambda exported: advance(exported, exported),
            )
    seconds = time.monotonic() - start
    text = f"{counted(number, 'memory', 'memories')} written to {file} in {seconds:.1f} s"
    if is_piped:
        return Output([], notes=[text])
    return Output([{"exported": number, "file": str(file), "seconds": round(seconds, 3)}], text)


def count_exported(repo: MemoryRepository, agents: Sequence[str] | None) -> int:
    """The number of memories of these owners, or of all."""
    if agents is not None:
        return sum(
            repo.count(agent, statuses=STATUSES, include_invalid=True) for agent in {*agents}
        )
    number = 0
    for store in (repo,) if repo._tables.prefix else (repo, repo.teams):
        after = None
        while page := store.owners(limit=MOST, after=after):
            number += sum(owner.memories for owner in page)
            if (after := page.next) is None:
                break
    return number
