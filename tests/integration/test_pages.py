"""Every code block of the README and of docs/ runs as it stands, and prints what is shown below it.

The README and the tutorial start from nothing. Each other page goes on from the end of the
tutorial, in a database of its own.
"""

from __future__ import annotations

import doctest
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from packaging.requirements import Requirement
from sqlalchemy import create_engine, make_url

from pgrecall import MemoryRepository, embedded, profiles
from pgrecall.cli.main import app
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.testing import hurry
from tests.integration.chat_endpoint import chat_endpoint
from tests.integration.serving import started, stop
from tests.integration.sources import GRACE, IBEX_HARNESS, LEARNINGS, RADAROS
from tests.node import skip_without_network, with_npm

ROOT = Path(__file__).parents[2]
TUTORIAL = "docs/tutorial.md"
FROM_NOTHING = ("README.md", TUTORIAL)
GO_ON = sorted(
    name
    for path in (*ROOT.glob("docs/**/*.md"), ROOT / "CONTRIBUTING.md")
    if (name := path.relative_to(ROOT).as_posix()) not in FROM_NOTHING
)
FENCE = re.compile(r'^```(\w*)(?: title="([^"\n]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PACKAGES = Path(__file__).parent / "typescript"
"""The packages of npm that pages install, at versions that were tried."""
PSQL = ("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1")

README = """
import json, subprocess, sys
from pgrecall import embedded

names = {}
for language, code in json.load(sys.stdin):
    if language == "python":
        exec(compile(code, "README.md", "exec"), names)
        print("\\x1e", flush=True)
    elif language == "sql":
        names["repo"]._bind.dispose()
        url = names["url"].replace("+psycopg", "")
        psql = [embedded.binaries() / "psql", "--no-psqlrc", "--set=ON_ERROR_STOP=1", url]
        subprocess.run(psql, input=code, text=True, check=True)
"""


@dataclass(frozen=True)
class Block:
    language: str
    title: str
    code: str
    shown: str | None = None
    """What is said to be printed."""


def blocks(name: str) -> list[Block]:
    """The blocks of a page; a text that follows is the output of the one before. One that follows
    none is a picture."""
    found: list[Block] = []
    for language, title, code in FENCE.findall((ROOT / name).read_text(encoding="utf-8")):
        if language == "text" and not found:
            continue
        if language == "text":
            last = found.pop()
            found.append(Block(last.language, last.title, last.code, code))
        else:
            found.append(Block(language, title, code))
    return found


@dataclass
class Reader:
    """Somebody who does what a page says."""

    folder: Path
    names: dict[str, Any] = field(default_factory=dict)
    services: list[tuple[subprocess.Popen[str], str]] = field(default_factory=list)
    """Services that were started, with their addresses."""

    @property
    def url(self) -> str:
        return str(self.names["url"]).replace("+psycopg", "")

    def read(self, name: str) -> None:
        for block in blocks(name):
            printed = getattr(self, block.language)(block)
            if block.shown is not None:
                assert_shown(block.shown, printed, block.code)

    def python(self, block: Block) -> str:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(block.code, "page", "exec", dont_inherit=True), self.names)
        return printed.getvalue()

    def sql(self, block: Block) -> str:
        return self._run([str(embedded.binaries() / "psql"), *PSQL, self.url], block.code)

    def toml(self, block: Block) -> str:
        path = self.folder / (block.title or "page.toml")
        path.parent.mkdir(exist_ok=True)
        path.write_text(block.code, encoding="utf-8")
        assert block.title or profiles.load(path) is not None
        return ""

    def json(self, block: Block) -> str:
        (self.folder / block.title).write_text(block.code, encoding="utf-8")
        return ""

    def ts(self, block: Block) -> str:
        code = block.code.replace("localhost:8080", self.services[-1][1])
        (self.folder / block.title).write_text(code, encoding="utf-8")
        return ""

    csv = json

    def sh(self, block: Block) -> str:
        return "".join(map(self.command, block.code.replace("\\\n", "").splitlines()))

    def command(self, line: str) -> str:
        words = shlex.split(line, comments=True)
        match words[:2]:
            case ["pip", "install"]:
                for word in words[2:]:
                    assert Requirement(word).extras <= EXTRAS, line
                return ""
            case ["npm" | "npx" | "node", *_]:
                return self._node(line.replace("localhost:8080", self.services[-1][1]))
            case ["make", *_]:
                return self._run(["make", "--dry-run", "--directory", str(ROOT), *words[1:]])
            case ["pgrecall" | ".venv/bin/pgrecall", "serve", *options]:
                self.services.append(started(*options))
                return ""
            case ["curl", *_]:
                line = line.replace("localhost:8080", self.services[-1][1])
                return self._run(["bash", "-euc", line.replace("curl ", "curl --fail ", 1)])
            case ["pgrecall", *_]:
                given, _, into = line.partition(" > ")
                printed = io.StringIO()
                with redirect_stdout(printed):
                    assert not app(self._arguments(given), standalone_mode=False), line
                if into:
                    (self.folder / into).write_text(printed.getvalue(), encoding="utf-8")
                return printed.getvalue()
        return self._run(["bash", "-euc", line])

    def _arguments(self, line: str) -> list[str]:
        """Of a command; ID stands for the id of a memory, and variables for their values."""
        words = shlex.split(os.path.expandvars(line), comments=True)[1:]
        return [self._id() if word == "ID" else word for word in words]

    def _id(self) -> str:
        with psycopg.connect(self.url) as connection:
            found = connection.execute("SELECT max(id::text) FROM pgrecall.agent_memories")
            return str(found.fetchone()[0])  # type: ignore[index]

    def _run(self, command: list[str], given: str = "") -> str:
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def _node(self, line: str) -> str:
        """Runs a command of Node.js. Packages have the versions of PACKAGES."""
        words = line.split()
        if words[:2] == ["npm", "install"]:
            there = (self.folder / "node_modules").exists()  # the first installed them all
            shutil.copytree(PACKAGES, self.folder, dirs_exist_ok=True)
            pinned = (PACKAGES / "package.json").read_text(encoding="utf-8")
            for word in words[2:]:
                assert word.startswith("--") or f'"{word}"' in pinned, line
            line = "true" if there else "npm ci --fetch-retries 0 --prefer-offline"
        path = f"{with_npm(self.folder)}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euc", line],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=os.environ | {"PATH": path},
            check=False,
        )
        if done.returncode:
            skip_without_network(done.stderr)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout

    def stop_services(self) -> None:
        while self.services:
            stop(self.services.pop()[0])


