"""Waves in the ledger: each has its own stream, chained, and noted in `house` entry by entry, and a row in a table.

The row is written with each entry, and read in the transaction that begins a step.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, union_all, update

from bot.domain.alert import BOT
from bot.domain.claim import Claim
from bot.domain.contracts import Clock
from bot.domain.entry import Entry, instant_of, instant_text, is_author, is_wave, kind_of
from bot.domain.errors import ImpossibleEvent, UnreadableEntry, WaveHeld
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, EntryAnchored
from bot.domain.incident import Incident
from bot.extras.waves.events import WAVE_EVENTS, WaveEvent
from bot.extras.waves.wave import NodeAlarm, Wave, WaveState, fold_wave, fold_wave_entry
from bot.ledger import holds
from bot.ledger.database import Database, Store, reads, writes
from bot.ledger.entries import append_entry, head_of, read_stream
from bot.ledger.incidents import FoldCache
from bot.ledger.tables import INCIDENTS, MACHINES, SIGNALS, WAVES

_BY_STATE = select(WAVES.c.state, func.count()).group_by(WAVES.c.state)
_TICK = timedelta(milliseconds=1)
_UPDATE = update(WAVES).where(WAVES.c.id == bindparam("named"))


class WaveStore(Store):
    """The streams of waves. Raises: every method raises LedgerUnavailable when the database does not answer."""

    def __init__(self, database: Database, time: Clock | None = None) -> None:
        super().__init__(database, time)
        self._folds = FoldCache(fold_wave, fold_wave_entry)

    @writes
    def append(self, connection: Connection, wave: str, expected_seq: int, event: WaveEvent, by: str) -> Entry:
        """Append an event. Raises: Conflict or ImpossibleEvent when it cannot come next."""
        if not is_wave(wave) or not is_author(by) or not isinstance(event, WAVE_EVENTS):
            raise ImpossibleEvent(f"{kind_of(event)} does not belong into the stream {wave} so.")
        now, (_, last_at) = self.stamp(connection), head_of(connection, wave)
        # Each has a time of its own, as whoever resumes a wave names the last that they know by its time.
        later = instant_text(instant_of(last_at) + _TICK) if last_at else now
        entry = append_entry(connection, wave, expected_seq, event, by, max(now, later))
        # Folded as it will be read, without secrets. If that fails the transaction is rolled back.
        folded = self._folds.find(connection, wave)
        assert folded is not None
        write_wave(connection, folded)
        anchor = EntryAnchored(wave, entry.kind, entry.seq, entry.hash)
        append_entry(connection, HOUSE, None, anchor, BOT, now)
        return entry

    @reads
    def find(self, connection: Connection, wave: str) -> Wave | None:
        """Return the wave of that id; None if there is none."""
        return self._folds.find(connection, wave) if is_wave(wave) else None

    @reads
    def read(self, connection: Connection, wave: str) -> tuple[Entry, ...]:
        """Return the wave's entries in order."""
        return read_stream(connection, wave) if is_wave(wave) else ()

    @reads
    def ids(self, connection: Connection, only_open: bool = False) -> tuple[str, ...]:
        """Return the ids of the waves."""
        asked = select(WAVES.c.id).order_by(WAVES.c.id)
        return tuple(connection.execute(asked.where(~WAVES.c.ended) if only_open else asked).scalars())

    @reads
    def check_claim_fits(self, connection: Connection, incident: str, claim: Claim) -> None:
        """Raises: Braked, NodeBusy, BudgetSpent or AlreadyTried when a step could not begin now."""
        now = self.instant(connection)
        holds.check_open(connection, claim, now)
        holds.check_may_begin(connection, incident, claim, now)

    @reads
    def alarms(self, connection: Connection, since: datetime, people: frozenset[str]) -> tuple[NodeAlarm, ...]:
        """Return the alerts of sources about nodes since then, except those of these kinds."""
        opened = select(INCIDENTS.c.node, INCIDENTS.c.opened_at.label("at")).where(
            INCIDENTS.c.opened_at >= instant_text(since), INCIDENTS.c.source.not_in(people)
        )
        others = select(SIGNALS.c.node, SIGNALS.c.at).where(SIGNALS.c.at >= instant_text(since), ~SIGNALS.c.opened)
        machines = {row.node: row.machine_id for row in connection.execute(select(MACHINES)) if row.machine_id}
        names: dict[str, set[str]] = {}
        for node, machine_id in machines.items():
            names.setdefault(machine_id, set()).add(node)
        return tuple(
            NodeAlarm(row.node, instant_of(row.at), frozenset(names.get(machines.get(row.node, ""), ())))
            for row in connection.execute(union_all(opened, others))
        )

    @reads
    def orphans(self, connection: Connection, before: datetime) -> tuple[str, ...]:
        """Return the open incidents, opened before then, of waves that were never proposed."""
        asked = select(INCIDENTS.c.id).where(
            ~INCIDENTS.c.ended,
            INCIDENTS.c.source_id.like("wave-%"),
            INCIDENTS.c.source_id.not_in(select(WAVES.c.id)),
            INCIDENTS.c.opened_at < instant_text(before),
        )
        return tuple(connection.execute(asked).scalars())

    @reads
    def now(self, connection: Connection) -> datetime:
        """Return the ledger's time."""
        return self.instant(connection)


