"""What `make release` refuses, and that the same commit gives the same bytes."""

from __future__ import annotations

import tarfile
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest

from tests.beside import run
from tests.packaging import release

ROOT = Path(__file__).parents[2]
CHANGELOG = "# Changelog\n\n## {} ({})\n\n- All of it.\n"


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    run("git", *identity, "-c", "tag.gpgsign=false", *arguments, folder=str(root))


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    """A checkout of a release, with as little in it as is looked at."""
    root = tmp_path / "checkout"
    root.mkdir()
    copy(ROOT / "pyproject.toml", root)
    version = release.project()["version"]
    (root / "CHANGELOG.md").write_text(CHANGELOG.format(version, "2026-12-01"), encoding="utf-8")
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--no-gpg-sign", "--message", "Release")
    git(root, "tag", f"v{version}")
    return root


def test_a_clean_checkout_of_the_tag_is_a_release(tagged: Path) -> None:
    assert release.refusals(tagged) == []


def test_what_is_not_in_git_is_refused(tagged: Path) -> None:
    (tagged / "app").mkdir()
    (tagged / "app" / "mine.py").touch()
    [refused] = release.refusals(tagged)

    assert "app/" in refused


def test_another_tag_is_refused(tagged: Path) -> None:
    git(tagged, "tag", "--delete", f"v{release.project()['version']}")
    git(tagged, "tag", "v0.0.9")
    [refused] = release.refusals(tagged)

    assert refused.startswith(f"no tag v{release.project()['version']} is on this commit")


@pytest.mark.parametrize(
    ("version", "day"), [(release.project()["version"], "unreleased"), ("9.9.9", "2026-12-01")]
)
def test_a_version_without_a_dated_section_is_refused(tagged: Path, version: str, day: str) -> None:
    (tagged / "CHANGELOG.md").write_text(CHANGELOG.format(version, day), encoding="utf-8")
    git(tagged, "commit", "--quiet", "--no-gpg-sign", "--all", "--message", "Changed")
    git(tagged, "tag", "--force", f"v{release.project()['version']}")
    [refused] = release.refusals(tagged)

    assert refused.startswith("CHANGELOG.md has no section such as")


def test_the_same_commit_gives_the_same_bytes(tmp_path: Path) -> None:
    committed = tmp_path / "committed"
    left_out = ignore_patterns(".*", "build", "dist", "__pycache__", "tests", "docs")
    copytree(ROOT, committed, ignore=left_out)
    git(committed, "init", "--quiet")
    git(committed, "add", ".")
    git(committed, "commit", "--quiet", "--no-gpg-sign", "--message", "Release")
    built = []
    for name in ("one", "two"):
        root = tmp_path / name
        git(tmp_path, "clone", "--quiet", str(committed), str(root))
        release.build(root / "dist", root)
        built.append({path.name: release.digest(path) for path in (root / "dist").iterdir()})
    time = int(release.git(committed, "log", "-1", "--format=%ct"))
    with tarfile.open(next((root / "dist").glob("*.tar.gz"))) as source:
        times = {member.mtime for member in source}

    assert len(built[0]) == 2
    assert built[0] == built[1]
    assert times == {time}
