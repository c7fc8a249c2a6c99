"""Finds the entities of new memories by a function: the caller's, or `capitalised_names`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import iscoroutine

from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError

EntityFinder = Callable[[str], Iterable[str] | Awaitable[Iterable[str]]]
"""The names in a text. The asynchronous repository also takes a coroutine function."""

_RUN = re.compile(r"[^\W\d_][\w'’-]*(?: [^\W\d_][\w'’-]*)*")
"""Words with single spaces between them; punctuation ends a name."""
_GENITIVE = re.compile(r"(?:['’]s|['’-]+)$")
_WORDS = """
    a about after all also an and another any are as at be because before both but by can could
    did do does during each either even every few for from had has have he her here his how i if
    in is it its just many maybe more most much my never no not now of often on once one only or
    other our over please she should since so some sometimes still such than that the their them
    then there these they this those though to today tomorrow under until us was we were what when
    where which while who whose why with would yes yesterday yet you your
"""
_COMMON = frozenset(_WORDS.split())


@dataclass(frozen=True, slots=True)
class Found:
    """The names in each text."""

    names: list[list[str]]
    looks_up: bool
    """True: also look up the owner's known entities in the texts."""


def capitalised_names(text: str) -> list[str]:
    """Runs of words that begin with a capital letter, in the order of the text, each once.

    Common English function words are no names. A word at the beginning of a sentence is taken for a
    name, in German every noun is, and scripts without capital letters have none.
    """
    names: dict[str, str] = {}
    name: list[str] = []
    for run in _RUN.findall(text):
        for word in [*run.split(" "), ""]:
            plain = _GENITIVE.sub("", word)
            is_part = plain[:1].isupper() and plain.lower().partition("'")[0] not in _COMMON
            if is_part:
                name.append(plain)
            if name and (not is_part or plain != word):  # a genitive ends a name
                names.setdefault(" ".join(name).casefold(), " ".join(name))
                name = []
    return list(names.values())


def merged(known: Iterable[str], names: Iterable[str]) -> list[str]:
    """Both without duplicates; a known entity is written as it is known."""
    return list({name.casefold(): name for name in (*names, *known)}.values())


def require_finder(entities: object) -> EntityFinder | None:
    """Raises InputError for what is no function."""
    if entities is None or callable(entities):
        return entities
    raise InputError(f"entities must be a function from a text to names, got {shortened(entities)}")


def found(entities: EntityFinder | None, texts: Sequence[str]) -> Found | None:
    """The names in the texts; None without a finder. Raises InputError for what is no name."""
    if entities is None:
        return None
    names = [checked_names(entities(text)) for text in texts]
    return Found(names, looks_up=entities is capitalised_names)


def checked_names(names: object) -> list[str]:
    """The names that a finder returned, each once; raises InputError."""
    if iscoroutine(names):
        names.close()
        raise InputError("a coroutine function as entities= needs the AsyncMemoryRepository")
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"entities= must return a list of names, got {shortened(names)}")
    listed = list(names)
    for name in listed:
        if not isinstance(name, str) or not name or "\x00" in name:
            raise InputError(f"entities= must return names, got {shortened(name)}")
    return list(dict.fromkeys(listed))
