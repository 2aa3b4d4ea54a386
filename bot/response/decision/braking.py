"""The brake: whoever may approve pulls it, and nobody else releases it."""

from __future__ import annotations

import contextlib

from bot.domain.approval import Approval
from bot.domain.contracts import ActingLedger
from bot.domain.entry import Entry
from bot.domain.errors import LedgerError, NotAnApprover
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased, WishRefused
from bot.domain.policy import Policy
from bot.domain.safe_text import one_line
from bot.response.decision import guards

NO_REASON = "no reason given"


async def moved(policy: Policy, ledger: ActingLedger, approval: Approval, *, on: bool) -> Entry | None:
    """Pull the brake or release it, and return by what it is on; a refusal is on record, too.

    Raises: NotAnApprover.
    """
    try:
        guards.is_named(policy, approval)
    except NotAnApprover as no:
        with contextlib.suppress(LedgerError):
            refused = WishRefused(no.name, no.sentence, f"brake {'on' if on else 'off'}")
            await ledger.append(HOUSE, None, refused, approval.by)
        raise
    reason = one_line(approval.reason.strip(), 500) or NO_REASON
    if on or await ledger.braked() is not None:
        await ledger.append(HOUSE, None, BrakePulled(reason) if on else BrakeReleased(reason), approval.by)
    return await ledger.braked()
