"""Lines of an import that cannot be stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from pgrecall.core.quoting import LONGEST, path_of, shortened
from pgrecall.errors import InputError, InvalidLine, PgRecallError
from pgrecall.memories.lines import Read, Reading, describe_line_error, require_new


class Rejects:
    """Lines that cannot be stored: written to a new file, or raised where there is none.

    A dry run goes on without a file.
    """

    def __init__(
        self,
        reading: Reading,
        path: Path | None,
        on_reject: Callable[[int, str], None],
        *,
        dry_run: bool = False,
    ) -> None:
        self._reading, self._path = reading, path
        self._on_reject = on_reject
        self._file: BinaryIO | None = None
        self.number = 0
        if path is not None:
            self._path = require_new(path_of(path))
        self.goes_on = path is not None
        """True if the import continues after a line that has unknown fields."""
        self._only_counts = dry_run

    def __enter__(self) -> Rejects:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def refuse(self, line: Read, error: Exception, *, is_last: bool = False) -> None:
        """Writes the line, or raises InvalidLine where there is no file, or it `is_last`."""
        reading = self._reading
        reason = str(error) if isinstance(error, PgRecallError) else describe_line_error(error)
        if reading.about is not None and not is_last:
            reason = f"{reason} ({reading.about(json.loads(line.content))})"
        if is_last or (self._path is None and not self._only_counts):
            message = f"{reading.name}, {reading.noun} {line.number}: {reason}"
            raise InvalidLine(message) from error
        if not self._only_counts:
            self._write(self._written(line))
        self.number += 1
        self._on_reject(line.number, reason)

    def _written(self, line: Read) -> bytes:
        if self._reading.rejects_fields:
            with suppress(InputError, ValueError, TypeError, RecursionError):
                vector = None if line.vector is None else [*line.vector]
                fields = self._reading.fields(json.loads(line.content), vector)
                return json.dumps(fields, ensure_ascii=False).encode()
        return line.content

    def _write(self, content: bytes) -> None:
        assert self._path is not None
        try:
            if self._file is None:
                self._file = self._path.open("xb")
            self._file.write(content.rstrip(b"\r\n") + b"\n")
        except OSError as problem:
            raise InputError(
                f"{shortened(self._path, LONGEST)} cannot be written: {problem.strerror or problem}"
            ) from problem
