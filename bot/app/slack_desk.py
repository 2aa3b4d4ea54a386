"""Puts together the desk in Slack: who takes commands, clicks and dialogs, and the cards that they lead to."""

from __future__ import annotations

from dataclasses import dataclass
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
    settings, stores, slack, log = bot.settings, bot.stores, bot.posting.connection, bot.log
    may_ask, of_groups = settings.policy.askers, groups_among(settings.policy.askers)
    asking = slack.people({f"{SLACK}:{group}" for group in of_groups})
    askers = Askers(slack, asking, bot.timing.clock, may_ask, settings.slack.checks_per_person)
    requests = CheckRequests(stores.ledger, stores.leases, bot.checking.diagnosis, now, log)
    opener = CheckOpener(requests, bot.cards, bot.playbooks.get().name)
    decisions = slack_acting(bot, askers, opener)
    commands = CommandHandler(
        bot.known,
        opener,
        decisions.orders,
        Ephemeral(slack.calls, bot.timing, log),
        bot.posting.work,
        settings.slack.channels,
        askers,
        stores.chat_requests,
        [chat for chat in decisions.chats if isinstance(chat, Typed)],
    )
    return SlackDesk(commands, decisions)
