from __future__ import annotations

import inspect

import pytest

from pgrecall import AsyncMemoryRepository, MemoryRepository


def _public(repository: type) -> set[str]:
    functions = inspect.getmembers(repository, inspect.isfunction)
    return {name for name, _ in functions if not name.startswith("_")}


METHODS = sorted(_public(MemoryRepository))
OF_ALL_AGENTS = ("collect_garbage", "build_rank_indexes", "maintain_rank_indexes", "rank_indexes")
"""What works on the memories of every agent unless one is named."""
OF_NO_AGENT = ("rank_index_progress",)


def test_what_one_repository_can_do_the_other_can() -> None:
    assert _public(MemoryRepository) == _public(AsyncMemoryRepository)
    assert {"add", "add_many", "get", "update", "delete", "search", "touch", "count"} < {*METHODS}


@pytest.mark.parametrize("method", METHODS)
def test_both_present_a_method_in_the_same_way(method: str) -> None:
    one, other = (getattr(kind, method) for kind in (MemoryRepository, AsyncMemoryRepository))
    parameters = inspect.signature(one).parameters

    assert one.__name__ == other.__name__ == method
    assert inspect.signature(one) == inspect.signature(other)
    assert inspect.getdoc(one)
    assert inspect.getdoc(one) == inspect.getdoc(other)
    assert inspect.iscoroutinefunction(other)
    assert not inspect.iscoroutinefunction(one)
    if method in OF_ALL_AGENTS:
        agent_id = parameters["agent_id"]
        assert (agent_id.kind, agent_id.default) == (inspect.Parameter.KEYWORD_ONLY, None)
    elif method not in OF_NO_AGENT:
        assert list(parameters)[:2] == ["self", "agent_id"]
        assert parameters["agent_id"].default is inspect.Parameter.empty
