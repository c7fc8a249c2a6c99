"""The tables that people leave, and how their rows become memories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Literal, get_args

from pgrecall.core.validation import require_one_of
from pgrecall.errors import InputError
from pgrecall.memories.imported_lines import path_value
from pgrecall.memories.item_rules import CONTENT_TYPE, NOT_INDEXED, item_key, texts_in

SystemName = Literal["mem0", "langgraph", "langchain", "letta", "table"]
Row = dict[str, Any]


@dataclass(frozen=True)
class Beside:
    """A table that is joined to the system's; `{table}` in its name is the name of that one."""

    table: str
    columns: Mapping[str, str]
    """Name in a row → column of the joined table, or SQL over its alias `b`."""
    join: str
    """SQL between the table `s` and `{beside}`."""
    is_needed: bool = False


@dataclass(frozen=True)
class System:
    """A table of another system, and how a row of it becomes a memory."""

    title: str
    table: str | None
    """Its usual name; None: it has to be given."""
    needs: tuple[str, ...] = ()
    """The columns by which it is recognised."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Column, or path into it → our field; "" stays behind. An inner path comes first."""
    firsts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Our field → columns or paths, of which the first with a value becomes it."""
    vector: str | None = None
    """The column of the vector, also of the table beside it."""
    order: str | None = None
    """SQL over the alias `s`: owner by owner, since each batch is a transaction for each, and the
    oldest first, since of rows with the same text the first is stored. None: by the primary key."""
    beside: Beside | None = None
    without: str | None = None
    """The column of rows that stay behind if it is true."""
    model: str | None = None
    """SQL over `t`: the model that made a row's vector."""
    dimensions: str | None = None
    """SQL over `t`: the dimensions of a row's vector, if it is padded with zeros."""
    shape: Callable[[Row, int], Row] | None = None
    """Applied before names are given, with the number of labels that name an agent."""
    names: tuple[str, ...] | None = None
    """The names that a row has after `shape`, if they are not those of its columns."""
    keeps_others: bool = True
    """True if columns without a field become metadata; if not, they are unknown fields."""
    left_behind: tuple[str, ...] = ()


def _mem0(row: Row, _: int) -> Row:
    """mem0 hides a memory when the day of its `expiration_date` is over."""
    payload = row.get("payload")
    if isinstance(payload, dict) and payload.get("expiration_date"):
        day = str(payload["expiration_date"])
        try:
            payload["expiration_date"] = f"{date.fromisoformat(day) + timedelta(days=1)}T00:00Z"
        except (ValueError, OverflowError):
            raise InputError(f"expiration_date must be a day, got {day[:40]!r}") from None
    return row


_ITEM = (
    *("agent_id", "key", "content", "content_type", "metadata", "expires_at"),
    *("created_at", "updated_at", "embedding"),
)


def _langgraph(row: Row, labels: int) -> Row:
    """As `RecallStore` stores the item, which finds it then."""
    namespace, value = row["prefix"].split("."), row["value"]
    embedded = path_value(value, row.get("field_name") or "")
    texts = [embedded] if isinstance(embedded, str) else texts_in(value)
    content = "\n".join(text for text in texts if text.strip())
    metadata = {"namespace": namespace, "key": row["key"], "value": value}
    if row.get("ttl_minutes") is not None:
        metadata["ttl_minutes"] = row["ttl_minutes"]
    return {
        "agent_id": ".".join(namespace[:labels]),
        "key": item_key(namespace[labels:], row["key"]),
        "content": content or NOT_INDEXED,
        "content_type": CONTENT_TYPE,
        "metadata": metadata,
        "expires_at": row.get("expires_at"),
        **{name: row[name] for name in ("created_at", "updated_at", "embedding") if name in row},
        **({} if content else {"embedding": None}),
    }


