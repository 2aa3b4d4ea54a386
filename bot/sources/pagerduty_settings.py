"""PagerDuty's settings: the account, the webhook's secrets, and where to search for node names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.setting import TEXT, by_name, duration, option, patterns, row, secret
from bot.domain.toml_table import TomlTable

API = "https://api.pagerduty.com"
EVENTS = "https://events.pagerduty.com/v2/enqueue"


@dataclass(frozen=True, slots=True)
class PagerDutySettings:
    """The settings."""

    api_token: str = secret(
        "PagerDuty's REST API key. With it alerts are read completely, and each incident has a note with the verdict.",
        "PAGERDUTY_API_TOKEN",
    )
    sender: str = row(
        TEXT,
        "The e-mail address of the PagerDuty user in whose name notes are written.",
        "",
        environment="PAGERDUTY_FROM",
        name="pagerduty_from",
    )
    api_url: str = row(
        TEXT,
        "The base of PagerDuty's REST API, without a path; https, or http on loopback.",
        API,
        environment="PAGERDUTY_API_URL",
    )
    routing_key: str = secret(
        "The integration key of a service (Events API v2): nodes that were acted on but not fixed alert there.",
        "PAGERDUTY_ROUTING_KEY",
    )
    events_url: str = row(
        TEXT,
        "The whole address of PagerDuty's Events API; https, or http on loopback.",
        EVENTS,
        environment="PAGERDUTY_EVENTS_URL",
    )
    webhook_secrets: str = secret(
        "The signing secrets of PagerDuty's webhook, separated by commas during rotation; with a secret /pagerduty is "
        "there.",
        "PAGERDUTY_WEBHOOK_SECRETS",
    )
    subscription: str = option(
        TomlTable.text, "", "Which webhook subscription is the bot's; else the only one.", like='"PABC123"'
    )
    watch_every: timedelta = option(
        duration, timedelta(seconds=60), "How often the bot checks that the subscription is enabled."
    )
    relist_every: timedelta = option(
        duration, timedelta(seconds=30), "How often the bot looks for alerts that were added to an open incident."
    )
    poll: bool = option(TomlTable.flag, False, "Without webhooks: ask PagerDuty for incidents of the last 24 hours.")
    poll_every: timedelta = option(duration, timedelta(seconds=30), "How often it asks.")
    node_paths: tuple[str, ...] = option(
        TomlTable.texts, (), 'Where a node\'s name stands in an alert: "body.details.host"; empty: everywhere.'
    )
    node_patterns: tuple[re.Pattern[str], ...] = option(patterns, (), "Regular expressions that find a node's name.")
    fields: Mapping[str, str] = option(
        by_name(TomlTable.text), {}, 'Custom fields to set, each by its name in PagerDuty: { verdict = "…" }.'
    )

    @property
    def secrets(self) -> tuple[str, ...]:
        """The webhook's secrets; blank entries are dropped."""
        return tuple(secret for part in self.webhook_secrets.split(",") if (secret := part.strip()))
