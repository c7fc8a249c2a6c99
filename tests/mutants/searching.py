"""Guards of searches, contexts and evaluations."""

from tests.mutants.mutant import Mutant

CORPUS = "integration/test_bad_input.py::test_a_bad_value_works_or_is_refused_before_anything_is"

MUTANTS = (
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
        "app/pgrecall/chart.py",
        "min(1.2 + 0.32 * _rows(evaluation, sets), MAX_HEIGHT)",
        "1.2 + 0.32 * _rows(evaluation, sets)",
        "unit/test_chart.py::test_however_many_groups_there_are_it_can_be_drawn",
    ),
)
