"""What a source of alerts says of itself, in one value; whatever else the program has to know of it is derived."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from bot.domain.alert import Delivery, SourceAlert
from bot.domain.examined import Examined

Body: TypeAlias = Mapping[str, Any]  # a request's body, as `read_body` returns it


class Webhook(Protocol):
    """Where a source brings its alerts. It touches nothing, so that it can be tried with bytes alone."""

    @property
    def kind(self) -> str:
        """The source's name."""
        ...

    @property
    def path(self) -> str:
        """Where on the web edge it is mounted."""
        ...

    def is_genuine(self, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
        """True when a request proves that it comes from there; `headers` by lower-case name, `body` as it came."""
        ...

    def delivery(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        """Return what a genuine request tells.

        Raises: MalformedDelivery when it is not of the form that the source's documentation gives.
        """
        ...


@dataclass(frozen=True, slots=True)
class Told:
    """What a file with a body tells: the delivery that it would be, and the signals that are in it."""

    delivery: Delivery
    signals: tuple[SourceAlert, ...] = ()


class ServingBot(Protocol):
    """The bot that serves on this machine, where one does."""

    @property
    def address(self) -> str:
        """Where it listens."""
        ...

    async def fetched(self, path: str) -> str:
        """Return a page of it, whatever its status.

        Raises: OSError when none answers there.
        """
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """One source.

    Shape: `name` is what the ledger, routes and metrics call it, and its table of zombie.toml; `title` is for people.
    `settings` is its dataclass of settings, which every other field is handed. `webhook(settings)` is None as long as
    its secret is not set. `recognises(body)` is true for a body that is its own, `told(body)` reads a file with one,
    which may hold more than a request does. `names_in(settings)` are the paths and patterns by which nodes are looked
    for in what it tells; without any, everywhere. `examine` looks, for `zombie doctor`, at what a secret alone does not
    show.
    """

    name: str
    title: str
    path: str
    settings: type[Any]
    webhook: Callable[[Any], Webhook | None]
    recognises: Callable[[Body], bool]
    told: Callable[[Body], Told]
    names_in: Callable[[Any], tuple[Sequence[str], Sequence[Any]]] = lambda settings: ((), ())
    examine: Callable[[Any, ServingBot], Awaitable[Sequence[Examined]]] | None = None
