"""The questions and memories of benchmarks/labelled/owners fit each other."""

from __future__ import annotations

from collections import Counter, defaultdict

from benchmarks.labelled.owners import NO_ANSWER, Memory, memories, questions

MEMORIES = list(memories())
QUESTIONS = list(questions())
BY_ID = {memory.id: memory for memory in MEMORIES}
LONG = range(2_000, 6_001)
"""Characters of a long memory; a short one has 260 at most."""


def test_no_id_and_no_text_comes_twice() -> None:
    # Turns of a dialogue may: "Assistant: Noted."
    alone = [memory.content for memory in MEMORIES if memory.session is None]
    asked = [(question.owner, question.text.casefold()) for question in QUESTIONS]
    for texts in ([memory.id for memory in MEMORIES], alone, asked):
        assert len(set(texts)) == len(texts)


def test_questions_are_answered_by_memories_of_their_owner_that_exist_when_asked() -> None:
    for question in QUESTIONS:
        assert bool(question.relevant) == (question.group != NO_ANSWER), question
        assert len(set(question.relevant)) == len(question.relevant), question
        for memory in map(BY_ID.__getitem__, question.relevant):
            assert memory.owner == question.owner, question
            assert memory.created_at <= question.as_of, question


def test_named_periods_hold_their_answers_and_not_everything() -> None:
    for question in QUESTIONS:
        assert question.period is not None or question.group != "date", question
        if question.period is None:
            continue
        start, end = question.period
        theirs = [memory for memory in MEMORIES if memory.owner == question.owner]
        within = {memory.id for memory in theirs if start <= memory.created_at < end}
        assert start <= question.as_of, question
        assert set(question.relevant) <= within, question
        assert len(within) < len(theirs) / 2, question


def test_groups_are_as_large_as_promised_and_a_third_of_each_is_held_out() -> None:
    groups = Counter(question.group for question in QUESTIONS)
    sizes = {"short": 108, "long": 36, "dialogue": 114, "date": 66, "corrected": 48}
    assert groups == sizes | {NO_ANSWER: 54}
    parts = {(question.owner, question.held_out) for question in QUESTIONS}
    assert len(parts) == len({owner for owner, _ in parts}) == 12, "whole owners"
    apart = Counter(question.group for question in QUESTIONS if question.held_out)
    assert {group: 3 * apart[group] for group in groups} == groups


def test_memories_are_long_or_short() -> None:
    sizes = [len(memory.content) for memory in MEMORIES]
    assert all(size <= 260 or size in LONG for size in sizes)
    assert sum(size in LONG for size in sizes) >= 60
    of_group: defaultdict[str, set[bool]] = defaultdict(set)
    for question in QUESTIONS:
        of_group[question.group] |= {len(BY_ID[one].content) in LONG for one in question.relevant}
    assert of_group["short"] == {False}
    assert of_group["long"] == {True}


def test_turns_of_a_session_follow_each_other_within_a_day() -> None:
    sessions: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in MEMORIES:
        assert (memory.session is None) == (memory.turn is None), memory
        if memory.session is not None:
            sessions[memory.session].append(memory)
    assert len(sessions) >= 25
    for turns in sessions.values():
        assert [memory.turn for memory in turns] == list(range(1, len(turns) + 1))
        assert 10 <= len(turns) <= 40
        moments = [memory.created_at for memory in turns]
        assert moments == sorted(set(moments))
        assert (moments[-1] - moments[0]).days == 0
    for question in QUESTIONS:
        if question.group == "dialogue":
            assert all(BY_ID[one].session is not None for one in question.relevant), question
