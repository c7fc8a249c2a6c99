"""What `sql/recall` has of the repository's own statement, written there from the same builders.

A file has it between two lines, `-- Written by make recall: <what>` and `-- As written.`: the
arguments of a search, the values that its statement is executed with, or its conditions.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import fill, indent
from typing import Any

from sqlalchemy import ColumnElement, literal_column, select

from pgrecall import context_style
from pgrecall.compiler import Scope
from pgrecall.context_style import CATEGORY_PIECES, LINE_BREAKS, MAX_CATEGORY_LENGTH
from pgrecall.filters import FilterArguments, FilterShape
from pgrecall.profiles import BUILT_IN
from pgrecall.schema import tables
from pgrecall.score_function import literal, quoted, score_functions, sql
from pgrecall.signals import Similarity
from pgrecall.statements.packing import MOST
from pgrecall.statements.ranking import Shape, passing
from pgrecall.token_counting import PIECES, estimated_tokens

_QUESTION = {
    "query": "agent_memories.embedding%TYPE DEFAULT NULL",
    "query_text": "text DEFAULT NULL",
    "profile": "text DEFAULT 'five_factor'",
    "k": "integer DEFAULT 10",
    "weights": "jsonb DEFAULT NULL",
    "min_score": "float8 DEFAULT NULL",
    "min_similarity": "float8 DEFAULT NULL",
    "teams": "text[] DEFAULT NULL",
    "query_entities": "text[] DEFAULT NULL",
    "apply_decay": "boolean DEFAULT true",
    "as_of": "timestamptz DEFAULT NULL",
}
_TYPES = {
    "Sequence[str]": "text[]",
    "Mapping[str, Any]": "jsonb",
    "datetime": "timestamptz",
    "bool": "boolean",
    "float": "float8",
    "str": "text",
}
_DEFAULTS = {"statuses": "'{active}'", "include_invalid": "false"}
_BEFORE = ("most", "moment", "owners", "weighed", "sources")
"""The values that a statement is executed with before the arguments, the first of its LIMIT."""
_MEMORIES = tables().memories.alias("m")
_BLOCK = re.compile(
    r"(?P<begin>^ *-- Written by make recall: (?P<what>[a-z ]+)\.\n)"
    r".*?(?P<end>^ *-- As written\.\n)(?P<after>\))?",
    re.MULTILINE | re.DOTALL,
)


def arguments() -> dict[str, str]:
    """Name → type and default, of every argument of a search but the owner."""
    filters = {
        name: f"{_TYPES[hint.__forward_arg__]} DEFAULT {_DEFAULTS.get(name, 'NULL')}"
        for name, hint in FilterArguments.__annotations__.items()
        if name != "where"
    }
    return _QUESTION | filters


def rewritten(text: str) -> str:
    """A file with what is written by `make recall` as it has to be."""

    def written(found: re.Match[str]) -> str:
        lines, after = _WRITTEN[found["what"]](), found["after"] or ""
        if after:
            lines = lines.rstrip(",\n") + "\n"
        return found["begin"] + lines + found["end"] + after

    return _BLOCK.sub(written, text)


def conditions() -> dict[str, str]:
    """Name → SQL of every condition on a memory `m` with its usage `u`, for a question `q`."""
    names = [name for name in FilterArguments.__annotations__ if name != "where"]
    found = {name: _in_q(condition) for name, condition in _passing(names).items()}
    found["label_kinds"] = found["labels"]
    return found | {"labels": _in_q(_passing(["labels"])["labels"])}


def _passing(filters: list[str]) -> dict[str, ColumnElement[bool]]:
    shape = Shape(
        signals=(Similarity(required=True),),
        filters=FilterShape(frozenset(filters), (), include_invalid=False, apply_decay=True),
        has_query=True,
        has_teams=True,
        has_min_score=True,
        has_min_similarity=True,
        has_as_of=True,
    )
    found = tables()
    scope = Scope(
        schema="",
        memories=_MEMORIES,
        usage=found.memory_usage.alias("u"),
        query=literal_column("q.query"),
        as_of=literal_column("q.moment"),
        query_entities=literal_column("q.query_entities"),
        apply_decay=literal_column("q.apply_decay"),
        parameter=literal,
    )
    return passing(scope, shape, ())


def _in_q(condition: ColumnElement[bool]) -> str:
    """With the columns of `q` in the place of parameters."""
    # Within a statement, since a condition with one of its own would else look for memories anew.
    statement: Any = select(literal_column("1")).select_from(_MEMORIES).where(condition)
    written = re.sub(r"(?<!:):(?=[a-z_])", "q.", sql(statement).partition(" WHERE ")[2])
    written = re.sub(r"(q\.\w+)::[A-Z ]+(\[\])?", r"\1", written)
    return re.sub(r"CAST\((q\.\w+) AS TEXT\[\]\)", r"\1", written)


def _arguments(**others: str) -> str:
    return "".join(f"    {name} {said},\n" for name, said in (arguments() | others).items())


def _arguments_of_context() -> str:
    defaults = {"k": "integer DEFAULT 20", "min_score": "float8 DEFAULT 0.1"}
    return _arguments(**defaults)


def _tokens() -> str:
    """What `packing` reckons for the plain style, by the default counter."""
    style = context_style.named("plain")
    added = style.added([estimated_tokens(sample) for sample in style.samples])
    kind = f"regexp_count(memory_type, {quoted(CATEGORY_PIECES)})"
    return f"""\
    RETURN least(coalesce(tokens, regexp_count(content, {quoted(PIECES)})), {MOST})
         + {added.per_block} + least({kind}, {MAX_CATEGORY_LENGTH})
         + {added.per_line} * regexp_count(content, {quoted(LINE_BREAKS)});
"""


def _passed() -> str:
    return _filled(["agent", *arguments()], "        ")


def _values() -> str:
    return _filled([f"'{name}'" for name in (*_BEFORE, "agent", *arguments())], "        ")


def _conditions() -> str:
    rows = [f"('{name}', $condition${said}$condition$)" for name, said in conditions().items()]
    return indent(",\n".join(rows) + "\n", " " * 8)


def _given() -> str:
    given = [
        f"CASE WHEN {name} IS NOT NULL THEN '{name}' END"
        for name in arguments()
        if name in conditions()
    ]
    return "".join(f"        {one},\n" for one in given)


_WRITTEN = {
    "given": _given,
    "arguments": _arguments,
    "arguments of context": _arguments_of_context,
    "tokens": _tokens,
    "passed": _passed,
    "values": _values,
    "conditions": _conditions,
}


def _filled(names: list[str], margin: str) -> str:
    kept = ", ".join(name.replace(" ", "\0") for name in names)
    filled = fill(kept, 100, initial_indent=margin, subsequent_indent=margin)
    return filled.replace("\0", " ") + "\n"


def write(folder: Path) -> None:
    """Writes every file of `sql/recall` anew, where something of it comes from here."""
    for profile in BUILT_IN.values():
        (folder / f"score_{profile.name}.sql").write_text(
            score_functions(profile), encoding="utf-8"
        )
    for path in folder.glob("*.sql"):
        text = path.read_text(encoding="utf-8")
        path.write_text(rewritten(text), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
