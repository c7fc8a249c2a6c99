"""Pure functions that return SQLAlchemy Core statements; nothing here executes anything."""

from pgrecall.statements.candidates import (
    Source,
    Sources,
    search_candidates,
)
from pgrecall.statements.comparing import (
    clusters,
)
from pgrecall.statements.curating import below
from pgrecall.statements.entities import known_entities
from pgrecall.statements.evaluating import (
    EvaluationShape,
    create_queries,
    create_relevant,
    drop_empty_texts,
    evaluate,
    keep_whole,
    queries_table,
    relevant_table,
    weight_name,
)
from pgrecall.statements.explaining import (
    CONDITION_PREFIX,
    described,
    standing,
)
from pgrecall.statements.flooring import reach
from pgrecall.statements.labelling import (
    labelled,
)
from pgrecall.statements.linking import (
    STEPS,
    neighbours,
)
from pgrecall.statements.owners import large_owners, sample
from pgrecall.statements.packing import (
    PACKED,
    Packing,
    pack,
    pack_candidates,
)
from pgrecall.statements.planning import Explain, written
from pgrecall.statements.rank_indexes import (
    align_positions,
    await_writers,
    drop_positions,
    drop_rank_index,
    hurry_again,
    make_rank_index,
    rank_index_progress,
    rank_index_states,
    rank_indexes,
    take_time,
)
from pgrecall.statements.ranking import (
    BESIDE,
    HAS_TERMS,
    HIT_SCORE,
    LENDER,
    LENT,
    RELEVANCE,
    SIGNAL_PREFIX,
    Search,
    count,
)
from pgrecall.statements.reading import (
    existing,
    get,
    ids_beside,
    ids_within,
)
from pgrecall.statements.searching import search
from pgrecall.statements.staging import (
    GIVEN,
    UNSET_FIELDS,
    Staged,
    create_staging,
    given_fields,
    remember,
    remember_staged,
    staged_fields,
    staging,
    supersede,
)
from pgrecall.statements.tuning import (
    SPEEDS,
    TuningShape,
    draw_pairs,
    judge,
    pairs_table,
    spread,
    weights_name,
)
from pgrecall.statements.verbs import (
    memory_record,
    touch,
    verb,
)
from pgrecall.statements.words import (
    narrows,
    telling_terms,
    terms_of,
)

__all__ = [
    "BESIDE",
    "CONDITION_PREFIX",
    "GIVEN",
    "HAS_TERMS",
    "HIT_SCORE",
    "LENDER",
    "LENT",
    "PACKED",
    "RELEVANCE",
    "SIGNAL_PREFIX",
    "SPEEDS",
    "STEPS",
    "UNSET_FIELDS",
    "EvaluationShape",
    "Explain",
    "Packing",
    "Search",
    "Source",
    "Sources",
    "Staged",
    "TuningShape",
    "align_positions",
    "await_writers",
    "below",
    "clusters",
    "count",
    "create_queries",
    "create_relevant",
    "create_staging",
    "described",
    "draw_pairs",
    "drop_empty_texts",
    "drop_positions",
    "drop_rank_index",
    "evaluate",
    "existing",
    "get",
    "given_fields",
    "hurry_again",
    "ids_beside",
    "ids_within",
    "judge",
    "keep_whole",
    "known_entities",
    "labelled",
    "large_owners",
    "make_rank_index",
    "memory_record",
    "narrows",
    "neighbours",
    "pack",
    "pack_candidates",
    "pairs_table",
    "queries_table",
    "rank_index_progress",
    "rank_index_states",
    "rank_indexes",
    "reach",
    "relevant_table",
    "remember",
    "remember_staged",
    "sample",
    "search",
    "search_candidates",
    "spread",
    "staged_fields",
    "staging",
    "standing",
    "supersede",
    "take_time",
    "telling_terms",
    "terms_of",
    "touch",
    "verb",
    "weight_name",
    "weights_name",
    "written",
]
