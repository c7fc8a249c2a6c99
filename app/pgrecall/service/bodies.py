"""Bodies of requests, made from the repository's signatures: an argument there is a field here.

Only shapes are checked, for the OpenAPI document and for errors that name a field. What a value may
be is checked by the repository.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Sequence
from datetime import tzinfo
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Json, create_model

from pgrecall.context.styles import STYLES, Style
from pgrecall.core import checks, limits, memory
from pgrecall.core.checks import Count, Texts, arguments_of, descriptions
from pgrecall.core.memory import NEW_DEFAULTS, TEAM, NewMemory, Unset
from pgrecall.core.rerankers import Rerank, Reranker
from pgrecall.core.tokens import MAX_TOKENS
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import InvalidProfile
from pgrecall.execution import AsyncMemoryRepository
from pgrecall.execution.method import Namespace, method
from pgrecall.memories.listing import SORTABLE
from pgrecall.ranking import arguments, filters
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.schema.fields import NEW
from pgrecall.schema.kinds import CONTENT, HOURS, NAME, SHARE, TEXT, TEXTS, Kind
from pgrecall.scoring.profile import AccessedBy, Profile
from pgrecall.scoring.profile_file import from_values
from pgrecall.scoring.profiles import BUILT_IN
from pgrecall.search import shortlisting

Bounds = dict[str, Any]

_BLANK = "".join(f"\\u{ord(one):04x}" for one in limits.BLANK)
COMPONENTS: dict[str, Bounds] = {
    "Shown": {"description": "A text that shows something.", "pattern": f"[^{_BLANK}]"}
}
"""Schemas that bounds refer to, since they are long."""
SHOWN = [{"$ref": "#/components/schemas/Shown"}]
_SHOWN: Bounds = {"minLength": 1, "allOf": SHOWN}


def _length(most: int) -> Bounds:
    return {**_SHOWN, "maxLength": most}


_NAMES = ("actor", "run")
_ARGUMENTS = arguments_of(SearchArguments)
_COLUMNS = "|".join(SORTABLE)
_NAME = _length(limits.MAX_NAME_LENGTH)
_OF_KIND: dict[Kind, Bounds] = {
    CONTENT: _length(limits.MAX_CONTENT_BYTES),
    HOURS: {"minimum": 0.001, "maximum": 1e9},
    NAME: _NAME,
    SHARE: checks.SHARE.schema,
    TEXT: _length(limits.MAX_TEXT_LENGTH),
    TEXTS: Texts().schema,
}
BOUNDS: dict[str, Bounds] = {
    **{name: one.schema for name, one in _ARGUMENTS.items() if one.schema},
    **{field.name: _OF_KIND[field.kind] for field in NEW if field.kind in _OF_KIND},
    **dict.fromkeys(("near_duplicates", "max_similarity"), checks.SHARE.schema),
    **dict.fromkeys(_NAMES, _NAME),
    "owner": _length(limits.MAX_NAME_LENGTH + len(TEAM)),
    "teams": Texts().schema,
    "query": _length(limits.MAX_QUERY_LENGTH),
    "after": _SHOWN,
    "order": {"items": {"type": "string", "pattern": f"^-?({_COLUMNS})$"}},
    "tier": {"enum": [*limits.TIERS]},
    "trust_curve": {"enum": [*limits.TRUST_CURVES, None]},
    "style": {"enum": [*STYLES]},
    "diversity": {"minimum": 0, "exclusiveMaximum": 1},
    "fetch_k": Count(1, limits.MAX_CONSIDERED).schema,
    "tokens": {"minimum": 0, "maximum": MAX_TOKENS},
    "turn": {"minimum": 0, "maximum": limits.MAX_TURN},
    "filter": {"examples": [{"memory_type": ["fact", "task"], "metadata.priority": {"$gte": 3}}]},
}
"""Argument or field → what is true of every value that is accepted."""

_NEEDS: dict[str, Sequence[str]] = {
    "turn": ("session",),
    **{name: one.needs.names for name, one in _ARGUMENTS.items() if one.needs is not None},
}
"""Field → fields of which it needs one; the repository checks it where it uses them."""


def rules(fields: Iterable[str]) -> Bounds:
    """Rules for the fields of a body together. NULL is no value, and 0 turns are none."""
    names = {*fields}
    conditions = [
        {"anyOf": [_is_null(name), *map(_is_present, others)]}
        for name, others in _NEEDS.items()
        if name in names
    ]
    if {"id", "key"} <= names:
        conditions.append({"anyOf": [_is_null("id"), _is_null("key")]})
    return {"allOf": conditions} if conditions else {}


def _is_null(name: str) -> Bounds:
    """The field is NULL or left out."""
    return {"properties": {name: {"type": "null"}}}


def _is_present(name: str) -> Bounds:
    return {"required": [name], "properties": {name: {"not": {"enum": [None, 0]}}}}


class StudioMethods(Namespace[AsyncMemoryRepository]):
    """Methods that take a repository as a namespace of it does."""

    candidates = method(lambda: shortlisting.candidates)


MAX_PROFILE = 64 * 1024
"""Bytes of a definition: each is a statement of its own, which the database plans."""
Vector = Annotated[list[float], Field(min_length=1)]
Word = Annotated[str, Field(json_schema_extra=BOUNDS["content_type"])]
Name = Annotated[str, Field(json_schema_extra=BOUNDS["key"])]
Limit = Annotated[int, Field(ge=1, le=100)]
MaxTokens = Annotated[int, Field(ge=1, le=1_000_000)]


class Body(BaseModel):
    """A JSON object without other fields than these."""

    model_config = ConfigDict(extra="forbid")

    def sent_fields(self, *without: str) -> dict[str, Any]:
        """The fields that the request has."""
        names = self.model_fields_set.difference(without)
        return {name: getattr(self, name) for name in names}


class ProfileBody(Body):
    """A profile, as a profile file has it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"signals": {"similarity": {"weight": 0.7}, "importance": {"weight": 0.3}}}
            ]
        }
    )

    name: str = "unnamed"
    signals: Annotated[dict[str, dict[str, Any]], Field(min_length=1, max_length=64)]
    redistribute: bool = False
    accessed_by: AccessedBy = "retrieval"
    min_relevance: float | None = None
    decay: dict[str, Any] | None = None

    def profile(self) -> Profile:
        """The profile; raises InvalidProfile or UnknownName."""
        values = self.model_dump(exclude_unset=True) | {"name": self.name}
        if len(json.dumps(values)) > MAX_PROFILE:
            raise InvalidProfile(f"a profile may have at most {MAX_PROFILE:,} bytes of JSON here")
        return from_values(values)