def assert_shown(shown: str, printed: str, code: str) -> None:
    assert doctest.OutputChecker().check_output(shown, printed, FLAGS), f"{code}\n{printed}"


OVER_HTTP = re.compile(r"pgrecall serve|^curl", re.MULTILINE)
"""Of the README's blocks, those that a test of their own runs."""
EXTRAS = set(
    tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
)
SOURCES = {
    "docs/migrating/grace.md": GRACE,
    "docs/migrating/ibex-harness.md": "CREATE SCHEMA ibex_core; "
    f"SET search_path = ibex_core, public; {IBEX_HARNESS}",
    "docs/migrating/radaros.md": RADAROS + LEARNINGS,
}
"""The empty tables of systems that the reader of a page comes from."""
EMBEDDER = LocalEmbedder()
_numbers = count()


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A short name: a server's socket lies in it."""
    with tempfile.TemporaryDirectory(prefix="pages-") as name:
        Path(name).chmod(0o755)  # as root, the server runs as another user
        (Path(name) / "sql").symlink_to(ROOT / "sql")
        yield Path(name)


@pytest.fixture(scope="module")
def tutorial(folder: Path) -> Reader:
    """A reader at the end of the tutorial."""
    reader = Reader(folder)
    with pytest.MonkeyPatch.context() as patch:
        at_home(patch, reader)
        reader.read(TUTORIAL)
    hurry(reader.url)
    return reader


