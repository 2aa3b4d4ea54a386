"""The bot's home: what waits for the person, what is running, and the brake."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from bot.chat.background import Background
from bot.chat.blocks import BRAKE, choice_blocks
from bot.chat.context import ChatContext
from bot.chat.dialog import HOME, Intent
from bot.chat.document import (
    Block,
    Button,
    ButtonRow,
    Paragraph,
    SmallPrint,
    Title,
    bullets,
    clipped,
    line,
)
from bot.chat.private_replies import refusal_words
from bot.domain.alert import TERMINAL
from bot.domain.entry import Entry, is_wave
from bot.domain.errors import ImpossibleEvent, LedgerError, Refused, UnknownIncident, UnreadableEntry
from bot.domain.incident import Incident, IncidentSummary
from bot.domain.intake_contracts import GivenUpDelivery
from bot.domain.policy import Approval
from bot.domain.safe_text import counted, one_line
from bot.domain.transitions import State
from bot.ledger import Outbox
from bot.ledger.inbox import Inbox
from bot.response.decision import guards
from bot.response.diagnosis.progress import Readings
from bot.view.context import NOTHING, ViewContext
from bot.view.standing import approvers_sentence, decisions_on
from bot.view.view import IncidentView, incident_view, view_severity_key
from bot.view.words import Bold, Code, Instant, Styled, node_words
from bot.view.words import Person as Named

MOST_READ = 40  # incidents that wait, and as many verdicts, that are read from the record for a home
MOST_PENDING = 12
MOST_NODES = 5
MOST_SICK = 15
MOST_GIVEN_UP = 3
_LAST = "The last verdict of each node that is not healthy, the gravest first, and what became of it."
LATELY = timedelta(days=1)  # whose verdicts are listed
COMMANDS = (
    ("/zombie check NODE…", "a verdict for each node"),
    ("@zombie check NODE", "the same, in a thread, where slash commands do not work"),
    ("/zombie status", "what is open; help explains cancel, undo and brake"),
    ("/zombie help", "what I can do"),
)


@dataclass(frozen=True, slots=True)
class HomeState:
    """What a person may decide, by card; what they `asked` for and others decide; sick nodes, and the brake.

    Shape: `sick` is None for a person who may not learn which nodes are sick, and holds the latest incident of each;
    `may_not` is why they may not decide, empty where they may; `braked` is the entry of the pull that is on. `unread`
    counts the plans that wait, and the nodes with a cause and without one, that were too many or of a newer program.
    """

    pending: Sequence[Sequence[Incident]] = ()
    asked: Sequence[Incident] = ()
    sick: Sequence[IncidentView] | None = ()
    braked: Entry | None = None
    may_not: str = ""
    view: ViewContext = NOTHING
    unread: tuple[int, int, int] = (0, 0, 0)


class Troubled(Protocol):
    """A part whose trouble people have to know."""

    @property
    def trouble(self) -> str:
        """What does not work at present, as a sentence; empty while all is well."""


@dataclass(slots=True, eq=False)
class HomePublisher:
    """Collects what a person's home shows, and shows it. `nodes` is how many the inventory has."""

    context: ChatContext
    background: Background
    outbox: Outbox
    nodes: int
    readings: Readings
    deliveries: Inbox
    pagerduty: Troubled | None = None

    def open(self, user: str) -> None:
        """Begin to bring a person's home up to date; returns at once."""
        self.background.begin(self._publish(user), f"home {user}")

    async def _publish(self, user: str) -> None:
        """Show what waits for this person and for others, sick nodes, the brake, what to type, and the bot's own state.

        Without the ledger it is shown without what stands there.
        """
        state, posts = None, "the ledger cannot be read"
        given_up: Sequence[GivenUpDelivery] = ()
        with contextlib.suppress(LedgerError):
            waiting, found = await self.outbox.waiting(), await self.state(user)
            # Their titles name nodes, too.
            given_up = await self.deliveries.given_up() if found.sick is not None else ()
            state, posts = found, f"{counted(waiting, 'post')} waiting for {self.context.people.word}"
        trouble = self.pagerduty.trouble if self.pagerduty is not None else ""
        shown = (
            Title("zombie"),
            *([Paragraph(f"⚠️ {one_line(trouble, 500)}")] if trouble else ()),
            *(_given_up_alerts(given_up) if given_up else ()),
            *(_home_blocks(state) if state is not None else ()),
            Paragraph("I log in to a sick node, read what matters, and post a verdict with its proof."),
            bullets(COMMANDS),
            SmallPrint((f"{self.nodes} nodes in the inventory · {self.readings.running} being read now · {posts}",)),
        )
        # Signed, so that a copy of it in somebody else's hands is no home.
        await self.context.chat.publish_home(user, shown, self.context.signer.sign(Intent(HOME, user, {})))

    async def state(self, user: str) -> HomeState:
        """Return what waits for this person, and for others on their behalf, the sick nodes, and the brake.

        Raises: LedgerError when the record cannot be read.
        """
        context, viewer, approval, may_not = self.context, self.context.people.of(user), None, ""
        braked = await context.ledger.brake_pull()
        try:
            await context.check_reader(viewer)
        except Refused as no:
            return HomeState(sick=None, braked=braked, may_not=refusal_words(no))
        try:
            approval = await context.people.approval(viewer, context.policy, "to look")
            guards.check_approver(context.policy, approval)
        except Refused as no:
            approval, may_not = None, f"You cannot decide anything here. {refusal_words(no)}"
        found = await context.ledger.incidents(since=context.responder.clock() - LATELY)
        summaries = [each for each in found if each.state is not State.PROPOSED or not self._is_of_wave(each)]
        asks = [each for each in summaries if each.state is State.PROPOSED]
        last = {each.node: each for each in reversed(summaries) if each.node and each.tells_of_node}
        shown = sorted(last.values(), key=lambda each: each.opened_at, reverse=True)
        # What has a cause is read first, and last what was cured of its own, and may have another.
        shown.sort(key=lambda each: (each.state is State.RESOLVED, each.cause is None))
        chosen = dict.fromkeys(each.id for each in (*asks[:MOST_READ], *shown[:MOST_READ]))
        read = {name: incident for name in chosen if (incident := await self._incident_or_none(name)) is not None}
        pending: dict[str, list[Incident]] = {}
        asked = list[Incident]()
        for incident in (read[each.id] for each in asks if each.id in read):
            if approval is not None and self._is_decidable(incident, approval):
                pending.setdefault(incident.card, []).append(incident)
            elif viewer.by in incident.askers:
                asked.append(incident)
        view = context.surface.view
        seen = [incident_view(read[each.id], view) for each in shown if each.id in read]
        # One that asks a person before anything was read has no verdict, and waits all the same.
        asking = {each.id for each in shown if each.state is State.UNKNOWN}
        sick = [each for each in seen if each.is_sick or each.id in asking]
        unnamed = [each.cause is None for each in shown if each.id not in read and each.state is not State.RESOLVED]
        unread = sum(each.id not in read for each in asks), unnamed.count(False), unnamed.count(True)
        return HomeState(
            list(pending.values()), asked, sorted(sick, key=view_severity_key), braked, may_not, view, unread
        )

    def _is_of_wave(self, summary: IncidentSummary) -> bool:
        """True for one of the many nodes of a wave: its card asks for all of them, and none can be decided alone."""
        by_people = summary.source in self.context.policy.kinds | {TERMINAL}
        return by_people and is_wave(summary.source_id)

    async def _incident_or_none(self, incident_id: str) -> Incident | None:
        with contextlib.suppress(UnknownIncident, UnreadableEntry, ImpossibleEvent):  # damaged, or of a newer program
            return await self.context.find(incident_id)
        return None

    def _is_decidable(self, incident: Incident, approval: Approval) -> bool:
        """True if the incident still waits, and this person may decide it."""
        try:
            guards.check_not_in_wave(incident)
            guards.check_self_approval(self.context.policy, incident, approval)
        except Refused:
            return False
        return incident.state is State.PROPOSED


