"""The embedded server, with real processes that come, go and are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import psutil
import psycopg
import pytest

from pgrecall import embedded
from pgrecall.embedded import postgres
from pgrecall.errors import DatabaseUnavailable, InputError, ServerInUse

DEADLINE_SECONDS = 30.0

USER = """
import sys
from pgrecall import embedded
with embedded.database(sys.argv[1] or None) as url:
    print(url, flush=True)
    sys.stdin.readline()
"""
"""Says so when it has the server, and leaves when told."""


class User:
    """A process that uses the embedded server of a directory, or one of its own."""

    def __init__(self, directory: Path | None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(directory or "")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )

    def has_url(self) -> str:
        assert self.process.stdout is not None
        url = self.process.stdout.readline().strip()
        assert url, self.process.communicate()[1]
        return url

    def has_open(self, name: str) -> bool:
        return any(
            Path(file.path).name == name for file in psutil.Process(self.process.pid).open_files()
        )

    def leaves(self) -> None:
        _, trouble = self.process.communicate("leave\n", timeout=DEADLINE_SECONDS)
        assert self.process.returncode == 0, trouble

    def watchers(self) -> list[psutil.Process]:
        found: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            found += psutil.Process(self.process.pid).children()
        return found

    def is_killed(self, by: int = signal.SIGKILL) -> None:
        """With all of its group, as by a terminal. Returns when its watchers have ended, too."""
        watchers = self.watchers()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, by)
        self.process.communicate(timeout=DEADLINE_SECONDS)
        assert psutil.wait_procs(watchers, timeout=DEADLINE_SECONDS)[1] == []


@pytest.fixture
def start() -> Iterator[Callable[[Path | None], User]]:
    with ExitStack() as stack:

        def started(directory: Path | None) -> User:
            user = User(directory)
            stack.callback(user.is_killed)
            return user

        yield started


@pytest.fixture(scope="module")
def initialised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data of a server that has run once, to be copied."""
    directory = tmp_path_factory.mktemp("initialised") / "data"
    with embedded.database(directory) as url:
        answer(url, "SELECT 1")
    with (directory / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write("fsync = off\n")
    return directory


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Path]:
    """A directory that does not exist yet; no server is left in it, whatever the test did."""
    directory = tmp_path / "data"
    yield directory
    if is_running(directory):
        os.kill(postmaster(directory), signal.SIGKILL)


@pytest.fixture
def directory(fresh: Path, initialised: Path) -> Path:
    """A directory with data of a server that has run before."""
    subprocess.run(["cp", "-a", initialised, fresh], check=True)
    return fresh


def postmaster(directory: Path) -> int:
    return int((directory / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])


def is_running(directory: Path) -> bool:
    return (directory / "postmaster.pid").exists() and is_alive(postmaster(directory))


def is_alive(pid: int) -> bool:
    """A dead process that nobody has asked for yet is dead."""
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, encoding="utf-8"
    ).stdout.strip()
    return bool(state) and not state.startswith("Z")


def wait_until_dead(pids: list[int]) -> None:
    wait_for(lambda: not any(map(is_alive, pids)))


