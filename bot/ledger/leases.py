"""Who sees to which incidents: a row for each runner, with its heartbeat, and a row for each group that has one."""

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

SILENT = timedelta(seconds=10)  # a runner that was not heard of for so long is taken for dead
LONG_AGO = "1970-01-01T00:00:00.000Z"
_FORGOTTEN = timedelta(days=1)

# Made once: to put a statement together costs more than to run it.
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
_HOLDS = update(HOLDS).where(
    HOLDS.c.runner == bindparam("me"),
    HOLDS.c.incident.in_(
        select(INCIDENTS.c.id).join(LEASES, LEASES.c.group == _CARD).where(LEASES.c.runner == bindparam("me"))
    ),
)
_TAKE = update(LEASES).where(LEASES.c.group == bindparam("named"))
_OF_DEAD = update(HOLDS).where(
    HOLDS.c.runner.in_(select(RUNNERS.c.id).where(RUNNERS.c.id.not_in(bindparam("live", expanding=True)))),
    HOLDS.c.incident.in_(select(INCIDENTS.c.id).where(_CARD.in_(bindparam("cards", expanding=True)))),
)
_LET_GO = delete(LEASES).where(
    LEASES.c.group == bindparam("named"),
    LEASES.c.runner == bindparam("me"),
    ~exists().where(and_(POSTS.c.incident == LEASES.c.group, POSTS.c.waiting)),
)


def live(connection: Connection, now: datetime, silent: timedelta = SILENT) -> list[str]:
    """Return the runners that are heard of; of one from the future, before a clock was put back, nothing is."""
    span = {"since": instant_text(now - silent), "until": instant_text(now + silent)}
    return list(connection.execute(_LIVE, span).scalars())


class Leases:
    """One runner's leases, each verb one transaction that blocks its thread; `contracts.Leases` has the promises.

    Shape: `presence` shows that a runner has gone before it was silent for long. `time` stands in for the database's
    own, where the whole run has a clock that is handed in.
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
        """Say that this runner is alive, and at work on the nodes it holds."""
        if self._presence is not None:
            self._presence.enter()
        with self._database.writing() as connection:
            now = self._now(connection)
            self._be_there(connection, now)
            connection.execute(_HOLDS, {"me": self.runner, "beat_at": instant_text(now)})

    def take(self, group: str, by_force: bool = False) -> bool:
        """See to a group from now on; False while another live runner does, whom only force can take it from."""
        with self._database.writing() as connection:
            now = self._now(connection)
            found = connection.execute(select(LEASES.c.runner).where(LEASES.c.group == group)).scalar_one_or_none()
            others = {found} - {None, self.runner}
            if not by_force and others & self.alive(connection):
                return False
            self._be_there(connection, now)
            if found != self.runner:
                self._write(connection, [group])
            return True

    def claim(self) -> tuple[str, ...]:
        """Take every group that no live runner sees to, and return those: what is open, and what the dead left."""
        with self._database.reading() as connection:  # asked often, and nearly always there is nothing
            if not self._unseen(connection, self.alive(connection)):
                return ()
        with self._database.writing() as connection:
            self._be_there(connection, self._now(connection))
            alive = self.alive(connection)
            cards = self._unseen(connection, alive)
            if cards:
                self._write(connection, cards)
                connection.execute(_OF_DEAD.values(beat_at=LONG_AGO), {"live": sorted(alive), "cards": cards})
        return tuple(cards)

    def mine(self) -> frozenset[str]:
        """Return the groups that this runner sees to."""
        with self._database.reading() as connection:
            return frozenset(connection.execute(_MINE, {"me": self.runner}).scalars())

    def let_go(self, groups: Iterable[str]) -> None:
        """See to these groups no longer; one of which posts are still waiting is kept."""
        rows = [{"named": group, "me": self.runner} for group in groups]
        if rows:
            with self._database.writing() as connection:
                connection.execute(_LET_GO, rows)

    def leave(self) -> None:
        """Leave everything to the others, at once."""
        with self._database.writing() as connection:
            connection.execute(update(HOLDS).where(HOLDS.c.runner == self.runner).values(beat_at=LONG_AGO))
            connection.execute(delete(RUNNERS).where(RUNNERS.c.id == self.runner))
        if self._presence is not None:
            self._presence.leave()

    def alive(self, connection: Connection) -> set[str]:
        """Return who is alive; this runner is, whatever is said of it: it does not take over from itself."""
        heard = set(live(connection, self._now(connection), self._silent)) - {self.runner}
        if self._presence is not None:
            heard = self._presence.those_there(connection, heard)
        return heard | {self.runner}

    def _unseen(self, connection: Connection, alive: Collection[str]) -> list[str]:
        return sorted(connection.execute(_UNSEEN, {"live": sorted(alive)}).scalars())

    def _be_there(self, connection: Connection, now: datetime) -> None:
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
