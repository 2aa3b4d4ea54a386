"""A person's request to check nodes: its incidents are opened, and their nodes read, also without a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.contracts import Clock, Leases, Ledger, Log
from bot.domain.errors import Conflict, LedgerError
from bot.domain.safe_text import one_line
from bot.response.diagnosis.diagnosis import Diagnosis
from bot.response.record import Opening


class CheckRequests:
    """Takes them. Whoever opens an incident has its lease."""

    def __init__(self, ledger: Ledger, leases: Leases, diagnosis: Diagnosis, clock: Clock, log: Log) -> None:
        self._ledger = ledger
        self._leases = leases
        self._diagnosis = diagnosis
        self._clock = clock
        self._log = log

    async def take(self, opening: Opening, nodes: Sequence[str]) -> None:
        """Open an incident for each node and have it read; nothing is done where the request is on record already.

        A ledger that cannot be asked never keeps anybody's node from being read.
        """
        group = [opening.unrecorded(node, self._clock()) for node in nodes]
        first = group[0]
        try:
            if (await self._ledger.head(first.id)).seq:
                return
            # Before it is on record: until then nobody else can find it without somebody who sees to it.
            if not await self._leases.take(opening.group):
                return
            entry = await self._ledger.append(first.id, 0, opening.received(first.node), opening.by)
            group[0] = replace(first, seq=entry.seq, head=entry.hash)
        except Conflict:
            return
        except LedgerError as error:
            self._log("record_failed", incident=first.id, error=one_line(str(error)))
        await self._diagnosis.begin(group)
