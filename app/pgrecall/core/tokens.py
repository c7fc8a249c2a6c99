"""Token counters."""

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
"""A function from a text to its number of tokens."""

PIECES = "|".join(
    (
        "[A-Z]{1,3}[a-z]{0,4}|[a-z]{1,4}",
        "[0-9]{1,2}",
        r"[\u0370-\u1fff]{1,2}",  # Greek, Cyrillic, Hebrew, Arabic, the scripts of India …
        r"[\r\n][ \t\r\n]{0,7}",  # a line break and the indent after it
        " {2,8}| (?=[0-9])",  # one space belongs to the word after it, but not to a number
        r"[^ A-Za-z0-9\r\n\u0370-\u1fff]",
    )
)
"""Regular expression of one estimated token, used in Python and SQL. Its alternatives begin with
different characters (except for spaces), so their order does not matter."""
MAX_TOKENS = 2**31 - 1

_ENCODINGS = "https://openaipublic.blob.core.windows.net/encodings"
_HASHES = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
}
"""SHA-256 of each encoding's file, as in tiktoken 0.14, which downloads any other file again."""


_PIECES = re.compile(PIECES)


def estimated_tokens(text: str) -> int:
    """Estimates the tokens of a text, in linear time and without tables; rather too many.

    One token is four Latin letters, two digits, one sign, two letters of most other alphabets, or
    one Chinese, Japanese or Korean character. Compared with o200k_base of tiktoken, the estimate is
    1.2 to 1.6 times as high for English and German, 1.4 to 1.6 for code, 1.1 for hexadecimal digits
    and UUIDs, but only 0.7 for base64 and emoji. If you need the exact number, use your model's
    tokenizer.
    """
    return len(_PIECES.findall(text))


def tiktoken_counter(encoding: Any = "o200k_base") -> TokenCounter:
    """A counter for OpenAI's models, from a `tiktoken.Encoding` or the name of one.

    Nothing is downloaded: an encoding given by name must be in tiktoken's cache
    (TIKTOKEN_CACHE_DIR). Special tokens that occur in a text are counted as ordinary text.

    Raises ExtraMissing without tiktoken, and InputError for an encoding that is not in the cache.
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
    loaded: tiktoken.Encoding = encoding

    def count(text: str) -> int:
        try:
            return len(loaded.encode(text, disallowed_special=()))
        except ValueError:  # tiktoken fails on very long runs of spaces; split the text
            if len(text) < 2:
                raise
            middle = len(text) // 2
            return count(text[:middle]) + count(text[middle:])

    return count


def require_counter(counter: object) -> TokenCounter:
    """Raises InputError for what cannot be called."""
    if not callable(counter):
        raise InputError(
            "token_counter must be a function from a text to a number, "
            f"got {type(counter).__name__}"
        )
    return counter


def counted(counter: TokenCounter, texts: Sequence[str]) -> list[int]:
    """The number of tokens of each text; raises InputError if the counter returns anything else."""
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
            f"unknown encoding {shortened(name)}; known are {', '.join(_HASHES)}; for others "
            "pass a tiktoken.Encoding"
        )
    # tiktoken names the files of its cache like this.
    key = hashlib.sha1(f"{_ENCODINGS}/{name}.tiktoken".encode(), usedforsecurity=False).hexdigest()
    folders = [os.environ.get("TIKTOKEN_CACHE_DIR"), os.environ.get("DATA_GYM_CACHE_DIR")]
    named = [folder for folder in folders if folder is not None]
    folder = Path(named[0]) if named else Path(tempfile.gettempdir()) / "data-gym-cache"
    table = folder / key
    if not table.is_file() or hashlib.sha256(table.read_bytes()).hexdigest() != _HASHES[name]:
        raise InputError(
            f"the encoding {name} is not on this machine, or its file is damaged: copy "
            f"{name}.tiktoken to the folder TIKTOKEN_CACHE_DIR under the name {key}, or pass a "
            "tiktoken.Encoding"
        )
