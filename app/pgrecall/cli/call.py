"""Calls of methods and functions whose signatures are the options of commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import timedelta
from inspect import Parameter, Signature, signature, unwrap
from operator import attrgetter
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from pgrecall.cli.command import Function, parameter
from pgrecall.cli.database import AnyAgent, Database
from pgrecall.cli.embedding import EmbedsOne, EmbedsTexts, StoresOne
from pgrecall.cli.options import annotated, parameters_of, value_type
from pgrecall.cli.output import Output
from pgrecall.cli.parsers import option
from pgrecall.core.checks import descriptions, without_none
from pgrecall.execution import MemoryRepository

ALIASES = {"agent_id": "agent", "older_than": "days"}
"""Argument of a method → its name among the parameters of a command, where that differs."""
_LEFT_OUT = {
    *("tables", "target", "engine", "schema"),
    *("include_embedding", "on_progress", "summarise"),
}
_RECEIVERS: Mapping[str, Any] = {
    "memory": StoresOne,
    "new": StoresOne,
    "query": EmbedsOne,
    "queries": EmbedsTexts,
}
"""Argument that is embedded → the repository that the command needs."""


@dataclass(frozen=True)
class Call:
    """A call with the arguments of the command line."""

    receiver: Any
    """The repository or Database."""
    method: str | Callable[..., Any]
    arguments: Mapping[str, Any]
    """By the method's names, without those that are not given."""

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
        first = next(iter(signature(self.method).parameters))
        with self.receiver.engine() if first == "engine" else self.receiver.url() as place:
            return self.method(place, schema=self.receiver.schema, **arguments)


def of_method(
    method: str | Callable[..., Any],
    function: Callable[..., Output],
    without: Sequence[str],
    options: Mapping[str, Any],
) -> Function:
    """The function with options for the arguments of the method, beside its own parameters.

    `options` precede those of `pgrecall.cli.options`. A dataclass among the arguments is made from
    options for its fields.
    """
    operation = _operation(method) if isinstance(method, str) else method
    hints = get_type_hints(operation, include_extras=True)
    own = [*signature(function, eval_str=True).parameters.values()][1:]
    own_names = {one.name for one in own}
    parameters: list[Parameter] = []
    records: dict[str, Any] = {}
    for one in signature(operation).parameters.values():
        if one.name in (_LEFT_OUT | own_names) or one.name in without:
            continue
        kind = value_type(hints[one.name])
        if one.kind is Parameter.VAR_KEYWORD:
            parameters += parameters_of(get_args(hints[one.name])[0])
        elif is_dataclass(kind):
            records[one.name] = kind
            parameters += _fields(kind, one.name)
        else:
            parameters.append(_parameter(one, hints[one.name], options.get(one.name)))
    parameters = [one for one in parameters if one.name not in own_names]

    def command(receiver: Any, **arguments: Any) -> Output:
        mine = {one.name: arguments.pop(one.name) for one in own}
        for name, kind in records.items():
            values = {one: arguments.pop(one) for one in _field_names(kind, name).values()}
            names = _field_names(kind, name)
            arguments[name] = kind(**{field: values[one] for field, one in names.items()})
        for argument, alias in ALIASES.items():
            if alias in arguments:
                arguments[argument] = arguments.pop(alias)
        called = {name: value for name, value in arguments.items() if value is not None}
        return function(Call(receiver, method, called), **mine)

    embedded = (name for name in hints if name in _RECEIVERS and value_type(hints[name]) is not str)
    kinds = (_RECEIVERS[name] for name in embedded)
    receiver_kind = next(kinds, MemoryRepository) if isinstance(method, str) else Database
    receiver = parameter("receiver", receiver_kind)
    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [receiver, *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in own), *parameters],
        return_annotation=Output,
    )
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    return command


def _operation(method: str) -> Callable[..., Any]:
    """The operation of a method such as labels.add."""
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
    if default is False and isinstance(info, OptionInfo) and not isinstance(info.default, str):
        info = copy(info)
        info.default = f"--{one.name.replace('_', '-')}"  # a flag without its opposite
    if isinstance(default, timedelta):
        default = default / timedelta(days=1)
    if isinstance(default, tuple) or (default is Parameter.empty and without_none(kind) != kind):
        default = None
    if isinstance(info, ArgumentInfo) and default is None and without_none(kind) is kind:
        default = Parameter.empty
    return parameter(ALIASES.get(one.name, one.name), Annotated[kind, info], default)


def _field_names(kind: Any, argument: str) -> dict[str, str]:
    """The fields of a record, and their parameters: its name is the argument's."""
    return {one.name: argument if one.name == "name" else one.name for one in fields(kind)}


def _fields(kind: Any, argument: str) -> Iterator[Parameter]:
    names, texts, hints = _field_names(kind, argument), descriptions(kind), get_type_hints(kind)
    for one in fields(kind):
        help_ = texts.get(one.name, "Name of these rules.").partition(". ")[0].removesuffix(".")
        default = Parameter.empty if one.default is MISSING else one.default
        yield parameter(names[one.name], Annotated[hints[one.name], option(f"{help_}.")], default)
