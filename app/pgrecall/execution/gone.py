"""Methods that there were once, and what to use in place of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

GONE: Final[Mapping[str, str]] = {
    "prepare": "search once on each connection",
    "set_importance": "use update(agent_id, memory_id, importance=…)",
    "progress": "rank_indexes.status tells it",
    "check": "use the command `pgrecall index check`",
    "exists": "use get, which returns None if there is none",
    "existing": "use get_many, which returns the memories that there are by their ids",
    "ids": "use resolve(agent_id, prefix_or_key), which returns the id of a memory",
    "vacuum": "use erase(agent_id, memory_ids, vacuum=True), also without ids",
    "metadata_values": "count the values of the column metadata by SQL",
    "telling_terms": "ask the view telling_terms by SQL",
}
"""The name of a method → what to do instead."""


class Advises:
    """Its AttributeError says what to use in place of a method that is gone."""

    if not TYPE_CHECKING:  # or type checkers would take every name

        def __getattr__(self, name: str) -> Any:
            kind = type(self).__name__
            text = f"{kind!r} object has no attribute {name!r}"
            if name in GONE:
                text = f"{kind} has no {name}: {GONE[name]}"
            raise AttributeError(text, name=name, obj=self)
