"""The brake: who may pull it, who may release it, and that a release applies to the present pull only.

Each pull has a number: that of its entry in the stream `house`. A release names it, and the ledger compares it in the
transaction that appends the release, so that a release of an earlier pull does nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.domain.entry import Entry
from bot.domain.errors import Refused, StaleRequest
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.domain.policy import Approval, Policy
from bot.domain.safe_text import one_line
from bot.ledger import Ledger
from bot.response.decision import guards
from bot.response.incident_record import refusals_noted

# Slack's time of a request comes from another clock; a request this close to a pull may be from before it.
_CLOCKS_APART = timedelta(minutes=1)
_NO_REASON = "no reason given"


async def set_brake(
    policy: Policy,
    ledger: Ledger,
    approval: Approval,
    *,
    on: bool,
    pull: int = 0,
    asked_at: datetime | None = None,
    anybody: bool = False,
    request: str = "",
) -> Entry | None:
    """Pull the brake or release it, and return the entry of the pull that is on; refusals are recorded too.

    Shape: `pull` is the number of the pull to release; 0 means the present pull, unless it was pulled after
    `asked_at`, or less than a minute before. `anybody` lets the person pull it although the policy does not name
    them, for a person who may be in a group that cannot be read now. `request` is the name of the request, empty
    where it is never repeated: a pull on record under it is not made again.

    Raises: NotAnApprover; StaleRequest when another pull is on than was meant.
    """
    async with refusals_noted(ledger, f"brake {'on' if on else 'off'}", approval.by):
        if not (on and anybody):
            guards.check_may_approve(policy, approval)
        if on:
            await pull_brake(ledger, approval, request)
        else:
            await _release(ledger, approval, pull, asked_at)
    return await ledger.brake_pull()


async def pull_brake(ledger: Ledger, approval: Approval, request: str = "") -> None:
    """Pull the brake for anybody; `request` as for `set_brake`."""
    await ledger.append(HOUSE, None, BrakePulled(_reason(approval), request), approval.by)


async def _release(ledger: Ledger, approval: Approval, pull: int, asked_at: datetime | None) -> None:
    present = await ledger.brake_pull()
    if present is None:
        return
    if pull not in (0, present.seq):
        raise stale_release(present, f"That was about pull #{pull}.")
    if not pull and asked_at is not None and asked_at < present.at + _CLOCKS_APART:
        before = asked_at < present.at
        raise stale_release(
            present, "You asked before it was pulled." if before else "You asked right after it was pulled."
        )
    try:
        await ledger.append(HOUSE, None, BrakeReleased(_reason(approval), present.seq), approval.by)
    except StaleRequest as no:
        if (other := await ledger.brake_pull()) is None:
            return  # another person has just released it
        raise stale_release(other, f"That was about pull #{present.seq}.") from no


def stale_release(present: Entry, why: str) -> Refused:
    """Return the refusal of a release that does not name the present pull."""
    return StaleRequest(
        f"{why} Pull #{present.seq} is on, and nothing was released: {pull_words(present)}",
        f"To release that pull: /zombie brake off #{present.seq}",
    )


def pull_words(pull: Entry) -> str:
    """Return who pulled the brake, when and why."""
    reason = one_line(str(pull.body.get("reason", "")), 200)
    return f"{pull.by} pulled it at {pull.at:%H:%M} UTC: {reason}"


def _reason(approval: Approval) -> str:
    return one_line(approval.reason.strip(), 500) or _NO_REASON
