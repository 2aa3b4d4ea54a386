"""Puts together the chat: what posts in it, who takes commands, clicks and dialogs, and the cards that they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.actions import ACTIONS
from bot.app.alerts import channel_of
from bot.app.factories import chat_settings, now
from bot.chat.background import Background
from bot.chat.blocks import OF_EXTRAS
from bot.chat.cards import ChatCards, CheckOpener
from bot.chat.commands import Commands
from bot.chat.connection import ChatConnection, NoChat
from bot.chat.context import ChatContext
from bot.chat.decisions import Decisions
from bot.chat.home import HomePublisher
from bot.chat.people import ChatApproverLookup, CheckPermissions, People, groups_among
from bot.chat.pictures import Pictures
from bot.chat.poster import Poster
from bot.chat.private_replies import PrivateReplies
from bot.chat.requests import Typed
from bot.chat.storm_board import StormBoard
from bot.chat.why_replies import WhyReplies
from bot.domain.policy import person_of
from bot.domain.verdict import Verdict
from bot.response.diagnosis.incident_opener import IncidentOpener
from bot.response.intake.intake import why_nothing_in_storm
from bot.seats import Chat, Explains
from bot.surfaces.teams.settings import TeamsSettings
from bot.view.context import ViewContext
from bot.view.plan_words import PlanWords

if TYPE_CHECKING:
    from bot.app.bot import Bot


@dataclass(frozen=True, slots=True)
class ChatPosting:
    """The parts by which everything is posted.

    Shape: when the bot stops, `work` is finished, and `watching` is cancelled at once. `view` is what
    all cards have in common.
    """

    connection: ChatConnection
    poster: Poster
    work: Background
    watching: Background
    view: ViewContext


def chat_posting(bot: Bot) -> ChatPosting:
    """Put them together."""
    stores, timing, log = bot.stores, bot.timing, bot.log
    connection: ChatConnection = bot.chat or NoChat()
    if bot.tokens is not None:
        from bot.surfaces.slack.connection import SlackConnection

        connection = SlackConnection(bot.tokens, timing, now, log, bot.json_log.logger("slack"), bot.metered.counted)
    elif bot.chat is None and (teams := bot.settings.of(TeamsSettings)).is_set:
        from bot.surfaces.teams.connection import TeamsConnection

        connection = TeamsConnection(teams.checked(), timing, log, bot.metered.counted)
    watching = Background(log)
    pictures = Pictures(connection.calls, stores.outbox, timing, watching)
    kinds = [kind for kinds in bot.seated("thread_files") for kind in kinds]
    absent = OF_EXTRAS.difference(*(extra.buttons for extra in bot.extras))
    poster = Poster(connection.calls, stores.outbox, timing, now, log, pictures, kinds)
    asks = tuple(bot.seated("asks"))
    view = ViewContext(words=PlanWords(ACTIONS), links=bot.settings.links, absent=absent, asks=asks)
    return ChatPosting(connection, poster, Background(log), watching, view)


def chat_cards(bot: Bot) -> ChatCards:
    """Return the cards of incidents, of nodes that are being read, and of storms of alerts."""
    stores, posting, rules, log = bot.stores, bot.posting, bot.rules, bot.log
    storms = StormBoard(
        stores.cases,
        rules.brakes,
        stores.leases,
        posting.poster,
        channel_of(rules),
        why_nothing_in_storm(rules.brakes),
        bot.known.labels_of,
        posting.watching,
        log,
    )
    explains: list[Explains] = bot.seated("explains")

    async def explain(verdict: Verdict) -> Sequence[str]:
        return [sentence for each in explains for sentence in await each(verdict)]

    pagerduty = bot.pagerduty
    cards = ChatCards(
        posting.poster,
        stores.outbox,
        stores.ledger,
        bot.acting.policy,
        log,
        bot.notices,
        ACTIONS,
        posting.view,
        storms,
        WhyReplies(explain, posting.poster, posting.work) if explains else None,
    )
    if pagerduty is not None:
        pagerduty.surface.card_of = lambda name: _card_address(posting.connection, cards, name)
    return cards


async def _card_address(connection: ChatConnection, cards: ChatCards, name: str) -> str:
    place = await cards.place(name)
    return connection.address(place) if place is not None else ""


@dataclass(frozen=True, slots=True)
class ChatHandlers:
    """What takes what the chat delivers, and the cards that it leads to."""

    cards: ChatCards
    commands: Commands
    decisions: Decisions
    home: HomePublisher
    people: People

    def hear(self, connection: ChatConnection) -> None:
        """Take what the chat delivers from now on."""
        connection.listen(self.commands, self.home, self.decisions)


def chat_handlers(bot: Bot) -> ChatHandlers:
    """Put it together."""
    settings, stores, posting, log = bot.settings, bot.stores, bot.posting, bot.log
    policy, connection = bot.acting.policy, posting.connection
    people = connection.people(policy.approver_groups)
    responder = replace(bot.acting.responder, lookup=ChatApproverLookup(people, policy))
    may_ask = frozenset(person_of(who).rpartition(":")[2] for who in settings.policy.askers)
    asking = connection.people({f"{people.chat}:{group}" for group in groups_among(may_ask)})
    askers = CheckPermissions(asking, bot.timing.clock, may_ask, chat_settings(settings).checks_per_person)
    requests = IncidentOpener(stores.ledger, stores.leases, bot.check_service.diagnosis, now, log)
    context = ChatContext(
        responder=responder,
        policy=policy,
        ledger=stores.ledger,
        surface=bot.cards,
        people=people,
        ephemeral=PrivateReplies(connection.calls, bot.timing, log, people),
        chat=connection.calls,
        signer=connection.signer,
        notices=bot.notices,
        log=log,
        askers=askers,
        pick=bot.alerts.pick,
        opener=CheckOpener(requests, bot.cards, bot.playbooks.get().name),
        chat_requests=stores.chat_requests,
    )
    nodes, readings = len(bot.known.names), bot.check_service.scheduler
    home = HomePublisher(context, posting.work, stores.outbox, nodes, readings, stores.inbox, bot.pagerduty)
    of_extras: list[Chat] = bot.seated("chat", context)
    typed = [chat for chat in of_extras if isinstance(chat, Typed)]
    commands = Commands(context, posting.work, bot.known, chat_settings(settings).channels, typed)
    decisions = Decisions(context, home, posting.work, of_extras)
    return ChatHandlers(bot.cards, commands, decisions, home, people)
