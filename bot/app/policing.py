"""What the policy in force means, said at the start: in the log, and on record where it is another than before."""

from __future__ import annotations

from bot.domain.alert import BOT
from bot.domain.contracts import Ledger, Log
from bot.domain.errors import LedgerError, UnreadableEntry
from bot.domain.house_events import HOUSE, PolicyChanged
from bot.response.policy import Policy


async def note_policy(policy: Policy, ledger: Ledger, log: Log) -> None:
    """Say who may do what; a ledger that cannot be asked keeps nobody from starting."""
    if because := _why_nobody(policy):
        log("acting_off", because=because)
    else:
        log("acting_on", units=", ".join(sorted(policy.units)), at_once=policy.limits.at_once)
    try:
        if await _last(ledger) != policy.digest:
            await ledger.append(HOUSE, None, PolicyChanged(policy.digest, policy.text), BOT)
            log("policy_changed", digest=policy.digest)
    except LedgerError as error:
        log("ledger_unavailable", error=str(error))


def _why_nobody(policy: Policy) -> str:
    if not policy.names_anybody:
        return "nobody may approve anything: [policy] names no approvers"
    if not policy.acting:
        return "[policy] acting is off, or SLACK_API_URL is not Slack's: nothing is offered and nothing begins"
    if not policy.units:
        return "[act] units names no unit: nothing may be stopped"
    return ""


async def _last(ledger: Ledger) -> str:
    for entry in reversed(await ledger.read(HOUSE)):
        if entry.kind == PolicyChanged.__name__:
            try:
                event = entry.event
            except UnreadableEntry:
                return ""
            return event.digest if isinstance(event, PolicyChanged) else ""
    return ""
