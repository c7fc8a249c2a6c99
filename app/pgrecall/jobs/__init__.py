"""Jobs: what takes several transactions, each written once as a generator of operations."""

from pgrecall.jobs.checking import check_rank_index
from pgrecall.jobs.collecting import collect_garbage
from pgrecall.jobs.consolidating import consolidate
from pgrecall.jobs.indexing import build_rank_indexes, maintain_rank_indexes

__all__ = [
    "build_rank_indexes",
    "check_rank_index",
    "collect_garbage",
    "consolidate",
    "maintain_rank_indexes",
]
