"""The questions and memories of benchmarks/labelled/owners fit each other."""

from __future__ import annotations

from collections import Counter

from benchmarks.labelled.owners import NO_ANSWER, memories, questions

MEMORIES = list(memories())
QUESTIONS = list(questions())
BY_ID = {memory.id: memory for memory in MEMORIES}


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


def test_groups_are_as_large_as_promised_and_a_third_of_each_is_held_out() -> None:
    groups = Counter(question.group for question in QUESTIONS)
    sizes = {"short": 108, "long": 36, "dialogue": 114, "date": 66, "corrected": 48}
    assert groups == sizes | {NO_ANSWER: 54}
    parts = {(question.owner, question.held_out) for question in QUESTIONS}
    assert len(parts) == len({owner for owner, _ in parts}) == 12, "whole owners"
    apart = Counter(question.group for question in QUESTIONS if question.held_out)
    assert {group: 3 * apart[group] for group in groups} == groups
