"""Guards of what is seen from outside: the log, spans, databases for tests, hosts' migrations."""

from tests.mutants.mutant import Mutant

LOGGING = "integration/test_logging.py"
TELEMETRY = "integration/test_telemetry.py"
HOST = "migrations/test_host_environment.py"
INVOCATION = "app/pgrecall/execution/invocation.py"
SPANS = "app/pgrecall/execution/telemetry.py"

MUTANTS = (
    Mutant(
        INVOCATION,
        "given = self.start.args if self.engine is None else self.start.args[1:]  # without tables",
        "given = self.start.args[2:]",
        f"{LOGGING}::test_no_line_has_a_text_or_a_vector",
    ),
    Mutant(
        INVOCATION,
        "prefix + owner.removeprefix(prefix)",
        "owner",
        f"{LOGGING}::test_each_call_is_one_line",
    ),
    Mutant(
        INVOCATION,
        "self.error = type(error).__name__",
        "self.error = str(error)",
        f"{LOGGING}::test_no_line_has_a_text_or_a_vector",
    ),
    Mutant(
        INVOCATION,
        "self.seconds > self.slow_after",
        "self.seconds < self.slow_after",
        f"{LOGGING}::test_what_is_slow_is_a_warning",
    ),
    Mutant(
        "app/pgrecall/execution/invocation.py",
        "self.attempts += 1",
        "self.attempts = 1",
        f"{LOGGING}::test_repetitions_are_counted",
    ),
    Mutant(
        "app/pgrecall/execution/synchronous.py",
        "self._run(partial(step.operation, self._tables), call.name)",
        "self._run(partial(step.operation, self._tables))",
        f"{LOGGING}::test_a_job_is_a_line_after_those_of_its_transactions",
    ),
    Mutant(
        SPANS,
        "record_exception=False,",
        "record_exception=True,",
        f"{TELEMETRY}::test_a_failure_is_told_without_its_message",
    ),
    Mutant(
        SPANS,
        "call.seconds - call.embedding_seconds",
        "call.seconds",
        f"{TELEMETRY}::test_durations_are_in_seconds_and_without_the_embedder",
    ),
    Mutant(
        SPANS,
        "if call.engine is not None:\n                durations",
        "if True:\n                durations",
        f"{TELEMETRY}::test_a_job_is_in_no_histogram",
    ),
    Mutant(
        INVOCATION,
        'if "opentelemetry.trace" in sys.modules:',
        "if True:",
        "unit/test_imports.py::test_importing_loads_only_what_is_needed",
    ),
    Mutant(
        "app/pgrecall/migrate/environment.py",
        'return type_ != "schema" or name != schema',
        "return True",
        f"{HOST}::test_a_host_s_check_finds_nothing_of_ours",
    ),
    Mutant(
        "app/pgrecall/testing.py",
        "with new_database(pgrecall_server, pgrecall_template) as url:",
        'with new_database(pgrecall_server, "template1") as url:',
        "integration/test_testing.py::test_settings_are_fixtures_and_nothing",
    ),
    Mutant(
        "app/pgrecall/testing.py",
        'connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(quoted))',
        "pass",
        "integration/test_testing.py::test_settings_are_fixtures_and_nothing",
    ),
    Mutant(
        "sql/recall/list_memories.sql",
        "most integer DEFAULT 50",
        "most integer DEFAULT 20",
        "integration/test_defaults.py::test_psql_has_the_defaults",
    ),
    Mutant(
        "app/pgrecall/core/validation.py",
        "return UUID(value)",
        "return value",
        "integration/test_ids_as_text.py::test_a_method_does_the_same",
    ),
    Mutant(
        "app/pgrecall/memories/incoming.py",
        "if fields and not isinstance(memory, str):",
        "if False:",
        "unit/test_bad_arguments.py::test_the_fields_of_a_memory_stand_in_one_place",
    ),
)
