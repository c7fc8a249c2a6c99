"""How a search reaches the server: see tests/integration/test_search_path.py."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

PATH = "integration/test_search_path.py"

MUTANTS = (
    Mutant(
        "app/pgrecall/execution/prepared_statement.py",
        'or getattr(engine, "_has_events", True)',
        "",
        f"{PATH}::test_hits_are_the_same_whoever",
    ),
    Mutant(
        "app/pgrecall/execution/synchronous.py",
        "if not (theirs.in_transaction() or call.is_alone):",
        "if False:",
        f"{PATH}::test_a_callers_transaction_has_the_touch",
    ),
    Mutant(
        "app/pgrecall/execution/prepared_statement.py",
        "driver.cursor_factory not in _PLAIN",
        "False",
        f"{PATH}::test_an_engine_with_echo_or_a_cursor_class",
    ),
    Mutant(
        "app/pgrecall/execution/transactions.py",
        "if connection.dispatch.begin:",
        "if False:",
        f"{PATH}::test_a_caller_who_begins_transactions",
    ),
    Mutant(
        "app/pgrecall/execution/invocation.py",
        '{**step.parameters, "durable": False}',
        "step.parameters",
        f"{PATH}::test_only_touches_may_be_lost",
    ),
    Mutant(
        "app/pgrecall/execution/invocation.py",
        "durable or not ours",
        "durable",
        f"{PATH}::test_only_touches_may_be_lost",
    ),
    Mutant(
        "app/pgrecall/execution/synchronous.py",
        "statement.prepare if step.may_prepare else False",
        "statement.prepare",
        f"{PATH}::test_searches_of_a_large_agent",
    ),
    Mutant(
        "app/pgrecall/ranking/question.py",
        "is_large=known[0].is_large",
        "is_large=False",
        f"{PATH}::test_searches_of_a_large_agent",
    ),
    Mutant(
        "app/pgrecall/search/searching.py",
        "READS_TOGETHER if expand else READS",
        "READS_TOGETHER",
        f"{PATH}::test_a_search_and_its_touch",
    ),
    Mutant(
        "app/pgrecall/ranking/statement.py",
        "rows = rows.outerjoin(theirs, same, full=True)",
        "rows = rows.outerjoin(theirs, same)",
        "integration/test_plans.py::test_no_plan_of_a_young_database",
    ),
    Mutant(
        "app/pgrecall/ranking/statement.py",
        "case((memories.c.id.is_(None), false()), else_=and_(true(), *later.values()))",
        "and_(memories.c.id.is_not(None), *later.values())",
        "integration/test_plans.py::test_no_plan_of_a_young_database",
    ),
    Mutant(
        "app/pgrecall/ranking/statement.py",
        "_believed_rare(words.c.id)",
        "words.c.id.is_not(None)",
        "integration/test_plans.py::test_no_plan_of_a_young_database",
    ),
    Mutant(
        "app/pgrecall/ranking/statement.py",
        '{"nearly all": met.is_not(None), **others}',
        "dict(conditions)",
        "integration/test_plans.py::test_no_plan_of_a_young_database",
    ),
    Mutant(
        "app/pgrecall/ranking/statement.py",
        "return hidden(most) if",
        "return most if",
        f"{PATH}::test_searches_of_a_large_agent",
    ),
    Mutant(
        "app/pgrecall/execution/synchronous.py",
        "if driver.closed:  # SQLAlchemy",
        "if False:  # SQLAlchemy",
        "integration/test_lost_connection.py::test_a_connection_that_died_in_the_pool",
    ),
    Mutant(
        "app/pgrecall/execution/synchronous.py",
        "                if not alone:\n                    connection.begin()",
        "                driver.set_read_only(False if needs.mode.snapshot else None)\n"
        "                if not alone:\n                    connection.begin()",
        "integration/test_replica.py::test_",
    ),
)
