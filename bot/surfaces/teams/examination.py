"""What `zombie doctor` checks in Teams: the app's secret, the signing keys, and the people whom the policy names."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from bot.chat.service import Timing
from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.domain.errors import CannotTell, NotAnApprover, SettingsError
from bot.domain.policy import Policy
from bot.surfaces.member import DoctorChecks
from bot.surfaces.teams.calls import FAILURES, Connector, TeamsCalls, why
from bot.surfaces.teams.keys import SigningKeys
from bot.surfaces.teams.people import TeamsPeople, Whereabouts
from bot.surfaces.teams.settings import TeamsSettings

CALL_SECONDS = 8.0
NAMED = 20  # of the policy's people; the others are not looked up
APP, KEYS, PEOPLE = "Teams app", "Teams keys", "Teams approvers"
_REACH = "Can this machine reach Entra and Teams (TEAMS_… addresses, a proxy, DNS)?"


def looks(settings: TeamsSettings, policy: Policy) -> DoctorChecks:
    """Return what is looked at; nothing is posted and nothing changed."""
    try:
        settings.checked()
    except SettingsError as no:
        found = (DoctorFinding(APP, Mark.WRONG, no.sentence, no.try_next),)

        async def told() -> tuple[DoctorFinding, ...]:
            return found

        return ((APP, told),)
    examination = TeamsExamination(settings, policy)
    return ((APP, examination.app), (KEYS, examination.keys), (PEOPLE, examination.people))


class TeamsExamination:
    """Checks an app in its tenant."""

    def __init__(self, settings: TeamsSettings, policy: Policy) -> None:
        self._settings = settings
        self._policy = policy

    async def app(self) -> tuple[DoctorFinding, ...]:
        """Check that Entra takes the app's secret."""
        async with self._connector() as (connector, _):
            try:
                await connector.token()
            except SettingsError as no:
                return (DoctorFinding(APP, Mark.WRONG, no.sentence, no.try_next),)
            except FAILURES as error:
                return (DoctorFinding(APP, Mark.WRONG, f"Entra cannot be reached: {why(error)}", _REACH),)
        seen = f"{self._settings.app_id} in tenant {self._settings.tenant}; Teams has to reach it at /teams/messages"
        return (DoctorFinding(APP, Mark.OK, seen),)

    async def keys(self) -> tuple[DoctorFinding, ...]:
        """Check that the keys can be fetched which sign what Teams sends."""
        async with self._connector() as (_, http):
            keys = SigningKeys(self._settings, http, time.monotonic, lambda event, **_: None)
            if why_not := await keys.fetch():
                return (DoctorFinding(KEYS, Mark.WRONG, f"they cannot be fetched: {why_not}", _REACH),)
        return (DoctorFinding(KEYS, Mark.OK, "fetched"),)

    async def people(self) -> tuple[DoctorFinding, ...]:
        """Check that the approvers are full members, as the channel of alerts has them."""
        users = [user for by in sorted(self._policy.approvers) if (user := by.partition(":")[2]) and by[:6] == "teams:"]
        if not users:
            return (DoctorFinding(PEOPLE, Mark.NOT_SET, "[policy] approvers names nobody in Teams"),)
        if not self._settings.alerts_channel:
            return (DoctorFinding(PEOPLE, Mark.NOTE, "not looked up: [teams] alerts_channel is not set"),)
        strangers = list[str]()
        async with self._connector() as (connector, _):
            met = Whereabouts(self._settings.alerts_channel)
            asked = TeamsPeople(connector, TeamsCalls(connector, lambda event, **_: None), met, ())
            for user in users[:NAMED]:
                try:
                    await asked.admit(user)
                except (NotAnApprover, CannotTell) as no:
                    strangers.append(f"{user} ({no.sentence})")
        if strangers:
            hint = "Remove them from [policy] approvers, or correct their object ids."
            return (DoctorFinding(PEOPLE, Mark.WRONG, f"no members: {'; '.join(strangers)}", hint),)
        return (DoctorFinding(PEOPLE, Mark.OK, f"{len(users[:NAMED])} people"),)

    @asynccontextmanager
    async def _connector(self) -> AsyncIterator[tuple[Connector, httpx.AsyncClient]]:
        async with httpx.AsyncClient(timeout=CALL_SECONDS) as http:
            yield Connector(self._settings, http, Timing(call_limit=CALL_SECONDS)), http
