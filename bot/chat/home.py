"""The bot's home: what waits for the person, what is running, and the brake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.chat.background import Background
from bot.chat.blocks import BRAKE, choice_blocks
from bot.chat.context import ChatContext
from bot.chat.dialog import HOME, Intent
from bot.chat.document import Block, Button, NodeMenu, Paragraph, Row, Rule, Small, Title, bullets, clipped, line
from bot.chat.ephemeral import refusal_words
from bot.chat.remembered import Remembered
from bot.chat.suggestions import FIND_NODE
from bot.domain.alert import TERMINAL
from bot.domain.contracts import Outbox
from bot.domain.entry import Entry, is_wave
from bot.domain.errors import LedgerError, Refused, UnknownIncident
from bot.domain.incident import Incident, IncidentSummary
from bot.domain.intake_contracts import GivenUpDelivery, Inbox
from bot.domain.policy import Approval
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.response.decision import guards
from bot.response.diagnosis.progress import Readings
from bot.view.plan_words import BY_NAME, PlanWords
from bot.view.standing import decisions_on
from bot.view.words import Bold, Code, Instant, Styled, node_words
from bot.view.words import Person as Named

MOST_READ = 40  # incidents that are read from the record for a Home
MOST_PENDING = 12
MOST_NODES = 5
MOST_RUNNING = 15
MOST_GIVEN_UP = 3
MOST_PEOPLE = 2000
RUNNING = (State.APPROVED, State.ACTING, State.VERIFYING, State.UNKNOWN)
COMMANDS = (
    ("/zombie check NODE…", "a verdict for each node"),
    ("@zombie check NODE", "the same, in a thread, where slash commands do not work"),
    ("/zombie status", "what is open; /zombie help explains cancel, undo, policy and brake"),
    ("/zombie help", "what I can do"),
)


@dataclass(frozen=True, slots=True)
class Pending:
    """A card that waits for a decision: its incidents that are still proposed."""

    plans: tuple[Incident, ...]


@dataclass(frozen=True, slots=True)
class HomeState:
    """Decisions and running incidents, as the person sees them.

    Shape: `running` is None for a person who may not learn which nodes are sick; `may_not` is why they may not decide,
    empty where they may; `braked` is the entry of the pull that is on.
    """

    pending: Sequence[Pending] = ()
    running: Sequence[IncidentSummary] | None = ()
    braked: Entry | None = None
    may_not: str = ""
    words: PlanWords = BY_NAME


class Troubled(Protocol):
    """A part whose trouble people have to know."""

    @property
    def trouble(self) -> str:
        """What does not work at present, as a sentence; empty while all is well."""
        ...


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
    # People's direct messages with the bot.
    _direct: Remembered[str, str] = field(default_factory=lambda: Remembered(MOST_PEOPLE))

    def open(self, user: str, channel: str = "") -> None:
        """Begin to bring a person's home up to date; returns at once. `channel` is their direct message."""
        if channel:
            self._direct[user] = channel
        self.background.begin(self._show(user), f"home {user}")

    async def _show(self, user: str) -> None:
        try:
            waiting, state = await self.outbox.waiting(), await self.state(user)
            given_up = await self.deliveries.given_up()
        except LedgerError:
            waiting, state, given_up = None, None, ()
        if state is not None and state.running is None:
            given_up = ()  # their titles name nodes, too
        trouble = self.pagerduty.trouble if self.pagerduty is not None else ""
        sealed = ""
        if channel := self._direct.get(user):
            # Signed, so that the answer to a choice goes to the person who opened it and to nobody else.
            sealed = self.context.signer.sign(Intent(HOME, user, {}, channel))
        shown = home(
            self.nodes,
            self.readings.running,
            waiting,
            state,
            trouble,
            given_up,
            has_menu=bool(sealed),
            chat=self.context.people.word,
        )
        await self.context.chat.publish_home(user, shown, sealed)

    async def state(self, user: str) -> HomeState:
        """Return what this person may decide, what runs, and the brake.

        Raises: LedgerError when the record cannot be read.
        """
        viewer = self.context.people.of(user)
        still_open = await self.context.ledger.incidents(only_open=True)
        braked = await self.context.ledger.braked()
        running = [summary for summary in still_open if summary.state in RUNNING]
        try:
            await self.context.check_reader(viewer)
        except Refused as no:
            return HomeState((), None, braked, refusal_words(no))
        try:
            approval = await self.context.people.approval(viewer, self.context.policy, "to look")
            guards.is_approver(self.context.policy, approval)
        except Refused as no:
            return HomeState((), running, braked, f"You cannot decide anything here. {refusal_words(no)}")
        pending: dict[str, list[Incident]] = {}
        proposed = [each for each in still_open if each.state is State.PROPOSED and not self._is_of_wave(each)]
        for summary in proposed[:MOST_READ]:
            incident = await self._decidable(summary.id, approval)
            if incident is not None:
                pending.setdefault(incident.card, []).append(incident)
        cards = [Pending(tuple(plans)) for plans in pending.values()]
        return HomeState(cards, running, braked, words=self.context.surface.words)

    def _is_of_wave(self, summary: IncidentSummary) -> bool:
        """True for one of the many nodes of a wave: its card asks for all of them, and none can be decided alone."""
        by_people = summary.source in self.context.policy.kinds | {TERMINAL}
        return by_people and is_wave(summary.source_id)

    async def _decidable(self, incident_id: str, approval: Approval) -> Incident | None:
        """The incident, if it still waits and this person may decide it."""
        try:
            incident = await self.context.find(incident_id)
            guards.is_its_own(incident)
            guards.is_not_the_asker(self.context.policy, incident, approval)
        except (UnknownIncident, Refused):
            return None
        return incident if incident.state is State.PROPOSED else None


