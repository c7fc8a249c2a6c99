"""Asks a language server, as an editor does."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class LanguageServer:
    """A language server that speaks over standard streams, in a folder."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self._process, self._number = process, 0
        self._found: dict[str, list[dict[str, Any]]] = {}
        workspace = {"uri": folder.as_uri(), "name": folder.name}
        shown = {"textDocument": {"hover": {"contentFormat": ["plaintext"]}}}
        self.ask("initialize", processId=None, capabilities=shown, workspaceFolders=[workspace])
        self._send({"method": "initialized", "params": {}})

    def open(self, path: Path) -> None:
        """Opens a Python file."""
        text = path.read_text(encoding="utf-8")
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def found_in(self, path: Path) -> list[dict[str, Any]]:
        """What is wrong in a file, which this opens."""
        self.open(path)
        while path.as_uri() not in self._found:
            self._receive()
        return self._found[path.as_uri()]

    def at(self, method: str, path: Path, line: int, column: int) -> Any:
        """The answer to a question about a place, which is counted from 0."""
        place = {"line": line, "character": column}
        return self.ask(method, textDocument={"uri": path.as_uri()}, position=place)

    def ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self._number and "method" not in message:
                return message["result"]

    def _receive(self) -> dict[str, Any]:
        message = self._read()
        if message.get("method") == "textDocument/publishDiagnostics":
            self._found[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "id" in message and "method" in message:  # it asks for its configuration, say
            items = message.get("params", {}).get("items", ())
            self._send({"id": message["id"], "result": [None] * len(items)})
        return message

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return message


@contextmanager
def language_server(command: list[str], folder: Path) -> Iterator[LanguageServer]:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=folder) as process:
        try:
            yield LanguageServer(process, folder)
        finally:
            process.kill()
