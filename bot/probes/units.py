"""The systemd services that run, start, stop or have failed, at two looks, and every failed unit.

Defined in: systemctl(1), org.freedesktop.systemd1(5); messages in systemd's src/systemd/sd-messages.h.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar

from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.protected import is_protected
from bot.domain.root_command import in_folders, root_line
from bot.probes.formats.systemctl import FailedUnit, failed_units, shown_units
from bot.probes.formats.systemd_span import systemd_span


@dataclass(frozen=True, slots=True)
class Unit:
    """A service as in `systemctl show`; `..._later` is the second look. None: this systemd does not have it."""

    name: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    load: str = "loaded"
    type: str = ""  # Type=: `oneshot`, `notify`; empty where it was not asked
    active: str = "active"
    sub: str = "running"
    active_later: str | None = None
    sub_later: str | None = None
    result: str = "success"
    restarts: int | None = None  # NRestarts, since systemd 235
    restarts_later: int | None = None
    started_usec: int | None = None  # ExecMainStartTimestampMonotonic
    started_usec_later: int | None = None
    state_changed_usec: int | None = None  # StateChangeTimestampMonotonic: when it entered this state
    enabled: str = ""  # UnitFileState
    restart: str = "no"  # Restart=
    restart_after: timedelta | None = None  # RestartSec=
    exit_code: int | None = None  # ExecMainCode: 1 exited, 2 killed, 3 dumped
    exit_status: int | None = None
    fragment: str = ""
    triggered_by: tuple[str, ...] = ()  # units that start it again: sockets, timers, and those that uphold it
    wanted_by: tuple[str, ...] = ()  # units that start it with them: their own word, or links of its [Install]
    stops_too: tuple[str, ...] = ()  # units that systemd stops with this unit
    part_of: tuple[str, ...] = ()
    control_group: str = ""
    restarts_logged: int = 0  # "Scheduled restart job" lines in the journal
    restarts_logged_over: timedelta | None = None  # from the first of those lines to the last
    protected: bool = False
    source: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """True when it is failed now."""
        return self.active == "failed"

    @property
    def between_tries(self) -> bool:
        """True when systemd waits to restart it, at either look."""
        return self.sub.startswith("auto-restart") or (self.sub_later or "").startswith("auto-restart")

    @property
    def works_once(self) -> bool:
        """True for a oneshot that is at work at both looks, in a run that no restart began: its end is its success."""
        looks = ((self.active, self.sub), (self.active_later or "", self.sub_later or ""))
        told = ({"Type": self.type, "ActiveState": active, "SubState": sub} for active, sub in looks)
        return all(map(works_once, told)) and not self.restarted_in_window and not self.most_restarts

    @property
    def restarted_in_window(self) -> bool:
        """True when it was restarted between the two looks."""
        if self.restarts is not None and self.restarts_later is not None and self.restarts_later > self.restarts:
            return True
        return (
            self.started_usec is not None
            and self.started_usec_later is not None
            and self.started_usec_later > self.started_usec > 0
        )

    @property
    def most_restarts(self) -> int:
        """The higher of the counter's two looks, 0 when systemd does not count."""
        return max(self.restarts or 0, self.restarts_later or 0)


@dataclass(frozen=True, slots=True)
class UnitsReading:
    """Services with their restarts, and every failed unit; `systemd` False: no systemd runs here."""

    probe: ClassVar[str] = "units"

    systemd: bool
    services: tuple[Unit, ...] = ()
    failed_units: tuple[FailedUnit, ...] = ()
    systemd_version: str = ""
    journal_read: bool = True  # False: restarts in the journal could not be counted
    seconds_between: float | None = None  # between the two looks, by the clock of the node
    looked_twice: bool = True  # False: a look failed, or ended before it had named every service

    def get(self, name: str) -> Unit | None:
        """Return the service of that name or alias."""
        return next((unit for unit in self.services if name == unit.name or name in unit.aliases), None)

    def stops_with(self, unit: Unit) -> tuple[str, ...]:
        """Return the units that stop when it is stopped, also those that stop with another of them, as far as shown."""
        found = list(unit.stops_too)
        for name in found:
            known = self.get(name)
            found += [other for other in (known.stops_too if known else ()) if other not in found]
        return tuple(found)

    @property
    def failed_count(self) -> int:
        """How many units of any type are failed."""
        return len(self.failed_units)

    @property
    def restarting_count(self) -> int:
        """How many services wait for a restart or were restarted inside the window."""
        return sum(1 for unit in self.services if unit.between_tries or unit.restarted_in_window)


def works_once(shown: Mapping[str, str]) -> bool:
    """Return whether `systemctl show` tells of a oneshot at work; one that systemd restarts again and again is none.

    Example:
    >>> works_once({"Type": "oneshot", "ActiveState": "activating", "SubState": "start", "NRestarts": "0"})
    True
    """
    at_work = shown.get("ActiveState") == "activating" and shown.get("SubState", "").startswith("start")
    return at_work and shown.get("Type", "") in ("", "oneshot") and shown.get("NRestarts", "0") == "0"


