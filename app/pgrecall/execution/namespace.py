"""Namespaces of a repository, such as `repository.labels`."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

R_co = TypeVar("R_co", covariant=True)


class Namespace(Generic[R_co]):
    """Methods of a repository that belong together."""

    _is_async = False

    def __init__(self, repository: R_co) -> None:
        self._call: Any = repository._call  # type: ignore[attr-defined]
        self._is_async = repository._is_async  # type: ignore[attr-defined]
