"""Holds on nodes, budgets and the brake: read and written in the transaction that begins a step.

The tables follow from the entries: a step's beginning takes a hold, the incident's end releases it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, delete, func, insert, or_, select, update

from bot.domain.claim import CLOCK_TOLERANCE, Claim, Hold, busy_words, check_brake_off, check_not_quiet
from bot.domain.entry import Entry, instant_of, instant_text
from bot.domain.errors import AlreadyTried, ApprovalExpired, BudgetSpent, ImpossibleEvent, NodeBusy, UnreadableEntry
from bot.domain.fold import fold
from bot.domain.house_events import BrakePulled
from bot.ledger.entries import last_brake, read_stream
from bot.ledger.machines import count_extra_names
from bot.ledger.tables import ATTEMPTS, HOLDS, INCIDENTS

# Built once: building a statement costs more than running it.
_HOLDS = select(HOLDS)
_HERE = or_(
    func.lower(ATTEMPTS.c.node) == bindparam("here"),
    and_(ATTEMPTS.c.machine_id == bindparam("machine"), ATTEMPTS.c.machine_id != ""),
)
_TRIED = (
    select(ATTEMPTS.c.incident)
    .where(
        or_(
            ATTEMPTS.c.remedy == bindparam("remedy"),
            and_(ATTEMPTS.c.cure == bindparam("cure"), ATTEMPTS.c.cure != "", _HERE),
        ),
        ATTEMPTS.c.at > bindparam("since"),
    )
    .order_by(ATTEMPTS.c.at.desc())
)
_LATELY = (
    select(func.count())
    .select_from(ATTEMPTS)
    .where(ATTEMPTS.c.at > bindparam("since"), ATTEMPTS.c.incident != bindparam("but"))
)
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_BEAT = update(HOLDS).where(HOLDS.c.incident == bindparam("named"))


def brake(connection: Connection) -> Entry | None:
    """Return the entry that pulled the brake; None while it is off."""
    moved = last_brake(connection)
    return moved if moved is not None and moved.kind == BrakePulled.__name__ else None


def hold_on(connection: Connection, node: str, machine_id: str, now: datetime) -> Hold | None:
    """Return the hold on the node, or on the same machine under another name; host names know no letter case."""
    rows = [row for row in connection.execute(_HOLDS) if _is_on_machine(row, node, machine_id)]
    row = next((row for row in rows if row.node == node), rows[0] if rows else None)
    return None if row is None else _hold_of_row(row, now)


def holds_its_node(connection: Connection, incident: str) -> bool:
    """Return whether an incident still has its node; after `zombie release` it has not."""
    found = select(func.count()).select_from(HOLDS).where(HOLDS.c.incident == incident)
    return bool(connection.execute(found).scalar_one())


def check_may_begin(connection: Connection, incident: str, claim: Claim, now: datetime) -> None:
    """Check every limit across incidents.

    Raises: NodeBusy, BudgetSpent or AlreadyTried when the step may not begin now.
    """
    others = check_may_repeat(connection, incident, claim, now)
    again = last_try(connection, claim, now - claim.not_again_within)
    if again is not None and again != incident:
        raise AlreadyTried(f"Incident {again} carried out the same plan on {claim.node} less than a day ago.")
    _check_limits(connection, incident, claim, now, others)


def check_open(connection: Connection, claim: Claim, now: datetime) -> None:
    """Check what nothing begins past, whatever begins: asked for a first command and for one that is sent again.

    Raises: ApprovalExpired, first, as whatever else a step waits for, its age may be known by then; Braked; QuietHours.
    """
    check_claim_in_time(claim, now)
    check_brake_off(brake(connection))
    check_not_quiet(claim.quiet, now)


def check_claim_in_time(claim: Claim, now: datetime) -> None:
    """Raises: ApprovalExpired when it is too late, or the age of what allows it is not known."""
    if claim.until is not None and now >= claim.until:
        raise ApprovalExpired(f"The approval was valid until {claim.until:%H:%M:%S} UTC.")
    if claim.since is not None and now < claim.since - CLOCK_TOLERANCE:
        raise ApprovalExpired("The ledger's clock was set back, so the age of the approval is unknown.")


def check_may_repeat(connection: Connection, incident: str, claim: Claim, now: datetime) -> list[Row[Any]]:
    """Check whether a step's command may be sent again, and return the holds of other incidents.

    Raises: NodeBusy when it may not be sent now.
    """
    others = [row for row in connection.execute(_HOLDS) if row.incident != incident]
    if busy := next((row for row in others if _is_on_machine(row, claim.node, claim.machine_id)), None):
        raise NodeBusy(busy_words(_hold_of_row(busy, now), claim.node), "It waits until that incident has ended.")
    return others


def begun_incidents(
    connection: Connection, cause: str, names: Collection[str], machine_id: str, since: datetime
) -> tuple[str, ...]:
    """Return the incidents with that cause in which a plan was begun on this machine since then, oldest first."""
    named = func.lower(ATTEMPTS.c.node).in_([name.lower() for name in names])
    here = or_(named, ATTEMPTS.c.machine_id == machine_id) if machine_id else named
    asked = select(ATTEMPTS.c.incident).join(INCIDENTS, INCIDENTS.c.id == ATTEMPTS.c.incident)
    asked = asked.where(ATTEMPTS.c.at > instant_text(since), INCIDENTS.c.cause == cause, here)
    return tuple(connection.execute(asked.order_by(ATTEMPTS.c.at)).scalars())


def last_try(connection: Connection, claim: Claim, since: datetime) -> str | None:
    """Return the last incident that carried out this plan on this machine since then, under any of its names.

    Shape: one of which it is known that no command ran, or that it was stopped before its last step, did not.
    """
    asked = {
        "remedy": claim.remedy,
        "cure": claim.cure,
        "here": claim.node.lower(),
        "machine": claim.machine_id,
        "since": instant_text(since),
    }
    tries = connection.execute(_TRIED, asked).scalars().all()
    return next((name for name in tries if _was_carried_out(connection, name)), None)


def _was_carried_out(connection: Connection, incident: str) -> bool:
    try:
        return fold(read_stream(connection, incident)).was_carried_out
    except (ImpossibleEvent, UnreadableEntry):
        return True


def record_hold(connection: Connection, incident: str, step: int, claim: Claim, at: str) -> None:
    """Record the incident's hold on its node, and that its plan is being executed."""
    row = {"step": step, "runner": claim.runner, "beat_at": at}
    done = connection.execute(update(HOLDS).where(HOLDS.c.incident == incident).values(row))
    if not done.rowcount:
        labels = json.dumps(dict(claim.labels))
        connection.execute(
            insert(HOLDS).values(node=claim.node, incident=incident, labels=labels, machine_id=claim.machine_id, **row)
        )
    known = select(ATTEMPTS.c.incident).where(ATTEMPTS.c.incident == incident)
    if connection.execute(known).one_or_none() is None:
        named = {"node": claim.node, "machine_id": claim.machine_id, "remedy": claim.remedy, "cure": claim.cure}
        connection.execute(insert(ATTEMPTS).values(incident=incident, at=at, **named))


