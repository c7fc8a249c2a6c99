"""Guards of the score, of filters, and of what callers hand in."""

from tests.mutants.mutant import Mutant

CORPUS = "integration/test_bad_input.py::test_a_bad_value_works_or_is_refused_before_anything_is"
NUMBERS = "integration/test_systems.py::test_every_number_of_a_system"
AGREE = "integration/test_profiles_agree.py::test_the_three_agree"
FILTERS = "integration/test_filters.py"
REFUSED = "unit/test_bad_arguments.py"
PARTS = "sql/statements/parts"

MUTANTS = (
    # The score.
    Mutant("sql/signals/frequency.sql", "/ cap", "/ (cap + 1e-6)", AGREE),
    Mutant(
        "sql/signals/similarity.sql",
        ", 0::float8) END;\n\nCREATE",
        ", -1::float8) END;\n\nCREATE",
        AGREE,
    ),
    Mutant(
        "sql/signals/decayed_trust.sql", "(2::float8 * coalesce", "(1::float8 * coalesce", AGREE
    ),
    Mutant(
        "sql/signals/entity_overlap.sql",
        "query[32] = ANY (entities)",
        "query[31] = ANY (entities)",
        "integration/test_profiles_agree.py::test_the_three_agree",
    ),
    Mutant(
        "app/pgrecall/scoring/scorer.py",
        "1 - age / (2 * half_life)",
        "1 - age / half_life",
        NUMBERS,
    ),
    Mutant("app/pgrecall/scoring/scorer.py", "return min(own.get(", "return max(own.get(", NUMBERS),
    Mutant(
        "app/pgrecall/scoring/scorer.py",
        "and accessed > moment:",
        "and accessed > moment and 0:",
        AGREE,
    ),
    Mutant(
        "app/pgrecall/scoring/expression.py",
        'accessed = f"CASE WHEN {accessed} <= {moment} THEN {accessed} END"',
        "pass",
        "integration/test_as_of.py::test_a_retrieval_after_the_moment_asked_about_is_not_seen",
    ),
    Mutant(
        "app/pgrecall/scoring/expression.py",
        '"greatest(:last_accessed_at, agent_memories.created_at)"',
        '":last_accessed_at"',
        AGREE,
    ),
    Mutant(
        "app/pgrecall/scoring/profiles.py",
        "Similarity(missing=0.5): 0.4",
        "Similarity(): 0.4",
        NUMBERS,
    ),
    Mutant(
        "app/pgrecall/scoring/profile.py",
        "WEIGHT_SUM_TOLERANCE = 1e-9",
        "WEIGHT_SUM_TOLERANCE = 0.1",
        "unit/test_profile.py::test_weights_that_do_not_sum_to_one_fail",
    ),
    Mutant(
        "app/pgrecall/scoring/profile_file.py",
        '{"accessed_by": profile.accessed_by}',
        "{}",
        "unit/test_profile.py::test_what_is_saved_is_loaded",
    ),
    Mutant(
        "sql/views/memory_signals.sql",
        "frequency(u.retrieval_count, 20)",
        "frequency(u.retrieval_count, 21)",
        "integration/test_profiles_agree.py::test_the_view_shows_the_signals",
    ),
    # What takes part.
    Mutant(
        "sql/signals/is_valid.sql",
        "valid_until > as_of",
        "valid_until >= as_of",
        "integration/test_as_of.py::test_what_does_not_hold_at_a_moment_is_not_seen",
    ),
    Mutant(
        f"{PARTS}/conditions.sql",
        "agent_memories.created_at < :created_before",
        "agent_memories.created_at <= :created_before",
        f"{FILTERS}::test_a_filter_passes_what_it_says",
    ),
    Mutant(
        "sql/recall/meets_comparison.sql",
        "coalesce(jsonb_typeof(found) = jsonb_typeof(asked), false)",
        "found IS NOT NULL",
        f"{FILTERS}::test_comparisons_of_metadata_pass",
    ),
    Mutant(
        f"{PARTS}/trusted.sql",
        "(agent_memories.trust IS NOT NULL\n"
        "        AND pgrecall.decayed_trust(agent_memories.trust, memory_usage",
        "(true AND pgrecall.decayed_trust(agent_memories.trust, memory_usage",
        f"{FILTERS}::test_a_filter_passes_what_it_says",
    ),
    Mutant(
        f"{PARTS}/labelled.sql",
        "memory_labels.agent_id = agent_memories.agent_id\n                   AND",
        "",
        "integration/test_one_name_for_two.py::test_what_is_done_to_one_leaves_the_other",
    ),
    Mutant(
        "app/pgrecall/ranking/composing.py",
        'f"({one})" for one in where',
        "where",
        f"{FILTERS}::test_where_takes_any_expression",
    ),
    Mutant(
        "app/pgrecall/core/checks.py",
        "if needs is not None and not any(",
        "if needs is None and not any(",
        "unit/test_checks.py::test_an_entry_is_a_type_a_check_and_what_it_needs",
    ),
    Mutant(
        "app/pgrecall/core/checks.py",
        "if value is not None or not table[name].takes_none",
        "if value is not None",
        "integration/test_sessions.py::test_what_cannot_be_asked_is_refused",
    ),
    Mutant(
        "app/pgrecall/migrate/inserted.py",
        'f"({name} BETWEEN {least} AND {most}) IS NOT TRUE"',
        'f"{name} NOT BETWEEN {least} AND {most}"',
        "integration/test_sessions.py::test_what_cannot_be_asked_is_refused",
    ),
    Mutant(
        "app/pgrecall/ranking/custom_condition.py",
        "if depth < 0:",
        "if depth < -9:",
        f"{REFUSED}::test_a_search_that_cannot_be_made_is_refused",
    ),
    Mutant(
        "sql/words/word_filter.sql",
        '\'“”„‟«»\', \'""""""\'',
        "'“”', '\"\"'",
        "integration/test_text_filter.py::test_the_words_asked_for_pass",
    ),
    Mutant(
        "sql/statements/occurring.sql",
        "length(known.entity) DESC, known.entity",
        "length(known.entity), known.entity",
        "integration/test_entities_in_text.py::test_at_most_32_are_taken_and_the_longest_first",
    ),
    Mutant(
        "app/pgrecall/search/explaining.py",
        "rank > wanted.k and",
        "rank > wanted.k + 1 and",
        "integration/test_explaining.py::test_every_memory_is_explained",
    ),
    Mutant(
        "sql/adhoc/duplicates.sql",
        "o.agent_id = :'agent' AND o.status",
        "o.status",
        "integration/test_adhoc.py::test_duplicates_near",
    ),
    Mutant(
        "sql/adhoc/unused_memories.sql",
        "agent_id = :'agent' AND",
        "",
        "integration/test_adhoc.py::test_it_writes_nothing_and_tells_each_agent_its_own",
    ),
    Mutant(
        "app/pgrecall/memories/reading.py",
        'digits.ljust(32, "f")',
        'digits.ljust(32, "e")',
        "integration/test_short_ids.py::test_short_ids",
    ),
    # What callers hand in.
    Mutant(
        "app/pgrecall/core/quoting.py",
        "_SHORT = 60",
        "_SHORT = 6_000",
        f"{CORPUS}_written[labels.add]",
    ),
    Mutant(
        "app/pgrecall/core/validation.py",
        "if value.utcoffset() is None:",
        "if False:",
        f"{REFUSED}::test_a_memory_that_cannot_be_stored_is_refused",
    ),
    Mutant(
        "app/pgrecall/core/validation.py",
        "if len(text) > MAX_NAME_LENGTH:",
        "if len(text) > MAX_NAME_LENGTH + 1:",
        "unit/test_repository_surface.py::test_an_agent_or_team_that_cannot_be",
    ),
    Mutant(
        "app/pgrecall/core/vectors.py",
        "if not SMALLEST_NORM <= norm <= LARGEST_NORM:",
        "if not norm <= LARGEST_NORM:",
        f"{REFUSED}::test_a_vector_that_cannot_be_used_is_refused",
    ),
    Mutant(
        "sql/verbs/revive.sql",
        "force IS NOT TRUE",
        "NOT force",
        "integration/test_verbs.py::test_what_makes_no_sense_is_refused_and_changes_nothing",
    ),
    Mutant(
        "app/pgrecall/memories/importing.py",
        "if len(content) > MOST_LINE_BYTES:",
        "if False:",
        "integration/test_bad_input.py::test_a_line_that_is_too_long_is_refused_in_little_memory",
    ),
    Mutant(
        "app/pgrecall/memories/importing.py",
        "or size >= MOST_BATCH_BYTES",
        "",
        "integration/test_bad_input.py::test_long_lines_are_stored_a_few_at_a_time",
    ),
    Mutant(
        "sql/recall/recall.sql",
        "VOLATILE ROWS 10 SET search_path FROM CURRENT",
        "VOLATILE ROWS 10",
        "integration/test_planted_overloads.py::test_functions_find_names_in_our_schema_alone",
    ),
)
