"""A person's request to check nodes: opens its incidents and reads their nodes, also without a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.contracts import Clock, Log
from bot.domain.entry import Append
from bot.domain.errors import Conflict, LedgerError
from bot.domain.safe_text import one_line
from bot.ledger import Leases, Ledger
from bot.response.diagnosis.diagnosis import Diagnosis
from bot.response.incident_record import IncidentRequest


class IncidentOpener:
    """Takes requests. The program that opens an incident has its lease."""

    def __init__(self, ledger: Ledger, leases: Leases, diagnosis: Diagnosis, clock: Clock, log: Log) -> None:
        self._ledger = ledger
        self._leases = leases
        self._diagnosis = diagnosis
        self._clock = clock
        self._log = log

    async def open_and_read(self, opening: IncidentRequest, nodes: Sequence[str]) -> None:
        """Open an incident for each node, all at once, and have them read; does nothing if that is on record already.

        Nodes are read even when the ledger is down.
        """
        group = [opening.unrecorded(node, self._clock()) for node in dict.fromkeys(nodes)]
        first = group[0]
        try:
            if (await self._ledger.head(first.id)).seq:
                return
            # Leased before it is on record, so that no other program finds it without an owner.
            if not await self._leases.take(opening.group):
                return
            # All or none: a crash in between would lose the nodes that are not on record yet.
            entries = await self._ledger.append_together(
                [Append(member.id, 0, (opening.opening_event(member.node),), opening.by) for member in group]
            )
            told = zip(group, entries, strict=True)
            group = [replace(member, seq=entry.seq, head=entry.hash) for member, entry in told]
        except Conflict:
            return
        except LedgerError as error:
            self._log("record_failed", incident=first.id, error=one_line(str(error)))
        await self._diagnosis.begin(group)
