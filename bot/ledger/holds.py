"""Holds on nodes, budgets and the brake: read and written in the transaction that begins a step.

The tables follow from the entries: a step's beginning takes a hold, the incident's end releases it.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from bot.domain.claim import Claim, Hold
from bot.domain.entry import Entry, instant_of, instant_text
from bot.domain.errors import AlreadyTried, ApprovalExpired, BudgetSpent, NodeBusy
from bot.domain.house_events import BrakePulled
from bot.domain.incident import Incident
from bot.ledger.tables import ATTEMPTS, HOLDS, last_brake

_CLOCK_TOLERANCE = timedelta(minutes=1)  # by how much NTP may set a clock back

_BEAT = update(HOLDS).where(HOLDS.c.incident == bindparam("named"))
_OF_NODE = select(HOLDS).where(HOLDS.c.node == bindparam("named"))


def brake(connection: Connection) -> Entry | None:
    """Return the entry by which the brake was pulled, None while it is off."""
    moved = last_brake(connection)
    return moved if moved is not None and moved.kind == BrakePulled.__name__ else None


def held(connection: Connection, node: str, now: datetime) -> Hold | None:
    """Return the hold on the node."""
    row = connection.execute(_OF_NODE, {"named": node}).one_or_none()
    return None if row is None else _hold(row, now)


def may_begin(connection: Connection, incident: str, claim: Claim, now: datetime) -> None:
    """Check every limit across incidents.

    Raises: ApprovalExpired, NodeBusy, BudgetSpent or AlreadyTried when the step may not begin now.
    """
    if claim.until is not None and now >= claim.until:
        raise ApprovalExpired(f"The approval was valid until {claim.until:%H:%M:%S} UTC.")
    if claim.since is not None and now < claim.since - _CLOCK_TOLERANCE:
        raise ApprovalExpired("The ledger's clock was set back, so the age of the approval is unknown.")
    others = [row for row in connection.execute(select(HOLDS)) if row.incident != incident]
    if busy := next((row.incident for row in others if row.node == claim.node), None):
        raise NodeBusy(f"Incident {busy} acts on {claim.node}.", "It waits until that one has ended.")
    again = tried(connection, claim.remedy, now - claim.not_again_within)
    if again is not None and again != incident:
        raise AlreadyTried(f"Incident {again} carried out the same plan on {claim.node} less than a day ago.")
    _within_limits(connection, incident, claim, now, others)


def tried(connection: Connection, remedy: str, since: datetime) -> str | None:
    """Return the last incident that began this remedy since then."""
    newest = select(ATTEMPTS.c.incident).where(ATTEMPTS.c.remedy == remedy, ATTEMPTS.c.at > instant_text(since))
    found: str | None = connection.execute(newest.order_by(ATTEMPTS.c.at.desc()).limit(1)).scalar_one_or_none()
    return found


def take(connection: Connection, incident: str, step: int, claim: Claim, at: str) -> None:
    """Record the incident's hold on its node, and that its plan is being executed."""
    row = {"step": step, "runner": claim.runner, "beat_at": at}
    done = connection.execute(update(HOLDS).where(HOLDS.c.incident == incident).values(row))
    if not done.rowcount:
        labels = json.dumps(dict(claim.labels))
        connection.execute(insert(HOLDS).values(node=claim.node, incident=incident, labels=labels, **row))
    known = select(ATTEMPTS.c.incident).where(ATTEMPTS.c.incident == incident)
    if connection.execute(known).one_or_none() is None:
        connection.execute(insert(ATTEMPTS).values(incident=incident, node=claim.node, remedy=claim.remedy, at=at))


def beat(connection: Connection, incident: str, runner: str, at: str) -> None:
    """Record that the runner is alive and executes the incident."""
    connection.execute(_BEAT, {"named": incident, "runner": runner, "beat_at": at})


def release(connection: Connection, incident: Incident) -> None:
    """Release an ended incident's node."""
    connection.execute(delete(HOLDS).where(HOLDS.c.incident == incident.id))


def _within_limits(connection: Connection, incident: str, claim: Claim, now: datetime, others: list[Row[Any]]) -> None:
    limits = claim.limits
    if limits.percent is not None and limits.nodes < 1:
        raise BudgetSpent(f"The number of nodes is not known, so {limits.percent} % of them cannot be computed.")
    if len(others) >= limits.most_at_once:
        named = ", ".join(row.node for row in others[:3]) or "none"
        raise BudgetSpent(f"{limits.most_at_once} nodes may be acted on at once, and these are: {named}.")
    for label, most in limits.per_label.items():
        value = claim.labels.get(label)
        alike = Counter(json.loads(row.labels).get(label) for row in others)
        if value is None or alike[value] >= most:
            where = f"{label} = {value}" if value is not None else f"without the label {label}"
            raise BudgetSpent(f"{most} nodes {where} may be acted on at once, and no further one.")
    if limits.per_hour is not None:
        lately = select(func.count()).select_from(ATTEMPTS)
        lately = lately.where(ATTEMPTS.c.at > instant_text(now - timedelta(hours=1)), ATTEMPTS.c.incident != incident)
        if connection.execute(lately).scalar_one() >= limits.per_hour:
            raise BudgetSpent(f"{limits.per_hour} nodes may be acted on in an hour, and were.")


def _hold(row: Row[Any], now: datetime) -> Hold:
    silent = max(timedelta(0), now - instant_of(row.beat_at))
    return Hold(row.node, row.incident, row.step, row.runner, silent)
