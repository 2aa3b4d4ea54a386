"""A check of nodes: each is diagnosed by itself, a limited number at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias

from bot.actions import ACTIONS
from bot.app.factories import now
from bot.app.kubernetes import draining
from bot.app.many_nodes import each_node
from bot.app.start_limiter import StartLimiter
from bot.domain.batch import Sampling
from bot.domain.contracts import Listener, Transport
from bot.domain.growth import CountSample, Growth
from bot.domain.mute_record import MuteRecord
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.safe_text import Redactor
from bot.domain.verdict import Status, Verdict, without_secrets
from bot.probes.host import HostReading
from bot.response.diagnosis.count_growth import growth_without_storing
from bot.response.diagnosis.triage import Triage
from bot.settings import Settings

# A slow node is read for so long while it answers; one that is silent is given up sooner (`Batch.silence`).
DEADLINE_BEYOND_WINDOW = timedelta(seconds=55)

HearsVerdict: TypeAlias = Callable[[Verdict], None]


@dataclass(frozen=True, slots=True)
class Check:
    """What a `check` does: its nodes, its playbook, how each node is read and judged, and how many nodes at a time."""

    nodes: tuple[Node, ...]
    playbook: Playbook
    triage: Triage
    parallel: int


def triage_of(settings: Settings, transport: Transport, mutes: MuteRecord | None = None, program: str = "") -> Triage:
    """Return how nodes are read and judged by the settings.

    Shape: `mutes` says which causes are known and accepted, `program` names this program if each snapshot keeps its
    case.
    """
    sampling = Sampling(settings.samples)
    deadline = settings.deadline or sampling.window + DEADLINE_BEYOND_WINDOW
    return Triage(
        transport, ACTIONS, now, sampling, deadline, draining=draining(settings), mutes=mutes, program=program
    )


async def check(what: Check, heard: Listener, concluded: HearsVerdict) -> None:
    """Diagnose every node and pass on each verdict as it comes. Raises: UsageError, as `each_node`."""
    redactor, diagnose = Redactor(), StartLimiter(what.triage.cpu_lock).paced(what.triage.diagnose)

    async def judge(node: Node) -> None:
        concluded(without_secrets(await diagnose(node, what.playbook, heard), redactor))

    await each_node(what.nodes, what.parallel, judge)


@dataclass(frozen=True, slots=True)
class EvaluatedNode:
    """What came of a node: as much of its verdict as is still needed, and its part of the JSON where that is told."""

    verdict: Verdict
    text: str = ""


def without_details(verdict: Verdict, again: bool = False) -> Verdict:
    """Return what is still needed of a printed verdict: node, status, machine.

    `again`: it is printed again for people: only readings are dropped, except those that identify the machine.
    """
    snapshot = verdict.snapshot
    if snapshot is not None:
        kept = {
            name: reading
            for name, reading in snapshot.readings.items()
            if name == HostReading.probe or (again and hasattr(reading, "traits"))
        }
        snapshot = replace(snapshot, readings=kept)
    if again:
        return replace(verdict, snapshot=snapshot)
    return replace(verdict, evidence=(), ruled_out=(), unread=(), undecided=(), plan=None, heat=None, snapshot=snapshot)


def growth_of(verdict: Verdict, playbook: Playbook, looks: Mapping[str, Sequence[CountSample]]) -> Growth | None:
    """Return how what a verdict's cause counts has grown, or else what comes to harm soon; `looks` are by cause."""
    if not looks or verdict.snapshot is None:
        return None
    return growth_without_storing(looks, verdict.snapshot, playbook, verdict.cause)


def exit_status(verdicts: Iterable[Verdict], fail_on: Status) -> int:
    """Return 1 for any node at or above `fail_on`, else 4 for any unreachable, else 3 for any unknown, else 0.

    Example:
    >>> exit_status([], Status.DEGRADED)
    0
    """
    statuses = {verdict.status for verdict in verdicts}
    if any(status.rank >= fail_on.rank for status in statuses):
        return 1
    if Status.UNREACHABLE in statuses:
        return 4
    return 3 if Status.UNKNOWN in statuses else 0
