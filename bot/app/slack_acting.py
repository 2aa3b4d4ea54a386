"""Puts together acting in Slack: the surface that shows incidents, and the handlers of clicks and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.actions import ACTIONS
from bot.response.execution.usual import UsualTimes
from bot.seats import Chat
from bot.surfaces.slack.approver_lookup import SlackApproverLookup
from bot.surfaces.slack.askers import Askers
from bot.surfaces.slack.block_actions import BlockActions
from bot.surfaces.slack.check_opener import CheckOpener
from bot.surfaces.slack.command_replies import CommandReplies
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.context import SlackContext
from bot.surfaces.slack.ephemeral import Ephemeral
from bot.surfaces.slack.home import HomePublisher
from bot.surfaces.slack.suggestions import NodeSuggestions
from bot.surfaces.slack.surface import SlackSurface
from bot.surfaces.slack.view_submissions import ViewSubmissions

if TYPE_CHECKING:
    from bot.app.bot import Bot


@dataclass(frozen=True, slots=True)
class SlackActing:
    """The parts of a service: `surface` is for the engine; `clicks`, `submissions` and `home` listen to Slack.

    Shape: `chats` are those of extras.
    """

    surface: SlackSurface
    clicks: BlockActions
    submissions: ViewSubmissions
    orders: CommandReplies
    home: HomePublisher
    chats: Sequence[Chat]


def slack_acting(bot: Bot, askers: Askers | None = None, opener: CheckOpener | None = None) -> SlackActing:
    """Put it together. Without `askers` every full member may ask; without `opener` no check begins by a click."""
    stores, posting, log, policy, pagerduty = bot.stores, bot.posting, bot.log, bot.acting.policy, bot.pagerduty
    slack, ledger, background = posting.connection, stores.ledger, posting.work
    people = slack.people(policy.approver_groups)
    responder = replace(bot.acting.responder, lookup=SlackApproverLookup(people, policy))
    usual = UsualTimes(ledger, responder.nodes, log)
    surface = SlackSurface(
        posting.poster,
        stores.outbox,
        ledger,
        policy,
        log,
        bot.notices,
        ACTIONS,
        posting.view,
        usual,
        pagerduty.on_call if pagerduty is not None else None,
    )
    if pagerduty is not None:
        pagerduty.surface.card_of = lambda name: _card_address(slack, surface, name)
    askers = askers or Askers(slack, people, bot.timing.clock)
    context = SlackContext(
        responder=responder,
        policy=policy,
        ledger=ledger,
        surface=surface,
        people=people,
        ephemeral=Ephemeral(slack.calls, bot.timing, log, people),
        slack=slack,
        notices=bot.notices,
        log=log,
        askers=askers,
        picker=bot.alerts,
        opener=opener,
        chat_requests=stores.chat_requests,
        suggestions=NodeSuggestions(bot.known, askers),
    )
    nodes, readings = len(bot.known.names), bot.checking.scheduler
    home = HomePublisher(context, background, stores.outbox, nodes, readings, stores.inbox, pagerduty)
    of_extras: list[Chat] = bot.seated("chat", context)
    clicks = BlockActions(context, background, of_extras)
    submissions = ViewSubmissions(context, home, background, of_extras)
    return SlackActing(surface, clicks, submissions, CommandReplies(context, pagerduty), home, of_extras)


async def _card_address(slack: SlackConnection, surface: SlackSurface, name: str) -> str:
    place = await surface.place(name)
    return slack.workspace.permalink(place) if place is not None else ""
