"""A workspace, a fleet and a folder, and a doctor who looks at them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.app.doctor import Doctor
from bot.app.extras import shipped
from bot.demo.fleet import Fleet, Member, running
from bot.demo.fleet_leaks import AUTO_RESTART
from bot.demo.fleet_other_faults import BUSY
from bot.demo.slack.people import ALICE, GROUPS
from bot.domain.doctor_finding import DoctorFinding
from bot.inventory import Inventory
from bot.settings import Settings, database_url
from bot.sources import SOURCES, pagerduty
from bot.sources.pagerduty_examination import PagerDutyExamination
from bot.sources.pagerduty_settings import PagerDutySettings
from bot.sources.source import ServingBot
from bot.surfaces.slack.examination import SCOPES
from tests.alerts.pagerduty import QUICK
from tests.slack.workspace import SlackWorkspace, workspace

NODES = [Member(replace(AUTO_RESTART, name="sick"), "", "gpu"), Member(replace(BUSY, name="busy"), "", "gpu")]
POLICY = f"""
[policy]
approvers = ["{ALICE.id}"]
approver_groups = ["{GROUPS[0].id}"]
[act]
units = ["ecs.service"]
"""


async def quickly(settings: PagerDutySettings, bot: ServingBot) -> Sequence[DoctorFinding]:
    return await PagerDutyExamination(settings, bot, QUICK, ping_seconds=3.0).look()


@dataclass
class Surroundings:
    """A workspace and a fleet, and what a doctor is told of them."""

    slack: SlackWorkspace
    fleet: Fleet
    folder: Path
    seconds: float = 20.0

    def environment(self, **changes: str) -> dict[str, str]:
        told = {
            "HOME": str(self.folder),
            **self.slack.environment,
            "ZOMBIE_STATE_DIR": str(self.folder / "state"),
            "ZOMBIE_LISTEN": "127.0.0.1:1",
            "ZOMBIE_INVENTORY": str(self.fleet.inventory),
            **changes,
        }
        return {name: value for name, value in told.items() if value}

    async def examined(self, toml: str = POLICY, /, **changes: str) -> dict[str, DoctorFinding]:
        """Have everything looked at, and return it by name."""
        environment = self.environment(**changes)
        (self.folder / "zombie.toml").write_text(toml)
        settings = Settings.load({}, environment, self.folder, self.folder, members=shipped().settings)
        assert settings.inventory is not None
        known = Inventory.load(settings.inventory, home=self.folder)
        doctor = Doctor(
            settings,
            known,
            database_url(environment),
            environment,
            seconds=self.seconds,
            sources=tuple(
                replace(source, examine=quickly) if source == pagerduty.SOURCE else source for source in SOURCES
            ),
            extras=shipped(),
        )
        found = await doctor.examined()
        assert len({one.name for one in found}) == len(found)
        return {one.name: one for one in found}


@asynccontextmanager
async def surroundings(
    folder: Path, scopes: frozenset[str] = frozenset(SCOPES), late: float = 0.0
) -> AsyncIterator[Surroundings]:
    folder.joinpath("fleet").mkdir()
    began_at = datetime.now(UTC) - timedelta(seconds=late)
    async with (
        workspace(scopes=scopes) as slack,
        running(NODES, folder / "fleet", lambda: began_at) as fleet,
    ):
        yield Surroundings(slack, fleet, folder)
