"""Which group of incidents belongs to each alert of a source: decided in a transaction, so that replicas agree."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, delete, exists, func, insert, literal_column, select, update

from bot.domain.alert import AlertGroup, AlertStatus, Delivery, SourceKind
from bot.domain.entry import instant_of, instant_text
from bot.domain.intake_contracts import (
    Correlation,
    NodeNews,
    NodeSignal,
    OpenAlertGroup,
    Recurrence,
    Storm,
    StormLimits,
)
from bot.ledger.database import Store, reads, writes
from bot.ledger.incidents import summary_of
from bot.ledger.tables import CASES, FIRES, INCIDENTS, SIGNALS

_NOWHERE = ""  # the group of a case whose end arrived before its beginning
_BEGINNINGS = (Recurrence.NEW.value, Recurrence.AGAIN.value)

_OF = (CASES.c.source == bindparam("of_source"), CASES.c.name == bindparam("of_name"))
_ROW = select(CASES).where(*_OF)
_UPDATE = update(CASES).where(*_OF)
_INSERT = insert(CASES)
_SIBLING = (
    select(CASES)
    .where(CASES.c.key == bindparam("of_key"), CASES.c.turn.in_(_BEGINNINGS), CASES.c.group != _NOWHERE)
    .where(CASES.c.storm.in_(("", bindparam("of_storm"))))
    .order_by(CASES.c.opened_at.desc())
    .limit(1)
)
_OF_CASE = (SIGNALS.c.source == bindparam("of_source"), SIGNALS.c.name == bindparam("of_name"))
_SIGNALS = select(SIGNALS).where(*_OF_CASE)
_FIRING_NODES = select(SIGNALS.c.node).where(*_OF_CASE, SIGNALS.c.firing)
_ALL_SIGNALS = update(SIGNALS).where(*_OF_CASE)
_SIGNAL = _ALL_SIGNALS.where(SIGNALS.c.key == bindparam("of_key"), SIGNALS.c.node == bindparam("of_node"))
_FORGET = delete(SIGNALS).where(SIGNALS.c.at < bindparam("before"), ~SIGNALS.c.firing)
SIGNALS_KEPT = timedelta(days=9)  # a wave lasts 7 days at most, and asks for the day before it
_BUSY = select(exists().where(INCIDENTS.c.group == bindparam("of_group"), ~INCIDENTS.c.ended))
_LATELY = select(func.count()).select_from(CASES).where(CASES.c.opened_at > bindparam("since"))
_STORMS = select(CASES.c.storm).where(CASES.c.opened_at > bindparam("since"), CASES.c.storm != "").distinct()
_STORM = (
    select(CASES.c.storm)
    .where(CASES.c.opened_at > bindparam("since"), CASES.c.storm != "")
    .order_by(CASES.c.opened_at.desc())
    .limit(1)
)
_OPEN = (
    select(CASES)
    .where(CASES.c.source == bindparam("of_source"), CASES.c.over_at == FIRES, CASES.c.opened_at > bindparam("since"))
    .order_by(CASES.c.opened_at)
)
# Like in its partial index: most cases belong to no storm, and are not in the index.
_IS_OF_STORM = and_(CASES.c.storm == bindparam("of_storm"), CASES.c.storm != literal_column("''"))
_IN_STORM = select(func.count()).select_from(CASES).where(_IS_OF_STORM)
_OF_STORM = (
    select(INCIDENTS)
    .where(INCIDENTS.c.group.in_(select(CASES.c.group).where(_IS_OF_STORM)))
    .order_by(INCIDENTS.c.opened_at, INCIDENTS.c.id)
)


class DedupStore(Store):
    """Which group of incidents each case of a source has; every method is one transaction, so that replicas agree.

    Raises: every method raises LedgerUnavailable when the database does not answer.
    """

    @writes
    def record_firing(
        self, connection: Connection, delivery: Delivery, key: str, group: str, brakes: StormLimits
    ) -> Correlation:
        """Record that a case fires, and return where it goes; the same delivery gets the same answer again.

        Shape: `key` stands for its nodes and signature, empty if it may join no other case. A new case gets `group`.
        """
        alarm = _alarm_of(delivery)
        now = self.instant(connection)
        row = connection.execute(_ROW, _case_key(alarm)).one_or_none()
        if row is not None:
            if row.delivery == delivery.id:
                return Correlation(row.group, Recurrence(row.turn), row.storm)
            if row.over_at == FIRES:
                if (reopened_at := _reopened_at(alarm, row)) != row.reopened_at:
                    connection.execute(_UPDATE, _case_key(alarm) | {"reopened_at": reopened_at})
                lasts = row.storm == self._lasting_storm(connection, brakes, now)
                return Correlation(row.group, Recurrence.AGAIN, row.storm if lasts else "")
            if _is_late(alarm, instant_of(row.over_at)):
                return Correlation(row.group, Recurrence.OVER)
        storm = self._storm(connection, brakes, now)
        course = self._correlation(connection, row, key, Correlation(group, Recurrence.NEW, storm), brakes, now)
        if course.turn is not Recurrence.AGAIN:  # what ended unheard, as under a silence, fires on no other card
            connection.execute(_ALL_SIGNALS, _case_key(alarm) | {"firing": False})
        values = {
            "key": key,
            "group": course.group,
            "turn": course.turn.value,
            "delivery": delivery.id,
            "opened_at": instant_text(now),
            "over_at": FIRES,
            "storm": storm,
            "reopened_at": _reopened_at(alarm, row),
        }
        _write_case(connection, alarm, values, is_there=row is not None)
        return course

    @reads
    def news(
        self,
        connection: Connection,
        alarm: AlertGroup,
        seen: Sequence[NodeSignal],
        came_at: datetime,
        cooldown: timedelta,
    ) -> Mapping[str, NodeNews]:
        """Return what is news of each node with an alert that is, as it was when its delivery came.

        No verdict so far speaks of an alert that began anew, whether its end was told or not, and none from before its
        case was reopened; an alert that is not on record joins a verdict of the last `cooldown`.
        """
        reopened_at = (alarm.occurred_at or came_at) if alarm.happening is AlertStatus.REOPENED else None
        known = {(row.key, row.node): row for row in connection.execute(_SIGNALS, _case_key(alarm))}
        news: dict[str, NodeNews] = {}
        for signal in seen:
            was, fires = known.get((signal.key, signal.node)), signal.firing or not alarm.firing
            is_known = was is not None and was.firing and not "" < was.since < _since(signal)
            if fires and (reopened_at is not None or not is_known):
                before = reopened_at or (came_at if was is not None else came_at - cooldown)
                since = signal.since or came_at
                others = news.get(signal.node, NodeNews(before, since))
                news[signal.node] = NodeNews(max(before, others.before), max(since, others.since))
        return news

    @writes
    def record_node_signals(
        self, connection: Connection, alarm: AlertGroup, seen: Sequence[NodeSignal], opened: Collection[str]
    ) -> None:
        """Record which alerts of a case fire on which nodes, and since when; a repetition changes nothing.

        An alert of the delivery fires no more on a node that it is no longer about. Shape: `opened` are the nodes of
        which this delivery opened incidents, which say the same.
        """
        now = self.instant(connection)
        connection.execute(_FORGET, {"before": instant_text(now - SIGNALS_KEPT)})
        known = {(row.key, row.node): (row.firing, row.since) for row in connection.execute(_SIGNALS, _case_key(alarm))}
        told, about = {alert.key for alert in alarm.signals}, {(signal.key, signal.node) for signal in seen}
        gone = (NodeSignal(key, node, firing=False) for key, node in known if key in told and (key, node) not in about)
        for signal in (*seen, *gone):
            which, since = (signal.key, signal.node), _since(signal)
            was = known.get(which)
            if was in ((signal.firing, since), (signal.firing, "")) or (was is None and not signal.firing):
                continue  # a repetition, perhaps of what had no time then
            values: dict[str, Any] = {"firing": signal.firing, "since": since}
            if signal.firing:
                values |= {"at": instant_text(now), "opened": signal.node in opened}
            if was is not None:
                named = _case_key(alarm) | {"of_key": signal.key, "of_node": signal.node}
                connection.execute(_SIGNAL, named | values)
            else:
                named = {"source": alarm.source, "name": alarm.case, "key": signal.key, "node": signal.node}
                connection.execute(insert(SIGNALS), named | values)
            known[which] = (signal.firing, since)

    @writes
    def record_over(self, connection: Connection, delivery: Delivery) -> str:
        """Record that a case is over, and return its group; empty if it has none, or was reopened after this end.

        Where the delivery lists what is over, only that is: the case may have other alerts, of another sender. Where it
        does not say that the case is over, the case is once nothing on record of it fires.
        """
        alarm = _alarm_of(delivery)
        now = self.instant(connection)
        over_at = instant_text(alarm.occurred_at or now)
        row = connection.execute(_ROW, _case_key(alarm)).one_or_none()
        if row is not None and over_at < row.reopened_at:
            return _NOWHERE
        if row is not None:
            listed = [SIGNALS.c.key.in_([signal.key for signal in alarm.over])] if alarm.over else []
            connection.execute(_ALL_SIGNALS.where(*listed), _case_key(alarm) | {"firing": False})
            if (
                alarm.happening is AlertStatus.RESOLVED
                or connection.execute(_FIRING_NODES, _case_key(alarm)).first() is None
            ):
                connection.execute(_UPDATE, _case_key(alarm) | {"over_at": max(over_at, row.over_at)})
            return str(row.group)
        values = {"key": "", "group": _NOWHERE, "turn": Recurrence.OVER.value, "delivery": delivery.id}
        values |= {"opened_at": instant_text(now - timedelta(days=1)), "over_at": over_at}
        values |= {"storm": "", "reopened_at": ""}
        _write_case(connection, alarm, values, is_there=False)
        return _NOWHERE

    @reads
    def firing_nodes(self, connection: Connection, alarm: AlertGroup) -> frozenset[str]:
        """Return the nodes of which an alert of the case fires, as far as its source said."""
        return frozenset(connection.execute(_FIRING_NODES, _case_key(alarm)).scalars())

    @reads
    def open_cases(self, connection: Connection, source: SourceKind, since: datetime) -> tuple[OpenAlertGroup, ...]:
        """Return a source's cases that opened since then and are not over."""
        rows = connection.execute(_OPEN, {"of_source": source, "since": instant_text(since)})
        return tuple(OpenAlertGroup(source, row.name, row.group, instant_of(row.opened_at)) for row in rows)

    @reads
    def over_at(self, connection: Connection, source: SourceKind, case: str) -> datetime | None:
        """Return since when a case is over, by its source's clock; None while it fires, and where it is unknown."""
        row = connection.execute(_ROW, {"of_source": source, "of_name": case}).one_or_none()
        return instant_of(row.over_at) if row is not None and row.over_at != FIRES else None

    @reads
    def storms(self, connection: Connection, within: timedelta) -> tuple[str, ...]:
        """Return the names of the storms that had a new case within that time."""
        since = instant_text(self.instant(connection) - within)
        return tuple(connection.execute(_STORMS, {"since": since}).scalars())

    @reads
    def storm(self, connection: Connection, name: str, brakes: StormLimits) -> Storm:
        """Return the storm of that name as it stands."""
        is_on = name == self._lasting_storm(connection, brakes, self.instant(connection))
        cases = int(connection.execute(_IN_STORM, {"of_storm": name}).scalar_one())
        return Storm(name, is_on, cases, tuple(map(summary_of, connection.execute(_OF_STORM, {"of_storm": name}))))

    def _correlation(
        self,
        connection: Connection,
        row: Row[Any] | None,
        key: str,
        new: Correlation,
        brakes: StormLimits,
        now: datetime,
    ) -> Correlation:
        """Where a case goes that did not fire. What came in a storm has no card: only what comes in it joins that."""
        if row is not None and row.group != _NOWHERE and instant_of(row.over_at) > now - brakes.reopens_within:
            return replace(new, group=row.group, turn=Recurrence.AGAIN)
        siblings = {"of_key": key, "of_storm": new.storm}
        sibling = connection.execute(_SIBLING, siblings).one_or_none() if key else None
        if sibling is not None:
            is_busy = connection.execute(_BUSY, {"of_group": sibling.group}).scalar_one()
            if is_busy or instant_of(sibling.opened_at) > now - brakes.cooldown:
                return replace(new, group=sibling.group, turn=Recurrence.JOINS)
        return new

    def _storm(self, connection: Connection, brakes: StormLimits, now: datetime) -> str:
        """The storm that a new case belongs to, empty if there is none. A storm is named after its start time."""
        since = {"since": instant_text(now - brakes.storm_window)}
        if connection.execute(_LATELY, since).scalar_one() < brakes.storm_alerts:
            return ""
        return self._lasting_storm(connection, brakes, now) or f"storm-{now:%Y%m%d-%H%M%S}"

    def _lasting_storm(self, connection: Connection, brakes: StormLimits, now: datetime) -> str:
        """The storm that had a new case within the window; empty if none had."""
        since = instant_text(now - brakes.storm_window)
        return connection.execute(_STORM, {"since": since}).scalar_one_or_none() or ""


