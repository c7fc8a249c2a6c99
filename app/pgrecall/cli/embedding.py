"""The embedder of a command's texts: --embedder or --vector."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from pgrecall.cli.configuration import VARIABLES
from pgrecall.cli.parsers import option
from pgrecall.core.embedders import Embedder, LocalEmbedder
from pgrecall.core.entity_finding import Entities
from pgrecall.core.quoting import shortened
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import InputError
from pgrecall.execution import MemoryRepository

EmbedderName = Annotated[
    str | None,
    option(
        "Embedder, as MODULE:OBJECT, or with arguments, such as: "
        "\"pgrecall:OpenAIEmbedder('text-embedding-3-small')\". Default: the local model.",
        "--embedder",
        envvar=VARIABLES["embedder"],
        metavar="MODULE:OBJECT",
        show_default=False,
        rich_help_panel="Common",
    ),
]
Vector = Annotated[
    str | None,
    option(
        "Embedding of the text, made by you: a JSON list, or @FILE with one.",
        "--vector",
        metavar="JSON",
        show_default=False,
        rich_help_panel="Common",
    ),
]
FindEntities = Annotated[
    bool,
    option(
        "Find the entities of texts that come without any: known ones, and capitalised names.",
        "--find-entities",
        rich_help_panel="Common",
    ),
]
EMBEDDING = {"embedder": EmbedderName, "vector": Vector, "find_entities": FindEntities}
"""Parameter → its option, which stands beside the type of a repository that has it."""
EmbedsTexts = Annotated[MemoryRepository, EmbedderName]
"""The repository of a command that embeds texts."""
EmbedsOne = Annotated[MemoryRepository, EmbedderName, Vector]
"""The repository of a command that embeds one text, whose vector may be given instead."""
StoresTexts = Annotated[MemoryRepository, EmbedderName, FindEntities]
"""The repository of a command that stores texts."""
StoresOne = Annotated[MemoryRepository, EmbedderName, Vector, FindEntities]
"""The repository of a command that stores one text, whose vector may be given instead."""


class FixedVector:
    """An embedder that knows the vector of one text."""

    def __init__(self, written: str) -> None:
        self._vector = vector(written)

    def embed_documents(self, texts: list[str]) -> Sequence[VectorLike]:
        return [self._vector] * len(texts)

    def embed_query(self, text: str) -> VectorLike:
        return self._vector


def vector(value: str) -> list[float]:
    """A vector written as a JSON list, or the one in a file after @."""
    try:
        text = Path(value[1:]).read_text(encoding="utf-8") if value[:1] == "@" else value
        numbers = json.loads(text)
    except (OSError, ValueError, RecursionError) as problem:
        raise InputError(f"--vector: {shortened(value)} cannot be read: {problem}") from None
    if not isinstance(numbers, list):
        raise InputError(f"--vector: write a JSON list of numbers, got {shortened(numbers)}")
    return numbers


def make_embedder(name: str | None, written: str | None = None) -> Embedder:
    """The embedder of a command."""
    if written is not None:
        return FixedVector(written)
    return LocalEmbedder() if name is None else _named(name)


def entities(find_entities: bool) -> Entities:
    """The entity finder for a command's texts."""
    return "auto" if find_entities else None


def look_for_module(name: str, folder: Path) -> None:
    """Lets the module of MODULE:OBJECT be in this folder, if it is not installed.

    The folder comes last, and only for such a module: in a stranger's folder, a file could have the
    name of a package that is imported later.
    """
    package = name.partition(":")[0].partition(".")[0]
    try:
        is_installed = find_spec(package) is not None
    except ValueError:  # an empty name, or a module without a spec
        return
    if not is_installed and str(folder) not in sys.path:
        sys.path.append(str(folder))


def _named(name: str) -> Embedder:
    """The embedder that MODULE:OBJECT names, or OBJECT(…) makes."""
    module_name, _, written = name.partition(":")
    try:
        parsed = ast.parse(written, mode="eval").body
        function, values, options = written, [], {}
        if isinstance(parsed, ast.Call):
            function = ast.unparse(parsed.func)
            values = [ast.literal_eval(one) for one in parsed.args]
            options = {str(one.arg): ast.literal_eval(one.value) for one in parsed.keywords}
    except (SyntaxError, ValueError):
        raise InputError(
            f"--embedder: {shortened(name)} is neither MODULE:OBJECT nor MODULE:OBJECT('text', …)"
        ) from None
    try:
        target: Any = import_module(module_name)
        for part in function.split("."):
            target = getattr(target, part)
    except (ImportError, AttributeError, TypeError, ValueError) as problem:
        raise InputError(
            f"--embedder: {shortened(name)} cannot be imported: {problem}"
        ) from problem
    if isinstance(parsed, ast.Call) or isinstance(target, type) or not isinstance(target, Embedder):
        try:
            target = target(*values, **options)
        except TypeError as problem:
            raise InputError(f"--embedder: {shortened(name)} makes none: {problem}") from problem
    return target  # type: ignore[no-any-return]  # the repository checks it
