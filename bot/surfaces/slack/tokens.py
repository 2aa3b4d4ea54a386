"""The tokens by which the bot reaches its app in Slack."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.domain.errors import SettingsError
from bot.sources.addresses import is_safe_for_secrets


@dataclass(frozen=True, slots=True)
class SlackTokens:
    """The app's tokens from Slack; never shown, not even by repr."""

    bot: str = field(repr=False)
    app: str = field(repr=False)
    signing_secret: str = field(repr=False)
    api_url: str

    @classmethod
    def of(cls, bot: str, app: str, signing_secret: str, api_url: str) -> SlackTokens:
        """Return the tokens in force; an empty text means not set.

        Raises: SettingsError when a token is missing, or the API's base is neither https nor loopback.
        """
        if not bot:
            raise SettingsError(
                "SLACK_BOT_TOKEN is not set.",
                "Set it to the xoxb-… token of “OAuth & Permissions”: SLACK_BOT_TOKEN=xoxb-1234-… zombie serve. "
                "Without a Slack at hand: zombie demo",
            )
        if not (app or signing_secret):
            raise SettingsError(
                "Slack cannot reach the bot: neither SLACK_APP_TOKEN nor SLACK_SIGNING_SECRET is set.",
                "Set SLACK_APP_TOKEN=xapp-1-… for Socket Mode, which needs no inbound port, or "
                "SLACK_SIGNING_SECRET=8f74… for HTTP.",
            )
        if not is_safe_for_secrets(api_url):
            raise SettingsError("SLACK_API_URL is neither https nor on loopback.", "Leave it out for Slack itself.")
        base = api_url if api_url.endswith("/") else f"{api_url}/"
        return cls(bot, app, signing_secret, base)
