"""A source of alerts as a value; everything else that the program needs to know about it is derived."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from bot.domain.alert import Delivery, SourceAlert
from bot.domain.doctor_finding import DoctorFinding

Body: TypeAlias = Mapping[str, Any]  # a request's body, as `read_body` returns it


class Webhook(Protocol):
    """Receives a source's alerts. It has no side effects, so it can be tested with bytes."""

    @property
    def kind(self) -> str:
        """The source's name."""
        ...

    @property
    def path(self) -> str:
        """Its path on the web server."""
        ...

    def is_genuine(self, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
        """True when a request proves its origin; `headers` by lower-case name, `body` as received."""
        ...

    def delivery(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        """Return the delivery of a genuine request.

        Raises: MalformedDelivery when it does not have the form that the source documents.
        """
        ...


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The contents of a file with a body: the delivery that it would be, and its alerts."""

    delivery: Delivery
    signals: tuple[SourceAlert, ...] = ()


class ServingBot(Protocol):
    """The bot that serves on this machine, if any does."""

    @property
    def address(self) -> str:
        """The address that it listens on."""
        ...

    async def fetch(self, path: str) -> str:
        """Return a page from it, whatever its status.

        Raises: OSError when no bot answers there.
        """
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """A source.

    Shape: `name` is its name in the ledger, routes, metrics and zombie.toml; `title` is for people. `settings` is its
    dataclass of settings, which all other fields receive. `webhook(settings)` is None while its secret is not set.
    `recognises(body)` is true for its own bodies; `parse_file(body)` parses a file with such a body, which may hold
    more than a request does. `names_in(settings)` are the paths and patterns for finding node names in its alerts;
    without any, all texts are searched. `examine` checks, for `zombie doctor`, what a secret alone does not show.
    """

    name: str
    title: str
    path: str
    settings: type[Any]
    webhook: Callable[[Any], Webhook | None]
    recognises: Callable[[Body], bool]
    parse_file: Callable[[Body], ParsedFile]
    names_in: Callable[[Any], tuple[Sequence[str], Sequence[Any]]] = lambda settings: ((), ())
    examine: Callable[[Any, ServingBot], Awaitable[Sequence[DoctorFinding]]] | None = None
