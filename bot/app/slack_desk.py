"""Puts together the desk in Slack: who takes commands, clicks and dialogs, and the cards that they lead to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from bot.app.acting import Acting
from bot.app.alerts import Alerts
from bot.app.checking import Checking
from bot.app.fleet import fleet_runner
from bot.app.pagerduty import PagerDutyParts
from bot.app.parts import now, ssh_transport
from bot.app.slack_acting import SlackActing, slack_acting
from bot.app.slack_captures import SlackCaptures, slack_captures
from bot.app.slack_posting import SlackPosting
from bot.app.slack_waves import slack_waves
from bot.app.stores import Stores
from bot.app.sweeps import Sweeps, scheduled
from bot.app.upkeep import post_digest
from bot.app.waves import WaveKeeper, wave_parts
from bot.domain.contracts import Log
from bot.domain.engine_contracts import Notices
from bot.inventory import Inventory
from bot.response.diagnosis.requests import CheckRequests
from bot.settings import Settings
from bot.surfaces.slack.approver_lookup import SlackApproverLookup
from bot.surfaces.slack.askers import Askers, groups_among
from bot.surfaces.slack.calls import Timing
from bot.surfaces.slack.check_cards import CheckCards
from bot.surfaces.slack.check_opener import CheckOpener
from bot.surfaces.slack.command_handler import CommandHandler
from bot.surfaces.slack.ephemeral import Ephemeral
from bot.surfaces.slack.fleet_cards import FleetCards
from bot.surfaces.slack.listeners import Listeners
from bot.surfaces.slack.member import SLACK


@dataclass(frozen=True, slots=True)
class SlackDesk:
    """The parts that a service needs; `waves`, `sweeps` and the keeper of `captures` work by themselves."""

    commands: CommandHandler
    acting: SlackActing
    captures: SlackCaptures
    waves: WaveKeeper
    sweeps: Sweeps

    def hear(self, listeners: Listeners) -> None:
        """Take what Slack delivers from now on."""
        listeners.bind(self.commands, self.acting.home, self.acting.clicks, self.acting.submissions)


def slack_desk(
    settings: Settings,
    known: Inventory,
    stores: Stores,
    environment: Mapping[str, str],
    posting: SlackPosting,
    cards: CheckCards,
    acting: Acting,
    checking: Checking,
    alerts: Alerts,
    pagerduty: PagerDutyParts | None,
    notices: Notices,
    timing: Timing,
    log: Log,
) -> SlackDesk:
    """Put it together; `cards` show the checks that are asked for."""
    slack, poster, work = posting.connection, posting.poster, posting.work
    policy, playbooks, kept = acting.policy, acting.playbooks, stores.chat_requests
    may_ask, of_groups = settings.policy.askers, groups_among(settings.policy.askers)
    asking = slack.people({f"{SLACK}:{group}" for group in of_groups})
    askers = Askers(slack, asking, timing.clock, may_ask, settings.slack.checks_per_person)
    requests = CheckRequests(stores.ledger, stores.leases, checking.diagnosis, now, log)
    opener = CheckOpener(requests, cards, playbooks.get().name)
    runner = fleet_runner(settings, known, playbooks, ssh_transport(environment), environment, stores.ledger)
    sweeps = Sweeps(
        scheduled(settings.sweeps, playbooks.get()),
        runner,
        kept,
        stores.readings,
        stores.sweeps,
        partial(post_digest, poster),
        now,
        log,
    )
    lookup = SlackApproverLookup(slack.people(policy.approver_groups), policy)
    waves = wave_parts(acting, known, stores.ledger, stores.waves, cases=stores.kept_cases, lookup=lookup, log=log)
    wave_cards = slack_waves(waves, poster, work, posting.watching, log, kept)
    fleet = FleetCards(runner, poster, opener, askers, work, log, kept, wave_cards)
    captures = slack_captures(
        settings, known, stores, environment, playbooks, slack, poster, work, posting.watching, log
    )
    decisions = slack_acting(
        slack,
        poster,
        stores.outbox,
        stores.ledger,
        policy,
        acting.responder,
        timing,
        log,
        work,
        notices,
        checking.scheduler,
        deliveries=stores.inbox,
        chat_requests=kept,
        known=known,
        askers=askers,
        picker=alerts,
        profiles=captures.profiles,
        opener=opener,
        pagerduty=pagerduty,
        fleet=fleet,
        links=settings.links,
        captures=captures.cards,
    )
    commands = CommandHandler(
        known,
        opener,
        decisions.orders,
        Ephemeral(slack.calls, timing, log),
        work,
        settings.slack.channels,
        askers,
        kept,
        fleet,
        captures.profiles,
        captures.cards,
    )
    keeper = WaveKeeper(waves.run, stores.waves, stores.leases, log, timing.clock)
    return SlackDesk(commands, decisions, captures, keeper, sweeps)
