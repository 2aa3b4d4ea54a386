"""`serve`: runs a bot with the settings in force."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Mapping, Sequence

from bot.app.alerts import webhooks
from bot.app.bot import Bot
from bot.app.json_log import JsonLog
from bot.app.service import Service
from bot.app.stores import open_stores
from bot.domain.errors import SettingsError
from bot.domain.secret_forms import context, table
from bot.inventory import Inventory
from bot.seats import Extra, loaded
from bot.settings import Settings
from bot.sources.pagerduty_settings import PagerDutySettings
from bot.surfaces.slack.tokens import SlackTokens
from bot.surfaces.teams.settings import TeamsSettings

# A transaction gives the interpreter up and takes it back some fifteen times; beside a thread that computes, each costs
# this long. Python's own 5 ms made the answer to an alert wait for half a second in a storm.
SWITCH_SECONDS = 0.0005
# A short command looks for garbage rarely, and then among 100,000 objects: every answer waits for that.
ALLOCATIONS_BETWEEN_LOOKS = 2_000


def serve(
    settings: Settings,
    known: Inventory,
    database_url: str,
    environment: Mapping[str, str],
    extras: Sequence[Extra] = (),
) -> int:
    """Run until SIGTERM or Ctrl-C and return the exit status; without a chat where alerts come.

    Raises: SettingsError when a token is missing or rejected; LedgerUnavailable when the ledger cannot be opened.
    """
    has_slack, in_teams = any(settings.slack.access[:3]), settings.of(TeamsSettings).is_set
    has_chat = has_slack or in_teams
    if has_slack and in_teams:
        raise SettingsError("Slack and Teams are both set up.", "Set up one: a bot and its record serve one chat.")
    has_alerts = bool(webhooks(settings)) or settings.of(PagerDutySettings).poll
    if not has_chat and not has_alerts:
        for extra in extras:
            if extra.serves_alone:
                status: int | None = loaded(extra.serves_alone)(settings, known, database_url, environment)
                if status is not None:
                    return status
    tokens = SlackTokens.of(*settings.slack.access) if has_slack or not (has_chat or has_alerts) else None
    json_log = JsonLog(secrets=settings.secrets)
    with json_log.library_logs(), open_stores(database_url, settings.retention.deliveries, extras) as stores:
        sys.setswitchinterval(SWITCH_SECONDS)
        table().compile()
        context()
        gc.freeze()  # what is loaded is no garbage
        gc.set_threshold(ALLOCATIONS_BETWEEN_LOOKS)
        asyncio.run(_run(Bot(settings, known, tokens, stores, environment, json_log, extras=tuple(extras))))
    return 0


async def _run(bot: Bot) -> None:
    await Service(bot).run()
