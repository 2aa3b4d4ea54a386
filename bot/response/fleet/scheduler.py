"""The address of the scheduler for sweeps over several machines, and how to reach it.

Defined in: https://distributed.dask.org/en/stable/tls.html. Whoever reaches a Dask scheduler can run code on its
workers, which have keys of nodes. So there are only two ways: plain text within a machine, and TLS with certificates on
both sides.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from bot.domain.errors import SchedulerError
from bot.domain.safe_text import one_line

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
        host = urlsplit(self.url).hostname or ""
        if host == "localhost":
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False