_STOPS_TOO = ("RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf", "PropagatesStopTo")  # the last since 249
_STARTED_BY = ("TriggeredBy", "UpheldBy")  # the second since 249
_WANTED_BY = ("WantedBy", "RequiredBy", "BoundBy")
PROPERTIES = (
    "Id",
    "Names",
    "Type",
    "Description",
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "NRestarts",
    "ExecMainCode",
    "ExecMainStatus",
    "ExecMainStartTimestampMonotonic",
    "StateChangeTimestampMonotonic",
    "UnitFileState",
    "FragmentPath",
    "Restart",
    "RestartUSec",
    *("WantedBy", "PartOf", "ControlGroup"),
    *_STARTED_BY,
    *_STOPS_TOO,  # two of _WANTED_BY are among them
)
_TELLING = ("ActiveState", "SubState", "Result", "ExecMainStatus", "NRestarts", "Restart", "RestartUSec")
# Each unit costs PID 1 half a millisecond, whichever properties are asked, so inactive units are not asked.
_STATES = "running,failed,activating,deactivating,reloading"
_MANY = 2 * 1024 * 1024

_NO_SYSTEMD = "no /run/systemd/system"
_ONLY_WITH_SYSTEMD = f"[ -d /run/systemd/system ] || {{ echo '{_NO_SYSTEMD}'; exit; }}"
_READ = "-- read --"
_JOURNAL = ("journalctl", "-b", "-q", "--no-pager", "-o", "short-monotonic", "--since=-1h")
_BY_ID = (*_JOURNAL, "-n", "2000", "_PID=1", "MESSAGE_ID=5eb03494b6584870a536b337290809b3")
# systemd before 236 gives the message no id; then PID 1's messages are searched for its text.
_BY_WORDS = (*_JOURNAL, "-n", "5000", "_PID=1")
_LIMIT = timedelta(seconds=8)


def _restarts_script(by_id: str, by_words: str) -> str:
    return (
        "case $(systemctl --version) in "
        f"'systemd 2'[0-2]?[!0-9]*|'systemd 23'[0-5][!0-9]*) {by_words} && echo '{_READ}';; "
        f"*) {by_id} && echo '{_READ}';; "
        f"esac | grep -a -e '^{_READ}' -e 'Scheduled restart job' -e 'scheduling restart'"
    )


# A login that may not read the journal gets no lines and no error, so the file's permission is checked first.
_OWN_WAY = (
    "for f in /run/log/journal/*/system.journal /var/log/journal/*/system.journal; do "
    f'[ -r "$f" ] && {{ {_restarts_script(shlex.join(_BY_ID), shlex.join(_BY_WORDS))}; break; }}; done'
)
_ROOTS_LINES = (root_line(argv, _LIMIT.total_seconds()) for argv in (_BY_ID, _BY_WORDS))
_ROOTS_WAY = f"[ -d /run/systemd/system ] && {_restarts_script(*_ROOTS_LINES)}"

_SCHEDULED = re.compile(
    r"\[\s*(?P<at>[0-9]{1,12}(?:\.[0-9]{1,9})?)\] \S+ systemd\[1\]: (?P<unit>\S.*?)(?:"
    r": Scheduled restart job|: Service [^:]{1,80}, scheduling restart| holdoff time over, scheduling restart)"
)
_STATUS = re.compile(r"-- status ([0-9]{1,3}) --")


def parse(outputs: Outputs) -> UnitsReading:
    """Read the services at both looks, the failed units, and the restarts in the journal.

    Unread when: systemd runs but does not answer. Without systemd there is an answer: `systemd` is False.
    """
    shown = outputs.text("show", 0)
    if shown.strip() == _NO_SYSTEMD:
        return UnitsReading(systemd=False)
    seen: dict[str, Mapping[str, str]] = {}  # most units are the same in both looks
    first, later = _rows_by_name(shown, seen), _rows_by_name(outputs.text_or_none("show", 1) or "", seen)
    if not first:
        raise CannotRead("units: systemctl named no unit")
    version, failed = _failed_units(outputs)
    journal = outputs.text_or_none("restarts")
    logged = _restarts_logged(journal or "")
    services = [_unit(name, first.get(name) or later[name], later.get(name)) for name in {**first, **later}]
    # Inactive now, so it was not asked about, but it was restarted repeatedly within the hour.
    shown_names = {name for unit in services for name in (unit.name, *unit.aliases)}
    services += [
        Unit(name, load="", active="inactive", sub="", result="") for name in sorted(logged.keys() - shown_names)
    ]
    return UnitsReading(
        systemd=True,
        services=tuple(_with_log(unit, logged.get(unit.name, [])) for unit in services),
        failed_units=failed,
        systemd_version=version,
        journal_read=journal is not None and _READ in journal.splitlines(),
        seconds_between=outputs.seconds_between("show"),
        looked_twice=all((run := outputs.get("show", look)) and run.exit_status == 0 for look in (0, 1)),
    )


