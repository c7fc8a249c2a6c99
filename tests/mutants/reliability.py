"""Guards of races, tenants, roles and migrations."""

from tests.mutants.mutant import Mutant

RACES = "integration/test_races.py"
TENANTS = "integration/test_row_level_security.py"
BOTH = "integration/test_both_repositories.py"
LAST = "migrations/test_"

MODEL = "integration/test_embedding_model.py"

EMBEDDED = "unit/test_embedded.py"

MUTANTS = (
    Mutant(
        "app/pgrecall/embedded/sharing.py",
        "            if stays(data):\n                return\n",
        "",
        f"{EMBEDDED}::test_a_server_that_was_started_stays_until_it_is_stopped",
    ),
    Mutant(
        "app/pgrecall/embedded/keeping.py",
        "if not force and (server.users or server.connections):",
        "if not force and server.users and server.connections:",
        f"{EMBEDDED}::test_a_server_in_use_is_not_stopped_unless_forced",
    ),
    Mutant(
        "app/pgrecall/cli/configuration.py",
        "is_allowed = name not in sensitive or configured.consent is True",
        "is_allowed = name not in sensitive or configured.consent is not False",
        "integration/test_configuration.py::test_a_projects_file_runs_no_code",
    ),
    Mutant(
        "app/pgrecall/cli/consent.py",
        'if answer["values"] == _digest(values)',
        'if answer["values"]',
        "integration/test_configuration.py::test_a_project_moves_the_database_only_with_consent",
    ),
    Mutant(
        "app/pgrecall/cli/embedding.py",
        "if not is_installed and",
        "if",
        "integration/test_configuration.py::test_a_projects_file_runs_no_code",
    ),
    Mutant(
        "app/pgrecall/cli/configuration.py",
        "own.is_file() and own.samefile(file.path)",
        "False",
        "integration/test_configuration.py::test_without_consent_the_users_own_database",
    ),
    Mutant(
        "app/pgrecall/embedded/watcher.py",
        "if self._shell is not None and os.getpid() == self._watched:",
        "if self._shell is not None:",
        "unit/test_embedded.py::test_a_forked_child_that_leaves",
    ),
    Mutant(
        "app/pgrecall/embedded/watcher.py",
        "start_new_session=True,",
        "",
        "unit/test_embedded.py::test_a_killed_process_leaves_no_server",
    ),
    Mutant(
        "app/pgrecall/cli/configuration.py",
        "path.stat().st_uid not in (0, os.geteuid())",
        "False",
        "integration/test_configuration.py::test_a_file_of_another_user_is_ignored",
    ),
    Mutant(
        "app/pgrecall/execution/embedding_model.py",
        "        if layout.model is not None:\n",
        "        if layout.model == model:\n",
        f"{MODEL}::test_the_first_embedder_is_recorded_and_another_refused",
    ),
    Mutant(
        "app/pgrecall/execution/embedding_model.py",
        "    if recorded not in (None, model):",
        "    if recorded == '':",
        f"{MODEL}::test_two_that_are_first_at_once_are_told_apart",
    ),
    Mutant(
        "app/pgrecall/execution/embedding_model.py",
        "recorded is not None and ours else",
        "recorded is not None else",
        f"{MODEL}::test_a_transaction_that_is_rolled_back_records_nothing",
    ),
    Mutant(
        "sql/verbs/claim_embedding_model.sql",
        "pg_try_advisory_xact_lock(",
        "true OR pg_try_advisory_xact_lock(",
        f"{MODEL}::test_nobody_waits_for_a_transaction_that_records",
    ),
    Mutant(
        "sql/rank_index/rank_candidates.sql",
        "AND (row_security_active(one) OR NOT row_security_active('agent_memories'))",
        "",
        f"{TENANTS}::test_until_they_do_a_search_ranks_every_memory",
    ),
    Mutant(
        "sql/verbs/touch.sql",
        "u.retrieval_count + 1",
        "1 + (SELECT o.retrieval_count FROM memory_usage o "
        "WHERE o.agent_id = u.agent_id AND o.memory_id = u.memory_id)",
        f"{RACES}::test_touches_of_overlapping_sets_lose_no_count",
    ),
    Mutant(
        "sql/verbs/record_outcome.sql",
        "FOR NO KEY UPDATE",
        "",
        f"{RACES}::test_feedback_and_outcomes_on_one_memory_are_all_counted_and_noted_in_order",
    ),
    Mutant(
        "sql/verbs/record_feedback.sql",
        "FOR NO KEY UPDATE",
        "",
        f"{RACES}::test_feedback_and_outcomes_on_one_memory_are_all_counted_and_noted_in_order",
    ),
    Mutant(
        "sql/verbs/lock_memories.sql",
        "FOR NO KEY UPDATE",
        "",
        f"{RACES}::test_labels_and_links_given_and_taken_by_all_are_told_as_they_were",
    ),
    Mutant(
        "sql/verbs/supersede.sql",
        "    PERFORM lock_same(agent, ARRAY[new.content_hash], ARRAY[supersede.memory_id]);\n",
        "",
        f"{RACES}::test_of_rivals_that_supersede_one_memory_exactly_one_wins",
    ),
    Mutant(
        "sql/verbs/lock_same.sql",
        "FOR NO KEY UPDATE",
        "",
        f"{RACES}::test_texts_that_are_updated_and_revived_at_once_stay_one_of_each",
    ),
    Mutant(
        "sql/recall/history.sql",
        "LANGUAGE plpgsql STABLE",
        "LANGUAGE plpgsql STABLE SECURITY DEFINER",
        f"{TENANTS}::test_a_function_tells_a_tenant_nothing_of_another[history]",
    ),
    Mutant(
        "sql/migrate/protect.sql",
        "agent_id = ANY (",
        "true OR agent_id = ANY (",
        f"{TENANTS}::test_a_method_tells_a_tenant_nothing_of_another",
    ),
    Mutant(
        "sql/migrate/protect.sql",
        "nullif(current_setting(''pgrecall.owners'', true), '''')",
        "coalesce(nullif(current_setting(''pgrecall.owners'', true), ''''), ''{two}'')",
        f"{TENANTS}::test_every_table_and_view_shows_a_tenant_what_is_its_own",
    ),
    Mutant(
        "app/pgrecall/core/resources.py",
        'replace("@extschema:vector@", _identifier(extension_schema))',
        'replace("@extschema:vector@", extension_schema)',
        "migrations/test_offline.py::test_plain_alembic_is_told_where_it_is",
    ),
    Mutant(
        "app/pgrecall/execution/asking.py",
        "return await answered if isawaitable(answered) else answered",
        "return answered",
        f"{BOTH}::test_callbacks_may_be_coroutines_where_the_repository_is_asynchronous",
    ),
    Mutant(
        "app/pgrecall/execution/asking.py",
        "return await asyncio.to_thread(answer, step, tools)",
        "return answer(step, tools)",
        f"{BOTH}::test_an_asynchronous_repository_runs_other_embedders_in_a_thread",
    ),
    Mutant(
        "app/pgrecall/execution/asynchronous.py",
        "async with theirs.begin_nested():\n                    yield theirs",
        "yield theirs",
        f"{BOTH}::test_a_refusal_leaves_the_callers_transaction_usable",
    ),
    Mutant(
        "app/pgrecall/execution/synchronous.py",
        "if needs.mode.savepoint and not call.is_alone:",
        "if False:",
        f"{BOTH}::test_a_refusal_leaves_the_callers_transaction_usable",
    ),
    Mutant(
        "app/pgrecall/execution/synchronous.py",
        "if isinstance(self._bind, Connection) else self._bind.connection()",
        "if True else self._bind.connection()",
        f"{BOTH}::test_a_transaction_of_the_callers_own_is_theirs_to_end",
    ),
    Mutant(
        "app/pgrecall/execution/synchronous.py",
        "            connection.begin()",
        "            pass",
        f"{BOTH}::test_both_do_the_same",
    ),
    Mutant(
        "app/pgrecall/execution/asynchronous.py",
        "            await connection.begin()",
        "            pass",
        f"{BOTH}::test_both_do_the_same",
    ),
    Mutant(
        "app/pgrecall/execution/method.py",
        "defaults.get(key), as_written",
        "None, as_written",
        "unit/test_repository_surface.py::test_the_defaults_shown_are_those_that_hold",
    ),
    Mutant(
        "app/pgrecall/execution/asynchronous.py",
        "if driver.closed:  # SQLAlchemy",
        "if False:  # SQLAlchemy",
        "integration/test_faults.py::test_a_failover_costs_one_call",
    ),
    Mutant(
        "app/pgrecall/execution/synchronous.py",
        "if driver.closed:  # SQLAlchemy",
        "if False:  # SQLAlchemy",
        "integration/test_faults.py::test_a_failover_costs_one_call",
    ),
    Mutant(
        "app/pgrecall/execution/asynchronous.py",
        "                await _switch(driver, before)\n            except BaseException",
        "            except BaseException",
        "integration/test_pooled_connections.py::test_an_asynchronous_session_too",
    ),
    Mutant(
        "app/pgrecall/execution/asynchronous.py",
        "                        await _switch(driver, before)\n                except",
        "                        pass\n                except",
        "integration/test_pooled_connections.py::test_a_refused_task_keeps_its_connection",
    ),
    Mutant(
        "app/pgrecall/execution/transactions.py",
        "return not is_idle or Settings(driver.autocommit, driver.isolation_level) != mode",
        "return False",
        "integration/test_pooled_connections.py::test_a_call_interrupted_anywhere",
    ),
    Mutant(
        "app/pgrecall/execution/error_mapping.py",
        '"25P03": "idle',
        '"25P99": "idle',
        "integration/test_unusable_database.py::test_timeouts_that_end_the_session",
    ),
    Mutant(
        "app/pgrecall/execution/inspection.py",
        "if revision > REVISION and (yield from _oldest_client(schema)) > REVISION:",
        "if False:",
        "integration/test_unusable_database.py::test_a_schema_of_another_version",
    ),
    Mutant(
        "sql/verbs/forget.sql",
        "WHERE m.agent_id = agent AND m.id = ANY (memory_ids) ORDER BY m.id FOR UPDATE) l;",
        "WHERE m.agent_id = agent AND m.id = ANY (memory_ids) ORDER BY m.id) l;",
        f"{RACES}::test_what_all_delete_is_deleted_and_noted_once",
    ),
    Mutant(
        "sql/verbs/forget.sql",
        "DELETE FROM memory_usage u WHERE u.agent_id = agent AND",
        "DELETE FROM memory_usage u WHERE",
        "integration/test_storing.py::test_two_agents_may_have_the_same_id",
    ),
    Mutant(
        "sql/verbs/near_memory.sql",
        "    PERFORM pg_advisory_xact_lock(",
        "    PERFORM length(agent) + least(1, ",
        f"{RACES}::test_rivals_that_look_for_near_duplicates_store_one_of_each",
    ),
    Mutant(
        "sql/verbs/erase_owner.sql",
        "PERFORM pg_advisory_xact_lock(building)",
        "PERFORM building",
        f"{RACES}::test_an_owner_is_erased_after_a_build_that_is_under_way",
    ),
    Mutant(
        "sql/verbs/archive_excess_batch.sql",
        "AND m.id = ANY (least_trusted) AND m.status <> 'archived'",
        "AND m.id = ANY (least_trusted)",
        f"{RACES}::test_two_collections_at_once_keep_as_many_as_the_cap_says",
    ),
    Mutant(
        "sql/migrate/replace_objects.sql",
        "SELECT granted FROM installed_sql i, unnest(i.grants) granted",
        "SELECT granted FROM installed_sql i, unnest(i.grants[:0]) granted",
        f"{LAST}repeatable.py::test_another_signature_is_granted_to_whom_the_old_one_was",
    ),
    Mutant(
        "sql/migrate/grant_access.sql",
        "    PERFORM revoke_access(grant_access.role);\n",
        "    DELETE FROM granted_roles g WHERE g.role = grant_access.role;\n",
        f"{LAST}repeatable.py::test_who_is_let_in_at_another_level_loses_what_is_beyond",
    ),
    Mutant(
        "app/pgrecall/migrate/locking.py",
        'guard.execute("SELECT")',
        "()",
        f"{LAST}interruptions.py::test_a_run_that_loses_its_lock_goes_no_further",
    ),
    Mutant(
        "app/pgrecall/migrate/locking.py",
        "IN SHARE UPDATE EXCLUSIVE MODE NOWAIT",
        "IN ROW EXCLUSIVE MODE NOWAIT",
        f"{LAST}interruptions.py::test_a_run_that_loses_its_lock_goes_no_further",
    ),
    Mutant(
        "app/pgrecall/migrate/environment.py",
        "if not isinstance(error.orig, _CREATED_BY_ANOTHER):",
        "if True:",
        f"{LAST}interruptions.py::test_somebody_else_creates_the_same_at_the_same_moment",
    ),
    Mutant(
        "migrations/versions/0001_baseline.py",
        'validity="valid_from < valid_until"',
        'validity="valid_from <= valid_until"',
        f"{LAST}constraints.py::test_other_values_that_cannot_be",
    ),
    Mutant(
        "sql/words/change_text_language.sql",
        "    UPDATE rank_indexes SET common_terms = NULL, term_memories = NULL;\n",
        "",
        f"{LAST}language.py::test_changing_the_language_takes_all_texts_apart",
    ),
    Mutant(
        "sql/words/change_text_language.sql",
        "ELSIF NOT EXISTS (SELECT FROM pg_ts_config",
        "ELSIF false AND NOT EXISTS (SELECT FROM pg_ts_config",
        f"{LAST}language.py::test_changing_to_no_language_is_refused_in_an_empty_schema_too",
    ),
    Mutant(
        "app/pgrecall/embedded/sharing.py",
        "if use.users == 0:\n                _leave(use, data)",
        "if True:\n                _leave(use, data)",
        "unit/test_embedded.py::test_nested_uses_share_one_server",
    ),
    Mutant(
        "app/pgrecall/embedded/sharing.py",
        "acquire_write_lock(blocking=False):",
        "acquire_write_lock(blocking=False) or True:",
        "unit/test_embedded.py::test_the_server_stays_until_the_last_process_leaves",
    ),
    Mutant(
        "app/pgrecall/embedded/sharing.py",
        "            require_data_of(data, postgres_version)\n            use.server =",
        "            use.server =",
        "unit/test_embedded.py::test_data_of_another_version",
    ),
    Mutant(
        "app/pgrecall/embedded/sharing.py",
        "    use.lock = fasteners.InterProcessReaderWriterLock(",
        "    require_data_of(data, postgres_version)\n"
        "    use.lock = fasteners.InterProcessReaderWriterLock(",
        "unit/test_embedded.py::test_the_version_of_data_that_another_process_is_making",
    ),
    Mutant(
        "app/pgrecall/embedded/postgres.py",
        "except (TimeoutExpired, AssertionError):",
        "except TimeoutExpired:",
        "unit/test_embedded.py::test_a_server_that_is_still_starting_is_waited_for",
    ),
    Mutant(
        "app/pgrecall/embedded/sharing.py",
        "with _uses_guard, suppress(psutil.NoSuchProcess):",
        "with suppress(psutil.NoSuchProcess):",
        "unit/test_embedded.py::test_threads_stop_servers_at_the_same_moment",
    ),
    Mutant(
        "app/pgrecall/evaluation/ranks.py",
        "reached = math.fsum(",
        "reached = sum(",
        "integration/test_evaluate.py::test_no_bit_of_a_metric_depends_on_the_plan",
    ),
    Mutant(
        "app/pgrecall/cli/transfer_commands.py",
        "(repo,) if repo._tables.prefix else (repo, repo.teams)",
        "(repo, repo.teams)",
        "integration/test_moving.py::test_the_progress_bar_ends_at_the_number_of_memories",
    ),
)
