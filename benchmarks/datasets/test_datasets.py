"""The readers of published data sets, by files of their formats with invented texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.datasets import DataSetName, read_data_set
from benchmarks.datasets.__main__ import ALL, rows, searched, store
from benchmarks.server import repository
from pgrecall import migrate, profiles
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.errors import InputError
from pgrecall.testing import new_database

DATA = Path(__file__).parents[2] / "tests" / "data"
FILES: dict[DataSetName, str] = {
    "locomo": "locomo/locomo10.json",
    "realtalk": "realtalk/data/Chat_11_Ilse_Tomas.json",
    "beam": "beam/chats/100K/1/chat.json",
    "longmemeval": "longmemeval/longmemeval_s_cleaned.json",
}
READ: dict[DataSetName, tuple[str, str, str, str]] = {
    "locomo": ("conv-901", "2021-04-02 12:15", "0 of 2", "D1:2 D2:3|D1:3||D3:2||"),
    "realtalk": (  # D1:3 is a photo alone, which hangs at D1:4
        *("Chat_11_Ilse_Tomas", "2024-03-12 06:45", ""),
        "D1:2 D1:4|D2:1 D2:2 D2:3 D2:5 D2:7|D2:3|D2:8||",
    ),
    "beam": ("1", "2024-05-06 00:00", "0 of 1", "|10 2|0 2 4 8|4|4|8|0 8||0 1 4 8 10|8 4"),
    "longmemeval": ("a1b2c301", "2023-06-11 10:48", "0 of 1", "answer_a1b2c301_1/1"),
}
"""The name and last moment of the first conversation, how many questions without an answer got one,
and the evidence of its questions."""


@pytest.mark.parametrize("name", READ)
def test_a_data_set_is_read_and_searched(name: DataSetName, pgrecall_server: str) -> None:
    first, last, unanswerable, evidence = READ[name]
    conversations = read_data_set(name, DATA / FILES[name])
    one = conversations[0]
    told = [" ".join(t.removeprefix(f"{first}/") for t in q.turns) for q in one.questions]
    assert (one.name, len(one.turns)) == (first, 12)
    assert f"{one.turns[-1].created_at:%Y-%m-%d %H:%M}" == last
    assert "|".join(told) == evidence

    with new_database(pgrecall_server) as url:
        migrate.upgrade(url)
        with repository(url, LocalEmbedder()) as repo:
            store(repo, conversations)
            lines = rows("hybrid", searched(repo, conversations, profiles.hybrid, dates=True))
    cells = {kind: more for _, kind, *more in (line.split(" | ") for line in lines)}
    assert float(cells[ALL][1].split()[0]) > 0.5, "meaning and words find something"
    assert cells[ALL][5] == unanswerable


def without_dates(record: Any) -> Any:
    return [record[0] | {"haystack_dates": []}]


SPOILT: dict[DataSetName, tuple[Any, str]] = {
    "locomo": (lambda of: of * 2, "'conv-901' twice"),
    "realtalk": (lambda of: of | {"session_1": [{}]}, "session_1, turn 1: date_time is missing"),
    "beam": (lambda of: [of[0] | {"turns": [3]}], "batch 1: a turn must be a list, got 3"),
    "longmemeval": (without_dates, "must be equally long"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_file_of_another_form_is_refused_with_the_place(
    name: DataSetName, tmp_path: Path
) -> None:
    (change, why), text = SPOILT[name], (DATA / FILES[name]).read_text("utf-8")
    file = tmp_path / Path(FILES[name]).name
    for spoilt, said in ((json.dumps(change(json.loads(text))), why), (text[:500], "half a file")):
        file.write_text(spoilt, "utf-8")
        with pytest.raises(InputError, match=said):
            read_data_set(name, file)
