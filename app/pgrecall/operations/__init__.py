"""The operations of a repository, each written once as a generator of steps.

Checks come first, then embedding, then the database: bad input costs no connection, and no
connection is held while a model computes. Their docstrings are those of the repositories.
"""

from pgrecall.operations.adding import add, add_many
from pgrecall.operations.assembling import context
from pgrecall.operations.changing import delete, touch, update
from pgrecall.operations.correcting import (
    demote,
    invalidate,
    promote,
    revive,
    set_importance,
    supersede,
)
from pgrecall.operations.curating import (
    clear,
    clusters,
    complete_stale_tasks,
    near_duplicates,
    prune,
)
from pgrecall.operations.evaluating import evaluate
from pgrecall.operations.explaining import explain
from pgrecall.operations.indexing import drop_rank_index, rank_index_progress, rank_indexes
from pgrecall.operations.labelling import label, labelled, labels, unlabel
from pgrecall.operations.linking import link, links, unlink
from pgrecall.operations.planning import plan
from pgrecall.operations.ranking import search
from pgrecall.operations.reading import count, existing, find_ids, get, short_ids
from pgrecall.operations.tuning import tune
from pgrecall.operations.using import (
    adjust_trust,
    feedback,
    history,
    record_outcome,
    recorded_queries,
)
from pgrecall.operations.wording import telling_terms

__all__ = [
    "add",
    "add_many",
    "adjust_trust",
    "clear",
    "clusters",
    "complete_stale_tasks",
    "context",
    "count",
    "delete",
    "demote",
    "drop_rank_index",
    "evaluate",
    "existing",
    "explain",
    "feedback",
    "find_ids",
    "get",
    "history",
    "invalidate",
    "label",
    "labelled",
    "labels",
    "link",
    "links",
    "near_duplicates",
    "plan",
    "promote",
    "prune",
    "rank_index_progress",
    "rank_indexes",
    "record_outcome",
    "recorded_queries",
    "revive",
    "search",
    "set_importance",
    "short_ids",
    "supersede",
    "telling_terms",
    "touch",
    "tune",
    "unlabel",
    "unlink",
    "update",
]
