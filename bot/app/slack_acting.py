"""Acting in Slack, put together: the surface that shows incidents, and the desks that take clicks and orders."""

from __future__ import annotations

from dataclasses import dataclass

from bot.actions import ACTIONS
from bot.app.pagerduty import PagerDutyParts
from bot.domain.contracts import ActingLedger, Log, Outbox
from bot.domain.engine_contracts import Notices
from bot.response.policy import Policy
from bot.response.responder import Responder
from bot.surfaces.slack.acting_desk import ActingDesk
from bot.surfaces.slack.acting_rooms import ActingRooms, NodePicker
from bot.surfaces.slack.answers import Answers
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.home import HomeDesk, Readings
from bot.surfaces.slack.orders import Orders
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.surface import SlackSurface
from bot.surfaces.slack.timing import Timing


@dataclass(frozen=True, slots=True)
class SlackActing:
    """What a service needs of it: `surface` is for the engine, `clicks` and `home` listen to Slack."""

    surface: SlackSurface
    clicks: ActingDesk
    orders: Orders
    home: HomeDesk


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
    nodes: int = 0,
    picker: NodePicker | None = None,
    pagerduty: PagerDutyParts | None = None,
) -> SlackActing:
    """Put it together; `nodes` is how many the inventory has."""
    people = slack.people(policy.approver_groups)
    surface = SlackSurface(poster, outbox, ledger, policy, responder.book, notices, ACTIONS)
    rooms = ActingRooms(
        responder=responder,
        policy=policy,
        ledger=ledger,
        surface=surface,
        people=people,
        answers=Answers(slack.calls, people, timing, log),
        slack=slack,
        notices=notices,
        log=log,
        picker=picker,
    )
    home = HomeDesk(rooms, background, outbox, nodes, readings, pagerduty)
    return SlackActing(surface, ActingDesk(rooms, home, background), Orders(rooms, pagerduty), home)
