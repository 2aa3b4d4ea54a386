"""The bot that serves on this machine, checked over HTTP by its pages."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.domain.safe_text import one_line

MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LocalBot:
    """The bot at an address of this machine, if it serves there."""

    address: str

    async def fetched(self, path: str) -> str:
        """Return a page of it; empty if the status is no success.

        Raises: OSError when nothing answers there.
        """
        host, _, port = self.address.rpartition(":")
        here = "127.0.0.1" if host in ("", "0.0.0.0", "[::]") else host

        def get() -> str:
            with build_opener(ProxyHandler({})).open(f"http://{here}:{port}{path}", timeout=3) as answer:
                return str(answer.read(MOST_BYTES).decode(errors="replace"))

        try:
            return await asyncio.to_thread(get)
        except URLError as no:
            if getattr(no, "code", 0):
                return ""
            raise OSError(one_line(str(no.reason), 80)) from no

    async def examined(self) -> tuple[DoctorFinding, ...]:
        """Does it take work?"""
        try:
            page = await self.fetched("/readyz")
        except OSError as no:
            return (DoctorFinding("bot here", Mark.NOT_SET, f"no bot answers at {self.address} ({no})"),)
        if '"ready": true' in page:
            return (DoctorFinding("bot here", Mark.OK, f"takes work at {self.address}"),)
        hint = f"curl http://{self.address}/readyz says why"
        return (DoctorFinding("bot here", Mark.WRONG, f"at {self.address} takes no work", hint),)
