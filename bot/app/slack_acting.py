"""Acting in Slack, put together: the surface that shows incidents, and what takes clicks and subcommands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from bot.actions import ACTIONS
from bot.domain.contracts import ActingLedger, Log, Outbox
from bot.domain.incident import Incident
from bot.domain.policy import Policy
from bot.response.recorded import recorded
from bot.response.responder import Responder
from bot.surfaces.slack.calls import Timing
from bot.surfaces.slack.command_replies import CommandReplies
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.context import SlackContext
from bot.surfaces.slack.ephemeral import Ephemeral
from bot.surfaces.slack.home_desk import HomeDesk
from bot.surfaces.slack.listeners import InteractionHandler
from bot.surfaces.slack.part import MessageTarget
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.surface import SlackSurface


@dataclass(frozen=True, slots=True)
class Callbacks:
    """What Slack's parts ask of the service, each a method of it."""

    begins: Callable[[Coroutine[Any, Any, None], str], None]
    changed: Callable[[str], None]
    show_home: Callable[[str], None]
    picked: Callable[[str, str, str], Awaitable[object]] | None
    enabled: Callable[[], Awaitable[str]] | None

    def begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run work in the background."""
        self.begins(work, name)

    def decided(self, incident_id: str) -> None:
        """Tell the engine that something was decided."""
        self.changed(incident_id)

    def open(self, user: str) -> None:
        """Show a person the App Home."""
        self.show_home(user)

    async def pick(self, incident_id: str, node: str, by: str) -> object:
        """Put on record which node an alert means."""
        return await self.picked(incident_id, node, by) if self.picked is not None else None

    async def enable(self) -> str:
        """Switch PagerDuty's webhook subscription on again."""
        return await self.enabled() if self.enabled is not None else ""


@dataclass(frozen=True, slots=True)
class SlackActing:
    """What a service needs of it.

    Shape: `surface` is for the engine; `clicks` and `callbacks` go to `listen`; `orders.reply` to the desk of checks as
    its `order`; `home.deeds(user)` to `home_view`.
    """

    surface: SlackSurface
    clicks: InteractionHandler
    orders: CommandReplies
    home: HomeDesk
    callbacks: Callbacks


def slack_acting(
    slack: SlackConnection,
    poster: Poster,
    outbox: Outbox,
    ledger: ActingLedger,
    policy: Policy,
    responder: Responder,
    timing: Timing,
    log: Log,
    *,
    begin: Callable[[Coroutine[Any, Any, None], str], None],
    changed: Callable[[str], None],
    waits_for: Callable[[str], str] = lambda incident_id: "",
    show_home: Callable[[str], None] = lambda user: None,
    spot_of: Callable[[Incident], MessageTarget | None] = lambda incident: None,
    pick: Callable[[str, str, str], Awaitable[object]] | None = None,
    enable: Callable[[], Awaitable[str]] | None = None,
) -> SlackActing:
    """Put it together.

    Shape: `begin(work, name)` has something done beside everything else, and drained with it; `changed(incident_id)`
    kicks the engine; `waits_for(incident_id)` is why an approved incident does not begin; `spot_of(incident)` where the
    card of an alert belongs that did not come by Slack; `pick(incident_id, node, by)` records which node is meant;
    `enable` has PagerDuty's webhook subscription switched on again.
    """
    people = slack.people(policy.approver_groups)
    surface = SlackSurface(
        poster, outbox, ledger, policy, responder.book.find, undoable=undoable, waits_for=waits_for, spot_of=spot_of
    )
    callbacks = Callbacks(begin, changed, show_home, pick, enable)
    context = SlackContext(
        responder=responder,
        policy=policy,
        ledger=ledger,
        surface=surface,
        people=people,
        ephemeral=Ephemeral(slack.calls, timing, log, people),
        slack=slack,
        notices=callbacks,
        log=log,
        picker=callbacks if pick is not None else None,
    )
    replies = CommandReplies(context, callbacks if enable is not None else None)
    interactions = InteractionHandler(context, callbacks, callbacks)
    return SlackActing(surface, interactions, replies, HomeDesk(context), callbacks)


def undoable(incident: Incident) -> bool:
    """True when something that an incident did can be taken back."""
    steps = incident.proposal.plan.steps if incident.proposal is not None else ()
    return any(
        record.started is not None
        and step.action in ACTIONS
        and bool(ACTIONS[step.action].inverse(step.args, recorded(record, {})))
        for record, step in zip(incident.steps, steps, strict=False)
    )
