"""Objects that options name by MODULE:OBJECT: embedders and rerankers."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pgrecall.core.quoting import shortened
from pgrecall.core.rerankers import Rerank
from pgrecall.errors import InputError


def make_reranker(name: str) -> Any:
    """The reranker of a command or a service."""
    return named_object("--rerank", name, lambda one: isinstance(one, Rerank) or callable(one))


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


def named_object(option: str, name: str, is_one: Callable[[Any], bool]) -> Any:
    """The object that MODULE:OBJECT names, or OBJECT(…) makes. Without arguments it is called, too,
    unless it `is_one` of those that the option takes."""
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
            f"{option}: {shortened(name)} is neither MODULE:OBJECT nor MODULE:OBJECT('text', …)"
        ) from None
    try:
        target: Any = import_module(module_name)
        for part in function.split("."):
            target = getattr(target, part)
    except (ImportError, AttributeError, TypeError, ValueError) as problem:
        raise InputError(f"{option}: {shortened(name)} cannot be imported: {problem}") from problem
    if isinstance(parsed, ast.Call) or isinstance(target, type) or not is_one(target):
        try:
            target = target(*values, **options)
        except TypeError as problem:
            raise InputError(f"{option}: {shortened(name)} makes none: {problem}") from problem
    return target  # the repository checks it
