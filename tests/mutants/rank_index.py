"""Guards of rank indexes: building, candidates, upkeep."""

from tests.mutants.mutant import Mutant

INDEXES = "integration/test_rank_index"

MUTANTS = (
    Mutant(
        "sql/rank_index/await_writers.sql",
        "WHILE EXISTS (",
        "WHILE false AND EXISTS (",
        f"{INDEXES}_building.py::test_what_was_written_before_and_committed_after_is_not_missed",
    ),
    Mutant(
        "app/pgrecall/rank_index.py",
        "timedelta(days=28)",
        "timedelta(days=364)",
        f"{INDEXES}_maintenance.py::test_half_a_year_of_use_with_the_maintenance_it_prescribes_finds_"
        "what_exact_ranking_finds",
    ),
    Mutant(
        "sql/rank_index/nearest_landmark.sql",
        "0.04)))",
        "0.004)))",
        f"{INDEXES}_landmarks.py::test_landmarks_are_one_in_25_and_at_most_two_thousand",
    ),
    Mutant(
        "sql/rank_index/nearest_landmark.sql",
        "least(2000 / ",
        "least(4000 / ",
        f"{INDEXES}_landmarks.py::test_landmarks_are_one_in_25_and_at_most_two_thousand",
    ),
    Mutant(
        "sql/rank_index/near_positions.sql",
        "EXIT WHEN all_compared OR NOT",
        "EXIT WHEN true OR NOT",
        f"{INDEXES}_landmarks.py::test_what_no_walk_gets_to_is_found_by_comparing_all",
    ),
    Mutant(
        "sql/rank_index/near_positions.sql",
        "    SET hnsw.ef_search = 40\n",
        "",
        f"{INDEXES}_landmarks.py::test_the_session_keeps_its_settings",
    ),
    Mutant(
        "sql/rank_index/has_missed.sql",
        "nearest > 1.25 * coalesce(met, 0)",
        "nearest > 1.25 + coalesce(met, 0)",
        f"{INDEXES}_landmarks.py::test_a_walk_ends_where_something_like_the_nearest_landmark_was",
    ),
    Mutant(
        "sql/rank_index/has_missed.sql",
        "coalesce(best, 0) / 8",
        "0",
        f"{INDEXES}_landmarks.py::test_where_meaning_hardly_counts_a_walk_goes_no_further",
    ),
    Mutant(
        "sql/rank_index/has_missed.sql",
        "met >= likeness *",
        "met >= 0 * likeness *",
        f"{INDEXES}_landmarks.py::test_a_walk_ends_where_something_like_the_nearest_landmark_was",
    ),
    Mutant(
        "sql/rank_index/keep_positions.sql",
        "ELSIF EXISTS (SELECT FROM pg_inherits WHERE inhrelid = positions) THEN",
        "ELSIF false THEN",
        f"{INDEXES}_building.py::test_what_runs_with_the_owner_s_rights_touches_new_tables",
    ),
    Mutant(
        "sql/rank_index/keep_positions.sql",
        "AND c.relowner = parent.relowner ",
        "",
        f"{INDEXES}_building.py::test_what_runs_with_the_owner_s_rights_touches_new_tables",
    ),
    Mutant(
        "sql/rank_index/keep_positions.sql",
        "    SET maintenance_work_mem = '64MB'\n",
        "",
        f"{INDEXES}_building.py::test_the_settings_of_a_callers_transaction_are_as_before",
    ),
    Mutant(
        "sql/rank_index/make_rank_index.sql",
        "CASE WHEN text_language() = language THEN words.memories END",
        "words.memories",
        f"{INDEXES}_building.py::test_an_index_whose_language_changes_while_it_is_built",
    ),
    Mutant(
        "sql/rank_index/keep_positions.sql",
        "PERFORM align_positions(relation);",
        "",
        f"{INDEXES}_building.py::test_who_may_read_may_search_through_the_index[after]",
    ),
    Mutant(
        "sql/rank_index/rank_index_states.sql",
        "WHEN now() - built_at > max_age",
        "WHEN now() - built_at > 2 * max_age",
        f"{INDEXES}_maintenance.py::test_an_old_index_is_due",
    ),
    Mutant(
        "sql/rank_index/rank_index_states.sql",
        "WHEN beside > max_beside",
        "WHEN beside > max_beside + 1",
        f"{INDEXES}_maintenance.py::test_what_has_happened_since_the_build_is_counted",
    ),
    Mutant(
        "sql/rank_index/rank_index_states.sql",
        "SELECT DISTINCT e.memory_id",
        "SELECT e.memory_id",
        f"{INDEXES}_maintenance.py::test_what_has_happened_since_the_build_is_counted",
    ),
    Mutant(
        "sql/rank_index/rank_candidates.sql",
        "!~ '^ranks_[0-9a-f]{32}$'",
        "!~* '^ranks_[0-9a-f]{32}'",
        f"{INDEXES}_search.py::test_a_relation_of_a_hostile_name_is_never_executed",
    ),
    Mutant(
        "sql/rank_index/rank_candidates.sql",
        "AND m.inserted_at >= written_since",
        "AND false",
        "integration/test_word_candidates.py::test_a_rare_name_finds_its_memory_at_any_cosine",
    ),
    Mutant(
        "app/pgrecall/rank_space.py",
        "return half_life is None or HALF_LIVES[0] <=",
        "return half_life is None or 0 <=",
        f"{INDEXES}_search.py::test_auto_ranks_exactly_where_the_half_life_is_not_covered",
    ),
    Mutant(
        "sql/recall/history.sql",
        " AND e.memory_id = history.memory_id",
        "",
        "integration/test_rows_read.py::test_a_verb_on_few_memories_reaches_them_by_their_keys"
        "[history-fresh-force_custom_plan]",
    ),
)
