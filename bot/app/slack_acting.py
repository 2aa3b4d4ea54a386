"""Puts together acting in Slack: the surface that shows incidents, and the handlers of clicks and commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from bot.actions import ACTIONS
from bot.app.pagerduty import PagerDutyParts
from bot.domain.chat_request import ChatRequests
from bot.domain.contracts import ActingLedger, Log, Outbox
from bot.domain.engine_contracts import Notices
from bot.domain.intake_contracts import Inbox
from bot.domain.policy import Policy
from bot.response.decision.responder import Responder
from bot.response.diagnosis.progress import Readings
from bot.response.execution.usual import UsualTimes
from bot.seats import Chat
from bot.surfaces.slack.approver_lookup import SlackApproverLookup
from bot.surfaces.slack.askers import Askers
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.block_actions import BlockActions
from bot.surfaces.slack.calls import Timing
from bot.surfaces.slack.check_opener import CheckOpener
from bot.surfaces.slack.command_replies import CommandReplies
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.context import NodePicker, SlackContext
from bot.surfaces.slack.ephemeral import Ephemeral
from bot.surfaces.slack.home import HomePublisher
from bot.surfaces.slack.kept_checks import KeptChecks
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.suggestions import NodeNames, NodeSuggestions
from bot.surfaces.slack.surface import SlackSurface
from bot.surfaces.slack.view_submissions import ViewSubmissions

Chats: TypeAlias = Callable[[SlackContext], Sequence[Chat]]


def no_chats(_: SlackContext) -> Sequence[Chat]:
    """Return none."""
    return ()


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


def slack_acting(
    slack: SlackConnection,
    poster: Poster,
    outbox: Outbox,
    ledger: ActingLedger,
    policy: Policy,
    responder: Responder,
    timing: Timing,
    log: Log,
    background: Background,
    notices: Notices,
    readings: Readings,
    *,
    deliveries: Inbox,
    chat_requests: ChatRequests,
    known: NodeNames,
    askers: Askers | None = None,
    picker: NodePicker | None = None,
    opener: CheckOpener | None = None,
    pagerduty: PagerDutyParts | None = None,
    links: Mapping[str, str] | None = None,
    absent: frozenset[str] = frozenset(),
    chats: Chats = no_chats,
) -> SlackActing:
    """Put it together; `known` are the nodes that may be named, `chat_requests` stores what Slack delivers.

    Without `askers` every full member may ask. `absent` are buttons of extras that are left out. `chats` returns what
    takes clicks on extras' cards.
    """
    people = slack.people(policy.approver_groups)
    responder = replace(responder, lookup=SlackApproverLookup(people, policy))
    usual = UsualTimes(ledger, responder.nodes, log)
    surface = SlackSurface(
        poster,
        outbox,
        ledger,
        policy,
        log,
        notices,
        ACTIONS,
        links,
        usual,
        pagerduty.on_call if pagerduty is not None else None,
        absent,
    )
    if pagerduty is not None:
        pagerduty.surface.card_of = lambda name: _card_address(slack, surface, name)
    askers = askers or Askers(slack, people, timing.clock)
    context = SlackContext(
        responder=responder,
        policy=policy,
        ledger=ledger,
        surface=surface,
        people=people,
        ephemeral=Ephemeral(slack.calls, timing, log, people),
        slack=slack,
        notices=notices,
        log=log,
        askers=askers,
        picker=picker,
        opener=opener,
        chat_requests=chat_requests,
        suggestions=NodeSuggestions(known, askers),
    )
    home = HomePublisher(context, background, outbox, len(known.names), readings, deliveries, pagerduty)
    of_extras = chats(context)
    clicks = BlockActions(context, background, of_extras)
    takes = KeptChecks(context, background)
    submissions = ViewSubmissions(context, home, background, of_extras, [*of_extras, takes])
    return SlackActing(surface, clicks, submissions, CommandReplies(context, pagerduty), home, of_extras)


async def _card_address(slack: SlackConnection, surface: SlackSurface, name: str) -> str:
    place = await surface.place(name)
    return slack.workspace.permalink(place) if place is not None else ""
