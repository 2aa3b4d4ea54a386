"""Work that is done again and again while the bot serves, whatever it raises."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from bot.domain.contracts import Log
from bot.domain.errors import LedgerError
from bot.domain.safe_text import one_line


async def repeat(
    do: Callable[[], Awaitable[object]], seconds: float, log: Log, failed: str, wake: asyncio.Event | None = None
) -> None:
    """Do it, and again after so many seconds or as soon as `wake` is set, until cancelled.

    Shape: what it raises is logged as `failed`, the ledger's failures as ledger_unavailable; once, until it is another.
    """
    woken, said = wake or asyncio.Event(), ""
    while True:
        woken.clear()  # before, so that nothing is missed that comes meanwhile
        try:
            await do()
            said = ""
        except Exception as error:  # noqa: BLE001 - whatever one turn raises, the next one is due
            sentence = one_line(str(error) or repr(error), 300)
            if sentence != said:
                event = "ledger_unavailable" if isinstance(error, LedgerError) else failed
                log(event, error=sentence, kind=type(error).__name__)
            said = sentence
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await woken.wait()
