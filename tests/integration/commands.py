"""Running commands of the command line within the process of the tests."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from pgrecall.cli import main
from pgrecall.cli.configuration import VARIABLES
from pgrecall.cli.main import app
from pgrecall.core.embedders import LocalEmbedder


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Finished]

EVIL = "evil \033[31mred\033]0;title\007 \x9b1m [bold]x[/bold] [/nothing]"
CONTROLS = set("\033\007\x9b\x7f")

BUILT: Any = typer.main.get_command(app)
for _name in BUILT.list_commands(None):
    BUILT.get_command(None, _name)  # loads it


def runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command through the entry point; `answer` is typed in, or piped if it is bytes."""
    monkeypatch.setattr("pgrecall.cli.configuration.user_file", lambda: Path("/no/such/file"))
    for variable in VARIABLES.values():
        if variable != VARIABLES["database_url"]:
            monkeypatch.delenv(variable, raising=False)

    def command(*arguments: object, answer: str | bytes = "") -> Finished:
        monkeypatch.setattr(sys, "argv", ["pgrecall", *map(str, arguments)])
        typed = answer.encode() if isinstance(answer, str) else answer
        read = io.TextIOWrapper(io.BufferedReader(io.BytesIO(typed)), encoding="utf-8")
        monkeypatch.setattr(read, "isatty", lambda: isinstance(answer, str) and answer != "")
        monkeypatch.setattr(sys, "stdin", read)
        code = 0
        try:
            main()
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        out, err = capsys.readouterr()
        return Finished(code, out, err)

    return command


def make_once(monkeypatch: pytest.MonkeyPatch, embedder: LocalEmbedder) -> None:
    """Commands do without building, each anew, what takes longer than any of them."""
    monkeypatch.setattr("pgrecall.cli.embedding.LocalEmbedder", lambda: embedder)
    monkeypatch.setattr(sys.modules["pgrecall.cli.main"], "app", BUILT)


def fast_runner(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    url: str,
    embedder: LocalEmbedder,
) -> Run:
    """The same on this database, with what takes longer than any command made once."""
    monkeypatch.setenv("PGRECALL_DATABASE_URL", url)
    make_once(monkeypatch, embedder)
    return runner(monkeypatch, capsys)
