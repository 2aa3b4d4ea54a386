"""Puts together sweeps over a fleet, for a terminal and for `serve`."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta

from bot.actions import ACTIONS
from bot.app.check import DEADLINE_BEYOND_WINDOW, Check
from bot.app.kubernetes import draining
from bot.app.parts import now
from bot.app.pooled_reader import PooledReader
from bot.app.selecting import meant
from bot.app.workers import MORE_FACTS, Tells, elsewhere_of
from bot.domain.batch import Sampling
from bot.domain.contracts import Transport
from bot.domain.mute_record import MuteRecord
from bot.domain.node import Node
from bot.domain.playbook import Playbook, Playbooks
from bot.inventory import Inventory
from bot.response.diagnosis.planning import DrainSettings
from bot.response.diagnosis.triage import Triage
from bot.response.fleet.ask import FleetAsk
from bot.response.fleet.fleet_runner import FleetRunner
from bot.response.fleet.report import FleetReport
from bot.response.fleet.run import MOST_AT_ONCE, FleetRun
from bot.response.fleet.sweep import Sweep
from bot.settings import Settings


def sweep_run(
    nodes: Sequence[Node],
    selected: int,
    sweep: Sweep,
    transport: Transport,
    settings: Settings,
    parallel: int | None = None,
    mutes: MuteRecord | None = None,
    remark: Tells = lambda says: None,
) -> FleetRun:
    """Return the run of a sweep; `mutes` say which causes are accepted, for full judgements.

    Shape: `remark` takes remarks about the workers of a scheduler.
    Raises: SchedulerError when its address may not be used.
    """
    triage = _triage(sweep, transport, settings, draining(settings), mutes)
    at_once = parallel or MOST_AT_ONCE
    elsewhere = elsewhere_of(sweep, settings, triage.deadline, at_once, mutes=mutes, remark=remark)
    if elsewhere is None:
        elsewhere = PooledReader.of(
            Check(
                tuple(nodes),
                sweep.playbook,
                transport,
                triage.sampling,
                triage.deadline,
                at_once,
                triage.draining,
                mutes,
                folders=tuple(settings.playbooks),
            ),
            sweep,
        )
    return FleetRun(tuple(nodes), selected, sweep, triage, at_once, elsewhere=elsewhere)


def facts_run(
    nodes: Sequence[Node],
    playbook: Playbook,
    transport: Transport,
    settings: Settings,
    parallel: int | None = None,
    remark: Tells = lambda says: None,
) -> FleetRun:
    """Return the run that reads facts for comparing nodes; `remark` as in `sweep_run`."""
    sweep = Sweep.of_facts(playbook, MORE_FACTS)
    triage = _triage(sweep, transport, settings)
    at_once = parallel or MOST_AT_ONCE
    elsewhere = elsewhere_of(sweep, settings, triage.deadline, at_once, facts=True, remark=remark)
    return FleetRun(tuple(nodes), len(nodes), sweep, triage, at_once, wants_facts=True, elsewhere=elsewhere)


def fleet_runner(
    settings: Settings,
    known: Inventory,
    playbooks: Playbooks,
    transport: Transport,
    environment: Mapping[str, str],
    mutes: MuteRecord | None,
) -> FleetRunner:
    """Return the desk for sweeps of a serving bot."""

    async def selected(ask: FleetAsk) -> tuple[Node, ...]:
        return await meant(ask.words, known, settings, environment, ask.namespace)

    def run(nodes: Sequence[Node], selected: int, sweep: Sweep) -> FleetRun:
        return sweep_run(nodes, selected, sweep, transport, settings, mutes=mutes if sweep.is_full else None)

    def facts(nodes: Sequence[Node], playbook: Playbook) -> FleetRun:
        return facts_run(nodes, playbook, transport, settings)

    window = Sampling(settings.samples).window
    return FleetRunner(selected, known, playbooks, run, facts, secrets.SystemRandom(), window, asyncio.Semaphore(2))


def _triage(
    sweep: Sweep,
    transport: Transport,
    settings: Settings,
    drains: DrainSettings | None = None,
    mutes: MuteRecord | None = None,
) -> Triage:
    sampling = Sampling(settings.samples)
    deadline = settings.deadline or DEADLINE_BEYOND_WINDOW + (sampling.window if sweep.needs_window else timedelta(0))
    return Triage(transport, ACTIONS, now, sampling, deadline, draining=drains or DrainSettings(), mutes=mutes)


def exit_status(report: FleetReport) -> int:
    """Return 4 when every node was unreachable, else as `check`: 1 found, 4 any unreachable, 3 any unknown, 0."""
    if report.answers and len(report.unreachable) == len(report.answers):
        return 4
    if any(status.rank > 0 for status in report.statuses) or any(count.nodes for count in report.causes):
        return 1
    if report.unreachable:
        return 4
    return 3 if report.unknown or not report.is_whole else 0
