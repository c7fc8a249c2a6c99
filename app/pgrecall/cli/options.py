"""The options of a search, made from SearchArguments: an argument written there is an option here.

Only its help is written here; `tests/unit/test_search_options.py` finds what has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from inspect import Parameter
from typing import Annotated, Any, get_args, get_type_hints

from typer.models import OptionInfo

from pgrecall.cli.configuration import VARIABLES
from pgrecall.cli.written import ISO_8601, WRITTEN, argument, option
from pgrecall.core.checks import without_none
from pgrecall.core.dates import Period
from pgrecall.core.limits import LABEL_KINDS, STATUSES, TIERS
from pgrecall.ranking.filters import FilterArguments
from pgrecall.ranking.hits import Strategy
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import BUILT_IN, DEFAULT

LEFT_OUT = {
    "where": "SQLAlchemy expressions; the command line takes no SQL, so no shell can inject any"
}
"""Arguments that are no options, and why."""

NAMES = {"memory_types": ("--type",), "profile": ("--profile", "-p"), "query_time": ("--between",)}
"""Argument → its option, where that is not its name, in the singular if it may be repeated."""

HELP = {
    "memory_types": "Only memories of this type: fact, preference, task …",
    "memory_natures": "Only memories of this nature: semantic, episodic, procedural …",
    "content_types": "Only memories with content of this form, such as text/markdown.",
    "tiers": f"Only memories in this tier: {', '.join(TIERS)}.",
    "tags": "Only memories with this tag. Repeated: with any of them.",
    "all_tags": "Only memories with this tag. Repeated: with all of them.",
    "entities": "Only memories about this entity. Repeated: about any of them.",
    "all_entities": "Only memories about this entity. Repeated: about all of them.",
    "labels": "Only memories with this label. Repeated: with any of them.",
    "label_kinds": f"Match --label only with labels of this kind: {', '.join(LABEL_KINDS)}.",
    "text": 'Only memories that contain these words. Understands "a phrase", or, and -without, '
    "such as: cello -piano.",
    "metadata": "Only memories with this metadata: KEY=VALUE, or a comparison by != > >= < <=, "
    "such as: project=quaybook, 'priority>=3'. Takes JSON objects, too: "
    """'{"state": {"$in": ["open", "late"]}}'.""",
    "created_after": f"Only memories created at this time or later: {ISO_8601}.",
    "created_before": "Only memories created before this time.",
    "components": "Only memories produced by this component.",
    "output_types": "Only memories with this type of output.",
    "domains": "Only memories of this domain.",
    "categories": "Only memories of this category.",
    "loops": "Only memories of this loop.",
    "compliant": "Only memories that passed governance, or only those that did not.",
    "needs_review": "Only memories that feedback called outdated, or only others.",
    "min_trust": "Only memories with at least this trust, 0 to 1, after decay.",
    "statuses": f"Only memories with this status: {', '.join(STATUSES)}. Default: active.",
    "include_invalid": "Include memories that are not yet valid, no longer valid, or expired.",
    "profile": f"How to rank: {', '.join(BUILT_IN)}, or a .toml or .json file. "
    f"Default: that of `pgrecall profiles default`, at first {DEFAULT.name}.",
    "weights": "Weigh a signal by this share, such as: similarity=0.7. Repeat it for each signal; "
    "the others weigh 0, and the sum is 1.",
    "normalise_weights": "Divide the weights by their sum.",
    "min_score": "Leave out memories with a lower score, 0 to 1.",
    "min_similarity": "Leave out memories whose cosine with the query is lower, -1 to 1.",
    "min_relevance": "Leave out memories that are less relevant to the query, 0 to 1: by "
    "similarity and words, on one scale for every profile.",
    "teams": "Search the memories of this team, too.",
    "query_entities": "An entity that the query is about. Default: found in its text.",
    "query_text": "Words for the keyword signal. Default: the query itself.",
    "query_time": "The period that the query is about; the end is excluded. Two times, such as "
    "2026-11-01 2026-12-01.",
    "dates": "Find the period in the query, such as “last week”: auto for English, or a language "
    "code, such as de.",
    "timezone": "Your time zone, such as Europe/Berlin, for dates and for times without a zone. "
    "Default: UTC.",
    "apply_decay": "Use trust after decay, or as it is stored.",
    "expand_session": "Add this many turns before and after each hit of a session.",
    "lend": "Rank the turns of --expand-session instead of adding them, each raised by this share "
    "of the best hit beside it; between 0 and 1.",
    "as_of": f"Search as of this time: {ISO_8601}. Ages are measured from it, and memories created "
    "later are hidden.",
}
"""Argument → the help of its option."""
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


def _declared(argument: str, kind: Any) -> Any:
    return option(
        HELP.get(argument),
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

Zone = Annotated[
    str | tzinfo | None,
    option(
        HELP["timezone"],
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