def _given_up_alerts(given_up: Sequence[GivenUpDelivery]) -> Iterator[Block]:
    many = f"{len(given_up)} alerts were" if len(given_up) > 1 else "1 alert was"
    yield Paragraph(f"⚠️ {many} given up: no node was read for them. /zombie check NODE reads a node.")
    for delivery in given_up[:MOST_GIVEN_UP]:
        title = f": {one_line(delivery.alarm.title, 150)}" if delivery.alarm is not None else ""
        came: list[Styled] = [" came at ", Instant(delivery.kept_at), f" and failed: {one_line(delivery.because, 200)}"]
        yield line(Bold(one_line(delivery.source, 40)), " ", Code(one_line(delivery.case, 80)), title, *came)
    yield from _more_line(len(given_up) - MOST_GIVEN_UP, "more.")


def _home_blocks(state: HomeState) -> Iterator[Block]:
    plans, named, unnamed = state.unread
    yield Title("Waiting for you")
    if state.may_not:
        yield Paragraph(state.may_not)
    elif not state.pending and not plans:
        yield Paragraph("Nothing waits for your decision.")
    for offers in state.pending[:MOST_PENDING]:
        yield from (_offered_plan(incident, state.view) for incident in offers[:MOST_NODES])
        yield from _more_line(len(offers) - MOST_NODES, "more nodes on the same card.")
        yield from choice_blocks(list(decisions_on(offers)))
    yield from _more_line(len(state.pending) - MOST_PENDING)
    yield from _more_line(plans, "more plans wait, for you or for others: /zombie status")
    if state.asked:
        yield Title("You asked, others decide")
        yield from (_offered_plan(incident, state.view) for incident in state.asked[:MOST_PENDING])
        yield from _more_line(len(state.asked) - MOST_PENDING)
        yield line(*approvers_sentence(state.view))
    if state.sick is not None:
        yield Title("Sick nodes")
        is_all_well = not (state.sick or named or unnamed)
        yield Paragraph("No node was found sick within a day.") if is_all_well else SmallPrint((_LAST,))
        yield from map(_verdict_line, state.sick[:MOST_SICK])
        yield from _more_line(max(0, len(state.sick) - MOST_SICK) + named)
        yield from _more_line(unnamed, "whose verdict names no cause were not looked at here: zombie incidents")
    yield from _brake_blocks(state.braked)


