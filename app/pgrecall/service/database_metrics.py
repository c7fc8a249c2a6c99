"""Metrics of the database for Prometheus."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import prometheus_client as prometheus
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.responses import Response

from pgrecall.core.time_limit import within
from pgrecall.execution import AsyncMemoryRepository
from pgrecall.lifecycle.health import KINDS, Health
from pgrecall.lifecycle.maintenance import TASKS

KEPT_SECONDS = 600.0
"""Counts of memories are among what is read, and each worker reads them."""
MOST_SECONDS = 5.0
"""Prometheus itself waits 10 seconds."""
_log = logging.getLogger(__name__)


class DatabaseMetrics:
    """The health of the database, read every ten minutes."""

    def __init__(self, repo: AsyncMemoryRepository) -> None:
        self._repo = repo
        self._lock = asyncio.Lock()
        self._read_at = -KEPT_SECONDS
        self._known = False
        self._families: list[Metric] = []

    async def collected(self) -> Families:
        """The metrics; those of the last time where the health cannot be read."""
        async with self._lock:
            if time.monotonic() - self._read_at >= KEPT_SECONDS:
                self._read_at = time.monotonic()
                try:
                    health = await within(MOST_SECONDS, self._repo.maintenance.health())
                    self._families = list(_families(health))
                    self._known = True
                except Exception as error:
                    _log.warning("the health of the database is unknown: %s", type(error).__name__)
                    self._known = False
            up = await self._answers()
        told = [
            _gauge("database_up", "Whether the database answers.", up),
            _gauge("health_known", "Whether the health of the database was read.", self._known),
        ]
        return Families(told + self._families)

    async def _answers(self) -> bool:
        try:
            await within(MOST_SECONDS / 2, self._repo.get("pgrecall", UUID(int=0)))
        except Exception:
            return False
        return True


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
    if found["row security"]:
        return  # it is not shown who did what
    last = health.last_maintenance
    started = last.started_at.timestamp() if last else 0
    yield _gauge(
        "last_maintenance_timestamp_seconds", "When the last maintenance began; 0: never.", started
    )
    yield _gauge("last_maintenance_duration_seconds", "Its time.", last.seconds if last else 0)
    known = {*TASKS, "left"}
    tasks = ((name, number) for name, number in last.tasks.items() if name in known) if last else ()
    yield _labelled(
        "last_maintenance_tasks", "Done by the last maintenance, or left.", "task", tasks
    )


REQUESTS = prometheus.Histogram(
    "pgrecall_request_seconds",
    "Time from the end of a request's body to the end of its answer, waiting included.",
    ("method", "route", "status"),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
REFUSED = prometheus.Counter(
    "pgrecall_refused_requests", "Requests that no route answered, by status.", ("reason",)
)
RUNNING, WAITING = (
    prometheus.Gauge(f"pgrecall_{what}_requests", f"Requests {what}.", multiprocess_mode="livesum")
    for what in ("running", "waiting")
)


def exposed(of_database: Families) -> Response:
    """The metrics of requests, with several workers those of all of them; and of the database."""
    registry = prometheus.REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = prometheus.CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    content = prometheus.generate_latest(registry) + prometheus.generate_latest(of_database)
    return Response(content, media_type=prometheus.CONTENT_TYPE_LATEST)
