"""The one list of a memory's fields.

The tables, the column lists in `sql/`, what is sent by COPY, checked, exported and restored are all
made of it. `Memory` and `NewMemory` name the fields once more, for editors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from math import nan
from typing import Final, Literal, NamedTuple

from pgrecall.core.limits import (
    INVALIDATION_REASONS,
    MAX_NAME_LENGTH,
    STATUSES,
    TIERS,
    TRUST_CURVES,
)
from pgrecall.core.memory import TEAM, Memory, NewMemory
from pgrecall.core.tokens import MAX_TOKENS
from pgrecall.schema.kinds import (
    ANSWER,
    CONTENT,
    EMBEDDING,
    FLAG,
    HOURS,
    ID,
    METADATA,
    MOMENT,
    NAME,
    SHARE,
    TEXT,
    TEXTS,
    Check,
    Kind,
    count,
    one_of,
    optional,
    unchecked,
)


class Field(NamedTuple):
    """A field: a column of agent_memories or memory_usage."""

    name: str
    kind: Kind
    comment: str
    default: str | None = None
    part: Literal["owner", "name", "memory", "state", "row", "usage"] = "memory"
    """The writer: a caller for good (name) or until it is changed (memory), verbs and `restore`
    (state), only the database (row), or feedback and retrievals (usage)."""
    null: bool | None = None
    """True if the column may be NULL; None: if it has no default."""
    none: str | float | None = None
    """The value that means NULL in `new_memory`, where NULL means that the field is absent."""
    computed: str | None = None
    """The expression of a generated column, behind our schema."""
    assessed: bool = False
    """True if the SQL function `with_defaults` decides it, rather than its default."""
    shown: bool = True
    """True if `Memory` and the view memory_records have it."""

    @property
    def standard(self) -> str | None:
        """Its default in SQL."""
        return self.default or self.kind.default

    @property
    def is_null(self) -> bool:
        """True if the column may be NULL."""
        return self.standard is None if self.null is None else self.null

    @property
    def check(self) -> Check:
        """Its check: of its name and a value."""
        return optional(self.kind.check) if self.is_null else self.kind.check


_OWNER = Kind(
    "text",
    unchecked,
    f"{{}} <> '' AND {{}} <> '{TEAM}' AND length({{}}) <= {MAX_NAME_LENGTH + len(TEAM)}",
)
_TURN = count(condition="{} >= 0 AND ({} IS NULL OR session IS NOT NULL)")
_EDITION = count(condition="{} >= 0 AND ({} IS NULL OR key IS NULL)")
FIELDS: Final = (
    # In the order of the table's columns. What ranking reads comes first: PostgreSQL unpacks a row
    # from its start.
    Field(
        "agent_id",
        _OWNER,
        "Its owner: an agent, or a team as team:<id>; every statement filters on it.",
        part="owner",
        null=False,
        assessed=True,
    ),
    Field("id", ID, "UUID made by the client, version 7.", part="name", null=False, assessed=True),
    Field("usefulness", SHARE, "Posterior mean of helpfulness from feedback.", "0.5"),
    Field("confidence", SHARE, "How sure the extraction was.", "0.8", assessed=True),
    Field("importance", SHARE, "How much it matters, 0 to 1.", "0.5"),
    Field(
        "trust",
        SHARE,
        "Trust as stored, before decay; NULL: never assessed.",
        none=nan,
        assessed=True,
    ),
    Field("trust_half_life_hours", HOURS, "Half-life of trust in hours.", none=nan, assessed=True),
    Field(
        "created_at",
        MOMENT,
        "When it was created; NULL: unknown.",
        "now()",
        null=True,
        none="-infinity",
        assessed=True,
    ),
    Field("updated_at", MOMENT, "Last change.", "now()", part="state", assessed=True),
    Field("valid_from", MOMENT, "Start of validity, included; NULL: open."),
    Field("valid_until", MOMENT, "End of validity, excluded; NULL: open."),
    Field(
        "expires_at",
        MOMENT,
        "From this moment on it is not recalled; NULL: never.",
        none="infinity",
        assessed=True,
    ),
    Field(
        "invalidated_at", MOMENT, "When it was superseded or forgotten; NULL: never.", part="state"
    ),
    Field("observed_at", MOMENT, "When it was observed, where not at created_at."),
    Field(
        "status",
        one_of(STATUSES),
        "active, pending, consolidated, completed or archived.",
        "'active'",
        part="state",
        assessed=True,
    ),
    Field(
        "tier",
        one_of(TIERS),
        "short, medium or long: how long it is meant to last.",
        "'long'",
        assessed=True,
    ),
    Field("memory_type", NAME, "Its kind, such as episodic, fact or task.", "'episodic'"),
    Field(
        "trust_curve",
        one_of(TRUST_CURVES),
        "How trust decays: hyperbolic, exponential or linear.",
        none="none",
        assessed=True,
    ),
    Field("entities", TEXTS, "Names of the people, places and things it mentions."),
    Field("embedding", EMBEDDING, "The vector of its meaning; NULL: not embedded."),
    Field("content", CONTENT, "The text, at most 2 MiB of UTF-8.", null=False),
    Field(
        "content_hash",
        Kind("bytea", unchecked),
        "SHA-256 of the normalised content; equal for exact duplicates.",
        part="row",
        null=False,
        computed="content_hash(content)",
        assessed=True,
        shown=False,
    ),
    Field("embedding_model", TEXT, "The model that made the embedding."),
    Field("additional_types", TEXTS, "Further kinds, where a memory has several."),
    Field("memory_nature", TEXT, "semantic, episodic, procedural or a caller's own word."),
    Field("content_type", TEXT, "Media type or a caller's own word for the form of content."),
    Field("subject", TEXT, "What it is about; newer memories supersede older ones per subject."),
    Field("tags", TEXTS, "Free words, or kind:value."),
    Field("metadata", METADATA, "The caller's own fields, a JSON object."),
    Field("needs_review", FLAG, "Feedback called it outdated.", part="state"),
    Field("trust_provenance", SHARE, "Trust's part from component and confidence.", assessed=True),
    Field("trust_consensus", SHARE, "Trust's part from quality.", assessed=True),
    Field("trust_governance", SHARE, "Trust's part from compliance.", assessed=True),
    Field("trust_usage", SHARE, "Trust's part from outcomes of use.", assessed=True),
    Field("component", TEXT, "The component that produced it."),
    Field("output_type", TEXT, "reasoning, decision, action, observation and so on."),
    Field("domain", TEXT, "Domain of the output."),
    Field("category", TEXT, "Category of the output."),
    Field("loop", TEXT, "The agent loop it came from."),
    Field("quality_score", SHARE, "Quality given by the producer; NULL: unknown."),
    Field("compliant", ANSWER, "Whether it passed governance; NULL: not judged."),
    Field("requires_approval", FLAG, "Governance asks for approval: it begins as pending."),
    Field("has_errors", FLAG, "Errors were found in it."),
    Field("violates_policy", FLAG, "It violates a policy."),
    Field("under_policy_review", FLAG, "A policy review is open."),
    Field(
        "invalidation_reason",
        one_of(INVALIDATION_REASONS),
        "superseded or forgotten.",
        part="state",
    ),
    Field("superseded_by", ID, "The memory that took its place.", part="state"),
    Field(
        "inserted_at",
        MOMENT,
        "When this row was written, by the server's clock.",
        "clock_timestamp()",
        part="row",
        assessed=True,
        shown=False,
    ),
    Field(
        "terms",
        Kind("tsvector", unchecked),
        "The words of content as they are compared, with their positions.",
        part="row",
        null=False,
        computed="lexemes(content)",
        shown=False,
    ),
    Field(
        "tokens",
        count(MAX_TOKENS),
        "Tokens of content, as its writer counted; NULL: estimated when a context is packed.",
    ),
    Field("key", NAME, "The caller's own name for it, which its id was made from.", part="name"),
    Field(
        "edition",
        _EDITION,
        "Its number among the active memories of its text, from 0; NULL: known by its key or id, "
        "not by its text.",
        part="state",
        assessed=True,
        shown=False,
    ),
    Field("session", NAME, "The dialogue of which it is a turn."),
    Field("turn", _TURN, "Its place in the session; turns without one come last, by created_at."),
    Field("retrieval_count", count(), "How often it was retrieved.", "0", part="usage"),
    Field(
        "last_accessed_at",
        MOMENT,
        "Last access: a retrieval, an outcome, or the same text added again.",
        part="usage",
    ),
    Field("success_count", count(), "Uses that went well.", "0", part="usage"),
    Field("failure_count", count(), "Uses that went wrong.", "0", part="usage"),
    Field("feedback_up", count(), "Feedback for it, weighed: useful 1.", "0", part="usage"),
    Field(
        "feedback_down",
        count(),
        "Feedback against it, weighed: not_useful 1, outdated 1, incorrect 3.",
        "0",
        part="usage",
    ),
)
FIELD: Final = {field.name: field for field in FIELDS}
CHECKS: Final = {field.name: field.check for field in FIELDS}


def _named(names: Iterable[str]) -> tuple[Field, ...]:
    return tuple(FIELD[name] for name in names if name in FIELD)


TABLE: Final = tuple(field for field in FIELDS if field.part != "usage")
"""The columns of agent_memories, in their order."""
USAGE: Final = tuple(field for field in FIELDS if field.part == "usage")
_BEFORE = {"observed_at": "invalidation_reason", "last_accessed_at": "retrieval_count"}
"""Fields that stand in the view memory_records before these, and not where the tables have them."""
RECORD: Final = tuple(
    sorted(
        (field for field in FIELDS if field.shown),
        key=lambda field: (
            FIELDS.index(FIELD[_BEFORE.get(field.name, field.name)]),
            field.name not in _BEFORE,
        ),
    )
)
"""The columns of the view memory_records, in their order."""
NEW: Final = _named(field.name for field in fields(NewMemory))
"""The fields of NewMemory that are columns, in its order."""
SHOWN: Final = _named(field.name for field in fields(Memory) if field.name != "agent_id")
"""The fields of Memory but its owner, in its order."""
ROW: Final = ("agent_id", *(field.name for field in SHOWN))
"""The columns from which a Memory is made."""
STATE_COLUMNS: Final = tuple(field for field in FIELDS if field.part == "state")
COUNTERS: Final = tuple(field.name for field in USAGE if field.default == "0")
"""The columns of memory_usage that never decrease."""
NOTHING: Final = {field.name: field.none for field in FIELDS if field.none is not None}
"""Stand-ins for None in fields where NULL means that the field is absent; see
sql/verbs/new_memory.sql."""
