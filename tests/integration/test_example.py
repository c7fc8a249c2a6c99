"""The example application passes its own tests, which use the fixtures that users have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_example_passes_its_tests(server_url: str, tmp_path: Path) -> None:
    """In a process of its own, since the fixtures of this suite replace those.

    Without a folder of its own, it would close the folder of all temporary files to other users,
    and so to servers that other tests have started.
    """
    folder = f"--basetemp={tmp_path / 'files'}"
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder, "examples"],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PGRECALL_TEST_DATABASE_URL": server_url},
        capture_output=True,
        text=True,
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "6 passed" in tested.stdout
