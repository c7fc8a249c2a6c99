"""Commands: from options to one call, and from its result to what is printed.

@app.method("links.of", "pgrecall links 0197a3c2 --agent zoe")
def links(call: Call) -> Output:
    \"\"\"List the links of a memory.\"\"\"
    return Output(call(), …)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import UTC, datetime
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_args
from uuid import UUID

import typer
from typer.models import OptionInfo

from pgrecall.cli.call import Call, Method, arguments_of, receiver_of, summary
from pgrecall.cli.database import Database, DatabaseUrl, OfTeam, Schema
from pgrecall.cli.embedding import EMBEDDING, make_embedder
from pgrecall.cli.filter_options import with_filter
from pgrecall.cli.memory_ids import resolve
from pgrecall.cli.options import Zone, parameter, parameters_of
from pgrecall.cli.output import Output, until_closed
from pgrecall.cli.parsers import MOMENTS, NONE, PARSERS, in_zone
from pgrecall.context.styles import STYLES
from pgrecall.core.checks import without_none
from pgrecall.core.limits import STATUSES
from pgrecall.errors import InputError
from pgrecall.execution import MemoryRepository
from pgrecall.schema import DEFAULT_SCHEMA
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import BUILT_IN

Function = Callable[..., Output | None]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object per line.", rich_help_panel="Common")
]
_JSON = parameter("json", AsJson, False)
_DATABASE = (
    parameter("database_url", DatabaseUrl, None),
    parameter("schema", Schema, DEFAULT_SCHEMA),
)
_OF_TEAM = parameter("of_team", OfTeam, False)
_ZONE = parameter("timezone", Zone, None)
"""The option of commands that take a time, unless they have such an argument."""


def as_command(
    function: Function,
    method: Method | None = None,
    without: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> Callable[..., None]:
    """The function as Typer takes it.

    A parameter of type MemoryRepository, with or without EMBEDDING beside it, or Database becomes
    the options that say which, and `**arguments: Unpack[…]` options that are passed on where they
    are given. PARSERS convert values, and the beginning of a memory's id becomes the UUID. An
    Output is printed, with --json as records.

    With a `method`, the first parameter of the function is a Call. The arguments of the method,
    except those `without`, are options, for which `options` precede those of `cli.options`. A
    function without a docstring has the method's.
    """
    declared = signature(function, eval_str=True)
    receiver: Any = None if method is None else receiver_of(method)
    of_method = [] if method is None else arguments_of(method, without, options or {})
    own: list[Parameter] = []
    optional: list[Parameter] = []
    first = ""
    for one in declared.parameters.values():
        if one.annotation is Call:
            continue
        if one.annotation is Database or _type(one) is MemoryRepository:
            first, receiver = one.name, one.annotation
        elif one.kind is Parameter.VAR_KEYWORD:
            optional += parameters_of(get_args(one.annotation)[0])
        else:
            own.append(one.replace(kind=Parameter.KEYWORD_ONLY))
    names = {one.name for one in own}
    of_method = [one for one in of_method if one.name not in names]
    parsed = [*own, *optional, *of_method]
    common = [*_common(receiver)]
    takes_times = any(_type(one) in MOMENTS for one in parsed)
    zones = [_ZONE] if takes_times and _ZONE.name not in {one.name for one in parsed} else []
    if declared.return_annotation is Output:
        common.append(_JSON)

    @wraps(function)
    @until_closed()
    def command(**values: Any) -> None:
        shared = {one.name: values.pop(one.name) for one in common}
        for one in (*parsed, *zones):
            values[one.name] = _parsed(one, values[one.name])
        zone = values.get(_ZONE.name) or UTC
        arguments = {one.name: in_zone(values[one.name], zone) for one in parsed}
        if "filter" in arguments:
            arguments = with_filter(arguments)
        for one in (*optional, *of_method):
            if arguments.get(one.name) is None:
                arguments.pop(one.name, None)
            elif arguments[one.name] is NONE:
                arguments[one.name] = None
        with _opened(receiver, shared) as place:
            if isinstance(place, MemoryRepository):
                arguments |= dict(_ids(place, parsed, arguments))
            if method is not None:
                given = arguments.keys() & {one.name for one in of_method}
                called = {name: arguments.pop(name) for name in given}
                output = function(Call.of(method, place, called), **arguments)
            else:
                output = function(**({first: place} if first else {}), **arguments)
        if output is not None:
            output.print(json=shared.get("json", False))

    parameters = [*map(_for_typer, (*parsed, *common, *zones))]
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    if method is not None:
        command.__doc__ = function.__doc__ or summary(method)
    return command


def _common(receiver: Any) -> Iterator[Parameter]:
    """The options that say where memories are, and how texts are embedded."""
    if receiver is None:
        return
    if receiver is not Database:
        yield _OF_TEAM
        for name, annotation in EMBEDDING.items():
            if annotation in get_args(receiver):
                yield parameter(name, annotation, None)
    yield from _DATABASE


@contextmanager
def _opened(receiver: Any, options: Mapping[str, Any]) -> Iterator[Any]:
    """The repository or Database of a command that has one."""
    if receiver is None:
        yield None
        return
    embedder = None
    if "embedder" in options:
        embedder = make_embedder(options["embedder"], options.get("vector"))
    database = Database(options["database_url"], options["schema"], embedder)
    if receiver is Database:
        yield database
    else:
        with database.repository(options["of_team"]) as repo:
            yield repo


def _type(one: Parameter) -> Any:
    """The type of a value, without its options for Typer."""
    args = get_args(one.annotation)
    return without_none(args[0]) if args else one.annotation


def _for_typer(one: Parameter) -> Parameter:
    """The parameter with the type that Typer reads, and what stands for its value in the help."""
    annotation, info = get_args(one.annotation)
    kind = without_none(annotation)
    raw = {UUID: str, list[UUID]: list[str]}.get(kind, kind)
    raw = PARSERS[kind].raw_type if kind in PARSERS else raw
    info = copy(info)
    if isinstance(info, OptionInfo):
        known = _known(one.name, kind)
        if known:
            info.autocompletion = lambda incomplete: [w for w in known if w.startswith(incomplete)]
    if info.metavar is None:
        if raw in (int, float) and isinstance(info, OptionInfo):
            info.metavar = "NUMBER"
        elif kind is datetime:
            info.metavar = "TIME"
        elif raw is Path:
            info.metavar = "FILE"
        elif raw in (str, list[str], int, float):
            info.metavar = _name(one).lstrip("-").upper()
    return one.replace(annotation=Annotated[raw if annotation is kind else raw | None, info])


def _known(name: str, kind: Any) -> Sequence[str]:
    """The words that the shell completes an option with."""
    if kind in (Profile | str, list[Profile]):
        return [*BUILT_IN]
    return {"style": [*STYLES], "status": STATUSES}.get(name, ())


def _name(one: Parameter) -> str:
    """The first name of an option, or the parameter's."""
    info = get_args(one.annotation)[1]
    names = (info.default, *(info.param_decls or ()))  # Typer takes the first for a default
    option = f"--{one.name.replace('_', '-')}" if isinstance(info, OptionInfo) else one.name
    return next((name for name in names if isinstance(name, str)), option)


def _parsed(one: Parameter, value: Any) -> Any:
    """The value of the text; an InputError names the option."""
    parser = PARSERS.get(_type(one))
    if value is None or value == []:
        return None
    if parser is None:
        return value
    try:
        return parser.parse(value)
    except InputError as problem:
        raise InputError(f"{_name(one)}: {problem}") from None


def _ids(
    repo: MemoryRepository, parameters: Sequence[Parameter], values: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """The ids of memories that are named by their first digits or keys."""
    for one in parameters:
        value = values.get(one.name)
        if value is not None and _type(one) is UUID:
            yield one.name, resolve(repo, values["agent"], value, values.get("teams") or ())
        elif value is not None and _type(one) == list[UUID]:
            yield one.name, [resolve(repo, values["agent"], text) for text in value]
