"""From an opened incident to its recorded verdict: the engine's step for incidents of every source.

A reading waits in the scheduler, not in an engine's slot: `advance` begins it and returns. Running readings
are known by incident id; a bot that stops leaves the rest opened, and the next holder of the lease reads them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from weakref import WeakValueDictionary

from bot.domain.alert import BOT, TERMINAL
from bot.domain.command import slow_words
from bot.domain.contracts import (
    AdvanceLater,
    Listener,
    Log,
    NodeDirectory,
    ProbeAnswered,
    Progress,
    ReadingStarted,
    ReadingWaits,
    Sleep,
)
from bot.domain.errors import Conflict, ImpossibleEvent, InventoryError, LedgerError, LedgerUnavailable, PlaybookError
from bot.domain.events import Cancelled
from bot.domain.incident import Incident, newest
from bot.domain.playbook import Playbook, Playbooks
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Verdict
from bot.probes.profile import as_run, profiled
from bot.response.diagnosis.alert_coverage import alerted
from bot.response.diagnosis.progress import DiagnosisFollower, ReadingProgress
from bot.response.diagnosis.recorder import VerdictRecorder
from bot.response.diagnosis.scheduler import CheckScheduler, unread_node_verdict
from bot.response.incident_record import IncidentRecord

IN_STORMS = "storms"  # in storms all readings share a person's allowance, so that people's own checks go on
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds between tries to record a verdict
LOOK_AGAIN = AdvanceLater(timedelta(minutes=1))  # is the reading that was begun here still running
_NEVER_READ = "Its alert was over and fired again before the node was read"
GONE = "It left the inventory before it could be read."


@dataclass(slots=True)
class _Job:
    """An incident's diagnosis; `task` is None until its followers know of it."""

    underway: ReadingProgress
    task: asyncio.Task[None] | None = None


def is_to_be_read(incident: Incident) -> bool:
    """True for an incident whose node the engine has to read: a terminal reads its own nodes."""
    asked_here = incident.alert.kind != TERMINAL and not incident.undoes
    return incident.state is State.OPENED and bool(incident.node) and asked_here


