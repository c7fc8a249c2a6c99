"""pgrecall import"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import tzinfo
from pathlib import Path
from typing import Annotated, Any, BinaryIO, cast

from pgrecall.cli.app import App
from pgrecall.cli.configuration import VARIABLES
from pgrecall.cli.embedding import EmbedsTexts
from pgrecall.cli.output import Output, counted, plain, progress_bar, warnings
from pgrecall.cli.output import table as listed_table
from pgrecall.cli.parsers import argument, option, standard_input
from pgrecall.core.display import Part
from pgrecall.core.quoting import cut, shortened
from pgrecall.errors import InputError, InvalidLine
from pgrecall.memories.importing import Imported, Preview, import_file
from pgrecall.memories.item_rules import OWNER_LABELS
from pgrecall.memories.record import UnknownField
from pgrecall.migrate.moving_in import import_from
from pgrecall.migrate.source_systems import SystemName

app = App()
MOST_REASONS = 10
"""Reasons of rejected lines that are printed."""
MOST_OFFERED = 1_000
MOST_SHOWN = 80
"""Characters of a text in a dry run."""
OF_SYSTEMS = "From another system"


@app.function(
    "pgrecall import memories.jsonl --agent zoe",
    "pgrecall import backup.jsonl.gz",
    "pgrecall import - --agent zoe",
    "pgrecall import old.jsonl --agent zoe --map text=content --map meta.uses=retrieval_count "
    "--timezone Europe/Berlin --rejects bad.jsonl",
    "pgrecall import notes.csv --agent zoe --dry-run",
    "pgrecall import --from mem0 postgresql://user@host/name --model text-embedding-3-small",
    "pgrecall import --from table --table items --map body=content --map owner=agent_id "
    "postgresql://user@host/name",
)
def import_(
    repo: EmbedsTexts,
    source: Annotated[
        str,
        argument(
            "JSON Lines or .csv, may be gzipped; or - for standard input. With --from: "
            "the URL of a database.",
            metavar="FILE|URL",
        ),
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
    dry_run: Annotated[
        bool, option("Store nothing; show ten memories as they would be, and counts.", "--dry-run")
    ] = False,
    system: Annotated[
        SystemName | None,
        option(
            "Read the tables of this system; table is any table with a text.",
            "--from",
            rich_help_panel=OF_SYSTEMS,
        ),
    ] = None,
    table: Annotated[
        str | None,
        option("The table, if its name is not the usual one.", rich_help_panel=OF_SYSTEMS),
    ] = None,
    collection: Annotated[
        str | None,
        option("Only this collection of LangChain.", rich_help_panel=OF_SYSTEMS),
    ] = None,
    model: Annotated[
        str | None,
        option(
            "Model that made the vectors there, to take them over if it is that of the schema.",
            rich_help_panel=OF_SYSTEMS,
        ),
    ] = None,
    owner_labels: Annotated[
        int,
        option(
            "How many labels of a namespace of LangGraph name its agent.",
            rich_help_panel=OF_SYSTEMS,
        ),
    ] = OWNER_LABELS,
) -> Output:
    """Store each line of a file, or each row of another system's table, as a memory.

    A line is an object with content and, optionally, agent_id or team_id, id, created_at (ISO 8601)
    and the other fields of NewMemory; also with state, such as status, retrieval_count or links,
    as pgrecall export writes it. Texts that come without an embedding are embedded.
    An interrupted import can be repeated: nothing is stored twice.
    """
    start = time.monotonic()
    name, noun = (Path(source).name, "line") if system is None else (system, "row")
    reasons: list[str] = []

    def reject(number: int, reason: str) -> None:
        if len(reasons) < MOST_REASONS:
            reasons.append(f"{name}, {noun} {number}: {reason}")

    options: dict[str, Any] = {
        "check_compliance": check_compliance,
        "fields": _renaming(fields or []),
        "timezone": timezone,
        "rejects": rejects,
        "on_reject": reject,
        "dry_run": dry_run,
    }
    named = {"table": table, "collection": collection, "model": model}
    with _offering_map():
        if system is None:
            _require_no_system(named)
            opened, total = _opened(source)
            with progress_bar(name) as advance:
                options["on_progress"] = lambda _, position: advance(position, total)
                done = import_file(repo, agent, cast(Any, opened), **options)
        else:
            with progress_bar(system) as advance:
                options |= _shown_rows(advance) | named | {"owner_labels": owner_labels}
                done = import_from(repo, agent, system, source, **options)
    rejected = counted(done.rejected, noun, f"{noun}s")
    if done.preview is not None:
        problem = InvalidLine(f"{rejected} cannot be stored") if done.rejected else None
        parts = _foreseen(done, done.preview, noun)
        return Output([done.record()], *parts, notes=reasons, problem=problem)
    seconds = time.monotonic() - start
    owner = "" if agent is None else f" for {agent}"
    text = (
        f"{counted(done.added, 'memory', 'memories')} added{owner} in {seconds:.1f} s, "
        f"{done.already_there:,} known by id, {done.duplicates:,} known by text"
    )
    problem = None
    if done.rejected:
        problem = InvalidLine(
            f"{rejected} could not be stored, and "
            f"{'was' if done.rejected == 1 else 'were'} written to {rejects}"
        )
    record = done.record() | {"seconds": round(seconds, 3)}
    return Output([record], text, notes=reasons, problem=problem)


def _shown_rows(advance: Callable[..., None]) -> dict[str, Any]:
    """Functions that show the number of rows, and the progress."""
    total = 0

    def begin(rows: int, vectors: str) -> None:
        nonlocal total
        total = rows
        warnings.print(plain(f"{counted(rows, 'row', 'rows')}; {vectors}"), markup=False)

    return {"on_start": begin, "on_progress": lambda _, position: advance(position, total)}


def _require_no_system(named: Mapping[str, str | None]) -> None:
    """Raises InputError for options that only the tables of another system have."""
    given = [f"--{name}" for name, value in named.items() if value is not None]
    if given:
        raise InputError(f"{', '.join(given)} without --from, the system whose tables are read")


def _opened(source: str) -> tuple[Path | BinaryIO, int | None]:
    """The file, or standard input, and its size; a pipe has none."""
    if source == "-":
        return standard_input(), None
    if "://" in source:
        raise InputError(
            "a URL needs --from, the system whose tables are read, such as --from mem0"
        )
    file = Path(source)
    if not file.exists() or file.is_dir():
        raise InputError(f"{file} is not a file")
    return file, file.stat().st_size or None


def _foreseen(done: Imported, preview: Preview, noun: str) -> Iterator[Part]:
    """The findings of a dry run for people."""
    rows = (
        (
            one["owner"],
            one.get("key") or one["id"],
            cut(one["content"], MOST_SHOWN),
            ", ".join(name for name in one if name not in ("owner", "id", "key", "content")),
        )
        for one in preview.memories
    )
    yield listed_table("owner", "id or key", "content", "also has", rows=rows)
    yield ""
    yield (
        f"{counted(done.added, 'memory', 'memories')} would be added, {done.already_there:,} "
        f"known by id, {counted(done.rejected, noun, f'{noun}s')} cannot be stored"
    )
    owners = sorted(preview.owners.items(), key=lambda one: -one[1])
    shown = ", ".join(f"{name} {number:,}" for name, number in owners[:MOST_REASONS])
    more = len(owners) - MOST_REASONS
    yield f"owners: {shown}{f' and {more:,} more' if more > 0 else ''}"
    if done.vectors:
        yield f"vectors: {done.vectors}"
    for sentence in preview.left_behind:
        yield f"stays behind: {sentence}"


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
