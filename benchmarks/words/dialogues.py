"""What it costs to look at the turns around the hits, beside the search without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import numpy as np
from rich.progress import Progress
from sqlalchemy import create_engine, text

from benchmarks.contenders import K
from benchmarks.index.setting import AGENT, Setting
from benchmarks.measurement import Measurement
from benchmarks.measuring import measured as timed
from benchmarks.words.texts import WORDS, asked_words, drawn_words
from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.migrate.connecting import database_url
from pgrecall.ranking.arguments import SearchArguments

ROWS, TURNS, DIMENSIONS, GOAL = 50_000, 30, 384, 1.6
BATCH = 10_000
WAYS: Mapping[str, SearchArguments] = {
    "search": {},
    "expand_session=2": {"expand_session": 2},
}


def measured(url: str, setting: Setting, progress: Progress) -> list[Measurement]:
    """Searches by hybrid in 50,000 turns of sessions of 30, exact and through a rank index."""
    migrate.upgrade(url, dimensions=DIMENSIONS)
    engine = create_engine(database_url(url))
    repo = MemoryRepository(engine)
    turns = list(_turns(setting))
    for start in progress.track(range(0, len(turns), BATCH), description="storing turns"):
        repo.add_many(AGENT, turns[start : start + BATCH], duplicates="allow")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))
    random = np.random.default_rng(setting.seed + 1)
    questions = [
        (random.standard_normal(DIMENSIONS).tolist(), " ".join(asked_words(random)))
        for _ in range(setting.rounds)
    ]
    found: list[Measurement] = []
    for strategy in ("exact", "index"):
        if strategy == "index":
            repo.rank_indexes.build(agent_id=AGENT, at_least=1)
        how: Any = {"k": K, "strategy": strategy, "touch": False, "as_of": setting.now}
        contenders = {
            way: lambda asked, more=more, how=how: repo.search(
                AGENT, asked[0], query_text=asked[1], **how, **more
            )
            for way, more in WAYS.items()
        }
        times = timed(contenders, questions, setting.rounds, progress, what=strategy)
        usual = times["search"]
        found.append(Measurement(f"{strategy}: search", usual.median * 1000, "ms"))
        found += [
            Measurement(f"{strategy}: {way}", times[way].over(usual), "×", GOAL)
            for way in WAYS
            if way != "search"
        ]
    engine.dispose()
    return found


def _turns(setting: Setting) -> Iterator[NewMemory]:
    random = np.random.default_rng(setting.seed)
    for number in range(setting.rows(ROWS)):
        session, turn = divmod(number, TURNS)
        yield NewMemory(
            " ".join(drawn_words(random, WORDS)),
            embedding=random.standard_normal(DIMENSIONS).tolist(),
            created_at=setting.now - timedelta(minutes=ROWS - number),
            session=f"session {session}",
            turn=turn,
        )
