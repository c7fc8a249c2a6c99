"""Options and arguments of commands, by the names that methods of the repository have for them.

What the package explains elsewhere is taken from there: the arguments of a search from
`SearchArguments`, the fields of a memory from `schema.fields`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import reduce
from inspect import Parameter
from operator import or_
from types import NoneType
from typing import Annotated, Any, get_args, get_type_hints
from uuid import UUID

from typer.models import ArgumentInfo, OptionInfo

from pgrecall.cli.configuration import VARIABLES
from pgrecall.cli.database import Agent
from pgrecall.cli.embedding import RERANKER
from pgrecall.cli.parsers import ISO_8601, PARSERS, argument, option
from pgrecall.context.styles import Style
from pgrecall.core.checks import Argument, Number, Words, arguments_of, descriptions
from pgrecall.core.memory import NewMemoryFields, Unset
from pgrecall.core.rerankers import Rerank, Reranker
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.filters import FilterArguments
from pgrecall.schema.fields import FIELDS
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import BUILT_IN

LEFT_OUT = {
    "where": "SQLAlchemy expressions; the command line takes no SQL, so no shell can inject any"
}
"""Arguments of a search that are no options, and why."""

NAMES = {
    "memory_type": ("--type",),
    "memory_types": ("--type",),
    "profile": ("--profile", "-p"),
    "query_time": ("--between",),
}
"""Argument → its option, where that is not its name, in the singular if it may be repeated."""

WRITTEN_AS = {
    "text": "Such as: cello -piano.",
    "metadata": "Takes KEY=VALUE, or a comparison by != > >= < <=, such as project=quaybook or "
    """'priority>=3', and JSON objects: '{"state": {"$in": ["open", "late"]}}'.""",
    "weights": "Takes SIGNAL=NUMBER, such as similarity=0.7, once for each signal; the others get "
    "0, and the sum is 1.",
    "query_time": "Takes two times, such as 2026-11-01 2026-12-01; the end is excluded.",
    "dates": "Takes auto for English, the code of a language, such as de, or off.",
}
"""Argument → what the help of its option adds to the argument's docstring."""
IN_OTHER_WORDS = {
    "profile": f"How to rank: {', '.join(BUILT_IN)}, or a .toml or .json file. Default: the "
    "database's (`pgrecall profiles default`), or else hybrid.",
    "timezone": "Time zone of times that have none and of days in texts, such as Europe/Berlin. "
    "Default: UTC.",
}
"""Argument → the help of its option, where its docstring is about Python."""
METAVARS = {
    "query_time": "FROM TO",
    "text": "WORDS",
    "keywords": "WORDS",
    "metadata": "CONDITION",
    "weights": "SIGNAL=NUMBER",
}

_FILTERS = FilterArguments.__annotations__
SEARCH = arguments_of(SearchArguments)
"""Argument of a search → its type and its check."""
_DOCSTRINGS = {**descriptions(FilterArguments), **descriptions(SearchArguments)}
_COMMENTS = {field.name: field.comment for field in FIELDS}
_PAIRS = """Takes KEY=VALUE, such as project=quaybook, and JSON objects: '{"steps": [1, 2]}'."""


def names_of(argument: str, kind: Any) -> tuple[str, ...]:
    """The names of an argument's option."""
    if argument in NAMES:
        return NAMES[argument]
    name = f"--{argument.replace('_', '-')}"
    if kind in PARSERS and PARSERS[kind].is_repeated:
        for plural, singular in (("ies", "y"), ("ses", "s"), ("s", "")):
            if name.endswith(plural):
                return (name.removesuffix(plural) + singular,)
    return (f"{name}/--no-{name[2:]}",) if kind is bool else (name,)


def help_of(argument: str) -> str:
    """The first sentence of the docstring, the default, and the values that the option takes."""
    if argument in IN_OTHER_WORDS:
        return IN_OTHER_WORDS[argument]
    first, *others = re.split(r"(?<=\.) (?=[A-Z0-9{\"])", _DOCSTRINGS.get(argument, ""))
    sentences = [first, *(one for one in others if one.startswith("Default:"))]
    match SEARCH.get(argument):
        case Argument(check=Number(least, most)):
            sentences.append(f"Takes {least} to {most}.")
        case Argument(check=Words(known)):
            sentences.append(f"Takes {', '.join(known)}.")
        case Argument(type=kind) if kind is datetime:
            sentences.append(f"Takes {ISO_8601}.")
        case Argument(type=kind) if kind in PARSERS and PARSERS[kind].is_repeated:
            sentences.append("May be repeated.")
    sentences.append(WRITTEN_AS.get(argument, ""))
    return re.sub(r"`(\w+)`", _as_option, " ".join(sentences).strip())


def _as_option(match: re.Match[str]) -> str:
    name = match[1]
    known = SEARCH.get(name)
    return name if known is None else names_of(name, known.type)[0].partition("/")[0]


