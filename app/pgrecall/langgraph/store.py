"""RecallStore: a store of LangGraph in pgrecall."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Unpack
from uuid import UUID

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from pgrecall.core.ids import id_of_key
from pgrecall.core.limits import STATUSES
from pgrecall.core.memory import Memory, NewMemory
from pgrecall.core.quoting import listed
from pgrecall.core.steps import Embed
from pgrecall.core.validation import require_bool, require_texts
from pgrecall.errors import InputError
from pgrecall.execution import AsyncMemoryRepository, MemoryRepository
from pgrecall.execution.either import Calls, Either, call
from pgrecall.langgraph.items import (
    CONTENT_TYPE,
    conditions,
    expiry,
    is_item,
    item,
    memory_of,
    search_item,
    ttl_of,
)
from pgrecall.langgraph.namespaces import (
    Namespace,
    Owners,
    fixed_labels,
    matching,
    require_labels,
)
from pgrecall.ranking.arguments import SearchArguments, require_known

_PAGE = 10_000
_ITEMS = {"content_types": [CONTENT_TYPE]}
_WHATEVER = {"statuses": STATUSES, "include_invalid": True}
_OURS = ("content_types", "metadata", "statuses", "include_invalid", "teams", "as_of")
"""Arguments of a search that the store needs itself."""

Found = list[tuple[Memory, float | None]]
"""Memories with their scores; None without a query."""


class RecallStore(BaseStore):
    """A LangGraph store whose searches are ranked by pgrecall.

    `repositories` are a MemoryRepository, an AsyncMemoryRepository, or one of each. Without the
    asynchronous one, asynchronous methods run in a thread; without the synchronous one, only
    asynchronous methods work. With `repository.teams`, namespaces belong to teams.

    `fields` are the paths whose texts are embedded and compared with words, such as ["text"];
    "$" is the whole value as JSON. By default these are all texts and numbers of a value.

    `ttl` is LangGraph's TTLConfig. An expired item is not returned, and `sweep_ttl` deletes it.

    `owner_labels` is how many labels of a namespace name the agent that it belongs to. A search in
    a namespace with as many labels is one search of one agent; one with fewer searches each agent
    below. `owner_prefix` precedes the ids of all these agents. Items stored by another rule are
    not found.

    `touch` counts a retrieval of each item that a search returns. The other arguments are those of
    every search: `profile`, `weights`, `min_relevance` and so on (SearchArguments). The score of an
    item is pgrecall's. Without an embedder, a query is compared by its words alone.

    Methods raise what those of the repositories raise, and LangGraph's InvalidNamespaceError.
    """

    supports_ttl = True

    def __init__(
        self,
        *repositories: MemoryRepository | AsyncMemoryRepository,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        owner_labels: int = 2,
        owner_prefix: str = "",
        touch: bool = True,
        **search: Unpack[SearchArguments],
    ) -> None:
        self._either = Either(repositories, type(self).__name__)
        self._fields = require_texts("fields", fields)
        self.ttl_config = ttl
        self._owners = Owners(owner_labels, owner_prefix)
        self._touch = require_bool("touch", touch)
        require_known(search)
        if taken := [name for name in _OURS if name in search]:
            raise InputError(f"{listed(taken)} cannot be set for all searches of a store")
        self._search = search

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Executes operations: first those that read, then those that write.

        Writes to one agent are one transaction. Of several writes to one key, the last wins.
        """
        return self._either.run(self._batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Executes operations, as `batch` does."""
        return await self._either.arun(self._batch(list(ops)))

    def sweep_ttl(self) -> int:
        """Deletes the items that have expired. Returns how many there were."""
        return self._either.run(self._sweep())

    async def asweep_ttl(self) -> int:
        """Deletes the items that have expired. Returns how many there were."""
        return await self._either.arun(self._sweep())

    def _batch(self, ops: list[Op]) -> Calls[list[Result]]:
        results: list[Result] = [None] * len(ops)
        gets: dict[int, GetOp] = {}
        puts: dict[tuple[Namespace, str], PutOp] = {}
        for place, op in enumerate(ops):
            require_labels(op)
            if isinstance(op, GetOp):
                gets[place] = op
            elif isinstance(op, PutOp):
                puts[op.namespace, op.key] = op
            elif not isinstance(op, SearchOp | ListNamespacesOp):
                raise InputError(f"unknown operation {type(op).__name__}")
        if gets:
            yield from self._get(gets, results)
        for place, op in enumerate(ops):
            if isinstance(op, SearchOp):
                results[place] = yield from self._found(op)
            elif isinstance(op, ListNamespacesOp):
                results[place] = yield from self._namespaces(op)
        if puts:
            yield from self._put(puts.values())
        return results

    def _get(self, ops: Mapping[int, GetOp], results: list[Result]) -> Calls[None]:
        places = defaultdict[str, list[tuple[int, UUID]]](list)
        for place, op in ops.items():
            owner = self._owners.owner(op.namespace)
            places[owner].append((place, self._memory_id(op.namespace, op.key)))
        refreshed = []
        for owner, asked in places.items():
            found = yield call("get_many", owner, {memory_id for _, memory_id in asked})
            for place, memory_id in asked:
                memory = found.get(memory_id)
                if memory is not None and is_item(memory):
                    results[place] = item(memory)
                    if ops[place].refresh_ttl:
                        refreshed.append(memory)
        yield from self._refresh(refreshed)

    def _put(self, ops: Iterable[PutOp]) -> Calls[None]:
        puts = defaultdict[str, list[NewMemory]](list)
        deletes = defaultdict[str, list[UUID]](list)
        for op in ops:
            owner = self._owners.owner(op.namespace)
            if op.value is None:
                deletes[owner].append(self._memory_id(op.namespace, op.key))
            else:
                puts[owner].append(self._memory(op))
        for owner, ids in deletes.items():
            yield call("delete", owner, ids)
        for owner, new in puts.items():
            yield call("upsert_many", owner, new) if new[1:] else call("upsert", owner, *new)

    def _found(self, op: SearchOp) -> Calls[list[SearchItem]]:
        if op.limit <= 0:
            return []
        owners = yield from self._owners_below(op.namespace_prefix)
        filters: dict[str, Any] = {
            **_ITEMS,
            "metadata": self._owners.condition(op.namespace_prefix)
            | dict(conditions(op.filter or {})),
        }
        if op.query and op.query.strip():
            found = yield from self._ranked(op, owners, filters)
        else:
            found = yield from self._newest(op, owners, filters)
        if op.refresh_ttl:
            yield from self._refresh(memory for memory, _ in found)
        return [search_item(memory, score) for memory, score in found]

    def _ranked(
        self, op: SearchOp, owners: Sequence[str], filters: Mapping[str, Any]
    ) -> Calls[Found]:
        most, touches_all = op.offset + op.limit, len(owners) == 1 and not op.offset
        arguments = {
            **self._search,
            **filters,
            "query_text": op.query,
            "k": most,
            "touch": self._touch and touches_all,
        }
        query: Any = None
        if self._either.embedder is not None:
            query = op.query
            if len(owners) > 1:  # embedded once for all of them
                embedded = yield call("_embed", Embed((op.query or "",), as_query=True))
                query = embedded.vectors[0]
        hits: list[Any] = []
        for owner in owners:
            hits += yield call("search", owner, query, **arguments)
        if not touches_all:
            hits.sort(key=lambda hit: (-hit.score, hit.memory.id))
            hits = hits[op.offset : most]
        if self._touch and not touches_all:
            for owner, ids in _by_owner(hit.memory for hit in hits).items():
                yield call("touch", owner, ids)
        return [(hit.memory, hit.score) for hit in hits]

    def _newest(
        self, op: SearchOp, owners: Sequence[str], filters: Mapping[str, Any]
    ) -> Calls[Found]:
        """Without a query, items come in the order of their last change."""
        most = op.offset + op.limit
        memories: list[Memory] = []
        for owner in owners:
            left, after = most, None
            while left > 0:
                limits = {"limit": min(left, _PAGE), "after": after}
                page = yield call("list", owner, order="-updated_at", **limits, **filters)
                memories += page
                left, after = left - len(page), page.next
                if after is None:
                    break
        if len(owners) > 1:
            memories.sort(key=lambda memory: memory.updated_at, reverse=True)
        return [(memory, None) for memory in memories[op.offset : most]]

    def _namespaces(self, op: ListNamespacesOp) -> Calls[list[Namespace]]:
        matches = op.match_conditions or ()
        found: set[Namespace] = set()
        for owner in (yield from self._owners_below(fixed_labels(matches))):
            counted = yield call("upkeep.metadata_values", owner, "namespace", **_ITEMS)
            found |= {tuple(labels) for labels, _ in counted}
        shown = {namespace[: op.max_depth] for namespace in found if matching(matches, namespace)}
        return sorted(shown)[op.offset : op.offset + op.limit]

    def _sweep(self) -> Calls[int]:
        deleted, now = 0, datetime.now(UTC)
        for owner in (yield from self._owners_below(())):
            expired = self._either.memories.c.expires_at <= now
            deleted += yield call("delete", owner, where=expired, **_WHATEVER, **_ITEMS)
        return deleted

    def _refresh(self, memories: Iterable[Memory]) -> Calls[None]:
        """Begins the time to live of these memories anew, of those that have one."""
        by_ttl = defaultdict[float, list[Memory]](list)
        for memory in memories:
            if (minutes := ttl_of(memory)) is not None:
                by_ttl[minutes].append(memory)
        for minutes, lasting in by_ttl.items():
            expires_at = expiry(minutes)
            for owner, ids in _by_owner(lasting).items():
                yield call("upkeep.extend_expiry", owner, ids, expires_at=expires_at)

    def _owners_below(self, prefix: Namespace) -> Calls[list[str]]:
        """The agents that may have items in namespaces that begin so."""
        if len(prefix) >= self._owners.labels:
            return [self._owners.owner(prefix)]
        found: list[str] = []
        after: str | None = None
        while True:
            beginning = self._owners.beginning(prefix)
            page = yield call("owners", prefix=beginning, limit=_PAGE, after=after)
            found += (one.agent_id or one.team_id for one in page)
            if (after := page.next) is None:
                return [owner for owner in found if self._owners.has_below(owner, prefix)]

    def _memory(self, op: PutOp) -> NewMemory:
        key = self._owners.key(op.namespace, op.key)
        return memory_of(op, key, self._fields, has_embedder=self._either.embedder is not None)

    def _memory_id(self, namespace: Namespace, key: str) -> UUID:
        owner = self._either.prefix + self._owners.owner(namespace)
        return id_of_key(owner, self._owners.key(namespace, key))


def _by_owner(memories: Iterable[Memory]) -> dict[str, list[UUID]]:
    """Ids by the owner, as methods of the repository take it."""
    found = defaultdict[str, list[UUID]](list)
    for memory in memories:
        found[memory.agent_id or memory.team_id or ""].append(memory.id)
    return found
