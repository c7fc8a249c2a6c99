"""Jobs: what takes several transactions, each written once as a generator of operations."""

from pgrecall.jobs.collecting import collect_garbage
from pgrecall.jobs.consolidating import consolidate

__all__ = ["collect_garbage", "consolidate"]
