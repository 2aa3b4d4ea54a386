"""The scheduler for sweeps over several machines: its address, how to reach it, and the workers that it has.

Defined in: https://distributed.dask.org/en/stable/tls.html. Whoever reaches a Dask scheduler can run code on its
workers, which have keys of nodes. So there are only two ways: plain text within a machine, and TLS with certificates on
both sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bot.domain.addresses import is_loopback
from bot.domain.errors import SchedulerError
from bot.domain.safe_text import one_line
from bot.extras.fleet.settings import WorkersSettings

_HOST = re.compile(r"[A-Za-z0-9.:%-]{1,253}\Z")


@dataclass(frozen=True, slots=True)
class SchedulerAddress:
    """An address that may be used. Shape: `ca`, `certificate` and `key` are PEM files, all of them for `tls://`."""

    url: str
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    @classmethod
    def of(
        cls, text: str, ca: Path | None = None, certificate: Path | None = None, key: Path | None = None
    ) -> SchedulerAddress:
        """Return the address that a person wrote.

        Raises: SchedulerError when it is no address, is plain text to another machine, or lacks a file for TLS.

        Example:
        >>> SchedulerAddress.of("tcp://127.0.0.1:8786").is_local
        True
        """
        shown = one_line(text, 80)
        try:
            parts = urlsplit(text)
            scheme, host, port = parts.scheme, parts.hostname or "", parts.port
        except ValueError:
            scheme, host, port = "", "", None
        if not _HOST.match(host) or not port or not re.fullmatch(r"[a-z]+://[^/?#@\s]+", text):
            raise SchedulerError(
                f"“{shown}” is not an address of a scheduler.",
                "Write tls://scheduler.example:8786, or tcp://127.0.0.1:8786.",
            )
        address = cls(text, ca, certificate, key)
        if scheme == "tcp":
            if not address.is_local:
                raise SchedulerError(
                    f"{shown} is plain text to another machine, and whoever reaches a scheduler runs code where the "
                    "keys of nodes are.",
                    "Use tls:// with --scheduler-ca, --scheduler-cert and --scheduler-key.",
                )
            return address
        if scheme != "tls":
            raise SchedulerError(f"A scheduler is not reached by {one_line(scheme, 20)}://.", "Use tls://.")
        files = {"--scheduler-ca": ca, "--scheduler-cert": certificate, "--scheduler-key": key}
        if lacking := [flag for flag, path in files.items() if path is None]:
            raise SchedulerError(
                f"{shown} needs certificates; not given: {', '.join(lacking)}.",
                "docs/fleet.md shows how to make them: an authority, and a certificate for each program.",
            )
        for flag, path in files.items():
            try:
                if path is not None:
                    path.open("rb").close()
            except OSError as no:
                raise SchedulerError(
                    f"{flag}: {one_line(str(path), 200)} cannot be read: {no.strerror}.", "Name a PEM file."
                ) from no
        return address

    @property
    def is_tls(self) -> bool:
        """True when both sides show certificates."""
        return self.url.startswith("tls://")

    @property
    def is_local(self) -> bool:
        """True when it is on this machine."""
        return is_loopback(urlsplit(self.url).hostname or "")


def address_of(said: WorkersSettings) -> SchedulerAddress:
    """Return the configured scheduler. Raises: SchedulerError when there is none, or it may not be used."""
    if not said.scheduler:
        raise SchedulerError("No scheduler is named.", "Give --scheduler tls://HOST:8786, or set ZOMBIE_SCHEDULER.")
    return SchedulerAddress.of(said.scheduler, said.ca, said.cert, said.key)


def not_installed() -> SchedulerError:
    """Return the error where Dask is missing."""
    return SchedulerError(
        "Reading by several machines needs the package distributed, which is not installed here.",
        "Install it with: pip install 'zombie-bot[fleet]'",
    )


# --- Which workers a scheduler has, and what each may read, by the resource that it declares
#
# Defined in: https://distributed.dask.org/en/stable/resources.html. Of a resource each chunk takes a share. It names
# the program's version, and the zone, if any: so a scheduler hands chunks only to workers of the asker's own version
# that reach the zone.


_RESOURCE = re.compile(r"(zombie [^ ]{1,60})(?: zone ([A-Za-z0-9._/:-]{1,100}))?\Z")


def resource(program: str, zone: str = "") -> str:
    """Return the name of the resource that a worker of that program declares.

    Example: `resource("zombie 0.1.0", "us-east-1a") == "zombie 0.1.0 zone us-east-1a"`
    """
    return f"{program} zone {zone}" if zone else program


def is_zone(text: str) -> bool:
    """True if this can be the name of a zone."""
    return _RESOURCE.match(f"zombie 0 zone {text}") is not None


def declared(resources: Iterable[str]) -> tuple[str, str] | None:
    """Return the program and the zone that a worker declares; None for a worker of something else."""
    found = [match for name in resources if (match := _RESOURCE.match(str(name)))]
    return (found[0].group(1), found[0].group(2) or "") if len(found) == 1 else None


@dataclass(slots=True)
class Roster:
    """The present workers: those of this version by address with their zone, those of others by name."""

    zones: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, identity: Mapping[str, Any], program: str) -> Roster:
        """Make it from the scheduler's description of itself."""
        roster = cls()
        for address, worker in dict(identity.get("workers") or {}).items():
            said = declared(worker.get("resources") or {})
            if said is not None and said[0] == program:
                roster.zones[str(address)] = said[1]
            else:
                name = one_line(str(worker.get("name", address)), 80)
                roster.others[name] = said[0] if said is not None else "no worker of zombie"
        return roster

    def readers(self, zone: str) -> list[str]:
        """The workers that read this zone; an empty zone means workers without a zone."""
        return [address for address, theirs in self.zones.items() if theirs == zone]
