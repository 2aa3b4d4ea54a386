"""The playbooks and tables that come with the program, and what sites add to a table."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

T = TypeVar("T")
Taken: TypeAlias = "Mapping[SiteRows[Any], tuple[Mapping[str, Any], Mapping[str, str]]]"
F = TypeVar("F", bound=Callable[..., Any])


def builtin_playbooks() -> Path:
    """Return their folder."""
    return shipped_path("_playbooks", "playbooks")


def shipped_path(packaged: str, in_checkout: str) -> Path:
    """Return the path of what comes with the program: within the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / packaged
    return inside if inside.exists() else package.parent / in_checkout


def builtin_rows(name: str) -> Mapping[str, Any]:
    """Return what `tables/NAME.toml` holds.

    Raises: OSError or ValueError when it cannot be read.
    """
    import tomllib  # not before a table is needed

    return tomllib.loads((builtin_playbooks() / "tables" / f"{name}.toml").read_text("utf-8"))


class SiteRows(Generic[T]):
    """What the tables of sites add to one of ours, in the order in which they were read."""

    _all: ClassVar[list[SiteRows[Any]]] = []

    def __init__(self) -> None:
        self._by_source: dict[str, tuple[T, ...]] = {}
        self._definitions: dict[str, str] = {}
        self._caches: list[Any] = []
        self._all.append(self)

    @classmethod
    def definitions(cls) -> list[str]:
        """Return what all tables of sites say that a verdict may depend on."""
        return sorted(text for each in cls._all for text in each._definitions.values())

    @classmethod
    def taken(cls) -> Taken:
        """Return all rows as they are, for `put`."""
        return {each: (dict(each._by_source), dict(each._definitions)) for each in cls._all}

    @classmethod
    def put(cls, taken: Taken) -> None:
        """Have the rows that were there when they were taken, and no others."""
        for each in cls._all:
            each._by_source, each._definitions = map(dict, taken.get(each, ({}, {})))
            each._forget()

    def __iter__(self) -> Iterator[T]:
        for rows in self._by_source.values():
            yield from rows

    def add(self, source: str, rows: Iterable[T], definition: str = "") -> None:
        """Add rows; `source` says whose they are, and replaces what it added before.

        Shape: `definition` is all of them as text, where a verdict may depend on it.
        """
        self._by_source[source] = tuple(rows)
        self._definitions |= {source: definition} if definition else {}
        self._forget()

    def cached(self, function: F) -> F:
        """Return a function that remembers some answers, until other rows are added."""
        remembering: Any = functools.lru_cache(4096)(function)
        self._caches.append(remembering)
        return remembering  # type: ignore[no-any-return]

    def _forget(self) -> None:
        for cache in self._caches:
            cache.cache_clear()
