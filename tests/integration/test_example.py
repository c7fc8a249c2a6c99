"""The example application passes its own tests, which use the fixtures that users have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_example_passes_its_tests(server_url: str) -> None:
    """In a process of its own, since the fixtures of this suite replace those."""
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "examples"],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PGRECALL_TEST_DATABASE_URL": server_url},
        capture_output=True,
        text=True,
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "6 passed" in tested.stdout
