"""Texts that files of `sql/` name between two @, besides the fields of a memory.

@MAX_VALUES@, @MAX_VALUES,@   a limit or known words, and the same as it is read: 1,000
@arguments@                   what recall and others take after the agent; `, k DEFAULT 20`
                              before the second @ gives one of them another default
@passed@                      the agent and the names of these arguments
@filters@, @filtering@        the names of the filters, and the filters as arguments
@filtered@                    the filters as they are passed on: tags => tags
@named_filters@, @sizes@      the name of each filter that is not NULL, and the sizes of lists
@numbers@                     the number of each parameter, as recall passes them
@filtering_numbers@           the same, as list_memories passes them
@fault@, @words@              what question() refuses
@packing@                     the values by which tokens of the plain style are estimated
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from textwrap import fill, indent
from typing import Any, get_args
from uuid import UUID

from pgrecall.context import styles
from pgrecall.core import limits
from pgrecall.core.checks import Count, K, Length, Number, Texts, Words, arguments_of
from pgrecall.core.tokens import PIECES, estimated_tokens
from pgrecall.core.validation import require_aware, require_period
from pgrecall.lifecycle import consolidating
from pgrecall.lifecycle.retention import LEAST_AGE
from pgrecall.lifecycle.using import Feedback, Outcome
from pgrecall.memories import listing
from pgrecall.memories.embed import DuplicatePolicy
from pgrecall.migrate.psql_arguments import DEFAULTS, PsqlArguments, PsqlFilters
from pgrecall.rank_index import strategy
from pgrecall.rank_index.index import EF_CONSTRUCTION, LARGE, LEVELS, M_OF_LARGE, MEASURED_HITS, M
from pgrecall.rank_index.space import (
    AXES_STEP,
    KEPT,
    MAX_FREQUENCY,
    MOST_AXES,
    MOSTLY_ONE,
    REST,
    SIGNAL_AXES,
    VERSION,
)
from pgrecall.schema.composer import RANKING, known_options
from pgrecall.scoring.expression import quoted
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import LONGEST_HALF_LIFE, SHORTEST_HALF_LIFE

_FIRST = {
    "query": "agent_memories.embedding%TYPE DEFAULT NULL",
    "keywords": "text DEFAULT NULL",
    "profile": "text DEFAULT NULL",
    "k": "integer DEFAULT 10",
    "weights": "jsonb DEFAULT NULL",
    "half_life": "float8 DEFAULT NULL",
}
OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists")
_LEFT_OUT = ("where", "dates", "timezone")
"""Arguments that have no meaning in SQL, or stand elsewhere."""
_TYPES: dict[Any, str] = {
    Sequence[str]: "text[]",
    Sequence[str | UUID]: "text[]",
    Mapping[str, Any]: "jsonb",
    Mapping[str, float]: "jsonb",
    tuple[datetime, datetime]: "tstzrange",
    datetime: "timestamptz",
    bool: "boolean",
    int: "integer",
    float: "float8",
    str: "text",
    Profile | str: "text",
}
_LIMITS: Mapping[str, Any] = {
    "MAX_COMPARISONS": 64,
    **{name: one for name, one in vars(strategy).items() if name.isupper()},
    **vars(limits),
    "OPERATORS": OPERATORS,
    "DUPLICATES": get_args(DuplicatePolicy),
    "OUTCOMES": get_args(Outcome),
    "FEEDBACK": get_args(Feedback),
    "MAX_LISTED": listing.MOST,
    "MAX_CURATED": consolidating.MOST,
    "LEAST_AGE": LEAST_AGE,
    "MOSTLY_ONE": MOSTLY_ONE,
    "MAX_FREQUENCY": MAX_FREQUENCY,
    "AXES_STEP": AXES_STEP,
    "MOST_AXES": MOST_AXES,
    "KEPT": KEPT,
    "SIGNAL_AXES": SIGNAL_AXES,
    "REST": REST,
    "SPACE": VERSION,
    "M": M,
    "LARGE": LARGE,
    "M_OF_LARGE": M_OF_LARGE,
    "EF_CONSTRUCTION": EF_CONSTRUCTION,
    "LEVELS": [*map(str, LEVELS)],
    "MEASURED_HITS": MEASURED_HITS,
    "STATEMENTS": RANKING,
    "OPTIONS": (*known_options(), "include_invalid"),
    "SHORTEST_HALF_LIFE": SHORTEST_HALF_LIFE,
    "LONGEST_HALF_LIFE": LONGEST_HALF_LIFE,
    "LONGEST_HOURS": limits.LONGEST_DURATION // timedelta(hours=1),
}
_LIMIT = re.compile(r"@([A-Z_]+)(,?)@")
_ARGUMENTS = re.compile(r"@arguments(?P<others>(?:, \w+ DEFAULT [\w.]+)*)@")


def with_inserted(text: str) -> str:
    """The text of a file with what it names between two @."""
    text = _ARGUMENTS.sub(_arguments, _LIMIT.sub(_limit, text))
    for name, make in _INSERTED.items():
        if name in text:
            text = text.replace(name, make())
    return text


def _limit(match: re.Match[str]) -> str:
    value = _LIMITS[match[1]]
    match value:
        case int():
            return f"{value:,}" if match[2] else str(value)
        case float():
            return f"{value:g}" if match[2] else f"{value!r}::float8"
        case str():
            return "E'" + "".join(f"\\u{ord(one):04x}" for one in value) + "'"
        case datetime():
            return f"{value.date()}" if match[2] else f"'{value.isoformat()}'"
        case timedelta():
            return f"{value.days:,}" if match[2] else f"'{value.days} days'"
    return f"'{{{','.join(value)}}}'"


@cache
def _declared() -> tuple[dict[str, str], dict[str, str]]:
    """Arguments of a search except its owner, with types and defaults; and the filters."""
    table = arguments_of(PsqlArguments)
    types = {
        name: f"{_TYPES[one.type]} DEFAULT {_default(DEFAULTS.get(name))}"
        for name, one in table.items()
        if name not in _LEFT_OUT
    }
    filters = {name: types.pop(name) for name in PsqlFilters.__annotations__ if name in types}
    return _FIRST | {name: kind for name, kind in types.items() if name not in _FIRST}, filters


def _passed() -> list[str]:
    arguments, filters = _declared()
    return ["agent", *arguments, *filters]


def _default(value: object) -> str:
    match value:
        case bool() | int():
            return str(value).lower()
        case ("active",):
            return "'{active}'"
    return "NULL"


def _lines(declared: Mapping[str, str]) -> str:
    return indent(",\n".join(f"{name} {kind}" for name, kind in declared.items()), " " * 4).strip()


def _names(names: Sequence[str]) -> str:
    return indent(fill(", ".join(names), 92), " " * 8).strip()


def _passed_on(names: Iterable[str]) -> str:
    return _names([f"{name} => {name}" for name in names])


def _arguments(found: re.Match[str]) -> str:
    arguments, filters = _declared()
    lines = _lines(arguments | filters)
    for name, default in re.findall(r"(\w+) DEFAULT ([\w.]+)", found["others"]):
        lines = re.sub(rf"\b({name} \w+ DEFAULT) [\w.]+", rf"\1 {default}", lines)
    return lines


def _fault() -> str:
    """The expression that finds what is wrong with the arguments of question(); NULL: nothing."""
    cases = [
        f"WHEN {refused} THEN {quoted(f'{name} {message}')}"
        if shown is None
        else f"WHEN {refused}\n        THEN format({quoted(f'{name} {message}')}, {shown})"
        for name, refused, message, shown in _refused()
    ]
    return "\n        ".join(("CASE", *cases, "END"))


def _refused() -> Iterator[tuple[str, str, str, str | None]]:
    """Argument, the condition that refuses it, the message, and the value to show in it."""
    table = arguments_of(PsqlArguments)
    for name, check in [("k", K), *((name, one.check) for name, one in table.items())]:
        if name in _LEFT_OUT:
            continue
        match check:
            case Count(least, most):
                refused = f"({name} BETWEEN {least} AND {most}) IS NOT TRUE"
                shown = f"coalesce({name}::text, 'NULL')"
                yield name, refused, f"must lie within {least} and {most}, got %s", shown
            case Number(least, most):
                refused = f"{name} NOT BETWEEN {least} AND {most}"
                yield name, refused, f"must lie within {least} and {most}, got %s", name
            case Length(most):
                message = f"may have at most {most:,} characters, got %s: shorten it"
                yield name, f"length({name}) > {most}", message, f"length({name})"
            case Texts(int(most)):
                number = f"cardinality(asked_{name.removeprefix('query_')})"
                yield name, f"{number} > {most}", f"may hold at most {most}, got %s", number
            case _ if check in (require_aware, require_period):
                ends = [name] if check is require_aware else [f"lower({name})", f"upper({name})"]
                message = _limit_of("must lie within @EARLIEST,@ and @LATEST,@, got %s")
                for end in ends:
                    refused = _limit_of(f"{end} NOT BETWEEN @EARLIEST@ AND @LATEST@")
                    yield name, refused, message, end
                if check is require_period:
                    refused = f"{name} IS NOT NULL AND ({ends[0]} < {ends[1]}) IS NOT TRUE"
                    message = "must be a range with a beginning and a later end, got %s"
                    yield name, refused, message, name
    for name, one in table.items():
        if one.needs is not None:
            missing = [f"{other} IS NULL" for other in one.needs.names]
            refused = " AND ".join((f"{name} IS NOT NULL", *missing))
            yield name, refused, one.needs.message, None


def _limit_of(text: str) -> str:
    return _LIMIT.sub(_limit, text)


def _words() -> str:
    """Arguments, their words and the known ones. Those with a default must not be NULL."""
    rows = [
        f"({quoted(name)}, "
        + (f"coalesce({name}, ARRAY[NULL])" if name in DEFAULTS else name)
        + f", ARRAY[{', '.join(map(quoted, one.check.known))}])"
        for name, one in arguments_of(PsqlArguments).items()
        if isinstance(one.check, Words)
    ]
    return ",\n                    ".join(rows)


def _packing() -> str:
    """The values by which tokens are estimated, for the plain style and the default counter."""
    style = styles.chosen("plain")
    added = style.added([estimated_tokens(sample) for sample in style.samples])
    values = {
        "per_block": added.per_block,
        "per_line": added.per_line,
        "per_escape": added.per_escape,
        "pieces": PIECES,
        "category_pieces": styles.CATEGORY.pattern,
        "line_breaks": styles.LINE_BREAK.pattern,
        "escaped": "",
        "most_tokens": 2_000_000_000,
        "longest_kind": styles.MAX_CATEGORY_LENGTH,
        "measured_ids": "{}",
        "measured_costs": "{}",
    }
    pairs = (
        f"{quoted(name)}, {quoted(value) if isinstance(value, str) else value}"
        for name, value in values.items()
    )
    return f"jsonb_build_object({', '.join(pairs)})"


def _numbers() -> str:
    """The numbers of a statement's parameters. An agent may be one of several owners."""
    numbers = _numbered("ranked", "owners", "weighed", "sources", "compared", *_passed())
    period = numbers["query_time"]
    numbers |= {"period_from": f"lower({period})", "period_to": f"upper({period})"}
    numbers |= {"owner_id": numbers["agent"], "worded_owners": numbers["owners"]}
    numbers |= {"naming_text": numbers["keywords"]}
    return _as_jsonb(numbers)


