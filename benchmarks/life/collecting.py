"""Collecting: a garbage collection over one agent's many memories."""

from __future__ import annotations

import time

from rich.progress import Progress
from sqlalchemy import create_engine, text

from benchmarks.data import DIMENSIONS
from benchmarks.measurement import Measurement
from pgrecall import GarbagePolicy, GarbageRun, MemoryRepository, migrate
from pgrecall.migrate.connecting import database_url

FILL = """
INSERT INTO pgrecall.agent_memories
       (agent_id, id, content, embedding, trust, created_at)
SELECT 'agent', gen_random_uuid(), 'memory ' || n,
       ARRAY(SELECT sin(n * d) FROM generate_series(1, :dimensions) d)::float4[]::vector,
       random(), now() - random() * interval '40 days'
  FROM generate_series(1, :rows) n
"""


def collecting(url: str, rows: int, progress: Progress) -> list[Measurement]:
    migrate.upgrade(url, dimensions=DIMENSIONS)
    engine = create_engine(database_url(url))
    task = progress.add_task("loading", total=None)
    with engine.begin() as connection:
        connection.execute(text("SELECT setseed(0)"))
        connection.execute(text(FILL), {"rows": rows, "dimensions": DIMENSIONS})
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM (ANALYZE, FREEZE) pgrecall.agent_memories"))
    repo = MemoryRepository(engine)
    policy = GarbagePolicy(max_live=rows // 2)
    counted_start = time.perf_counter()
    expected = repo.upkeep.collect_garbage(policy, dry_run=True)
    counted = time.perf_counter() - counted_start
    batches: list[float] = []
    last = time.perf_counter()

    def note(run: GarbageRun) -> None:
        nonlocal last
        now = time.perf_counter()
        batches.append(now - last)
        last = now
        progress.update(task, description="collecting", total=rows, completed=run.scanned)

    start = last = time.perf_counter()
    run = repo.upkeep.collect_garbage(policy, on_progress=note)
    seconds = time.perf_counter() - start
    progress.remove_task(task)
    engine.dispose()
    assert (run.archived, run.deleted) == (expected.archived, expected.deleted)
    return [
        Measurement("dry run", counted, "s"),
        Measurement("run", seconds, "s"),
        Measurement("  archived", run.archived, "rows"),
        Measurement("  deleted", run.deleted, "rows"),
        Measurement("  scanned", run.scanned / seconds, "rows/s"),
        Measurement("longest transaction", max(batches) * 1000, "ms"),
    ]
