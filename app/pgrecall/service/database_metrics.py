"""Metrics of the database for Prometheus."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from pgrecall.core.time_limit import within
from pgrecall.execution import AsyncMemoryRepository
from pgrecall.lifecycle.health import KINDS, Health

KEPT_SECONDS = 60.0
"""Reading is cheap, but Prometheus may ask several workers every few seconds."""
MOST_SECONDS = 8.0
"""Prometheus itself waits 10 seconds."""
_log = logging.getLogger(__name__)


class DatabaseMetrics:
    """The health of the database, read at most once a minute."""

    def __init__(self, repo: AsyncMemoryRepository) -> None:
        self._repo = repo
        self._lock = asyncio.Lock()
        self._read_at = -KEPT_SECONDS
        self._families: list[Metric] = []

    async def collected(self) -> Families:
        """The metrics. Where the database does not answer, only that."""
        async with self._lock:
            if time.monotonic() - self._read_at >= KEPT_SECONDS:
                try:
                    self._families = list(
                        _families(await within(MOST_SECONDS, self._repo.upkeep.health()))
                    )
                except Exception as error:
                    _log.warning("the health of the database is unknown: %s", type(error).__name__)
                    return Families([_gauge("database_up", "Whether the database answers.", 0)])
                self._read_at = time.monotonic()
            return Families(self._families)


@dataclass(frozen=True, slots=True)
class Families:
    """Metrics, in place of a registry of prometheus_client."""

    families: list[Metric]

    def collect(self) -> list[Metric]:
        return self.families


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"pgrecall_{name}", text, value=value)


def _labelled(name: str, text: str, label: str, values: Iterable[tuple[str, float]]) -> Metric:
    family = GaugeMetricFamily(f"pgrecall_{name}", text, labels=[label])
    for labelled, value in values:
        family.add_metric([labelled], value)
    return family


def _families(health: Health) -> Iterable[Metric]:
    yield _gauge("database_up", "Whether the database answers.", 1)
    found = Counter(one.problem for one in health.problems)
    counted = [(kind, found[kind]) for kind in KINDS]
    yield _labelled("problems", "What needs doing; pgrecall status says more.", "problem", counted)
    tables = {one.name: one for one in health.tables}
    for name, text in (
        ("live", "Live rows."),
        ("dead", "Rows that are waiting for a vacuum."),
        ("changed", "Rows changed since the table was analysed."),
    ):
        values = [(table, getattr(state, name)) for table, state in tables.items()]
        yield _labelled(f"table_{name}_rows", text, "table", values)
    sizes = [(table, state.bytes) for table, state in tables.items()]
    yield _labelled("table_bytes", "With indexes and TOAST.", "table", sizes)
    last = health.last_upkeep
    started = last.started_at.timestamp() if last else 0
    yield _gauge("last_upkeep_timestamp_seconds", "When the last upkeep began; 0: never.", started)
    yield _gauge("last_upkeep_duration_seconds", "Its time.", last.seconds if last else 0)
    tasks = last.tasks.items() if last else ()
    yield _labelled("last_upkeep_tasks", "Done by the last upkeep, or left.", "task", tasks)
