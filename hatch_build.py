"""Writes what editors show of the repositories into the wheel: signatures and docstrings.

Type checkers follow the methods to their operations; editors that are built on jedi, and the
documentation, need them written out. Nothing is imported, so a build needs no dependency.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

REPOSITORIES = "pgrecall.execution.repositories"
STUBS = {REPOSITORIES: "", "pgrecall.execution.async_repository": "async "}
"""Modules of which stubs are written, and what their methods begin with."""


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the stubs to a wheel, not to an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        app, folder = Path(self.root) / "app", Path(self.root) / "build" / "stubs"
        for path in write_stubs(app, folder):
            build_data["force_include"][str(path)] = str(path.relative_to(folder))


def write_stubs(app: Path, folder: Path) -> list[Path]:
    """Writes the stubs of the package in `app` to the same places in `folder`."""
    paths = []
    for module, begin in STUBS.items():
        path = folder / _path(module).with_suffix(".pyi")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_Stub(app, begin).text(module), encoding="utf-8")
        paths.append(path)
    return paths


def _path(module: str) -> Path:
    return Path(*module.split(".")).with_suffix(".py")


class _Stub:
    """The stub of one repository, and the modules that it takes names from."""

    def __init__(self, app: Path, begin: str) -> None:
        self._app, self._begin = app, begin
        self._modules: dict[str, ast.Module] = {}

    def text(self, module: str) -> str:
        prefix = "Async" if self._begin else ""
        namespaces, methods = [], ""
        for one in _classes(self._parsed(REPOSITORIES)):
            bases = [ast.unparse(base) for base in one.bases]
            if "Namespace[R_co]" in bases:
                name = f"{prefix}{one.name}"
                namespaces.append(f"class {name}:\n{_docstring(one)}{self._members(one)}")
            elif one.name == "Methods":
                methods = self._members(one, prefix)
        repository = self._class(module, f"{prefix}MemoryRepository")
        base = "asynchronous" if prefix else "synchronous"
        inherited = self._written(f"pgrecall.execution.{base}", "Repository")
        header = f"class {repository.name}({base}.Repository):\n{_docstring(repository)}"
        written = "\n".join([*namespaces, header + inherited + methods])
        # Within a class that has a method `list`, the name means that method.
        written = re.sub(r"(?<![\w.])list\[", "builtins.list[", written)
        parsed = ast.parse(written)
        used = {node.id for node in ast.walk(parsed) if isinstance(node, ast.Name)}
        used -= {one.name for one in _classes(parsed)}
        imports = [
            f"from {source} import {name}"
            for name, source in sorted(self._names().items())
            if name in used
        ]
        head = ["import builtins", f"from pgrecall.execution import {base}", *imports]
        return "\n".join([*head, written]) + "\n"

    def _members(self, of: ast.ClassDef, prefix: str = "") -> str:
        """The methods of a class that is made of `name = method(lambda: module.operation)`."""
        places = {
            alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(self._parsed(REPOSITORIES))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        written = ""
        for node in of.body:
            match node:
                case ast.Assign(
                    targets=[ast.Name(name)],
                    value=ast.Call(args=[ast.Lambda(body=ast.Attribute(ast.Name(module), called))]),
                ):
                    written += self._method(name, places[module], called)
                case ast.FunctionDef(name=name, returns=ast.Subscript(value=ast.Name(namespace))):
                    returns = f"def {name}(self) -> {prefix}{namespace}:"
                    written += f"    @property\n    {returns}\n{_docstring(node, 8)}"
        return written

    def _method(self, name: str, module: str, operation: str) -> str:
        [found] = (
            node
            for node in self._parsed(module).body
            if isinstance(node, ast.FunctionDef) and node.name == operation
        )
        given = found.args
        given.posonlyargs = [one for one in given.posonlyargs if one.arg != "tables"]
        given.args = [one for one in given.args if one.arg != "tables"]
        if given.posonlyargs:
            raise ValueError(f"{module}.{operation} takes positional arguments only")
        given.args.insert(0, ast.arg("self"))
        given.kw_defaults = [one and _shown(one) for one in given.kw_defaults]
        given.defaults = [_shown(one) for one in given.defaults]
        if given.kwarg is not None:
            assert isinstance(given.kwarg.annotation, ast.Subscript)
            for key, hint, default in self._keys(module, ast.unparse(given.kwarg.annotation.slice)):
                given.kwonlyargs.append(ast.arg(key, hint))
                given.kw_defaults.append(default)
            given.kwarg = None
        assert isinstance(found.returns, ast.Subscript)  # Operation[T] or Job[T]
        returns = ast.unparse(found.returns.slice)
        header = f"    {self._begin}def {name}({ast.unparse(given)}) -> {returns}:"
        return f"{header}  # {module}.{operation}\n{_docstring(found, 8)}"

    def _keys(self, module: str, name: str) -> Iterator[tuple[str, ast.expr, ast.expr]]:
        """The keys of a TypedDict with hints and defaults, those of its base last."""
        source = self._imported(module).get(name, module)
        new = self._entries(source, "NewMemory") if name == "NewMemoryFields" else ()
        defaults = {key: _shown(one.value) for key, one in new if one.value is not None}
        for key, one in self._entries(source, name):
            hint = WithoutChecks().visit(one.annotation)
            is_optional = "None" in ast.unparse(hint).split(" | ")
            default = ast.Constant(None if is_optional and name != "MemoryChanges" else ...)
            yield key, hint, defaults.get(key, default)

    def _entries(self, module: str, name: str) -> Iterator[tuple[str, ast.AnnAssign]]:
        """The annotated names of a class, those of its bases last."""
        found = self._class(module, name)
        for node in found.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield node.target.id, node
        for base in map(ast.unparse, found.bases):
            if base != "TypedDict":
                yield from self._entries(self._imported(module).get(base, module), base)

    def _written(self, module: str, name: str) -> str:
        """The public members of a class as they are, without what they do."""
        written = ""
        for node in self._class(module, name).body:
            if isinstance(node, ast.FunctionDef) and not re.match("_(?!_init__)", node.name):
                node.args.kw_defaults = [one and _shown(one) for one in node.args.kw_defaults]
                decorators = "".join(f"    @{ast.unparse(one)}\n" for one in node.decorator_list)
                returns = ast.unparse(node.returns or ast.Constant(None))
                header = f"    def {node.name}({ast.unparse(node.args)}) -> {returns}:\n"
                written += decorators + header + _docstring(node, 8)
        return written

    def _names(self) -> dict[str, str]:
        """What the parsed modules import or define, and where it is imported from."""
        found: dict[str, str] = {}
        for module in self._modules:
            found |= self._imported(module)
            for node in self._parsed(module).body:
                if isinstance(node, ast.ClassDef):
                    found[node.name] = module
                elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    found[node.targets[0].id] = module
        return found

    def _imported(self, module: str) -> dict[str, str]:
        return {
            alias.name: node.module
            for node in ast.walk(self._parsed(module))
            if isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__"
            for alias in node.names
        }

    def _class(self, module: str, name: str) -> ast.ClassDef:
        [found] = (one for one in _classes(self._parsed(module)) if one.name == name)
        return found

    def _parsed(self, module: str) -> ast.Module:
        if module not in self._modules:
            text = (self._app / _path(module)).read_text(encoding="utf-8")
            self._modules[module] = ast.parse(text)
        return self._modules[module]


class WithoutChecks(ast.NodeTransformer):
    """Leaves out what `Annotated` adds to a type."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(ast.Name("Annotated"), ast.Tuple([kind, *_])):
                return kind
        return node


def _classes(module: ast.Module) -> list[ast.ClassDef]:
    return [node for node in module.body if isinstance(node, ast.ClassDef)]


def _shown(default: ast.expr) -> ast.expr:
    """A default as it is written, if that needs no import."""
    return default if isinstance(default, ast.Constant | ast.Tuple) else ast.Constant(...)


def _docstring(of: ast.ClassDef | ast.FunctionDef, indent: int = 4) -> str:
    text, space = (ast.get_docstring(of) or "").replace("\\", r"\\"), " " * indent
    if not text:
        return f"{space}...\n"
    lines = "\n".join(space + line if line else "" for line in text.splitlines()).strip()
    return f'{space}"""{lines}\n{space}"""\n' if "\n" in text else f'{space}"""{lines}"""\n'
