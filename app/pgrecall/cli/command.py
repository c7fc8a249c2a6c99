"""Commands: from options to one call, and from its result to what is printed.

@app.method("labels.of", "pgrecall labels 0197a3c2 --agent zoe")
def labels(call: Call) -> Output:
    \"\"\"List the labels of a memory.\"\"\"
    return listing(call(), label_line, otherwise="no labels")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from datetime import UTC, datetime
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, get_args
from uuid import UUID

import typer
from typer.models import OptionInfo

from pgrecall.cli.database import Database, DatabaseUrl, OfTeam, Schema
from pgrecall.cli.embedding import (
    EmbedderName,
    EmbedsOne,
    EmbedsTexts,
    FindEntities,
    StoresOne,
    StoresTexts,
    Vector,
    entities,
    made_embedder,
)
from pgrecall.cli.options import Zone, parameters_of
from pgrecall.cli.output import Output, until_closed
from pgrecall.cli.parsers import MOMENTS, PARSERS, in_zone
from pgrecall.core.checks import without_none
from pgrecall.errors import InputError
from pgrecall.execution import MemoryRepository
from pgrecall.schema import DEFAULT_SCHEMA

Function = Callable[..., Output | None]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object per line.", rich_help_panel="Common")
]


def parameter(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
    """A parameter of a command."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


_DATABASE = [
    parameter("database_url", DatabaseUrl, None),
    parameter("schema", Schema, DEFAULT_SCHEMA),
]
_OF_TEAM = parameter("of_team", OfTeam, False)
_EMBEDDER = parameter("embedder", EmbedderName, None)
_VECTOR = parameter("vector", Vector, None)
_FIND_ENTITIES = parameter("find_entities", FindEntities, False)
_EMBEDDING = {
    EmbedsTexts: [_EMBEDDER],
    EmbedsOne: [_EMBEDDER, _VECTOR],
    StoresTexts: [_EMBEDDER, _FIND_ENTITIES],
    StoresOne: [_EMBEDDER, _VECTOR, _FIND_ENTITIES],
}
_JSON = parameter("json", AsJson, False)
_ZONE = parameter("timezone", Zone, None)
"""Of commands that take a time, unless they have such an argument."""


def as_command(function: Function) -> Callable[..., None]:
    """The function as Typer takes it.

    A parameter of type MemoryRepository, one of _EMBEDDING, or Database becomes the options that
    say which, and `**arguments: Unpack[…]` options that are passed on where they are given. PARSERS
    convert values, and the beginning of a memory's id becomes the UUID. An Output is printed, with
    --json as records.
    """
    declared = signature(function, eval_str=True)
    receiver = ""
    own: list[Parameter] = []
    common: list[Parameter] = []
    embedding: list[Parameter] = []
    optional: list[Parameter] = []
    for one in declared.parameters.values():
        if one.annotation in (MemoryRepository, Database, *_EMBEDDING):
            receiver, common = one.name, list(_DATABASE)
            if one.annotation is not Database:
                embedding = _EMBEDDING.get(one.annotation, [])
                common = [_OF_TEAM, *embedding, *common]
        elif one.kind is Parameter.VAR_KEYWORD:
            optional = [*parameters_of(get_args(one.annotation)[0])]
            own += optional
        else:
            own.append(one.replace(kind=Parameter.KEYWORD_ONLY))
    if declared.return_annotation is Output:
        common.append(_JSON)
    takes_times = any(_kind(one) in MOMENTS for one in own)
    zones = [_ZONE] if takes_times and all(one.name != _ZONE.name for one in own) else []
    common += zones

    @wraps(function)
    @until_closed()
    def command(**arguments: Any) -> None:
        json = arguments.pop("json", False)
        for one in (*own, *zones):
            arguments[one.name] = _parsed(one, arguments[one.name])
        zone = arguments.get(_ZONE.name) or UTC
        for one in own:
            arguments[one.name] = in_zone(arguments[one.name], zone)
        for one in zones:
            del arguments[one.name]
        for one in optional:
            if arguments[one.name] is None:
                del arguments[one.name]
        with ExitStack() as stack:
            if receiver:
                embeds_by = {one.name: arguments.pop(one.name) for one in embedding}
                database = Database(
                    arguments.pop("database_url"),
                    arguments.pop("schema"),
                    made_embedder(embeds_by["embedder"], embeds_by.get("vector"))
                    if embeds_by
                    else None,
                    entities(embeds_by.get("find_entities", False)),
                )
                arguments[receiver] = database
                if _OF_TEAM in common:
                    repo = stack.enter_context(database.repository(arguments.pop("of_team")))
                    arguments |= dict(_ids(repo, own, arguments)) | {receiver: repo}
            output = function(**arguments)
        if output is not None:
            output.print(json=json)

    parameters = [*map(_for_typer, (*own, *common))]
    command.__signature__ = declared.replace(  # type: ignore[attr-defined]
        parameters=parameters, return_annotation=None
    )
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _kind(one: Parameter) -> Any:
    """The type of a value, without its options for Typer."""
    return without_none(get_args(one.annotation)[0])


def _for_typer(one: Parameter) -> Parameter:
    """The parameter with the type that Typer reads, and what stands for its value in the help."""
    annotation, info = get_args(one.annotation)
    kind = without_none(annotation)
    raw = {UUID: str, list[UUID]: list[str]}.get(kind, kind)
    raw = PARSERS[kind].raw_type if kind in PARSERS else raw
    if info.metavar is None:
        info = copy(info)
        if raw in (int, float) and isinstance(info, OptionInfo):
            info.metavar = "NUMBER"
        elif kind is datetime:
            info.metavar = "TIME"
        elif raw is Path:
            info.metavar = "FILE"
        elif raw in (str, list[str], int, float):
            info.metavar = _name(one.name, info).lstrip("-").upper()
    return one.replace(annotation=Annotated[raw if annotation is kind else raw | None, info])


def _name(parameter: str, info: Any) -> str:
    """The first name of an option, or the parameter's."""
    names = (info.default, *(info.param_decls or ()))  # Typer takes the first for a default
    option = f"--{parameter.replace('_', '-')}" if isinstance(info, OptionInfo) else parameter
    return next((name for name in names if isinstance(name, str)), option)


def _parsed(one: Parameter, value: Any) -> Any:
    """The value of the text; an InputError names the option."""
    parser = PARSERS.get(_kind(one))
    if value is None or value == []:
        return None
    if parser is None:
        return value
    try:
        return parser.parse(value)
    except InputError as problem:
        raise InputError(f"{_name(one.name, get_args(one.annotation)[1])}: {problem}") from None


def _ids(
    repo: MemoryRepository, parameters: Sequence[Parameter], arguments: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """The ids of memories that are named by their first digits or keys."""
    for one in parameters:
        value = arguments.get(one.name)
        if value is not None and _kind(one) is UUID:
            teams = arguments.get("teams") or ()
            yield one.name, repo.resolve(arguments["agent"], value, teams=teams)
        elif value is not None and _kind(one) == list[UUID]:
            yield one.name, [repo.resolve(arguments["agent"], text) for text in value]
