"""Settings of the service's workers."""

from __future__ import annotations

from dataclasses import dataclass, field

from pgrecall.schema import DEFAULT_SCHEMA


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """Settings that all workers share; plain values, since each worker is a process."""

    database_url: str = field(repr=False)
    keyed: bool
    """True if requests need a key. Without keys, every request may do everything."""
    run_key: str | None = field(default=None, repr=False)
    """A token that requests need though no key is stored, and that ends with this process."""
    schema: str = DEFAULT_SCHEMA
    role: str | None = None
    """The role that requests run as, if it is not the one that connects."""
    agent: str = "default"
    """The owner of requests that name none, unless their key is for one owner only."""
    max_body: int = 8 * 1024 * 1024
    """The most bytes of a body."""
    timeout: float = 30.0
    """Seconds for reading a body, and for answering it."""
    concurrency: int = 8
    """Requests that one worker answers at a time, each on a connection of its own."""
    key_seconds: float = 2.0
    """Seconds for which a key is cached, and for which a revoked one may still be used."""
