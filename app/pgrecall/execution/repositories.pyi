"""Written by make stubs, for editors and type checkers."""

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any, Literal, Self
from uuid import UUID

from sqlalchemy import Connection, Engine, Table
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession
from sqlalchemy.orm import Session

from pgrecall.context.assembled import Context
from pgrecall.core.embedders import AsyncEmbedder, Embedder
from pgrecall.core.entity_finding import Entities
from pgrecall.core.label import Label, LabelKind
from pgrecall.core.memory import Memory, NewMemory, Unset
from pgrecall.core.tokens import TokenCounter
from pgrecall.core.vectors import VectorLike
from pgrecall.evaluation.judged_query import JudgedQuery
from pgrecall.evaluation.results import Evaluation
from pgrecall.evaluation.tuned import Tuning
from pgrecall.execution import asynchronous, synchronous
from pgrecall.lifecycle.cluster import Cluster, Consolidation
from pgrecall.lifecycle.consolidating import Summarise
from pgrecall.lifecycle.erased import Erased
from pgrecall.lifecycle.event import Event
from pgrecall.lifecycle.garbage import GarbagePolicy, GarbageRun
from pgrecall.lifecycle.link import Link
from pgrecall.lifecycle.near_duplicate import NearDuplicate
from pgrecall.lifecycle.using import Feedback, Outcome
from pgrecall.memories.added import Added
from pgrecall.memories.adding import OnError
from pgrecall.memories.batch import Batch
from pgrecall.memories.owner_count import OwnerCount
from pgrecall.memories.page import Page
from pgrecall.memories.preparing import DuplicatePolicy
from pgrecall.memories.term import Term
from pgrecall.rank_index.index import RankIndex, RankIndexCheck, RankIndexStatus
from pgrecall.rank_index.maintaining import Progress
from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.filters import FilterArguments
from pgrecall.ranking.hits import Hits, Strategy
from pgrecall.scoring.profile import Profile
from pgrecall.search.explanation import Explanation
from pgrecall.search.query_plan import QueryPlan

