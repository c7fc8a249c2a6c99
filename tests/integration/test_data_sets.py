"""The readers of published data sets, by files of their formats with invented texts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from benchmarks.datasets import DataSetName, read_data_set
from benchmarks.datasets.__main__ import ALL, rows, searched, store
from benchmarks.datasets.conversation import Conversation, Question, Turn
from benchmarks.server import repository

from pgrecall import profiles
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.errors import InputError

DATA = Path(__file__).parents[1] / "data"


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


def by_session(conversation: Conversation) -> dict[str, list[str]]:
    """The turns of each session, by the ends of their ids."""
    sessions: dict[str, list[str]] = {}
    for turn in conversation.turns:
        assert turn.id.startswith(f"{conversation.name}/")
        of_session = sessions.setdefault(turn.session, [])
        assert turn.place == len(of_session)
        of_session.append(turn.id.removeprefix(f"{conversation.name}/"))
    return sessions


def evidence(conversation: Conversation) -> list[tuple[str, str]]:
    """The kind of each question, and the ends of the ids of its evidence."""
    name = f"{conversation.name}/"
    return [
        (one.kind, " ".join(turn.removeprefix(name) for turn in one.turns))
        for one in conversation.questions
    ]


def test_locomo_is_read_with_its_oddities() -> None:
    [talk] = read_data_set("locomo", DATA / "locomo" / "locomo10.json")

    assert talk.name == "conv-901"
    assert by_session(talk) == {
        f"session_{n}": [f"D{n}:{place}" for place in range(1, 5)] for n in (1, 2, 3)
    }, "session_4 has a date and no turns"
    moments = {turn.session: turn.created_at for turn in talk.turns}
    assert moments == {
        "session_1": utc(2021, 2, 3, 9, 5),
        "session_2": utc(2021, 2, 17, 20, 40),
        "session_3": utc(2021, 4, 2, 12, 15),
    }
    assert talk.turns[6] == Turn(
        "conv-901/D2:3",
        "session_2",
        2,
        "Bastiaan",
        "Looks better than mine. I promised the choir a recital on the last Sunday of March.",
        utc(2021, 2, 17, 20, 40),
    )
    assert talk.turns[5].text.endswith(
        "look at this crust. [photo: a photo of a dark loaf of bread on a board]"
    )
    assert evidence(talk) == [
        ("multi-hop", "D1:2 D2:3"),
        ("temporal", "D1:3"),
        ("open-domain", ""),
        ("single-hop", "D3:2"),
        ("adversarial", ""),
        ("adversarial", ""),
    ]
    assert talk.questions[0].sessions == ("session_1", "session_2")
    assert [one.answerable for one in talk.questions] == [True] * 4 + [False] * 2
    assert talk.questions[1].text == "When did Hanneke's sister move in with her?"
    assert [one.id for one in talk.questions[:2]] == ["conv-901/1", "conv-901/2"]


def test_other_spellings_of_evidence_in_locomo_are_read(tmp_path: Path) -> None:
    spellings = {"D1:2 D1:3 D1:2": "D1:2 D1:3", "D:2:4": "D2:4", "D3:004": "D3:4", "D9:1": ""}
    [[record]] = [json.loads((DATA / "locomo" / "locomo10.json").read_bytes())]
    usual = record["qa"][1]
    record["qa"] = [usual | {"evidence": [one]} for one in spellings]

    [talk] = read_data_set("locomo", written(tmp_path / "locomo10.json", [record]))

    assert [turns for _, turns in evidence(talk)] == list(spellings.values())


def test_realtalk_is_read_with_its_oddities() -> None:
    [chat] = read_data_set("realtalk", DATA / "realtalk")

    assert chat.name == "Chat_11_Ilse_Tomas"
    assert by_session(chat) == {
        "session_1": ["D1:1", "D1:2", "D1:4", "D1:5"],
        "session_2": ["D2:1", "D2:2", "D2:3", "D2:4"],
        "session_3": ["D2:5", "D2:6", "D2:7", "D2:8"],
    }
    assert chat.turns[2] == Turn(
        "Chat_11_Ilse_Tomas/D1:4",
        "session_1",
        2,
        "tomas",
        "And this is the shed I painted [photo: a small green shed beside a hedge]",
        utc(2024, 3, 4, 18, 25, 2),
    )
    assert chat.turns[-1].created_at == utc(2024, 3, 12, 6, 45, 20)
    assert evidence(chat) == [
        ("multi-hop", "D1:2 D1:4"),  # D1:3 was a photo alone, which hangs at D1:4
        ("multi-hop", "D2:1 D2:2 D2:3 D2:5 D2:7"),
        ("temporal", "D2:3"),
        ("temporal", "D2:8"),
        ("commonsense", ""),
        ("commonsense", ""),
    ]
    assert chat.questions[1].sessions == ("session_2", "session_3")


SPELLINGS = {
    "D1:4. D1:5": "D1:4 D1:5",
    "D1:4-D2:2;D2:07": "D1:4 D1:5 D2:1 D2:2 D2:7",
    "D1:1:D2:8": "D1:1 D2:8",
    "D1:6": "",  # beside it is no photo
    "D58": "",
    "23:29": "",
}


def test_other_spellings_of_evidence_in_realtalk_are_read(tmp_path: Path) -> None:
    [file] = (DATA / "realtalk" / "data").iterdir()
    record = json.loads(file.read_bytes())
    record["qa"] = [record["qa"][0] | {"evidence": [one]} for one in SPELLINGS]

    [chat] = read_data_set("realtalk", written(tmp_path / "Chat_1_A B.json", record))

    assert [turns for _, turns in evidence(chat)] == list(SPELLINGS.values())
    assert chat.name == "Chat_1_A_B", "a name without white space"


def test_beam_is_read_with_its_oddities() -> None:
    [chat] = read_data_set("beam", DATA / "beam" / "chats" / "100K")

    assert chat.name == "1"
    assert by_session(chat) == {
        "batch_1": ["0", "1", "2", "3"],
        "batch_2": ["4", "5", "6", "7"],
        "batch_3": ["8", "9", "10", "11"],
    }
    moments = {turn.session: turn.created_at for turn in chat.turns}
    assert list(moments.values()) == [utc(2024, 4, 2), utc(2024, 4, 20), utc(2024, 5, 6)]
    assert chat.turns[2].speaker == "user"
    ends = ["about 140 clocks?", "prices in crowns.", "152 clocks, not 140.", "print 60 copies?"]
    for place, end in zip((0, 4, 8, 10), ends, strict=True):
        assert chat.turns[place].text.endswith(end), "the index is no part of the text"
    assert evidence(chat) == [
        ("abstention", ""),
        ("contradiction_resolution", "10 2"),
        ("event_ordering", "0 2 4 8"),
        ("information_extraction", "4"),
        ("instruction_following", "4"),
        ("knowledge_update", "8"),
        ("multi_session_reasoning", "0 8"),
        ("preference_following", ""),
        ("summarization", "0 1 4 8 10"),
        ("temporal_reasoning", "8 4"),
    ]
    assert [one.answerable for one in chat.questions] == [False] + [True] * 9
    assert chat.questions[2].sessions == ("batch_1", "batch_2", "batch_3")


def test_beam_has_a_folder_for_each_chat_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    one = DATA / "beam" / "chats" / "100K" / "1"
    for name in ("10", "2"):
        shutil.copytree(one, tmp_path / name)
    batches = json.loads((one / "chat.json").read_bytes())
    ends = (" ->-> 4,5)", "->-> 2,4, 5", " ->-> 1,1 ")
    messages = [{"role": "user", "id": n, "index": "1,1"} for n in (4, 5, 6)]
    for message, end in zip(messages, ends, strict=True):
        message["content"] = f"a -> b{end}"
    batches[1]["turns"] = [messages]  # and no day, so that of the batch before
    written(tmp_path / "2" / "chat.json", batches)

    two, ten = read_data_set("beam", tmp_path)
    [alone] = read_data_set("beam", one / "chat.json")

    assert (two.name, ten.name, alone.name) == ("2", "10", "1")
    changed = [turn for turn in two.turns if turn.session == "batch_2"]
    assert [turn.text for turn in changed] == ["a -> b"] * 3
    assert {turn.created_at for turn in changed} == {utc(2024, 4, 2)}


def test_longmemeval_is_read_with_its_oddities() -> None:
    records = read_data_set("longmemeval", DATA / "longmemeval")

    assert [(one.name, one.questions[0].kind) for one in records] == [
        ("a1b2c301", "single-session-user"),
        ("a1b2c302", "single-session-assistant"),
        ("a1b2c303", "single-session-preference"),
        ("gpt4_a1b2c304", "temporal-reasoning"),
        ("a1b2c305", "knowledge-update"),
        ("a1b2c306_abs", "multi-session"),
    ]
    ids = ("answer_a1b2c301_1", "ultrachat_900017", "7f31c0aa_2")
    assert by_session(records[0]) == {id_: [f"{id_}/{n}" for n in (1, 2, 3, 4)] for id_ in ids}
    assert records[0].turns[4].created_at == utc(2023, 5, 24, 19, 5)
    assert records[0].turns[5].speaker == "assistant"
    assert records[3].questions == [
        Question(
            "gpt4_a1b2c304",
            "How many days passed between my question about winter and the one about jars?",
            "temporal-reasoning",
            (
                "gpt4_a1b2c304/answer_gpt4_a1b2c304_1/1",
                "gpt4_a1b2c304/answer_gpt4_a1b2c304_2/1",
            ),
            ("answer_gpt4_a1b2c304_1", "answer_gpt4_a1b2c304_2"),
            asked_at=utc(2023, 6, 15, 9, 33),
        )
    ]
    [about_nothing] = records[-1].questions
    assert (about_nothing.answerable, about_nothing.turns, about_nothing.sessions) == (
        False,
        (),
        (),
    )


def test_a_history_may_have_a_session_twice_empty_turns_and_no_marked_turn(
    tmp_path: Path,
) -> None:
    file = DATA / "longmemeval" / "longmemeval_s_cleaned.json"
    [record, *_] = json.loads(file.read_bytes())
    for name in ("haystack_session_ids", "haystack_dates", "haystack_sessions"):
        record[name].append(record[name][1])
    for turn in record["haystack_sessions"][0]:
        del turn["has_answer"]
    record["haystack_sessions"][2][0]["content"] = " \0"

    [read] = read_data_set("longmemeval", written(tmp_path / "longmemeval_m.json", [record]))

    assert list(by_session_of(read)) == [
        *("answer_a1b2c301_1", "ultrachat_900017", "7f31c0aa_2", "ultrachat_900017~2"),
    ]
    assert len(read.turns) == 15
    [question] = read.questions
    assert (question.turns, question.sessions) == ((), ("answer_a1b2c301_1",))


def by_session_of(conversation: Conversation) -> dict[str, None]:
    return dict.fromkeys(turn.session for turn in conversation.turns)


Change = Callable[[Any], Any]
MINIATURES: dict[DataSetName, str] = {
    "locomo": "locomo/locomo10.json",
    "realtalk": "realtalk/data/Chat_11_Ilse_Tomas.json",
    "beam": "beam/chats/100K/1/chat.json",
    "longmemeval": "longmemeval/longmemeval_s_cleaned.json",
}
SPOILT: tuple[tuple[DataSetName, Change, str], ...] = (
    ("locomo", lambda _: {}, "conversations must be a list, got {}"),
    ("locomo", lambda of: [of[0] | {"qa": 1}], "conversation 1: qa must be a list, got 1"),
    ("locomo", lambda of: [without(of[0], "sample_id")], "sample_id is missing"),
    ("locomo", lambda of: [of[0] | {"conversation": {}}], "session_1 is missing"),
    ("locomo", lambda of: [of[0] | {"qa": []}], "has no question"),
    ("locomo", lambda of: of * 2, "'conv-901' twice"),
    (
        "locomo",
        lambda of: [of[0] | {"conversation": of[0]["conversation"] | {"session_1_date_time": "?"}}],
        "'?' is no time as 12:00 AM on 08 May, 2023",
    ),
    ("realtalk", lambda of: of | {"session_1": [{}]}, "session_1, turn 1: date_time is missing"),
    ("realtalk", lambda of: [of], "a chat must be an object"),
    ("beam", lambda of: [of[0] | {"turns": [3]}], "batch 1: a turn must be a list, got 3"),
    ("longmemeval", lambda of: [of[0] | {"haystack_dates": []}], "must be equally long"),
    ("longmemeval", lambda of: [None], "what has question_id must be an object, got None"),
)


@pytest.mark.parametrize(("name", "change", "why"), SPOILT)
def test_a_file_of_another_form_is_refused_with_the_place(
    name: DataSetName, change: Change, why: str, tmp_path: Path
) -> None:
    source = DATA / MINIATURES[name]
    file = written(tmp_path / source.name, change(json.loads(source.read_bytes())))

    with pytest.raises(InputError) as caught:
        read_data_set(name, file)

    assert why in str(caught.value)
    assert str(caught.value).startswith(str(file)[:20])


@pytest.mark.parametrize("name", MINIATURES)
def test_half_a_file_and_no_file_are_refused_and_the_error_says_what_to_give(
    name: DataSetName, tmp_path: Path
) -> None:
    source = DATA / MINIATURES[name]
    half = tmp_path / source.name
    half.write_bytes(source.read_bytes()[:500])
    empty = tmp_path / "empty"
    empty.mkdir()

    for path, why in (
        (half, "it is no JSON, or half a file"),
        (tmp_path / "none.json", "it does not exist"),
        (empty, "in it"),
    ):
        with pytest.raises(InputError, match=why) as caught:
            read_data_set(name, path)
        assert "as it is published" in str(caught.value)


def test_a_chat_without_its_questions_is_refused(tmp_path: Path) -> None:
    shutil.copy(DATA / MINIATURES["beam"], tmp_path)

    with pytest.raises(InputError, match=r"probing_questions\.json cannot be read as BEAM"):
        read_data_set("beam", tmp_path)


def test_two_files_of_longmemeval_are_not_read_at_once(tmp_path: Path) -> None:
    for name in ("longmemeval_s.json", "longmemeval_m.json"):
        shutil.copy(DATA / MINIATURES["longmemeval"], tmp_path / name)

    with pytest.raises(InputError, match="it has 2 such files: name one of them"):
        read_data_set("longmemeval", tmp_path)


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def without(record: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}


KINDS = {
    "locomo": {"adversarial": "0 of 2", "multi-hop": "", "single-hop": "", "temporal": ""},
    "realtalk": {"multi-hop": "", "temporal": ""},
    "beam": {"abstention": "0 of 1", "event_ordering": "", "summarization": ""},
    "longmemeval": {"multi-session": "0 of 1", "single-session-user": ""},
}


@pytest.mark.parametrize("name", MINIATURES)
def test_a_data_set_is_searched_and_measured(
    name: DataSetName, local_url: str, local_embedder: LocalEmbedder
) -> None:
    conversations = read_data_set(name, DATA / MINIATURES[name])
    with repository(local_url, local_embedder) as repo:
        store(repo, conversations)
        found = searched(repo, conversations, profiles.hybrid, dates=True)

    lines = [line.split(" | ") for line in rows("hybrid", found)]
    cells = {kind: more for _, kind, *more in lines}
    assert KINDS[name].keys() < cells.keys()
    assert float(cells[ALL][1].split()[0]) > 0.5, "meaning and words find something"
