"""Puts together waves, starts one, and runs one in a terminal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.app.acting import Acting
from bot.app.factories import incident_id, randomness
from bot.domain.alert import TERMINAL
from bot.domain.contracts import AdvanceLater, Log
from bot.domain.errors import LedgerError, UsageError
from bot.domain.events import GIVE_UP, GO_ON
from bot.domain.incident import Incident
from bot.domain.nearest import did_you_mean
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.policy import ApproverLookup
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Verdict, without_secrets
from bot.extras.waves.events import WaveMember
from bot.extras.waves.store import WaveStore
from bot.extras.waves.wave import Wave, WaveState
from bot.extras.waves.wave_run import WaveRun
from bot.extras.waves.wave_service import WaveService
from bot.inventory import Inventory
from bot.ledger import CaseStore, Ledger
from bot.response.diagnosis.recorder import VerdictRecorder
from bot.response.incident_record import IncidentRecord, IncidentRequest, null_log
from bot.seats import CureRequest

AT_ONCE = 20  # nodes that are read for a wave
LONGEST_PAUSE = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class WaveParts:
    """The parts of waves, over the same ledger."""

    service: WaveService
    run: WaveRun
    recorder: VerdictRecorder
    acting: Acting


def build_wave_service(
    acting: Acting,
    known: Inventory,
    ledger: Ledger,
    waves: WaveStore,
    *,
    cases: CaseStore | None = None,
    lookup: ApproverLookup | None = None,
    log: Log = null_log,
) -> WaveParts:
    """Put them together; without `lookup` people's present standing cannot be asked."""
    stepping = acting.remediation.stepping
    record = IncidentRecord(ledger, log)
    service = WaveService(acting.policy, record, ledger, waves, stepping.clock, randomness(), lookup, log)
    run = WaveRun(service, acting.responder, known, stepping.runner)
    return WaveParts(service, run, VerdictRecorder(ledger, acting.proposer, log, cases), acting)


def known_causes(playbook: Playbook, causes: Sequence[str]) -> tuple[str, ...]:
    """Return the causes. Raises: UsageError for a cause that the playbook does not evaluate, or for no causes."""
    evaluated = sorted(used.cause.name for used in playbook.causes)
    if not causes:
        raise UsageError("Which cause should be cured?", "zombie wave start SELECTOR --cause SLUG")
    for cause in causes:
        if cause not in evaluated:
            raise UsageError(
                f"{playbook.name} evaluates no cause “{one_line(cause, 60)}”.", did_you_mean(cause, evaluated)
            )
    return tuple(dict.fromkeys(causes))


async def start_wave(
    parts: WaveParts,
    request: CureRequest,
    nodes: Sequence[Node],
    playbook: Playbook,
    heard: Callable[[Verdict], None],
    wave_id: str = "",
) -> Wave:
    """Check the nodes, open an incident for each that has the cause, and propose the wave.

    Shape: `wave_id` is its id if known before; if empty, a new id is made.
    Raises: UsageError for a cause that the playbook does not evaluate, and when no node can be part of it; LedgerError
    when it cannot be written.
    """
    request = replace(request, causes=known_causes(playbook, request.causes))
    wave_id = wave_id or f"wave-{incident_id()}"
    await parts.service.end_orphans()
    slots = asyncio.Semaphore(AT_ONCE)

    async def check(node: Node) -> Verdict:
        async with slots:
            verdict = without_secrets(await parts.acting.triage.diagnose(node, playbook))
        heard(verdict)
        return verdict

    verdicts = [verdict for verdict in await asyncio.gather(*map(check, nodes)) if verdict.cause in request.causes]
    text = f"wave {' '.join(request.selectors)} {' '.join(request.causes)}"
    opening = IncidentRequest(TERMINAL, wave_id, request.by, text, playbook.name, os_user=request.os_user, wave=wave_id)
    now = parts.acting.remediation.stepping.clock()
    opened = [(opening.unrecorded(verdict.node, now), verdict) for verdict in verdicts]

    async def put(incident: Incident, verdict: Verdict) -> Incident:
        async with slots:
            return await parts.recorder.record(incident, verdict, playbook)

    try:
        # Before any plan: the number of approvals needed may depend on the number of incidents.
        for incident, _ in opened:
            await parts.recorder.record_opening(incident)
        putting = [asyncio.ensure_future(put(incident, verdict)) for incident, verdict in opened]
        try:
            found = await asyncio.gather(*putting)
        finally:  # none of them may write after what is below
            for task in putting:
                task.cancel()
            await asyncio.gather(*putting, return_exceptions=True)
        return await parts.service.propose(wave_id, request, found, playbook.name)
    finally:  # what a killed program leaves behind is ended by the next
        with contextlib.suppress(LedgerError):
            await parts.service.close_plans_left_out(wave_id, [incident for incident, _ in opened])


async def run_here(parts: WaveParts, wave_id: str, says: Callable[[Wave, str], None]) -> Wave:
    """Run a wave and its incidents until it ends, or is stopped and nothing of it is running.

    Shape: a ledger that is away meanwhile is asked again.
    """
    wave = await parts.service.find(wave_id)
    while True:
        try:
            again = await parts.run.advance(wave_id)
            wave = await parts.service.find(wave_id)
            waits = [again, *await asyncio.gather(*(_advanced(parts, turn.member) for turn in wave.under_way))]
        except LedgerError as error:
            says(wave, error.sentence)
            await asyncio.sleep(1)
            continue
        says(wave, next((wait.because for wait in reversed(waits) if wait is not None and wait.because), ""))
        if wave.ended or (wave.state is WaveState.STOPPED and not wave.under_way):
            return wave
        after = [wait.after for wait in waits if wait is not None]
        await asyncio.sleep(min([LONGEST_PAUSE, *after]).total_seconds() if after else 0.05)


async def _advanced(parts: WaveParts, member: WaveMember) -> AdvanceLater | None:
    incident = await parts.service.incident(member)
    if incident is None or incident.ended or incident.state is State.PROPOSED:
        return None  # the wave's own next step
    again = await parts.acting.remediation.step(incident)
    if again is None or incident.state is not State.UNKNOWN or incident.question is None:
        return again
    asks = f"{incident.node} asks: {one_line(incident.question.question, 300)}"
    return replace(again, because=f'{asks} To answer: zombie remediate {incident.id} --answer "{GO_ON}" or "{GIVE_UP}"')
