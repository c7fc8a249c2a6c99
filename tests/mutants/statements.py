"""Guards of the composers of statements, and of the files that they compose."""

from tests.mutants.mutant import Mutant

OURS = "integration/test_statements.py"
PREPARES = f"{OURS}::test_a_statement_prepares"
SAME_TEXT = f"{OURS}::test_python_and_psql_compose_the_same_text"
AGREE = f"{OURS}::test_python_and_psql_agree"
LINKS, SESSIONS = "integration/test_links.py", "integration/test_sessions.py"
PLANTED = "integration/test_planted_overloads.py::test_no_statement_on_an_engine"
COMPOSER = "app/pgrecall/schema/composer.py"
GENERATOR = "app/pgrecall/migrate/statement_files.py"

MUTANTS = (
    Mutant(COMPOSER, " and self.excludes.isdisjoint(options)", "", SAME_TEXT),
    Mutant(COMPOSER, "options = {name, *given}", "options = {*given}", SAME_TEXT),
    Mutant(COMPOSER, " or lines[place - 1].name)", ")", PREPARES),
    Mutant(COMPOSER, "|--|(?:", "|(?:", PREPARES),
    Mutant(COMPOSER, "Line(_OF_POSTGRESQL.sub(_qualified, text))", "Line(text)", PLANTED),
    Mutant("sql/statements/drawn.sql", "placed.gain > 0::float8", "placed.gain > 0", PLANTED),
    Mutant(
        GENERATOR,
        "*([f\"NOT options && '{{{','.join(excludes)}}}'\"] if excludes else []),",
        "",
        SAME_TEXT,
    ),
    Mutant(
        "app/pgrecall/ranking/custom_condition.py",
        'lambda found: found[1] or f":{prefix}"',
        'lambda found: found[1] or ":"',
        "integration/test_filters.py",
    ),
    Mutant(
        "app/pgrecall/scoring/expression.py",
        'labels = [quoted(label, "\\\\:.")',
        "labels = [quoted(label)",
        "integration/test_hostile_strings.py::test_memory_types_of_a_profile_are_only_data",
    ),
    Mutant(
        "app/pgrecall/scoring/expression.py",
        'if "redistributes" in options:',
        "if False:",
        "integration/test_redistribution.py",
    ),
    Mutant(
        "sql/recall/statement_for.sql",
        "'worded_owners', '$2',",
        "",
        f"{OURS}::test_psql_scores_linked",
    ),
    Mutant(
        "sql/recall/recall.sql",
        """ARRAY(SELECT h.agent_id FROM hits h WHERE h.beside IS NULL ORDER BY h.place),
                       ARRAY(SELECT h.id FROM hits h WHERE h.beside IS NULL ORDER BY h.place)""",
        """ARRAY(SELECT h.agent_id FROM hits h ORDER BY h.place),
                       ARRAY(SELECT h.id FROM hits h ORDER BY h.place)""",
        f"{OURS}::test_in_psql_no_link",
    ),
    Mutant(
        "sql/recall/facts_of.sql",
        "half_life NOT BETWEEN @SHORTEST_HALF_LIFE@ AND",
        "half_life NOT BETWEEN -1 AND",
        AGREE,
    ),
    Mutant(
        "sql/recall/facts_of.sql",
        "    IF normalise AND (SELECT max(one) FROM unnest(weighed) one) > 0 THEN",
        "    IF false THEN",
        AGREE,
    ),
    Mutant("sql/statements/near.sql", "HAVING min(reached.steps) > 0", "", LINKS),
    Mutant(
        "sql/statements/near.sql", "reached.steps < :steps::integer", "reached.steps < 2", LINKS
    ),
    Mutant("sql/statements/others.sql", "min_relevance !along", "min_relevance", SESSIONS),
    Mutant(
        "sql/statements/described.sql", "min_score !along !indexed", "min_score !indexed", SESSIONS
    ),
)
