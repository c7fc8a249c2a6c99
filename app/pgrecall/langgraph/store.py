"""RecallStore: a store of LangGraph in pgrecall."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Unpack
from uuid import UUID

from langgraph.store import base

from pgrecall.core.memory import Memory
from pgrecall.core.quoting import listed
from pgrecall.core.steps import Ask
from pgrecall.core.validation import require_bool
from pgrecall.errors import InputError
from pgrecall.execution import AsyncMemoryRepository, MemoryRepository
from pgrecall.execution.method import Namespace as Methods
from pgrecall.execution.method import R_co, method
from pgrecall.execution.repository_pair import Call, Calls, RepositoryPair, all_pages, call
from pgrecall.langgraph import items
from pgrecall.langgraph.items import Items, Namespace
from pgrecall.memories.item_rules import CONTENT_TYPE, OWNER_LABELS
from pgrecall.memories.listing import OwnerCount, metadata_values
from pgrecall.ranking.arguments import SearchArguments, require_known
from pgrecall.ranking.filter_keys import on_metadata

_OURS = ("filter", "include_inactive", "teams", "as_of")
"""Arguments of a search that the store needs itself."""

Found = tuple[list[tuple[Memory, float | None]], bool | None]
"""Memories with their scores, None without a query; and `is_relevant`, as Hits have it."""


class _Values(Methods[R_co]):
    of = method(lambda: metadata_values)


def _namespaces(owner: str, repository: Any) -> Any:
    return _Values(repository).of(owner, "namespace", content_types=[CONTENT_TYPE])


class RecallStore(base.BaseStore):
    """A LangGraph store whose searches are ranked by pgrecall.

    `repositories` are a MemoryRepository, an AsyncMemoryRepository, or one of each. Without the
    asynchronous one, asynchronous methods run in a thread; without the synchronous one, only
    asynchronous methods work. With `repository.teams`, namespaces belong to teams.

    `fields` are the paths whose texts are embedded and compared with words, such as ["text"];
    "$" is the whole value as JSON. By default these are all texts and numbers of a value.

    `ttl` is LangGraph's TTLConfig. `owner_labels` is how many labels of a namespace name its agent;
    a search in one with fewer searches each agent below. `owner_prefix` precedes the ids of all
    these agents. `touch` counts a retrieval of each item that a search returns. The other arguments
    are those of every search (SearchArguments).

    Methods raise what those of the repositories raise, and LangGraph's InvalidNamespaceError.
    """

    supports_ttl = True

    def __init__(
        self,
        *repositories: MemoryRepository | AsyncMemoryRepository,
        fields: Sequence[str] | None = None,
        ttl: base.TTLConfig | None = None,
        owner_labels: int = OWNER_LABELS,
        owner_prefix: str = "",
        touch: bool = True,
        **search: Unpack[SearchArguments],
    ) -> None:
        self._either = RepositoryPair(repositories, type(self).__name__)
        self._items = Items(owner_labels, owner_prefix, fields, self._either)
        self.ttl_config = ttl
        self._touch = require_bool("touch", touch)
        require_known(search)
        if reserved := [name for name in _OURS if name in search]:
            raise InputError(f"{listed(reserved)} cannot be set for all searches of a store")
        self._search = search

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Executes operations: first those that read, then those that write.

        Writes to one agent are one transaction. Of several writes to one key, the last wins.
        """
        return self._either.run(self._batch(list(ops)))

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Executes operations, as `batch` does."""
        return await self._either.arun(self._batch(list(ops)))

    def sweep_ttl(self) -> int:
        """Deletes the items that have expired. Returns how many there were."""
        return self._either.run(self._sweep())

    async def asweep_ttl(self) -> int:
        """Deletes the items that have expired. Returns how many there were."""
        return await self._either.arun(self._sweep())

    def _batch(self, ops: list[base.Op]) -> Calls[list[base.Result]]:
        for op in ops:
            if not isinstance(op, base.GetOp | base.PutOp | base.SearchOp | base.ListNamespacesOp):
                raise InputError(f"unknown operation {type(op).__name__}")
        gets = {place: op for place, op in enumerate(ops) if isinstance(op, base.GetOp)}
        puts = {(op.namespace, op.key): op for op in ops if isinstance(op, base.PutOp)}
        writes = self._writes(puts.values())
        results: list[base.Result] = [None] * len(ops)
        yield from self._get(gets, results)
        for place, op in enumerate(ops):
            if isinstance(op, base.SearchOp):
                results[place] = yield from self._found(op)
            elif isinstance(op, base.ListNamespacesOp):
                results[place] = yield from self._namespaces(op)
        for write in writes:  # noqa: UP028  a list cannot be sent results
            yield write
        return results

    def _get(self, ops: Mapping[int, base.GetOp], results: list[base.Result]) -> Calls[None]:
        addresses = {place: self._items.address(op) for place, op in ops.items()}
        memories: dict[UUID, Memory] = {}
        for owner, ids in _grouped(addresses.values()).items():
            memories |= yield call("get_many", owner, ids)
        refreshed = []
        for place, (_, memory_id) in addresses.items():
            memory = memories.get(memory_id)
            if memory is not None and items.is_item(memory):
                results[place] = base.Item(**items.fields(memory))
                if ops[place].refresh_ttl:
                    refreshed.append(memory)
        yield from self._refresh(refreshed)

    def _writes(self, ops: Iterable[base.PutOp]) -> list[Call]:
        gone = _grouped(self._items.address(op) for op in ops if op.value is None)
        puts = _grouped(self._items.memory(op) for op in ops if op.value is not None)
        return [call("delete", owner, ids) for owner, ids in gone.items()] + [
            call("upsert_many", owner, new) if new[1:] else call("upsert", owner, *new)
            for owner, new in puts.items()
        ]

    def _found(self, op: base.SearchOp) -> Calls[list[base.SearchItem]]:
        if op.limit <= 0:
            return []
        owners = yield from self._owners_below(op.namespace_prefix)
        within = self._items.condition(op.namespace_prefix)
        if op.filter:
            within = {"$and": [within, on_metadata(op.filter, "metadata.value")]}
        find = self._ranked if op.query and op.query.strip() else self._newest
        hits, is_relevant = yield from find(op, owners, within)
        if op.refresh_ttl:
            yield from self._refresh(memory for memory, _ in hits)
        found = (base.SearchItem(**items.fields(memory), score=score) for memory, score in hits)
        return items.FoundItems(found, is_relevant=is_relevant)

    def _ranked(self, op: base.SearchOp, owners: list[str], within: dict[str, Any]) -> Calls[Found]:
        most, is_complete = op.offset + op.limit, len(owners) == 1 and not op.offset
        arguments = {**self._search, "filter": within, "keywords": op.query, "k": most}
        query: Any = None if self._either.embedder is None else op.query
        if query is not None and len(owners) > 1:  # embedded once for all of them
            query = (yield call("_ask", Ask("embed_query", (query,)))).vectors[0]
        hits: list[Any] = []
        is_relevant: set[bool | None] = set()
        for owner in owners:
            touch = self._touch and is_complete
            of_owner = yield call("search", owner, query, touch=touch, **arguments)
            hits += of_owner
            is_relevant.add(of_owner.is_relevant)
        if not is_complete:
            hits = sorted(hits, key=lambda hit: (-hit.score, hit.memory.id))[op.offset : most]
            touched = _grouped((_owner(hit.memory), hit.memory.id) for hit in hits if self._touch)
            for owner, ids in touched.items():
                yield call("touch", owner, ids)
        is_any = True if True in is_relevant else False if False in is_relevant else None
        return [(hit.memory, hit.score) for hit in hits], is_any

    def _newest(self, op: base.SearchOp, owners: list[str], within: dict[str, Any]) -> Calls[Found]:
        """Without a query, items come in the order of their last change."""
        most = op.offset + op.limit
        newest: list[Memory] = []
        for owner in owners:
            listed = all_pages("list", owner, most=most, order="-updated_at", filter=within)
            newest += yield from listed
        newest.sort(key=lambda memory: memory.updated_at, reverse=True)
        return [(memory, None) for memory in newest[op.offset : most]], None

    def _namespaces(self, op: base.ListNamespacesOp) -> Calls[list[Namespace]]:
        matches = op.match_conditions or ()
        paths: set[Namespace] = set()
        for owner in (yield from self._owners_below(items.fixed_labels(matches))):
            values = yield partial(_namespaces, owner)
            paths |= {tuple(labels) for labels in values}
        shown = {ns[: op.max_depth] for ns in paths if all(items.matching(m, ns) for m in matches)}
        return sorted(shown)[op.offset : op.offset + op.limit]

    def _sweep(self) -> Calls[int]:
        deleted, expired = 0, {**items.IS_ITEM, "expires_at": {"$lte": datetime.now(UTC)}}
        for owner in (yield from self._owners_below(())):
            deleted += yield call("delete", owner, filter=expired, include_inactive=True)
        return deleted

    def _refresh(self, memories: Iterable[Memory]) -> Calls[None]:
        """Begins the time to live of these memories anew, of those that have one."""
        ids = _grouped(
            ((_owner(one), minutes), one.id)
            for one in memories
            if (minutes := one.metadata.get("ttl_minutes")) is not None
        )
        for (owner, minutes), of_owner in ids.items():
            yield call("_extend_expiry", owner, of_owner, expires_at=items.expiry(minutes))

    def _owners_below(self, prefix: Namespace) -> Calls[list[str]]:
        """The agents that may have items in namespaces that begin so."""
        if len(prefix) >= self._items.labels:
            return [self._items.owner(prefix)]
        counts = yield from all_pages("owners", prefix=self._items.beginning(prefix))
        return [owner for owner in map(_owner, counts) if self._items.has_below(owner, prefix)]


def _owner(one: Memory | OwnerCount) -> str:
    return one.agent_id or one.team_id or ""


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    groups = defaultdict[Any, list[Any]](list)
    for key, value in pairs:
        groups[key].append(value)
    return groups
