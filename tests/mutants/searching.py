"""Guards of searches, contexts and evaluations."""

from tests.mutants.mutant import Mutant

PACKING = "integration/test_packing_model.py"
SESSIONS = "integration/test_sessions.py"
CONTEXT = "integration/test_context.py"
STYLE = "unit/test_context_style.py"
HOSTILE = "integration/test_context.py"
EVALUATE = "integration/test_evaluate.py"
RECORDED = "integration/test_recorded_queries.py"
OWNERS = "integration/test_several_owners.py"
TUNE = "integration/test_tune.py"
FLOORS = "integration/test_floors.py"
TIME = "integration/test_query_time.py"
ZONES = "integration/test_time_zones.py"

REPLICA = "integration/test_replica.py"

PROFILE = "integration/test_default_profile.py"

MUTANTS = (
    Mutant(
        "app/pgrecall/execution/ranked_by.py",
        "given.get(argument) is not None",
        "False",
        f"{PROFILE}::test_a_call_precedes_its_repository_that_the_database_that_hybrid",
    ),
    Mutant(
        "sql/recall/explain.sql",
        "coalesce(profile, default_profile())",
        "coalesce(profile, 'hybrid')",
        f"{PROFILE}::test_psql_obeys",
    ),
    Mutant(
        "sql/migrate/replace_objects.sql",
        "IF 'profile_' || default_profile() = ANY (gone) THEN",
        "IF false THEN",
        f"{PROFILE}::test_an_installed_profile_can_be_the_default_and_then_stays",
    ),
    Mutant(
        "app/pgrecall/search/searching.py",
        "at_once = touch and alone and not elsewhere",
        "at_once = touch and alone",
        f"{REPLICA}::test_a_search_reads_on_the_replica_and_counts_on_the_primary",
    ),
    Mutant(
        "app/pgrecall/execution/invocation.py",
        "self.replica is None or self.of_job",
        "self.replica is None",
        f"{REPLICA}::test_what_only_reads_asks_the_replica_alone[upkeep.consolidate]",
    ),
    Mutant(
        "app/pgrecall/evaluation/batches.py",
        "as_of=query.as_of or self.as_of,",
        "as_of=self.as_of,",
        f"{EVALUATE}::test_ranks_are_those_of_a_search",
    ),
    Mutant(
        "app/pgrecall/evaluation/ranks.py",
        ">= :min_score::float8",
        ">= 0 * :min_score::float8",
        f"{EVALUATE}::test_filters_and_thresholds_are_those_of_a_search",
    ),
    Mutant(
        "app/pgrecall/evaluation/evaluating.py",
        '"as_of": as_of, "min_score": min_score, ',
        '"as_of": as_of, ',
        f"{EVALUATE}::test_what_cannot_be_evaluated_is_refused_and_leaves_nothing",
    ),
    Mutant(
        "app/pgrecall/ranking/arguments.py",
        "float | None, COSINE, Needs(",
        "float | None, Needs(",
        f"{CONTEXT}::test_a_bad_argument_is_refused_by_name",
    ),
    Mutant(
        "app/pgrecall/evaluation/chart.py",
        "min(1.2 + 0.32 * _rows(evaluation, sets), MAX_HEIGHT)",
        "1.2 + 0.32 * _rows(evaluation, sets)",
        "unit/test_chart.py::test_however_many_groups_there_are_it_can_be_drawn",
    ),
    Mutant(
        "sql/recall/pack.sql",
        "kept := kept + greatest(least(reserves[r], waiting[r]), 0);",
        "kept := kept + greatest(reserves[r], 0);",
        f"{PACKING}::test_pack_chooses_what_the_model_chooses",
    ),
    Mutant(
        "sql/recall/pack.sql",
        "nearest[this] > max_similarity",
        "nearest[this] >= max_similarity",
        f"{PACKING}::test_pack_chooses_what_the_model_chooses",
    ),
    Mutant(
        "sql/recall/pack.sql",
        "CONTINUE WHEN verdicts[this] IS NOT NULL;",
        "",
        f"{SESSIONS}::test_packing_with_turns_keeps_to_its_rules",
    ),
    Mutant(
        "sql/recall/turns_beside.sql",
        "distance\n              FROM agent_memories m\n"
        "             WHERE m.agent_id = turns_beside.agent AND m.session",
        "distance\n              FROM agent_memories m\n             WHERE m.session",
        f"{SESSIONS}::test_sessions_of_others_of_the_same_name_do_not_mix",
    ),
    Mutant(
        "sql/statements/ranked.sql",
        "AND (best.score >= :min_score::float8)",
        "AND (true)",
        f"{SESSIONS}::test_what_is_below_the_floor_is_no_hit_and_comes_along",
    ),
    Mutant(
        "sql/recall/raised_score.sql",
        "least(score + share * coalesce(hit_score, 0), 1)",
        "score + share * coalesce(hit_score, 0)",
        f"{SESSIONS}::test_lending_reaches_beyond_the_k_best",
    ),
    Mutant(
        "app/pgrecall/context/assembling.py",
        "if tokens <= max_tokens:",
        "if True:",
        f"{CONTEXT}::test_when_the_text_is_longer_than_reckoned_it_is_packed_again_with_less",
    ),
    Mutant(
        "app/pgrecall/context/assembling.py",
        "sum(shares.values()) > 1 + 1e-9",
        "sum(shares.values()) > 1",
        f"{CONTEXT}::test_a_bad_argument_is_refused_by_name",
    ),
    Mutant(
        "app/pgrecall/context/assembling.py",
        "yield from touched(tables, [one.hit for one in packed], wanted)",
        "yield from touched(tables, [one.hit for one in [*packed, *left_out]], wanted)",
        f"{CONTEXT}::test_only_what_is_in_the_text_is_counted_unless_told_not_to",
    ),
    Mutant(
        "app/pgrecall/core/tokens.py",
        "if not 0 <= number <= MAX_TOKENS:",
        "if not number <= MAX_TOKENS:",
        f"{CONTEXT}::test_a_counter_that_returns_nonsense_is_refused_and_nothing_stored",
    ),
    Mutant(
        "app/pgrecall/context/styles.py",
        'said = style.text(memories, "").lower()',
        'said = style.text(memories, "")',
        f"{STYLE}::test_a_marker_that_was_guessed_is_drawn_on",
    ),
    Mutant(
        "app/pgrecall/context/styles.py",
        '_INVISIBLE.sub("", content)',
        "content",
        f"{HOSTILE}::test_hostile_bodies_of_hostile_types_come_back_each_on_its_own",
    ),
    Mutant(
        "app/pgrecall/evaluation/ranks.py",
        "({its}, scored.id) < (scored.score_{number}, wanted.id)",
        "({its}, wanted.id) < (scored.score_{number}, scored.id)",
        f"{EVALUATE}::test_ranks_are_those_of_a_search",
    ),
    Mutant(
        "app/pgrecall/evaluation/ranks.py",
        "min(its.get(row.id, rank), rank)",
        "max(its.get(row.id, rank), rank)",
        f"{EVALUATE}::test_of_one_id_at_agent_and_team_the_better_answers",
    ),
    Mutant(
        "app/pgrecall/evaluation/ranks.py",
        "if rank <= k}",
        "if rank < k}",
        f"{EVALUATE}::test_metrics_are_those_worked_out_by_hand",
    ),
    Mutant(
        "sql/statements/former.sql",
        "occurred_at >= :moment",
        "occurred_at > :moment",
        f"{RECORDED}::test_the_votes_that_made_a_label_do_not_lift_it",
    ),
    Mutant(
        "sql/statements/known.sql",
        "AND (former.agent_id = memories.agent_id)",
        "AND (true)",
        f"{RECORDED}::test_of_agent_and_team_each_has_a_past_of_its_own",
    ),
    Mutant(
        "sql/statements/known.sql",
        "FULL JOIN usages",
        "LEFT JOIN usages",
        "integration/test_plans.py::test_an_evaluation_joins_counters_and_words_in_full",
    ),
    Mutant(
        "app/pgrecall/evaluation/batches.py",
        '"period": search.query_time is not None and _read(profiles, Time),',
        "",
        f"{TUNE}::test_time_may_come_in_where_it_had_no_weight",
    ),
    Mutant(
        "sql/recall/recorded_queries.sql",
        " OR asked.created_at <= asked.at",
        " OR true",
        f"{RECORDED}::test_the_moment_is_that_of_the_first_vote",
    ),
    Mutant(
        "sql/recall/recorded_queries.sql",
        "END) > 0) asked",
        "END) >= 0) asked",
        f"{RECORDED}::test_more_votes_for_than_against_make_a_label",
    ),
    Mutant(
        "app/pgrecall/evaluation/evaluating.py",
        "different >= FEWEST_OWNERS",
        "different > FEWEST_OWNERS",
        f"{OWNERS}::test_from_five_owners_on_intervals_are_over_owners",
    ),
    Mutant(
        "app/pgrecall/evaluation/query_split.py",
        "return query.agent_id, query_key(query)",
        "return query_key(query)",
        f"{OWNERS}::test_one_question_to_two_owners_is_two_questions",
    ),
    Mutant(
        "app/pgrecall/evaluation/query_split.py",
        "different = list(dict.fromkeys(units))",
        "different = list(units)",
        f"{TUNE}::test_copies_of_a_vector_are_kept_back_together",
    ),
    Mutant(
        "app/pgrecall/evaluation/tuning.py",
        "problem = problem or _report(on_progress, ROUNDS)\n    yield Run(DropTable(pairs))",
        "problem = problem or _report(on_progress, ROUNDS)",
        f"{TUNE}::test_progress_is_told_to_its_end_and_nothing_is_left_or_counted",
    ),
    Mutant(
        "app/pgrecall/evaluation/candidate_statements.py",
        "OR pg_catalog.count({value}) BETWEEN 1 AND pg_catalog.count(*) - 1 AS",
        "AS",
        f"{TUNE}::test_recency_tells_known_from_unknown_ages",
    ),
    Mutant(
        "app/pgrecall/evaluation/weight_search.py",
        "value - PULL * self._distance(candidate)",
        "value",
        "unit/test_weight_search.py::test_what_does_hardly_better_is_not_worth_going_there",
    ),
    Mutant(
        "app/pgrecall/evaluation/bootstrap.py",
        "beyond = round((1 - LEVEL) / 2 * resamples)",
        "beyond = round((1 - LEVEL) * resamples)",
        "unit/test_bootstrap.py::test_an_interval_is_as_wide_as_theory_says",
    ),
    Mutant(
        "app/pgrecall/evaluation/relevance_thresholds.py",
        "above < floor <= relevance",
        "above <= floor <= relevance",
        f"{FLOORS}::test_a_memory_that_gives_way_is_found_by_a_higher_floor",
    ),
    Mutant(
        "sql/statements/reach_of_each.sql",
        "OFFSET :k::integer - 1",
        "OFFSET :k::integer",
        f"{FLOORS}::test_floors_are_what_searches_with_them_return",
    ),
    Mutant(
        "app/pgrecall/evaluation/queries_file.py",
        "owner = agent_id if named is None",
        "owner = agent_id if True",
        "unit/test_queries_file.py::test_ids_are_those_of_the_agent_that_a_line_names",
    ),
    Mutant(
        "app/pgrecall/core/dates.py",
        "start -= timedelta(days=start.weekday())",
        "start -= timedelta(days=start.weekday() + 1)",
        "unit/test_dates.py::test_a_period_is_found",
    ),
    Mutant(
        "sql/signals/time_nearness.sql",
        "86400::float8",
        "3600::float8",
        f"{TIME}::test_it_falls_evenly_over_the_length_of_the_period_or_a_day",
    ),
    Mutant(
        "app/pgrecall/evaluation/prepared_queries.py",
        "return period_of(text, language, as_of=query.as_of or as_of, zone=zone)",
        "return None",
        f"{TIME}::test_an_evaluation_finds_dates_too",
    ),
    Mutant(
        "app/pgrecall/core/dates.py",
        "return moment.astimezone(timezone(offset))",
        "return local",
        "unit/test_dates.py::test_a_period_is_as_long_as_its_days",
    ),
    Mutant(
        "app/pgrecall/schema/tables.py",
        "return self if zone is None else replace(self, zone=zone)",
        "return self if zone is None or self.zone else replace(self, zone=zone)",
        f"{ZONES}::test_that_of_a_call_precedes_that_of_its_repository",
    ),
    Mutant(
        "app/pgrecall/scoring/scorer.py",
        "start, end = map(instant, period)",
        "start, end = period",
        f"{ZONES}::test_the_scorer_measures_over_a_change_of_summer_time_as_the_database_does",
    ),
    Mutant(
        "sql/signals/relevance.sql",
        "/ comparable",
        "/ 2",
        "integration/test_relevance.py::test_relevance_is_that_of_its_definition",
    ),
    Mutant(
        "app/pgrecall/ranking/question.py",
        "Keyword.name: wanted.query_text is not None",
        "Keyword.name: True",
        "integration/test_redistribution.py::test_what_a_query_does_not_tell_gives_its_weight_to_the_others",
    ),
    Mutant(
        "sql/verbs/count_retrievals.sql",
        "last_accessed_at = greatest(u.last_accessed_at, excluded.last_accessed_at)",
        "last_accessed_at = excluded.last_accessed_at",
        "integration/test_replay.py::test_a_history_is_the_same_however_it_is_told",
    ),
    Mutant(
        "app/pgrecall/ranking/touched.py",
        '"accessed": profile.accessed_by == "retrieval"',
        '"accessed": True',
        "integration/test_as_of.py::test_a_search_by_trust_does_not_reset_the_decay_that_it_ranks_by",
    ),
    Mutant(
        "app/pgrecall/cli/command.py",
        "if arguments[one.name] is None:",
        "if not arguments[one.name]:",
        "unit/test_search_options.py::test_each_option_gives_its_argument",
    ),
)
