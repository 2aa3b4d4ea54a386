"""What `zombie doctor` checks in Teams: the app's secret, the signing keys, and the people whom the policy names."""

from __future__ import annotations

import time

from bot.chat.service import Timing
from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.domain.errors import CannotTell, NotAnApprover
from bot.domain.policy import Policy
from bot.surfaces.teams.connection import PATH, TeamsConnection
from bot.surfaces.teams.settings import TeamsSettings

CALL_SECONDS = 8.0
NAMED = 20  # of the policy's people; the others are not looked up
APP, PEOPLE = "Teams app", "Teams approvers"


async def examined(settings: TeamsSettings, policy: Policy) -> tuple[DoctorFinding, ...]:
    """Return what was found; nothing is posted and nothing changed.

    Raises: SettingsError when the settings are not complete, or refused.
    """
    teams = TeamsConnection(settings.checked(), Timing(time.monotonic, CALL_SECONDS), lambda event, **_: None)
    try:
        failure = await teams.start()
        if failure:
            hint = "Can this machine reach Entra and Teams (TEAMS_… addresses, a proxy, DNS)?"
            return (DoctorFinding(APP, Mark.WRONG, f"it cannot be used: {failure}", hint),)
        seen = f"{settings.app_id} in tenant {settings.tenant}; Teams has to reach it at {PATH}"
        return (DoctorFinding(APP, Mark.OK, seen), await _approvers(teams, policy))
    finally:
        await teams.stop()


async def _approvers(teams: TeamsConnection, policy: Policy) -> DoctorFinding:
    people, strangers = teams.people(()), list[str]()
    users = [by.partition(":")[2] for by in sorted(policy.approvers) if by.startswith(f"{people.chat}:")]
    if not users:
        return DoctorFinding(PEOPLE, Mark.NOT_SET, "[policy] approvers names nobody in Teams")
    for user in users[:NAMED]:
        try:
            await people.admit(user)
        except (NotAnApprover, CannotTell) as no:
            strangers.append(f"{user} ({no.sentence})")
    if strangers:
        hint = "Remove them from [policy] approvers, or correct their object ids; [teams] alerts_channel is looked in."
        return DoctorFinding(PEOPLE, Mark.WRONG, f"no members: {'; '.join(strangers)}", hint)
    return DoctorFinding(PEOPLE, Mark.OK, f"{len(users[:NAMED])} people")
