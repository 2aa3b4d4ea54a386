"""Puts together sweeps that a scheduler's workers read: for the asker, and for a worker."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from bot.actions import ACTIONS
from bot.app.check import PROGRAM
from bot.app.parts import library, now, runner_name, ssh_transport
from bot.domain.batch import Sampling
from bot.domain.errors import SchedulerError
from bot.domain.mute_record import GivenMutes, MuteRecord
from bot.inventory import Inventory
from bot.probes import PROBES
from bot.response.diagnosis.triage import Triage
from bot.response.fleet.run import Reads
from bot.response.fleet.sweep import Sweep
from bot.settings import Settings

if TYPE_CHECKING:
    from bot.response.fleet.chunk_request import Question
    from bot.response.fleet.scheduler import SchedulerAddress

Tells: TypeAlias = Callable[[str], None]
MORE_FACTS = (PROBES["boot_units"],)  # read to compare nodes, beside the playbook's own probes
NODES_A_CHUNK = 200  # at most, however many are asked at once


def elsewhere_of(
    sweep: Sweep,
    settings: Settings,
    deadline: timedelta,
    at_once: int,
    *,
    facts: bool = False,
    mutes: MuteRecord | None = None,
    remark: Tells = lambda says: None,
) -> Reads | None:
    """Return the reader that uses a scheduler's workers; None without a scheduler: then nodes are read here.

    Raises: SchedulerError when its address may not be used, or the package distributed is not installed.
    """
    if not settings.scheduler:
        return None
    address = address_of(settings)
    from bot.response.fleet.chunk_request import Question

    try:
        from bot.response.fleet.dask_reader import DaskReader
    except ImportError as no:
        raise _not_installed() from no
    asked = Question.of(sweep, program=PROGRAM, facts=facts, samples=settings.samples, deadline=deadline)
    return DaskReader(address, asked, sweep, min(at_once, NODES_A_CHUNK), now, remark, mutes)


def address_of(settings: Settings) -> SchedulerAddress:
    """Return the configured scheduler. Raises: SchedulerError when there is none, or it may not be used."""
    from bot.response.fleet.scheduler import SchedulerAddress

    if not settings.scheduler:
        raise SchedulerError(
            "No scheduler is named.",
            "Give --scheduler tls://HOST:8786, or set ZOMBIE_SCHEDULER.",
        )
    return SchedulerAddress.of(
        settings.scheduler, settings.scheduler_ca, settings.scheduler_cert, settings.scheduler_key
    )


async def work(
    settings: Settings, known: Inventory, environment: Mapping[str, str], zone: str, at_once: int, remark: Tells
) -> None:
    """Read chunks of sweeps until a signal stops it, with this machine's own inventory and reading keys.

    Raises: SchedulerError when the scheduler does not answer, is gone or may not be used, or `zone` is invalid.
    """
    address = address_of(settings)
    from bot.response.fleet.chunk_worker import ChunkWorker, ReadingOnly
    from bot.response.fleet.roster import is_zone

    try:
        from bot.response.fleet.dask_worker import serve
    except ImportError as no:
        raise _not_installed() from no
    if zone and not is_zone(zone):
        raise SchedulerError("That is not a valid zone.", "Write it like the nodes' label az or zone: us-east-1a.")
    way = ReadingOnly(ssh_transport(environment))

    def triage(question: Question, sweep: Sweep) -> Triage:
        return Triage(
            way, ACTIONS, now, Sampling(question.samples), question.deadline, mutes=GivenMutes(question.mutes)
        )

    name = runner_name()
    desk = ChunkWorker(PROGRAM, name, known, library(settings.playbooks), MORE_FACTS, triage, now, remark)
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    where = f" of {zone}" if zone else ""
    chunks = max(1, at_once // 50)
    await serve(
        address,
        desk,
        zone,
        chunks,
        stop,
        lambda own: remark(f"{name} reads nodes{where} for {address.url}, {known.says}, at {own}"),
    )


def _not_installed() -> SchedulerError:
    return SchedulerError(
        "Reading by several machines needs the package distributed, which is not installed here.",
        "Install it with: pip install 'zombie-bot[fleet]'",
    )
