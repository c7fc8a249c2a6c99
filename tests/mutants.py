"""Breaks one guard after the other in a copy of this checkout, and expects tests to notice.

`python -m tests.mutants` runs them all, with words only those whose file or test names one. It is
for those who make tests shorter: what remains has to go red.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from pgrecall import embedded
from tests.conftest import hurry

ROOT = Path(__file__).parents[1]
RACES, INDEXES = "integration/test_races.py", "integration/test_rank_index"
TENANTS = "integration/test_row_level_security.py"
CORPUS = "integration/test_bad_input.py::test_a_bad_value_works_or_is_refused_before_anything_is"


class Mutant(NamedTuple):
    """What is changed, and the tests that have to fail then: a file and how their names begin."""

    file: str
    old: str
    new: str
    tests: str


MUTANTS = [
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
        "sql/signals/frequency.sql",
        "/ cap",
        "/ (cap + 1e-6)",
        "integration/test_profiles_agree.py::test_the_three_agree",
    ),
    Mutant(
        "sql/rank_index/await_writers.sql",
        "WHILE EXISTS (",
        "WHILE false AND EXISTS (",
        f"{INDEXES}_building.py::test_what_was_written_before_and_committed_after_is_not_missed",
    ),
    Mutant(
        "app/pgrecall/rank_index.py",
        "timedelta(days=28)",
        "timedelta(days=364)",
        f"{INDEXES}_maintenance.py::test_half_a_year_of_use_with_the_maintenance_it_prescribes_finds_"
        "what_exact_ranking_finds",
    ),
    Mutant(
        "app/pgrecall/quoting.py",
        "_SHORT = 60",
        "_SHORT = 6_000",
        f"{CORPUS}_written[label]",
    ),
    Mutant(
        "sql/rank_index/nearest_landmark.sql",
        "0.04)))",
        "0.004)))",
        f"{INDEXES}_landmarks.py::test_landmarks_are_one_in_25_and_at_most_two_thousand",
    ),
    Mutant(
        "sql/rank_index/nearest_landmark.sql",
        "least(2000 / ",
        "least(4000 / ",
        f"{INDEXES}_landmarks.py::test_landmarks_are_one_in_25_and_at_most_two_thousand",
    ),
    Mutant(
        "sql/rank_index/near_positions.sql",
        "EXIT WHEN all_compared OR NOT",
        "EXIT WHEN true OR NOT",
        f"{INDEXES}_landmarks.py::test_what_no_walk_gets_to_is_found_by_comparing_all",
    ),
    Mutant(
        "sql/rank_index/near_positions.sql",
        "    SET hnsw.ef_search = 40\n",
        "",
        f"{INDEXES}_landmarks.py::test_the_session_keeps_its_settings",
    ),
    Mutant(
        "sql/rank_index/has_missed.sql",
        "nearest > 1.25 * coalesce(met, 0)",
        "nearest > 1.25 + coalesce(met, 0)",
        f"{INDEXES}_landmarks.py::test_a_walk_ends_where_something_like_the_nearest_landmark_was",
    ),
    Mutant(
        "sql/rank_index/has_missed.sql",
        "coalesce(best, 0) / 8",
        "0",
        f"{INDEXES}_landmarks.py::test_where_meaning_hardly_counts_a_walk_goes_no_further",
    ),
    Mutant(
        "sql/rank_index/has_missed.sql",
        "met >= likeness *",
        "met >= 0 * likeness *",
        f"{INDEXES}_landmarks.py::test_a_walk_ends_where_something_like_the_nearest_landmark_was",
    ),
    Mutant(
        "sql/rank_index/keep_positions.sql",
        "ELSIF EXISTS (SELECT FROM pg_inherits WHERE inhrelid = positions) THEN",
        "ELSIF false THEN",
        f"{INDEXES}_building.py::test_what_runs_with_the_owner_s_rights_touches_new_tables",
    ),
    Mutant(
        "sql/rank_index/keep_positions.sql",
        "AND c.relowner = parent.relowner ",
        "",
        f"{INDEXES}_building.py::test_what_runs_with_the_owner_s_rights_touches_new_tables",
    ),
    Mutant(
        "sql/rank_index/keep_positions.sql",
        "    SET maintenance_work_mem = '64MB'\n",
        "",
        f"{INDEXES}_building.py::test_the_settings_of_a_callers_transaction_are_as_before",
    ),
    Mutant(
        "sql/rank_index/make_rank_index.sql",
        "CASE WHEN text_language() = language THEN words.memories END",
        "words.memories",
        f"{INDEXES}_building.py::test_an_index_whose_language_changes_while_it_is_built",
    ),
    Mutant(
        "sql/rank_index/keep_positions.sql",
        "PERFORM align_positions(relation);",
        "",
        f"{INDEXES}_building.py::test_who_may_read_may_search_through_the_index[after]",
    ),
    Mutant(
        "sql/rank_index/rank_index_states.sql",
        "WHEN now() - built_at > max_age",
        "WHEN now() - built_at > 2 * max_age",
        f"{INDEXES}_maintenance.py::test_an_old_index_is_due",
    ),
    Mutant(
        "sql/rank_index/rank_index_states.sql",
        "WHEN beside > max_beside",
        "WHEN beside > max_beside + 1",
        f"{INDEXES}_maintenance.py::test_what_has_happened_since_the_build_is_counted",
    ),
    Mutant(
        "sql/rank_index/rank_index_states.sql",
        "SELECT DISTINCT e.memory_id",
        "SELECT e.memory_id",
        f"{INDEXES}_maintenance.py::test_what_has_happened_since_the_build_is_counted",
    ),
    Mutant(
        "sql/rank_index/rank_candidates.sql",
        "!~ '^ranks_[0-9a-f]{32}$'",
        "!~* '^ranks_[0-9a-f]{32}'",
        f"{INDEXES}_search.py::test_a_relation_of_a_hostile_name_is_never_executed",
    ),
    Mutant(
        "sql/rank_index/rank_candidates.sql",
        "AND m.inserted_at >= written_since",
        "AND false",
        "integration/test_word_candidates.py::test_a_rare_name_finds_its_memory_at_any_cosine",
    ),
    Mutant(
        "app/pgrecall/rank_space.py",
        "return half_life is None or HALF_LIVES[0] <=",
        "return half_life is None or 0 <=",
        f"{INDEXES}_search.py::test_auto_ranks_exactly_where_the_half_life_is_not_covered",
    ),
    Mutant(
        "app/pgrecall/statements/evaluating.py",
        "as_of = func.coalesce(queries.c.as_of, moment(self.shape.has_as_of))",
        "as_of = moment(self.shape.has_as_of)",
        "integration/test_evaluate.py::test_ranks_are_those_of_a_search",
    ),
    Mutant(
        "app/pgrecall/statements/evaluating.py",
        'ranked.append(total >= bindparam("min_score"',
        'ranked.append(total >= 0 * bindparam("min_score"',
        "integration/test_evaluate.py::test_filters_and_thresholds_are_those_of_a_search",
    ),
    Mutant(
        "app/pgrecall/operations/evaluating.py",
        'require_share("min_score", min_score)',
        "min_score",
        f"{CORPUS}_written[evaluate]",
    ),
    Mutant(
        "app/pgrecall/operations/question.py",
        'require_share("min_similarity", arguments.get("min_similarity"))',
        'arguments.get("min_similarity")',
        f"{CORPUS}_written[context]",
    ),
    Mutant(
        "sql/policies/row_level_security.sql",
        "nullif(current_setting(''pgrecall.owners'', true), '''')",
        "coalesce(nullif(current_setting(''pgrecall.owners'', true), ''''), ''{two}'')",
        f"{TENANTS}::test_every_table_and_view_shows_a_tenant_what_is_its_own",
    ),
    Mutant(
        "sql/recall/history.sql",
        " AND e.memory_id = history.memory_id",
        "",
        "integration/test_rows_read.py::test_a_verb_on_few_memories_reaches_them_by_their_keys"
        "[history-fresh-force_custom_plan]",
    ),
    Mutant(
        "app/pgrecall/resources.py",
        'replace("@extschema:vector@", _identifier(extension_schema))',
        'replace("@extschema:vector@", extension_schema)',
        "migrations/test_extension_schema.py::test_plain_alembic_is_told_where_it_is",
    ),
    Mutant(
        "app/pgrecall/cli/migrating.py",
        "if given:",
        "if len(given) > 1:",
        "integration/test_command_line.py::test_an_option_before_a_subcommand_is_refused_rather",
    ),
    Mutant(
        "app/pgrecall/chart.py",
        "min(1.2 + 0.32 * _rows(evaluation, sets), MAX_HEIGHT)",
        "1.2 + 0.32 * _rows(evaluation, sets)",
        "unit/test_chart.py::test_however_many_groups_there_are_it_can_be_drawn",
    ),
]


def survives(mutant: Mutant, server: str) -> bool:
    """Whether the tests of a mutant pass: all those whose names begin like this."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        for name in ("app", "migrations", "sql", "tests", "pyproject.toml", "alembic.ini"):
            whole = ROOT / name
            (shutil.copytree if whole.is_dir() else shutil.copy)(whole, _made(copy) / name)
        file = copy / mutant.file
        text = file.read_text()
        assert mutant.old in text, mutant
        file.write_text(text.replace(mutant.old, mutant.new, 1))
        path, _, name = mutant.tests.partition("::")
        chosen = [f"tests/{mutant.tests}"] if name.endswith("]") else [f"tests/{path}", "-k", name]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", *chosen],
            cwd=copy,
            env=os.environ
            | {"PYTHONPATH": str(copy / "app"), "PGRECALL_TEST_DATABASE_URL": server},
            capture_output=True,
            text=True,
        )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    told = done.stdout.splitlines()[-1]
    assert "failed" in told or "error" not in told, done.stdout  # of a test itself, not before it
    return done.returncode == 0


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def main(words: list[str]) -> int:
    """How many are alive."""
    alive = 0
    with embedded.database() as server:
        hurry(server)
        for one in MUTANTS:
            if not words or any(word in one.file or word in one.tests for word in words):
                lives = survives(one, server)
                alive += lives
                told = f"{'ALIVE ' if lives else 'killed'} {one.file} by {one.tests}"
                print(told, flush=True)  # noqa: T201
    return alive


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