def beat(connection: Connection, incident: str, runner: str, at: str) -> None:
    """Record that the runner is alive and executes the incident."""
    connection.execute(_BEAT, {"named": incident, "runner": runner, "beat_at": at})


def release(connection: Connection, incident: str) -> None:
    """Release the node of an incident that has ended, or cannot go on."""
    connection.execute(delete(HOLDS).where(HOLDS.c.incident == incident))


def _check_limits(connection: Connection, incident: str, claim: Claim, now: datetime, others: list[Row[Any]]) -> None:
    limits = claim.limits
    if limits.percent is not None:  # of machines, not of names
        limits = replace(limits, nodes=max(0, limits.nodes - count_extra_names(connection)))
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
            raise BudgetSpent(f"{most} nodes {where} may be acted on at once, and no more.")
    if limits.per_hour is not None:
        since = instant_text(now - timedelta(hours=1))
        if connection.execute(_LATELY, {"since": since, "but": incident}).scalar_one() >= limits.per_hour:
            raise BudgetSpent(f"{limits.per_hour} nodes may be acted on in an hour, and were.")


def _is_on_machine(row: Row[Any], node: str, machine_id: str) -> bool:
    return row.node.lower() == node.lower() or (bool(machine_id) and row.machine_id == machine_id)


def _hold_of_row(row: Row[Any], now: datetime) -> Hold:
    beat_at = instant_of(row.beat_at)
    if beat_at > now + CLOCK_TOLERANCE:  # written before the clock was set back: its runner has written none since
        beat_at = _LONG_AGO
    return Hold(row.node, row.incident, row.step, row.runner, max(timedelta(0), now - beat_at))
