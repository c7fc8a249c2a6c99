from __future__ import annotations

import inspect

import pytest

from pgrecall import AsyncMemoryRepository, MemoryRepository


def _public(repository: type) -> set[str]:
    functions = inspect.getmembers(repository, inspect.isfunction)
    return {name for name, _ in functions if not name.startswith("_")}


METHODS = sorted(_public(MemoryRepository))


def test_what_one_repository_can_do_the_other_can() -> None:
    assert _public(MemoryRepository) == _public(AsyncMemoryRepository)


def test_the_methods_that_users_rely_on_are_there() -> None:
    relied_on = {"add", "add_many", "get", "update", "delete", "search", "touch", "count"}

    assert relied_on <= set(METHODS)


@pytest.mark.parametrize("method", METHODS)
def test_both_repositories_take_the_same_arguments(method: str) -> None:
    one, other = (getattr(kind, method) for kind in (MemoryRepository, AsyncMemoryRepository))

    assert inspect.signature(one) == inspect.signature(other)
    assert inspect.getdoc(one) == inspect.getdoc(other)
    assert inspect.iscoroutinefunction(other)
    assert not inspect.iscoroutinefunction(one)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_the_agent_first_and_is_documented(method: str) -> None:
    function = getattr(MemoryRepository, method)

    assert list(inspect.signature(function).parameters)[:2] == ["self", "agent_id"]
    assert inspect.getdoc(function)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_presented_under_its_name(method: str) -> None:
    assert getattr(MemoryRepository, method).__name__ == method