def _alarm_of(delivery: Delivery) -> AlertGroup:
    if delivery.alarm is None:
        raise ValueError(f"{delivery.id} has no case")
    return delivery.alarm


def _is_late(alarm: AlertGroup, over_at: datetime) -> bool:
    """True for a beginning that arrives after its end. Sources of whole groups deliver them in order."""
    return not alarm.whole and alarm.occurred_at is not None and alarm.occurred_at < over_at


def _reopened_at(alarm: AlertGroup, row: Row[Any] | None) -> str:
    """When a case was reopened last, by its source's clock: an end from before that does not end it."""
    before = str(row.reopened_at) if row is not None else ""
    if alarm.happening is not AlertStatus.REOPENED or alarm.occurred_at is None:
        return before
    return max(before, instant_text(alarm.occurred_at))


def _since(signal: NodeSignal) -> str:
    return instant_text(signal.since) if signal.since is not None else ""


def _case_key(alarm: AlertGroup) -> dict[str, Any]:
    return {"of_source": alarm.source, "of_name": alarm.case}


def _write_case(connection: Connection, alarm: AlertGroup, values: dict[str, Any], *, is_there: bool) -> None:
    if is_there:
        connection.execute(_UPDATE, _case_key(alarm) | values)
    else:
        connection.execute(_INSERT, {"source": alarm.source, "name": alarm.case} | values)
