"""Texts made up from words as frequent as words are, and memories that hold them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from benchmarks.data import ENTITIES, Row
from benchmarks.index.asking import Question
from benchmarks.index.memories import Memories

VOCABULARY = 50_000
WORDS = 30
"""Of a memory."""
ASKED = (3, 8)
"""Words of a question, at least and at most."""
COMMONEST = 30
"""Words that no question holds: stop words of a language."""


@dataclass(frozen=True)
class WordedMemories(Memories):
    """The same memories with such texts."""

    @property
    def name(self) -> str:
        return f"{super().name}, words"

    def __iter__(self) -> Iterator[Row]:
        random = np.random.default_rng(self.seed + 3)
        for row in super().__iter__():
            yield replace(row, content=" ".join(drawn_words(random, WORDS)))

    def questions(self, count: int) -> list[Question]:
        random = np.random.default_rng(self.seed + 4)
        return [
            Question(vector, ENTITIES[:3], text=" ".join(asked_words(random)))
            for vector in self._vectors(np.random.default_rng(self.seed + 1), count)
        ]


def asked_words(random: np.random.Generator) -> list[str]:
    number = int(random.integers(ASKED[0], ASKED[1] + 1))
    return list(dict.fromkeys(drawn_words(random, 4 * number, least=COMMONEST)))[:number]


def drawn_words(random: np.random.Generator, number: int, *, least: int = 0) -> list[str]:
    """Words by Zipf's law: the n-th commonest comes 1/n times as often as the first."""
    shares, words = _words()
    places = np.searchsorted(shares, random.random(3 * number) * shares[-1])
    return [words[place] for place in places if place >= least][:number]


@lru_cache
def _words() -> tuple[np.ndarray, list[str]]:
    consonants, vowels = "bdfgklmnprstvz", "aiou"
    syllables = [c + v for c in consonants for v in vowels]
    words = []
    for number in range(VOCABULARY):
        rest, word = number + len(syllables), ""
        while rest:
            rest, part = divmod(rest, len(syllables))
            word += syllables[part]
        words.append(word + "x")  # an ending that no stemmer takes away
    return np.cumsum(1 / np.arange(1, VOCABULARY + 1)), words
