"""Finds machines with several names, and reports them at the start and after a check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.domain.contracts import Log
from bot.domain.errors import LedgerError
from bot.domain.safe_text import one_line
from bot.domain.verdict import Verdict
from bot.inventory import Inventory
from bot.probes.host import machine_id_of

if TYPE_CHECKING:
    from bot.ledger import Ledger


async def log_shared_machines(known: Inventory, ledger: Ledger, log: Log) -> None:
    """Log which names of the inventory share a machine-id; without the ledger the bot starts all the same."""
    try:
        found = await ledger.machines()
    except LedgerError as error:
        log("ledger_unavailable", error=str(error))
        return
    for machine_id, names in found.items():
        ours = [name for name in names if known.knows(name)]
        if len(ours) > 1:
            log("one_machine", nodes=ours, machine_id=machine_id)


def shared_machine_words(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return a sentence for each machine that was read under several names."""
    names: dict[str, list[str]] = {}
    for verdict in verdicts:
        if machine_id := machine_id_of(verdict):
            names.setdefault(machine_id, []).append(verdict.node)
    return tuple(
        f"{one_line(', '.join(several), 300)} share the machine-id {one_line(machine_id, 40)}: "
        "the same machine, or a copied image."
        for machine_id, several in names.items()
        if len(several) > 1
    )
