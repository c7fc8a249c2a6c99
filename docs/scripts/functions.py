"""The reference of functions for psql, from the files that create them."""

from __future__ import annotations

import re
from functools import cache

from pgrecall.migrate.repeatable import files

_CREATED = re.compile(
    r"^CREATE OR REPLACE (FUNCTION|PROCEDURE) (\w+)\s*\((.*?)\)\s*(RETURNS .*?)?\s*LANGUAGE",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(
    r"^COMMENT ON (?:FUNCTION|PROCEDURE) (\w+)\b[^;']*?IS\s+'((?:[^']|''|'\n *')*)';", re.M
)
_CONTINUED = re.compile(r"(?<!')'\n *'")


@cache
def _functions() -> dict[str, str]:
    """Name → its part of the reference."""
    found = {}
    for file in files():
        comments = dict(_COMMENT.findall(file.text))
        for kind, name, arguments, returns in _CREATED.findall(file.text):
            declared = [re.sub(r"\s+", " ", one) for one in _split(arguments)]
            shown = ",\n".join(f"    {one}" for one in declared)
            shown = f"{name}(\n{shown}\n)" if len(shown) > 80 else f"{name}({', '.join(declared)})"
            returned = " ".join(returns.split())
            comment = _CONTINUED.sub("", comments.get(name, "")).replace("''", "'")
            found[name] = (
                f"### {name}\n\n```\n{kind} {shown}{returned and ' '}{returned}\n```\n\n"
                f"{comment}\n\nLevel: {file.level}.\n"
            )
    return found


def _split(arguments: str) -> list[str]:
    return [one.strip() for one in re.split(r",(?![^(]*\))", arguments) if one.strip()]


def reference(names: list[str]) -> str:
    """The parts of these functions; a name that no file creates is a KeyError."""
    return "\n".join(_functions()[name] for name in names)
