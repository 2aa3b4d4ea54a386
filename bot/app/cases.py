"""Records cases while a check runs, and judges a case again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from bot.actions import ACTIONS
from bot.app.check import Check
from bot.app.factories import now
from bot.app.version import program_name
from bot.domain.batch import Sampling
from bot.domain.case import FORM, Case, CaseHeader
from bot.domain.change import Change, changed_playbook
from bot.domain.command import Outputs
from bot.domain.errors import CannotRead, CaseError
from bot.domain.json_form import NotOfForm, read
from bot.domain.node import Node
from bot.domain.playbook import Playbook, Playbooks
from bot.domain.probe import Probe
from bot.domain.safe_text import Redactor, one_line
from bot.domain.verdict import Verdict, recorded_verdict, without_secrets
from bot.probes.profile import profiled
from bot.response.diagnosis.planning import DrainSettings
from bot.response.diagnosis.triage import Triage
from bot.transport import case_file
from bot.transport.recorder import RecordingTransport
from bot.transport.replay import ReplayTransport

T = TypeVar("T")
ENOUGH = timedelta(seconds=60)  # a case answers at once


class Recording:
    """A check that also writes each node's case into a folder."""

    def __init__(self, what: Check, folder: Path, judges: bool) -> None:
        """`judges`: the cases contain their verdicts.

        Raises: CaseError when the folder cannot be made: before any node is read.
        """
        self._heard = RecordingTransport(what.triage.transport)
        triage = replace(what.triage, transport=self._heard, program=program_name())
        self.check = replace(what, triage=triage)
        self._folder = case_file.make_folder(folder)
        self._judges = judges

    def keep(self, verdict: Verdict) -> Path:
        """Write the case behind a verdict, beside earlier cases of its node, and return its path.

        Raises: CaseError when it cannot be written.
        """
        return case_file.add(self._folder, self.case(verdict))

    def case(self, verdict: Verdict) -> Case:
        """Return the case behind a verdict; that works once."""
        what, heard, snapshot = self.check, self._heard.taken(verdict.node), verdict.snapshot
        node = next(node for node in what.nodes if node.name == verdict.node)
        taken_at, traits = (snapshot.taken_at, snapshot.traits) if snapshot is not None else (now(), {})
        head = replace(what.triage.head(node, what.playbook, taken_at, traits), unreachable=heard.failed)
        return Case(head, tuple(heard.runs), heard.asked, recorded_verdict(verdict) if self._judges else None)


@dataclass(frozen=True, slots=True)
class Replayed:
    """A case judged again: its verdict, and remarks as sentences."""

    case: Case
    verdict: Verdict
    remarks: tuple[str, ...] = ()

    def words(self, path: Path) -> str:
        """Return a line about the case, for a person."""
        case, head = self.case, self.case.head
        if case.form < FORM:
            return one_line(f"{path}: a case of form {case.form}, which has no time and no content hash", 300)
        when = f"{head.taken_at:%Y-%m-%d %H:%M:%S} UTC"
        return one_line(f"{path}: recorded {when} by {head.program}, content {case.digest[:16]}…", 300)


async def replayed(
    case: Case, playbook: Playbook, changes: Sequence[Change] = (), redactor: Redactor | None = None
) -> Verdict:
    """Return the verdict on a case, made like that of a live check, from the transport up.

    Shape: to replay a case many times, hand in the same redactor.
    Raises: CaseError when the case holds settings that cannot be read; UsageError when a change does not fit.
    """
    return without_secrets(await judged_with_secrets(case, playbook, changes), redactor)


async def judged_with_secrets(case: Case, playbook: Playbook, changes: Sequence[Change] = ()) -> Verdict:
    """Return the same with the secrets that the node may have said: not to be shown, or stored. Raises the same."""
    head, (node, draining) = case.head, surroundings(case.head)
    way = ReplayTransport(case)
    sampling, muted = Sampling(head.samples), case.muted
    triage = Triage(way, ACTIONS, lambda: head.taken_at, sampling, ENOUGH, draining=draining, muted=muted)
    return await triage.diagnose(node, changed_playbook(with_recorded_probes(case, playbook), changes))


def run_alone(work: Coroutine[Any, Any, T]) -> T:
    """Return what comes of work that nothing else runs beside.

    Its task has no result of its own: where a loop ends, Python writes its task out, with the whole of a verdict.
    """
    found = list[T]()

    async def kept() -> None:
        found.append(await work)

    asyncio.run(kept())
    return found[0]


def case_judge(playbooks: Playbooks) -> Callable[[Case, str], Awaitable[Verdict]]:
    """Return a function that judges a case by a playbook's name, and raises PlaybookError for an unknown name."""

    async def judged(case: Case, playbook: str) -> Verdict:
        return await replayed(case, playbooks.get(playbook))

    return judged


def with_recorded_probes(case: Case, playbook: Playbook) -> Playbook:
    """The playbook with the probes that the node was asked; others only leave causes open.

    Shape: includes a profile that was evaluated with the case's verdict. What the playbook must read and the node was
    not asked is unread, and so the node not healthy; except of an earlier version of the same playbook, which did not
    have it.
    """
    names = case.probes
    if not names:
        return playbook
    lacking = set(playbook.must_read) - names
    if lacking and _was_other_version(case, playbook):
        lacking = set()
    probes = (_never_asked(probe) if probe.name in lacking else probe for probe in playbook.probes)
    asked = replace(playbook, probes=tuple(probe for probe in probes if probe.name in names | lacking))
    return profiled(asked, *case.runs)


def _was_other_version(case: Case, playbook: Playbook) -> bool:
    """True for a case that another version of this playbook recorded, or that does not say which playbook did."""
    head = case.head
    return not head.playbook or (head.playbook == playbook.name and head.playbook_digest != playbook.digest)


def _never_asked(probe: Probe) -> Probe:
    return replace(probe, commands=(), parse=_not_asked)


def _not_asked(_: Outputs) -> NoReturn:
    raise CannotRead("it was not asked when the case was recorded")


def surroundings(head: CaseHeader) -> tuple[Node, DrainSettings]:
    """Return what a plan depends on beside the readings."""
    try:
        draining = read(DrainSettings, head.draining) if head.draining else DrainSettings()
    except NotOfForm as no:
        raise CaseError(f"The case of {head.node} is damaged: {no}.") from no
    return Node(head.node, "recorded", labels=head.labels), draining


def replay(case: Case, playbook: Playbook, changes: Sequence[Change] = ()) -> Replayed:
    """Judge a case by a playbook.

    Raises: what `replayed` does.
    """
    verdict = run_alone(replayed(case, playbook, changes))
    return Replayed(case, verdict, remarks(case, playbook, verdict, bool(changes)))


def remarks(case: Case, playbook: Playbook, verdict: Verdict, is_changed: bool = False) -> tuple[str, ...]:
    """Return what a person has to know of a verdict that was derived again, as sentences: what differs from then."""
    head, found = case.head, []
    if head.playbook == playbook.name and head.playbook_digest != playbook.digest:
        found.append(f"It was recorded with another {playbook.name} ({head.playbook_digest[:12]}…) than there is now.")
    differs = () if is_changed or case.judged is None else case.judged.differs_from(recorded_verdict(verdict))
    if differs:
        found.append(f"It was judged differently when it was recorded, by {head.program}: {'; '.join(differs)}.")
    return tuple(one_line(remark, 400) for remark in found)  # a case may come from an untrusted place
