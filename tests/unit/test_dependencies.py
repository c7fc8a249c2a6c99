"""The versions that are tested as the lowest are the ones that are declared."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {
    name: lines
    for name, lines in PROJECT["optional-dependencies"].items()
    if name not in ("docs", "test")
}


def declared() -> Iterator[Requirement]:
    """What users install, ourselves aside."""
    for lines in (PROJECT["dependencies"], *EXTRAS.values()):
        for line in lines:
            if Requirement(line).name != "pgrecall":
                yield Requirement(line)


def test_each_bound_is_the_version_that_the_lowest_tests_pin() -> None:
    lines = (ROOT / "tests" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    tested = {canonicalize_name(name): Version(version) for name, version in pins.items()}

    for requirement in declared():
        [bound] = requirement.specifier
        assert bound.operator == ">=", f"{requirement} must have no upper bound"
        assert Version(bound.version) == tested[canonicalize_name(requirement.name)], requirement


def test_everything_imported_is_declared() -> None:
    names = {requirement.name.replace("-", "_") for requirement in declared()}
    names = names - {"opentelemetry_api"} | {"opentelemetry"}
    names |= {"pytest"}  # which imports pgrecall.testing
    found = {
        module.partition(".")[0]
        for file in (ROOT / "app").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for module in modules(node)
    }

    assert found - set(sys.stdlib_module_names) - {"pgrecall"} == names


def modules(node: ast.AST) -> list[str]:
    """The modules that an import names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
