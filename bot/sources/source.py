"""A source of alerts as a value; everything else that the program needs to know about it is derived."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from bot.domain.alert import Delivery, SourceAlert
from bot.domain.doctor_finding import DoctorFinding
from bot.sources.body import read_body

Body: TypeAlias = Mapping[str, Any]  # a request's body, as `read_body` returns it


# Whether a request proves its origin: of its headers, by lower-case name, its body as received, and the time.
Proof: TypeAlias = Callable[[Mapping[str, str], bytes, datetime], bool]


@dataclass(frozen=True, slots=True)
class Webhook:
    """Receives a source's alerts. It has no side effects, so it can be tested with bytes.

    Shape: `kind` is the source's name, `path` its path on the web server. `delivery` returns the delivery of a genuine
    request's body.
    Raises: `delivery` raises MalformedDelivery when the body does not have the form that the source documents.
    """

    kind: str
    path: str
    is_genuine: Proof
    delivery: Callable[[bytes], Delivery]


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
    dataclass of settings. `proof(settings)` is None while its secret is not set. `delivery(body)` reads a request, and
    `parse_file(body)` a file, where that may hold more than a request does. `recognises(body)` is true for its own
    bodies. `names_in(settings)` are the paths and patterns for finding node names in its alerts;
    without any, all texts are searched. `examine` checks, for `zombie doctor`, what a secret alone does not show.
    """

    name: str
    title: str
    path: str
    settings: type[Any]
    proof: Callable[[Any], Proof | None]
    delivery: Callable[[Body], Delivery]
    recognises: Callable[[Body], bool]
    parse_file: Callable[[Body], ParsedFile] | None = None
    names_in: Callable[[Any], tuple[Sequence[str], Sequence[Any]]] = lambda settings: ((), ())
    examine: Callable[[Any, ServingBot], Awaitable[Sequence[DoctorFinding]]] | None = None

    def webhook(self, settings: Any) -> Webhook | None:
        """Return its webhook; None while its secret is not set."""
        proof = self.proof(settings)
        return Webhook(self.name, self.path, proof, lambda raw: self.delivery(read_body(raw))) if proof else None

    def parsed(self, body: Body) -> ParsedFile:
        """Return the contents of a file with its body. Raises: MalformedDelivery."""
        if self.parse_file is not None:
            return self.parse_file(body)
        delivery = self.delivery(body)
        return ParsedFile(delivery, delivery.alarm.signals if delivery.alarm is not None else ())
