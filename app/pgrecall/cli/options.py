"""Options and arguments of commands, by the names that methods of the repository have for them.

Fields of a memory are explained by the comments in `schema.fields`.
"""

from __future__ import annotations

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
from pgrecall.cli.filter_options import FILTERS
from pgrecall.cli.parsers import ISO_8601, PARSERS, argument, option
from pgrecall.context.styles import Style
from pgrecall.core.memory import NewMemoryFields, Unset
from pgrecall.schema.fields import FIELDS
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import BUILT_IN

_COMMENTS = {field.name: field.comment for field in FIELDS}
_PAIRS = """Takes KEY=VALUE, such as project=quaybook, and JSON objects: '{"steps": [1, 2]}'."""


def parameter(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
    """A parameter of a command."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def parameters_of(declared: type) -> Iterator[Parameter]:
    """The keys of a TypedDict as parameters of a command: fields of a memory, or arguments of a
    search."""
    for name, hint in get_type_hints(declared, include_extras=True).items():
        if name == "filter":
            yield from FILTERS
        elif declared is not NewMemoryFields:
            kind, info = get_args(annotated(name, hint))
            yield parameter(name, Annotated[kind | None, info], None)
        elif name != "embedding":  # --vector
            yield parameter(name, _field_option(name, value_type(hint)), None)


def _field_option(name: str, kind: Any) -> Any:
    """The option of a field of a new memory."""
    comment = _COMMENTS[name].replace("NULL", "default")
    sentences = [comment[0].upper() + comment[1:]]
    if kind == Mapping[str, Any]:
        sentences.append(_PAIRS)
    if kind is datetime:
        sentences.append(f"Takes {ISO_8601}.")
    if kind in PARSERS and PARSERS[kind].is_repeated:
        sentences.append("May be repeated.")
    declared = option(
        " ".join(sentences),
        _name_of_field(name, kind),
        metavar="KEY=VALUE" if kind == Mapping[str, Any] else None,
        rich_help_panel="Fields of the memory",
    )
    return Annotated[kind | None, declared]


def _name_of_field(name: str, kind: Any) -> str:
    """The name of a field's option: in the singular if it may be repeated."""
    option_name = f"--{'type' if name == 'memory_type' else name.replace('_', '-')}"
    if kind == Sequence[str]:
        for plural, singular in (("ies", "y"), ("s", "")):
            if option_name.endswith(plural):
                return option_name.removesuffix(plural) + singular
    return f"{option_name}/--no-{option_name[2:]}" if kind is bool else option_name


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
    Mapping[str, Any] | None, option(f"Metadata of the event. {_PAIRS}", metavar="KEY=VALUE")
]
Zone = Annotated[
    str | tzinfo | None,
    option(
        "Time zone of times that have none and of days in texts, such as Europe/Berlin. "
        "Default: UTC.",
        "--timezone",
        envvar=VARIABLES["timezone"],
        show_default=False,
        rich_help_panel="Common",
    ),
]


def _ranking(help_: str, *names: str, **more: Any) -> Any:
    return option(help_, *names, show_default=False, rich_help_panel="Ranking", **more)


OPTIONS: Mapping[str, Any] = {
    "agent_id": Agent,
    "memory_id": MemoryId,
    "memory_ids": Annotated[list[UUID], _IDS],
    "source_id": Annotated[UUID, argument("Memory that the link starts from.", metavar="SOURCE")],
    "target_id": Annotated[UUID, argument("Memory that the link leads to.", metavar="TARGET")],
    "memory": argument("Text of the memory; - reads it from standard input.", metavar="TEXT"),
    "query": Query,
    "rerank": RERANKER,
    "include_inactive": option(
        "Look at every memory, also at those that are not active or not valid.",
        "--include-inactive",
        rich_help_panel="Filters",
    ),
    "profile": _ranking(
        f"How to rank: {', '.join(BUILT_IN)}, or a .toml or .json file. Default: the database's "
        "(`pgrecall profiles default`), or else hybrid.",
        "--profile",
        "-p",
        envvar=VARIABLES["profile"],
    ),
    "weights": _ranking(
        "Weight of a signal, such as similarity=0.7. May be repeated: these replace the profile's "
        "weights, and must sum to 1.",
        "--weight",
        metavar="SIGNAL=NUMBER",
    ),
    "min_score": _ranking("Leave out memories with a lower score, 0 to 1."),
    "min_relevance": _ranking("Leave out memories with a lower relevance, 0 to 1."),
    "teams": _ranking("Rank this team's memories, too. May be repeated.", "--team"),
    "entities": _ranking(
        "An entity that the query is about. May be repeated. Default: the known ones that occur in "
        "it.",
        "--entity",
    ),
    "keywords": _ranking("Text to compare by words. Default: the query.", metavar="WORDS"),
    "period": _ranking(
        "The period that the query is about: two times, such as 2026-11-01..2026-12-01, the end "
        "excluded; auto, to find it in an English query; the code of another language, such as de; "
        "or none. Default: auto."
    ),
    "surrounding_turns": _ranking(
        "Add up to this many turns before and after each hit, from its session."
    ),
    "as_of": option(
        f"When ages, validity and expiry are determined: {ISO_8601}. Default: now.",
        show_default=False,
    ),
    "timezone": Zone,
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
    kind, declared = value_type(hint), declared or OPTIONS[name]
    if not isinstance(declared, OptionInfo | ArgumentInfo):
        return declared
    return Annotated[kind if kind == hint else kind | None, declared]
