"""Pure functions that return SQLAlchemy Core statements; nothing here executes anything."""

from pgrecall.statements.clearing import clear
from pgrecall.statements.collecting import archive_excess, collect_batch, count_garbage
from pgrecall.statements.comparing import clusters, near_duplicates
from pgrecall.statements.counters import count_retrievals, touch
from pgrecall.statements.curating import (
    CONSOLIDATES,
    complete_stale_tasks,
    consolidate,
    get_many,
    lock_sources,
    prune,
)
from pgrecall.statements.duplicates import (
    duplicates,
    nearest,
    replace,
    restate,
    revive_duplicates,
    text_taken,
    wait_for_rivals,
)
from pgrecall.statements.explaining import CONDITION_PREFIX, described, standing
from pgrecall.statements.history import history
from pgrecall.statements.inserting import insert_incoming
from pgrecall.statements.labelling import inherit_labels, label, labelled, labels_of, lock, unlabel
from pgrecall.statements.linking import STEPS, link, link_all, links_of, neighbours, unlink
from pgrecall.statements.outcomes import FEEDBACK, adjust_trust, record_feedback, record_outcome
from pgrecall.statements.owners import owners, owners_of_orphans
from pgrecall.statements.ranking import SIGNAL_PREFIX, Search, count, known_entities, search
from pgrecall.statements.reading import existing, get
from pgrecall.statements.run_log import begin_run, note_run
from pgrecall.statements.staging import (
    GIVEN,
    UNSET_FIELDS,
    Staged,
    create_staging,
    memory_fields,
    staged_fields,
    staging,
)
from pgrecall.statements.sweeping import sweep
from pgrecall.statements.validity import (
    invalidate,
    lock_for_supersession,
    move_tier,
    raise_importance,
    revive,
    set_importance,
    supersede,
    texts_taken,
)
from pgrecall.statements.writing import delete, delete_traces, update

__all__ = [
    "CONDITION_PREFIX",
    "CONSOLIDATES",
    "FEEDBACK",
    "GIVEN",
    "SIGNAL_PREFIX",
    "STEPS",
    "UNSET_FIELDS",
    "Search",
    "Staged",
    "adjust_trust",
    "archive_excess",
    "begin_run",
    "clear",
    "clusters",
    "collect_batch",
    "complete_stale_tasks",
    "consolidate",
    "count",
    "count_garbage",
    "count_retrievals",
    "create_staging",
    "delete",
    "delete_traces",
    "described",
    "duplicates",
    "existing",
    "get",
    "get_many",
    "history",
    "inherit_labels",
    "insert_incoming",
    "invalidate",
    "known_entities",
    "label",
    "labelled",
    "labels_of",
    "link",
    "link_all",
    "links_of",
    "lock",
    "lock_for_supersession",
    "lock_sources",
    "memory_fields",
    "move_tier",
    "near_duplicates",
    "nearest",
    "neighbours",
    "note_run",
    "owners",
    "owners_of_orphans",
    "prune",
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
    "sweep",
    "text_taken",
    "texts_taken",
    "touch",
    "unlabel",
    "unlink",
    "update",
    "wait_for_rivals",
]
