"""`python -m benchmarks.moving`: export and import of memories with all that belongs to them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Annotated

import psycopg
import typer
from rich.console import Console
from sqlalchemy import NullPool, create_engine

from benchmarks.data import DIMENSIONS, Corpus
from benchmarks.loading import Order, load
from benchmarks.measurement import Measurement, print_table
from benchmarks.progress import progress_bar
from benchmarks.server import server
from pgrecall import MemoryRepository, export_file, import_file, migrate

FORMATS = ("all.jsonl", "all.jsonl.gz", "all.parquet")
STATE = """
INSERT INTO pgrecall.memory_labels (agent_id, memory_id, kind, value)
SELECT agent_id, id, 'keyword', 'label' FROM pgrecall.agent_memories;
INSERT INTO pgrecall.memory_links (agent_id, source_id, target_id, kind)
SELECT agent_id, id, next, 'next'
  FROM (SELECT agent_id, id, lead(id) OVER (PARTITION BY agent_id ORDER BY id) AS next
          FROM pgrecall.agent_memories) m
 WHERE next IS NOT NULL;
INSERT INTO pgrecall.memory_events (agent_id, memory_id, id, event_type, new_values)
SELECT agent_id, id, gen_random_uuid(), 'initial', '{"trust": 0.5}' FROM pgrecall.agent_memories;
ANALYZE;
"""


def main(
    rows: Annotated[int, typer.Option(min=1_000, help="Memories to move.")] = 200_000,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
    work: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Moves memories with counters, a label, a link and an event each, on an embedded server."""
    if work is not None:
        _work(**json.loads(work))
        return
    console = Console()
    with progress_bar() as progress, server() as url, server() as other, _folder() as made:
        folder = Path(made)
        load(url, Corpus.of(rows, seed), Order.TOGETHER, progress)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(STATE)
        for name in FORMATS:
            file = folder / name
            found = _measured("export", url, file, rows)
            found.append(Measurement("size of the file", file.stat().st_size / 2**20, "MiB"))
            migrate.upgrade(other, dimensions=DIMENSIONS)
            found += _measured("import", other, file, rows)
            found += _measured("import again", other, file, rows)
            migrate.downgrade(other, revision="base")
            progress.stop()
            print_table(console, f"{rows:,} memories, {DIMENSIONS} dimensions, {name}", found)


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="pgrecall-moving-")


def _measured(what: str, url: str, file: Path, rows: int) -> list[Measurement]:
    """Rate and peak memory, in a process of its own."""
    work = json.dumps({"what": what, "url": url, "file": str(file)})
    command = [sys.executable, "-m", "benchmarks.moving", "--work", work]
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
    seconds, start, most = json.loads(done.stdout)
    return [
        Measurement(what, rows / seconds, "memories/s"),
        Measurement(f"{what}: RAM, peak", most / 1024, "MiB"),
        Measurement(f"{what}: RAM before", start / 1024, "MiB"),
    ]


def _work(what: str, url: str, file: str) -> None:
    repo = MemoryRepository(create_engine(url, poolclass=NullPool))
    repo.count("nobody")
    start = _peak()
    began = perf_counter()
    if what == "export":
        export_file(repo, file, events=True)
    else:
        import_file(repo, None, Path(file))
    seconds = perf_counter() - began
    print(json.dumps([seconds, start, _peak()]))


def _peak() -> int:
    """In KiB. getrusage would count what the parent had."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


if __name__ == "__main__":
    typer.run(main)
