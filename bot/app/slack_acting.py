"""Acting in Slack, put together: the surface that shows incidents, and the desks that take clicks and orders."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from bot.actions import ACTIONS
from bot.domain.contracts import ActingLedger, Outbox
from bot.domain.incident import Incident
from bot.response.policy import Policy
from bot.response.recorded import recorded
from bot.response.responder import Responder
from bot.surfaces.slack.acting_desk import ActingDesk
from bot.surfaces.slack.acting_rooms import ActingRooms
from bot.surfaces.slack.answers import Answers
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.home import HomeDesk
from bot.surfaces.slack.orders import Orders
from bot.surfaces.slack.part import Spot
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.surface import SlackSurface
from bot.surfaces.slack.timing import Timing
from bot.surfaces.view.plan_words import PlanWords


@dataclass(frozen=True, slots=True)
class SlackActing:
    """What a service needs of it.

    Shape: `surface` is for the engine; `clicks` goes to `listen` as its hands; `orders.see_through` to the desk of
    checks as its `order`; `home.deeds(user)` to `home_view`.
    """

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
    log: Callable[..., None],
    *,
    begin: Callable[[Coroutine[Any, Any, None], str], None],
    changed: Callable[[str], None],
    waits_for: Callable[[str], str] = lambda incident_id: "",
    show_home: Callable[[str], None] = lambda user: None,
    spot_of: Callable[[Incident], Spot | None] = lambda incident: None,
    pick: Callable[[str, str, str], Awaitable[object]] | None = None,
    health: Callable[[], str] = lambda: "",
    enable: Callable[[], Awaitable[str]] | None = None,
) -> SlackActing:
    """Put it together.

    Shape: `begin(work, name)` has something done beside everything else, and drained with it; `changed(incident_id)`
    kicks the engine; `waits_for(incident_id)` is why an approved incident does not begin; `spot_of(incident)` where the
    card of an alert belongs that did not come by Slack; `pick(incident_id, node, by)` records which node is meant;
    `enable` has PagerDuty's webhook subscription switched on again.
    """
    find = responder.book.find
    people = slack.people(policy.approver_groups)
    words = PlanWords(ACTIONS)
    surface = SlackSurface(
        poster, outbox, ledger, policy, find, undoable=undoable, waits_for=waits_for, spot_of=spot_of, words=words
    )
    rooms = ActingRooms(
        responder=responder,
        policy=policy,
        ledger=ledger,
        find=find,
        surface=surface,
        people=people,
        answers=Answers(slack.calls, people, timing, log),
        seal=slack.seal,
        workspace=lambda: slack.workspace,
        open_dialog=slack.open_dialog,
        changed=changed,
        log=log,
        pick=pick,
        show_home=show_home,
        words=words,
    )
    return SlackActing(surface, ActingDesk(rooms, begin), Orders(rooms, health, enable), HomeDesk(rooms))


def undoable(incident: Incident) -> bool:
    """True when something that an incident did can be taken back."""
    steps = incident.proposal.plan.steps if incident.proposal is not None else ()
    return any(
        record.started is not None
        and step.action in ACTIONS
        and bool(ACTIONS[step.action].inverse(step.args, recorded(record, {})))
        for record, step in zip(incident.steps, steps, strict=False)
    )
