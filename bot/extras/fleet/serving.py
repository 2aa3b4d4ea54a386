"""Sweeps while the bot serves: those that run by themselves, and those that people ask for in Slack."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bot.app.factories import now, ssh_transport
from bot.chat.context import ChatContext
from bot.chat.post_state import MessageTarget
from bot.extras.fleet.chat_cards import FleetCards
from bot.extras.fleet.runner import FleetRunner, SweepDependencies
from bot.extras.fleet.settings import SweepSettings
from bot.extras.fleet.store import SweepStore
from bot.extras.fleet.sweeps import Digest, ScheduledSweep, SweepScheduler, digest_card, scheduled

if TYPE_CHECKING:
    from bot.app.bot import Bot


def serving(bot: Bot) -> SweepScheduler | None:
    """Return what runs scheduled sweeps; None where there are none. Raises: UsageError where one is meaningless."""
    sweeps = scheduled(bot.settings.every(SweepSettings), bot.playbooks.get())
    if not sweeps:
        return None
    poster, stores = bot.posting.poster, bot.stores

    async def post(key: str, sweep: ScheduledSweep, found: Digest) -> None:
        await poster.finish(key, MessageTarget(sweep.channel), digest_card(sweep, found))

    store = SweepStore(stores.database)
    return SweepScheduler(sweeps, bot.once(_runner), stores.chat_requests, stores.readings, store, post, now, bot.log)


def chat(bot: Bot, context: ChatContext) -> FleetCards:
    """Return what takes requests about many nodes, and clicks on their cards."""
    cure = next(iter(bot.seated("cures")), None)
    return FleetCards(context, bot.once(_runner), bot.posting.poster, bot.posting.work, cure)


def _runner(bot: Bot) -> FleetRunner:
    means = SweepDependencies(bot.settings, ssh_transport(bot.environment), bot.stores.ledger)
    keeps = bot.seated("keeps_facts")
    return FleetRunner(bot.known, bot.playbooks, means, bot.environment, asyncio.Semaphore(2), keeps=keeps)
