from __future__ import annotations

import inspect

import pytest

from pgrecall import AsyncMemoryRepository, MemoryRepository


def _public(repository: type) -> set[str]:
    functions = inspect.getmembers(repository, inspect.isfunction)
    return {name for name, _ in functions if not name.startswith("_")}


METHODS = sorted(_public(MemoryRepository))
OF_ALL_AGENTS = [
    *("collect_garbage", "build_rank_indexes", "maintain_rank_indexes", "rank_indexes"),
]
OF_NO_AGENT = ["rank_index_progress"]
"""What works on the memories of every agent unless one is named."""


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
def test_every_method_is_documented(method: str) -> None:
    assert inspect.getdoc(getattr(MemoryRepository, method))


@pytest.mark.parametrize(
    "method", [name for name in METHODS if name not in OF_ALL_AGENTS + OF_NO_AGENT]
)
def test_every_method_takes_the_agent_first(method: str) -> None:
    parameters = inspect.signature(getattr(MemoryRepository, method)).parameters

    assert list(parameters)[:2] == ["self", "agent_id"]
    assert parameters["agent_id"].default is inspect.Parameter.empty


@pytest.mark.parametrize("method", OF_ALL_AGENTS)
def test_what_works_on_all_agents_takes_one_by_name(method: str) -> None:
    agent_id = inspect.signature(getattr(MemoryRepository, method)).parameters["agent_id"]

    assert (agent_id.kind, agent_id.default) == (inspect.Parameter.KEYWORD_ONLY, None)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_presented_under_its_name(method: str) -> None:
    assert getattr(MemoryRepository, method).__name__ == method
