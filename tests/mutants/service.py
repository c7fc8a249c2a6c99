"""Guards of the HTTP service."""

from tests.mutants.mutant import Mutant

KEYS = "integration/test_service_keys.py"
SERVICE = "integration/test_service.py"
DATABASE = "integration/test_service_database.py"
SERVE = "integration/test_serve.py"
MCP = "integration/test_mcp_over_http.py"
GATE = "app/pgrecall/service/gate.py"
CALLER = "app/pgrecall/service/caller.py"
SEEN = "app/pgrecall/service/rls_session.py"
RING = "app/pgrecall/service/key_cache.py"
MCP_ROUTE = "app/pgrecall/service/mcp_route.py"

MUTANTS = (
    Mutant(
        CALLER,
        "    if not key.owns(owner):\n        raise",
        "    if False:\n        raise",
        f"{KEYS}::test_another_owner_cannot_be_named",
    ),
    Mutant(
        CALLER,
        "    if not key.may(scope):\n        raise",
        "    if False:\n        raise",
        f"{KEYS}::test_scopes_are_kept",
    ),
    Mutant(
        "app/pgrecall/service/memory_routes.py",
        'caller.require_teams(values.get("teams") or ())',
        "pass",
        f"{KEYS}::test_another_owner_cannot_be_named",
    ),
    Mutant(
        SEEN,
        'if record.info.get("owners") == owners:',
        'if record.info.get("owners"):',
        f"{DATABASE}::test_connections_are_shared_and_memories_are_not",
    ),
    Mutant(
        SEEN,
        'event.listen(engine.sync_engine, "begin", begin)',
        "pass",
        f"{DATABASE}::test_connections_are_shared_and_memories_are_not",
    ),
    Mutant(
        GATE,
        "OWNERS.set(key.owners or ())",
        "pass",
        f"{SERVICE}::test_a_memory_is_stored_read_changed_listed_and_deleted",
    ),
    Mutant(
        RING,
        "return key if matches(secret, stored) else None",
        "return key",
        f"{KEYS}::test_a_key_with_another_secret_is_none",
    ),
    Mutant(
        RING,
        "& keys.revoked_at.is_(None)",
        "",
        f"{KEYS}::test_keys_end_when_they_are_revoked_or_rotated",
    ),
    Mutant(
        "app/pgrecall/migrate/access.py",
        "    if unguarded:",
        "    if False:",
        f"{KEYS}::test_a_service_whose_role_no_policy_restricts_does_not_start",
    ),
    Mutant(
        GATE,
        "not _LOOPBACK.fullmatch(address)",
        "False",
        f"{SERVICE}::test_without_keys_only_this_machine_is_answered",
    ),
    Mutant(
        GATE,
        'if body and kind != "application/json":',
        "if False:",
        f"{SERVICE}::test_a_body_that_is_no_json_or_too_large_or_of_another_type_is_refused",
    ),
    Mutant(
        GATE,
        "if len(body) + len(part) > most:",
        "if False:",
        f"{SERVICE}::test_a_body_that_is_no_json_or_too_large_or_of_another_type_is_refused",
    ),
    Mutant(
        GATE,
        "self._present >= self._most",
        "False",
        f"{SERVICE}::test_requests_beyond_those_that_may_wait_are_refused_at_once",
    ),
    Mutant(
        GATE,
        "                self._turns.release()",
        "                pass",
        f"{SERVICE}::test_a_request_that_takes_too_long_ends_and_gives_its_turn_back",
    ),
    Mutant(
        GATE,
        "if not self.is_late:",
        "if True:",
        f"{DATABASE}::test_a_limit_answers_though_the_work_has_not_ended",
    ),
    Mutant(
        "app/pgrecall/core/time_limit.py",
        "    again = asyncio.get_running_loop().call_later(CLOSING_SECONDS, task.cancel)",
        "    again = asyncio.get_running_loop().call_later(60, task.cancel)",
        f"{DATABASE}::test_a_limit_answers_though_the_work_has_not_ended",
    ),
    Mutant(
        RING,
        "now > cached.read_at + GRACE_SECONDS",
        "False",
        f"{DATABASE}::test_a_key_that_cannot_be_looked_up_is_used_a_while_longer",
    ),
    Mutant(
        RING,
        "        self._cached.pop(key_id, None)\n",
        "",
        f"{DATABASE}::test_a_key_that_cannot_be_looked_up_is_used_a_while_longer",
    ),
    Mutant(
        "app/pgrecall/service/problems.py",
        "if status >= 500 or _quotes_database(error):",
        "if False:",
        f"{SERVICE}::test_every_error_of_ours_has_a_status_and_none_of_the_database_is_quoted",
    ),
    Mutant(
        "app/pgrecall/cli/serve.py",
        "        if not keyed:\n            require_loopback(host)",
        "        if not keyed:\n            pass",
        f"{SERVE}::test_serve_refuses_what_would_protect_nothing",
    ),
    Mutant(
        "app/pgrecall/cli/serve.py",
        "keyed = bool(keys) and not without_keys",
        'keyed = any(one["revoked_at"] is None for one in keys)',
        f"{SERVE}::test_a_service_whose_keys_are_all_revoked_stays_closed",
    ),
    Mutant(
        GATE,
        "take(len(part))",
        "pass",
        "integration/test_service_limits.py::test_bodies_in_flight_are_limited",
    ),
    Mutant(
        "app/pgrecall/service/connections.py",
        "if self._unparsed > MAX_HEAD",
        "if False",
        "integration/test_service_limits.py::test_headers_end_by_size",
    ),
    Mutant(
        MCP_ROUTE,
        '"read" if effect == "reads" else "write"',
        '"read"',
        f"{MCP}::test_a_reader_changes_nothing_and_is_told_what_it_needs",
    ),
    Mutant(
        MCP_ROUTE,
        "touch=caller.touch()",
        "touch=True",
        f"{MCP}::test_a_reader_changes_nothing_and_is_told_what_it_needs",
    ),
    Mutant(
        MCP_ROUTE,
        "to_problem(error).detail",
        "str(error)",
        f"{MCP}::test_a_tool_that_takes_too_long_is_cancelled_and_gives_its_turn_back",
    ),
    Mutant(
        MCP_ROUTE,
        'request.query_params.get("owner")',
        "None",
        f"{MCP}::test_the_url_names_one_of_several_owners",
    ),
    Mutant(
        "app/pgrecall/mcp/memory_server.py",
        'MutableHeaders(scope=scope)["accept"] = "application/json"',
        "pass",
        f"{MCP}::test_no_session_is_needed_and_no_stream_holds_a_turn",
    ),
    Mutant(
        "sql/migrate/grant_access.sql",
        "CASE c.relname WHEN 'service_keys' THEN 'maintainer' ELSE 'reader' END",
        "'reader'",
        "integration/test_row_level_security.py::test_every_table_and_view_shows_a_tenant_what_is_its_own",
    ),
    Mutant(
        "app/pgrecall/service/shutdown.py",
        "if _stopping.is_set():",
        "if False:",
        f"{SERVE}::test_a_connection_that_is_accepted_while",
    ),
)
