"""`python -m benchmarks.million`: rank indexes of large owners, fresh, grown, used and maintained.

An owner of 1,000,000 memories is measured beside one of 100,000 in the same rounds, and 100,000
memories of long embeddings beside exact search. Takes hours, and 20 GiB of memory and of disk.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any

import psutil
import psycopg
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.contenders import K
from benchmarks.data import Row
from benchmarks.index.approaches import EXACT, INDEX, Approaches
from benchmarks.index.asking import Asked
from benchmarks.index.comparison import compared
from benchmarks.index.databases import Databases, Loaded
from benchmarks.index.machine import machine
from benchmarks.index.meanings import Meanings
from benchmarks.index.memories import Memories
from benchmarks.index.setting import AGENT, ALONE, Setting
from benchmarks.loading import copy_rows, load_rows, vacuum
from benchmarks.measurement import Measurement, print_table
from benchmarks.measuring import measured
from benchmarks.progress import index_builds, progress_bar, tracked
from benchmarks.server import repository, server
from pgrecall import migrate, profiles
from pgrecall.ranking.hits import Hits
from pgrecall.testing import new_database

SETTINGS = """
shared_buffers = '8GB'
maintenance_work_mem = '4GB'  # a graph that does not fit is built many times slower
max_wal_size = '8GB'
autovacuum = off  # tables are vacuumed once filled; nothing may disturb what is timed
synchronous_commit = off  # nothing that is timed commits
"""
PROFILES = (profiles.five_factor, ALONE)
PAUSE = 5.0
"""Seconds between two looks at the server's memory: each reads the page tables of all processes."""
MEDIAN, P99, RECALL, BUILD = 2.0, 3.0, 0.98, 30.0
"""Goals: times the smaller owner's at most, times at most, at least, minutes at most."""
JSON = Path("build/million.jsonl")


class Part(StrEnum):
    MILLION = "million"
    WIDE = "wide"


@dataclass(frozen=True)
class Size:
    """Memories of an owner at the start; one more for ten of them come later."""

    rows: int
    dimensions: int
    embedding_type: str = "vector"
    faster: float | None = None
    """Goal: times as fast as exact search."""


SIZES = {
    Part.MILLION: (Size(1_000_000, 256), Size(100_000, 256)),
    Part.WIDE: (Size(100_000, 1_536, faster=15), Size(100_000, 3_072, "halfvec", faster=20)),
}


@dataclass(frozen=True)
class Costs:
    """The plain HNSW index has pgvector's default parameters. The graph of a rank index considers
    twice as many candidates for each node. Several processes may build either.
    """

    load_s: float
    """With making the rows up."""
    hnsw_s: float
    build_s: float
    candidates: int
    memories_mb: float
    hnsw_mb: float
    positions_mb: float
    hnsw_peak_mb: float
    """The server's memory while it builds, with its buffers; shared pages count once (PSS)."""
    hnsw_private_mb: float
    """Of it what belongs to one process alone (USS). A graph that several processes build is not
    in it, and one that a single process builds is.
    """
    build_peak_mb: float
    build_private_mb: float


@dataclass(frozen=True)
class Found:
    """How searches of one owner by one profile did."""

    owner: str
    profile: str
    median_ms: float
    p99_ms: float
    exact_ms: float
    faster: float
    """Than exact search, median within a round."""
    recall: float
    by_index: float
    """The share of questions that the index answered."""


@dataclass(frozen=True)
class Owner:
    """One owner in a database of its own."""

    name: str
    size: Size
    source: Memories
    loaded: Loaded
    coming: Iterator[Row]
    """The newest, which are not loaded yet."""
    costs: Costs


Stage = Callable[[Owner, Progress], float]
"""What happens to an owner before searches are measured; seconds that it took."""


