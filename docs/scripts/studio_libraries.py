"""Brings the JavaScript libraries of the studio into the package, at pinned versions.

python -m docs.scripts.studio_libraries           fetches and writes them
python -m docs.scripts.studio_libraries --check   fails if the written ones differ

npm fetches each package from the registry that it is configured for; the hash of what it fetched
is compared with the one written here.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).parents[2] / "app" / "pgrecall" / "studio" / "page" / "libraries"


@dataclass(frozen=True)
class Package:
    """A package of the npm registry. To take a newer one: `npm view NAME version dist.integrity`"""

    name: str
    version: str
    sha512: str
    """Of its archive, in Base64."""
    files: Mapping[str, str]
    """Path in the archive → name here."""


PACKAGES = (
    Package(
        "preact",
        "11.2.0",
        "/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7xBg==",
        {
            "dist/preact.mjs": "preact.js",
            "hooks/dist/hooks.mjs": "preact-hooks.js",
            "LICENSE": "preact.LICENSE.txt",
        },
    ),
    Package(
        "htm",
        "3.1.1",
        "983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==",
        {"dist/htm.mjs": "htm.js", "LICENSE": "htm.LICENSE.txt"},
    ),
)


def files() -> dict[str, bytes]:
    """The files as they belong into the package, by name."""
    found = {}
    for package in PACKAGES:
        contents = _fetched(package)
        for path, name in package.files.items():
            found[name] = _for_browsers(contents[path])
    return found


def _fetched(package: Package) -> dict[str, bytes]:
    """The files of a package by their paths."""
    with TemporaryDirectory() as folder:
        named = f"{package.name}@{package.version}"
        subprocess.run(["npm", "pack", "--silent", named], cwd=folder, check=True)  # noqa: S603, S607
        [archive] = Path(folder).glob("*.tgz")
        if b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() != package.sha512:
            raise SystemExit(f"{named}: the archive does not have the hash that is written here")
        with tarfile.open(archive) as opened:
            members = {one.name.partition("/")[2]: opened.extractfile(one) for one in opened}
            return {path: member.read() for path, member in members.items() if member is not None}


def _for_browsers(content: bytes) -> bytes:
    """Names Preact by its file: browsers would need a map of imports, which the content security
    policy would have to allow inline. Source maps stay outside."""
    text = content.decode().replace('from"preact"', 'from"./preact.js"')
    lines = (line for line in text.splitlines() if not line.startswith("//# sourceMappingURL"))
    return ("\n".join(lines).strip() + "\n").encode()


def main(arguments: list[str]) -> None:
    expected = files()
    written = {path.name: path.read_bytes() for path in FOLDER.glob("*")}
    if "--check" in arguments:
        if differing := sorted(name for name, _ in written.items() ^ expected.items()):
            raise SystemExit(f"not as the registry has them: {', '.join(differing)}")
        return
    for name in written.keys() - expected.keys():
        (FOLDER / name).unlink()
    for name, content in expected.items():
        (FOLDER / name).write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1:])
