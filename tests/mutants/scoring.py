"""Guards of the score, of filters, and of what callers hand in."""

from tests.mutants.mutant import Mutant

CORPUS = "integration/test_bad_input.py::test_a_bad_value_works_or_is_refused_before_anything_is"

MUTANTS = (
    Mutant(
        "sql/signals/frequency.sql",
        "/ cap",
        "/ (cap + 1e-6)",
        "integration/test_profiles_agree.py::test_the_three_agree",
    ),
    Mutant(
        "app/pgrecall/quoting.py",
        "_SHORT = 60",
        "_SHORT = 6_000",
        f"{CORPUS}_written[label]",
    ),
    Mutant(
        "app/pgrecall/cli/migrating.py",
        "if given:",
        "if len(given) > 1:",
        "integration/test_command_line.py::test_an_option_before_a_subcommand_is_refused_rather",
    ),
)
