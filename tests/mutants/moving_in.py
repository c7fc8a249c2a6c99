"""Guards of the scripts that move another system in."""

from tests.mutants.mutant import Mutant

SIESTAI, GRACE = "sql/adhoc/import/siestai.sql", "sql/adhoc/import/grace.sql"
IBEX_HARNESS, RADAROS = "sql/adhoc/import/ibex_harness.sql", "sql/adhoc/import/radaros.sql"

MUTANTS = (
    Mutant(
        SIESTAI,
        "WHERE user_id LIKE 'team:%'",
        "WHERE false",
        "integration/test_moving_siestai.py::test_a_user_of_siestai_does_not_become_a_team",
    ),
    Mutant(
        SIESTAI,
        "SET TimeZone = :'timezone';",
        "",
        "integration/test_moving_siestai.py::test_siestai_with_a_status_and_a_time_zone",
    ),
    Mutant(
        RADAROS,
        "OR namespace LIKE 'memory:entities:%:user:team:%'",
        "",
        "integration/test_moving_radaros.py::test_a_user_of_radaros_does_not_become_a_team",
    ),
    Mutant(
        GRACE,
        "CASE WHEN is_deleted THEN 'forgotten' END",
        "NULL",
        "integration/test_moving_grace.py::test_grace",
    ),
    Mutant(
        GRACE,
        "weight / greatest(max_weight, 1)",
        "least(weight, 1)",
        "integration/test_moving_grace.py::test_grace",
    ),
    Mutant(
        IBEX_HARNESS,
        "WHERE status <> 'deleted' AND deleted_at IS NULL",
        "",
        "integration/test_moving_ibex_harness.py::test_ibex_harness",
    ),
    Mutant(
        IBEX_HARNESS,
        "WHEN status = 'superseded' THEN jsonb_build_object(",
        "WHEN false THEN jsonb_build_object(",
        "integration/test_moving_ibex_harness.py::test_ibex_harness",
    ),
)
