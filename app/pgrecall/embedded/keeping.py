"""A server that runs until it is stopped, and what a server does."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pgrecall.embedded.postgres import POSTGRES_VERSION, postmaster
from pgrecall.embedded.sharing import (
    database,
    identity,
    lock_path,
    resolved,
    stay_path,
    stays,
    uses,
)
from pgrecall.errors import ServerInUse


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """An embedded server. Of one that does not run, `url` and `version` are None."""

    folder: Path
    url: str | None
    version: str | None
    stays: bool
    """True if it was started to run until it is stopped."""
    users: list[int]
    """The ids of other processes that use it."""
    connections: int
    bytes: int
    """The size of the folder."""


def start(directory: str | Path, *, postgres_version: int = POSTGRES_VERSION) -> ServerStatus:
    """Starts the server of a directory, to run until `stop`. Processes may use it by `database`.

    A server that is killed, or ends with the system, is not started again by itself. Raises what
    `database` raises.
    """
    with database(directory, postgres_version=postgres_version):
        data = resolved(directory)
        stay_path(data).write_text(identity(data), encoding="utf-8")
        return status(data)


def stop(directory: str | Path, *, force: bool = False) -> bool:
    """Stops the server of a directory; returns whether it ran.

    Raises ServerInUse if other processes use it or are connected, unless `force` ends their
    connections.
    """
    data = resolved(directory)
    server = status(data)
    if server.version is None:
        stay_path(data).unlink(missing_ok=True)
        return False
    if not force and (server.users or server.connections):
        processes = f"processes {', '.join(map(str, server.users))}; " if server.users else ""
        connections = "connection" if server.connections == 1 else "connections"
        raise ServerInUse(
            f"the server in {data} is in use: {processes}{server.connections} {connections}. End "
            "them first, or force it to stop"
        )
    with database(data, postgres_version=int(server.version.partition(".")[0])):
        stay_path(data).unlink(missing_ok=True)
        if force:
            uses[data].server.stop()
    return True


def status(directory: str | Path) -> ServerStatus:
    """The status of the server of a directory. Starts nothing. Raises ExtraMissing."""
    data = resolved(directory)
    process = postmaster(data)
    url = None if process is None else process.get_uri()
    version, connections = None, 0
    if url is not None:
        import psycopg

        try:
            with psycopg.connect(url) as connection:
                version, connections = connection.execute(_ACTIVITY).fetchone() or (None, 0)
        except psycopg.OperationalError:  # it has just stopped, or been killed
            url = None
    return ServerStatus(data, url, version, stays(data), _users(data), connections, _size(data))


_ACTIVITY = """
    SELECT split_part(current_setting('server_version'), ' ', 1), count(*)
      FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


def _users(data: Path) -> list[int]:
    """Other processes that hold the lock of users."""
    import psutil

    lock = str(lock_path(data, "users"))
    return sorted(
        process.pid
        for process in psutil.process_iter(["open_files"])
        if process.pid != os.getpid()
        and any(file.path == lock for file in process.info["open_files"] or ())
    )


def _size(data: Path) -> int:
    total = 0
    for file in data.rglob("*"):
        with suppress(FileNotFoundError):  # the server removes files meanwhile
            total += file.lstat().st_size
    return total
