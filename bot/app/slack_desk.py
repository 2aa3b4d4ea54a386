"""Puts together the desk in Slack: who takes commands, clicks and dialogs, and the cards that they lead to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bot.app.parts import now
from bot.app.slack_acting import SlackActing, slack_acting
from bot.response.diagnosis.requests import CheckRequests
from bot.surfaces.slack.askers import Askers, groups_among
from bot.surfaces.slack.check_opener import CheckOpener
from bot.surfaces.slack.command_handler import CommandHandler
from bot.surfaces.slack.ephemeral import Ephemeral
from bot.surfaces.slack.listeners import Listeners
from bot.surfaces.slack.member import SLACK
from bot.surfaces.slack.requests import Typed

if TYPE_CHECKING:
    from bot.app.bot import Bot


@dataclass(frozen=True, slots=True)
class SlackDesk:
    """The parts that a service needs."""

    commands: CommandHandler
    acting: SlackActing

    def hear(self, listeners: Listeners) -> None:
        """Take what Slack delivers from now on."""
        listeners.bind(self.commands, self.acting.home, self.acting.clicks, self.acting.submissions)


def slack_desk(bot: Bot) -> SlackDesk:
    """Put it together."""
    settings, known, stores, acts, log = bot.settings, bot.known, bot.stores, bot.acting, bot.log
    slack, poster, work = bot.posting.connection, bot.posting.poster, bot.posting.work
    policy, playbooks, kept = acts.policy, acts.playbooks, stores.chat_requests
    may_ask, of_groups = settings.policy.askers, groups_among(settings.policy.askers)
    asking = slack.people({f"{SLACK}:{group}" for group in of_groups})
    askers = Askers(slack, asking, bot.timing.clock, may_ask, settings.slack.checks_per_person)
    requests = CheckRequests(stores.ledger, stores.leases, bot.checking.diagnosis, now, log)
    opener = CheckOpener(requests, bot.cards, playbooks.get().name)
    decisions = slack_acting(
        slack,
        poster,
        stores.outbox,
        stores.ledger,
        policy,
        acts.responder,
        bot.timing,
        log,
        work,
        bot.notices,
        bot.checking.scheduler,
        deliveries=stores.inbox,
        chat_requests=kept,
        known=known,
        askers=askers,
        picker=bot.alerts,
        opener=opener,
        pagerduty=bot.pagerduty,
        links=settings.links,
        absent=bot.posting.absent,
        chats=partial(bot.seated, "chat"),
    )
    commands = CommandHandler(
        known,
        opener,
        decisions.orders,
        Ephemeral(slack.calls, bot.timing, log),
        work,
        settings.slack.channels,
        askers,
        kept,
        [chat for chat in decisions.chats if isinstance(chat, Typed)],
    )
    return SlackDesk(commands, decisions)
