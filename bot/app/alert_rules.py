"""What the settings say of alerts: which sources are set up, where alerts go, and what keeps them from a flood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from bot.domain.alarm_contracts import Brakes
from bot.domain.duration import parse_duration
from bot.domain.errors import SettingsError
from bot.library import Library
from bot.response.intake import Rules
from bot.response.naming import Places
from bot.response.routing import Routes
from bot.settings import Settings
from bot.sources.alertmanager import AlertmanagerSource
from bot.sources.grafana import WINDOW, GrafanaSource
from bot.sources.pagerduty import PagerDutySource
from bot.sources.source import Source


def sources(settings: Settings) -> tuple[Source, ...]:
    """Return the sources that have a secret."""
    found: list[Source] = []
    if secrets := _parted(settings.get("pagerduty_webhook_secrets")):
        found.append(PagerDutySource(secrets))
    if token := str(settings.get("alertmanager_token") or "").strip():
        found.append(AlertmanagerSource(token))
    if secret := str(settings.get("grafana_webhook_secret") or "").strip():
        table = settings.tables.get("grafana", {})
        window = _duration(table, "window", WINDOW)
        found.append(GrafanaSource(secret, str(table.get("timestamp_header", "")), window))
    return tuple(found)


def rules_of(settings: Settings, playbooks: Library) -> Rules:
    """Return what the settings say of alerts.

    Raises: SettingsError when a route starts a playbook that is not there, or a pattern is none.
    """
    routes = Routes.of(settings.tables, settings.playbook)
    for name in routes.playbooks():
        playbooks.get(name)
    policy, storm = settings.tables.get("policy", {}), settings.tables.get("storm", {})
    usual = Brakes()
    brakes = Brakes(
        cooldown=_duration(policy, "cooldown", usual.cooldown),
        storm_alerts=int(storm.get("alerts", usual.storm_alerts)),
        storm_window=_duration(storm, "window", usual.storm_window),
    )
    table = settings.tables.get("pagerduty", {})
    try:
        places = Places.of(table.get("node_paths", ()), table.get("node_patterns", ()))
    except ValueError as no:
        raise SettingsError(f"[pagerduty] node_patterns: {no}.") from no
    stale_after = _duration(policy, "stale_after", timedelta(minutes=15))
    return Rules(routes, brakes, stale_after, places)


def channel_of(rules: Rules) -> str:
    """Return the channel of what concerns all alerts: alerts_channel, else that of the first route that has one."""
    return next((one.channel for one in (rules.routes.otherwise, *rules.routes.routes) if one.channel), "")


def _parted(secrets: Any) -> Sequence[str]:
    return [one.strip() for one in str(secrets or "").split(",") if one.strip()]


def _duration(table: Mapping[str, Any], key: str, default: timedelta) -> timedelta:
    return parse_duration(table[key]) if key in table else default
