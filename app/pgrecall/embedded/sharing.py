"""A server for all processes that use its folder; the last one stops it."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pgrecall.core.quoting import path_of
from pgrecall.embedded.postgres import (
    CONFIGURATION,
    POSTGRES_VERSION,
    address,
    await_end_of_killed,
    initialise,
    pgserver,
    postmaster,
    require_data_of,
    require_version,
    start_server,
)
from pgrecall.errors import DatabaseUnavailable

_WAITS = 'read -r left || { while kill -0 "$0" 2>/dev/null; do sleep 1; done; exec "$@"; }'
"""Reading fails once nobody has the other end of the pipe: this process, or a child it forked. A
process that became a daemon may have closed it, and lives on."""


class Watcher:
    """A shell that waits for the end of this process, and then calls Python.

    It takes a megabyte and no time, and leaves signals and threads of this process alone. In a
    session of its own, it does not get what a terminal sends to this one. Without /bin/sh, as on
    Windows, nothing watches.
    """

    def __init__(self, code: str, *arguments: str) -> None:
        self._watched = os.getpid()
        self._shell: subprocess.Popen[bytes] | None = None
        program = (sys.executable, "-P", "-c", code, *arguments)
        search_path = os.pathsep.join(folder for folder in sys.path if folder)
        with suppress(OSError):
            self._shell = subprocess.Popen(  # noqa: S603  no argument comes from a caller
                ("/bin/sh", "-c", _WAITS, str(self._watched), *program),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,  # or who reads our output would wait for its end, too
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": search_path},
                cwd="/",
                start_new_session=True,
            )

    def dismiss(self) -> None:
        """Ends it: nothing has to be done any more. A forked child cannot say so."""
        if self._shell is not None and os.getpid() == self._watched:
            self._shell.communicate(b"left\n")


class Database(AbstractContextManager[str]):
    """An embedded server. `with` and `start` return its URL."""

    def __init__(self, directory: Path | None, postgres_version: int) -> None:
        self._use = _database(directory, postgres_version)

    def start(self) -> str:
        """Starts the server until this process ends. Returns a URL for SQLAlchemy and psycopg."""
        url = self.__enter__()
        atexit.register(self._use.__exit__, None, None, None)
        return url.replace("postgresql:", "postgresql+psycopg:", 1)

    def __enter__(self) -> str:
        return self._use.__enter__()

    def __exit__(self, *error: Any) -> bool | None:
        return self._use.__exit__(*error)


def database(
    directory: str | Path | None = None, *, postgres_version: int = POSTGRES_VERSION
) -> Database:
    """An embedded server, which stops when its last user leaves.

    Use `with embedded.database() as url:`, or `url = embedded.database().start()` to run it until
    the process ends. With a directory, the data stays there, and several processes can use the
    server at once; without one, the data is deleted at the end. A process that is killed counts as
    having left. The server listens on a local socket only; on Windows on a port of 127.0.0.1, which
    every local user can connect to.

    Raises InputError for a bad directory or version, ExtraMissing without the extra `local`, and
    DatabaseUnavailable if the server cannot start.
    """
    return Database(None if directory is None else path_of(directory), postgres_version)


@contextmanager
def _database(directory: Path | None, postgres_version: int) -> Iterator[str]:
    if directory is None:
        folder = Path(tempfile.mkdtemp(prefix="pgrecall-")).resolve()  # a symlink on macOS
        try:
            with _used(folder / "data", postgres_version, folder) as url:
                yield url
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    else:
        with _used(resolved(directory), postgres_version) as url:
            yield url


def resolved(directory: str | Path) -> Path:
    """The folder, however it is written."""
    return path_of(directory).expanduser().resolve()


@dataclass
class _Use:
    """The use of a server by this process."""

    users: int = 0
    server: Any = None
    lock: Any = None
    watcher: Watcher | None = None
    guard: threading.Lock = field(default_factory=threading.Lock)


uses: dict[Path, _Use] = {}
_uses_guard = threading.Lock()


@contextmanager
def _used(data: Path, postgres_version: int, temporary: Path | None = None) -> Iterator[str]:
    with _uses_guard:
        use = uses.setdefault(data, _Use())
    with use.guard:
        require_version(postgres_version)
        if use.users == 0:
            _join(use, data, postgres_version, temporary)
        else:
            require_data_of(data, postgres_version)
        use.users += 1
    try:
        yield use.server.get_uri()
    finally:
        with use.guard:
            use.users -= 1
            if use.users == 0:
                _leave(use, data)


def _join(use: _Use, data: Path, postgres_version: int, temporary: Path | None) -> None:
    """Starts the server if needed, under a shared lock that the system releases on any exit."""
    import fasteners

    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseUnavailable(f"{data} cannot hold an embedded database: {error}") from error
    use.lock = fasteners.InterProcessReaderWriterLock(lock_path(data, "users"))
    use.lock.acquire_read_lock()
    use.watcher = Watcher(
        f"import sys; from {__name__} import leave_for_killed; leave_for_killed(*sys.argv[1:])",
        *(str(data), str(postgres_version), str(temporary or "")),
    )
    try:
        with fasteners.InterProcessLock(lock_path(data, "start")):
            require_data_of(data, postgres_version)
            use.server = pgserver().PostgresServer(address(data), postgres_version=postgres_version)
            fresh = not (data / "PG_VERSION").exists()
            initialise(use.server)
            if fresh:
                with (data / "postgresql.conf").open("a", encoding="utf-8") as file:
                    file.write(CONFIGURATION)
            await_end_of_killed(data)
            start_server(use.server)
    except Exception as error:
        use.lock.release_read_lock()
        use.watcher.dismiss()
        if isinstance(error, DatabaseUnavailable):
            raise
        log = data / "log"  # there is none if initdb failed
        hint = f"; see its log {log}" if log.exists() else "; initdb's own message was logged"
        raise DatabaseUnavailable(
            f"the embedded PostgreSQL in {data} did not start: {error}{hint}"
        ) from error


def leave_for_killed(data: str, postgres_version: str, temporary: str) -> None:
    """Stops the server, unless others use it, in place of a process that was killed."""
    import fasteners

    folder = Path(data)
    process = postmaster(folder)
    if temporary:
        _destroy(Path(temporary), address(folder), process)
    elif process is not None:
        server = pgserver().PostgresServer(address(folder), postgres_version=int(postgres_version))
        start_server(server)  # finds the one that runs
        lock = fasteners.InterProcessReaderWriterLock(lock_path(folder, "users"))
        _stop_unless_used(_Use(server=server, lock=lock), folder)


def _destroy(folder: Path, link: Path, process: Any) -> None:
    """Ends a server whose data no process needs, without writing what is in its memory."""
    if link.is_symlink():
        link.unlink()
    gone = folder.rename(folder.with_name(f"{folder.name}-gone"))
    if process is not None:
        process.process.send_signal(signal.SIGQUIT)
        process.process.wait(timeout=60)
    shutil.rmtree(gone, ignore_errors=True)


def _leave(use: _Use, data: Path) -> None:
    use.lock.release_read_lock()
    _stop_unless_used(use, data)
    if use.watcher is not None:
        use.watcher.dismiss()


def _stop_unless_used(use: _Use, data: Path) -> None:
    if use.lock.acquire_write_lock(blocking=False):  # no other process uses the server
        import psutil

        try:
            if stays(data):
                return
            with _uses_guard, suppress(psutil.NoSuchProcess):  # pgserver's lock is not for threads
                if (data / "postmaster.pid").exists():  # else it was stopped by force
                    use.server.stop()
            if use.server.pgdata.is_symlink():
                use.server.pgdata.unlink()
        finally:
            use.lock.release_write_lock()
    else:
        use.lock.lockfile.close()  # fasteners leaves it open


def lock_path(data: Path, name: str) -> Path:
    """The file of a lock: that of the users, who share it, or of the one who starts the server."""
    return data.parent / f".{data.name}.{name}.lock"


def stay_path(data: Path) -> Path:
    """The file with the identity of a run that stays."""
    return data.parent / f".{data.name}.stays"


def stays(data: Path) -> bool:
    """True if the running server is the one that was started to stay."""
    try:
        return stay_path(data).read_text(encoding="utf-8") == identity(data)
    except OSError:
        return False


def identity(data: Path) -> str:
    """The identity of this run of a server: its process and when that started."""
    lines = (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    return f"{lines[0]} {lines[2]}"
