"""Pure functions that return SQLAlchemy Core statements; nothing here executes anything."""

from pgrecall.statements.counters import count_retrievals, touch
from pgrecall.statements.explaining import CONDITION_PREFIX, described, standing
from pgrecall.statements.history import history
from pgrecall.statements.inserting import (
    duplicates,
    insert_incoming,
    nearest,
    replace,
    restate,
    revive_duplicates,
    text_taken,
    wait_for_rivals,
)
from pgrecall.statements.outcomes import FEEDBACK, adjust_trust, record_feedback, record_outcome
from pgrecall.statements.ranking import SIGNAL_PREFIX, Search, count, known_entities, search
from pgrecall.statements.reading import existing, get
from pgrecall.statements.staging import GIVEN, UNSET_FIELDS, create_staging, staged_fields, staging
from pgrecall.statements.validity import (
    invalidate,
    lock_for_supersession,
    move_tier,
    raise_importance,
    revive,
    set_importance,
    supersede,
)
from pgrecall.statements.writing import delete, delete_traces, update

__all__ = [
    "CONDITION_PREFIX",
    "FEEDBACK",
    "GIVEN",
    "SIGNAL_PREFIX",
    "UNSET_FIELDS",
    "Search",
    "adjust_trust",
    "count",
    "count_retrievals",
    "create_staging",
    "delete",
    "delete_traces",
    "described",
    "duplicates",
    "existing",
    "get",
    "history",
    "insert_incoming",
    "invalidate",
    "known_entities",
    "lock_for_supersession",
    "move_tier",
    "nearest",
    "raise_importance",
    "record_feedback",
    "record_outcome",
    "replace",
    "restate",
    "revive",
    "revive_duplicates",
    "search",
    "set_importance",
    "staged_fields",
    "staging",
    "standing",
    "supersede",
    "text_taken",
    "touch",
    "update",
    "wait_for_rivals",
]
