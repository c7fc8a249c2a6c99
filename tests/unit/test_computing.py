"""Computations in a thread end when the call that waits for them is cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from pgrecall.core.computing import Abandoned, computed, go_on
from pgrecall.evaluation.weight_search import Space, searched

SPACE = Space((0.5, 0.5), [True, True])


def test_a_search_for_weights_ends_with_the_call_that_waits_for_it() -> None:
    asyncio.run(_cancelled_while_searching())


async def _cancelled_while_searching() -> None:
    compared, cancelled = threading.Event(), threading.Event()
    ends: list[BaseException | None] = []
    ended = threading.Event()
    after = 0

    def worth(weights: Sequence[float]) -> float:
        nonlocal after
        compared.set()
        if cancelled.wait(5):
            after += 1
        return 0.0

    def work() -> None:
        try:
            searched(worth, SPACE, seed=0)
            ends.append(None)
        except Abandoned as end:
            ends.append(end)
        ended.set()

    task = asyncio.create_task(computed(work))
    await asyncio.to_thread(compared.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    cancelled.set()
    assert await asyncio.to_thread(ended.wait, 5)
    assert isinstance(ends[0], Abandoned)
    assert after == 1


def test_what_somebody_waits_for_goes_on() -> None:
    def work() -> str:
        go_on()
        return "done"

    assert asyncio.run(computed(work)) == "done"
    go_on()  # outside of a thread of its own
