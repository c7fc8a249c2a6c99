"""The README's code runs, in the order it stands there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pgrecall import embedded

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)
    assert found, language
    return found


def test_the_code_runs_in_python_and_in_psql(
    empty_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGRECALL_DATABASE_URL", empty_url)
    names: dict[str, Any] = {}

    for code in blocks("python"):
        exec(compile(code, "README.md", "exec"), names)
    names["repo"]._bind.dispose()
    printed = capsys.readouterr().out
    queries = "\n".join(blocks("sql"))
    ranked = subprocess.run(
        [embedded.binaries() / "psql", "--no-psqlrc", "--set=ON_ERROR_STOP=1", empty_url],
        input=queries,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "Ines drinks her tea without milk." in printed
    assert "True duplicate" in printed
    assert "Quaybook 4.19 ships on Monday." in ranked.stdout
    assert "reinforcement" in ranked.stdout