def _more_line(many: int, what: str = "more: /zombie status") -> Iterator[Block]:
    if many > 0:
        yield SmallPrint((f"And {many} {what}",))


def _offered_plan(incident: Incident, view: ViewContext) -> Block:
    """An offered plan, who asked, and until when it waits."""
    plan = view.words.plan(incident.proposal.plan) if incident.proposal is not None else ""
    asked_by, until = incident.alert.asked_by, view.decides_until(incident)
    pieces: list[Styled] = [clipped(f": {plan}", 500)]
    pieces += [", asked for by ", Named(asked_by)] if asked_by else []
    pieces += [", until ", Instant(until)] if until is not None else []
    return line(Bold(node_words(incident.node)), *pieces, " — ", Code(incident.id))


def _verdict_line(view: IncidentView) -> Block:
    """The last verdict of a node, what became of it, and since when."""
    return line(Bold(view.diagnosis), f" — {view.short}, since ", Instant(view.as_of), " — ", Code(view.id))


def _brake_blocks(braked: Entry | None) -> Iterator[Block]:
    yield Title("Brake")
    if braked is None:
        yield Paragraph("The brake is off.")
        yield ButtonRow((Button("Pull the brake", BRAKE, "on", "danger"),))
        return
    reason = one_line(str(braked.body.get("reason", "")), 200)
    yield line("The brake is on: ", Named(braked.by), " pulled it at ", Instant(braked.at), f": {reason}")
    yield ButtonRow((Button("Release the brake", BRAKE, f"off-{braked.seq}"),))
