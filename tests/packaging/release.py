"""Builds a release into dist/ and checks it: `make release`, in a clean checkout of its tag.

    python -m tests.packaging.release [--allow-missing]

The wheel is installed in an empty environment of each version of Python that pyproject.toml names,
the source distribution in one. What they require comes from the package index.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from tests.beside import Failed, run

ROOT = Path(__file__).parents[2]
EXTRA = "local"


def project(root: Path = ROOT) -> dict[str, Any]:
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)["project"]
    return found


def refusals(root: Path = ROOT) -> list[str]:
    """Why this checkout is no release."""
    version, found = project(root)["version"], []
    if changed := git(root, "status", "--porcelain"):
        found.append(f"changed or not in git; commit or remove it:\n{changed}")
    if f"v{version}" not in git(root, "tag", "--points-at", "HEAD").split():
        found.append(
            f"no tag v{version} is on this commit, and pyproject.toml has version {version}: "
            f"check out the tag, or correct the version"
        )
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", changelog, re.MULTILINE):
        found.append(f"CHANGELOG.md has no section such as '## {version} (2026-12-01)'")
    return found


def git(root: Path, *arguments: str) -> str:
    return run("git", *arguments, folder=str(root)).rstrip("\n")


def build(dist: Path, root: Path = ROOT) -> None:
    """Writes source distribution and wheel, with the time of the commit for that of each file."""
    epoch = git(root, "log", "-1", "--format=%ct")
    command = (sys.executable, "-m", "build", "--no-isolation", "--outdir", dist)
    run(*command, folder=str(root), SOURCE_DATE_EPOCH=epoch)


def interpreters() -> dict[str, str | None]:
    """The versions of Python that are promised → what starts each; None: it is not installed."""
    lines = (re.fullmatch(r".* :: (3\.\d+)", one) for one in project()["classifiers"])
    return {line[1]: interpreter(line[1]) for line in lines if line}


def interpreter(version: str) -> str | None:
    """Programs of that name may be there and start nothing, such as those of pyenv."""
    command = [f"python{version}", "-c", "import sys; print(sys.executable)"]
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    return done.stdout.strip() if done.returncode == 0 else None


def install(archive: Path, interpreter: str, folder: str) -> Path:
    """The folder of programs of a new environment with what was built and all that it requires."""
    run(interpreter, "-m", "venv", "venv", folder=folder)
    programs = Path(folder) / "venv" / "bin"
    pip = (programs / "python", "-m", "pip", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", f"{archive}[{EXTRA}]", folder=folder)
    run(*pip, "check", folder=folder)
    return programs


def tried(programs: Path, folder: str) -> None:
    """Raises Failed unless what is installed stores a memory and finds it."""

    def command(*arguments: str) -> str:
        settings = (f"HOME={folder}", "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "PGRECALL_AGENT=ada")
        return run("env", "-i", *settings, programs / "pgrecall", *arguments, folder=folder)

    said = command("--version")
    if said.split() != ["pgrecall", project()["version"]]:
        raise Failed(f"pgrecall --version printed {said}")
    asked = "import pgrecall; print(pgrecall.__file__)"
    where = run(programs / "python", "-c", asked, folder=folder)
    if not Path(where).is_relative_to(folder):
        raise Failed(f"pgrecall was imported from {where}")
    command("migrate", "up")
    command("add", "The deployment key is rotated on Mondays.")
    command("add", "The cat likes tuna.")
    found = command("search", "when is the deployment key rotated?", "-k", "1")
    if "Mondays" not in found:
        raise Failed(f"the search printed {found}")
    command("status")


def inventory(programs: Path, to: Path) -> None:
    """Writes a CycloneDX document of the environment, without what only installs."""
    pip = (programs / "python", "-m", "pip", "--disable-pip-version-check")
    run(*pip, "uninstall", "--quiet", "--yes", "setuptools", "pip", folder=str(to.parent))
    about = ("--pyproject", ROOT / "pyproject.toml", "--mc-type", "library")
    how = ("--gather-license-texts", "--output-reproducible", "--output-file", to)
    command = (sys.executable, "-m", "cyclonedx_py", "environment", *about, *how)
    run(*command, programs / "python", folder=str(to.parent))


def main(*options: str) -> int:
    pythons = interpreters()
    missing = [version for version, python in pythons.items() if python is None]
    refused = refusals()
    if missing and "--allow-missing" not in options:
        refused += [f"no python{one}; install it (for a try: ALLOW_MISSING=1)" for one in missing]
    if refused:
        print("\n".join(f"refused: {one}" for one in refused), file=sys.stderr)
        return 1
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    build(dist)
    [wheel], [source] = dist.glob("*.whl"), dist.glob("*.tar.gz")
    present = {version: python for version, python in pythons.items() if python}
    newest = [*present][-1]
    checks = [(newest, source), *((version, wheel) for version in present)]
    failed = 0
    for version, archive in checks:
        with tempfile.TemporaryDirectory(prefix="pgrecall-release-", dir="/tmp") as folder:
            try:
                programs = install(archive, present[version], folder)
                tried(programs, folder)
                if (version, archive) == (newest, wheel):
                    inventory(programs, dist / f"{source.name.removesuffix('.tar.gz')}.cdx.json")
                said = "ok"
            except Failed as problem:
                said, failed = f"FAILED\n{problem}", failed + 1
        print(f"Python {version:4}  {archive.name}  {said}", flush=True)
    for version in missing:
        print(f"Python {version:4}  NOT CHECKED, since there is no python{version}")
    if not failed:
        sums = "".join(f"{digest(one)}  {one.name}\n" for one in sorted(dist.iterdir()))
        (dist / "SHA256SUMS").write_text(sums, encoding="utf-8")
    return int(failed > 0)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
