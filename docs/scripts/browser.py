"""`pgrecall studio` on a database, and a browser that opens it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

from playwright.sync_api import Browser, sync_playwright

PROGRAM = Path(sys.executable).parent / "pgrecall"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def studio(url: str, *options: str) -> Iterator[str]:
    """The address of the page, with its key."""
    process = subprocess.Popen(  # noqa: S603
        [str(PROGRAM), "studio", "--no-browser", *options],
        env=os.environ | {"PGRECALL_DATABASE_URL": url, "PYTHONUNBUFFERED": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "/studio#key=" in line:
                yield line.split()[-1]
                break
        else:
            raise RuntimeError("the studio did not start")
    finally:
        process.terminate()
        process.communicate(timeout=60)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser that is installed."""
    program = next(filter(None, map(which, BROWSERS)), None)
    if program is None:
        raise SystemExit("no browser is installed: apt install chromium")
    with sync_playwright() as playwright:
        # As root, in a container, Chromium has no sandbox of its own.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
