"""What the settings say of alerts: which sources are set up, where alerts go, and what keeps them from a flood."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.domain.alarm import AlertGroup, SourceAlert
from bot.domain.alarm_contracts import StormLimits
from bot.domain.node import Node
from bot.library import Library
from bot.response.intake.intake import Rules
from bot.response.intake.naming import Named, Names, Places
from bot.response.intake.routing import Route, Routes
from bot.settings import Settings
from bot.settings.tables import RouteSettings
from bot.sources import SOURCES
from bot.sources.source import Source, Webhook


def webhooks(settings: Settings, sources: Iterable[Source] = SOURCES) -> tuple[Webhook, ...]:
    """Return the webhooks of the sources that have a secret."""
    made = (source.webhook(settings.of(source.settings)) for source in sources)
    return tuple(webhook for webhook in made if webhook is not None)


def rules_of(settings: Settings, playbooks: Library, sources: Iterable[Source] = SOURCES) -> Rules:
    """Return what the settings say of alerts.

    Raises: PlaybookError when a route starts a playbook that is not there.
    """
    routes = _routes(settings)
    for name in routes.playbooks():
        playbooks.get(name)
    brakes = StormLimits(settings.policy.cooldown, settings.storm.alerts, settings.storm.window)
    named = {source.name: source.names_in(settings.of(source.settings)) for source in sources}
    places = {name: Places.of(paths, patterns) for name, (paths, patterns) in named.items()}
    return Rules(routes, brakes, settings.policy.stale_after, places)


def _routes(settings: Settings) -> Routes:
    """The routes; what one leaves out is as everywhere else."""
    playbook, channel = settings.playbook, settings.slack.alerts_channel
    routes = tuple(
        Route(number, route.match, route.playbook or playbook, route.channel or channel, route.mode)
        for number, route in enumerate(settings.routes, 1)
    )
    return Routes(routes, Route(0, {}, playbook, channel, RouteSettings().mode))


def explained(
    alarm: AlertGroup, signals: Sequence[SourceAlert], rules: Rules, nodes: Iterable[Node]
) -> tuple[Named, Route]:
    """Return which nodes an alarm would be about, and which route it would take."""
    firing = [signal for signal in signals if signal.firing]
    named = Names(nodes).found(alarm, firing, rules.places.get(alarm.source, Places()))
    return named, rules.routes.of_alarm(replace(alarm, signals=tuple(signals)))


def channel_of(rules: Rules) -> str:
    """Return the channel of what concerns all alerts: alerts_channel, else that of the first route that has one."""
    return next((route.channel for route in (rules.routes.otherwise, *rules.routes.routes) if route.channel), "")
