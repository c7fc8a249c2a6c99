"""What editors and type checkers read of the repositories: `execution/repositories.pyi`.

The methods are made from operations, which no editor follows. So `make stubs` writes down every
signature and docstring as it is at run time.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from types import ModuleType
from typing import Any

from pgrecall import Profile
from pgrecall.execution import async_repository, asynchronous, repositories, synchronous
from pgrecall.memories import changing
from pgrecall.ranking import arguments, filters

PATH = Path(str(repositories.__file__)).with_suffix(".pyi")
_TYPED_DICTS = (changing, arguments, filters)
"""Where the types of arguments are named that the operations take as one."""
_HEAD = """
\"\"\"Written by make stubs, for editors and type checkers.\"\"\"
import builtins
from pgrecall.execution import asynchronous, synchronous
"""


def stub() -> str:
    """The text of the stub."""
    classes = [
        one
        for module in (repositories, async_repository)
        for one in vars(module).values()
        if inspect.isclass(one) and one.__module__ == module.__name__
    ]
    classes.sort(key=lambda one: not one.__name__.endswith("Repository"))
    written = "\n\n".join(f"{_header(one)}\n{indent(_members(one), '    ')}" for one in classes)
    # Within a class that has a method `list`, the name means that method.
    written = re.sub(r"(?<!\w)list\[", "builtins.list[", written)
    sources = {
        asynchronous,
        synchronous,
        *_TYPED_DICTS,
        *(source for one in classes for source in _sources(one)),
    }
    used = {node.id for node in ast.walk(ast.parse(written)) if isinstance(node, ast.Name)}
    used -= {one.__name__ for one in classes}
    found = {line for source in sources for name, line in _imports(source) if name in used}
    return _formatted("\n".join([_HEAD, *sorted(found), written]))


def _header(one: type) -> str:
    [base] = one.__bases__
    module = base.__module__.rpartition(".")[2]
    return f"class {one.__name__}({module}.{base.__name__}):\n{_docstring(one)}"


def _members(one: type) -> str:
    """Everything public that it has, and how it is made."""
    for name in dir(one):
        getattr(one, name)  # makes the methods
    written = []
    is_repository = issubclass(one, synchronous.Repository | asynchronous.Repository)
    for name, member in {**(vars(one.__base__) if is_repository else {}), **vars(one)}.items():
        if isinstance(member, property):
            written.append(f"@property\n{_function(name, member.fget)}")
        elif inspect.isfunction(member) and (name == "__init__" or not name.startswith("_")):
            written.append(_function(name, member))
    return "\n".join(written)


def _function(name: str, function: Any) -> str:
    begin = "async def" if inspect.iscoroutinefunction(function) else "def"
    taken = inspect.signature(function)
    stars = [one for one in taken.parameters.values() if one.kind is one.KEYWORD_ONLY][:1]
    parameters = []
    for one in taken.parameters.values():
        if one in stars:
            parameters.append("*")
        hint = "" if one.name == "self" else f": {one.annotation}"
        default = "" if one.default is one.empty else f" = {_default(one.default)}"
        parameters.append(f"{one.name}{hint}{default}")
    docstring = _docstring(function) or "    ..."
    return f"{begin} {name}({', '.join(parameters)}) -> {taken.return_annotation}:\n{docstring}"


def _default(value: Any) -> str:
    """As it can be written; a built-in profile by its name."""
    if isinstance(value, Profile):
        return repr(value.name)
    if isinstance(value, tuple):
        return f"({''.join(f'{_default(one)}, ' for one in value)})"
    return repr(value) if value is None or isinstance(value, bool | int | float | str) else "..."


def _docstring(of: Any) -> str:
    text = inspect.cleandoc(of.__doc__ or "").replace("\\", r"\\")
    return indent(f'"""{text}\n"""' if "\n" in text else f'"""{text}"""', "    ") if text else ""


def _sources(one: type) -> Iterator[ModuleType]:
    """The modules of the operations behind its methods."""
    for member in vars(one).values():
        source = inspect.getmodule(getattr(member, "__wrapped__", None))
        if source is not None:
            yield source


def _imports(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Each name that the module imports or defines, with how to import it from where it is."""
    body = ast.parse(inspect.getsource(module)).body
    only_for_types = [one for node in body if isinstance(node, ast.If) for one in node.body]
    for node in (*body, *only_for_types):
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                if alias.asname is None:
                    yield alias.name, f"from {node.module} import {alias.name}"
        elif isinstance(node, ast.ClassDef):
            yield node.name, f"from {module.__name__} import {node.name}"
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            [name] = [one.id for one in node.targets if isinstance(one, ast.Name)]
            yield name, f"from {module.__name__} import {name}"


def _formatted(text: str) -> str:
    for command in (["check", "--select=I", "--fix", "--quiet"], ["format", "--quiet"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename=stub.pyi", "-"]
        done = subprocess.run(ruff, input=text, capture_output=True, encoding="utf-8", check=True)
        text = done.stdout
    return text


if __name__ == "__main__":
    PATH.write_text(stub(), encoding="utf-8")
