"""Published data sets of conversations, as their authors publish them. None is shipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from benchmarks.datasets import beam, locomo, longmemeval, realtalk
from benchmarks.datasets.conversation import Conversation
from pgrecall.core.quoting import LONGEST, shortened
from pgrecall.errors import InputError

DataSetName = Literal["locomo", "realtalk", "beam", "longmemeval"]
_READERS: Mapping[DataSetName, Callable[[Path], list[Conversation]]] = {
    "locomo": locomo.read,
    "realtalk": realtalk.read,
    "beam": beam.read,
    "longmemeval": longmemeval.read,
}


def read_data_set(name: DataSetName, path: Path) -> list[Conversation]:
    """The conversations of a data set, from its published file or their folder. Raises InputError,
    also where a name or an id occurs twice."""
    conversations = _READERS[name](path)
    file = shortened(path, LONGEST)
    if not any(one.questions for one in conversations):
        raise InputError(f"{file} has no question; give the whole data set")
    every = (
        [one.name for one in conversations],
        [turn.id for one in conversations for turn in one.turns],
        [question.id for one in conversations for question in one.questions],
    )
    for ids in every:
        [(most, times)] = Counter(ids).most_common(1) or [("", 0)]
        if times > 1:
            raise InputError(f"{file} has {shortened(most)} twice; give each conversation once")
    return conversations
