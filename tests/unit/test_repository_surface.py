from __future__ import annotations

import inspect

import pytest

from tests.methods import NOWHERE, NOWHERE_LATER, method, public

METHODS = public(NOWHERE)
OF_ALL_AGENTS = (
    *("upkeep.collect_garbage", "rank_indexes.build"),
    *("rank_indexes.maintain", "rank_indexes.status"),
)
"""What works on the memories of every agent unless one is named."""
OF_NO_AGENT = ("rank_indexes.progress",)


def test_what_one_repository_can_do_the_other_can() -> None:
    assert public(NOWHERE_LATER) == METHODS
    assert {"add", "add_many", "get", "update", "delete", "search", "touch", "count"} < {*METHODS}
    assert sum("." not in name for name in METHODS) <= 20


@pytest.mark.parametrize("name", METHODS)
def test_both_present_a_method_in_the_same_way(name: str) -> None:
    one, other = method(NOWHERE, name), method(NOWHERE_LATER, name)
    parameters = inspect.signature(one).parameters

    assert one.__name__ == other.__name__
    assert inspect.signature(one) == inspect.signature(other)
    assert inspect.getdoc(one)
    assert inspect.getdoc(one) == inspect.getdoc(other)
    assert inspect.iscoroutinefunction(other)
    assert not inspect.iscoroutinefunction(one)
    if name in OF_ALL_AGENTS:
        agent_id = parameters["agent_id"]
        assert (agent_id.kind, agent_id.default) == (inspect.Parameter.KEYWORD_ONLY, None)
    elif name not in OF_NO_AGENT:
        assert next(iter(parameters)) == "agent_id"
        assert parameters["agent_id"].default is inspect.Parameter.empty