def at_home(patch: pytest.MonkeyPatch, reader: Reader) -> None:
    """In the reader's folder, with the programs of the server on the path."""
    patch.chdir(reader.folder)
    patch.setenv("XDG_CONFIG_HOME", str(reader.folder))
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{embedded.binaries()}"
    patch.setenv("PATH", f"{binaries}{os.pathsep}{os.environ['PATH']}")
    if "url" in reader.names:
        patch.setenv("PGRECALL_DATABASE_URL", reader.url)
        patch.setenv("OLD_URL", reader.url)  # what another library has left


@pytest.fixture
def reader(tutorial: Reader, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """The same reader in a copy of the tutorial's database."""
    given = make_url(tutorial.names["url"])
    name = f"page_{next(_numbers)}"
    tutorial.names["engine"].dispose()  # a template must have no other connection
    with psycopg.connect(
        tutorial.url.replace("/postgres?", "/template1?"), autocommit=True
    ) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {given.database}")
    url = given.set(database=name)
    engine = create_engine(url)
    repo = MemoryRepository(engine, embedder=EMBEDDER)
    shown = url.render_as_string(hide_password=False)
    found = Reader(
        tutorial.folder, {**tutorial.names, "url": shown, "engine": engine, "repo": repo}
    )
    at_home(monkeypatch, found)
    with chat_endpoint() as address:
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        monkeypatch.setenv("OPENAI_API_KEY", "of a fake")
        yield found
    found.stop_services()
    engine.dispose()
    found.names["engine"].dispose()  # a page may have made another


def test_the_tutorial(tutorial: Reader) -> None:
    assert tutorial.names["repo"].count("ada") == 6


@pytest.mark.parametrize("name", [name for name in GO_ON if blocks(name)])
def test_a_page_goes_on_from_the_tutorial(name: str, reader: Reader) -> None:
    if name in SOURCES:
        with psycopg.connect(reader.url, autocommit=True) as connection:
            connection.execute(SOURCES[name].encode())
    reader.read(name)


def test_the_readme_runs_where_nothing_is_set_and_leaves_nothing_behind(folder: Path) -> None:
    wanted = [block for block in blocks("README.md") if block.language != "sh"]
    home = {name: str(folder) for name in ("HOME", "TMPDIR", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", README],
        input=json.dumps([(block.language, block.code) for block in wanted]),
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PATH": os.environ["PATH"], **home},
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert list(folder.glob("pgrecall-*")) == []
    for block, printed in zip(wanted, done.stdout.split("\x1e\n"), strict=True):
        assert_shown(block.shown or "", printed, block.code)


def test_the_commands_of_the_readme_are_there(folder: Path) -> None:
    reader = Reader(folder)
    for block in blocks("README.md"):
        if block.language == "sh" and not OVER_HTTP.search(block.code):
            reader.sh(block)


def assert_keys_are_asked_for(reader: Reader) -> None:
    """Of the same database, once it has a key: the embedded server is protected by `serve`."""
    token = reader.command("pgrecall keys create --owner demo").strip()
    reader.services.append(started())
    url = f"http://{reader.services[-1][1]}/memories"
    assert httpx.get(url).status_code == 401
    found = httpx.get(url, headers={"Authorization": f"Bearer {token}"})
    assert found.json()["memories"]


def test_the_service_of_the_readme_answers_after_the_demo(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From nothing, with the embedded database."""
    reader = Reader(folder)
    at_home(monkeypatch, reader)
    for name in ("HOME", "TMPDIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.delenv("PGRECALL_DATABASE_URL", raising=False)
    [serve, curls] = [one for one in blocks("README.md") if OVER_HTTP.search(one.code)]
    reader.command(serve.code.splitlines()[0])
    try:
        reader.command(serve.code.splitlines()[1])
        found, stored, context = map(reader.command, curls.code.splitlines())
        reader.stop_services()
        assert "tea" in found
        assert_keys_are_asked_for(reader)
    finally:
        reader.stop_services()
    assert json.loads(stored)["outcome"] == "inserted"
    assert "without milk" in json.loads(context)["text"]
