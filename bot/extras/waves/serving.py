"""Waves while the bot serves: what runs them, and what begins and shows them in Slack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bot.actions import ACTIONS
from bot.app.while_serving import WhileServing
from bot.chat.context import ChatContext
from bot.chat.people import ChatApproverLookup
from bot.domain.contracts import Log, Seconds
from bot.domain.engine_contracts import Notices
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.engine.job_queue import JobQueue
from bot.extras.waves.chat_cards import PlansFile, WaveCards
from bot.extras.waves.chat_decisions import WaveDecisions
from bot.extras.waves.store import WaveCounts, WaveStore
from bot.extras.waves.wave import Wave
from bot.extras.waves.wave_run import WaveRun
from bot.extras.waves.wiring import WaveParts, build_wave_service, start_wave
from bot.ledger import Leases
from bot.seats import CureRequest
from bot.view.plan_words import PlanWords

if TYPE_CHECKING:
    from bot.app.bot import Bot

LOOKS_EVERY = 1.0  # seconds between looks for waves without an owner
ORPHANS_EVERY = 60.0  # seconds between looks for incidents of waves that were never proposed


def _parts(bot: Bot) -> WaveParts:
    people = bot.posting.connection.people(bot.acting.policy.approver_groups)
    stores, lookup = bot.stores, ChatApproverLookup(people, bot.acting.policy)
    waves, cases = WaveStore(stores.database), stores.case_store
    parts = build_wave_service(bot.acting, bot.known, stores.ledger, waves, cases=cases, lookup=lookup, log=bot.log)
    return replace(parts, run=replace(parts.run, goes_on=partial(go_on_here, stores.leases, bot.notices)))


async def go_on_here(leases: Leases, notices: Notices, incident: Incident) -> None:
    """Have this program go on with an incident of the wave that it runs: whoever has it may not act."""
    if incident.card not in await leases.mine():
        notices.decided(incident.id)


def _cards(bot: Bot) -> WaveCards:
    parts, posting = bot.once(_parts), bot.posting

    async def start(name: str, cure: CureRequest, nodes: Sequence[Node]) -> Wave:
        return await start_wave(parts, cure, nodes, parts.acting.playbooks.get(""), lambda _: None, wave_id=name)

    shown = posting.poster, posting.work, posting.watching
    return WaveCards(parts.service, start, PlanWords(ACTIONS), *shown, bot.log, bot.stores.chat_requests)


def serving(bot: Bot) -> WaveKeeper:
    """Return what runs waves while the bot serves."""
    parts = bot.once(_parts)
    return WaveKeeper(parts.run, parts.service.waves, bot.stores.leases, bot.log, bot.timing.clock)


def chat(bot: Bot, context: ChatContext) -> WaveDecisions:
    """Return what takes clicks on waves' cards, and their dialogs."""
    return WaveDecisions(context, bot.once(_cards))


def counts(_: Bot) -> WaveCounts:
    """Return what is counted for `/metrics`."""
    return WaveCounts()


def cures(bot: Bot) -> WaveCards:
    """Return what proposes a wave for nodes that were found."""
    return bot.once(_cards)


def files(bot: Bot) -> tuple[PlansFile, ...]:
    """Return the files in the threads of waves' cards."""
    return (PlansFile(lambda: bot.once(_cards)),)


class WaveKeeper(WhileServing):
    """Runs every wave without another live owner, while the bot serves."""

    named, every, failed = "waves", LOOKS_EVERY, "waves_failed"

    def __init__(self, run: WaveRun, waves: WaveStore, leases: Leases, log: Log, clock: Seconds) -> None:
        self._run = run
        self._clock = clock
        self._waves = waves
        self._leases = leases
        self.log = log
        self._looked = -ORPHANS_EVERY
        self._work = JobQueue(self._carry_on, 4, clock, log, "wave_failed", "wave")

    async def drain(self, seconds: float) -> None:
        """Begin nothing more, and wait for what is being done."""
        await self.stop()
        await self._work.finish(seconds)

    async def turn(self) -> None:
        """Look for waves, and begin what is due; what is known goes on also where no other can be found."""
        self._work.begin()
        if self._clock() - self._looked >= ORPHANS_EVERY:
            await self._run.service.end_orphans()
            self._looked = self._clock()
        for wave in await self._waves.ids(only_open=True):
            if not self._work.is_scheduled(wave):
                self._work.schedule(wave)
        self._work.begin()

    async def _carry_on(self, wave: str) -> float | None:
        # Only avoids double work: a bot that does not act leaves it to one that does.
        if self._run.policy.acting and not await self._leases.take(wave):
            return LOOKS_EVERY
        again = await self._run.advance(wave)
        if again is None:
            await self._leases.let_go((wave,))
            return None
        return again.after.total_seconds()
