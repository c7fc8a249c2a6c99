"""The log of garbage collections."""

from __future__ import annotations

from functools import lru_cache

from sqlalchemy import (
    BigInteger,
    Boolean,
    Double,
    Insert,
    Text,
    Update,
    Uuid,
    bindparam,
    func,
    insert,
    literal_column,
)
from sqlalchemy import update as update_

from pgrecall.schema import Tables
from pgrecall.statements.conditions import owned


@lru_cache
def begin_run(tables: Tables) -> Insert:
    """A row in the log for the run `run_id` that begins now."""
    runs = tables.gc_runs
    return insert(runs).values(
        agent_id=bindparam("owner_id", type_=Text()),
        id=bindparam("run_id", type_=Uuid()),
        policy=bindparam("policy_name", type_=Text()),
        min_trust_threshold=bindparam("run_min_trust_threshold", type_=Double()),
        delete_threshold=bindparam("run_delete_threshold", type_=Double()),
        max_age_hours=bindparam("run_max_age_hours", type_=Double()),
        max_live=bindparam("run_max_live", type_=BigInteger()),
        scanned=literal_column("0"),
        archived=literal_column("0"),
        deleted=literal_column("0"),
        swept=literal_column("0"),
        started_at=func.now(),
        seconds=literal_column("0"),
        finished=literal_column("false", Boolean()),
    )


@lru_cache
def note_run(tables: Tables) -> Update:
    """Adds a batch's numbers to the log's row; parameters: run_id, more_…, run_seconds,
    is_finished."""
    runs = tables.gc_runs
    return (
        update_(runs)
        .where(owned(runs), runs.c.id == bindparam("run_id", type_=Uuid()))
        .values(
            scanned=runs.c.scanned + bindparam("more_scanned", type_=BigInteger()),
            archived=runs.c.archived + bindparam("more_archived", type_=BigInteger()),
            deleted=runs.c.deleted + bindparam("more_deleted", type_=BigInteger()),
            swept=runs.c.swept + bindparam("more_swept", type_=BigInteger()),
            seconds=bindparam("run_seconds", type_=Double()),
            finished=bindparam("is_finished", type_=Boolean()),
        )
    )
