"""A `zombie serve` whose readings take a moment and need no node: each that ends writes a line into a shared file.

Run as `python -m tests.alerts.serve_process FOLDER`, with the environment of `serve`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from bot.app.bot import Bot
from bot.app.json_log import JsonLog
from bot.app.service import Service
from bot.app.stores import open_stores
from bot.domain.contracts import Listener, ReadingStarted, VerdictReached
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.verdict import Verdict
from bot.inventory import Inventory
from bot.settings import Settings
from bot.sources import settings_of
from bot.surfaces.slack.tokens import SlackTokens
from tests.unit.surfaces.verdicts import FOUNDING

READING_SECONDS = 0.2


def main(folder: Path) -> None:
    """Serve until told to stop."""
    settings = Settings.load({}, os.environ, folder, members=settings_of())

    async def diagnose(node: Node, playbook: Playbook, heard: Listener) -> Verdict:
        heard(ReadingStarted(node.name, (), FOUNDING.took))
        await asyncio.sleep(READING_SECONDS)
        verdict = replace(FOUNDING, node=node.name)
        with (folder / "readings").open("a") as readings:  # one short line: written whole
            readings.write(f"{node.name} {os.getpid()}\n")
        heard(VerdictReached(verdict))
        return verdict

    async def serve() -> None:
        with open_stores(settings.database_url) as kept:
            known = Inventory.load(folder / "nodes.toml")
            json_log = JsonLog()
            bot = Bot(settings, known, SlackTokens.of(*settings.slack.access), kept, {}, json_log, diagnose=diagnose)
            await Service(bot).run()

    asyncio.run(serve())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
