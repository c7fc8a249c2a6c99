"""Namespaces of a repository, such as `repository.links`."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

R_co = TypeVar("R_co", covariant=True)


class Namespace(Generic[R_co]):
    """Methods of a repository that belong together."""

    _is_async = False

    def __init__(self, repository: R_co) -> None:
        one: Any = repository
        self._tables, self._profile = one._tables, one._profile
        self._run, self._work = one._run, one._work
        self._is_async = one._is_async
