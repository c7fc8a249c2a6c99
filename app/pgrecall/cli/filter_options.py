"""--filter and its shortcuts: the options that become the `filter` of a method."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from inspect import Parameter
from typing import Annotated, Any

from pgrecall.cli.parsers import ISO_8601, option
from pgrecall.core.limits import STATUSES


def _parameter(name: str, kind: Any, help_: str, *names: str, **more: Any) -> Parameter:
    declared = option(help_, *names, rich_help_panel="Filters", **more)
    annotation = Annotated[kind | None, declared]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


_ANY = "May be repeated: any of them."
FILTERS = (
    _parameter(
        "filter",
        list[dict[str, Any]],
        'Only memories that pass this filter, such as \'{"metadata.priority": {"$gte": 3}, "$not": '
        '{"tags": "draft"}}\'. Keys are fields of a memory, counters such as retrieval_count, '
        "metadata.PATH, provenance.NAME, similarity, decayed_trust, $and, $or and $not. May be "
        "repeated: all must pass, also with the options below.",
        metavar="JSON",
    ),
    _parameter("memory_type", list[str], f"Only this type, such as fact. {_ANY}", "--type"),
    _parameter("tags", list[str], f"Only memories with this tag. {_ANY}", "--tag"),
    _parameter("session", list[str], f"Only memories of this session. {_ANY}", "--session"),
    _parameter("since", datetime, f"Only memories created then or later: {ISO_8601}."),
    _parameter("until", datetime, "Only memories created before this time."),
    _parameter(
        "status",
        list[str],
        f"Only this status: {', '.join(STATUSES)}. {_ANY} Implies --include-inactive.",
        "--status",
    ),
)


def with_filter(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, in which `filter` stands for --filter and its shortcuts."""
    written = {one.name: arguments[one.name] for one in FILTERS}
    others = {name: value for name, value in arguments.items() if name not in written}
    if written["status"]:
        others["include_inactive"] = True
    parts = written.pop("filter") or []
    ends = {"$gte": written.pop("since"), "$lt": written.pop("until")}
    written["created_at"] = {operator: end for operator, end in ends.items() if end is not None}
    parts += [{key: value} for key, value in written.items() if value]
    return others | {"filter": parts[0] if len(parts) == 1 else {"$and": parts} if parts else None}
