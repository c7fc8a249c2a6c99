"""pgrecall import"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import tzinfo
from pathlib import Path
from typing import Annotated, Any

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from pgrecall.cli.app import App
from pgrecall.cli.configuration import VARIABLES
from pgrecall.cli.embedding import StoresTexts
from pgrecall.cli.output import Output, complaints, counted, plain
from pgrecall.cli.written import argument, option, standard_input
from pgrecall.core.quoting import cut, shortened
from pgrecall.errors import InputError, InvalidLine
from pgrecall.memories.importing import Imported, import_file
from pgrecall.memories.record import UnknownField

app = App(panel="Store and search")
MOST_REASONS = 10
"""Reasons of rejected lines that are printed."""
MOST_OFFERED = 1_000
RATE = "{task.fields[rate]:,.0f} memories/s"


def progress_bar() -> Progress:
    """Bar, share, rate and time left, for import and export."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn(RATE),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=complaints)


@app.declare(
    "pgrecall import memories.jsonl --agent zoe",
    "pgrecall import backup.jsonl.gz",
    "pgrecall import - --agent zoe",
    "pgrecall import old.jsonl --agent zoe --map text=content --map meta.uses=retrieval_count "
    "--timezone Europe/Berlin --rejects bad.jsonl",
    name="import",
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

    with progress_bar() as progress:
        total = file.stat().st_size or None if source is file else None  # a pipe has no size
        task = progress.add_task(plain(file.name), total=total, rate=0.0)

        def advance(done: Imported, position: int) -> None:
            seconds = time.monotonic() - start
            rate = (done.added + done.already_there + done.duplicates) / seconds
            progress.update(task, completed=position, rate=rate)

        with _offering_map():
            done = import_file(
                repo,
                agent,
                source,
                check_compliance=check_compliance,
                fields=renaming,
                timezone=timezone,
                rejects=rejects,
                on_progress=advance,
                on_reject=reject,
            )
    seconds = time.monotonic() - start
    record = {
        "added": done.added,
        "already_there": done.already_there,
        "duplicates": done.duplicates,
        "rejected": done.rejected,
        "seconds": round(seconds, 3),
    }
    whose = "" if agent is None else f" for {agent}"
    said = (
        f"{counted(done.added, 'memory', 'memories')} added{whose} in {seconds:.1f} s, "
        f"{done.already_there:,} known by id, {done.duplicates:,} known by text"
    )
    problem = None
    if done.rejected:
        problem = InvalidLine(
            f"{counted(done.rejected, 'line', 'lines')} could not be stored, and "
            f"{'was' if done.rejected == 1 else 'were'} written to {rejects}"
        )
    return Output([record], said, notes=reasons, problem=problem)


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
    found: dict[str, str] = {}
    for text in _lines(texts):
        old, sign, new = text.partition("=")
        if not old or not sign:
            raise InputError(f"--map: write OLD=NEW, such as text=content; got {shortened(text)}")
        if old in found:
            raise InputError(f"--map: {shortened(old)} is given twice")
        found[old] = new
    return found
