"""Calls of methods and functions whose signatures are the options of commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from functools import cache
from inspect import Parameter, getdoc, signature, unwrap
from operator import attrgetter
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from pgrecall.cli.database import AnyAgent, Database
from pgrecall.cli.embedding import EmbedsOne, EmbedsTexts
from pgrecall.cli.options import annotated, parameter, parameters_of, value_type
from pgrecall.cli.parsers import option
from pgrecall.core.checks import descriptions, without_none
from pgrecall.execution import MemoryRepository

Method = str | Callable[..., Any]
"""The name of a method of the repository, such as links.add, or a function on a database."""
ALIASES = {"agent_id": "agent", "older_than": "days"}
"""Argument of a method → its name among the parameters of a command, where that differs."""
_LEFT_OUT = {
    *("tables", "target", "engine", "schema"),
    *("include_embedding", "on_progress", "summarise"),
}
_RECEIVERS: Mapping[str, Any] = {
    **dict.fromkeys(("memory", "new", "query"), EmbedsOne),
    "queries": EmbedsTexts,
}
"""Argument that is embedded → the repository that the command needs."""


@dataclass(frozen=True)
class Call:
    """A call with the arguments of the command line."""

    method: Method
    receiver: Any
    """The repository or Database."""
    arguments: Mapping[str, Any]
    """Name of the method's argument → value, without those that are not given."""

    @classmethod
    def of(cls, method: Method, receiver: Any, values: Mapping[str, Any]) -> Call:
        """A call with the values of the parameters that are given."""
        arguments = {**values}
        for name, kind in _records(method).items():
            names = _field_names(kind, name)
            record = {field: arguments.pop(one, None) for field, one in names.items()}
            arguments[name] = kind(**record)
        for argument, alias in ALIASES.items():
            if alias in arguments:
                arguments[argument] = arguments.pop(alias)
        return cls(method, receiver, arguments)

    @property
    def repo(self) -> MemoryRepository:
        """The repository of a method."""
        assert isinstance(self.receiver, MemoryRepository)
        return self.receiver

    @property
    def agent(self) -> str:
        """The agent of the command."""
        return str(self.arguments["agent_id"])

    @property
    def schema(self) -> str:
        """The schema of a function's database."""
        return str(self.receiver.schema)

    def __call__(self, **more: Any) -> Any:
        """The result, with these arguments besides or instead."""
        arguments = {**self.arguments, **more}
        if isinstance(self.method, str):
            return attrgetter(self.method)(self.receiver)(**arguments)
        takes_engine = "engine" in signature(self.method).parameters
        with self.receiver.engine() if takes_engine else self.receiver.url() as place:
            return self.method(place, schema=self.schema, **arguments)


def receiver_of(method: Method) -> Any:
    """The repository of a method, with the options of its embedder, or Database."""
    if not isinstance(method, str):
        return Database
    hints = get_type_hints(_operation(method))
    embedded = (name for name in hints if name in _RECEIVERS and value_type(hints[name]) is not str)
    return next((_RECEIVERS[name] for name in embedded), MemoryRepository)


def arguments_of(
    method: Method, without: Sequence[str], options: Mapping[str, Any]
) -> list[Parameter]:
    """The arguments of a method as parameters of a command.

    A dataclass among them is made from options for its fields.
    """
    operation = _operation(method)
    hints = get_type_hints(operation, include_extras=True)
    records = _records(method)
    parameters: list[Parameter] = []
    for one in signature(operation).parameters.values():
        if one.kind is Parameter.VAR_KEYWORD:
            parameters += parameters_of(get_args(hints[one.name])[0])
        elif one.name in records:
            parameters += _fields(records[one.name], one.name)
        elif one.name not in _LEFT_OUT | {*without}:
            parameters.append(_parameter(one, hints[one.name], options.get(one.name)))
    return parameters


def summary(method: Method) -> str:
    """The first paragraph of the docstring as a command, without what a program gets: its first
    word is a verb, "Records", and becomes "Record"."""
    paragraph = " ".join((getdoc(_operation(method)) or "").partition("\n\n")[0].split())
    sentences = re.split(r"(?<=\.) (?=[A-Z])", paragraph)
    kept = " ".join(one for one in sentences if not one.startswith(("Returns", "Raises")))
    return re.sub(r"^(\w+)s ", r"\1 ", kept)


def _operation(method: Method) -> Callable[..., Any]:
    """The function behind a method."""
    if not isinstance(method, str):
        return method
    owner: Any = MemoryRepository
    *namespaces, name = method.split(".")
    for namespace in namespaces:
        owner = get_origin(get_type_hints(getattr(owner, namespace).fget)["return"])
    operation: Callable[..., Any] = unwrap(getattr(owner, name))
    return operation


def _parameter(one: Parameter, hint: Any, declared: Any) -> Parameter:
    default = one.default
    if one.name == "agent_id" and default is None:
        declared = AnyAgent
    kind, info = get_args(annotated(one.name, hint, declared))
    is_optional = without_none(kind) != kind
    if default is False and isinstance(info, OptionInfo) and not isinstance(info.default, str):
        info = copy(info)
        info.default = f"--{one.name.replace('_', '-')}"  # a flag without its opposite
    if isinstance(default, timedelta):
        default = default / timedelta(days=1)
    if isinstance(default, tuple) or (default is Parameter.empty and is_optional):
        default = None
    if isinstance(info, ArgumentInfo) and default is None and not is_optional:
        default = Parameter.empty
    return parameter(ALIASES.get(one.name, one.name), Annotated[kind, info], default)


@cache
def _records(method: Method) -> Mapping[str, Any]:
    """The arguments of a method that are dataclasses, and these."""
    kinds = {name: value_type(hint) for name, hint in get_type_hints(_operation(method)).items()}
    not_options = ("tables", "return")
    return {
        name: one for name, one in kinds.items() if is_dataclass(one) and name not in not_options
    }


def _field_names(kind: Any, argument: str) -> dict[str, str]:
    """The fields of a record, and their parameters: its name is the argument's."""
    return {one.name: argument if one.name == "name" else one.name for one in fields(kind)}


def _fields(kind: Any, argument: str) -> Iterator[Parameter]:
    names, texts = _field_names(kind, argument), descriptions(kind)
    hints: Mapping[str, Any] = get_type_hints(kind)
    for one in fields(kind):
        hint, text = hints[one.name], texts.get(one.name, "Name of these rules.")
        declared = option(f"{text.partition('. ')[0].removesuffix('.')}.")
        yield parameter(names[one.name], Annotated[hint, declared], one.default)
