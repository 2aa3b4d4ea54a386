"""`serve`: what a running bot is made of, from the settings in force."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import urlsplit

from bot.app.books import Books, books
from bot.app.journal import Journal
from bot.app.service import Service
from bot.domain.errors import SettingsError
from bot.inventory import Inventory
from bot.settings import Settings
from bot.surfaces.slack.connection import SlackTokens, is_loopback


def serve(settings: Settings, known: Inventory, database_url: str, environment: Mapping[str, str]) -> int:
    """Run until SIGTERM or Ctrl-C and return the exit status.

    Raises: SettingsError when a token is missing or not taken; LedgerUnavailable when the ledger cannot be opened.
    """
    tokens = slack_tokens(settings)
    journal = Journal(secrets=settings.secrets)
    with journal.everything(), books(database_url) as kept:
        asyncio.run(_run(settings, known, tokens, kept, environment, journal))
    return 0


async def _run(
    settings: Settings,
    known: Inventory,
    tokens: SlackTokens,
    kept: Books,
    environment: Mapping[str, str],
    journal: Journal,
) -> None:
    await Service(settings, known, tokens, kept, environment, journal).run()


def slack_tokens(settings: Settings) -> SlackTokens:
    """Return the tokens in force.

    Raises: SettingsError when a token is missing, or the API's base is neither https nor loopback.
    """
    bot = settings.get("slack_bot_token")
    if not bot:
        raise SettingsError(
            "SLACK_BOT_TOKEN is not set.",
            "Set it to the xoxb-… token of “OAuth & Permissions”: SLACK_BOT_TOKEN=xoxb-1234-… zombie serve. "
            "Without a Slack at hand: zombie demo",
        )
    app, secret = settings.get("slack_app_token"), settings.get("slack_signing_secret")
    if not (app or secret):
        raise SettingsError(
            "Slack cannot reach the bot: neither SLACK_APP_TOKEN nor SLACK_SIGNING_SECRET is set.",
            "Set SLACK_APP_TOKEN=xapp-1-… for Socket Mode, which needs no inbound port, or "
            "SLACK_SIGNING_SECRET=8f74… for HTTP.",
        )
    url = str(settings.get("slack_api_url"))
    if urlsplit(url).scheme != "https" and not (urlsplit(url).scheme == "http" and is_loopback(url)):
        raise SettingsError("SLACK_API_URL is neither https nor on loopback.", "Leave it out for Slack itself.")
    return SlackTokens(str(bot), str(app or ""), str(secret or ""), url if url.endswith("/") else url + "/")
