"""Scheduled sweeps of a serving bot: each is run by a single program at a time, and posted if there is news."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.causes import CAUSES
from bot.domain.case import SweepReports
from bot.domain.chat_request import ChatRequests
from bot.domain.contracts import Clock, Log
from bot.domain.errors import LedgerError, UsageError
from bot.domain.growth import CountSample, Growth, Readings, growth
from bot.domain.json_form import NotOfForm, plain, read
from bot.domain.playbook import Playbook
from bot.response.fleet.answer import NodeAnswer
from bot.response.fleet.ask import FleetAsk
from bot.response.fleet.fleet_runner import FleetRunner
from bot.response.fleet.scheduled import Digest, ScheduledSweep, SweepTold, digest
from bot.response.fleet.sweep import Sweep
from bot.settings.tables import SweepSettings

LOOKS_EVERY = 10.0  # seconds between looks for due sweeps
Tells = Callable[[str, ScheduledSweep, Digest], Awaitable[None]]


def scheduled(settings: Sequence[SweepSettings], playbook: Playbook) -> tuple[ScheduledSweep, ...]:
    """Return the sweeps that the settings name.

    Raises: UsageError where a selector is meaningless, or the playbook does not weigh a cause.
    """
    found = []
    for number, said in enumerate(settings, 1):
        try:
            ask = FleetAsk.typed([*said.select, *(word for cause in said.cause for word in ("--cause", cause))])
            Sweep.of(playbook, ask.causes)
        except UsageError as no:
            raise UsageError(f"[[sweep]] {number} in zombie.toml: {no.sentence}", no.try_next) from no
        name = hashlib.sha256(json.dumps([ask.text, said.channel]).encode()).hexdigest()[:16]
        found.append(ScheduledSweep(name, said.every, ask, said.channel, said.quiet))
    return tuple(found)


@dataclass(slots=True, eq=False)
class Sweeps:
    """Runs due sweeps.

    Shape: a sweep's slot is a chat request, which only one live program can take; those of a dead program are redone.
    `tells` posts a digest in its channel.
    """

    sweeps: Sequence[ScheduledSweep]
    desk: FleetRunner
    chat_requests: ChatRequests
    readings: Readings
    store: SweepReports
    tells: Tells
    now: Clock
    log: Log

    async def run(self) -> None:
        """Run due sweeps until cancelled; returns at once where no sweep is configured."""
        while self.sweeps:
            await self.due()
            await asyncio.sleep(LOOKS_EVERY)

    async def due(self) -> None:
        """Run each due sweep that no other program runs or ran."""
        for sweep in self.sweeps:
            key = f"sweep-{sweep.name}-{sweep.slot(self.now())}"
            try:
                if await self.chat_requests.keep(key):
                    await self._swept(sweep, key)
                    await self.chat_requests.done(key)
            except LedgerError as no:
                self.log("ledger_unavailable", error=str(no))

    async def _swept(self, sweep: ScheduledSweep, key: str) -> None:
        try:
            run = await self.desk.prepared(sweep.ask)
        except UsageError as no:
            self.log("sweep_failed", sweep=sweep.ask.says, error=str(no))
            return
        try:
            await self.desk.run(run, lambda answer: None)
        except UsageError as no:  # of some nodes: what the others said is no less worth a warning
            self.log("sweep_failed", sweep=sweep.ask.says, error=str(no))
            if not run.answers:
                return
        found = digest(_of(await self.store.told(sweep.name)), run.report, await self._growths(run.answers))
        is_told = found.is_news and (found.is_urgent or not sweep.is_quiet(self.now()))
        self.log(
            "swept",
            sweep=sweep.ask.says,
            kind="scheduled",
            **found.report.figures,
            new=sum(map(len, found.new.values())),
            nearer=len(found.nearer),
            told=is_told,
        )
        if is_told:
            await self.tells(key, sweep, found)
        if is_told or not found.is_news:  # in quiet hours news waits
            await self.store.tell(sweep.name, json.dumps(plain(found.told)))

    async def _growths(self, answers: Sequence[NodeAnswer]) -> Mapping[tuple[str, str], Growth]:
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


def _of(text: str) -> SweepTold:
    try:
        return read(SweepTold, json.loads(text)) if text else SweepTold()
    except (ValueError, NotOfForm, RecursionError):
        return SweepTold()
