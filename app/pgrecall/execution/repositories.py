"""The methods of the repositories, each with the operation behind it, and the synchronous one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from pgrecall.core.display import line
from pgrecall.core.embedders import model_name
from pgrecall.execution import synchronous
from pgrecall.execution.method import LazyModule, Namespace, method, method_of_job

if TYPE_CHECKING:
    from pgrecall.context import assembling
    from pgrecall.evaluation import evaluating, judging, tuning
    from pgrecall.lifecycle import (
        consolidating,
        correcting,
        erasing,
        health,
        linking,
        maintenance,
        naming,
        using,
    )
    from pgrecall.memories import (
        adding,
        changing,
        deleting,
        exporting,
        listing,
        reading,
        restoring,
        upserting,
    )
    from pgrecall.rank_index import building, maintaining
    from pgrecall.search import explaining, planning, searching, subquery
else:
    assembling = LazyModule("context.assembling")
    evaluating = LazyModule("evaluation.evaluating")
    judging = LazyModule("evaluation.judging")
    tuning = LazyModule("evaluation.tuning")
    consolidating = LazyModule("lifecycle.consolidating")
    correcting = LazyModule("lifecycle.correcting")
    erasing = LazyModule("lifecycle.erasing")
    health = LazyModule("lifecycle.health")
    linking = LazyModule("lifecycle.linking")
    maintenance = LazyModule("lifecycle.maintenance")
    naming = LazyModule("lifecycle.naming")
    using = LazyModule("lifecycle.using")
    adding = LazyModule("memories.adding")
    changing = LazyModule("memories.changing")
    deleting = LazyModule("memories.deleting")
    exporting = LazyModule("memories.exporting")
    listing = LazyModule("memories.listing")
    reading = LazyModule("memories.reading")
    restoring = LazyModule("memories.restoring")
    upserting = LazyModule("memories.upserting")
    building = LazyModule("rank_index.building")
    maintaining = LazyModule("rank_index.maintaining")
    explaining = LazyModule("search.explaining")
    planning = LazyModule("search.planning")
    searching = LazyModule("search.searching")
    subquery = LazyModule("search.subquery")


R_co = TypeVar("R_co", covariant=True)
M = TypeVar("M", bound="Methods")


class Links(Namespace[R_co]):
    """`repository.links`. Links between memories of one owner."""

    add = method(lambda: linking.link)
    remove = method(lambda: linking.unlink)
    of = method(lambda: linking.links)


class Names(Namespace[R_co]):
    """`repository.names`. Aliases of entities."""

    alias = method(lambda: naming.alias)
    remove = method(lambda: naming.remove_alias)
    aliases = method(lambda: naming.aliases)


class RankIndexes(Namespace[R_co]):
    """`repository.rank_indexes`. Rank indexes, which make searches among many memories fast."""

    build = method_of_job(lambda: maintaining.build_rank_indexes)
    status = method(lambda: building.rank_indexes)
    drop = method(lambda: building.drop_rank_index)


class Maintenance(Namespace[R_co]):
    """`repository.maintenance`. Regular work on the memories of all agents, and what is left."""

    run = method_of_job(lambda: maintenance.run)
    health = method(lambda: health.health)


class Evaluations(Namespace[R_co]):
    """`repository.evaluation`. Evaluation and tuning of profiles by judged queries."""

    evaluate = method(lambda: evaluating.evaluate)
    tune = method(lambda: tuning.tune)
    judge = method(lambda: judging.judge)
    judged_queries = method(lambda: judging.judged_queries)


class Transfer(Namespace[R_co]):
    """`repository.transfer`. Moving memories out, and in with their state."""

    export = method(lambda: exporting.export)
    restore = method(lambda: restoring.restore)


class Methods:
    """The methods and namespaces of both repositories."""

    def __repr__(self) -> str:
        return shown(self)

    add = method(lambda: adding.add)
    add_many = method(lambda: adding.add_many)
    upsert = method(lambda: upserting.upsert)
    upsert_many = method(lambda: upserting.upsert_many)
    get = method(lambda: reading.get)
    get_many = method(lambda: reading.get_many)
    list = method(lambda: listing.list_memories)
    update = method(lambda: changing.update)
    delete = method(lambda: deleting.delete)
    search = method(lambda: searching.search)
    search_many = method(lambda: searching.search_many)
    context = method(lambda: assembling.context)
    explain = method(lambda: explaining.explain)
    plan = method(lambda: planning.plan)
    matched = method(lambda: subquery.matched)
    touch = method(lambda: changing.touch)
    count = method(lambda: reading.count)
    owners = method(lambda: listing.owners)
    record_outcome = method(lambda: using.record_outcome)
    feedback = method(lambda: using.feedback)
    history = method(lambda: using.history)
    supersede = method(lambda: correcting.supersede)
    invalidate = method(lambda: correcting.invalidate)
    revive = method(lambda: correcting.revive)
    approve = method(lambda: correcting.approve)
    reject = method(lambda: correcting.reject)
    adjust_trust = method(lambda: using.adjust_trust)
    changes = method(lambda: using.changes)
    consolidate = method_of_job(lambda: consolidating.consolidate)
    erase = method(lambda: erasing.erase)
    erase_owner = method_of_job(lambda: erasing.erase_owner)
    _extend_expiry = method(lambda: changing.extend_expiry)

    @property
    def links(self: M) -> Links[M]:
        """Links between memories of one owner."""
        return Links(self)

    @property
    def names(self: M) -> Names[M]:
        """Aliases of entities."""
        return Names(self)

    @property
    def rank_indexes(self: M) -> RankIndexes[M]:
        """Rank indexes, which make searches among many memories fast."""
        return RankIndexes(self)

    @property
    def maintenance(self: M) -> Maintenance[M]:
        """Regular work on the memories of all agents, and what is left."""
        return Maintenance(self)

    @property
    def evaluation(self: M) -> Evaluations[M]:
        """Evaluation and tuning of profiles by judged queries."""
        return Evaluations(self)

    @property
    def transfer(self: M) -> Transfer[M]:
        """Moving memories out, and in with their state."""
        return Transfer(self)


class MemoryRepository(Methods, synchronous.Repository):
    """Stores and ranks the memories of agents.

    On an Engine, each call is a transaction of its own, and is retried after a deadlock or
    serialization failure. On a Connection or Session, a call takes part in the caller's
    transaction, and the caller commits or rolls back.

    `reads_from` is the engine of a replica of `bind`. Searches and other methods that only read
    then run there; `repository.primary` reads from `bind`. `schema` is the schema that
    `pgrecall migrate` created. `embedder` converts text to vectors, and `token_counter` counts the
    tokens of texts. `entities`, a function from a text to names, finds the entities of new memories
    that come without any. Calls that take more than `slow_after` seconds are logged as warnings.
    Without `durable_touch`, counting retrievals on an Engine does not wait for the disk.
    `profile`, a Profile or the name of a built-in one, ranks in each call that names none, and
    `timezone`, such as "Europe/Berlin", is that of calls that give none. All methods raise
    PgRecallError and its children (`pgrecall.errors`).
    """


def shown(repository: Any) -> str:
    """The database without its password, the schema and the embedder."""
    tables, embedder = repository._tables, repository._tools.embedder
    of_teams = ", of teams" if tables.prefix else ""
    written = "None"
    if embedder is not None:
        written = f"{type(embedder).__name__}({model_name(embedder) or ''!r})"
    return (
        f"{type(repository).__name__}({_database(repository._bind)!r}, schema={tables.schema!r}, "
        f"embedder={line(written)}{of_teams})"
    )


def _database(bind: Any) -> str:
    """user@host:port/database, as far as it is known. No other part of a URL is shown, since any
    may hold a secret."""
    try:
        url = (bind.get_bind() if hasattr(bind, "get_bind") else bind).engine.url
    except (AttributeError, SQLAlchemyError):  # a session without an engine
        return "?"
    hosts = url.host or url.query.get("host") or ""
    host = hosts if isinstance(hosts, str) else ",".join(hosts)
    user = f"{url.username}@" if url.username else ""
    port = f":{url.port}" if url.port else ""
    return line(f"{user}{host}{port}/{url.database or ''}")
