"""Scheduled sweeps: what is new since the last digest, when to post it, and what runs them while the bot serves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeAlias

from bot.app.while_serving import WhileServing
from bot.causes import CAUSES
from bot.chat.document import Block, Document, Paragraph, Title, bullets, clipped, small
from bot.domain.contracts import Clock, Log
from bot.domain.duration import is_in_day_span, span_words
from bot.domain.errors import UsageError
from bot.domain.growth import CountSample, Growth, growth
from bot.domain.json_form import NotOfForm, read, to_json_types
from bot.domain.playbook import Playbook
from bot.domain.safe_text import listed, one_line
from bot.extras.fleet.fleet_request import FleetRequest
from bot.extras.fleet.report import FleetReport, headline
from bot.extras.fleet.runner import FleetRunner
from bot.extras.fleet.settings import SweepSettings
from bot.extras.fleet.store import SweepStore
from bot.extras.fleet.sweep import NodeAnswer, NodeOutcome, Sweep
from bot.ledger import ReadingStore
from bot.ledger.chat_requests import ChatRequestStore
from bot.view.growth_words import harm_words

NEAR = timedelta(days=7)  # harm that is farther away is not reported
URGENT = timedelta(hours=12)  # harm this near is posted in quiet hours too
NEARER = 2  # posted again once the time left is the last posted time divided by this


@dataclass(frozen=True, slots=True)
class ScheduledSweep:
    """A [[sweep]]: what is asked how often, where its digest goes, and its quiet hours (minutes of the day, UTC)."""

    name: str
    every: timedelta
    ask: FleetRequest
    channel: str
    quiet: tuple[tuple[int, int], ...] = ()

    def is_quiet(self, now: datetime) -> bool:
        """True in quiet hours, when only urgent news is posted."""
        return any(is_in_day_span(now, hours) for hours in self.quiet)

    def slot(self, now: datetime) -> int:
        """The number of the sweep that is due; the same for every program that shares the database."""
        return int(now.timestamp() // self.every.total_seconds())


@dataclass(frozen=True, slots=True)
class PostedSweep:
    """What was posted last: the nodes of each cause, and by `NODE CAUSE` the time that was left until harm."""

    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    harm_in: Mapping[str, timedelta] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Digest:
    """A sweep compared with the last digest that was posted.

    Shape: `new`, `gone` and `unasked` are nodes by cause; a node that did not answer is neither new nor gone, one that
    the sweep no longer selects is unasked. `nearer` are nodes nearer to harm, the nearest first. `posted` replaces the
    stored digest once this is posted.
    """

    report: FleetReport
    new: Mapping[str, tuple[str, ...]]
    gone: Mapping[str, tuple[str, ...]]
    unasked: Mapping[str, tuple[str, ...]]
    nearer: tuple[tuple[str, Growth], ...]
    posted: PostedSweep

    @property
    def is_news(self) -> bool:
        """True if it should be posted: recovered nodes alone are no reason."""
        return bool(self.new or self.nearer)

    @property
    def is_urgent(self) -> bool:
        """True if harm is hours away, or there already."""
        return any(
            growth.is_harmful or (growth.harm_in is not None and growth.harm_in[1] < URGENT)
            for _, growth in self.nearer
        )


def digest(before: PostedSweep, report: FleetReport, growths: Mapping[tuple[str, str], Growth]) -> Digest:
    """Compare a sweep with what was posted last; `growths` are by node and cause."""
    silent = {answer.node for answer in report.answers if answer.outcome is NodeOutcome.UNREACHABLE}
    silent |= {node for node in report.labels if node not in {answer.node for answer in report.answers}}
    new: dict[str, tuple[str, ...]] = {}
    gone: dict[str, tuple[str, ...]] = {}
    unasked: dict[str, tuple[str, ...]] = {}
    nodes: dict[str, tuple[str, ...]] = {}
    for count in report.causes:
        earlier, open_ = before.nodes.get(count.cause, ()), {*count.undecided, *silent}
        if outcome := tuple(node for node in count.nodes if node not in earlier):
            new[count.cause] = outcome
        left = [node for node in earlier if node not in count.nodes and node not in open_]
        if well := tuple(node for node in left if node in report.labels):
            gone[count.cause] = well
        if away := tuple(node for node in left if node not in report.labels):
            unasked[count.cause] = away
        # A node that did not answer has not recovered: it is not new when it answers again.
        nodes[count.cause] = (*count.nodes, *(node for node in earlier if node in open_ and node not in count.nodes))
    nearer: list[tuple[timedelta, str, Growth]] = []
    harm_in: dict[str, timedelta] = {
        key: left for key, left in before.harm_in.items() if key.partition(" ")[0] in silent
    }
    for (node, cause), trend in growths.items():
        left_now = timedelta(0) if trend.is_harmful else trend.harm_in[1] if trend.harm_in is not None else None
        if left_now is None or left_now > NEAR:
            continue
        key = f"{node} {cause}"
        earlier_left = before.harm_in.get(key)
        if earlier_left is None or left_now * NEARER <= earlier_left != timedelta(0):
            nearer.append((left_now, node, trend))
            harm_in[key] = left_now
        else:
            harm_in[key] = earlier_left
    nearer.sort(key=lambda each: each[:2])
    near = tuple((node, growth) for _, node, growth in nearer)
    return Digest(report, new, gone, unasked, near, PostedSweep(nodes, harm_in))


# --- running them: each by a single program at a time, and posted if there is news


LOOKS_EVERY = 10.0  # seconds between looks for due sweeps
Tells: TypeAlias = Callable[[str, ScheduledSweep, Digest], Awaitable[None]]


def scheduled(settings: Sequence[SweepSettings], playbook: Playbook) -> tuple[ScheduledSweep, ...]:
    """Return the sweeps that the settings name.

    Raises: UsageError where a selector is meaningless, or the playbook does not evaluate a cause.
    """
    found = []
    for number, said in enumerate(settings, 1):
        try:
            ask = FleetRequest.typed([*said.select, *(word for cause in said.cause for word in ("--cause", cause))])
            ask = replace(ask, full=said.full)
            Sweep.of(playbook, ask.causes, full=ask.full)
        except UsageError as no:
            raise UsageError(f"[[sweep]] {number} in zombie.toml: {no.sentence}", no.try_next) from no
        name = hashlib.sha256(json.dumps([ask.whole_text, said.channel]).encode()).hexdigest()[:16]
        found.append(ScheduledSweep(name, said.every, ask, said.channel, said.quiet))
    return tuple(found)


@dataclass(slots=True, eq=False)
class SweepScheduler(WhileServing):
    """Runs due sweeps.

    Shape: a sweep's slot is a chat request, which only one live program can take; those of a dead program are redone.
    `tells` posts a digest in its channel, once for each key.
    """

    sweeps: Sequence[ScheduledSweep]
    runner: FleetRunner
    chat_requests: ChatRequestStore
    readings: ReadingStore
    store: SweepStore
    tells: Tells
    now: Clock
    log: Log
    named, every, failed = "scheduled sweeps", LOOKS_EVERY, "sweep_failed"

    async def turn(self) -> None:
        """Run each due sweep that no other program runs or ran."""
        for sweep in self.sweeps:
            key = f"sweep-{sweep.name}-{sweep.slot(self.now())}"
            if await self.chat_requests.keep(key):
                await self._run_sweep(sweep, key)
                await self.chat_requests.mark_done(key)

    async def _run_sweep(self, sweep: ScheduledSweep, key: str) -> None:
        try:
            run = await self.runner.prepared(sweep.ask)
        except UsageError as no:
            self.log("sweep_failed", sweep=sweep.ask.says, error=str(no))
            return
        try:
            await self.runner.run(run, lambda answer: None)
        except UsageError as no:  # of some nodes: what the others said is no less worth a warning
            self.log("sweep_failed", sweep=sweep.ask.says, error=str(no))
            if not run.answers:
                return
        found = digest(
            _posted_sweep(await self.store.last_digest(sweep.name)), run.report, await self._update_growths(run.answers)
        )
        is_posted = found.is_news and (found.is_urgent or not sweep.is_quiet(self.now()))
        self.log(
            "swept",
            sweep=sweep.ask.says,
            kind="scheduled",
            **found.report.figures,
            new=sum(map(len, found.new.values())),
            nearer=len(found.nearer),
            posted=is_posted,
        )
        if is_posted:
            await self.tells(key, sweep, found)
        if is_posted or not found.is_news:  # in quiet hours news waits
            await self.store.store_digest(sweep.name, json.dumps(to_json_types(found.posted)))

    async def _update_growths(self, answers: Sequence[NodeAnswer]) -> Mapping[tuple[str, str], Growth]:
        found: dict[tuple[str, str], Growth] = {}
        at: datetime = self.now()
        for answer in answers:
            for counted in answer.counted:
                cause = CAUSES.get(counted.cause)
                if cause is None or cause.grows is None:
                    continue
                await self.readings.keep(answer.node, counted.cause, CountSample(at, counted.value, counted.boot))
                looks = await self.readings.looks(answer.node, counted.cause)
                if (trend := growth(counted.cause, cause.grows, looks, counted.harm)) is not None:
                    found[answer.node, counted.cause] = trend
        return found


def _posted_sweep(text: str) -> PostedSweep:
    try:
        return read(PostedSweep, json.loads(text)) if text else PostedSweep()
    except (ValueError, NotOfForm, RecursionError):
        return PostedSweep()


# --- the message


SAID = 400
MOST = 10  # of a list
NAMED = 8  # nodes by name


def digest_card(sweep: ScheduledSweep, digest: Digest) -> Document:
    """Return the message: it asks for nothing, `/zombie check NODE` gives the verdict."""
    new = sum(len(nodes) for nodes in digest.new.values())
    parts = [f"{new} new" if new else "", f"{len(digest.nearer)} nearer to harm" if digest.nearer else ""]
    title = f"Sweep of {one_line(' '.join(sweep.ask.words), 60)}: {', '.join(filter(None, parts)) or 'nothing new'}"
    blocks: list[Block] = [Title(title), Paragraph(clipped(f"{headline(digest.report)}.", SAID))]
    if digest.nearer:
        near = [(node, harm_words(growth)) for node, growth in digest.nearer[:MOST]]
        blocks.append(bullets([(one_line(node, 60), clipped(words, SAID)) for node, words in near]))
    told = {"new": digest.new, "gone": digest.gone, "no longer asked": digest.unasked}
    rows = [(f"{how}: {cause}", _named_nodes(nodes)) for how, by in told.items() for cause, nodes in by.items()]
    if rows:
        blocks.append(bullets([(about, clipped(words, SAID)) for about, words in rows[:MOST]]))
    again = f"Every {span_words(sweep.every)}: zombie fleet {one_line(sweep.ask.says, 200)}."
    look = "" if sweep.ask.full else " A single look finds what is possible; /zombie check NODE gives the verdict."
    blocks += small(f"{again}{look}")
    says = [f"{node}: {harm_words(growth)}" for node, growth in digest.nearer[:3]]
    return Document(" ".join([f"{title}.", *says]), tuple(blocks))


def _named_nodes(nodes: tuple[str, ...]) -> str:
    return listed([one_line(node, 60) for node in nodes], NAMED)
