"""Runs a program once this process has ended, also if it was killed."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

_WAITS = 'read -r left || { while kill -0 "$0" 2>/dev/null; do sleep 1; done; exec "$@"; }'
"""Reading fails once nobody has the other end of the pipe: this process, or a child it forked. A
process that became a daemon may have closed it, and lives on."""


class Watcher:
    """A shell that waits for the end of this process, and then calls Python.

    It takes a megabyte and no time, and leaves signals and threads of this process alone. In a
    session of its own, it does not get what a terminal sends to this one. Without /bin/sh, as on
    Windows, nothing watches.
    """

    def __init__(self, code: str, *arguments: str) -> None:
        self._watched = os.getpid()
        self._shell: subprocess.Popen[bytes] | None = None
        program = (sys.executable, "-P", "-c", code, *arguments)
        search_path = os.pathsep.join(folder for folder in sys.path if folder)
        with suppress(OSError):
            self._shell = subprocess.Popen(  # noqa: S603  no argument comes from a caller
                ("/bin/sh", "-c", _WAITS, str(self._watched), *program),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,  # or who reads our output would wait for its end, too
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": search_path},
                cwd="/",
                start_new_session=True,
            )

    def dismiss(self) -> None:
        """Ends it: nothing has to be done any more. A forked child cannot say so."""
        if self._shell is not None and os.getpid() == self._watched:
            self._shell.communicate(b"left\n")
