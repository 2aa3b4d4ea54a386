"""`serve`: puts together a running bot from the settings in force."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from bot.app.json_log import JsonLog
from bot.app.mcp import asker_of, lone_toolbox, serve_alone
from bot.app.service import Service
from bot.app.stores import Stores, open_stores
from bot.inventory import Inventory
from bot.settings import Settings
from bot.surfaces.slack.member import SlackTokens


def serve(settings: Settings, known: Inventory, database_url: str, environment: Mapping[str, str]) -> int:
    """Run until SIGTERM or Ctrl-C and return the exit status.

    Raises: SettingsError when a token is missing or rejected; LedgerUnavailable when the ledger cannot be opened.
    """
    bot, app, signing, _ = settings.slack.access
    if settings.mcp.token and not (bot or app or signing):
        return _serve_mcp(settings, known, database_url, environment)
    tokens = SlackTokens.of(*settings.slack.access)
    json_log = JsonLog(secrets=settings.secrets)
    with json_log.everything(), open_stores(database_url, settings.retention.deliveries) as kept:
        asyncio.run(_run(settings, known, tokens, kept, environment, json_log))
    return 0


def _serve_mcp(settings: Settings, known: Inventory, database_url: str, environment: Mapping[str, str]) -> int:
    """Serve only /mcp, where no Slack is configured: without Slack nobody would see alerts' incidents."""
    json_log = JsonLog(secrets=settings.secrets)
    with json_log.everything(), open_stores(database_url, settings.retention.deliveries) as kept:
        json_log.log("slack_off", because="no Slack token is set: only /mcp is served, and no alerts are accepted")
        toolbox = lone_toolbox(
            settings, known, asker_of(settings), kept.ledger, kept.kept_cases, environment, json_log.log
        )
        asyncio.run(serve_alone(settings, toolbox, json_log, settings.listen))
    return 0


async def _run(
    settings: Settings,
    known: Inventory,
    tokens: SlackTokens,
    kept: Stores,
    environment: Mapping[str, str],
    json_log: JsonLog,
) -> None:
    await Service(settings, known, tokens, kept, environment, json_log).run()
