"""The systemd services of a node, looked at twice."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Unit:
    """One service as `systemctl show` tells it; `..._later` is the second look. None: this systemd does not tell."""

    name: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    load: str = "loaded"
    active: str = "active"
    sub: str = "running"
    active_later: str | None = None
    sub_later: str | None = None
    result: str = "success"
    restarts: int | None = None  # NRestarts, since systemd 235
    restarts_later: int | None = None
    started_usec: int | None = None  # ExecMainStartTimestampMonotonic
    started_usec_later: int | None = None
    state_changed_usec: int | None = None  # StateChangeTimestampMonotonic: when it came to this state
    enabled: str = ""  # UnitFileState
    restart: str = "no"  # Restart=
    restart_after: timedelta | None = None  # RestartSec=
    exit_code: int | None = None  # ExecMainCode: 1 exited, 2 killed, 3 dumped
    exit_status: int | None = None
    fragment: str = ""
    triggered_by: tuple[str, ...] = ()
    wanted_by: tuple[str, ...] = ()
    required_by: tuple[str, ...] = ()
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
        """True when systemd waits to start it again, in either look."""
        return any(sub is not None and sub.startswith("auto-restart") for sub in (self.sub, self.sub_later))

    @property
    def restarted_in_window(self) -> bool:
        """True when it was started again between the two looks."""
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
class FailedUnit:
    """A unit of any type that is failed: its name, description and the line that says so."""

    name: str
    description: str
    source: str


@dataclass(frozen=True, slots=True)
class UnitsReading:
    """Services with their restarts, and every failed unit; `systemd` False: no systemd runs here."""

    probe: ClassVar[str] = "units"

    systemd: bool
    services: tuple[Unit, ...] = ()
    failed_units: tuple[FailedUnit, ...] = ()
    systemd_version: str = ""
    journal_read: bool = True  # False: restarts in the journal could not be counted

    def get(self, name: str) -> Unit | None:
        """Return the service of that name or alias."""
        return next((unit for unit in self.services if name == unit.name or name in unit.aliases), None)

    @property
    def failed_count(self) -> int:
        """How many units of any type are failed."""
        return len(self.failed_units)

    @property
    def restarting_count(self) -> int:
        """How many services are between tries or were started again inside the window."""
        return sum(1 for unit in self.services if unit.between_tries or unit.restarted_in_window)
