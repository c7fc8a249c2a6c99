"""The options of a search, made from SearchArguments: an argument written there is an option here.

Its help begins as the argument's docstring does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, tzinfo
from inspect import Parameter
from typing import Annotated, Any, get_args, get_type_hints

from typer.models import OptionInfo

from pgrecall.cli.configuration import VARIABLES
from pgrecall.cli.written import ISO_8601, WRITTEN, argument, option
from pgrecall.core.checks import Argument, Number, Words, arguments_of, descriptions, without_none
from pgrecall.core.dates import Period
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.filters import FilterArguments
from pgrecall.ranking.hits import Strategy
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import BUILT_IN

LEFT_OUT = {
    "where": "SQLAlchemy expressions; the command line takes no SQL, so no shell can inject any"
}
"""Arguments that are no options, and why."""

NAMES = {"memory_types": ("--type",), "profile": ("--profile", "-p"), "query_time": ("--between",)}
"""Argument → its option, where that is not its name, in the singular if it may be repeated."""

WRITTEN_AS = {
    "text": "Such as: cello -piano.",
    "metadata": "Takes KEY=VALUE, or a comparison by != > >= < <=, such as project=quaybook or "
    """'priority>=3', and JSON objects: '{"state": {"$in": ["open", "late"]}}'.""",
    "profile": f"Takes {', '.join(BUILT_IN)}, or a .toml or .json file.",
    "weights": "Takes SIGNAL=NUMBER, such as similarity=0.7, once for each signal; the others get "
    "0, and the sum is 1.",
    "query_time": "Takes two times, such as 2026-11-01 2026-12-01; the end is excluded.",
    "dates": "Takes auto for English, or the code of a language, such as de.",
}
"""Argument → what the help of its option adds to the argument's docstring."""
METAVARS = {
    "query_time": "FROM TO",
    "text": "WORDS",
    "query_text": "WORDS",
    "lend": "SHARE",
    "metadata": "CONDITION",
    "weights": "SIGNAL=NUMBER",
}


def names_of(argument: str, kind: Any) -> tuple[str, ...]:
    """The names of an argument's option."""
    if argument in NAMES:
        return NAMES[argument]
    name = f"--{argument.replace('_', '-')}"
    if kind in WRITTEN and WRITTEN[kind].is_repeated:
        for plural, singular in (("ies", "y"), ("ses", "s"), ("s", "")):
            if name.endswith(plural):
                return (name.removesuffix(plural) + singular,)
    return (f"{name}/--no-{name[2:]}",) if kind is bool else (name,)


def help_of(argument: str) -> str | None:
    """The first sentence of the docstring, the default, and the values that the option takes."""
    if argument not in _SAID:
        return None
    first, *others = re.split(r"(?<=\.) (?=[A-Z0-9{\"])", _SAID[argument])
    said = [first, *(one for one in others if one.startswith("Default:"))]
    match _ARGUMENTS[argument]:
        case Argument(check=Number(least, most)):
            said.append(f"Takes {least} to {most}.")
        case Argument(check=Words(known)):
            said.append(f"Takes {', '.join(known)}.")
        case Argument(type=kind) if kind is datetime:
            said.append(f"Takes {ISO_8601}.")
        case Argument(type=kind) if kind in WRITTEN and WRITTEN[kind].is_repeated:
            said.append("May be repeated.")
    said.append(WRITTEN_AS.get(argument, ""))
    return re.sub(r"`(\w+)`", _as_option, " ".join(said).strip())


def _as_option(found: re.Match[str]) -> str:
    argument = found[1]
    known = _ARGUMENTS.get(argument)
    return argument if known is None else names_of(argument, known.type)[0].partition("/")[0]


def _declared(argument: str, kind: Any) -> Any:
    return option(
        help_of(argument),
        *names_of(argument, kind),
        metavar=METAVARS.get(argument),
        envvar=VARIABLES.get(argument),
        show_default=False,
        rich_help_panel="Filters" if argument in _FILTERS else "Ranking",
    )


def parameters_of(arguments: type) -> Iterator[Parameter]:
    """The arguments of a TypedDict as parameters of a command; what is no option yet becomes one,
    as an argument of a search."""
    for name, annotation in get_type_hints(arguments, include_extras=True).items():
        option: Any = annotation
        told = getattr(annotation, "__metadata__", ())
        if not any(isinstance(one, OptionInfo) for one in told):
            kind = without_none(get_args(annotation)[0] if told else annotation)
            option = Annotated[kind | None, _declared(name, kind)]
        if name not in LEFT_OUT:
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=option)


_FILTERS = FilterArguments.__annotations__
_ARGUMENTS = arguments_of(SearchArguments)
_SAID = {**descriptions(FilterArguments), **descriptions(SearchArguments)}

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
Query = Annotated[str, argument("What to look for.", show_default=False)]
UseIndex = Annotated[Strategy, option("Score every memory, or use the rank index.", "--strategy")]
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
K = Annotated[int, option("How many memories to return.", "-k")]
Limit = Annotated[int, option("How many to list at most.", "--limit", "-n")]
Reason = Annotated[str | None, option("Why, for the history.")]
Actor = Annotated[str | None, option("Who did it, for the history.")]


def between(found: Period | None) -> str:
    """The period that was asked for, to end a line."""
    if found is None:
        return ""
    ends = (f"{one:%Y-%m-%d %H:%M}".removesuffix(" 00:00") for one in found)
    return f", between {' and '.join(ends)}"
