"""Waves in the ledger: each has its own stream, chained, and noted in `house` entry by entry."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, select, union_all

from bot.domain.alert import BOT
from bot.domain.claim import Claim
from bot.domain.contracts import Clock
from bot.domain.entry import WAVE_EVENTS, Entry, instant_of, instant_text, is_wave, is_who, kind_of
from bot.domain.errors import Braked, ImpossibleEvent
from bot.domain.house_events import HOUSE, EntryAnchored
from bot.domain.wave import Wave, fold_wave
from bot.domain.wave_events import WaveEvent
from bot.domain.wave_rules import NodeAlarm
from bot.ledger import holds
from bot.ledger.database import Database
from bot.ledger.entries import append_entry, read_stream
from bot.ledger.tables import INCIDENTS, MACHINES, SIGNALS, WAVES
from bot.ledger.wave_rows import write_wave


class Waves:
    """Reads and appends to waves. Each method is a blocking transaction.

    Shape: `time` replaces the database's clock in tests.
    """

    def __init__(self, database: Database, time: Clock | None = None) -> None:
        self._database = database
        self._time = time

    def append(self, wave: str, expected_seq: int, event: WaveEvent, by: str) -> Entry:
        """Append an event as the wave's entry `expected_seq + 1`, and return the entry.

        Raises: Conflict when the stream has another length; ImpossibleEvent when the event cannot come next.
        """
        if not is_wave(wave) or not is_who(by) or not isinstance(event, WAVE_EVENTS):
            raise ImpossibleEvent(f"{kind_of(event)} does not belong into the stream {wave} so.")
        with self._database.writing() as connection:
            now = self._now(connection)
            entry = append_entry(connection, wave, expected_seq, event, by, now)
            # Folded as it will be read, without secrets. If that fails the transaction is rolled back.
            write_wave(connection, fold_wave(read_stream(connection, wave)))
            anchor = EntryAnchored(wave, entry.kind, entry.seq, entry.hash)
            append_entry(connection, HOUSE, None, anchor, BOT, now)
            return entry

    def find(self, wave: str) -> Wave | None:
        """Return a stream's wave; None if there is no such stream.

        Raises: ImpossibleEvent, UnreadableEntry when the entries cannot be folded.
        """
        if not is_wave(wave):
            return None
        with self._database.reading() as connection:
            entries = read_stream(connection, wave)
        return fold_wave(entries) if entries else None

    def read(self, wave: str) -> tuple[Entry, ...]:
        """Return the wave's entries in order."""
        with self._database.reading() as connection:
            return read_stream(connection, wave) if is_wave(wave) else ()

    def ids(self, only_open: bool = False) -> tuple[str, ...]:
        """Return the ids of the waves."""
        asked = select(WAVES.c.id).order_by(WAVES.c.id)
        with self._database.reading() as connection:
            return tuple(connection.execute(asked.where(~WAVES.c.ended) if only_open else asked).scalars())

    def room(self, incident: str, claim: Claim) -> None:
        """Check whether a step could begin now; its beginning checks again.

        Raises: Braked, NodeBusy, BudgetSpent or AlreadyTried when it could not.
        """
        with self._database.reading() as connection:
            if (pulled := holds.brake(connection)) is not None:
                raise Braked(f"{pulled.by} pulled the brake at {pulled.at:%H:%M} UTC.")
            holds.may_begin(connection, incident, claim, instant_of(self._now(connection)))

    def alarms(self, since: datetime, people: frozenset[str]) -> tuple[NodeAlarm, ...]:
        """Return the alerts of sources about nodes since then; `people` are the kinds of alerts by people, left out.

        Shape: an alert counts as the incident that it opened, else as itself: in a case that fires already, or on a
        node whose incident is open or over, it opens none.
        """
        opened = select(INCIDENTS.c.node, INCIDENTS.c.opened_at.label("at")).where(
            INCIDENTS.c.opened_at >= instant_text(since), INCIDENTS.c.source.not_in(people)
        )
        others = select(SIGNALS.c.node, SIGNALS.c.at).where(SIGNALS.c.at >= instant_text(since), ~SIGNALS.c.opened)
        with self._database.reading() as connection:
            machines = {row.node: row.machine_id for row in connection.execute(select(MACHINES)) if row.machine_id}
            names: dict[str, set[str]] = {}
            for node, machine_id in machines.items():
                names.setdefault(machine_id, set()).add(node)
            return tuple(
                NodeAlarm(row.node, instant_of(row.at), frozenset(names.get(machines.get(row.node, ""), ())))
                for row in connection.execute(union_all(opened, others))
            )

    def orphans(self, before: datetime) -> tuple[str, ...]:
        """Return the open incidents, opened before then, of waves that were never proposed."""
        asked = select(INCIDENTS.c.id).where(
            ~INCIDENTS.c.ended,
            INCIDENTS.c.source_id.like("wave-%"),
            INCIDENTS.c.source_id.not_in(select(WAVES.c.id)),
            INCIDENTS.c.opened_at < instant_text(before),
        )
        with self._database.reading() as connection:
            return tuple(connection.execute(asked).scalars())

    def now(self) -> datetime:
        """Return the ledger's time, by which approvals expire."""
        with self._database.reading() as connection:
            return instant_of(self._now(connection))

    def _now(self, connection: Connection) -> str:
        return instant_text(self._time()) if self._time is not None else self._database.now(connection)
