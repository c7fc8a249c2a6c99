"""A function as a command: from options to one call, and from its result to what is printed.

@app.declare("pgrecall label ID tea --agent zoe")
def label(repo: MemoryRepository, agent: Agent, memory: MemoryId, label: …) -> Output:
    \"\"\"Give a memory labels.\"\"\"
    return number("labelled", repo.labels.add(agent, memory, label), "new")
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
from pgrecall.cli.output import Output, until_read_enough
from pgrecall.cli.written import MOMENTS, WRITTEN, in_zone
from pgrecall.core.checks import without_none
from pgrecall.errors import InputError
from pgrecall.execution import MemoryRepository
from pgrecall.schema import DEFAULT_SCHEMA

Function = Callable[..., Output | None]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object per line.", rich_help_panel="Common")
]


def _parameter(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


_DATABASE = [
    _parameter("database_url", DatabaseUrl, None),
    _parameter("schema", Schema, DEFAULT_SCHEMA),
]
_OF_TEAM = _parameter("of_team", OfTeam, False)
_EMBEDDER = _parameter("embedder", EmbedderName, None)
_VECTOR = _parameter("vector", Vector, None)
_FINDS = _parameter("find_entities", FindEntities, False)
_EMBEDDING = {
    EmbedsTexts: [_EMBEDDER],
    EmbedsOne: [_EMBEDDER, _VECTOR],
    StoresTexts: [_EMBEDDER, _FINDS],
    StoresOne: [_EMBEDDER, _VECTOR, _FINDS],
}
_JSON = _parameter("json", AsJson, False)
_ZONE = _parameter("timezone", Zone, None)
"""Of commands that take a time, unless they have such an argument."""


def as_command(function: Function) -> Callable[..., None]:
    """The function as Typer takes it.

    A parameter of type MemoryRepository, one of _EMBEDDING, or Database becomes the options that
    say which, and `**arguments: Unpack[…]` options that are passed on where they are given. What
    Typer cannot read is read by WRITTEN, and the beginning of a memory's id becomes the UUID. An
    Output is printed, by --json as records.
    """
    asked = signature(function, eval_str=True)
    works_on = ""
    own: list[Parameter] = []
    shared: list[Parameter] = []
    embedding: list[Parameter] = []
    optional: list[Parameter] = []
    for one in asked.parameters.values():
        if one.annotation in (MemoryRepository, Database, *_EMBEDDING):
            works_on, shared = one.name, list(_DATABASE)
            if one.annotation is not Database:
                embedding = _EMBEDDING.get(one.annotation, [])
                shared = [_OF_TEAM, *embedding, *shared]
        elif one.kind is Parameter.VAR_KEYWORD:
            optional = [*parameters_of(get_args(one.annotation)[0])]
            own += optional
        else:
            own.append(one.replace(kind=Parameter.KEYWORD_ONLY))
    if asked.return_annotation is Output:
        shared.append(_JSON)
    takes_times = any(_kind(one.annotation) in MOMENTS for one in own)
    zones = [_ZONE] if takes_times and all(one.name != _ZONE.name for one in own) else []
    shared += zones

    @wraps(function)
    @until_read_enough()
    def command(**given: Any) -> None:
        json = given.pop("json", False)
        for one in (*own, *zones):
            given[one.name] = _read(one, given[one.name])
        zone = given.get(_ZONE.name) or UTC
        for one in own:
            given[one.name] = in_zone(given[one.name], zone)
        for one in zones:
            del given[one.name]
        for one in optional:
            if given[one.name] is None:
                del given[one.name]
        with ExitStack() as stack:
            if works_on:
                embeds_by = {one.name: given.pop(one.name) for one in embedding}
                database = Database(
                    given.pop("database_url"),
                    given.pop("schema"),
                    made_embedder(embeds_by["embedder"], embeds_by.get("vector"))
                    if embeds_by
                    else None,
                    entities(embeds_by.get("find_entities", False)),
                )
                given[works_on] = database
                if _OF_TEAM in shared:
                    repo = stack.enter_context(database.repository(given.pop("of_team")))
                    given |= dict(_ids(repo, own, given)) | {works_on: repo}
            output = function(**given)
        if output is not None:
            output.print(json=json)

    parameters = [*map(_typed, (*own, *shared))]
    command.__signature__ = asked.replace(  # type: ignore[attr-defined]
        parameters=parameters, return_annotation=None
    )
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _kind(annotation: Any) -> Any:
    """The type of a value, without its options for Typer."""
    return without_none(get_args(annotation)[0])


def _typed(one: Parameter) -> Parameter:
    """The parameter with the type that Typer reads, and what stands for its value in the help."""
    bare, told = get_args(one.annotation)
    kind = without_none(bare)
    typed = {UUID: str, list[UUID]: list[str]}.get(kind, kind)
    typed = WRITTEN[kind].typed if kind in WRITTEN else typed
    if told.metavar is None:
        told = copy(told)
        if typed in (int, float) and isinstance(told, OptionInfo):
            told.metavar = "NUMBER"
        elif kind is datetime:
            told.metavar = "TIME"
        elif typed is Path:
            told.metavar = "FILE"
        elif typed in (str, list[str], int, float):
            told.metavar = _name(one.name, told).lstrip("-").upper()
    return one.replace(annotation=Annotated[typed if bare is kind else typed | None, told])


def _name(parameter: str, told: Any) -> str:
    """The first name of an option, or the parameter's."""
    names = (told.default, *(told.param_decls or ()))  # Typer takes the first for a default
    option = f"--{parameter.replace('_', '-')}" if isinstance(told, OptionInfo) else parameter
    return next((name for name in names if isinstance(name, str)), option)


def _read(one: Parameter, value: Any) -> Any:
    """The value of the text; an InputError names the option."""
    written = WRITTEN.get(_kind(one.annotation))
    if value is None or value == []:
        return None
    if written is None:
        return value
    try:
        return written.read(value)
    except InputError as problem:
        told: Any = get_args(one.annotation)[1]
        raise InputError(f"{_name(one.name, told)}: {problem}") from None


def _ids(
    repo: MemoryRepository, parameters: Sequence[Parameter], given: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """The ids that were given by their beginnings."""
    for one in parameters:
        kind = _kind(one.annotation)
        if kind is UUID:
            teams = given.get("teams", ())
            yield one.name, repo.resolve(given["agent"], given[one.name], teams=teams)
        elif kind == list[UUID]:
            yield one.name, [repo.resolve(given["agent"], text) for text in given[one.name] or ()]
