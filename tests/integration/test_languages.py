"""The labelled questions in German, Japanese and Arabic, and what is found by them."""

from __future__ import annotations

from collections import Counter

from benchmarks.labelled.languages import LANGUAGES, memories, questions
from benchmarks.languages import ORDER, K, measured, rows

from pgrecall.core.embedders import LocalEmbedder
from pgrecall.testing import new_database


def test_each_language_has_sixty_memories_and_ten_questions_with_one_answer() -> None:
    for language in LANGUAGES:
        stored, asked = memories(language), questions(language)

        assert (len(stored), len(asked)) == (60, 10)
        assert len({one["content"] for one in stored} | {one["question"] for one in asked}) == 70
        ids = Counter(one["id"] for one in stored)
        assert set(ids.values()) == {1}
        assert {id_ for one in asked for id_ in one["relevant"]} <= ids.keys()


def test_words_are_found_in_every_script_whatever_they_are_parsed_as(
    server_url: str, local_embedder: LocalEmbedder
) -> None:
    with new_database(server_url) as url:
        found = list(measured(url, local_embedder))

    assert Counter(one.language for one in found) == {"german": 3, "japanese": 2, "arabic": 3}
    recall = {
        (one.language, one.parsed, profile.profile.name): profile.overall.means["recall"]
        for one in found
        for profile in one.evaluation.compared
    }
    by_chance = K / 60
    assert min(recall.values()) > 2 * by_chance
    assert recall["japanese", "simple", "keyword alone"] > 0.6, "each character is a word"
    for language in ("german", "arabic"):
        assert recall[language, language, "hybrid"] >= recall[language, "simple", "hybrid"]
    assert {len(row) for row in rows(found)} == {2 + len(ORDER)}
