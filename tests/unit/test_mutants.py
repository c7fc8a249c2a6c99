"""The list of guards that `make mutants` breaks."""

from pathlib import Path

from tests.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]


def test_each_text_stands_once_and_each_test_exists() -> None:
    assert [one for one in mutants() if not fits(one)] == []


def fits(mutant: Mutant) -> bool:
    path, _, name = mutant.tests.partition("::")
    texts = (ROOT / mutant.file).read_text(), (ROOT / "tests" / path).read_text()
    return texts[0].count(mutant.old) == 1 and f"def {name.partition('[')[0]}" in texts[1]