def parameter(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
    """A parameter of a command."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def parameters_of(declared: type) -> Iterator[Parameter]:
    """The keys of a TypedDict as parameters of a command.

    A key without an option gets one: that of a memory's field, or of an argument of a search.
    """
    make = _field_option if declared is NewMemoryFields else search_option
    for name, hint in get_type_hints(declared, include_extras=True).items():
        extras = getattr(hint, "__metadata__", ())
        if not any(isinstance(one, OptionInfo) for one in extras):
            hint = make(name, value_type(hint))
        if name not in LEFT_OUT and (make, name) != (_field_option, "embedding"):  # --vector
            yield parameter(name, hint, None)


def search_option(name: str, kind: Any) -> Any:
    """The option of an argument of a search."""
    declared = option(
        help_of(name) or None,
        *names_of(name, kind),
        metavar=METAVARS.get(name),
        envvar=VARIABLES.get(name),
        show_default=False,
        rich_help_panel="Filters" if name in _FILTERS else "Ranking",
    )
    return Annotated[kind | None, declared]


def _field_option(name: str, kind: Any) -> Any:
    """The option of a field of a new memory."""
    comment = _COMMENTS[name].replace("NULL", "default")
    sentences = [comment[0].upper() + comment[1:]]
    metavar = None
    if kind == Mapping[str, Any]:
        kind, metavar = dict[str, Any], "KEY=VALUE"
        sentences.append(_PAIRS)
    if kind is datetime:
        sentences.append(f"Takes {ISO_8601}.")
    if kind in PARSERS and PARSERS[kind].is_repeated:
        sentences.append("May be repeated.")
    names, panel = names_of(name, kind), "Fields of the memory"
    declared = option(" ".join(sentences), *names, metavar=metavar, rich_help_panel=panel)
    return Annotated[kind | None, declared]


def value_type(hint: Any) -> Any:
    """The type of a value as a command takes it, without None and UNSET."""
    kind = get_args(hint)[0] if hasattr(hint, "__metadata__") else hint
    kinds = get_args(kind)
    others = [one for one in kinds if one is not NoneType and Unset.UNSET not in get_args(one)]
    if others and len(others) < len(kinds):
        kind = reduce(or_, others)
    return _SIMPLER.get(kind, kind)


_SIMPLER: Mapping[Any, Any] = {
    UUID | str: str,
    Style | str: str,
    str | Sequence[str]: Sequence[str],
}
"""Type of an argument → that of its option."""

Query = Annotated[str, argument("What to look for.", show_default=False)]
Profiles = Annotated[
    list[Profile] | None,
    option(
        f"A profile: {', '.join(BUILT_IN)}, or a .toml or .json file. May be repeated, or "
        "several be given with commas between them. Default: all built-in ones.",
        "--profile",
        "-p",
        metavar="PROFILE",
        show_default=False,
    ),
]
MemoryId = Annotated[
    UUID, argument("Id of the memory, enough of its first digits, or its key.", metavar="ID")
]
_IDS = argument("Ids of memories, enough of their first digits, or their keys.", metavar="ID…")
OptionalIds = Annotated[list[UUID] | None, _IDS]
Metadata = Annotated[
    dict[str, Any] | None, option(f"Metadata of the event. {_PAIRS}", metavar="KEY=VALUE")
]
Zone = Annotated[
    str | tzinfo | None,
    option(
        help_of("timezone"),
        "--timezone",
        envvar=VARIABLES["timezone"],
        show_default=False,
        rich_help_panel="Common",
    ),
]

Reranking = Annotated[Rerank | Reranker | bool | None, RERANKER]

OPTIONS: Mapping[str, Any] = {
    "agent_id": Agent,
    "memory_id": MemoryId,
    "memory_ids": Annotated[list[UUID], _IDS],
    "source_id": Annotated[UUID, argument("Memory that the link starts from.", metavar="SOURCE")],
    "target_id": Annotated[UUID, argument("Memory that the link leads to.", metavar="TARGET")],
    "memory": argument("Text of the memory; - reads it from standard input.", metavar="TEXT"),
    "query": Query,
    "rerank": Reranking,
    "k": option("How many memories to return at most.", "-k"),
    "diversity": option("Rank memories lower that are similar to those above, 0 to 1."),
    "limit": option("How many to list at most.", "--limit", "-n"),
    "after": option("Continue a list: what the page before named.", metavar="CURSOR"),
    "strategy": option("Score every memory, or use the rank index."),
    "touch": option("Count this as a retrieval of the memories."),
    "key": option("Your name for it: repeated under it, it counts once."),
    "reason": option("Why, for the history."),
    "actor": option("Who did it, for the history."),
    "run": option("Where it comes from, such as a conversation, for the history."),
    "metadata": Metadata,
    "check_compliance": option("Refuse a memory that is not compliant."),
    "dry_run": option("Count, but change nothing."),
    "weight": option("How strong it is, 0 to 1."),
    "min_size": option("Smallest size of a cluster."),
    "more_than": option("Skip agents with this many active memories or fewer."),
    "newest": option("Compare this many of the newest memories."),
    "seed": option("Seed of the random numbers."),
    "at_least": option("Only agents with this many memories or more."),
    "m": option("HNSW: links of each node; over 250,000 memories at least 24.", "--m"),
    "ef_construction": option("HNSW: candidates looked at for each node while building."),
}
"""Argument of a method → its option or argument, alone or beside another type than the method's."""


def annotated(name: str, hint: Any, declared: Any = None) -> Any:
    """The type and option of a method's argument; `declared` precedes that of OPTIONS."""
    kind = value_type(hint)
    declared = declared or OPTIONS.get(name)
    if declared is None:
        return search_option(name, kind)
    if not isinstance(declared, OptionInfo | ArgumentInfo):
        return declared
    return Annotated[kind if kind == hint else kind | None, declared]
