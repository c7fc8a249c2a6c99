"""Guards of the verbs that change memories."""

from tests.mutants.mutant import Mutant

HERE = "integration/test_"

MUTANTS = (
    Mutant(
        "sql/signals/trust_after_outcome.sql",
        "access_count > 5",
        "access_count > 4",
        f"{HERE}using.py::test_two_hundredths_more_from_six_retrievals",
    ),
    Mutant(
        "sql/signals/usefulness_after_feedback.sql",
        "WHEN usefulness < 1e-80::float8 AND up = 0 THEN 0::float8",
        "",
        f"{HERE}using.py::test_no_usefulness_is_too_small_for_feedback",
    ),
    Mutant(
        "sql/verbs/record_outcome.sql",
        "greatest(u.last_accessed_at, excluded.last_accessed_at)",
        "CASE WHEN touch THEN excluded.last_accessed_at ELSE u.last_accessed_at END",
        f"{HERE}using.py::test_without_touch_an_outcome_is_no_retrieval_but_a_use",
    ),
    Mutant(
        "sql/verbs/record_feedback.sql",
        "old.needs_review OR kind = 'outdated'",
        "kind = 'outdated'",
        f"{HERE}using.py::test_no_other_feedback_takes_the_mark_for_review_away",
    ),
    Mutant(
        "sql/verbs/adjust_trust.sql",
        "jsonb_build_object('trust', new_trust)",
        "jsonb_build_object('trust', old.trust)",
        f"{HERE}using.py::test_a_manual_change_is_added_and_stays",
    ),
    Mutant(
        "sql/verbs/set_importance.sql",
        "actor text DEFAULT session_user",
        "actor text DEFAULT NULL",
        f"{HERE}verbs.py::test_the_actor_is_the_sessions_user_unless_named",
    ),
    Mutant(
        "sql/verbs/require_note.sql",
        "length(actor) > 200",
        "length(actor) > 2000",
        f"{HERE}verbs.py::test_what_makes_no_sense_is_refused_and_changes_nothing",
    ),
    Mutant(
        "sql/verbs/require.sql",
        "RETURN require(value BETWEEN 0 AND 1,",
        "RETURN require(value IS NULL OR value BETWEEN 0 AND 1,",
        f"{HERE}verbs.py::test_what_makes_no_sense_is_refused_and_changes_nothing",
    ),
    Mutant(
        "sql/verbs/collect_garbage.sql",
        "FROM @extschema@.end_garbage_run(agent, run)",
        "FROM end_garbage_run(agent, run)",
        f"{HERE}verbs.py::test_the_callers_search_path_and_tables_of_our_names",
    ),
    Mutant(
        "sql/verbs/invalidate.sql",
        "OR m.invalidated_at > moment",
        "OR false",
        f"{HERE}correcting.py::test_what_is_to_be_superseded_tomorrow_can_be_forgotten_today",
    ),
    Mutant(
        "sql/verbs/revive.sql",
        "changed.expires_at := CASE WHEN old.expires_at > moment THEN old.expires_at END;",
        "changed.expires_at := NULL;",
        f"{HERE}correcting.py::test_reviving_keeps_validity_and_an_expiry_to_come",
    ),
    Mutant(
        "sql/verbs/supersede.sql",
        "old.valid_until > moment OR",
        "old.valid_until >= moment OR",
        f"{HERE}correcting.py::test_an_overlap_is_reported_unless_forced",
    ),
    Mutant(
        "sql/verbs/mark_superseded.sql",
        "greatest(moment, (",
        "coalesce(moment, (",
        f"{HERE}correcting.py::test_at_every_moment_one_of_the_two_is_recalled",
    ),
    Mutant(
        "sql/verbs/supersede.sql",
        "new.importance := greatest(coalesce(new.importance, 0.5), old.importance);",
        "",
        f"{HERE}life_model.py::test_a_random_life_goes_as_the_rules_say",
    ),
    Mutant(
        "sql/verbs/revive.sql",
        "greatest(old.valid_from, moment)",
        "old.valid_from",
        f"{HERE}identity.py::test_what_was_superseded_is_revived_beside_its_successor_by_force_only",
    ),
    Mutant(
        "sql/verbs/restate.sql",
        "changed.valid_until := least(changed.valid_until, after);",
        "",
        f"{HERE}identity.py::test_what_is_said_again_without_a_time_holds_between_its_neighbours",
    ),
    Mutant(
        "sql/verbs/restate.sql",
        "changed.usefulness := old.usefulness;",
        "NULL;",
        f"{HERE}duplicates.py::test_what_feedback_taught_fits_the_votes_after_a_replacement",
    ),
    Mutant(
        "sql/verbs/count_retrievals.sql",
        "least(greatest(r.moment, (",
        "least(coalesce(r.moment, (",
        f"{HERE}duplicates.py::test_bump_moves_the_clock_to_when_the_text_was_said_again",
    ),
    Mutant(
        "sql/verbs/near_memory.sql",
        "near.similarity > threshold",
        "near.similarity >= threshold",
        f"{HERE}duplicates.py::test_near_duplicates_are_strictly_more_similar",
    ),
    Mutant(
        "sql/verbs/remember_rows.sql",
        "outcome := 'known';\n                        similarity := NULL;",
        "similarity := NULL;",
        f"{HERE}duplicates.py::test_a_retry_does_not_revive_what_was_forgotten_since",
    ),
    Mutant(
        "sql/verbs/supersede_in_turn.sql",
        "AND m.superseded_by IS NOT NULL AND same_kind(m, new)",
        "AND m.superseded_by IS NOT NULL AND m.status = 'active' AND same_kind(m, new)",
        f"{HERE}identity.py::test_so_does_saying_it_again_after_it_was_put_away",
    ),
    Mutant(
        "sql/verbs/update_memory.sql",
        """WHEN changes ? 'embedding' THEN '{"embedding_model": null}'""",
        """WHEN false THEN '{"embedding_model": null}'""",
        f"{HERE}identity.py::test_an_update_forgets_what_was_said_of_the_old_text_and_vector",
    ),
    Mutant(
        "sql/verbs/assessed.sql",
        "rest.reputation, 0.7)",
        "rest.reputation, 0.75)",
        f"{HERE}trust_on_write.py::test_without_any_defaults_a_memory_lasts",
    ),
    Mutant(
        "sql/signals/trust_governance.sql",
        "compliant IS FALSE",
        "compliant IS NOT TRUE",
        f"{HERE}trust_on_write.py::test_governance_multiplies_what_was_found",
    ),
    Mutant(
        "app/pgrecall/memories/storing.py",
        "if len(unset) > 1:",
        "if False:",
        f"{HERE}trust_on_write.py::test_rows_of_a_batch_are_each_assessed_on_their_own",
    ),
    Mutant(
        "sql/verbs/garbage_rule.sql",
        "WHEN trust < min_trust_threshold",
        "WHEN trust <= min_trust_threshold",
        f"{HERE}collecting.py::test_what_becomes_of_each_by_the_default_policy",
    ),
    Mutant(
        "sql/verbs/archive_excess_batch.sql",
        "m.created_at NULLS FIRST",
        "m.created_at",
        f"{HERE}collecting.py::test_the_least_trusted_go_first_beyond_the_cap",
    ),
    Mutant(
        "sql/verbs/collect_garbage_batch.sql",
        "AND m.id = ANY (chosen) AND m.status <> 'archived'\n"
        "                 ORDER BY m.id FOR UPDATE",
        "AND m.id = ANY (chosen)\n                 ORDER BY m.id",
        f"{HERE}collecting.py::test_two_runs_at_once_do_the_work_once",
    ),
    Mutant(
        "sql/verbs/collect_garbage.sql",
        "batch_size) b;\n            COMMIT;",
        "batch_size) b;",
        f"{HERE}collecting.py::test_a_run_that_is_stopped_keeps_and_has_logged",
    ),
    Mutant(
        "sql/verbs/sweep_orphans_batch.sql",
        "                 OR NOT EXISTS (SELECT FROM agent_memories m\n"
        "                                 WHERE m.agent_id = agent AND m.id = o.target_id)",
        "",
        f"{HERE}collecting.py::test_what_was_left_behind_is_swept",
    ),
    Mutant(
        "sql/verbs/near_duplicates.sql",
        " > threshold",
        " >= threshold",
        f"{HERE}curating.py::test_a_pair_at_the_threshold_is_no_near_duplicate",
    ),
    Mutant(
        "sql/verbs/newest_memories.sql",
        "AND m.embedding IS NOT NULL\n"
        "       AND is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, now())",
        "AND m.embedding IS NOT NULL",
        f"{HERE}curating.py::test_only_the_owners_active_and_valid_memories_are_compared",
    ),
    Mutant(
        "sql/verbs/consolidate_memories.sql",
        "AND (seen IS NULL OR m.updated_at = seen[array_position(memory_ids, m.id)])",
        "",
        f"{HERE}curating.py::test_a_cluster_that_was_changed_meanwhile_is_left",
    ),
    Mutant(
        "sql/verbs/consolidate_memories.sql",
        "AND m.id = ANY (memory_ids) AND m.status = 'active'",
        "AND m.id = ANY (memory_ids)",
        f"{HERE}curating.py::test_what_cannot_be_consolidated_by_hand_is_left",
    ),
    Mutant(
        "sql/verbs/complete_stale_tasks.sql",
        "u.last_accessed_at >= cutoff",
        "u.last_accessed_at IS NOT NULL",
        f"{HERE}curating.py::test_stale_tasks_are_completed",
    ),
    Mutant(
        "sql/verbs/clear.sql",
        "WHERE e.agent_id = agent",
        "WHERE false AND e.agent_id = agent",
        f"{HERE}curating.py::test_clearing_leaves_nothing_of_the_owner_in_any_table",
    ),
    Mutant(
        "sql/verbs/label.sql",
        "given.place DESC",
        "given.place",
        f"{HERE}labels.py::test_a_memory_has_the_labels_it_was_given_heaviest_first",
    ),
    Mutant(
        "sql/recall/links.sql",
        "l.target_id",
        "l.source_id",
        f"{HERE}links.py::test_a_link_is_seen_from_both_ends_and_takes_a_new_weight",
    ),
    Mutant(
        "sql/verbs/forget.sql",
        "DELETE FROM memory_labels l WHERE",
        "DELETE FROM memory_labels l WHERE false AND",
        f"{HERE}storing.py::test_a_deleted_memory_is_gone_with_its_traces_but_its_history",
    ),
    Mutant(
        "app/pgrecall/memories/storing.py",
        '"last": first + _PART - 1',
        '"last": first + _PART',
        f"{HERE}batches.py::test_a_batch_of_more_than_one_part_is_stored_whole",
    ),
    Mutant(
        "app/pgrecall/execution/running.py",
        "passed.arguments[name] = list(value)",
        "pass",
        f"{HERE}conflicts.py::test_a_repeated_call_has_all_that_an_iterator_gave",
    ),
    Mutant(
        "app/pgrecall/memories/preparing.py",
        "to_embed = [one for one in checked if one.vector is UNSET]",
        "to_embed = [one for one in checked if one.vector is UNSET or one.vector is None]",
        f"{HERE}embedding_text.py::test_only_what_has_no_embedding_is_embedded",
    ),
    Mutant(
        "app/pgrecall/cli/collect.py",
        "None if any_age else max_age_hours",
        "max_age_hours",
        f"{HERE}life_commands.py::test_each_option_of_the_garbage_collection_counts",
    ),
    Mutant(
        "app/pgrecall/core/ids.py",
        "max(now, _last + 1)",
        "now",
        "unit/test_ids.py::test_ids_stay_in_order_whatever_the_clock_does",
    ),
    Mutant(
        "app/pgrecall/memories/preparing.py",
        'if duplicates == "allow" and threshold is not None:',
        "if False:",
        "unit/test_refused_arguments.py::test_what_makes_no_sense_is_refused",
    ),
    Mutant(
        "app/pgrecall/lifecycle/garbage.py",
        'require_count("max_live", self.max_live, at_least=0',
        'require_count("max_live", self.max_live, at_least=-1',
        "unit/test_refused_arguments.py::test_a_policy_that_makes_no_sense_is_refused",
    ),
    Mutant(
        "app/pgrecall/schema/owner.py",
        "if owner_id.startswith(TEAM) and not tables.prefix:",
        "if owner_id == TEAM and not tables.prefix:",
        "unit/test_owner_ids.py::test_agents_and_teams_are_called_as_they_may_be",
    ),
    Mutant(
        "sql/verbs/move_tier.sql",
        "m.agent_id = agent AND",
        "",
        f"{HERE}correcting.py::test_several_change_at_once_and_those_of_others_are_passed_over",
    ),
)
