"""The row of each wave: written with each of its entries, and read in the transaction that begins a step."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from bot.domain.entry import instant_of, instant_text
from bot.domain.errors import WaveHeld
from bot.domain.incident import Incident
from bot.domain.wave import Wave, WaveState
from bot.ledger.tables import WAVES

_UPDATE = update(WAVES).where(WAVES.c.id == bindparam("named"))


def wave_line(wave: Wave) -> dict[str, Any]:
    """Return a wave's row."""
    return {
        "id": wave.id,
        "state": wave.state.value,
        "until": instant_text(wave.until) if wave.until is not None else "",
        "turns": json.dumps([turn.member.incident for turn in wave.under_way]),
        "ended": wave.ended,
    }


def write_wave(connection: Connection, wave: Wave) -> None:
    """Write the wave's row."""
    line = wave_line(wave)
    if not connection.execute(_UPDATE, line | {"named": wave.id}).rowcount:
        connection.execute(insert(WAVES).values(**line))


def may_act(connection: Connection, incident: Incident, is_first: bool, now: datetime) -> None:
    """Check that the wave lets a step of this incident begin, or be sent again, now.

    Shape: the first step begins within the time of the wave's approval; a plan that has begun may go on after it.
    Raises: WaveHeld when it does not.
    """
    row = connection.execute(select(WAVES).where(WAVES.c.id == incident.wave)).one_or_none()
    if row is None:
        raise WaveHeld(f"Wave {incident.wave} is not on record, so nothing of it begins.")
    if row.state != WaveState.RUNNING.value:
        raise WaveHeld(f"Wave {incident.wave} is {row.state}.", f"zombie wave resume {incident.wave}")
    if incident.id not in json.loads(row.turns):
        raise WaveHeld(f"Wave {incident.wave} has not given {incident.node} the turn.")
    if is_first and now >= instant_of(row.until):
        raise WaveHeld(f"The approval of wave {incident.wave} was valid until {row.until}.")
