"""Methods that are made from operations, and imported when they are first used.

Importing all operations takes longer than a search, and most programs call few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import cached_property, partial, update_wrapper
from importlib import import_module
from inspect import Parameter, signature
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from pgrecall.core.checks import as_written
from pgrecall.core.memory import NEW_DEFAULTS, UNSET, MemoryChanges, MemoryFields, NewMemoryFields
from pgrecall.core.steps import Job, Operation
from pgrecall.execution.invocation import Invocation
from pgrecall.ranking.arguments import DEFAULTS
from pgrecall.ranking.filters import FilterArguments
from pgrecall.schema import Tables
from pgrecall.scoring.profile import Profile

if TYPE_CHECKING:
    from pgrecall.execution import asynchronous, synchronous


R_co = TypeVar("R_co", covariant=True)
P = ParamSpec("P")
T = TypeVar("T")


class Namespace(Generic[R_co]):
    """Methods of a repository that belong together."""

    _is_async = False

    def __init__(self, repository: R_co) -> None:
        one: Any = repository
        self._tables, self._profile = one._tables, one._profile
        self._run, self._work = one._run, one._work
        self._is_async = one._is_async


class LazyModule:
    """A module of pgrecall, imported when something of it is used."""

    def __init__(self, name: str) -> None:
        self._name = f"pgrecall.{name}"

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def method(operation: Callable[[], Callable[Concatenate[Tables, P], Operation[T]]]) -> Method[P, T]:
    """A method of both repositories that executes the operation on their tables."""
    return Method(operation, is_job=False)


def method_of_job(job: Callable[[], Callable[P, Job[T]]]) -> Method[P, T]:
    """A method of both repositories that executes the job."""
    return Method(job, is_job=True)


class Method(Generic[P, T]):
    """A function on the synchronous repository, and a coroutine function on the asynchronous one.

    It has the docstring of the operation, and its signature without the tables.
    """

    def __init__(self, place: Callable[[], Callable[..., Any]], *, is_job: bool) -> None:
        self._place, self.is_job = place, is_job
        self._functions: dict[tuple[type, bool], Any] = {}

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[..., Any]: ...

    @overload
    def __get__(
        self,
        instance: synchronous.Repository | Namespace[synchronous.Repository],
        owner: type,
    ) -> Callable[P, T]: ...

    @overload
    def __get__(
        self,
        instance: asynchronous.Repository | Namespace[asynchronous.Repository],
        owner: type,
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        one: Any = owner if instance is None else instance
        key = owner, one._is_async
        if key not in self._functions:
            self._functions[key] = self._function(*key)
        function = self._functions[key]
        return function if instance is None else MethodType(function, instance)

    @cached_property
    def operation(self) -> Callable[..., Any]:
        """The function that the method executes."""
        return self._place()

    @property
    def _profile(self) -> str | None:
        """The argument that names a profile; None if it does not rank."""
        return profile_argument(self.operation)

    @property
    def _iterables(self) -> Sequence[str]:
        """The arguments that may be iterators, which can be read once."""
        hints = signature(self.operation).parameters.values()
        return [one.name for one in hints if "Iterable" in str(one.annotation)]

    def _function(self, owner: type, is_async: bool) -> Any:
        function = (self._job if self.is_job else self._operation)(is_async)
        made: Any = update_wrapper(function, self.operation)
        made.__module__, made.__name__ = owner.__module__, self._name
        made.__qualname__ = f"{owner.__qualname__}.{self._name}"
        # Tracebacks and profilers show this name.
        made.__code__ = made.__code__.replace(co_name=self._name, co_qualname=made.__qualname__)
        made.__signature__ = self._signature()
        return made

    def _operation(self, is_async: bool) -> Any:
        operation, profile, iterables = self.operation, self._profile, self._iterables

        def function(one: Any, /, *args: Any, **kwargs: Any) -> Any:
            if one._profile is not None and profile is not None:
                kwargs = ranked_by(one._profile, profile, kwargs)
            start = partial(operation, one._tables, *args, **kwargs)
            return one._run(replayable(start, iterables) if iterables else start)

        async def coroutine_function(one: Any, /, *args: Any, **kwargs: Any) -> Any:
            if one._profile is not None and profile is not None:
                kwargs = ranked_by(one._profile, profile, kwargs)
            start = partial(operation, one._tables, *args, **kwargs)
            return await one._run(replayable(start, iterables) if iterables else start)

        return coroutine_function if is_async else function

    def _job(self, is_async: bool) -> Any:
        job, profile = self.operation, self._profile

        def function(one: Any, /, *args: Any, **kwargs: Any) -> Any:
            kwargs = ranked_by(one._profile, profile, kwargs)
            with Invocation(partial(job, *args, **kwargs), one._tables) as call:
                return one._work(call)

        async def coroutine_function(one: Any, /, *args: Any, **kwargs: Any) -> Any:
            kwargs = ranked_by(one._profile, profile, kwargs)
            with Invocation(partial(job, *args, **kwargs), one._tables) as call:
                return await one._work(call)

        return coroutine_function if is_async else function

    def _signature(self) -> Any:
        written = signature(self.operation)
        parameters = list(written.parameters.values())[not self.is_job :]
        self_ = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
        shown = [self_, *_written_out(parameters, self.operation)]
        returned = written.return_annotation.partition("[")[2].removesuffix("]")  # of Operation[T]
        return written.replace(parameters=shown, return_annotation=returned)


def replayable(start: partial[Any], iterables: Sequence[str]) -> partial[Any]:
    """The start of an operation that can be retried: iterators among its arguments become lists."""
    for value in (*start.args, *start.keywords.values()):
        if isinstance(value, Iterator):
            break
    else:
        return start
    bound = signature(start.func).bind(*start.args, **start.keywords)
    for name in iterables:
        if isinstance(bound.arguments.get(name), Iterator):
            bound.arguments[name] = list(bound.arguments[name])
    return partial(start.func, *bound.args, **bound.kwargs)


def _written_out(parameters: list[Parameter], operation: Callable[..., Any]) -> Iterator[Parameter]:
    """The keys of a TypedDict in place of `**arguments: Unpack[…]`."""
    for parameter in parameters:
        if parameter.kind is not Parameter.VAR_KEYWORD:
            yield parameter
            continue
        name = parameter.annotation.removeprefix("Unpack[").removesuffix("]")
        taken = operation.__globals__[name]
        hints: dict[str, Any] = taken.__annotations__
        base, defaults = _SHOWN.get(taken, (FilterArguments, DEFAULTS))
        for key in sorted(hints, key=base.__annotations__.__contains__):  # its own keys first
            default, hint = defaults.get(key), as_written(hints[key].__forward_arg__)
            yield Parameter(key, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


_SHOWN: Mapping[type, tuple[type, Mapping[str, Any]]] = {
    MemoryChanges: (MemoryFields, dict.fromkeys(MemoryChanges.__annotations__, UNSET)),
    NewMemoryFields: (MemoryFields, NEW_DEFAULTS),
}
"""Other keywords than those of a search: the TypedDict that they extend, and their defaults."""


def profile_argument(operation: Callable[..., Any]) -> str | None:
    """The argument of an operation or a job that names a profile; None if it does not rank."""
    for name, parameter in signature(operation).parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            return "profile" if "SearchArguments" in str(parameter.annotation) else None
        if "Profile | str" in str(parameter.annotation):
            return name
    return None


def ranked_by(
    profile: Profile | None, argument: str | None, arguments: dict[str, Any]
) -> dict[str, Any]:
    """The arguments of a call, with the repository's profile if they name none."""
    if profile is None or argument is None or arguments.get(argument) is not None:
        return arguments
    return {**arguments, argument: [profile] if argument == "profiles" else profile}
