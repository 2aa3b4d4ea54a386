"""Takes people's requests for profiles: one at a time on a node, few at once, recorded with the incident."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from bot.domain.contracts import Log
from bot.domain.errors import Conflict, LedgerError, NodeBusy, UnknownIncident, ZombieError
from bot.domain.events import ProfileTaken
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.probe import Unread
from bot.domain.safe_text import one_line
from bot.extras.profiles import words
from bot.extras.profiles.by_core import CoreRuns
from bot.extras.profiles.perf_command import CaptureRequest
from bot.extras.profiles.profile import Profile
from bot.extras.profiles.profiler import Captured, Profiler, default_selection, profiled
from bot.extras.profiles.reader import Reader
from bot.extras.profiles.reevaluator import VerdictReevaluator
from bot.extras.profiles.sketch import Sketch, sketch
from bot.extras.profiles.sketches import Sketches
from bot.extras.profiles.words import says
from bot.probes.profile import ProfileReading, profile_to_json
from bot.response.incident_record import IncidentRecord

AT_ONCE = 2  # profiles at the same time: each keeps a core of the bot's machine busy
TRIES = 5


@dataclass(frozen=True, slots=True)
class ProfileAnswer:
    """What a profile says.

    Shape: `meant` is what the function is known to do, `rows` are what burns most, under `words.HEADING`. `lines` say
    how it was sampled and what was not read. `sketch` is of the hottest core, None where there is none. `follows` is
    what comes of it for the incident.
    """

    headline: str
    meant: str
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[str, ...]
    taken: ProfileTaken
    sketch: Sketch | None = None
    follows: str = ""


@dataclass(slots=True)
class ProfileRunner:
    """Profiles nodes for people, and records the result if it was asked for on a card."""

    profiler: Profiler
    record: IncidentRecord
    log: Log
    reevaluation: VerdictReevaluator
    sketches: Sketches
    _busy: set[str] = field(default_factory=set)
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def profile(self, node: Node, request: CaptureRequest, incident: str = "", by: str = "") -> ProfileAnswer:
        """Profile a node once; the result is appended to `incident`, where given.

        Raises: NodeBusy when it is being profiled; Unreachable; CannotRead, with how to get it, when there is none.
        """
        if node.name in self._busy:
            raise NodeBusy(f"{node.name} is being profiled already.", "Wait for that answer.")
        self._busy.add(node.name)
        try:
            async with self._gate:
                answer = await self._profile_node(node, request)
        finally:
            self._busy.discard(node.name)
        if not incident:
            return answer
        drawn = await self.sketches.keep(incident, answer.sketch)
        answer = replace(answer, taken=replace(answer.taken, sketch=drawn))
        kept = await self._record_profile(incident, answer.taken, by)
        follows = await self.reevaluation.reevaluate_with_profile(kept, answer.taken) if kept else ""
        return replace(answer, follows=follows)

    async def _profile_node(self, node: Node, request: CaptureRequest) -> ProfileAnswer:
        runs = CoreRuns()
        captured, profile = await profiled(
            self.profiler, node, request, Reader(selection=default_selection(), each=runs)
        )
        return await asyncio.to_thread(_answer_from, captured, profile, runs)

    async def _record_profile(self, incident_id: str, taken: ProfileTaken, by: str) -> Incident | None:
        """Append it after the newest entry; a profile that cannot be stored is shown all the same."""
        for _ in range(TRIES):
            try:
                return await self.record.append(await self.record.find(incident_id), taken, by)
            except Conflict:
                continue
            except (LedgerError, UnknownIncident) as error:
                self.log("profile_not_kept", incident=incident_id, error=one_line(str(error)))
                return None
        self.log("profile_not_kept", incident=incident_id, error="the incident changed too often")
        return None


def _answer_from(captured: Captured, profile: Profile, runs: CoreRuns) -> ProfileAnswer:
    said, reading = says(captured, profile), profile_reading(profile)
    taken = ProfileTaken(
        said.headline, said.sampled, said.unread, "" if isinstance(reading, Unread) else profile_to_json(reading)
    )
    core = profile.hottest.core if profile.hot is not None and profile.hottest is not None else -1
    drawn = sketch(captured.node, core, runs.cores[core], said.headline) if core in runs.cores else None
    lines = (*words.sample_lines(profile, captured.node), *said.lines)
    return ProfileAnswer(said.headline, said.meant, tuple(words.rows(profile)), lines, taken, drawn)


def failure_words(node: str, no: ZombieError) -> str:
    """Return why there is no profile of a node, and how to get it, in a sentence or two.

    Example:
    >>> from bot.domain.errors import CannotRead
    >>> failure_words("node-1", CannotRead("perf is missing", "On the node: dnf install perf"))
    'node-1 was not profiled: perf is missing. On the node: dnf install perf'
    """
    return f"{node} was not profiled: {no.sentence.rstrip('.')}. {no.try_next}".strip()


_FEWEST = 20  # samples of the hottest core: fewer do not show what it does


def profile_reading(profile: Profile) -> ProfileReading | Unread:
    """Return what the hottest core did.

    Unread when: everything was idle, or there are too few samples.
    """
    hot, meant = profile.hot, profile.meaning
    if hot is None or meant is None:
        why = "every sample was idle" if profile.samples else "no sample was taken of anything but perf itself"
        return Unread(ProfileReading.probe, why)
    samples = profile.busy_samples if profile.hottest is None else profile.hottest.samples
    if samples < _FEWEST:
        return Unread(ProfileReading.probe, f"only {samples} samples were taken on the hottest core")
    return ProfileReading(
        core=hot.core,
        process=one_line(hot.process, 40),
        pid=hot.pid,
        function=one_line(hot.function, 120),
        share_of_core=meant.share_of_core,
        samples=samples,
        seconds=profile.seconds,
        signature=meant.signature.name if meant.signature is not None else "",
        does=one_line(meant.says, 160),
        under=tuple(one_line(name, 120) for name in meant.under),
        has_names=not hot.function.startswith("["),
    )
