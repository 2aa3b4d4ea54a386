"""Microsoft Teams as a member of the surfaces: its people, its settings, what doctor looks at there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.domain.alert import TEAMS
from bot.domain.contracts import Clock
from bot.surfaces.descriptor import DoctorChecks, SurfaceDescriptor
from bot.surfaces.teams.settings import TeamsSettings

if TYPE_CHECKING:
    from bot.domain.policy import Policy


def doctor_checks(settings: Any, policy: Policy, now: Clock) -> DoctorChecks:
    ours: TeamsSettings = settings.of(TeamsSettings)
    if not ours.is_set:
        return ()
    from bot.surfaces.teams.examination import APP, examined

    return ((APP, lambda: examined(ours, policy)),)


SURFACE = SurfaceDescriptor(TEAMS, "in Teams", settings=TeamsSettings, looks=doctor_checks)
