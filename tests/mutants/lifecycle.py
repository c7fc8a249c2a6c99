"""Guards of the verbs that change memories."""

from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = ()