ProfileName = Annotated[str, Field(json_schema_extra={"enum": [*BUILT_IN]})]
AnyProfile = ProfileName | Annotated[ProfileBody, AfterValidator(ProfileBody.profile)]
"""A built-in profile by its name, or any by its definition."""


def method_named(name: str) -> Any:
    """The method of the repository's class, or of that of a namespace, such as links.of."""
    owner: Any = StudioMethods if name in vars(StudioMethods) else AsyncMemoryRepository
    *namespaces, own = name.split(".")
    for one in namespaces:
        owner = get_origin(get_type_hints(getattr(owner, one).fget)["return"])
    return getattr(owner, own)


def request_model(
    method: str, *, without: tuple[str, ...], in_url: bool, **fields: Any
) -> type[Body]:
    """A body with the arguments of a method of the repository. `fields` is its example.

    A memory's fields stand beside the other arguments. In a URL, a filter is JSON.
    """
    function = method_named(method)
    names = vars(filters) | vars(arguments) | vars(memory) | inspect.unwrap(function).__globals__
    declared: dict[str, Any] = {"owner": (str | None, Field(None, exclude=True))} if in_url else {}
    parameters = inspect.signature(function).parameters
    if {"memory", "new"} & parameters.keys():  # its fields stand in the memory
        without = (*without, *MEMORY_FIELDS)
    for one in [*parameters.values()][2:]:  # after self and agent_id
        kind = eval(one.annotation, names)  # noqa: S307  our own signatures
        if one.name == "memory":
            declared |= {
                name: (info.annotation, info) for name, info in _MEMORY.model_fields.items()
            }
        elif one.name not in without:
            declared[one.name] = _field(one.name, kind, one.default)
    if in_url and "filter" in declared:
        declared["filter"] = (
            Json[dict[str, Any]] | None,
            Field(None, description=_DESCRIPTIONS["filter"], examples=['{"tags": "work"}']),
        )
    if method in ("get", "upsert") and "key" in declared:
        declared["key"] = _field("key", str, inspect.Parameter.empty)
    if "keywords" in declared:  # entities of the query, and not of a memory
        entities = Field(
            None,
            description=_SEARCH_DESCRIPTIONS["entities"],
            json_schema_extra=_ARGUMENTS["entities"].schema,
        )
        declared["entities"] = declared["entities"][0], entities
    if "teams" in declared and "touch" in declared:
        declared["touch"] = (
            bool | None,
            declared["touch"][1],
        )  # if NULL, the key decides
    together = rules(declared)
    if method == "update":  # a memory may have its session already; notes alone change nothing
        notes = [name for name in declared if name not in MEMORY_FIELDS]
        together = {"not": {"propertyNames": {"enum": notes}}}
    name = "".join(part.capitalize() for part in re.split(r"[._]", method))
    model = create_model(f"{name}Body", __base__=Body, **declared)
    model.model_config |= ConfigDict(json_schema_extra={"examples": [fields], **together})
    return model


