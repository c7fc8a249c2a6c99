"""Statistics after many memories were stored at once; autovacuum takes them a minute later."""

from __future__ import annotations

from typing import Final

from pgrecall.core.statement import Statement
from pgrecall.core.steps import ALONE, Afterwards, Operation, Run, needs
from pgrecall.schema import Tables
from pgrecall.schema.verbs import call

MANY: Final = 1_000
"""Memories of one call, or of one import."""
_COUNT: Final = Run(Statement("SELECT pg_stat_force_next_flush()"))
"""The server counts what a transaction changed at its end, not up to a minute later, which would
make statistics old that know it already."""


def analysed_after(tables: Tables, added: int) -> Operation[None]:
    """Once this call is committed, takes statistics of tables that have grown, if it added many."""
    if added >= MANY:
        yield _COUNT
        yield Afterwards(_analyse_grown)


@needs(ALONE)
def _analyse_grown(tables: Tables) -> Operation[None]:
    yield call(tables, "_analyse_grown")
