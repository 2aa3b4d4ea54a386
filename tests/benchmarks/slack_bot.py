"""The bot as a process of its own over nodes that answer at once and without Slack's spans, to see what it keeps."""

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from bot.app.bot import Bot
from bot.app.json_log import JsonLog
from bot.app.service import Service
from bot.app.stores import open_stores
from bot.domain.verdict import Verdict
from bot.inventory import Inventory
from bot.settings import Settings
from bot.sources import settings_of
from bot.surfaces.slack.tokens import SlackTokens
from tests.slack.service import QUICK, Readings
from tests.unit.surfaces.verdicts import FOUNDING


def _verdict(name: str) -> Verdict:
    evidence = tuple(replace(one, source=(f"{one.says} {name}",) * 40) for one in FOUNDING.evidence)
    return replace(FOUNDING, node=name, evidence=evidence)


async def _serve(folder: Path) -> None:
    settings = Settings.load({}, dict(os.environ), folder, members=settings_of())
    with open_stores(f"sqlite:///{folder / 'zombie.db'}") as kept:
        bot = Bot(
            settings,
            Inventory.load(folder / "inventory.toml"),
            SlackTokens.of(*settings.slack.access),
            kept,
            {},
            JsonLog(),
            diagnose=Readings(_verdict),
            timing=replace(QUICK, posts_span=0.001, edits_span=0.001),
        )
        await Service(bot).run()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
