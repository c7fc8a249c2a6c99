"""The repository's profile, for calls that name none."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from pgrecall.scoring.profile import Profile


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
