"""Guards of lists, upserts, and deleting by filters."""

from tests.mutants.mutant import Mutant

LISTS = "integration/test_lists.py"
DELETING = "integration/test_deleting.py"
UPSERTING = "integration/test_upserting.py"

MUTANTS = (
    Mutant(
        "sql/statements/filtered.sql",
        "agent_memories.agent_id = :owner_id::text",
        "true",
        f"{LISTS}::test_a_page_has_what_passes_the_filters",
    ),
    Mutant(
        "sql/statements/filtered_used.sql",
        "ON agent_memories.agent_id = :owner_id::text",
        "ON true",
        f"{LISTS}::test_a_page_has_what_passes_the_filters",
    ),
    Mutant(
        "sql/statements/filtered_used.sql",
        "CASE WHEN agent_memories.id IS NULL THEN false",
        "CASE WHEN false THEN false",
        f"{LISTS}::test_a_page_has_what_passes_the_filters",
    ),
    Mutant(
        "sql/statements/filtered.sql",
        " WHERE agent_memories.agent_id = :owner_id::text\n",
        " WHERE true\n",
        "integration/test_rows_read.py",
    ),
    Mutant(
        "app/pgrecall/memories/ordering.py",
        "if order == list(self.names):",
        "if order:",
        f"{LISTS}::test_a_cursor_belongs_to_its_order",
    ),
    Mutant(
        "sql/recall/list_memories.sql",
        "IF said -> 'order' = to_jsonb(names) THEN",
        "IF said ? 'order' THEN",
        f"{LISTS}::test_a_cursor_belongs_to_its_order",
    ),
    Mutant(
        "app/pgrecall/memories/list_statement.py",
        'missing = "" if name in ID else f" OR {expression} IS NULL"',
        'missing = ""',
        f"{LISTS}::test_every_order_is_kept_from_page_to_page",
    ),
    Mutant(
        "app/pgrecall/memories/deleting.py",
        "    _require_some(chosen)\n",
        "",
        f"{DELETING}::test_a_filter_that_leaves_out_nothing_is_refused",
    ),
    Mutant(
        "sql/statements/locked.sql",
        "\n   FOR UPDATE OF agent_memories",
        "",
        f"{DELETING}::test_a_memory_that_stops_passing_meanwhile_is_spared",
    ),
    Mutant(
        "sql/verbs/forget_matching.sql",
        "CASE WHEN dry_run THEN 'passing' ELSE 'delete' END",
        "'passing'",
        f"{DELETING}::test_a_memory_that_stops_passing_meanwhile_is_spared",
    ),
    Mutant(
        "sql/verbs/forget_matching.sql",
        "'{planned,large,valid,usage,keyword,redistribute}'",
        "'{planned,large,usage,keyword,redistribute}'",
        f"{DELETING}::test_a_filter_that_leaves_out_nothing_is_refused",
    ),
    Mutant(
        "sql/verbs/upsert.sql",
        "        PERFORM lock_same(agent, ARRAY(\n"
        "            SELECT m.content_hash FROM agent_memories m\n"
        "             WHERE m.agent_id = agent AND m.id = upsert.memory_id), "
        "ARRAY[upsert.memory_id]);\n",
        "",
        "integration/test_races.py::test_a_key_upserted_by_all",
    ),
    Mutant(
        "sql/verbs/upsert.sql",
        "IF old.superseded_by IS NOT NULL AND changed.status = 'active' THEN",
        "IF false THEN",
        f"{UPSERTING}::test_the_successor_of_an_upserted_memory_is_superseded_in_turn",
    ),
    Mutant(
        "sql/verbs/owners.sql",
        "LANGUAGE plpgsql STABLE SET",
        "LANGUAGE plpgsql STABLE SECURITY DEFINER SET",
        "integration/test_row_level_security.py::test_a_function_tells_a_tenant_nothing_of_another[owners]",
    ),
)