def _field(name: str, kind: Any, default: Any) -> tuple[Any, Any]:
    if default is inspect.Parameter.empty:
        default = ...
    elif isinstance(default, tuple) and default:
        default = [*default]
    elif not isinstance(default, str | int | float):
        default = None
    description, bounds = _DESCRIPTIONS.get(name), BOUNDS.get(name)
    info = Field(default, description=description, json_schema_extra=bounds)
    return _INSTEAD.get(name, _in_json(kind)), info


def _in_json(kind: Any) -> Any:
    """The type without what JSON does not have: UNSET, a field left out, and objects of Python. An
    id, which Python also takes as text, is text of a format there."""
    kind = _LISTS.get(kind, kind)
    if get_origin(kind) not in (Union, UnionType):
        return kind
    kinds = (
        Vector if one == Sequence[float] else one
        for one in get_args(kind)
        if one not in _OBJECTS
        and not (one is str and UUID in get_args(kind))
        and not any(isinstance(value, Unset) for value in get_args(one))
    )
    return reduce(or_, kinds)


_OBJECTS = {
    *(Profile, Style, Rerank, Reranker, tzinfo),
    *get_args(VectorLike),
    *get_args(filters.Condition),
} - {Sequence[float]}
_LISTS: dict[Any, Any] = {Sequence[str]: Sequence[Word]}
"""Lists of a memory, whose texts are not blank. A query's may be: its type has NULL, too."""
_SEARCH_DESCRIPTIONS = descriptions(arguments.SearchArguments)
_DESCRIPTIONS = {
    **descriptions(filters.FilterArguments),
    **_SEARCH_DESCRIPTIONS,
    **{field.name: field.comment for field in NEW},
    **descriptions(NewMemory),
}
_INSTEAD: dict[str, Any] = {
    "teams": Sequence[Annotated[str, Field(json_schema_extra=BOUNDS["owner"])]],
    "k": Limit,
    "n": Annotated[int, Field(ge=1, le=shortlisting.MOST)],
    "profile": AnyProfile | None,
    "limit": Annotated[int, Field(ge=1, le=1000)],
    "order": list[str],
    "linked": Annotated[int, Field(ge=0, le=2)],
    "max_tokens": MaxTokens,
}
"""Argument → its type here, where JSON has less, or the service allows less."""
_MEMORY: type[Body] = create_model(
    "NewMemoryBody",
    __base__=Body,
    **{
        name: _field(name, kind, NEW_DEFAULTS.get(name, inspect.Parameter.empty))
        for name, kind in get_type_hints(NewMemory).items()
        if name != "_"
    },  # type: ignore[call-overload]
)
_MEMORY.model_config |= ConfigDict(json_schema_extra=rules(_MEMORY.model_fields))
MEMORY_FIELDS = frozenset(_MEMORY.model_fields)
_NEW = Annotated[_MEMORY, AfterValidator(lambda body: NewMemory(**body.sent_fields()))]  # type: ignore[valid-type]
_INSTEAD |= {
    "new": _NEW,
    "memories": Annotated[list[_NEW], Field(min_length=1, max_length=1000)],
}