_MEM0 = System(
    "a table of mem0's PGVector",
    "mem0",
    ("id", "vector", "payload"),
    {
        "payload.data": "content",
        "payload.created_at": "created_at",
        "payload.updated_at": "updated_at",
        "payload.expiration_date": "expires_at",
        "payload.run_id": "session",
        "payload.hash": "",
        "payload.text_lemmatized": "",
        "payload": "metadata",
        "vector": "embedding",
    },
    {"agent_id": ("payload.user_id", "payload.agent_id", "payload.run_id")},
    "vector",
    "coalesce(s.payload ->> 'user_id', s.payload ->> 'agent_id', s.payload ->> 'run_id'), "
    "s.payload ->> 'created_at', s.id",
    Beside(
        "{table}_entities",
        {"entities": "b.names"},
        "LEFT JOIN (SELECT l.id, pg_catalog.array_agg(DISTINCT e.payload ->> 'data') AS names "
        "FROM {beside} e, pg_catalog.jsonb_array_elements_text(CASE pg_catalog.jsonb_typeof("
        "e.payload -> 'linked_memory_ids') WHEN 'array' THEN e.payload -> 'linked_memory_ids' END) "
        "l(id) GROUP BY l.id) b ON b.id = s.id::text",
    ),
    shape=_mem0,
    left_behind=(
        "hash and text_lemmatized of the payload, which are computed from the text",
        "the history of changes, which mem0 keeps in SQLite, and graph memories",
    ),
)
_LANGGRAPH = System(
    "the table of LangGraph's PostgresStore",
    "store",
    ("prefix", "key", "value", "created_at", "updated_at"),
    {"embedding": "embedding"},
    vector="embedding",
    order="s.prefix, s.created_at, s.key",
    beside=Beside(
        "store_vectors",
        {"field_name": "b.field_name", "embedding": "b.embedding"},
        "LEFT JOIN {beside} b ON b.prefix = s.prefix AND b.key = s.key AND NOT EXISTS (SELECT "
        "FROM {beside} o WHERE o.prefix = b.prefix AND o.key = b.key AND "
        "o.field_name <> b.field_name)",
    ),
    shape=_langgraph,
    names=_ITEM,
    left_behind=(
        "vectors of items that have several: a memory has one, which is made anew",
        "checkpoints, which are no memories",
    ),
)
_LANGCHAIN = System(
    "the table of LangChain's PGVector",
    "langchain_pg_embedding",
    ("collection_id", "embedding", "document", "cmetadata"),
    {
        "document": "content",
        "cmetadata": "metadata",
        "embedding": "embedding",
        **dict.fromkeys(("id", "custom_id", "uuid", "collection_id", "collection"), ""),
    },
    {"key": ("id", "custom_id", "uuid")},
    "embedding",
    "s.collection_id",
    beside=Beside(
        "langchain_pg_collection",
        {"collection": "b.name"},
        "LEFT JOIN {beside} b ON b.uuid = s.collection_id",
        is_needed=True,
    ),
    left_behind=(
        "the names of collections, unless you map them: collection=agent_id, or "
        "collection=metadata.collection",
        "the metadata of collections",
    ),
)
_LANGCHAIN_TABLE = System(
    "a table of LangChain's PGVectorStore",
    None,
    ("langchain_id", "content", "embedding"),
    {"langchain_id": "key", "langchain_metadata": "metadata", "content_tsv": ""},
    vector="embedding",
    order="s.langchain_id",
    left_behind=("content_tsv, which is computed from the text",),
)
_LETTA_MODEL = "t.embedding_config::pg_catalog.json ->> 'embedding_model'"
_LETTA_DIMENSIONS = "(t.embedding_config::pg_catalog.json ->> 'embedding_dim')::integer"
_LETTA = System(
    "the table of Letta's archival passages",
    "archival_passages",
    ("id", "text", "embedding", "embedding_config", "metadata_", "archive_id"),
    {
        "text": "content",
        "metadata_": "metadata",
        **dict.fromkeys(
            (
                *("archive_owner", "embedding_config", "is_deleted", "organization_id"),
                *("_created_by_id", "_last_updated_by_id"),
            ),
            "",
        ),
    },
    {"agent_id": ("archive_owner", "archive_id")},
    "embedding",
    "s.archive_id, s.created_at, s.id",
    Beside(
        "archives_agents",
        {"archive_owner": "b.agent_id"},
        "LEFT JOIN LATERAL (SELECT a.agent_id FROM {beside} a WHERE a.archive_id = s.archive_id "
        "ORDER BY a.is_owner DESC, a.created_at, a.agent_id LIMIT 1) b ON true",
    ),
    without="is_deleted",
    model=_LETTA_MODEL,
    dimensions=_LETTA_DIMENSIONS,
    left_behind=(
        "deleted passages, passages of files (source_passages), and who wrote a passage",
        "blocks, messages and agents, which are no archival memory",
    ),
)
_TABLE = System("a table", None, keeps_others=False)

_SYSTEMS: Mapping[str, System] = {
    "mem0": _MEM0,
    "langgraph": _LANGGRAPH,
    "langchain": _LANGCHAIN,
    "letta": _LETTA,
    "table": _TABLE,
}


def system_named(name: object, table: object, collection: object) -> System:
    """The system. Raises UnknownName, or InputError where a table has to be named."""
    system = _SYSTEMS[require_one_of("system", name, get_args(SystemName))]
    if system is _LANGCHAIN and table is not None:
        system = _LANGCHAIN_TABLE
    if system.table is None and table is None:
        raise InputError("name the table to read (--table items, or --table schema.items)")
    if system is not _LANGCHAIN and collection is not None:
        raise InputError(f"{system.title} has no collections: leave out collection (--collection)")
    return system