def home(
    nodes: int,
    running: int,
    waiting: int | None,
    state: HomeState | None = None,
    trouble: str = "",
    given_up: Sequence[GivenUpDelivery] = (),
    *,
    has_menu: bool = False,
    chat: str = "Slack",
) -> tuple[Block, ...]:
    """Return what it shows: what waits for this person, what runs, the brake, what to type, and the bot's own state.

    Shape: `waiting` is None where the outbox cannot be read; `state` is None where the ledger cannot, or the bot never
    acts. `trouble` is why no alerts come, as a sentence; `given_up` are alerts that came and led to
    nothing. `chat` is its name.
    """
    posts = (
        "the ledger cannot be read"
        if waiting is None
        else f"{waiting} {'post' if waiting == 1 else 'posts'} waiting for {chat}"
    )
    return (
        Title("zombie"),
        Paragraph("I log in to a sick node, read what matters, and post a verdict with its proof."),
        *([Row((NodeMenu(),), FIND_NODE)] if has_menu else ()),
        *([Paragraph(f"⚠️ {one_line(trouble, 500)}")] if trouble else ()),
        *(_given_up(given_up) if given_up else ()),
        *(_state(state) if state is not None else ()),
        bullets(COMMANDS),
        Small((f"{nodes} nodes in the inventory · {running} being read now · {posts}",)),
    )


def _given_up(given_up: Sequence[GivenUpDelivery]) -> Iterator[Block]:
    many = f"{len(given_up)} alerts were" if len(given_up) > 1 else "1 alert was"
    yield Paragraph(f"⚠️ {many} given up: no node was read for them. /zombie check NODE reads a node.")
    for delivery in given_up[:MOST_GIVEN_UP]:
        title = f": {one_line(delivery.alarm.title, 150)}" if delivery.alarm is not None else ""
        came: list[Styled] = [" came at ", Instant(delivery.kept_at), f" and failed: {one_line(delivery.because, 200)}"]
        yield line(Bold(one_line(delivery.source, 40)), " ", Code(one_line(delivery.case, 80)), title, *came)
    if len(given_up) > MOST_GIVEN_UP:
        yield Small((f"And {len(given_up) - MOST_GIVEN_UP} more.",))


def _state(state: HomeState) -> Iterator[Block]:
    yield Title("Waiting for you")
    if state.may_not:
        yield Paragraph(state.may_not)
    elif not state.pending:
        yield Paragraph("Nothing waits for your decision.")
    for card in state.pending[:MOST_PENDING]:
        yield from _pending(card, state.words)
    if len(state.pending) > MOST_PENDING:
        yield Small((f"And {len(state.pending) - MOST_PENDING} more: /zombie status",))
    if state.running is not None:
        yield from _running(state.running)
    yield from _brake(state.braked)
    yield Rule()


def _running(running: Sequence[IncidentSummary]) -> Iterator[Block]:
    yield Title("Running")
    for summary in running[:MOST_RUNNING]:
        said = f" {summary.state.value}" + (f", {one_line(summary.cause, 80)}" if summary.cause else "")
        since: list[Styled] = [", since ", Instant(summary.updated_at), " — ", Code(summary.id)]
        yield line(Bold(node_words(summary.node)), said, *since)
    if not running:
        yield Paragraph("Nothing is being done.")
    elif len(running) > MOST_RUNNING:
        yield Small((f"And {len(running) - MOST_RUNNING} more: /zombie status",))


def _pending(card: Pending, words: PlanWords) -> Iterator[Block]:
    for incident in card.plans[:MOST_NODES]:
        plan = words.plan(incident.proposal.plan) if incident.proposal is not None else ""
        asked_by = incident.alert.asked_by
        asker: list[Styled] = [", asked for by ", Named(asked_by)] if asked_by else []
        yield line(Bold(node_words(incident.node)), clipped(f": {plan}", 500), *asker, " — ", Code(incident.id))
    if len(card.plans) > MOST_NODES:
        yield Small((f"And {len(card.plans) - MOST_NODES} more nodes on the same card.",))
    yield from choice_blocks(list(decisions_on(card.plans)))


def _brake(braked: Entry | None) -> Iterator[Block]:
    yield Title("Brake")
    if braked is None:
        yield Paragraph("The brake is off.")
        yield Row((Button("Pull the brake", BRAKE, "on", "danger"),))
        return
    reason = one_line(str(braked.body.get("reason", "")), 200)
    yield line("The brake is on: ", Named(braked.by), " pulled it at ", Instant(braked.at), f": {reason}")
    yield Row((Button("Release the brake", BRAKE, f"off-{braked.seq}"),))