@dataclass(slots=True, eq=False)
class Diagnosis:
    """Reads nodes of opened incidents, tells its followers, and has the verdicts recorded.

    Shape: `people` are the kinds of alerts that people ask for themselves.
    """

    scheduler: CheckScheduler
    record: IncidentRecord
    recorder: VerdictRecorder
    nodes: NodeDirectory
    playbooks: Playbooks
    log: Log
    followers: Sequence[DiagnosisFollower] = ()
    sleep: Sleep = asyncio.sleep
    people: frozenset[str] = field(default=frozenset(), kw_only=True)
    _jobs: dict[str, _Job] = field(default_factory=dict, init=False)
    _groups: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary, init=False)
    _is_closed: bool = field(default=False, init=False)

    def is_reading(self, incident_id: str) -> bool:
        """True while an incident's diagnosis runs here."""
        return incident_id in self._jobs

    async def advance(self, incident: Incident) -> AdvanceLater:
        """Begin to read the node of an opened incident, and of others in its group that wait.

        Where its alert was over and fired again meanwhile, a newer incident stands in its place, and it ends.
        Raises: LedgerError when the record cannot be read.
        """
        card = incident.card
        async with self._groups.setdefault(card, asyncio.Lock()):
            if incident.id not in self._jobs:
                before = set(self._jobs)  # a job that ends while the group is read makes what was read out of date
                group = newest(await self.record.incidents_of_card(card))
                await self._begin(group, [member for member in group if member.id not in before])
                newer = next((member.id for member in reversed(group) if member.node == incident.node), incident.id)
                if newer != incident.id:
                    with suppress(Conflict, ImpossibleEvent):  # it has gone on by now
                        await self.record.append(incident, Cancelled(f"{_NEVER_READ}: see incident {newer}."), BOT)
        return LOOK_AGAIN

    async def begin(self, group: Sequence[Incident]) -> None:
        """Begin to read the nodes of a group that was just opened, even if that could not be recorded."""
        await self._begin(group, group)

    async def drain(self, seconds: float) -> None:
        """Begin no further reading, wait for running ones at most so many seconds, leave the rest to the next run."""
        self._is_closed = True
        self.scheduler.close()
        tasks = {job.task for job in self._jobs.values() if job.task is not None}
        late: set[asyncio.Task[None]] = set()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
        for task in late:
            task.cancel()
        await self.scheduler.cancel_running_reads()
        await asyncio.gather(*late, return_exceptions=True)

    async def _begin(self, group: Sequence[Incident], owed: Sequence[Incident]) -> None:
        begun = [member for member in owed if is_to_be_read(member) and member.id not in self._jobs]
        if not begun or self._is_closed:
            return
        jobs = {member.id: _Job(ReadingProgress(member)) for member in begun}
        self._jobs |= jobs  # before the first await, so that nothing else begins them
        try:
            for follower in self.followers:
                await follower.begun(group, begun)
        except BaseException:
            for incident_id in jobs:
                del self._jobs[incident_id]
            raise
        for incident_id, job in jobs.items():
            job.task = asyncio.create_task(self._diagnose_and_record(job), name=f"diagnosis {incident_id}")
            job.task.add_done_callback(self._log_failure)

    def _log_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log("diagnosis_broke_off", task=task.get_name(), error=repr(error))

    async def _diagnose_and_record(self, job: _Job) -> None:
        incident = job.underway.incident
        try:
            if not incident.seq:
                with suppress(LedgerError):  # the node is read all the same, and opened with its verdict
                    await self.recorder.record_opening(incident)
            playbook = self._chosen(incident)
            if incident.profile:
                playbook = profiled(playbook, as_run(incident.profile))
            verdict = await self._verdict(job, playbook)
            if verdict is None:
                return  # the bot is stopping; the next run reads it
            if verdict.cause is None:
                verdict = replace(verdict, alerted=alerted(incident.alerts, verdict.snapshot))
            try:
                # Shown first: a verdict that is not recorded is read again after a restart.
                for follower in self.followers:
                    await follower.concluded(incident, verdict)
            finally:
                await self._put_on_record(incident, verdict, playbook)
        finally:
            del self._jobs[incident.id]
            for follower in self.followers:
                follower.ended(incident)

    async def _verdict(self, job: _Job, playbook: Playbook) -> Verdict | None:
        incident = job.underway.incident
        try:
            node = self.nodes.find(incident.node)
        except InventoryError:
            return unread_node_verdict(incident.node, GONE)
        return await self.scheduler.ask(self._person(incident), node, playbook, self._listener(job))

    def _listener(self, job: _Job) -> Listener:
        def heard(event: Progress) -> None:
            before = job.underway
            match event:
                case ReadingWaits(because=because):
                    job.underway = replace(before, waiting=because)
                case ReadingStarted(probes=probes):
                    job.underway = ReadingProgress(before.incident, asked=len(probes))
                case ProbeAnswered(slowness=slowness):
                    slow = slow_words(slowness)
                    job.underway = replace(before, answered=before.answered + 1, waiting="", slow=slow)
                case _:
                    return
            for follower in self.followers:
                follower.moved(job.underway)

        return heard

    async def _put_on_record(self, incident: Incident, verdict: Verdict, playbook: Playbook) -> None:
        """Record the verdict, however long the ledger is down: nothing else will."""
        pause = FIRST_PAUSE
        while True:
            try:
                await self.recorder.record(incident, verdict, playbook)
                return
            except LedgerUnavailable as error:
                self.log("record_failed", incident=incident.id, error=one_line(str(error)), again_in_seconds=pause)
            except LedgerError as error:
                self.log("record_failed", incident=incident.id, error=one_line(str(error)))
                return
            await self.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)

    def _chosen(self, incident: Incident) -> Playbook:
        """The incident's playbook, or the default playbook if it is gone."""
        try:
            return self.playbooks.get(incident.playbook)
        except PlaybookError as no:
            self.log("playbook_gone", incident=incident.id, error=one_line(no.sentence))
            return self.playbooks.get("")

    def _person(self, incident: Incident) -> str:
        """Whose allowance a reading counts for: a person's, an alert's, or that of all storms together."""
        if incident.storm:
            return IN_STORMS
        alert = incident.alert
        return alert.asked_by if alert.kind in self.people else f"alarm {incident.card}"
