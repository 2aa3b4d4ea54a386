"""Leases: which runner handles which group of incidents, with the heartbeats of the runners."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, and_, bindparam, case, delete, exists, insert, select, union, update

from bot.domain.contracts import Clock
from bot.domain.entry import instant_of, instant_text
from bot.ledger.database import Database
from bot.ledger.presence import Presence
from bot.ledger.tables import HOLDS, INCIDENTS, LEASES, POSTS, RUNNERS

SILENT = timedelta(seconds=10)  # a runner without a heartbeat for this long counts as dead
LONG_AGO = "1970-01-01T00:00:00.000Z"
_FORGOTTEN = timedelta(days=1)

# Built once: building a statement costs more than running it.
_CARD = case((INCIDENTS.c.group != "", INCIDENTS.c.group), else_=INCIDENTS.c.id)
_LIVE = select(RUNNERS.c.id).where(RUNNERS.c.beat_at.between(bindparam("since"), bindparam("until")))
_UNSEEN = union(
    select(_CARD)
    .select_from(INCIDENTS.outerjoin(LEASES, LEASES.c.group == _CARD))
    .where(~INCIDENTS.c.ended, LEASES.c.runner.is_(None)),
    select(LEASES.c.group).where(LEASES.c.runner.not_in(bindparam("live", expanding=True))),
)
_MINE = select(LEASES.c.group).where(LEASES.c.runner == bindparam("me"))
_BEAT = update(RUNNERS).where(RUNNERS.c.id == bindparam("me"))
# From the holds, which are few, to their incidents: the other way round, each heartbeat would read all incidents.
_HOLDS = update(HOLDS).where(
    HOLDS.c.runner == bindparam("me"),
    exists().where(INCIDENTS.c.id == HOLDS.c.incident, LEASES.c.group == _CARD, LEASES.c.runner == bindparam("me")),
)
_OWNER = select(LEASES.c.runner).where(LEASES.c.group == bindparam("named"))
_TAKE = update(LEASES).where(LEASES.c.group == bindparam("named"))
_OF_DEAD = update(HOLDS).where(
    HOLDS.c.runner.in_(select(RUNNERS.c.id).where(RUNNERS.c.id.not_in(bindparam("live", expanding=True)))),
    exists().where(INCIDENTS.c.id == HOLDS.c.incident, _CARD.in_(bindparam("cards", expanding=True))),
)
_LET_GO = delete(LEASES).where(
    LEASES.c.group == bindparam("named"),
    LEASES.c.runner == bindparam("me"),
    ~exists().where(and_(POSTS.c.incident == LEASES.c.group, POSTS.c.waiting)),
)


def live(connection: Connection, now: datetime, silent: timedelta = SILENT) -> list[str]:
    """Return the runners with a recent heartbeat. A heartbeat from the future (a clock was set back) does not count."""
    span = {"since": instant_text(now - silent), "until": instant_text(now + silent)}
    return list(connection.execute(_LIVE, span).scalars())


class Leases:
    """A runner's leases. Each method is a blocking transaction; `contracts.Leases` says what it guarantees.

    Shape: `presence` shows at once that a runner is gone. `time` replaces the database's clock in tests.
    """

    def __init__(
        self,
        database: Database,
        runner: str,
        silent: timedelta = SILENT,
        presence: Presence | None = None,
        time: Clock | None = None,
    ) -> None:
        self.runner = runner
        self._database = database
        self._silent = silent
        self._presence = presence
        self._time = time

    def beat(self) -> None:
        """Send the heartbeat of this runner and of its holds."""
        if self._presence is not None:
            self._presence.enter()
        with self._database.writing() as connection:
            now = self._now(connection)
            self._write_heartbeat(connection, now)
            connection.execute(_HOLDS, {"me": self.runner, "beat_at": instant_text(now)})

    def take(self, group: str, by_force: bool = False) -> bool:
        """Take the lease of a group. False while another live runner has it, unless `by_force`."""
        with self._database.writing() as connection:
            found = _owner(connection, group)
            others = {found} - {None, self.runner}
            if not by_force and others & self.alive(connection):
                return False
            self._write_heartbeat(connection, self._now(connection))
            if found != self.runner:
                self._write(connection, [group])
            return True

    def take_unowned(self, connection: Connection, group: str) -> None:
        """Take the lease of a group that no live runner has, in a transaction of the caller."""
        found = _owner(connection, group)
        if found is None or (found != self.runner and found not in self.alive(connection)):
            self._write_heartbeat(connection, self._now(connection))
            self._write(connection, [group])

    def claim(self) -> tuple[str, ...]:
        """Take the leases of all open groups that no live runner has, and return those groups."""
        with self._database.reading() as connection:  # polled often, and mostly empty
            if not self._unseen(connection, self.alive(connection)):
                return ()
        with self._database.writing() as connection:
            self._write_heartbeat(connection, self._now(connection))
            alive = self.alive(connection)
            cards = self._unseen(connection, alive)
            if cards:
                self._write(connection, cards)
                connection.execute(_OF_DEAD.values(beat_at=LONG_AGO), {"live": sorted(alive), "cards": cards})
        return tuple(cards)

    def mine(self) -> frozenset[str]:
        """Return the groups that this runner has a lease of."""
        with self._database.reading() as connection:
            return frozenset(connection.execute(_MINE, {"me": self.runner}).scalars())

    def let_go(self, groups: Iterable[str]) -> None:
        """Give up the leases of these groups, except those with waiting posts."""
        rows = [{"named": group, "me": self.runner} for group in groups]
        if rows:
            with self._database.writing() as connection:
                connection.execute(_LET_GO, rows)

    def leave(self) -> None:
        """Give up everything, so that others take over at once."""
        with self._database.writing() as connection:
            connection.execute(update(HOLDS).where(HOLDS.c.runner == self.runner).values(beat_at=LONG_AGO))
            connection.execute(delete(RUNNERS).where(RUNNERS.c.id == self.runner))
        if self._presence is not None:
            self._presence.leave()

    def alive(self, connection: Connection) -> set[str]:
        """Return the live runners. This runner always counts as alive: it does not take over from itself."""
        heard = set(live(connection, self._now(connection), self._silent)) - {self.runner}
        if self._presence is not None:
            heard = self._presence.present(connection, heard)
        return heard | {self.runner}

    def _unseen(self, connection: Connection, alive: Collection[str]) -> list[str]:
        return sorted(connection.execute(_UNSEEN, {"live": sorted(alive)}).scalars())

    def _write_heartbeat(self, connection: Connection, now: datetime) -> None:
        text = instant_text(now)
        if not connection.execute(_BEAT, {"me": self.runner, "beat_at": text}).rowcount:
            connection.execute(delete(RUNNERS).where(RUNNERS.c.beat_at < instant_text(now - _FORGOTTEN)))
            connection.execute(insert(RUNNERS).values(id=self.runner, beat_at=text))

    def _write(self, connection: Connection, groups: Iterable[str]) -> None:
        for group in groups:
            row: dict[str, Any] = {"named": group, "runner": self.runner}
            if not connection.execute(_TAKE, row).rowcount:
                connection.execute(insert(LEASES).values(group=group, runner=self.runner))

    def _now(self, connection: Connection) -> datetime:
        return self._time() if self._time is not None else instant_of(self._database.now(connection))


def _owner(connection: Connection, group: str) -> str | None:
    return connection.execute(_OWNER, {"named": group}).scalar_one_or_none()
