"""Guards of races, tenants, roles and migrations."""

from tests.mutants.mutant import Mutant

RACES = "integration/test_races.py"
TENANTS = "integration/test_row_level_security.py"

MUTANTS = (
    Mutant(
        "sql/verbs/touch.sql",
        "u.retrieval_count + 1",
        "1 + (SELECT o.retrieval_count FROM memory_usage o "
        "WHERE o.agent_id = u.agent_id AND o.memory_id = u.memory_id)",
        f"{RACES}::test_touches_of_overlapping_sets_lose_no_count",
    ),
    Mutant(
        "sql/verbs/lock_memories.sql",
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
        "LANGUAGE sql STABLE",
        "LANGUAGE sql STABLE SECURITY DEFINER",
        f"{TENANTS}::test_a_function_tells_a_tenant_nothing_of_another[history]",
    ),
    Mutant(
        "sql/policies/row_level_security.sql",
        "agent_id = ANY (",
        "true OR agent_id = ANY (",
        f"{TENANTS}::test_a_method_tells_a_tenant_nothing_of_another",
    ),
    Mutant(
        "sql/policies/row_level_security.sql",
        "nullif(current_setting(''pgrecall.owners'', true), '''')",
        "coalesce(nullif(current_setting(''pgrecall.owners'', true), ''''), ''{two}'')",
        f"{TENANTS}::test_every_table_and_view_shows_a_tenant_what_is_its_own",
    ),
    Mutant(
        "app/pgrecall/resources.py",
        'replace("@extschema:vector@", _identifier(extension_schema))',
        'replace("@extschema:vector@", extension_schema)',
        "migrations/test_extension_schema.py::test_plain_alembic_is_told_where_it_is",
    ),
)
