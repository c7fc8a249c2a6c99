"""Approaches: exact, the rank index, and what peers do, each on a connection that stays open."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from sqlalchemy import Engine, create_engine

from benchmarks.index.asking import Approach, Asked, searching, with_candidates
from benchmarks.index.databases import Loaded
from benchmarks.index.peers import Peer, session_settings
from pgrecall import MemoryRepository

EXACT, INDEX = "exact", "rank index"
NEAREST = (50, 200, 1_000)
ITERATIVE = 200
CURVE = (25, 50, 100, 200)
"""Candidates that the rank index is measured with beside its own number, for the plot."""

PEERS = {f"{nearest:,} nearest, re-ranked": nearest for nearest in NEAREST}
ITERATIVE_SCAN = f"{ITERATIVE:,} nearest, iterative scan"
OF_CURVE = {f"{INDEX}, {number} candidates": number for number in CURVE}


class Approaches:
    """To one database."""

    def __init__(self, loaded: Loaded, stack: ExitStack) -> None:
        self._loaded = loaded
        self._repo = MemoryRepository(_engine(loaded, stack))
        settings = {name: (n, session_settings(n, iterative=False)) for name, n in PEERS.items()}
        settings[ITERATIVE_SCAN] = (ITERATIVE, session_settings(ITERATIVE, iterative=True))
        self._peers = {
            name: (n, _engine(loaded, stack, options=options))
            for name, (n, options) in settings.items()
        }

    def ours(self, asked: Asked, *, curve: bool = False) -> dict[str, Approach]:
        """Exact and through the index; with other numbers of candidates too for a curve."""
        index = searching(self._repo, asked, "auto")
        return {
            EXACT: searching(self._repo, asked, "exact"),
            INDEX: index,
            **{
                name: with_candidates(number, index)
                for name, number in (OF_CURVE if curve else {}).items()
            },
        }

    def all(self, asked: Asked, *, curve: bool = False) -> dict[str, Approach]:
        """And the peers'."""
        return {
            **self.ours(asked, curve=curve),
            **{name: self._peer(name, asked) for name in self._peers},
        }

    def iterative(self, asked: Asked) -> dict[str, Approach]:
        """And only the peers' scan that goes on until enough rows pass the filters."""
        return {**self.ours(asked), ITERATIVE_SCAN: self._peer(ITERATIVE_SCAN, asked)}

    def _peer(self, name: str, asked: Asked) -> Peer:
        nearest, engine = self._peers[name]
        source = self._loaded.source
        return Peer(engine, source.dimensions, source.embedding_type, asked, nearest)


def _engine(loaded: Loaded, stack: ExitStack, **arguments: Any) -> Engine:
    made = create_engine(loaded.engine_url, pool_size=1, max_overflow=0, connect_args=arguments)
    stack.callback(made.dispose)
    return made