def main(
    only: Annotated[Part | None, typer.Option(help="One part of it.")] = None,
    meanings: Annotated[Meanings, typer.Option(help="Of embeddings.")] = Meanings.CONTINUOUS,
    rounds: Annotated[int, typer.Option(min=2, help="Questions to each owner.")] = 200,
    exact: Annotated[int, typer.Option(min=2, help="Of them by exact search, too.")] = 20,
    searches: Annotated[int, typer.Option(min=20, help="That count, before maintenance.")] = 2_000,
    scale: Annotated[float, typer.Option(min=0.001, max=1, help="Of all row counts.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
    json_: Annotated[Path, typer.Option("--json", help="Gets a line for each table.")] = JSON,
) -> None:
    """Measures each part on an embedded server of its own, and appends what it finds to a file."""
    console = Console()
    setting = Setting(scale, rounds, seed, datetime.now(UTC), None)
    for part in [only] if only else list(Part):
        with server(SETTINGS) as url, ExitStack() as stack:
            conditions = {
                "at": f"{setting.now:%Y-%m-%d %H:%M}",
                "machine": machine(),
                "server": Databases(url).version(),
                "part": part,
                "meanings": meanings,
                "scale": scale,
                "seed": seed,
            }
            console.print(f"{conditions['machine']}, {conditions['server']}", highlight=False)

            def note(record: Mapping[str, Any], of: Mapping[str, Any] = conditions) -> None:
                json_.parent.mkdir(parents=True, exist_ok=True)
                with json_.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({**of, **record}) + "\n")

            owners = []
            for size in SIZES[part]:
                with progress_bar() as progress:
                    owners.append(_owner(url, size, setting, meanings, stack, progress))
                note({"owner": owners[-1].name, "costs": asdict(owners[-1].costs)})
            console.print(_cost_table(owners))
            results: dict[str, list[Found]] = {}
            for name, stage in _stages(setting, searches).items():
                with progress_bar() as progress:
                    seconds = {owner.name: round(stage(owner, progress), 1) for owner in owners}
                    results[name] = _searched(owners, setting, exact, progress)
                found = [asdict(one) for one in results[name]]
                note({"stage": name, "seconds": seconds, "searches": found})
                took = "".join(f", {one:.1f} s" for one in seconds.values() if one)
                console.print(_search_table(f"{name}{took}", results[name]))
            print_table(console, "goals", list(_verdicts(part, owners, results)))
    if scale < 1:
        console.print("the goals are meant for --scale 1")


def _owner(
    url: str,
    size: Size,
    setting: Setting,
    meanings: Meanings,
    stack: ExitStack,
    progress: Progress,
) -> Owner:
    """Loads the oldest of the memories, and builds both indexes one after the other."""
    source = setting.one_agent(
        size.rows + size.rows // 10,
        meanings=meanings,
        dimensions=size.dimensions,
        embedding_type=size.embedding_type,
    )
    rows, coming = setting.rows(size.rows), iter(source)
    name = _name(rows, source)
    loaded = Loaded(source, stack.enter_context(new_database(url)))
    began = time.perf_counter()
    load_rows(
        loaded.url,
        tracked(progress, islice(coming, rows), rows, f"loading {name}"),
        dimensions=size.dimensions,
        embedding_type=size.embedding_type,
    )
    load_s = time.perf_counter() - began
    memories = _bytes(loaded, "pgrecall.agent_memories")
    with _taking(loaded, progress, f"building the HNSW index of {name}") as hnsw:
        migrate.upgrade(loaded.url, embedding_index=True)
    hnsw_bytes = _bytes(loaded, "pgrecall.ix_agent_memories_embedding")
    migrate.upgrade(loaded.url, embedding_index=False)  # it would slow down writing
    # A new one each time: a client caches for some seconds when an index was built.
    with (
        repository(loaded.url) as repo,
        _taking(loaded, progress, f"building the rank index of {name}") as ranks,
    ):
        [index] = repo.rank_indexes.build(agent_id=AGENT, at_least=1)
    with repository(loaded.url) as repo:
        [status] = repo.rank_indexes.status(agent_id=AGENT)
    costs = Costs(
        load_s=round(load_s, 1),
        hnsw_s=round(hnsw.seconds, 1),
        build_s=round(ranks.seconds, 1),
        candidates=index.candidates,
        memories_mb=_mb(memories),
        hnsw_mb=_mb(hnsw_bytes),
        positions_mb=_mb(status.bytes),
        hnsw_peak_mb=_mb(hnsw.peak),
        hnsw_private_mb=_mb(hnsw.private),
        build_peak_mb=_mb(ranks.peak),
        build_private_mb=_mb(ranks.private),
    )
    return Owner(name, size, source, loaded, coming, costs)


def _stages(setting: Setting, searches: int) -> dict[str, Stage]:
    def grow(owner: Owner, progress: Progress) -> float:
        rows = tracked(progress, owner.coming, owner.source.total // 11, f"adding to {owner.name}")
        began = time.perf_counter()
        with psycopg.connect(owner.loaded.url) as connection:
            copy_rows(connection, rows, embedding_type=owner.source.embedding_type)
        vacuum(owner.loaded.url, "agent_memories", "memory_usage")
        return time.perf_counter() - began

    def use(owner: Owner, progress: Progress) -> float:
        questions = owner.source.questions(setting.rounds + searches)[setting.rounds :]
        began = time.perf_counter()
        with repository(owner.loaded.url) as repo:
            asked = tracked(progress, questions, searches, f"searching {owner.name}", stride=10)
            for question, profile in zip(asked, cycle(PROFILES), strict=False):
                repo.search(AGENT, question.vector, k=K, profile=profile, touch=True)
        return time.perf_counter() - began

    def maintain(owner: Owner, progress: Progress) -> float:
        with (
            repository(owner.loaded.url) as repo,
            _taking(owner.loaded, progress, f"maintaining {owner.name}") as taken,
        ):
            repo.rank_indexes.maintain(agent_id=AGENT)
        return taken.seconds

    return {
        "fresh": lambda *_: 0.0,
        "grown by a tenth": grow,
        f"after {searches:,} searches that count": use,
        "maintained": maintain,
    }


def _searched(
    owners: Sequence[Owner], setting: Setting, exact: int, progress: Progress
) -> list[Found]:
    """Exact search answers the first questions alone. The index answers all of them, all owners and
    profiles in the same rounds.
    """
    questions = {owner.name: owner.source.questions(setting.rounds) for owner in owners}
    with ExitStack() as stack:
        asked = {
            (owner.name, profile.name): Approaches(owner.loaded, stack).ours(
                Asked(AGENT, profile, {})
            )
            for owner in owners
            for profile in PROFILES
        }
        beside = {
            of: compared(approaches, questions[of[0]][:exact], progress, f"{of[0]} beside exact")
            for of, approaches in asked.items()
        }

        def asking(of: tuple[str, str]) -> Callable[[int], Hits]:
            return lambda number: asked[of][INDEX](questions[of[0]][number])

        contenders = {"/".join(of): asking(of) for of in asked}
        timings = measured(contenders, range(setting.rounds), setting.rounds, progress)
    return [
        Found(
            *of,
            median_ms=round(timings["/".join(of)].median * 1000, 3),
            p99_ms=round(timings["/".join(of)].p99 * 1000, 3),
            exact_ms=round(outcomes[EXACT].timing.median * 1000, 3),
            faster=round(outcomes[INDEX].faster, 3),
            recall=round(outcomes[INDEX].recall, 4),
            by_index=round(outcomes[INDEX].in_index, 4),
        )
        for of, outcomes in beside.items()
    ]


def _verdicts(
    part: Part, owners: Sequence[Owner], stages: Mapping[str, list[Found]]
) -> Iterator[Measurement]:
    """Of the fresh index, and of the worst later stage."""
    for profile in PROFILES:
        for of, among in _fresh_and_later(stages):
            found = [
                {one.owner: one for one in among[stage] if one.profile == profile.name}
                for stage in among
            ]
            what = f"{profile.name}, {of}"
            if part is Part.MILLION:
                large, small = (owner.name for owner in owners)
                median = max(one[large].median_ms / one[small].median_ms for one in found)
                p99 = max(one[large].p99_ms / one[small].p99_ms for one in found)
                yield Measurement(f"{what}: median, to the small owner's", median, "×", MEDIAN)
                yield Measurement(f"{what}: p99, to the small owner's", p99, "×", P99)
            for owner in owners:
                recall = min(one[owner.name].recall for one in found)
                yield Measurement(f"{what}: {owner.name}", recall, "recall", RECALL, at_least=True)
                if owner.size.faster is not None:
                    faster = min(one[owner.name].faster for one in found)
                    goal = owner.size.faster
                    yield Measurement(
                        f"{what}: {owner.name}", faster, "× exact", goal, at_least=True
                    )
    if part is Part.MILLION:
        yield Measurement(f"build, {owners[0].name}", owners[0].costs.build_s / 60, "min", BUILD)


def _fresh_and_later(
    stages: Mapping[str, list[Found]],
) -> Iterator[tuple[str, Mapping[str, list[Found]]]]:
    first, *later = stages
    yield first, {first: stages[first]}
    yield "worst later", {stage: stages[stage] for stage in later}


def _cost_table(owners: Sequence[Owner]) -> Table:
    table = Table(title="loading and building", title_justify="left", min_width=78)
    table.add_column("", ratio=1)
    for owner in owners:
        table.add_column(owner.name, justify="right")
    rows: dict[str, Callable[[Costs], float]] = {
        "loading, s": lambda costs: costs.load_s,
        "plain HNSW, s": lambda costs: costs.hnsw_s,
        "rank index, s": lambda costs: costs.build_s,
        "rank index / plain HNSW": lambda costs: costs.build_s / costs.hnsw_s,
        "candidates": lambda costs: costs.candidates,
        "agent_memories, MB": lambda costs: costs.memories_mb,
        "plain HNSW, MB": lambda costs: costs.hnsw_mb,
        "positions, MB": lambda costs: costs.positions_mb,
        "memory, building plain HNSW, MB": lambda costs: costs.hnsw_peak_mb,
        "private, building plain HNSW, MB": lambda costs: costs.hnsw_private_mb,
        "memory, building the rank index, MB": lambda costs: costs.build_peak_mb,
        "private, building the rank index, MB": lambda costs: costs.build_private_mb,
    }
    for name, of in rows.items():
        table.add_row(name, *(f"{of(owner.costs):,.1f}" for owner in owners))
    return table


def _search_table(title: str, found: Sequence[Found]) -> Table:
    table = Table(title=title, title_justify="left", min_width=78)
    table.add_column("", ratio=1)
    for name in (
        "median\nms",
        "p99\nms",
        "exact\nms",
        "times\nfaster",
        "recall@10",
        "by the\nindex",
    ):
        table.add_column(name, justify="right")
    for one in found:
        table.add_row(
            f"{one.owner}, {one.profile}",
            f"{one.median_ms:.2f}",
            f"{one.p99_ms:.2f}",
            f"{one.exact_ms:.1f}",
            f"{one.faster:.1f}",
            f"{one.recall:.3f}",
            f"{100 * one.by_index:.0f} %",
        )
    return table


@dataclass
class Taken:
    seconds: float = 0.0
    peak: int = 0
    """Bytes, as in Costs."""
    private: int = 0


@contextmanager
def _taking(loaded: Loaded, progress: Progress, what: str) -> Iterator[Taken]:
    """How long it takes, and the most memory that the server's processes have meanwhile."""
    taken, over, main = Taken(), threading.Event(), _main_process(loaded)

    def look() -> None:
        while True:
            peak, private = _memory(main)
            taken.peak = max(taken.peak, peak)
            taken.private = max(taken.private, private)
            if over.wait(PAUSE):
                return

    looking = threading.Thread(target=look, daemon=True)
    with index_builds(loaded.url, progress, what):
        looking.start()
        began = time.perf_counter()
        try:
            yield taken
        finally:
            taken.seconds = time.perf_counter() - began
            over.set()
            looking.join()


def _main_process(loaded: Loaded) -> psutil.Process:
    with psycopg.connect(loaded.url) as connection:
        [(folder,)] = connection.execute("SHOW data_directory").fetchall()
    pid = (Path(folder) / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0]
    return psutil.Process(int(pid))


def _memory(main: psutil.Process) -> tuple[int, int]:
    """Bytes of all processes: with what they share counted once, and without it."""
    total, private = 0, 0
    for process in [main, *main.children(recursive=True)]:
        try:
            memory = process.memory_full_info()
        except psutil.NoSuchProcess:  # a worker that has just ended
            continue
        total, private = total + memory.pss, private + memory.uss
    return total, private


def _bytes(loaded: Loaded, relation: str) -> int:
    with psycopg.connect(loaded.url) as connection:
        statement = "SELECT pg_total_relation_size(%s::regclass)"
        [(size,)] = connection.execute(statement, [relation]).fetchall()
        return int(size)


def _mb(size: int) -> float:
    return round(size / 1e6, 1)


def _name(rows: int, source: Memories) -> str:
    return f"{rows:,} × {source.dimensions:,} {source.embedding_type}"


if __name__ == "__main__":
    typer.run(main)