def wait_for(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not done():
        assert time.monotonic() < deadline, f"not within {DEADLINE_SECONDS:g} s"
        time.sleep(0.01)


def answer(url: str, query: str = "SELECT 1") -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def data_directory(url: str) -> Path:
    return Path(str(answer(url, "SHOW data_directory")))


def test_temporary_databases_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the version asked for, and one in a folder with a space and by a locale that is not
    installed, which comes along by ssh, left by an error."""
    directories: list[Path] = []
    folder = tmp_path / "my tmp"
    folder.mkdir()

    def raise_inside() -> None:
        with embedded.database() as url:
            directories.append(data_directory(url))
            assert answer(url, "SHOW server_encoding") == "UTF8"
            raise ZeroDivisionError

    with embedded.database(postgres_version=16) as url:
        directories.append(data_directory(url))
        server = postmaster(directories[0])
        assert str(answer(url, "SHOW server_version_num"))[:2] == "16"
        assert answer(
            url, "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
        )
        assert answer(url, "SHOW shared_buffers") == "256MB"
        assert answer(url, "SHOW server_encoding") == "UTF8"
        assert answer(url, "SHOW listen_addresses") == ""
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        monkeypatch.setenv("LC_ALL", "xx_YY.UTF-8")
        with pytest.raises(ZeroDivisionError):
            raise_inside()
        assert is_alive(server), "another one was left"

    assert not is_alive(server)
    assert len(set(directories)) == 2
    assert not any(one.exists() for one in (*directories, directories[0].parent))
    assert directories[1].is_relative_to("/tmp")
    assert list(folder.iterdir()) == []
    assert os.environ["LC_ALL"] == "xx_YY.UTF-8"
    assert (embedded.binaries(16) / "psql").exists()


def fails(directory: Path, version: int = embedded.POSTGRES_VERSION) -> None:
    """For within `pytest.raises`."""
    with embedded.database(directory, postgres_version=version):
        pytest.fail("there is a server")


def test_a_version_that_is_not_there(tmp_path: Path) -> None:
    for version in (15, 17, 0):
        message = rf"no embedded PostgreSQL {version}; the versions are 16, 18"
        with pytest.raises(InputError, match=message):
            fails(tmp_path / "data", version)
        with pytest.raises(InputError, match=message):
            embedded.binaries(version)

    assert list(tmp_path.iterdir()) == []


def test_data_of_another_version(directory: Path) -> None:
    message = "PostgreSQL 18, not 16: pass postgres_version=18"
    with pytest.raises(DatabaseUnavailable, match=message):
        fails(directory, 16)
    with embedded.database(directory), pytest.raises(DatabaseUnavailable, match=message):
        fails(directory, 16)


def test_nested_uses_share_one_server_however_the_directory_is_written(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(directory.parent)
    monkeypatch.setenv("HOME", str(directory.parent))
    with embedded.database(directory) as outer:
        with psycopg.connect(outer, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        with embedded.database("data") as relative, embedded.database("~/data") as from_home:
            assert relative == from_home == outer
        assert answer(outer) == 1, "the inner ones left"
    assert not is_running(directory)

    with embedded.database(str(directory)) as again:
        assert answer(again, "SELECT answer FROM kept") == 42, "data stays"
    assert not is_running(directory)


def test_the_server_stays_until_the_last_process_leaves(
    directory: Path, start: Callable[[Path | None], User]
) -> None:
    """One that is killed counts as gone."""
    first = start(directory)
    url = first.has_url()
    server = postmaster(directory)
    killed, last = start(directory), start(directory)
    assert killed.has_url() == last.has_url() == url

    first.leaves()
    assert answer(url) == 1
    assert postmaster(directory) == server
    with embedded.database(directory) as here:
        assert here == url
    assert answer(url) == 1, "other processes are still there"
    killed.is_killed()
    assert answer(url) == 1

    last.leaves()
    assert not is_alive(server)


def test_processes_and_threads_that_start_at_the_same_moment(
    fresh: Path, start: Callable[[Path | None], User]
) -> None:
    users = [start(fresh) for _ in range(2)]
    together = Barrier(2)

    def use(_: int) -> object:
        together.wait(timeout=30)
        with embedded.database(fresh) as url:
            return answer(url)

    with ThreadPoolExecutor(2) as threads:
        assert [*threads.map(use, range(2))] == [1, 1]
    urls = {user.has_url() for user in users}

    assert len(urls) == 1
    assert answer(urls.pop()) == 1
    assert (fresh / "postgresql.conf").read_text(encoding="utf-8").count("'256MB'") == 2
    for user in users:
        user.leaves()
    assert not is_running(fresh)


HALF_MADE = """
import sys
from pathlib import Path
import fasteners
from pgrecall.embedded.sharing import lock_path
data = Path(sys.argv[1])
with fasteners.InterProcessLock(lock_path(data, "start")):
    data.mkdir()
    (data / "PG_VERSION").touch()
    print("half", flush=True)
    sys.stdin.readline()
    (data / "PG_VERSION").unlink()
"""
"""What another process does while initdb runs, which fails in the end."""


def test_the_version_of_data_that_another_process_is_making_is_not_read(
    fresh: Path, start: Callable[[Path | None], User]
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HALF_MADE, str(fresh)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as maker:
        assert maker.stdout is not None
        assert maker.stdout.readline() == "half\n"
        user = start(fresh)
        wait_for(lambda: user.process.poll() is not None or user.has_open(".data.start.lock"))
        maker.communicate("done\n", timeout=DEADLINE_SECONDS)

    assert answer(user.has_url()) == 1


def test_a_server_that_is_still_starting_is_waited_for(
    directory: Path, start: Callable[[Path | None], User], monkeypatch: pytest.MonkeyPatch
) -> None:
    user = start(directory)
    url = user.has_url()
    file = directory / "postmaster.pid"
    ready = file.read_text(encoding="utf-8")
    for starting in (ready.replace("ready   ", "starting"), ready[: len(ready) // 2]):
        file.write_text(starting, encoding="utf-8")
        waited: list[float] = []

        def becomes_ready(seconds: float, waited: list[float] = waited) -> None:
            waited.append(seconds)
            file.write_text(ready, encoding="utf-8")

        monkeypatch.setattr(postgres, "sleep", becomes_ready)
        with embedded.database(directory) as here:
            assert (here, answer(here), len(waited)) == (url, 1, 1)


def test_threads_stop_servers_at_the_same_moment(initialised: Path, tmp_path: Path) -> None:
    together = Barrier(2)

    def use(name: str) -> Path:
        directory = tmp_path / name
        subprocess.run(["cp", "-a", initialised, directory], check=True)
        with embedded.database(directory):
            together.wait(timeout=DEADLINE_SECONDS)
        return directory

    with ThreadPoolExecutor(2) as threads:
        assert not any(map(is_running, threads.map(use, ("one", "two"))))


@pytest.mark.skipif(os.name != "posix", reason="nothing watches without /bin/sh")
def test_a_killed_process_leaves_no_server_that_nobody_uses(
    directory: Path, start: Callable[[Path | None], User]
) -> None:
    first, second, alone = start(directory), start(directory), start(None)
    assert first.has_url() == second.has_url()
    server, temporary = postmaster(directory), data_directory(alone.has_url())
    of_temporary = postmaster(temporary)

    first.is_killed(signal.SIGTERM)
    assert is_alive(server), "another one uses it"
    with ThreadPoolExecutor(2) as threads:
        ends = (second, signal.SIGTERM), (alone, signal.SIGKILL)
        list(threads.map(lambda end: end[0].is_killed(end[1]), ends))

    assert not is_alive(server)
    assert not is_alive(of_temporary)
    assert not temporary.parent.exists()


def test_a_server_left_by_a_process_that_was_killed_with_its_watcher_is_taken_over(
    directory: Path, start: Callable[[Path | None], User]
) -> None:
    killed = start(directory)
    url = killed.has_url()
    server = postmaster(directory)
    for watcher in killed.watchers():
        watcher.kill()
    killed.is_killed()

    with embedded.database(directory) as here:
        assert here == url
        assert postmaster(directory) == server

    assert not is_alive(server)


def kill_server(directory: Path, url: str) -> None:
    """And wait until what it had started has noticed."""
    family = [postmaster(directory)]
    with psycopg.connect(url, autocommit=True) as connection:
        family += [row[0] for row in connection.execute("SELECT pid FROM pg_stat_activity")]
    os.kill(family[0], signal.SIGKILL)
    wait_until_dead(family)


@pytest.mark.parametrize("name", ["a b's ü 100%41&b?c=d#e", "d" * 120])
def test_what_a_directory_may_be_called(name: str, initialised: Path) -> None:
    """`~/Library/Application Support` is where such data lies on macOS."""
    with tempfile.TemporaryDirectory(prefix="e", dir="/tmp") as short:  # room for a socket's path
        directory = Path(short) / name / "data"
        directory.parent.mkdir()
        subprocess.run(["cp", "-a", initialised, directory], check=True)
        with embedded.database(directory) as url:
            assert data_directory(url).samefile(directory)
            assert answer(url) == 1
        assert not is_running(directory)


def test_a_directory_with_something_else_in_it(fresh: Path, initialised: Path) -> None:
    fresh.mkdir()
    mine = fresh / "mine.txt"
    mine.write_text("mine", encoding="utf-8")

    for directory in (mine, mine / "data", fresh):
        with pytest.raises(DatabaseUnavailable, match="mine" if directory != fresh else "did not"):
            fails(directory)
        assert mine.read_text(encoding="utf-8") == "mine"
    for file in fresh.iterdir():
        file.unlink()
    subprocess.run(["cp", "-a", f"{initialised}/.", fresh], check=True)
    with embedded.database(fresh) as url:
        assert answer(url) == 1, "a failure is not remembered"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_that_leaves_does_not_stop_the_server(directory: Path) -> None:
    program = """
import os, sys
import psycopg
from pgrecall import embedded
with embedded.database(sys.argv[1]) as url:
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        with psycopg.connect(url) as connection:
            print(connection.execute("SELECT 1").fetchone()[0])
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(directory)],
        capture_output=True,
        encoding="utf-8",
        timeout=DEADLINE_SECONDS,
    )

    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert not is_running(directory)

    killed = program.replace("print(", "os.kill(os.getpid(), 9 + 0 * ")
    subprocess.run([sys.executable, "-c", killed, str(directory)], check=False)
    wait_for(lambda: not is_running(directory))