def wave_row(wave: Wave) -> dict[str, Any]:
    """Return a wave's row; once a node has failed it names no turn, until the wave is stopped for it."""
    is_failed = wave.state is WaveState.RUNNING and wave.unfixed
    return {
        "id": wave.id,
        "state": wave.state.value,
        "until": instant_text(wave.until) if wave.until is not None else "",
        "turns": json.dumps([] if is_failed else [turn.member.incident for turn in wave.under_way]),
        "ended": wave.ended,
    }


def write_wave(connection: Connection, wave: Wave) -> None:
    """Write the wave's row."""
    line = wave_row(wave)
    if not connection.execute(_UPDATE, line | {"named": wave.id}).rowcount:
        connection.execute(insert(WAVES).values(**line))


def check_may_begin(connection: Connection, incident: Incident, is_first: bool, now: datetime) -> None:
    """Check that the wave of an incident that has one lets a step of it begin, or be sent again, now.

    Shape: a plan begins within the time of the wave's approval, and may go on after it. Nothing begins from the moment
    at which another node under way has failed, whoever notes that, and whenever.
    Raises: WaveHeld when it does not.
    """
    if not incident.wave:
        return
    row = connection.execute(select(WAVES).where(WAVES.c.id == incident.wave)).one_or_none()
    if row is None:
        raise WaveHeld(f"Wave {incident.wave} is not on record, so nothing of it begins.")
    if incident.cure_has_held:  # what is left gives its node back: what has begun is finished
        return
    if row.state != WaveState.RUNNING.value:
        raise WaveHeld(f"Wave {incident.wave} is {row.state}.", f"zombie wave resume {incident.wave}")
    if incident.id not in (turns := json.loads(row.turns)):
        raise WaveHeld(f"Wave {incident.wave} has not given {incident.node} the turn.")
    for name in turns:
        try:
            other = fold(read_stream(connection, name))
        except (ImpossibleEvent, UnreadableEntry) as no:  # of a newer program, or damaged
            raise WaveHeld(f"Wave {incident.wave} waits: how {name} stands is not known: {no.sentence}") from no
        if other.is_unfixed:
            raise WaveHeld(f"Wave {incident.wave} stops: {other.node}: {other.result}.")
    if is_first and now >= instant_of(row.until):
        raise WaveHeld(f"The approval of wave {incident.wave} was valid until {row.until}.")


class WaveFollower:
    """Follows the streams of waves in an audit."""

    def after(self, before: Wave | None, entry: Entry, /) -> Wave:
        """Return the wave with the entry. Raises: ImpossibleEvent, UnreadableEntry."""
        return fold_wave((entry,)) if before is None else fold_wave_entry(before, entry)

    def row(self, found: Wave, /) -> Mapping[str, Any]:
        """Return the wave's row."""
        return wave_row(found)


FOLLOWER = WaveFollower()


class WaveCounts:
    """How many waves are in each state."""

    gauges: Mapping[str, tuple[str, tuple[str, ...]]] = {"zombie_waves": ("Waves on record by state.", ("state",))}

    def read(self, connection: Connection, /) -> Mapping[str, Mapping[tuple[str, ...], float]]:
        """Return the present values by gauge and labels."""
        found = {row[0]: row[1] for row in connection.execute(_BY_STATE)}
        return {"zombie_waves": {(state.value,): found.get(state.value, 0) for state in WaveState}}