class MemoryRepository(synchronous.Repository):
    """Stores and ranks the memories of agents.

    On an Engine, each call is a transaction of its own, and is retried after a deadlock or
    serialization failure. On a Connection or Session, a call takes part in the caller's
    transaction, and the caller commits or rolls back.

    `reads_from` is the engine of a replica of `bind`. Searches and other methods that only read
    then run there, while retrievals are counted on `bind`. What was written just now may be missing
    on the replica; `repository.primary` reads from `bind`. Jobs, `evaluation.evaluate` and
    `evaluation.tune`, and `rank_indexes` use `bind` alone.

    `schema` is the schema that `pgrecall migrate` created. `embedder` converts text to vectors, and
    `token_counter` counts the tokens of texts. `entities`, a function from a text to names, finds
    the entities of new memories that come without any; "auto" takes the owner's known entities and
    capitalised names (`pgrecall.core.entity_finding`). The logger `pgrecall` reports calls at
    DEBUG, and those that take more than `slow_after` seconds at WARNING. Without `durable_touch`,
    counting retrievals on an Engine does not wait for the disk: a crash of the server may lose the
    last counts. `profile`, a Profile or the name of a built-in one, ranks in each call that names
    none; without it the database's default does (`pgrecall profiles default`). `timezone` is the
    users', such as "Europe/Berlin", for calls that give none; the argument of `search` says what it
    changes. All methods raise PgRecallError and its children (`pgrecall.errors`).
    """
    def __init__(
        self,
        bind: Engine | Connection | Session,
        *,
        reads_from: Engine | None = None,
        schema: str = "pgrecall",
        embedder: Embedder | None = None,
        token_counter: TokenCounter = ...,
        entities: Entities = None,
        slow_after: float | None = None,
        durable_touch: bool = True,
        profile: Profile | str | None = None,
        timezone: str | tzinfo | None = None,
    ) -> None: ...
    @property
    def memories(self) -> Table:
        """The table, for the filter `where`, as in `repo.memories.c.importance > 0.5`."""
    @property
    def teams(self) -> Self:
        """A repository for the memories of teams. Its methods take a team's id as `agent_id`."""
    @property
    def primary(self) -> Self:
        """A repository that also reads from the primary, and so what was written just now."""
    @property
    def labels(self) -> Labels:
        """Labels of memories, and finding memories by them."""
    @property
    def links(self) -> Links:
        """Links between memories of one owner."""
    @property
    def rank_indexes(self) -> RankIndexes:
        """Rank indexes, which make searches among many memories fast."""
    @property
    def upkeep(self) -> Upkeep:
        """Curation of an agent's memories, and garbage collection."""
    @property
    def evaluation(self) -> Evaluations:
        """Evaluation and tuning of profiles by judged queries."""
    @property
    def transfer(self) -> Transfer:
        """Moving memories out, and in with their state."""
    @property
    def ids(self) -> Ids:
        """Short ids, and finding ids by their first digits or a key."""
    def add(
        self,
        agent_id: str,
        memory: NewMemory | str,
        *,
        duplicates: DuplicatePolicy = "bump",
        near_duplicates: float | None = None,
        check_compliance: bool = True,
        actor: str | None = None,
        run: str | None = None,
        supersede_subject: bool = False,
    ) -> Added:
        """Stores one memory. Returns its id as an Added, which also says whether it was stored.

        A text alone becomes a memory with all defaults, embedded by the repository's embedder.

        A memory with a `key` is identified by the key. Without one, two memories are the same if they
        have the same text (ignoring case, white space and Unicode form), memory_type and component, and
        their validities overlap. Invalidated memories count as valid until they were invalidated.
        Adding an id or a key that is already there changes nothing, so an add can safely be retried.

        `duplicates` decides what happens to a memory that is already there: "bump" counts a retrieval
        of it, "keep" leaves it as it is, "replace" gives it all fields of the new one, and "allow"
        stores the new one without looking. A bump counts as an access at the new memory's `created_at`:
        `last_accessed_at` moves forward to it, but never past now, and not at all if it is unknown.

        If the same memory is there but invalidated or expired, it is revived with the new one's
        validity and expiry. If it was superseded, its successor is superseded in turn, and an event
        records it. SupersessionConflict is raised if the new validity has passed and the successor
        holds for that time.

        With `near_duplicates`, say 0.92, the most similar active memory is treated as a duplicate if
        its similarity is greater than that, even if the new memory has a key. This is exact and safe
        with concurrent writers, but compares all of the agent's memories. It is refused at isolation
        level REPEATABLE READ, which hides what others have just written.

        `same_subject` of the result lists other active memories of the same `subject`, among its
        newest 20. With `supersede_subject`, the new memory supersedes all of them in the same
        transaction, as `supersede` does with one memory: of several writers about one subject, one
        memory stays active. This is refused at REPEATABLE READ, too. A memory without a subject, or one
        that has ended by now, supersedes nothing.

        A memory with `compliant=False` is refused unless `check_compliance=False`. The history
        records `actor`, who wrote the memory, and `run`, a name of where it comes from, such as that of
        a conversation or a job.

        Raises InvalidMemory, NotCompliant, InvalidVector, EmbedderRequired or SupersessionConflict;
        then nothing is stored. In your own transaction at REPEATABLE READ or SERIALIZABLE, it raises
        DatabaseConflict if another writer stored the same memory meanwhile: repeat the transaction.
        """
    def add_many(
        self,
        agent_id: str,
        memories: Iterable[NewMemory | str],
        *,
        duplicates: DuplicatePolicy = "bump",
        near_duplicates: float | None = None,
        check_compliance: bool = True,
        actor: str | None = None,
        run: str | None = None,
        supersede_subject: bool = False,
        on_error: OnError = "raise",
    ) -> Batch:
        """Stores a batch in one transaction. Returns the ids in the order given; `add` has the rules.

        If one memory is bad, none is stored, and the error names its position, counted from 0. With
        `on_error="report"` the others are stored, and `refused` of the result maps the position of each
        bad memory to its error. Errors that concern the whole batch are raised all the same. Of
        memories in the batch that are the same, the first is stored, so pass a history oldest first.
        Rows are sent by COPY. With `near_duplicates` or `supersede_subject` they are added one by one
        instead, since each is compared with those before it.

        Raises InvalidMemory, NotCompliant, InvalidVector, EmbedderRequired or SupersessionConflict.
        """
    def upsert(
        self,
        agent_id: str,
        memory: NewMemory,
        *,
        reason: str | None = None,
        actor: str | None = None,
        run: str | None = None,
        check_compliance: bool = True,
    ) -> Added:
        """Stores a memory under its key, or gives the memory that has this key its text and fields.

        The id, counters, history, labels and links stay; new labels are added. So do `created_at`,
        `trust` with its parts, its decay and the `tier` if they are unset, and the usefulness once
        there was feedback; all other fields are replaced, also by their defaults. The memory is then
        active and valid by its own fields, even if it was archived or invalidated; if it was
        superseded, its successor is superseded in turn. The history records old and new values,
        `reason` and `actor`. Of two clients that write the same key at once, the last wins, and there
        is one memory.

        The outcome is inserted, replaced, or known if nothing differs. Raises what `add` raises, and
        InvalidMemory for a memory without a key.
        """
    def upsert_many(
        self,
        agent_id: str,
        memories: Iterable[NewMemory],
        *,
        reason: str | None = None,
        actor: str | None = None,
        run: str | None = None,
        check_compliance: bool = True,
    ) -> Batch:
        """Upserts a batch in one transaction, and returns the ids in its order; `upsert` has the rules.

        If one memory is bad, nothing is changed, and the error names its position, counted from 0. Of
        memories in the batch with the same key, the last wins. Texts are embedded together. New
        memories are sent by COPY; those whose key is there are replaced one by one.

        Raises what `upsert` raises.
        """
    def get(
        self,
        agent_id: str,
        memory_id: UUID | None = None,
        *,
        key: str | None = None,
        include_embedding: bool = False,
    ) -> Memory | None:
        """The agent's memory of this id or key, valid or not; None if there is none.

        Its embedding is only read with `include_embedding`.
        """
    def get_many(
        self, agent_id: str, memory_ids: UUID | Iterable[UUID], *, include_embedding: bool = False
    ) -> dict[UUID, Memory]:
        """Those of these memories that the agent has, valid or not, by id, in the order given."""
    def list(
        self,
        agent_id: str,
        *,
        order: str | Sequence[str] = ("-created_at",),
        limit: int = 50,
        after: str | None = None,
        total: bool = False,
        include_embedding: bool = False,
        as_of: datetime | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> Page[Memory]:
        """Lists memories that pass the filters, in any order, without ranking or touching them.

        As in a search, only active and valid memories pass unless `statuses` or `include_invalid` say
        otherwise. `order` names columns of a memory or of its usage; `-` before one puts the largest
        value first. NULL comes last, and the id decides between equals. The default is newest first.

        `limit` is at most 10,000. To get the next page, pass the `next` of the page as `after`, with
        the same order and filters. A page begins after the last memory of the one before, even if that
        was deleted meanwhile: no memory is repeated or left out, unless the columns of its order
        change. With `total`, the page has the number of all memories that pass.

        Raises UnknownName for an unknown column or filter, InputError for a bad value or cursor.
        """
    def update(
        self,
        agent_id: str,
        memory_id: UUID,
        *,
        reason: str | None = None,
        actor: str | None = None,
        check_compliance: bool = True,
        content: str = ...,
        embedding: VectorLike | Literal[Unset.UNSET] | None = ...,
        embedding_model: str | None = ...,
        memory_type: str = ...,
        additional_types: Sequence[str] = ...,
        memory_nature: str | None = ...,
        content_type: str | None = ...,
        tier: str | Literal[Unset.UNSET] = ...,
        subject: str | None = ...,
        tags: Sequence[str] = ...,
        entities: Sequence[str] = ...,
        metadata: Mapping[str, Any] = ...,
        importance: float = ...,
        usefulness: float = ...,
        confidence: float = ...,
        trust: float | Literal[Unset.UNSET] | None = ...,
        trust_provenance: float | None = ...,
        trust_consensus: float | None = ...,
        trust_governance: float | None = ...,
        trust_usage: float | None = ...,
        trust_curve: str | Literal[Unset.UNSET] | None = ...,
        trust_half_life_hours: float | Literal[Unset.UNSET] | None = ...,
        component: str | None = ...,
        output_type: str | None = ...,
        domain: str | None = ...,
        category: str | None = ...,
        loop: str | None = ...,
        quality_score: float | None = ...,
        compliant: bool | None = ...,
        requires_approval: bool = ...,
        has_errors: bool = ...,
        violates_policy: bool = ...,
        under_policy_review: bool = ...,
        created_at: datetime | Literal[Unset.UNSET] | None = ...,
        observed_at: datetime | None = ...,
        valid_from: datetime | None = ...,
        valid_until: datetime | None = ...,
        expires_at: datetime | Literal[Unset.UNSET] | None = ...,
        tokens: int | None = ...,
        session: str | None = ...,
        turn: int | None = ...,
    ) -> Memory:
        """Changes fields of a memory and returns it as it is afterwards.

        MemoryChanges lists the fields: those of NewMemory except `id`, `key` and `labels`. New content
        is embedded again, so text and vector always agree; without an embedder, pass `embedding` too.
        Another `tier` brings its expiry, as `promote` and `demote` do, unless `expires_at` is given.
        The history records old and new values (except vectors), `reason` and `actor`. Trust is not
        computed again: if it should change, pass `trust`. `compliant=False` is refused unless
        `check_compliance=False`.

        Raises MemoryNotFound, InvalidMemory, InvalidVector, UnknownName or EmbedderRequired, or
        DuplicateMemory if another active memory of the agent has this content. Then nothing is changed.
        """
    def delete(
        self,
        agent_id: str,
        memory_ids: UUID | Iterable[UUID] | None = None,
        *,
        dry_run: bool = False,
        reason: str | None = None,
        actor: str | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> int:
        """Deletes memories with their counters, labels and links. Returns how many were deleted.

        Name them by their ids, or by filters, but not by both. Ids that the agent does not have are
        ignored. As in a search, only active and valid memories pass a filter unless `statuses` or
        `include_invalid` say otherwise; `list` shows which these are. With `dry_run`, nothing is
        deleted, and the result is how many would be. The history of the memories remains.

        Raises InputError if neither ids nor a filter are given: `upkeep.erase_owner` deletes all.
        """
    def search(
        self,
        agent_id: str,
        embedding: VectorLike | str | None = None,
        *,
        k: int = 10,
        expand: int = 0,
        strategy: Strategy = "auto",
        touch: bool = True,
        profile: Profile | str | None = None,
        weights: Mapping[str, float] | None = None,
        normalise_weights: bool = False,
        min_score: float | None = None,
        min_similarity: float | None = None,
        min_relevance: float | None = None,
        teams: Sequence[str] = (),
        query_entities: Sequence[str] | None = None,
        query_text: str | None = None,
        query_time: tuple[datetime, datetime] | None = None,
        dates: str | None = None,
        timezone: str | tzinfo | None = None,
        apply_decay: bool = True,
        expand_session: int = 0,
        lend: float | None = None,
        as_of: datetime | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> Hits:
        """The agent's k best memories for a query, best first; ties are ordered by id.

        `embedding` is the query's vector, or its text if the repository has an embedder, or None to
        rank by the other signals alone. SearchArguments describes the other arguments: profile,
        weights, filters, thresholds and so on.

        `expand=1` adds memories that are linked to the hits, `expand=2` also those linked to these: at
        most k, by the same filters, thresholds and score, placed among the hits. Their `steps` is 1 or
        2.

        `expand_session=n` adds the n turns before and after each hit in its session. Turns of one
        session then stand together, in order, and `beside` names the hit that a turn was added for.
        With `lend` the turns are ranked instead: each hit raises the score of its neighbours by a share
        of its own, and the k best are returned. `min_score` and `min_relevance` apply to the hits, not
        to what is added for them.

        `touch` counts a retrieval of each memory returned. It also sets
        `last_accessed_at`, unless the profile is `accessed_by` use.

        `strategy` is "exact" (score every memory), "index" (score the candidates from the agent's rank
        index and what was written or changed since it was built; score every memory if that would
        not answer as well), or "auto" (use the index if the agent has enough memories and signals
        unknown to the index weigh at most a tenth). `strategy` of the result says which was used.

        Raises InputError and its children for a value that cannot be used, and DatabaseReadOnly if
        `touch` meets a database that cannot be written.
        """
    def context(
        self,
        agent_id: str,
        embedding: VectorLike | str | None = None,
        *,
        max_tokens: int = 4000,
        k: int = 20,
        reserve: Mapping[str, float] | None = None,
        max_skips: int = 3,
        diversity: float = 0.0,
        max_similarity: float | None = None,
        consider: int | None = None,
        style: str = "plain",
        strategy: Strategy = "auto",
        touch: bool = True,
        profile: Profile | str | None = None,
        weights: Mapping[str, float] | None = None,
        normalise_weights: bool = False,
        min_score: float | None = None,
        min_similarity: float | None = None,
        min_relevance: float | None = None,
        teams: Sequence[str] = (),
        query_entities: Sequence[str] | None = None,
        query_text: str | None = None,
        query_time: tuple[datetime, datetime] | None = None,
        dates: str | None = None,
        timezone: str | tzinfo | None = None,
        apply_decay: bool = True,
        expand_session: int = 0,
        lend: float | None = None,
        as_of: datetime | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> Context:
        """The agent's best memories for a query, as text for a prompt of at most `max_tokens`.

        One statement ranks as `search` does, with the same arguments, and packs: best first, at most k.
        A memory that does not fit into the rest of the budget is skipped; after `max_skips` in a row,
        packing stops. `consider` is how many ranked memories are looked at: by default max_skips · k
        but at most 80 (or k), and 80 where `reserve` or `max_similarity` may skip more.

        Memories below `min_score` or `min_relevance` are left out. The default floor of relevance is
        the profile's; 0 turns it off. If no memory reaches it, the context is empty and `emptied_by`
        says why.

        `reserve` keeps shares of the budget for types of memory, such as {"fact": 0.5}. Others may only
        use what the memories of that type leave. `max_similarity`, say 0.92, leaves out a memory that
        is more similar than that to one already packed. With `diversity` d in [0, 1) the next memory is
        the one with the greatest (1 - d) · score - d · similarity to the nearest packed memory (maximal
        marginal relevance, Carbonell and Goldstein 1998). With `expand_session` the turns beside a
        memory follow it, nearest first, as far as they fit; they do not count towards k.

        `style` is plain, markdown or xml. Memories are grouped by type in a fixed order, and turns of a
        session stay together in theirs. Each memory starts with a random marker, its date (20261122) in
        `timezone` and, where it changes, its type; the marker also ends the text. A memory's text
        cannot end its block or imitate another: control characters and characters that change the
        direction of writing become U+FFFD, and invisible ones, such as joiners and tags, are removed,
        even from emoji that need them.

        The whole text is counted by the repository's `token_counter` and never exceeds `max_tokens` by
        that count. The default counter estimates: it is higher than a model's tokenizer for ordinary
        text and lower for emoji and base64. Give the repository your model's tokenizer to keep a limit
        exactly. If the text turns out longer than its parts were counted, it is packed again.

        `touch` counts a retrieval of each memory in the text, as `search` does.

        Raises InputError and its children.
        """
    def explain(
        self,
        agent_id: str,
        memory_id: UUID,
        embedding: VectorLike | str | None = None,
        *,
        k: int = 10,
        profile: Profile | str | None = None,
        weights: Mapping[str, float] | None = None,
        normalise_weights: bool = False,
        min_score: float | None = None,
        min_similarity: float | None = None,
        min_relevance: float | None = None,
        teams: Sequence[str] = (),
        query_entities: Sequence[str] | None = None,
        query_text: str | None = None,
        query_time: tuple[datetime, datetime] | None = None,
        dates: str | None = None,
        timezone: str | tzinfo | None = None,
        apply_decay: bool = True,
        expand_session: int = 0,
        lend: float | None = None,
        as_of: datetime | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> Explanation:
        """Why a search with these arguments returns this memory, or why not.

        Takes the arguments of `search`. The explanation holds the memory's score and rank, and each
        signal's value, weight and share. If the memory is not among the k best, it says which
        conditions it fails, which threshold it misses, or what score it would have needed and in which
        signal it is furthest behind. With `lend`, score and rank are the raised ones, and the hit says
        which memory lent and how much; with `expand_session` alone, `beside` names the hit that the
        memory was added for. Relevance is measured even without a floor. No retrieval is counted.

        Raises MemoryNotFound if neither the agent nor one of the teams has the memory.
        """
    def plan(
        self,
        agent_id: str,
        embedding: VectorLike | str | None = None,
        *,
        k: int = 10,
        strategy: Strategy = "auto",
        run: bool = False,
        profile: Profile | str | None = None,
        weights: Mapping[str, float] | None = None,
        normalise_weights: bool = False,
        min_score: float | None = None,
        min_similarity: float | None = None,
        min_relevance: float | None = None,
        teams: Sequence[str] = (),
        query_entities: Sequence[str] | None = None,
        query_text: str | None = None,
        query_time: tuple[datetime, datetime] | None = None,
        dates: str | None = None,
        timezone: str | tzinfo | None = None,
        apply_decay: bool = True,
        expand_session: int = 0,
        lend: float | None = None,
        as_of: datetime | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> QueryPlan:
        """The statement that a search with these arguments runs first, and PostgreSQL's plan for it.

        Takes the arguments of `search`. `run` also executes it, so that the plan has times and buffers.
        No retrieval is counted. In psql, recall_plan does the same for recall.
        """
    def prepare(
        self,
        *,
        connections: int = 1,
        profile: Profile | str | None = None,
        weights: Mapping[str, float] | None = None,
        normalise_weights: bool = False,
        min_score: float | None = None,
        min_similarity: float | None = None,
        min_relevance: float | None = None,
        teams: Sequence[str] = (),
        query_entities: Sequence[str] | None = None,
        query_text: str | None = None,
        query_time: tuple[datetime, datetime] | None = None,
        dates: str | None = None,
        timezone: str | tzinfo | None = None,
        apply_decay: bool = True,
        expand_session: int = 0,
        lend: float | None = None,
        as_of: datetime | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> None:
        """Prepares this many connections of the engine's pool for searches with these arguments.

        On each connection it runs such a search, for an agent without memories, until its plan is
        cached; without `query_text` also a search with a text. The first searches of a new process are
        then as fast as later ones. The arguments are those of `search`; for most it only matters
        whether they are given.

        Raises InputError for a repository that is not on an Engine, and the errors of `search`.
        """
    def touch(self, agent_id: str, memory_ids: UUID | Iterable[UUID]) -> int:
        """Counts one retrieval of each memory and sets its last access to now. Returns how many exist.

        Only `memory_usage` is written. Rows are locked in key order.
        """
    def count(
        self,
        agent_id: str,
        *,
        as_of: datetime | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> int:
        """How many memories a search with these filters would rank."""
    def exists(
        self, agent_id: str, memory_id: UUID | None = None, *, key: str | None = None
    ) -> bool:
        """Whether the agent has a memory of this id or key, valid or not."""
    def existing(self, agent_id: str, memory_ids: UUID | Iterable[UUID]) -> set[UUID]:
        """Which of these ids the agent has, so that only the others need embedding and adding."""
    def owners(
        self, *, prefix: str = "", limit: int = 100, after: str | None = None
    ) -> Page[OwnerCount]:
        """Lists the agents that have memories, with the number of these, in the order of their ids.

        `repository.teams.owners()` lists teams. `prefix` restricts the list to ids that begin with it.
        `limit` is at most 10,000; `after` is the `next` of the page before. A role that row-level
        security restricts sees its own. Raises InputError.
        """
    def record_outcome(
        self,
        agent_id: str,
        memory_id: UUID,
        outcome: Outcome,
        *,
        reason: str | None = None,
        actor: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        query: str | None = None,
        touch: bool = True,
    ) -> Memory:
        """Records that using the memory succeeded or failed. Returns the memory afterwards.

        The rule is that of Grace: the counter is incremented first, then trust changes by +0.05 / (1 +
        0.1 · success_count) or -0.08 / (1 + 0.05 · failure_count), and by another +0.02 if there are
        more than 5 retrievals and the success rate is over 0.8. Trust stays in [0, 1]; trust that was
        never assessed stays unknown. The usage part of trust is stored anew but does not change trust
        by itself.

        An outcome sets `last_accessed_at`. `touch` also counts a retrieval; pass False if the search
        that found the memory has counted it. `query` is what the memory was found for; it is stored in
        the history for `evaluation.recorded_queries`.

        Raises MemoryNotFound or InputError.
        """
    def feedback(
        self,
        agent_id: str,
        memory_id: UUID,
        kind: Feedback,
        context: str | None = None,
        *,
        actor: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        query: str | None = None,
    ) -> Memory:
        """Records what was thought of the memory. Returns the memory afterwards.

        usefulness becomes the posterior mean (2·u₀ + Σ up) / (2 + Σ up + Σ down), where u₀ is the
        usefulness set on write, 0.5 by default. `useful` is one vote up, `not_useful` one down,
        `outdated` one down and a mark for review, `incorrect` three down. `context` is free text,
        stored in the history as the reason. `query` is what the memory was found for; it is stored in
        the history for `evaluation.recorded_queries`.

        Raises MemoryNotFound or InputError.
        """
    def history(self, agent_id: str, memory_id: UUID) -> builtins.list[Event]:
        """The events of a memory, oldest first; also if it has been deleted since."""
    def supersede(
        self,
        agent_id: str,
        memory_id: UUID,
        new: NewMemory | str,
        *,
        reason: str | None = None,
        actor: str | None = None,
        run: str | None = None,
        force: bool = False,
        check_compliance: bool = True,
    ) -> Added:
        """Stores `new` in place of a memory, which stays in the table but is no longer recalled.

        The old memory is invalidated from the moment the new one begins to hold (its valid_from, by
        default now), with the reason superseded and the new one as its successor. The new memory's
        importance is at least the old one's, and it takes over the subject if it names none. If it is
        the same as another active memory (see `add`), that one becomes the successor. Repeating
        the call with the same id or key changes nothing. The new memory must not require approval: add
        and approve it, then supersede with the same text.

        Raises SupersessionConflict if the old memory is valid until later than the new one begins, does
        not begin earlier, or was already superseded or forgotten; `force` overrides this. Also raises
        MemoryNotFound, and what `add` raises.
        """
    def invalidate(
        self,
        agent_id: str,
        memory_ids: UUID | Iterable[UUID],
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> int:
        """Forgets memories: they stay stored, but are not recalled any more. Returns how many changed.

        Ids that the agent does not have or that are already invalidated are ignored.
        `invalidation_reason` becomes forgotten; `reason` is recorded in the history.
        """
    def revive(
        self,
        agent_id: str,
        memory_ids: UUID | Iterable[UUID],
        *,
        reason: str | None = None,
        actor: str | None = None,
        force: bool = False,
    ) -> int:
        """Makes memories recallable again that were invalidated, archived or have expired. Returns how
        many there were.

        Their status becomes active; the invalidation and an expiry in the past are removed. valid_from
        and valid_until stay. Memories that wait for approval are ignored.

        Raises DuplicateMemory if another active memory says the same by now, and SupersessionConflict
        if one was superseded and its successor is valid; with `force` both are then recalled. If it
        raises, nothing is changed.
        """
    def erase(
        self, agent_id: str, memory_ids: UUID | Iterable[UUID], *, dry_run: bool = False
    ) -> Erased:
        """Deletes memories and everything of them, including their history. Returns how many rows.

        `delete` keeps the history, which may contain texts; `erase` also removes that of memories that
        were deleted before. Other memories that name an erased one, as their successor or as the end of
        a link in their history, no longer do. Memories that consolidate erased ones may contain the
        same text. They stay; `derived` lists them. Ids that the agent never had are ignored. `dry_run`
        changes nothing, but locks the memories meanwhile.

        PostgreSQL keeps deleted rows on disk until VACUUM; see Operations, "Erasure".
        """

class AsyncMemoryRepository(asynchronous.Repository):
    """Stores and ranks the memories of agents, with the methods of MemoryRepository as coroutines.

    Works on an AsyncEngine, an AsyncConnection or an AsyncSession, under the same rules. An
    embedder with `aembed_documents` and `aembed_query` is awaited; any other runs in a thread.
    """
    def __init__(
        self,
        bind: AsyncEngine | AsyncConnection | AsyncSession,
        *,
        reads_from: AsyncEngine | None = None,
        schema: str = "pgrecall",
        embedder: Embedder | AsyncEmbedder | None = None,
        token_counter: TokenCounter = ...,
        entities: Entities = None,
        slow_after: float | None = None,
        durable_touch: bool = True,
        profile: Profile | str | None = None,
        timezone: str | tzinfo | None = None,
    ) -> None: ...
    @property
    def memories(self) -> Table:
        """The table, for the filter `where`, as in `repo.memories.c.importance > 0.5`."""
    @property
    def teams(self) -> Self:
        """A repository for the memories of teams. Its methods take a team's id as `agent_id`."""
    @property
    def primary(self) -> Self:
        """A repository that also reads from the primary, and so what was written just now."""
    @property
    def labels(self) -> AsyncLabels:
        """Labels of memories, and finding memories by them."""
    @property
    def links(self) -> AsyncLinks:
        """Links between memories of one owner."""
    @property
    def rank_indexes(self) -> AsyncRankIndexes:
        """Rank indexes, which make searches among many memories fast."""
    @property
    def upkeep(self) -> AsyncUpkeep:
        """Curation of an agent's memories, and garbage collection."""
    @property
    def evaluation(self) -> AsyncEvaluations:
        """Evaluation and tuning of profiles by judged queries."""
    @property
    def transfer(self) -> AsyncTransfer:
        """Moving memories out, and in with their state."""
    @property
    def ids(self) -> AsyncIds:
        """Short ids, and finding ids by their first digits or a key."""
    async def add(
        self,
        agent_id: str,
        memory: NewMemory | str,
        *,
        duplicates: DuplicatePolicy = "bump",
        near_duplicates: float | None = None,
        check_compliance: bool = True,
        actor: str | None = None,
        run: str | None = None,
        supersede_subject: bool = False,
    ) -> Added:
        """Stores one memory. Returns its id as an Added, which also says whether it was stored.

        A text alone becomes a memory with all defaults, embedded by the repository's embedder.

        A memory with a `key` is identified by the key. Without one, two memories are the same if they
        have the same text (ignoring case, white space and Unicode form), memory_type and component, and
        their validities overlap. Invalidated memories count as valid until they were invalidated.
        Adding an id or a key that is already there changes nothing, so an add can safely be retried.

        `duplicates` decides what happens to a memory that is already there: "bump" counts a retrieval
        of it, "keep" leaves it as it is, "replace" gives it all fields of the new one, and "allow"
        stores the new one without looking. A bump counts as an access at the new memory's `created_at`:
        `last_accessed_at` moves forward to it, but never past now, and not at all if it is unknown.

        If the same memory is there but invalidated or expired, it is revived with the new one's
        validity and expiry. If it was superseded, its successor is superseded in turn, and an event
        records it. SupersessionConflict is raised if the new validity has passed and the successor
        holds for that time.

        With `near_duplicates`, say 0.92, the most similar active memory is treated as a duplicate if
        its similarity is greater than that, even if the new memory has a key. This is exact and safe
        with concurrent writers, but compares all of the agent's memories. It is refused at isolation
        level REPEATABLE READ, which hides what others have just written.

        `same_subject` of the result lists other active memories of the same `subject`, among its
        newest 20. With `supersede_subject`, the new memory supersedes all of them in the same
        transaction, as `supersede` does with one memory: of several writers about one subject, one
        memory stays active. This is refused at REPEATABLE READ, too. A memory without a subject, or one
        that has ended by now, supersedes nothing.

        A memory with `compliant=False` is refused unless `check_compliance=False`. The history
        records `actor`, who wrote the memory, and `run`, a name of where it comes from, such as that of
        a conversation or a job.

        Raises InvalidMemory, NotCompliant, InvalidVector, EmbedderRequired or SupersessionConflict;
        then nothing is stored. In your own transaction at REPEATABLE READ or SERIALIZABLE, it raises
        DatabaseConflict if another writer stored the same memory meanwhile: repeat the transaction.
        """
    async def add_many(
        self,
        agent_id: str,
        memories: Iterable[NewMemory | str],
        *,
        duplicates: DuplicatePolicy = "bump",
        near_duplicates: float | None = None,
        check_compliance: bool = True,
        actor: str | None = None,
        run: str | None = None,
        supersede_subject: bool = False,
        on_error: OnError = "raise",
    ) -> Batch:
        """Stores a batch in one transaction. Returns the ids in the order given; `add` has the rules.

        If one memory is bad, none is stored, and the error names its position, counted from 0. With
        `on_error="report"` the others are stored, and `refused` of the result maps the position of each
        bad memory to its error. Errors that concern the whole batch are raised all the same. Of
        memories in the batch that are the same, the first is stored, so pass a history oldest first.
        Rows are sent by COPY. With `near_duplicates` or `supersede_subject` they are added one by one
        instead, since each is compared with those before it.

        Raises InvalidMemory, NotCompliant, InvalidVector, EmbedderRequired or SupersessionConflict.
        """
    async def upsert(
        self,
        agent_id: str,
        memory: NewMemory,
        *,
        reason: str | None = None,
        actor: str | None = None,
        run: str | None = None,
        check_compliance: bool = True,
    ) -> Added:
        """Stores a memory under its key, or gives the memory that has this key its text and fields.

        The id, counters, history, labels and links stay; new labels are added. So do `created_at`,
        `trust` with its parts, its decay and the `tier` if they are unset, and the usefulness once
        there was feedback; all other fields are replaced, also by their defaults. The memory is then
        active and valid by its own fields, even if it was archived or invalidated; if it was
        superseded, its successor is superseded in turn. The history records old and new values,
        `reason` and `actor`. Of two clients that write the same key at once, the last wins, and there
        is one memory.

        The outcome is inserted, replaced, or known if nothing differs. Raises what `add` raises, and
        InvalidMemory for a memory without a key.
        """
    async def upsert_many(
        self,
        agent_id: str,
        memories: Iterable[NewMemory],
        *,
        reason: str | None = None,
        actor: str | None = None,
        run: str | None = None,
        check_compliance: bool = True,
    ) -> Batch:
        """Upserts a batch in one transaction, and returns the ids in its order; `upsert` has the rules.

        If one memory is bad, nothing is changed, and the error names its position, counted from 0. Of
        memories in the batch with the same key, the last wins. Texts are embedded together. New
        memories are sent by COPY; those whose key is there are replaced one by one.

        Raises what `upsert` raises.
        """
    async def get(
        self,
        agent_id: str,
        memory_id: UUID | None = None,
        *,
        key: str | None = None,
        include_embedding: bool = False,
    ) -> Memory | None:
        """The agent's memory of this id or key, valid or not; None if there is none.

        Its embedding is only read with `include_embedding`.
        """
    async def get_many(
        self, agent_id: str, memory_ids: UUID | Iterable[UUID], *, include_embedding: bool = False
    ) -> dict[UUID, Memory]:
        """Those of these memories that the agent has, valid or not, by id, in the order given."""
    async def list(
        self,
        agent_id: str,
        *,
        order: str | Sequence[str] = ("-created_at",),
        limit: int = 50,
        after: str | None = None,
        total: bool = False,
        include_embedding: bool = False,
        as_of: datetime | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> Page[Memory]:
        """Lists memories that pass the filters, in any order, without ranking or touching them.

        As in a search, only active and valid memories pass unless `statuses` or `include_invalid` say
        otherwise. `order` names columns of a memory or of its usage; `-` before one puts the largest
        value first. NULL comes last, and the id decides between equals. The default is newest first.

        `limit` is at most 10,000. To get the next page, pass the `next` of the page as `after`, with
        the same order and filters. A page begins after the last memory of the one before, even if that
        was deleted meanwhile: no memory is repeated or left out, unless the columns of its order
        change. With `total`, the page has the number of all memories that pass.

        Raises UnknownName for an unknown column or filter, InputError for a bad value or cursor.
        """
    async def update(
        self,
        agent_id: str,
        memory_id: UUID,
        *,
        reason: str | None = None,
        actor: str | None = None,
        check_compliance: bool = True,
        content: str = ...,
        embedding: VectorLike | Literal[Unset.UNSET] | None = ...,
        embedding_model: str | None = ...,
        memory_type: str = ...,
        additional_types: Sequence[str] = ...,
        memory_nature: str | None = ...,
        content_type: str | None = ...,
        tier: str | Literal[Unset.UNSET] = ...,
        subject: str | None = ...,
        tags: Sequence[str] = ...,
        entities: Sequence[str] = ...,
        metadata: Mapping[str, Any] = ...,
        importance: float = ...,
        usefulness: float = ...,
        confidence: float = ...,
        trust: float | Literal[Unset.UNSET] | None = ...,
        trust_provenance: float | None = ...,
        trust_consensus: float | None = ...,
        trust_governance: float | None = ...,
        trust_usage: float | None = ...,
        trust_curve: str | Literal[Unset.UNSET] | None = ...,
        trust_half_life_hours: float | Literal[Unset.UNSET] | None = ...,
        component: str | None = ...,
        output_type: str | None = ...,
        domain: str | None = ...,
        category: str | None = ...,
        loop: str | None = ...,
        quality_score: float | None = ...,
        compliant: bool | None = ...,
        requires_approval: bool = ...,
        has_errors: bool = ...,
        violates_policy: bool = ...,
        under_policy_review: bool = ...,
        created_at: datetime | Literal[Unset.UNSET] | None = ...,
        observed_at: datetime | None = ...,
        valid_from: datetime | None = ...,
        valid_until: datetime | None = ...,
        expires_at: datetime | Literal[Unset.UNSET] | None = ...,
        tokens: int | None = ...,
        session: str | None = ...,
        turn: int | None = ...,
    ) -> Memory:
        """Changes fields of a memory and returns it as it is afterwards.

        MemoryChanges lists the fields: those of NewMemory except `id`, `key` and `labels`. New content
        is embedded again, so text and vector always agree; without an embedder, pass `embedding` too.
        Another `tier` brings its expiry, as `promote` and `demote` do, unless `expires_at` is given.
        The history records old and new values (except vectors), `reason` and `actor`. Trust is not
        computed again: if it should change, pass `trust`. `compliant=False` is refused unless
        `check_compliance=False`.

        Raises MemoryNotFound, InvalidMemory, InvalidVector, UnknownName or EmbedderRequired, or
        DuplicateMemory if another active memory of the agent has this content. Then nothing is changed.
        """
    async def delete(
        self,
        agent_id: str,
        memory_ids: UUID | Iterable[UUID] | None = None,
        *,
        dry_run: bool = False,
        reason: str | None = None,
        actor: str | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> int:
        """Deletes memories with their counters, labels and links. Returns how many were deleted.

        Name them by their ids, or by filters, but not by both. Ids that the agent does not have are
        ignored. As in a search, only active and valid memories pass a filter unless `statuses` or
        `include_invalid` say otherwise; `list` shows which these are. With `dry_run`, nothing is
        deleted, and the result is how many would be. The history of the memories remains.

        Raises InputError if neither ids nor a filter are given: `upkeep.erase_owner` deletes all.
        """
    async def search(
        self,
        agent_id: str,
        embedding: VectorLike | str | None = None,
        *,
        k: int = 10,
        expand: int = 0,
        strategy: Strategy = "auto",
        touch: bool = True,
        profile: Profile | str | None = None,
        weights: Mapping[str, float] | None = None,
        normalise_weights: bool = False,
        min_score: float | None = None,
        min_similarity: float | None = None,
        min_relevance: float | None = None,
        teams: Sequence[str] = (),
        query_entities: Sequence[str] | None = None,
        query_text: str | None = None,
        query_time: tuple[datetime, datetime] | None = None,
        dates: str | None = None,
        timezone: str | tzinfo | None = None,
        apply_decay: bool = True,
        expand_session: int = 0,
        lend: float | None = None,
        as_of: datetime | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> Hits:
        """The agent's k best memories for a query, best first; ties are ordered by id.

        `embedding` is the query's vector, or its text if the repository has an embedder, or None to
        rank by the other signals alone. SearchArguments describes the other arguments: profile,
        weights, filters, thresholds and so on.

        `expand=1` adds memories that are linked to the hits, `expand=2` also those linked to these: at
        most k, by the same filters, thresholds and score, placed among the hits. Their `steps` is 1 or
        2.

        `expand_session=n` adds the n turns before and after each hit in its session. Turns of one
        session then stand together, in order, and `beside` names the hit that a turn was added for.
        With `lend` the turns are ranked instead: each hit raises the score of its neighbours by a share
        of its own, and the k best are returned. `min_score` and `min_relevance` apply to the hits, not
        to what is added for them.

        `touch` counts a retrieval of each memory returned. It also sets
        `last_accessed_at`, unless the profile is `accessed_by` use.

        `strategy` is "exact" (score every memory), "index" (score the candidates from the agent's rank
        index and what was written or changed since it was built; score every memory if that would
        not answer as well), or "auto" (use the index if the agent has enough memories and signals
        unknown to the index weigh at most a tenth). `strategy` of the result says which was used.

        Raises InputError and its children for a value that cannot be used, and DatabaseReadOnly if
        `touch` meets a database that cannot be written.
        """
    async def context(
        self,
        agent_id: str,
        embedding: VectorLike | str | None = None,
        *,
        max_tokens: int = 4000,
        k: int = 20,
        reserve: Mapping[str, float] | None = None,
        max_skips: int = 3,
        diversity: float = 0.0,
        max_similarity: float | None = None,
        consider: int | None = None,
        style: str = "plain",
        strategy: Strategy = "auto",
        touch: bool = True,
        profile: Profile | str | None = None,
        weights: Mapping[str, float] | None = None,
        normalise_weights: bool = False,
        min_score: float | None = None,
        min_similarity: float | None = None,
        min_relevance: float | None = None,
        teams: Sequence[str] = (),
        query_entities: Sequence[str] | None = None,
        query_text: str | None = None,
        query_time: tuple[datetime, datetime] | None = None,
        dates: str | None = None,
        timezone: str | tzinfo | None = None,
        apply_decay: bool = True,
        expand_session: int = 0,
        lend: float | None = None,
        as_of: datetime | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> Context:
        """The agent's best memories for a query, as text for a prompt of at most `max_tokens`.

        One statement ranks as `search` does, with the same arguments, and packs: best first, at most k.
        A memory that does not fit into the rest of the budget is skipped; after `max_skips` in a row,
        packing stops. `consider` is how many ranked memories are looked at: by default max_skips · k
        but at most 80 (or k), and 80 where `reserve` or `max_similarity` may skip more.

        Memories below `min_score` or `min_relevance` are left out. The default floor of relevance is
        the profile's; 0 turns it off. If no memory reaches it, the context is empty and `emptied_by`
        says why.

        `reserve` keeps shares of the budget for types of memory, such as {"fact": 0.5}. Others may only
        use what the memories of that type leave. `max_similarity`, say 0.92, leaves out a memory that
        is more similar than that to one already packed. With `diversity` d in [0, 1) the next memory is
        the one with the greatest (1 - d) · score - d · similarity to the nearest packed memory (maximal
        marginal relevance, Carbonell and Goldstein 1998). With `expand_session` the turns beside a
        memory follow it, nearest first, as far as they fit; they do not count towards k.

        `style` is plain, markdown or xml. Memories are grouped by type in a fixed order, and turns of a
        session stay together in theirs. Each memory starts with a random marker, its date (20261122) in
        `timezone` and, where it changes, its type; the marker also ends the text. A memory's text
        cannot end its block or imitate another: control characters and characters that change the
        direction of writing become U+FFFD, and invisible ones, such as joiners and tags, are removed,
        even from emoji that need them.

        The whole text is counted by the repository's `token_counter` and never exceeds `max_tokens` by
        that count. The default counter estimates: it is higher than a model's tokenizer for ordinary
        text and lower for emoji and base64. Give the repository your model's tokenizer to keep a limit
        exactly. If the text turns out longer than its parts were counted, it is packed again.

        `touch` counts a retrieval of each memory in the text, as `search` does.

        Raises InputError and its children.
        """
    async def explain(
        self,
        agent_id: str,
        memory_id: UUID,
        embedding: VectorLike | str | None = None,
        *,
        k: int = 10,
        profile: Profile | str | None = None,
        weights: Mapping[str, float] | None = None,
        normalise_weights: bool = False,
        min_score: float | None = None,
        min_similarity: float | None = None,
        min_relevance: float | None = None,
        teams: Sequence[str] = (),
        query_entities: Sequence[str] | None = None,
        query_text: str | None = None,
        query_time: tuple[datetime, datetime] | None = None,
        dates: str | None = None,
        timezone: str | tzinfo | None = None,
        apply_decay: bool = True,
        expand_session: int = 0,
        lend: float | None = None,
        as_of: datetime | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> Explanation:
        """Why a search with these arguments returns this memory, or why not.

        Takes the arguments of `search`. The explanation holds the memory's score and rank, and each
        signal's value, weight and share. If the memory is not among the k best, it says which
        conditions it fails, which threshold it misses, or what score it would have needed and in which
        signal it is furthest behind. With `lend`, score and rank are the raised ones, and the hit says
        which memory lent and how much; with `expand_session` alone, `beside` names the hit that the
        memory was added for. Relevance is measured even without a floor. No retrieval is counted.

        Raises MemoryNotFound if neither the agent nor one of the teams has the memory.
        """
    async def plan(
        self,
        agent_id: str,
        embedding: VectorLike | str | None = None,
        *,
        k: int = 10,
        strategy: Strategy = "auto",
        run: bool = False,
        profile: Profile | str | None = None,
        weights: Mapping[str, float] | None = None,
        normalise_weights: bool = False,
        min_score: float | None = None,
        min_similarity: float | None = None,
        min_relevance: float | None = None,
        teams: Sequence[str] = (),
        query_entities: Sequence[str] | None = None,
        query_text: str | None = None,
        query_time: tuple[datetime, datetime] | None = None,
        dates: str | None = None,
        timezone: str | tzinfo | None = None,
        apply_decay: bool = True,
        expand_session: int = 0,
        lend: float | None = None,
        as_of: datetime | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> QueryPlan:
        """The statement that a search with these arguments runs first, and PostgreSQL's plan for it.

        Takes the arguments of `search`. `run` also executes it, so that the plan has times and buffers.
        No retrieval is counted. In psql, recall_plan does the same for recall.
        """
    async def prepare(
        self,
        *,
        connections: int = 1,
        profile: Profile | str | None = None,
        weights: Mapping[str, float] | None = None,
        normalise_weights: bool = False,
        min_score: float | None = None,
        min_similarity: float | None = None,
        min_relevance: float | None = None,
        teams: Sequence[str] = (),
        query_entities: Sequence[str] | None = None,
        query_text: str | None = None,
        query_time: tuple[datetime, datetime] | None = None,
        dates: str | None = None,
        timezone: str | tzinfo | None = None,
        apply_decay: bool = True,
        expand_session: int = 0,
        lend: float | None = None,
        as_of: datetime | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> None:
        """Prepares this many connections of the engine's pool for searches with these arguments.

        On each connection it runs such a search, for an agent without memories, until its plan is
        cached; without `query_text` also a search with a text. The first searches of a new process are
        then as fast as later ones. The arguments are those of `search`; for most it only matters
        whether they are given.

        Raises InputError for a repository that is not on an Engine, and the errors of `search`.
        """
    async def touch(self, agent_id: str, memory_ids: UUID | Iterable[UUID]) -> int:
        """Counts one retrieval of each memory and sets its last access to now. Returns how many exist.

        Only `memory_usage` is written. Rows are locked in key order.
        """
    async def count(
        self,
        agent_id: str,
        *,
        as_of: datetime | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> int:
        """How many memories a search with these filters would rank."""
    async def exists(
        self, agent_id: str, memory_id: UUID | None = None, *, key: str | None = None
    ) -> bool:
        """Whether the agent has a memory of this id or key, valid or not."""
    async def existing(self, agent_id: str, memory_ids: UUID | Iterable[UUID]) -> set[UUID]:
        """Which of these ids the agent has, so that only the others need embedding and adding."""
    async def owners(
        self, *, prefix: str = "", limit: int = 100, after: str | None = None
    ) -> Page[OwnerCount]:
        """Lists the agents that have memories, with the number of these, in the order of their ids.

        `repository.teams.owners()` lists teams. `prefix` restricts the list to ids that begin with it.
        `limit` is at most 10,000; `after` is the `next` of the page before. A role that row-level
        security restricts sees its own. Raises InputError.
        """
    async def record_outcome(
        self,
        agent_id: str,
        memory_id: UUID,
        outcome: Outcome,
        *,
        reason: str | None = None,
        actor: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        query: str | None = None,
        touch: bool = True,
    ) -> Memory:
        """Records that using the memory succeeded or failed. Returns the memory afterwards.

        The rule is that of Grace: the counter is incremented first, then trust changes by +0.05 / (1 +
        0.1 · success_count) or -0.08 / (1 + 0.05 · failure_count), and by another +0.02 if there are
        more than 5 retrievals and the success rate is over 0.8. Trust stays in [0, 1]; trust that was
        never assessed stays unknown. The usage part of trust is stored anew but does not change trust
        by itself.

        An outcome sets `last_accessed_at`. `touch` also counts a retrieval; pass False if the search
        that found the memory has counted it. `query` is what the memory was found for; it is stored in
        the history for `evaluation.recorded_queries`.

        Raises MemoryNotFound or InputError.
        """
    async def feedback(
        self,
        agent_id: str,
        memory_id: UUID,
        kind: Feedback,
        context: str | None = None,
        *,
        actor: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        query: str | None = None,
    ) -> Memory:
        """Records what was thought of the memory. Returns the memory afterwards.

        usefulness becomes the posterior mean (2·u₀ + Σ up) / (2 + Σ up + Σ down), where u₀ is the
        usefulness set on write, 0.5 by default. `useful` is one vote up, `not_useful` one down,
        `outdated` one down and a mark for review, `incorrect` three down. `context` is free text,
        stored in the history as the reason. `query` is what the memory was found for; it is stored in
        the history for `evaluation.recorded_queries`.

        Raises MemoryNotFound or InputError.
        """
    async def history(self, agent_id: str, memory_id: UUID) -> builtins.list[Event]:
        """The events of a memory, oldest first; also if it has been deleted since."""
    async def supersede(
        self,
        agent_id: str,
        memory_id: UUID,
        new: NewMemory | str,
        *,
        reason: str | None = None,
        actor: str | None = None,
        run: str | None = None,
        force: bool = False,
        check_compliance: bool = True,
    ) -> Added:
        """Stores `new` in place of a memory, which stays in the table but is no longer recalled.

        The old memory is invalidated from the moment the new one begins to hold (its valid_from, by
        default now), with the reason superseded and the new one as its successor. The new memory's
        importance is at least the old one's, and it takes over the subject if it names none. If it is
        the same as another active memory (see `add`), that one becomes the successor. Repeating
        the call with the same id or key changes nothing. The new memory must not require approval: add
        and approve it, then supersede with the same text.

        Raises SupersessionConflict if the old memory is valid until later than the new one begins, does
        not begin earlier, or was already superseded or forgotten; `force` overrides this. Also raises
        MemoryNotFound, and what `add` raises.
        """
    async def invalidate(
        self,
        agent_id: str,
        memory_ids: UUID | Iterable[UUID],
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> int:
        """Forgets memories: they stay stored, but are not recalled any more. Returns how many changed.

        Ids that the agent does not have or that are already invalidated are ignored.
        `invalidation_reason` becomes forgotten; `reason` is recorded in the history.
        """
    async def revive(
        self,
        agent_id: str,
        memory_ids: UUID | Iterable[UUID],
        *,
        reason: str | None = None,
        actor: str | None = None,
        force: bool = False,
    ) -> int:
        """Makes memories recallable again that were invalidated, archived or have expired. Returns how
        many there were.

        Their status becomes active; the invalidation and an expiry in the past are removed. valid_from
        and valid_until stay. Memories that wait for approval are ignored.

        Raises DuplicateMemory if another active memory says the same by now, and SupersessionConflict
        if one was superseded and its successor is valid; with `force` both are then recalled. If it
        raises, nothing is changed.
        """
    async def erase(
        self, agent_id: str, memory_ids: UUID | Iterable[UUID], *, dry_run: bool = False
    ) -> Erased:
        """Deletes memories and everything of them, including their history. Returns how many rows.

        `delete` keeps the history, which may contain texts; `erase` also removes that of memories that
        were deleted before. Other memories that name an erased one, as their successor or as the end of
        a link in their history, no longer do. Memories that consolidate erased ones may contain the
        same text. They stay; `derived` lists them. Ids that the agent never had are ignored. `dry_run`
        changes nothing, but locks the memories meanwhile.

        PostgreSQL keeps deleted rows on disk until VACUUM; see Operations, "Erasure".
        """

class Labels(synchronous.Namespace):
    """`repository.labels`. Labels of memories, and finding memories by them."""
    def add(
        self,
        agent_id: str,
        memory_id: UUID,
        labels: Label | str | Sequence[Label | str],
        *,
        actor: str | None = None,
    ) -> int:
        """Adds labels to a memory. Returns how many. Text alone is a label of kind keyword, weight 1.

        An existing label of the same kind and value gets the new weight. At most 1,000 labels per call.
        Raises MemoryNotFound, InputError or UnknownName.
        """
    def remove(
        self,
        agent_id: str,
        memory_id: UUID,
        labels: Label | str | Sequence[Label | str],
        *,
        actor: str | None = None,
    ) -> int:
        """Removes labels from a memory, by kind and value. Returns how many were removed.

        Raises MemoryNotFound, InputError or UnknownName.
        """
    def of(self, agent_id: str, memory_id: UUID) -> builtins.list[Label]:
        """The labels of a memory, the greatest weight first."""
    def find(
        self,
        agent_id: str,
        values: str | Sequence[str],
        *,
        kinds: Sequence[LabelKind] | None = None,
        limit: int = 20,
    ) -> builtins.list[tuple[Memory, float]]:
        """Active, valid memories that have any of these labels, with the sum of their weights.

        The greatest sum comes first, ties by id. To rank them by a profile, search with `labels=…`.
        """

class Links(synchronous.Namespace):
    """`repository.links`. Links between memories of one owner."""
    def add(
        self,
        agent_id: str,
        source_id: UUID,
        target_id: UUID,
        kind: str = "related",
        *,
        weight: float = 1.0,
        actor: str | None = None,
    ) -> None:
        """Links two memories of the agent. An existing link of this kind gets the new weight.

        Raises MemoryNotFound if one of them does not exist, and InputError if they are the same.
        """
    def remove(
        self,
        agent_id: str,
        source_id: UUID,
        target_id: UUID,
        kind: str = "related",
        *,
        actor: str | None = None,
    ) -> bool:
        """Removes a link. Returns whether it existed."""
    def of(self, agent_id: str, memory_id: UUID) -> builtins.list[Link]:
        """The links from and to a memory, strongest first."""

class RankIndexes(synchronous.Namespace):
    """`repository.rank_indexes`. Rank indexes, which make searches among many memories fast."""
    def build(
        self,
        *,
        agent_id: str | None = None,
        at_least: int = 5000,
        m: int = 24,
        ef_construction: int = 256,
        as_of: datetime | None = None,
        on_progress: Progress | None = None,
    ) -> builtins.list[RankIndex]:
        """Builds the rank index of one agent, or of all with at least `at_least` active memories.

        A new index is built from committed rows beside the old one and then replaces it. On an Engine
        this is one transaction per index; only deletions of the agent's memories wait, briefly, at its
        end. On your own Connection or Session the locks last until you end the transaction: deletions
        of the agent's memories, and searches in the index that was replaced, wait until then.

        `at_least` is stored with the index: "auto" searches use it while it holds that many memories.
        `m` and `ef_construction` are those of HNSW; greater values find more and build more slowly.
        `as_of` is the moment that decays are computed at, by default the newest that the memories know
        of. Searches at an earlier `as_of` are exact. `on_progress(agent_id, done, total)` is called
        before each index and at the end.

        Raises InputError, and DatabaseConflict if a transaction that was writing memories does not end
        within a minute.
        """
    def maintain(
        self,
        *,
        agent_id: str | None = None,
        at_least: int = 5000,
        m: int = 24,
        ef_construction: int = 256,
        on_progress: Progress | None = None,
    ) -> builtins.list[RankIndex]:
        """Rebuilds rank indexes that are due and builds those of agents that have grown large.

        `rank_indexes` lists which are due and why. Searches use the old index until the new one, built
        with the same settings, is ready. `at_least`, `m` and `ef_construction` are for agents without
        an index. An index is dropped when its agent has fewer than half of the memories that it is for
        or holds. In the other indexes, what was written or changed since is placed: some milliseconds
        for each memory, instead of some microseconds at each search. Returns the indexes built.

        Raises what `build` raises.
        """
    def check(
        self,
        agent_id: str,
        *,
        sample: int = 50,
        queries: Sequence[VectorLike | str] | None = None,
        k: int = 10,
        profile: Profile | str | None = None,
        weights: Mapping[str, float] | None = None,
        on_progress: Callable[[int, int], Any] | None = None,
    ) -> RankIndexCheck:
        """Compares searches that use an agent's rank index with exact ones: their recall and time.

        The queries are `queries`, or the embeddings of `sample` random memories of the agent. No
        retrievals are counted. `on_progress(done, total)` is called after each query. Raises InputError
        if there are no queries.
        """
    def status(
        self, *, agent_id: str | None = None, at_least: int = 5000
    ) -> builtins.list[RankIndexStatus]:
        """The rank indexes of one agent or of all, ordered by agent, and those that should be built.

        Each status says what was written, changed and used since the build, and in `due` why
        maintenance is needed, if it is. An agent without an index is listed, as due, if it has at least
        `at_least` active memories. Raises InputError.
        """
    def progress(self) -> float | None:
        """Progress of the build under way, 0 to 1, during its HNSW phase; None if there is none."""
    def drop(self, agent_id: str) -> bool:
        """Drops an agent's rank index, so its searches become exact. False if there is no index."""

class Upkeep(synchronous.Namespace):
    """`repository.upkeep`. Curation of an agent's memories, and garbage collection."""
    def adjust_trust(
        self,
        agent_id: str,
        memory_id: UUID,
        delta: float,
        reason: str,
        actor: str,
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> Memory:
        """Adds `delta`, in [-1, 1], to the memory's trust, which stays in [0, 1]. Returns the memory.

        Raises MemoryNotFound, InputError, or InvalidMemory if trust was never assessed.
        """
    def set_importance(
        self,
        agent_id: str,
        memory_id: UUID,
        importance: float,
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Memory:
        """Sets a memory's importance, in [0, 1]. Returns the memory.

        Raises MemoryNotFound or InvalidMemory.
        """
    def approve(
        self,
        agent_id: str,
        memory_ids: UUID | Iterable[UUID],
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> int:
        """Decides reviews in favour of memories. Returns how many there were.

        Those that were stored with `requires_approval` become active instead of pending. Those that
        feedback called outdated lose their mark `needs_review`; their tier stays as it is by then.
        Other ids are ignored. Trust stays as it was assessed. As with any new memory, what took the
        place of the same text is superseded.

        Raises DuplicateMemory if an active memory says the same, even one that was invalidated, which
        `revive` brings back. Then nothing is changed.
        """
    def reject(
        self,
        agent_id: str,
        memory_ids: UUID | Iterable[UUID],
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> int:
        """Archives memories that wait for approval, or that feedback called outdated. Returns how many
        there were.

        Other ids are ignored. `revive` makes a rejected memory active after all.
        """
    def promote(
        self,
        agent_id: str,
        memory_ids: UUID | Iterable[UUID],
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> int:
        """Moves memories one tier up, short → medium → long. Returns how many moved.

        Their expiry becomes that of the new tier (table tier_defaults): by default, only short expires.
        """
    def demote(
        self,
        agent_id: str,
        memory_ids: UUID | Iterable[UUID],
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> int:
        """Moves memories one tier down, long → medium → short. Returns how many moved.

        Their expiry becomes that of the new tier (table tier_defaults): by default, short expires after
        24 hours.
        """
    def clusters(
        self,
        agent_id: str,
        *,
        min_similarity: float = 0.8,
        min_size: int = 3,
        more_than: int = 20,
        newest: int = 2000,
    ) -> builtins.list[Cluster]:
        """Groups of similar active memories. Empty unless the agent has more than `more_than`.

        Each cluster has at least `min_size` memories whose similarity to the central one is at least
        `min_similarity`. No memory is in two clusters. They are computed in the database, from the
        `newest` memories.
        """
    def consolidate(
        self,
        agent_id: str,
        summarise: Summarise | None = None,
        *,
        min_similarity: float = 0.8,
        min_size: int = 3,
        more_than: int = 20,
        newest: int = 2000,
        actor: str | None = None,
        on_progress: Callable[[int, int], Any] | None = None,
    ) -> builtins.list[Consolidation]:
        """Finds clusters (see `clusters`) and stores one new memory in place of each. Returns them.

        `summarise` makes the new text from the cluster's texts, the most central first. Without it the
        most central memory's text and vector are used. The status of the sources becomes consolidated,
        and links of the kind consolidates lead to them.

        The new memory's importance is min(greatest of the sources + 0.1, 1). Trust and usefulness are
        the means of the sources'. Tags, entities and labels are merged, and it is valid while all
        sources are. Metadata is not copied.

        Each cluster is a transaction of its own; `summarise` runs outside of it. A cluster that was
        changed meanwhile is left as it is. `on_progress(done, of)` is called after each.
        """
    def near_duplicates(
        self, agent_id: str, *, threshold: float = 0.92, limit: int = 100, newest: int = 2000
    ) -> builtins.list[NearDuplicate]:
        """Pairs of active memories whose similarity is greater than `threshold`, most similar first.

        Every pair among the agent's `newest` memories is compared; 2,000 take a few seconds, and twice
        as many take four times as long. Memories of the same text are deduplicated when stored.
        """
    def prune(
        self,
        agent_id: str,
        *,
        older_than: timedelta | None = None,
        below_score: float | None = None,
        profile: Profile | str | None = None,
        reason: str | None = None,
        actor: str | None = None,
    ) -> int:
        """Archives active memories that are old, or score low, or both if both are given.

        The score is the profile's without a query, so similarity is 0; with five_factor the score is at
        most 0.6. The profile is that of this call, or else the repository's, or else the database's
        (`pgrecall profiles default`), or else five_factor. Archived memories stay stored and can be
        revived. Returns how many were archived. Raises InputError if neither limit is given.
        """
    def complete_stale_tasks(
        self, agent_id: str, *, older_than: timedelta = ..., actor: str | None = None
    ) -> int:
        """Completes tasks (memory_type task) created and last accessed longer ago. Returns how many.

        Their status becomes completed, so a search only returns them if `statuses` includes it.
        """
    def collect_garbage(
        self,
        policy: GarbagePolicy | None = None,
        *,
        agent_id: str | None = None,
        dry_run: bool = False,
        batch_size: int = 1000,
        on_progress: Callable[[GarbageRun], Any] | None = None,
    ) -> GarbageRun:
        """Archives and deletes memories by a policy, of one agent or of all.

        For each agent: memories below the policy's thresholds, too old or expired (see GarbagePolicy),
        then the least trusted beyond its cap, then events that are too old, then counters, labels and
        links of memories that are gone, then earlier runs that are too old. Each batch of `batch_size`
        is a transaction of its own that locks only the rows it changes, in key order. So it can run
        beside writers, twice at once, and be interrupted without losing what it did. Each change is
        recorded as an event, each run as a row of gc_runs. `dry_run` only counts. `on_progress` is
        called after each batch with the run so far.

        Raises InputError.
        """
    def erase_owner(
        self,
        agent_id: str,
        *,
        dry_run: bool = False,
        batch_size: int = 1000,
        on_progress: Callable[[Erased, int], Any] | None = None,
    ) -> Erased:
        """Deletes everything of an agent. Returns how many rows.

        These are its memories, counters, labels, links, history, its rank index, and runs of its own
        garbage collection. Each batch of `batch_size` memories is a transaction of its own, so an
        interrupted erasure can be started again. Stop the agent's writers first: what is added
        meanwhile may be erased or may stay. `dry_run` only counts. `on_progress(erased, memories)` is
        called after each batch with what was erased so far, and with how many memories there were.

        PostgreSQL keeps deleted rows on disk until VACUUM; see Operations, "Erasure".
        """
    def vacuum(self, agent_id: str) -> None:
        """Removes deleted rows from the tables, and from the agent's rank index: VACUUM (ANALYZE).

        For use after an erasure, instead of waiting for autovacuum. It blocks neither readers nor
        writers. Only the owner of the schema may call it, on an Engine. Rows that an open transaction
        may still read stay until a later VACUUM.

        Raises DatabaseError.
        """
    def extend_expiry(
        self, agent_id: str, memory_ids: UUID | Iterable[UUID], *, expires_at: datetime
    ) -> int:
        """Moves the expiry of memories to a later time. Returns how many there were.

        Memories that never expire, have expired or expire later stay as they are. As with `touch`,
        there is no event, and `updated_at` stays. Raises InputError.
        """
    def telling_terms(self, agent_id: str, *, limit: int = 20) -> builtins.list[Term]:
        """The terms that are most characteristic of an agent's memories, the most telling first.

        Reads the words of all its memories. Raises InputError.
        """
    def metadata_values(
        self,
        agent_id: str,
        key: str,
        *,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> builtins.list[tuple[Any, int]]:
        """The values that a key of the metadata has, with the number of memories, most first.

        As in the filter `metadata`, dots in `key` separate the keys of nested objects. Memories without
        the key do not count. As in a search, only active and valid memories pass unless `statuses` or
        `include_invalid` say otherwise. Raises InputError and its children.
        """

class Evaluations(synchronous.Namespace):
    """`repository.evaluation`. Evaluation and tuning of profiles by judged queries."""
    def evaluate(
        self,
        agent_id: str | None,
        queries: Iterable[JudgedQuery],
        *,
        agents: Sequence[str] | None = None,
        profiles: Sequence[Profile | str] | None = None,
        k: int = 10,
        min_score: float | None = None,
        min_similarity: float | None = None,
        teams: Sequence[str] = (),
        as_of: datetime | None = None,
        dates: str | None = None,
        timezone: str | tzinfo | None = None,
        seed: int = 0,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> Evaluation:
        """Measures how well profiles find what answers the queries: recall@k, MRR and nDCG@k.

        `profiles` are by default the one of a search that names none.

        Every profile ranks all memories of the agent and of `teams` for every query, exactly as
        `search` does, in one statement per owner. A query is asked at its own `as_of`, or else the one
        given here, or else now. Its period is its own, or the one that its text names if `dates` is
        given, in `timezone`. Filters and thresholds are those of `search`. No retrieval is counted.

        Similarity alone, keyword alone and hybrid are measured too (`Evaluation.baselines`). Means are
        compared with those of the first profile, with a 95 % interval of the mean difference by paired
        bootstrap. The same `seed` gives the same interval. With fewer than ten queries no difference is
        called clear.

        Queries may concern several agents: each is ranked among the memories of its own `agent_id`, or
        of `agent_id` given here. If `agent_id` or `agents` are given, queries about others are refused.
        From five owners on, intervals are over owners, each with all its queries. For queries recorded
        from use (`JudgedQuery.recorded`) signals are as they were before the query.

        Queries without an answer do not count in the means. `floors` says, for each `min_relevance`,
        how many of them return nothing by the first profile, and how much recall that costs.

        Raises InputError and its children; the error names the query, counted from 0.
        """
    def tune(
        self,
        agent_id: str | None,
        queries: Iterable[JudgedQuery],
        *,
        agents: Sequence[str] | None = None,
        start: Profile | str | None = None,
        k: int = 10,
        held_out: float = 0.5,
        teams: Sequence[str] = (),
        as_of: datetime | None = None,
        dates: str | None = None,
        timezone: str | tzinfo | None = None,
        precision: float | None = None,
        seed: int = 0,
        on_progress: Callable[[int, int], Any] | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> Tuning:
        """Searches for weights, and a half-life of recency, that rank what answers the queries first.

        The queries are split at random, copies of a question together; with several owners, the owners
        are split. `held_out` is the share that is kept back. Candidates are chosen by mean nDCG over
        all ranks on the training part. The best is then evaluated on the part kept back, exactly as by
        `evaluate`.

        A signal that is the same for all memories keeps its weight, since the queries say nothing about
        it. A profile without `keyword` may be given it if queries have a text. Half-lives by type or
        tier do not change.

        `Tuning.proposed` is None if the profile found does no better than `start` on the part kept
        back, or worse than similarity alone, keyword alone or hybrid. `verdict` says which, and whether
        the evidence is thin.

        With `precision`, queries without an answer are split in the same way, and `Tuning.floor` is the
        proposed `min_relevance`: the one that makes most of them return nothing, while at least this
        share of all queries that return nothing have no answer.

        `start` is by default the profile of a search that names none. `agents`, `dates` and `timezone`
        are those of `evaluate`. The same `seed` gives the same result. `on_progress(done, of)` is
        called between rounds and must be a plain function.

        Raises InputError and its children.
        """
    def recorded_queries(self, agent_id: str) -> builtins.list[JudgedQuery]:
        """Judged queries from recorded use, for `evaluate` and `tune`.

        A query is recorded by `query=` of feedback and outcomes (in psql, the key query of the
        metadata). Its answers are the memories with more votes for than against. It is asked at the
        moment of the first vote for one of them; memories created later do not count as answers.

        The queries are `recorded`: usefulness, importance, confidence and trust are taken as they were
        before that moment, and retrievals are ignored, since counters do not tell when they happened.
        So a vote does not make its own memory look better found.
        """

class Transfer(synchronous.Namespace):
    """`repository.transfer`. Moving memories out, and in with their state."""
    def export(
        self,
        write: Callable[[builtins.list[str]], Any],
        *,
        agent_id: str | Sequence[str] | None = None,
        after: tuple[str, UUID] | None = None,
        events: bool = False,
        batch_size: int = 500,
        filters: FilterArguments | None = None,
    ) -> int:
        """Passes each memory to `write` as a line of JSON, and returns how many there were.

        `write` is called with up to `batch_size` lines at a time; a coroutine function is awaited by
        the asynchronous repository. A line has every field of the memory, its embedding, counters,
        votes, labels and the links that begin at it, and with `events` its history, so that
        `transfer.restore` and `pgrecall import` make the same memory of it.

        The memories are those of one agent, of several, or of every agent and team. Without `filters`,
        all of them; with filters, those that pass, also if they are not active or not valid, unless
        `statuses` or `include_invalid` say otherwise. They come agent by agent in the order of their
        ids. `after`, the owner (`team:<id>` for a team) and the id of a memory, begins behind it.

        On an Engine, all lines show the database at one moment, however long `write` takes. On a
        Connection or Session this depends on the isolation level of its transaction. Once `write` has
        been called, nothing is retried. Raises InputError.
        """
    def restore(
        self,
        agent_id: str,
        memories: Iterable[Mapping[str, Any]],
        *,
        check_compliance: bool = True,
        actor: str | None = None,
    ) -> builtins.list[Added]:
        """Stores a batch of memories with their state, in one transaction. Returns the ids in order.

        A memory is a mapping, such as a line of an export read as JSON. It has the fields of NewMemory
        and may have `status`, `needs_review`, `updated_at`, `invalidated_at`, `invalidation_reason`,
        `superseded_by`, `edition`, `retrieval_count`, `last_accessed_at`, `success_count`,
        `failure_count`, `feedback_up`, `feedback_down`, `labels`, `links` and `events`. Times may be
        ISO 8601 text. An `id` that is not a UUID becomes the `key`; `superseded_by` and the
        `target_id` of links may name such ids too, and memories that come later. `agent_id` and
        `team_id` in the mapping are not read.

        Memories are known by their id. One that is there is left as it is, so a call can be repeated.
        Texts are not compared, except that a memory with an `edition`, as exports have it, is left out
        (outcome "duplicate") if an active memory has its text and edition. Trust, expiry and the other
        fields that NewMemory leaves unset are computed only where they are missing, and so is
        `usefulness`: the mean that the votes would have given here. A memory without `events` begins a
        history. Weights of labels may be above 1: those of a memory are then divided
        by the greatest of them.

        Raises InvalidMemory, NotCompliant, InvalidVector, UnknownName or EmbedderRequired, which name
        the position of the memory, counted from 0. Then nothing is stored.
        """

class Ids(synchronous.Namespace):
    """`repository.ids`. Short ids, and finding ids by their first digits or a key."""
    def find(self, agent_id: str, prefix: str, *, limit: int = 10) -> builtins.list[UUID]:
        """The ids of the agent's memories that begin with these hexadecimal digits, in order.

        Needs at least 4 digits, with or without hyphens. Raises InputError.
        """
    def of_key(self, agent_id: str, key: str) -> UUID:
        """The id that belongs to a key, for methods that take ids. There need not be such a memory."""
    def shorten(self, agent_id: str, memory_ids: UUID | Iterable[UUID]) -> dict[UUID, str]:
        """The shortest unique beginning of each id among the agent's memories, at least 8 digits.

        Ids made at about the same time begin alike, so their beginnings are longer. `find` returns the
        whole id, until another memory is added whose id begins in the same way.
        """

class AsyncLabels(asynchronous.Namespace):
    """`repository.labels`. Labels of memories, and finding memories by them."""
    async def add(
        self,
        agent_id: str,
        memory_id: UUID,
        labels: Label | str | Sequence[Label | str],
        *,
        actor: str | None = None,
    ) -> int:
        """Adds labels to a memory. Returns how many. Text alone is a label of kind keyword, weight 1.

        An existing label of the same kind and value gets the new weight. At most 1,000 labels per call.
        Raises MemoryNotFound, InputError or UnknownName.
        """
    async def remove(
        self,
        agent_id: str,
        memory_id: UUID,
        labels: Label | str | Sequence[Label | str],
        *,
        actor: str | None = None,
    ) -> int:
        """Removes labels from a memory, by kind and value. Returns how many were removed.

        Raises MemoryNotFound, InputError or UnknownName.
        """
    async def of(self, agent_id: str, memory_id: UUID) -> builtins.list[Label]:
        """The labels of a memory, the greatest weight first."""
    async def find(
        self,
        agent_id: str,
        values: str | Sequence[str],
        *,
        kinds: Sequence[LabelKind] | None = None,
        limit: int = 20,
    ) -> builtins.list[tuple[Memory, float]]:
        """Active, valid memories that have any of these labels, with the sum of their weights.

        The greatest sum comes first, ties by id. To rank them by a profile, search with `labels=…`.
        """

class AsyncLinks(asynchronous.Namespace):
    """`repository.links`. Links between memories of one owner."""
    async def add(
        self,
        agent_id: str,
        source_id: UUID,
        target_id: UUID,
        kind: str = "related",
        *,
        weight: float = 1.0,
        actor: str | None = None,
    ) -> None:
        """Links two memories of the agent. An existing link of this kind gets the new weight.

        Raises MemoryNotFound if one of them does not exist, and InputError if they are the same.
        """
    async def remove(
        self,
        agent_id: str,
        source_id: UUID,
        target_id: UUID,
        kind: str = "related",
        *,
        actor: str | None = None,
    ) -> bool:
        """Removes a link. Returns whether it existed."""
    async def of(self, agent_id: str, memory_id: UUID) -> builtins.list[Link]:
        """The links from and to a memory, strongest first."""

class AsyncRankIndexes(asynchronous.Namespace):
    """`repository.rank_indexes`. Rank indexes, which make searches among many memories fast."""
    async def build(
        self,
        *,
        agent_id: str | None = None,
        at_least: int = 5000,
        m: int = 24,
        ef_construction: int = 256,
        as_of: datetime | None = None,
        on_progress: Progress | None = None,
    ) -> builtins.list[RankIndex]:
        """Builds the rank index of one agent, or of all with at least `at_least` active memories.

        A new index is built from committed rows beside the old one and then replaces it. On an Engine
        this is one transaction per index; only deletions of the agent's memories wait, briefly, at its
        end. On your own Connection or Session the locks last until you end the transaction: deletions
        of the agent's memories, and searches in the index that was replaced, wait until then.

        `at_least` is stored with the index: "auto" searches use it while it holds that many memories.
        `m` and `ef_construction` are those of HNSW; greater values find more and build more slowly.
        `as_of` is the moment that decays are computed at, by default the newest that the memories know
        of. Searches at an earlier `as_of` are exact. `on_progress(agent_id, done, total)` is called
        before each index and at the end.

        Raises InputError, and DatabaseConflict if a transaction that was writing memories does not end
        within a minute.
        """
    async def maintain(
        self,
        *,
        agent_id: str | None = None,
        at_least: int = 5000,
        m: int = 24,
        ef_construction: int = 256,
        on_progress: Progress | None = None,
    ) -> builtins.list[RankIndex]:
        """Rebuilds rank indexes that are due and builds those of agents that have grown large.

        `rank_indexes` lists which are due and why. Searches use the old index until the new one, built
        with the same settings, is ready. `at_least`, `m` and `ef_construction` are for agents without
        an index. An index is dropped when its agent has fewer than half of the memories that it is for
        or holds. In the other indexes, what was written or changed since is placed: some milliseconds
        for each memory, instead of some microseconds at each search. Returns the indexes built.

        Raises what `build` raises.
        """
    async def check(
        self,
        agent_id: str,
        *,
        sample: int = 50,
        queries: Sequence[VectorLike | str] | None = None,
        k: int = 10,
        profile: Profile | str | None = None,
        weights: Mapping[str, float] | None = None,
        on_progress: Callable[[int, int], Any] | None = None,
    ) -> RankIndexCheck:
        """Compares searches that use an agent's rank index with exact ones: their recall and time.

        The queries are `queries`, or the embeddings of `sample` random memories of the agent. No
        retrievals are counted. `on_progress(done, total)` is called after each query. Raises InputError
        if there are no queries.
        """
    async def status(
        self, *, agent_id: str | None = None, at_least: int = 5000
    ) -> builtins.list[RankIndexStatus]:
        """The rank indexes of one agent or of all, ordered by agent, and those that should be built.

        Each status says what was written, changed and used since the build, and in `due` why
        maintenance is needed, if it is. An agent without an index is listed, as due, if it has at least
        `at_least` active memories. Raises InputError.
        """
    async def progress(self) -> float | None:
        """Progress of the build under way, 0 to 1, during its HNSW phase; None if there is none."""
    async def drop(self, agent_id: str) -> bool:
        """Drops an agent's rank index, so its searches become exact. False if there is no index."""

class AsyncUpkeep(asynchronous.Namespace):
    """`repository.upkeep`. Curation of an agent's memories, and garbage collection."""
    async def adjust_trust(
        self,
        agent_id: str,
        memory_id: UUID,
        delta: float,
        reason: str,
        actor: str,
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> Memory:
        """Adds `delta`, in [-1, 1], to the memory's trust, which stays in [0, 1]. Returns the memory.

        Raises MemoryNotFound, InputError, or InvalidMemory if trust was never assessed.
        """
    async def set_importance(
        self,
        agent_id: str,
        memory_id: UUID,
        importance: float,
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Memory:
        """Sets a memory's importance, in [0, 1]. Returns the memory.

        Raises MemoryNotFound or InvalidMemory.
        """
    async def approve(
        self,
        agent_id: str,
        memory_ids: UUID | Iterable[UUID],
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> int:
        """Decides reviews in favour of memories. Returns how many there were.

        Those that were stored with `requires_approval` become active instead of pending. Those that
        feedback called outdated lose their mark `needs_review`; their tier stays as it is by then.
        Other ids are ignored. Trust stays as it was assessed. As with any new memory, what took the
        place of the same text is superseded.

        Raises DuplicateMemory if an active memory says the same, even one that was invalidated, which
        `revive` brings back. Then nothing is changed.
        """
    async def reject(
        self,
        agent_id: str,
        memory_ids: UUID | Iterable[UUID],
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> int:
        """Archives memories that wait for approval, or that feedback called outdated. Returns how many
        there were.

        Other ids are ignored. `revive` makes a rejected memory active after all.
        """
    async def promote(
        self,
        agent_id: str,
        memory_ids: UUID | Iterable[UUID],
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> int:
        """Moves memories one tier up, short → medium → long. Returns how many moved.

        Their expiry becomes that of the new tier (table tier_defaults): by default, only short expires.
        """
    async def demote(
        self,
        agent_id: str,
        memory_ids: UUID | Iterable[UUID],
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> int:
        """Moves memories one tier down, long → medium → short. Returns how many moved.

        Their expiry becomes that of the new tier (table tier_defaults): by default, short expires after
        24 hours.
        """
    async def clusters(
        self,
        agent_id: str,
        *,
        min_similarity: float = 0.8,
        min_size: int = 3,
        more_than: int = 20,
        newest: int = 2000,
    ) -> builtins.list[Cluster]:
        """Groups of similar active memories. Empty unless the agent has more than `more_than`.

        Each cluster has at least `min_size` memories whose similarity to the central one is at least
        `min_similarity`. No memory is in two clusters. They are computed in the database, from the
        `newest` memories.
        """
    async def consolidate(
        self,
        agent_id: str,
        summarise: Summarise | None = None,
        *,
        min_similarity: float = 0.8,
        min_size: int = 3,
        more_than: int = 20,
        newest: int = 2000,
        actor: str | None = None,
        on_progress: Callable[[int, int], Any] | None = None,
    ) -> builtins.list[Consolidation]:
        """Finds clusters (see `clusters`) and stores one new memory in place of each. Returns them.

        `summarise` makes the new text from the cluster's texts, the most central first. Without it the
        most central memory's text and vector are used. The status of the sources becomes consolidated,
        and links of the kind consolidates lead to them.

        The new memory's importance is min(greatest of the sources + 0.1, 1). Trust and usefulness are
        the means of the sources'. Tags, entities and labels are merged, and it is valid while all
        sources are. Metadata is not copied.

        Each cluster is a transaction of its own; `summarise` runs outside of it. A cluster that was
        changed meanwhile is left as it is. `on_progress(done, of)` is called after each.
        """
    async def near_duplicates(
        self, agent_id: str, *, threshold: float = 0.92, limit: int = 100, newest: int = 2000
    ) -> builtins.list[NearDuplicate]:
        """Pairs of active memories whose similarity is greater than `threshold`, most similar first.

        Every pair among the agent's `newest` memories is compared; 2,000 take a few seconds, and twice
        as many take four times as long. Memories of the same text are deduplicated when stored.
        """
    async def prune(
        self,
        agent_id: str,
        *,
        older_than: timedelta | None = None,
        below_score: float | None = None,
        profile: Profile | str | None = None,
        reason: str | None = None,
        actor: str | None = None,
    ) -> int:
        """Archives active memories that are old, or score low, or both if both are given.

        The score is the profile's without a query, so similarity is 0; with five_factor the score is at
        most 0.6. The profile is that of this call, or else the repository's, or else the database's
        (`pgrecall profiles default`), or else five_factor. Archived memories stay stored and can be
        revived. Returns how many were archived. Raises InputError if neither limit is given.
        """
    async def complete_stale_tasks(
        self, agent_id: str, *, older_than: timedelta = ..., actor: str | None = None
    ) -> int:
        """Completes tasks (memory_type task) created and last accessed longer ago. Returns how many.

        Their status becomes completed, so a search only returns them if `statuses` includes it.
        """
    async def collect_garbage(
        self,
        policy: GarbagePolicy | None = None,
        *,
        agent_id: str | None = None,
        dry_run: bool = False,
        batch_size: int = 1000,
        on_progress: Callable[[GarbageRun], Any] | None = None,
    ) -> GarbageRun:
        """Archives and deletes memories by a policy, of one agent or of all.

        For each agent: memories below the policy's thresholds, too old or expired (see GarbagePolicy),
        then the least trusted beyond its cap, then events that are too old, then counters, labels and
        links of memories that are gone, then earlier runs that are too old. Each batch of `batch_size`
        is a transaction of its own that locks only the rows it changes, in key order. So it can run
        beside writers, twice at once, and be interrupted without losing what it did. Each change is
        recorded as an event, each run as a row of gc_runs. `dry_run` only counts. `on_progress` is
        called after each batch with the run so far.

        Raises InputError.
        """
    async def erase_owner(
        self,
        agent_id: str,
        *,
        dry_run: bool = False,
        batch_size: int = 1000,
        on_progress: Callable[[Erased, int], Any] | None = None,
    ) -> Erased:
        """Deletes everything of an agent. Returns how many rows.

        These are its memories, counters, labels, links, history, its rank index, and runs of its own
        garbage collection. Each batch of `batch_size` memories is a transaction of its own, so an
        interrupted erasure can be started again. Stop the agent's writers first: what is added
        meanwhile may be erased or may stay. `dry_run` only counts. `on_progress(erased, memories)` is
        called after each batch with what was erased so far, and with how many memories there were.

        PostgreSQL keeps deleted rows on disk until VACUUM; see Operations, "Erasure".
        """
    async def vacuum(self, agent_id: str) -> None:
        """Removes deleted rows from the tables, and from the agent's rank index: VACUUM (ANALYZE).

        For use after an erasure, instead of waiting for autovacuum. It blocks neither readers nor
        writers. Only the owner of the schema may call it, on an Engine. Rows that an open transaction
        may still read stay until a later VACUUM.

        Raises DatabaseError.
        """
    async def extend_expiry(
        self, agent_id: str, memory_ids: UUID | Iterable[UUID], *, expires_at: datetime
    ) -> int:
        """Moves the expiry of memories to a later time. Returns how many there were.

        Memories that never expire, have expired or expire later stay as they are. As with `touch`,
        there is no event, and `updated_at` stays. Raises InputError.
        """
    async def telling_terms(self, agent_id: str, *, limit: int = 20) -> builtins.list[Term]:
        """The terms that are most characteristic of an agent's memories, the most telling first.

        Reads the words of all its memories. Raises InputError.
        """
    async def metadata_values(
        self,
        agent_id: str,
        key: str,
        *,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> builtins.list[tuple[Any, int]]:
        """The values that a key of the metadata has, with the number of memories, most first.

        As in the filter `metadata`, dots in `key` separate the keys of nested objects. Memories without
        the key do not count. As in a search, only active and valid memories pass unless `statuses` or
        `include_invalid` say otherwise. Raises InputError and its children.
        """

class AsyncEvaluations(asynchronous.Namespace):
    """`repository.evaluation`. Evaluation and tuning of profiles by judged queries."""
    async def evaluate(
        self,
        agent_id: str | None,
        queries: Iterable[JudgedQuery],
        *,
        agents: Sequence[str] | None = None,
        profiles: Sequence[Profile | str] | None = None,
        k: int = 10,
        min_score: float | None = None,
        min_similarity: float | None = None,
        teams: Sequence[str] = (),
        as_of: datetime | None = None,
        dates: str | None = None,
        timezone: str | tzinfo | None = None,
        seed: int = 0,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> Evaluation:
        """Measures how well profiles find what answers the queries: recall@k, MRR and nDCG@k.

        `profiles` are by default the one of a search that names none.

        Every profile ranks all memories of the agent and of `teams` for every query, exactly as
        `search` does, in one statement per owner. A query is asked at its own `as_of`, or else the one
        given here, or else now. Its period is its own, or the one that its text names if `dates` is
        given, in `timezone`. Filters and thresholds are those of `search`. No retrieval is counted.

        Similarity alone, keyword alone and hybrid are measured too (`Evaluation.baselines`). Means are
        compared with those of the first profile, with a 95 % interval of the mean difference by paired
        bootstrap. The same `seed` gives the same interval. With fewer than ten queries no difference is
        called clear.

        Queries may concern several agents: each is ranked among the memories of its own `agent_id`, or
        of `agent_id` given here. If `agent_id` or `agents` are given, queries about others are refused.
        From five owners on, intervals are over owners, each with all its queries. For queries recorded
        from use (`JudgedQuery.recorded`) signals are as they were before the query.

        Queries without an answer do not count in the means. `floors` says, for each `min_relevance`,
        how many of them return nothing by the first profile, and how much recall that costs.

        Raises InputError and its children; the error names the query, counted from 0.
        """
    async def tune(
        self,
        agent_id: str | None,
        queries: Iterable[JudgedQuery],
        *,
        agents: Sequence[str] | None = None,
        start: Profile | str | None = None,
        k: int = 10,
        held_out: float = 0.5,
        teams: Sequence[str] = (),
        as_of: datetime | None = None,
        dates: str | None = None,
        timezone: str | tzinfo | None = None,
        precision: float | None = None,
        seed: int = 0,
        on_progress: Callable[[int, int], Any] | None = None,
        memory_types: Sequence[str] | None = None,
        memory_natures: Sequence[str] | None = None,
        content_types: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        all_tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        all_entities: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        label_kinds: Sequence[str] | None = None,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        components: Sequence[str] | None = None,
        output_types: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        loops: Sequence[str] | None = None,
        compliant: bool | None = None,
        needs_review: bool | None = None,
        min_trust: float | None = None,
        statuses: Sequence[str] = ("active",),
        include_invalid: bool = False,
        where: Expression | Sequence[Expression] = (),
    ) -> Tuning:
        """Searches for weights, and a half-life of recency, that rank what answers the queries first.

        The queries are split at random, copies of a question together; with several owners, the owners
        are split. `held_out` is the share that is kept back. Candidates are chosen by mean nDCG over
        all ranks on the training part. The best is then evaluated on the part kept back, exactly as by
        `evaluate`.

        A signal that is the same for all memories keeps its weight, since the queries say nothing about
        it. A profile without `keyword` may be given it if queries have a text. Half-lives by type or
        tier do not change.

        `Tuning.proposed` is None if the profile found does no better than `start` on the part kept
        back, or worse than similarity alone, keyword alone or hybrid. `verdict` says which, and whether
        the evidence is thin.

        With `precision`, queries without an answer are split in the same way, and `Tuning.floor` is the
        proposed `min_relevance`: the one that makes most of them return nothing, while at least this
        share of all queries that return nothing have no answer.

        `start` is by default the profile of a search that names none. `agents`, `dates` and `timezone`
        are those of `evaluate`. The same `seed` gives the same result. `on_progress(done, of)` is
        called between rounds and must be a plain function.

        Raises InputError and its children.
        """
    async def recorded_queries(self, agent_id: str) -> builtins.list[JudgedQuery]:
        """Judged queries from recorded use, for `evaluate` and `tune`.

        A query is recorded by `query=` of feedback and outcomes (in psql, the key query of the
        metadata). Its answers are the memories with more votes for than against. It is asked at the
        moment of the first vote for one of them; memories created later do not count as answers.

        The queries are `recorded`: usefulness, importance, confidence and trust are taken as they were
        before that moment, and retrievals are ignored, since counters do not tell when they happened.
        So a vote does not make its own memory look better found.
        """

class AsyncTransfer(asynchronous.Namespace):
    """`repository.transfer`. Moving memories out, and in with their state."""
    async def export(
        self,
        write: Callable[[builtins.list[str]], Any],
        *,
        agent_id: str | Sequence[str] | None = None,
        after: tuple[str, UUID] | None = None,
        events: bool = False,
        batch_size: int = 500,
        filters: FilterArguments | None = None,
    ) -> int:
        """Passes each memory to `write` as a line of JSON, and returns how many there were.

        `write` is called with up to `batch_size` lines at a time; a coroutine function is awaited by
        the asynchronous repository. A line has every field of the memory, its embedding, counters,
        votes, labels and the links that begin at it, and with `events` its history, so that
        `transfer.restore` and `pgrecall import` make the same memory of it.

        The memories are those of one agent, of several, or of every agent and team. Without `filters`,
        all of them; with filters, those that pass, also if they are not active or not valid, unless
        `statuses` or `include_invalid` say otherwise. They come agent by agent in the order of their
        ids. `after`, the owner (`team:<id>` for a team) and the id of a memory, begins behind it.

        On an Engine, all lines show the database at one moment, however long `write` takes. On a
        Connection or Session this depends on the isolation level of its transaction. Once `write` has
        been called, nothing is retried. Raises InputError.
        """
    async def restore(
        self,
        agent_id: str,
        memories: Iterable[Mapping[str, Any]],
        *,
        check_compliance: bool = True,
        actor: str | None = None,
    ) -> builtins.list[Added]:
        """Stores a batch of memories with their state, in one transaction. Returns the ids in order.

        A memory is a mapping, such as a line of an export read as JSON. It has the fields of NewMemory
        and may have `status`, `needs_review`, `updated_at`, `invalidated_at`, `invalidation_reason`,
        `superseded_by`, `edition`, `retrieval_count`, `last_accessed_at`, `success_count`,
        `failure_count`, `feedback_up`, `feedback_down`, `labels`, `links` and `events`. Times may be
        ISO 8601 text. An `id` that is not a UUID becomes the `key`; `superseded_by` and the
        `target_id` of links may name such ids too, and memories that come later. `agent_id` and
        `team_id` in the mapping are not read.

        Memories are known by their id. One that is there is left as it is, so a call can be repeated.
        Texts are not compared, except that a memory with an `edition`, as exports have it, is left out
        (outcome "duplicate") if an active memory has its text and edition. Trust, expiry and the other
        fields that NewMemory leaves unset are computed only where they are missing, and so is
        `usefulness`: the mean that the votes would have given here. A memory without `events` begins a
        history. Weights of labels may be above 1: those of a memory are then divided
        by the greatest of them.

        Raises InvalidMemory, NotCompliant, InvalidVector, UnknownName or EmbedderRequired, which name
        the position of the memory, counted from 0. Then nothing is stored.
        """

class AsyncIds(asynchronous.Namespace):
    """`repository.ids`. Short ids, and finding ids by their first digits or a key."""
    async def find(self, agent_id: str, prefix: str, *, limit: int = 10) -> builtins.list[UUID]:
        """The ids of the agent's memories that begin with these hexadecimal digits, in order.

        Needs at least 4 digits, with or without hyphens. Raises InputError.
        """
    async def of_key(self, agent_id: str, key: str) -> UUID:
        """The id that belongs to a key, for methods that take ids. There need not be such a memory."""
    async def shorten(self, agent_id: str, memory_ids: UUID | Iterable[UUID]) -> dict[UUID, str]:
        """The shortest unique beginning of each id among the agent's memories, at least 8 digits.

        Ids made at about the same time begin alike, so their beginnings are longer. `find` returns the
        whole id, until another memory is added whose id begins in the same way.
        """