def _rows_by_name(text: str, seen: dict[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    return {name: row for row in shown_units(text, seen) if (name := row.get("Id") or row.get("Names", ""))}


def _unit(name: str, row: Mapping[str, str], later: Mapping[str, str] | None) -> Unit:
    later = later or {}
    # A looping unit may run at a look and have ended at the other: how it ended counts.
    ended = later if row.get("Result") == "success" and later.get("Result", "success") != "success" else row
    aliases = tuple(alias for alias in row.get("Names", "").split() if alias != name)
    telling = [f"Id={name}", *(f"{key}={row[key]}" for key in _TELLING if key in row)]
    telling += [f"{key}={later[key]}" for key in _TELLING if key in later and later[key] != row.get(key)]
    return Unit(
        name=name,
        aliases=aliases,
        description=row.get("Description", ""),
        load=row.get("LoadState", ""),
        type=row.get("Type", ""),
        active=row.get("ActiveState", ""),
        sub=row.get("SubState", ""),
        active_later=later.get("ActiveState"),
        sub_later=later.get("SubState"),
        result=ended.get("Result", ""),
        restarts=_whole_number(row, "NRestarts"),
        restarts_later=_whole_number(later, "NRestarts"),
        started_usec=_whole_number(row, "ExecMainStartTimestampMonotonic"),
        started_usec_later=_whole_number(later, "ExecMainStartTimestampMonotonic"),
        state_changed_usec=_whole_number(row, "StateChangeTimestampMonotonic"),
        enabled=row.get("UnitFileState", ""),
        restart=row.get("Restart", ""),
        restart_after=systemd_span(row.get("RestartUSec", "")),
        exit_code=_whole_number(ended, "ExecMainCode"),
        exit_status=_whole_number(ended, "ExecMainStatus"),
        fragment=row.get("FragmentPath", ""),
        triggered_by=_names(row, _STARTED_BY),
        wanted_by=_names(row, _WANTED_BY),
        stops_too=_names(row, _STOPS_TOO),
        part_of=tuple(row.get("PartOf", "").split()),
        control_group=row.get("ControlGroup", ""),
        protected=is_protected((name, *aliases)),
        source=tuple(telling),
    )


def _names(row: Mapping[str, str], keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for key in keys for name in row.get(key, "").split()))


def _whole_number(row: Mapping[str, str], key: str) -> int | None:
    return int(value) if (value := row.get(key, "")).isascii() and value.isdigit() and len(value) <= 20 else None


def _failed_units(outputs: Outputs) -> tuple[str, tuple[FailedUnit, ...]]:
    lines = outputs.text("failed").splitlines()
    status = _STATUS.fullmatch(lines[-1]) if len(lines) > 1 else None
    if status is None or int(status.group(1)):
        raise CannotRead("units: the list of failed units never ended")
    version = re.match(r"systemd ([0-9]{1,4})", lines[0])
    return version.group(1) if version else "", failed_units("\n".join(lines[1:-1]))


def _restarts_logged(journal: str) -> dict[str, list[tuple[float, str]]]:
    logged: dict[str, list[tuple[float, str]]] = {}
    for line in journal.splitlines():
        found = _SCHEDULED.match(line)
        if found:
            logged.setdefault(found["unit"], []).append((float(found["at"]), line))
    return logged


def _with_log(unit: Unit, logged: list[tuple[float, str]]) -> Unit:
    if not logged:
        return unit
    over = timedelta(seconds=max(0.0, logged[-1][0] - logged[0][0]))
    source = (*unit.source, logged[-1][1])
    return replace(unit, restarts_logged=len(logged), restarts_logged_over=over, source=source)


_SHOW = f"{_ONLY_WITH_SYSTEMD}; exec systemctl show --no-pager --state={_STATES} -p {','.join(PROPERTIES)} '*.service'"
_FAILED = (
    f"{_ONLY_WITH_SYSTEMD}; systemctl --version | head -n 1; "
    'systemctl list-units --all --state=failed --plain --no-legend --no-pager --full; echo "-- status $? --"'
)

PROBE = Probe(
    name="units",
    title="systemd services",
    commands=(
        Command("show", ("sh", "-c", _SHOW), looks=SampleTimes.TWICE, lane="systemd", output_limit_bytes=_MANY),
        Command("failed", ("sh", "-c", _FAILED), lane="systemd", limit=_LIMIT),
        Command(
            "restarts",
            ("sh", "-c", _OWN_WAY),
            alternatives=(("sh", "-c", _ROOTS_WAY),),
            lane="journal",
            limit=_LIMIT,
            output_limit_bytes=512 * 1024,
            sudo=(*in_folders(_BY_ID), *in_folders(_BY_WORDS)),
        ),
    ),
    parse=parse,
    reading=UnitsReading,
)
