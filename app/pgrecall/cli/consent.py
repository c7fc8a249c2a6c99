"""The user's consent to a project's file that names a database or code; stored for its values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from pgrecall.errors import InputError


def stored_answer(file: Path, values: Mapping[str, str]) -> bool | None:
    """True if the user allows the file to set these values; None: no answer about them yet."""
    try:
        answer = json.loads(_answer_file(file).read_text(encoding="utf-8"))
        return bool(answer["allowed"]) if answer["values"] == _digest(values) else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def store_answer(file: Path, values: Mapping[str, str], allowed: bool) -> None:
    """Stores the user's answer, in place of an earlier one about the file."""
    path = _answer_file(file)
    answer = {"file": str(file), "values": _digest(values), "allowed": allowed}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(answer), encoding="utf-8")
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror or problem}") from problem


def folder() -> Path:
    """The folder of the answers: no project can bring it along."""
    import platformdirs

    return Path(platformdirs.user_state_path("pgrecall")) / "consents"


def _answer_file(file: Path) -> Path:
    name = sha256(str(file).encode("utf-8", "surrogateescape")).hexdigest()
    return folder() / f"{name}.json"


def _digest(values: Mapping[str, str]) -> str:
    """A digest of the values alone: comments and other settings of the file may change."""
    return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
