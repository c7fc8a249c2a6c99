"""Generates parts of `sql/recall` with the builders of the repository's statement.

The file `arguments` is generated as a whole. Other files have generated parts between the lines
`-- Written by make recall: <what>` and `-- As written.`
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

from sqlalchemy import ColumnElement, literal_column, select

from pgrecall.context import styles
from pgrecall.context.packing import MOST
from pgrecall.context.styles import CATEGORY_PIECES, LINE_BREAKS, MAX_CATEGORY_LENGTH
from pgrecall.core.tokens import PIECES, estimated_tokens
from pgrecall.migrate.score_function import literal, quoted, sql
from pgrecall.ranking.filters import FilterArguments, FilterShape
from pgrecall.ranking.search_parameters import Shape
from pgrecall.ranking.statement import passing
from pgrecall.schema import tables
from pgrecall.scoring.compiler import Scope
from pgrecall.scoring.signals import Similarity

_QUESTION = {
    "query": "agent_memories.embedding%TYPE DEFAULT NULL",
    "query_text": "text DEFAULT NULL",
    "profile": "text DEFAULT NULL",
    "k": "integer DEFAULT 10",
    "weights": "jsonb DEFAULT NULL",
    "min_score": "float8 DEFAULT NULL",
    "min_similarity": "float8 DEFAULT NULL",
    "min_relevance": "float8 DEFAULT NULL",
    "teams": "text[] DEFAULT NULL",
    "query_entities": "text[] DEFAULT NULL",
    "query_time": "tstzrange DEFAULT NULL",
    "apply_decay": "boolean DEFAULT true",
    "expand_session": "integer DEFAULT 0",
    "lend": "float8 DEFAULT NULL",
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
_HEAD = """\
-- What recall, recall_plan, explain, context and question take after the agent, written by make
-- recall. In their files it stands as @arguments@; @passed@ is the agent and all these names, and
-- @filters@ the names of the second paragraph: what narrows down the memories to be ranked.
-- @filtering@ is that paragraph, and @filtered@ each of its names as an argument: tags => tags.

"""
_DEFAULTS = {"statuses": "'{active}'", "include_invalid": "false"}
_MEMORIES = tables().memories.alias("m")
_BLOCK = re.compile(
    r"(?P<begin>^ *-- Written by make recall: (?P<what>[a-z ]+)\.\n)"
    r".*?(?P<end>^ *-- As written\.\n)",
    re.MULTILINE | re.DOTALL,
)


def arguments() -> str:
    """The file of arguments: those of a search except its owner, with types and defaults.

    The filters come last.
    """
    hints = {
        name: hint.__forward_arg__.removesuffix(" | None")
        for name, hint in FilterArguments.__annotations__.items()
        if name != "where"
    }
    filters = {
        name: f"{_TYPES[hint]} DEFAULT {_DEFAULTS.get(name, 'NULL')}"
        for name, hint in hints.items()
    }
    question, narrowing = (
        ",\n".join(f"{name} {said}" for name, said in of.items()) for of in (_QUESTION, filters)
    )
    return f"{_HEAD}{question},\n\n{narrowing}\n"


def rewritten(text: str) -> str:
    """The text of a file with its generated parts replaced."""
    return _BLOCK.sub(lambda found: found["begin"] + _WRITTEN[found["what"]]() + found["end"], text)


def conditions() -> dict[str, str]:
    """The SQL of every condition by name, on a memory `m` with its usage `u` and a question `q`."""
    names = [name for name in FilterArguments.__annotations__ if name != "where"] + ["compared"]
    found = _passing(names) | {"label_kinds": _passing(names)["labels"]}
    found["labels"] = _passing(["labels"])["labels"]
    return {name: _in_q(condition) for name, condition in found.items()}


def _passing(filters: list[str]) -> dict[str, ColumnElement[bool]]:
    shape = Shape(
        signals=(Similarity(required=True),),
        filters=FilterShape(frozenset(filters), include_invalid=False, apply_decay=True),
        has_query=True,
        has_teams=True,
        has_min_score=True,
        has_min_similarity=True,
        has_min_relevance=True,
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
        keyword=literal_column("{share}"),
        coverage=literal_column("{coverage}"),
        comparable=literal_column("q.comparable"),
        parameter=literal,
    )
    return passing(scope, shape, ())


def _in_q(condition: ColumnElement[bool]) -> str:
    """The SQL of a condition, with columns of `q` instead of parameters."""
    # Compiled within a statement, so that sub-selects correlate with its memories.
    statement: Any = select(literal_column("1")).select_from(_MEMORIES).where(condition)
    written = re.sub(r"(?<!:):(?=[a-z_])", "q.", sql(statement).partition(" WHERE ")[2])
    written = re.sub(r"(q\.\w+)::(?:(?! AS )[A-Z ])+(\[\])?", r"\1", written)
    return re.sub(r"CAST\((q\.\w+) AS TEXT\[\]\)", r"\1", written)


def _tokens() -> str:
    """The estimate of `packing` for the plain style and the default counter."""
    style = styles.named("plain")
    added = style.added([estimated_tokens(sample) for sample in style.samples])
    kind = f"regexp_count(memory_type, {quoted(CATEGORY_PIECES)})"
    return f"""\
    RETURN least(coalesce(tokens, regexp_count(content, {quoted(PIECES)})), {MOST})
         + {added.per_block} + least({kind}, {MAX_CATEGORY_LENGTH})
         + {added.per_line} * regexp_count(content, {quoted(LINE_BREAKS)});
"""


def _conditions() -> str:
    rows = [f"('{name}', $condition${said}$condition$)" for name, said in conditions().items()]
    return indent(",\n".join(rows) + "\n", " " * 8)


_WRITTEN = {"tokens": _tokens, "conditions": _conditions}


def write(folder: Path) -> None:
    """Generates the files of `sql/recall` again."""
    (folder / "arguments").write_text(arguments(), encoding="utf-8")
    for path in folder.glob("*.sql"):
        text = path.read_text(encoding="utf-8")
        path.write_text(rewritten(text), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