def test_a_server_that_was_started_stays_until_it_is_stopped(
    directory: Path, start: Callable[[Path | None], User], caplog: pytest.LogCaptureFixture
) -> None:
    started = embedded.start(directory)
    assert started.stays
    assert started.url is not None
    assert started.version == answer(started.url, "SHOW server_version")
    user = start(directory)
    assert user.has_url() == started.url
    assert embedded.status(directory).users == [user.process.pid]
    user.leaves()
    with embedded.database(directory):
        pass
    assert embedded.status(directory) == replace(started, bytes=embedded.status(directory).bytes)
    assert started.bytes > 2**20

    assert embedded.stop(directory)

    stopped = embedded.status(directory)
    assert (stopped.url, stopped.version, stopped.stays, stopped.users) == (None, None, False, [])
    assert not embedded.stop(directory)
    with embedded.database(directory):
        pass
    assert not is_running(directory), "as before"
    embedded.start(directory)
    assert embedded.stop(directory, force=True)
    assert caplog.messages == [], "pgserver reports a server that it cannot stop once more"


def test_a_server_in_use_is_not_stopped_unless_forced(
    directory: Path, start: Callable[[Path | None], User]
) -> None:
    url = embedded.start(directory).url
    assert url is not None
    with psycopg.connect(url) as connected:
        with pytest.raises(ServerInUse, match=r"is in use: 1 connection\."):
            embedded.stop(directory)
        user = start(directory)
        user.has_url()
        with pytest.raises(ServerInUse, match=rf"processes {user.process.pid}; 1 connection\."):
            embedded.stop(directory)
        assert connected.execute("SELECT 1").fetchone() == (1,)
        assert embedded.status(directory).stays

        assert embedded.stop(directory, force=True)

        with pytest.raises(psycopg.OperationalError):
            connected.execute("SELECT 1")
    assert not is_running(directory)
    user.leaves()


def test_a_killed_user_and_a_killed_server_leave_nothing_behind(
    directory: Path, start: Callable[[Path | None], User]
) -> None:
    assert embedded.start(directory).url is not None
    user = start(directory)
    user.has_url()
    user.is_killed()
    assert embedded.status(directory).users == []
    kill_server(directory, str(embedded.status(directory).url))

    killed = embedded.status(directory)
    assert (killed.url, killed.version, killed.users) == (None, None, [])
    with embedded.database(directory) as url:
        assert answer(url) == 1
        assert not embedded.status(directory).stays, "this is another run of the server"
    assert not is_running(directory)

    assert embedded.start(directory).stays
    assert embedded.stop(directory)
