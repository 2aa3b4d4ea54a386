"""Puts together the handling of alerts: which sources are set up, where alerts go, and the limits of a storm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.app.factories import chat_settings, now
from bot.app.pagerduty import asker_of
from bot.chat.background import Background
from bot.domain.alert import AlertGroup, SourceAlert
from bot.domain.engine_contracts import Notices
from bot.domain.errors import InventoryError
from bot.domain.incident import Incident
from bot.domain.intake_contracts import StormLimits
from bot.inventory import Inventory
from bot.library import Library
from bot.response.intake.alert_recorder import AlertRecorder
from bot.response.intake.intake import Intake, IntakeRules
from bot.response.intake.routing import NamedNodes, NamePlaces, Names, Route, Routes
from bot.settings import Settings
from bot.settings.tables import RouteSettings
from bot.sources import SOURCES
from bot.sources.body import know_names
from bot.sources.source import Source, Webhook
from bot.surfaces.hooks import Hooks
from bot.surfaces.teams.settings import TeamsSettings
from bot.surfaces.web import Handler

if TYPE_CHECKING:
    from bot.app.bot import Bot


@dataclass(slots=True)
class Alerts:
    """The parts that a service needs; `posts` are for the web edge."""

    posts: list[tuple[str, Handler]]
    intake: Intake
    recorder: AlertRecorder
    known: Inventory
    notices: Notices
    background: Background

    def start(self) -> None:
        """Begin to handle deliveries."""
        self.background.begin(self.intake.run(), "intake")

    async def stop(self, seconds: float) -> None:
        """Begin nothing more, and let running work finish, at most so many seconds."""
        await self.background.drain(0)
        await self.intake.drain(seconds)

    async def pick(self, incident_id: str, node: str, by: str) -> Incident:
        """Record which node a person says is meant.

        Raises: InventoryError for an unknown node; UnknownIncident, ImpossibleEvent.
        """
        if not self.known.knows(node):
            raise InventoryError(f"{node!r} is not in the inventory.")
        incident = await self.recorder.record_pick(incident_id, node, by)
        self.notices.changed(incident.card)
        return incident


def alerts(bot: Bot) -> Alerts:
    """Put it together; PagerDuty and Slack's people give more details of a page, where such."""
    stores, known, rules, arrivals, pagerduty = bot.stores, bot.known, bot.rules, bot.arrivals, bot.pagerduty
    recorder = AlertRecorder(stores.ledger)
    intake = Intake(
        stores.inbox,
        stores.cases,
        recorder,
        rules,
        known.nodes,
        bot.notices,
        arrivals,
        now,
        bot.log,
        complete=pagerduty.completed if pagerduty is not None else None,
        person_of=asker_of(pagerduty, bot.posting.connection.people(())),
    )
    know_names(lambda text: intake.names.words_in(text))
    found = webhooks(bot.settings, bot.sources)
    if found and not channel_of(rules):
        table = "teams" if bot.settings.of(TeamsSettings).is_set else "slack"
        because = f"[{table}] alerts_channel is not set: incidents of alerts have no card in {table.capitalize()}"
        bot.log("alerts_unseen", because=because)
    posts = Hooks(stores.inbox, now, bot.log, arrivals, bot.metered.counted).posts(found)
    return Alerts(posts, intake, recorder, known, bot.notices, Background(bot.log))


def webhooks(settings: Settings, sources: Iterable[Source] = SOURCES) -> tuple[Webhook, ...]:
    """Return the webhooks of the sources that have a secret."""
    made = (source.webhook(settings.of(source.settings)) for source in sources)
    return tuple(webhook for webhook in made if webhook is not None)


def rules_of(settings: Settings, playbooks: Library, sources: Iterable[Source] = SOURCES) -> IntakeRules:
    """Return the settings for alerts.

    Raises: PlaybookError when a route names an unknown playbook.
    """
    routes = _routes(settings)
    for name in routes.playbooks():
        playbooks.get(name)
    brakes = StormLimits(settings.policy.cooldown, settings.storm.alerts, settings.storm.window)
    named = {source.name: source.names_in(settings.of(source.settings)) for source in sources}
    places = {name: NamePlaces.of(paths, patterns) for name, (paths, patterns) in named.items()}
    return IntakeRules(routes, brakes, settings.policy.stale_after, places)


def _routes(settings: Settings) -> Routes:
    """The routes; values that a route leaves out have the general default."""
    playbook, channel = settings.playbook, chat_settings(settings).alerts_channel
    routes = tuple(
        Route(number, route.match, route.playbook or playbook, route.channel or channel, route.mode)
        for number, route in enumerate(settings.routes, 1)
    )
    return Routes(routes, Route(0, {}, playbook, channel, RouteSettings().mode))


def named_nodes_and_route(
    alarm: AlertGroup, signals: Sequence[SourceAlert], rules: IntakeRules, names: Names
) -> tuple[NamedNodes, Route, Mapping[str, Route]]:
    """Return which nodes an alert would name, which route it would take, and which each of its nodes."""
    alarm = replace(alarm, signals=tuple(signals))
    named, parts = names.parts(alarm, rules.places.get(alarm.source, NamePlaces()))
    own = {node: rules.routes.of_alarm(parts.get(node, alarm)) for node in named.nodes}
    return named, rules.routes.of_alarm(alarm), own


def channel_of(rules: IntakeRules) -> str:
    """Return the channel for news about all alerts: alerts_channel, else the first channel of a route."""
    return next((route.channel for route in (rules.routes.otherwise, *rules.routes.routes) if route.channel), "")