def _filtering_numbers() -> str:
    """The same of a statement that filters, and does not rank."""
    first = "limit", "last", "owner_id", "compared"
    return _as_jsonb(_numbered(*first, *_declared()[1], "as_of"))


def _numbered(*names: str) -> dict[str, str]:
    return {name: f"${number}" for number, name in enumerate(names, start=1)}


def _as_jsonb(numbers: Mapping[str, str]) -> str:
    return f"{quoted(json.dumps(numbers))}::jsonb"


def _named_filters() -> str:
    named = (f"CASE WHEN {name} IS NOT NULL THEN '{name}' END" for name in _declared()[1])
    return ",\n        ".join(named)


def _sizes() -> str:
    declared = _declared()[0] | _declared()[1]
    lists = (name for name, said in declared.items() if said == "text[] DEFAULT NULL")
    return _names([f"cardinality({name})" for name in lists])


_INSERTED: Mapping[str, Callable[[], str]] = {
    "@passed@": lambda: _names(_passed()),
    "@filters@": lambda: _names([*_declared()[1]]),
    "@filtering@": lambda: _lines(_declared()[1]),
    "@filtered@": lambda: _passed_on(_declared()[1]),
    "@named_filters@": _named_filters,
    "@sizes@": _sizes,
    "@numbers@": _numbers,
    "@filtering_numbers@": _filtering_numbers,
    "@fault@": _fault,
    "@words@": _words,
    "@packing@": _packing,
}
