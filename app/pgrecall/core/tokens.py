"""Token counters: how much of a prompt a text takes up."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pgrecall.core.quoting import shortened
from pgrecall.errors import ExtraMissing, InputError

TokenCounter = Callable[[str], int]
"""From a text to the number of its tokens."""

PIECES = "|".join(
    (
        "[A-Z]{1,3}[a-z]{0,4}|[a-z]{1,4}",
        "[0-9]{1,2}",
        r"[\u0370-\u1fff]{1,2}",  # Greek, Cyrillic, Hebrew, Arabic, the scripts of India …
        r"[\r\n][ \t\r\n]{0,7}",  # a line's end and the indent of the next
        " {2,8}| (?=[0-9])",  # one space belongs to the word after it, but not to a number
        r"[^ A-Za-z0-9\r\n\u0370-\u1fff]",
    )
)
"""What is taken for one token: a regular expression in Python and SQL. No two parts begin alike but
for spaces, so that it does not matter which of them is tried first."""
MAX_TOKENS = 2**31 - 1

_ENCODINGS = "https://openaipublic.blob.core.windows.net/encodings"
_HASHES = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
}
"""SHA-256 of each encoding's table, as tiktoken 0.14 has it: another file it would fetch anew."""


_PIECES = re.compile(PIECES)


def estimated_tokens(text: str) -> int:
    """Rather more tokens than a tokenizer finds, in time proportional to the text, without tables.

    Four letters, two digits or one sign are a token, of most other alphabets two letters, of
    Chinese, Japanese and Korean one. Beside the o200k table of tiktoken that is 1.2 to 1.4 times as
    many in English and German, 1.4 to 1.6 in code, 1.1 in hexadecimal digits and UUIDs; in base64
    and emoji only 0.7 times. Where the number must be right, count by your model's tokenizer.
    """
    return len(_PIECES.findall(text))


def tiktoken_counter(encoding: Any = "o200k_base") -> TokenCounter:
    """Counts as the models of OpenAI do, by a `tiktoken.Encoding` or the name of one.

    tiktoken downloads the table of an encoding that it has not yet on disk; pgrecall does not let
    it: by name only those are taken that are in its cache (TIKTOKEN_CACHE_DIR). What looks like
    one of the model's own marks in a text is counted as text.

    Raises ExtraMissing without tiktoken, InputError for an encoding that is not at hand.
    """
    try:
        import tiktoken
    except ImportError as problem:
        raise ExtraMissing(
            "counting by tiktoken needs tiktoken: pip install 'pgrecall[tiktoken]'"
        ) from problem
    if isinstance(encoding, str):
        _require_at_hand(encoding)
        encoding = tiktoken.get_encoding(encoding)
    if not isinstance(encoding, tiktoken.Encoding):
        raise InputError(
            f"encoding must be a tiktoken.Encoding or a name, got {type(encoding).__name__}"
        )
    found: tiktoken.Encoding = encoding

    def count(text: str) -> int:
        try:
            return len(found.encode(text, disallowed_special=()))
        except ValueError:  # its regular expression cannot take a run of a million spaces
            if len(text) < 2:
                raise
            middle = len(text) // 2
            return count(text[:middle]) + count(text[middle:])

    return count


def require_counter(counter: object) -> TokenCounter:
    """Raises InputError for what cannot be called."""
    if not callable(counter):
        raise InputError(
            f"a token counter is a function from a text to a number, got {type(counter).__name__}"
        )
    return counter


def counted(counter: TokenCounter, texts: Sequence[str]) -> list[int]:
    """The tokens of each text; raises InputError where the counter returns no such number."""
    numbers = []
    for text in texts:
        number = counter(text)
        if isinstance(number, bool) or not isinstance(number, int):
            raise InputError(
                f"the token counter must return a whole number, got {shortened(number)}"
            )
        if not 0 <= number <= MAX_TOKENS:
            raise InputError(
                f"the token counter must return 0 to {MAX_TOKENS:,} tokens, got {shortened(number)}"
            )
        numbers.append(number)
    return numbers


def _require_at_hand(name: str) -> None:
    if name not in _HASHES:
        raise InputError(
            f"unknown encoding {shortened(name)}; known are {', '.join(_HASHES)}; of others "
            "pass the tiktoken.Encoding"
        )
    # As tiktoken names the files of its cache.
    key = hashlib.sha1(f"{_ENCODINGS}/{name}.tiktoken".encode(), usedforsecurity=False).hexdigest()
    folders = [os.environ.get("TIKTOKEN_CACHE_DIR"), os.environ.get("DATA_GYM_CACHE_DIR")]
    given = [folder for folder in folders if folder is not None]
    folder = Path(given[0]) if given else Path(tempfile.gettempdir()) / "data-gym-cache"
    table = folder / key
    if not table.is_file() or hashlib.sha256(table.read_bytes()).hexdigest() != _HASHES[name]:
        raise InputError(
            f"the encoding {name} is not on this machine, or its file is damaged: put "
            f"{name}.tiktoken as {key} into the folder that TIKTOKEN_CACHE_DIR names, or pass a "
            "tiktoken.Encoding"
        )
