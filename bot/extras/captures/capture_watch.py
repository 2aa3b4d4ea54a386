"""Looks at a rolling capture: does it still run, which symptoms came, and what the cores did just before."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import reduce
from math import inf

from bot.app.factories import incident_id, nonce, now, ssh_scripts, ssh_transport
from bot.app.version import program_name
from bot.domain.contracts import Log, NodeDirectory
from bot.domain.errors import (
    CannotRead,
    CannotTell,
    InventoryError,
    MissingRight,
    ProfileError,
    StateChanged,
    Unreachable,
)
from bot.domain.node import Node
from bot.domain.safe_text import listed, one_line
from bot.extras.captures.capture_control import RollingControl, check_same_machine, is_recorder_of, is_start_settled
from bot.extras.captures.capture_fold import AFTER_LAST_LOOK, LOG_UNREAD, RollingCapture
from bot.extras.captures.events import SymptomCaught
from bot.extras.captures.held_cores import (
    HELD_SECONDS,
    LEAST_SECONDS,
    NEAR_SECONDS,
    HeldCoreFinder,
    HeldStretch,
    joined,
    without_samples,
)
from bot.extras.captures.recorder_commands import SEGMENTS
from bot.extras.captures.ring_access import MachineIdentity, RingAccess
from bot.extras.captures.ring_status import RollingStatus
from bot.extras.captures.settings import CaptureSettings
from bot.extras.captures.store import CaptureStore
from bot.extras.captures.unfinished import TOO, Unfinished
from bot.extras.profiles.by_core import CoreRuns
from bot.extras.profiles.perf_command import JOURNAL_LINES
from bot.extras.profiles.reader import Reader, Sample
from bot.extras.profiles.sketch import sketch
from bot.extras.profiles.sketches import Sketches
from bot.ledger import CaseStore, Database
from bot.settings import Settings

BEFORE_SECONDS, AFTER_SECONDS = 30.0, 2.0  # around a symptom: the text that is copied to the bot
_NOBODY = "no sample shows a process that held a core in the kernel (code with interrupts off may not be sampled)"
_MOST_HELD = 5  # stretches of a segment that are recorded
_MOST_NAMED_CORES = 20  # of those that were held in it, too
# Opens what takes perf's text around a symptom, or of a segment, by its name; CannotRead goes through it.
Keep = Callable[[str], AbstractContextManager[Callable[[bytes], object]]]


@dataclass(frozen=True, slots=True)
class CaptureLookResult:
    """The result of a look at a capture: its state, its cost, what is not known yet (`waits`), and `grown`.

    The last are holds that go on, as far as they were read; they are on record, some minutes shorter.

    Units: `spent_seconds` of CPU for `recorded_seconds`.
    """

    rolling: RollingCapture
    spent_seconds: float = 0.0
    recorded_seconds: float = 0.0
    ring_bytes: int = 0
    segments: int = 0
    clock_error: float | None = None
    waits: tuple[str, ...] = ()
    grown: tuple[SymptomCaught, ...] = ()

    @property
    def shown(self) -> RollingCapture:
        """The capture, with each hold as long as it was seen."""
        return reduce(RollingCapture.with_caught, self.grown, self.rolling)

    @property
    def load_percent(self) -> float | None:
        """What recording costs, in percent of one core; None before anything is recorded."""
        return 100 * self.spent_seconds / self.recorded_seconds if self.recorded_seconds > 0 else None

    @property
    def unread(self) -> tuple[str, ...]:
        """What is not known yet, or what never was read of a capture that is over."""
        return self.waits if self.rolling.ended is None else self.rolling.ended.unread


def _keep_nothing(name: str) -> AbstractContextManager[Callable[[bytes], object]]:
    return nullcontext(lambda text: None)


@dataclass(slots=True)
class RollingWatch:
    """Looks at captures; without `sketches` nothing is stored for pictures.

    What was seen is on record as soon as it is: any program may be the next to look, and end the capture.
    """

    control: RollingControl
    sketches: Sketches | None = None
    _unfinished: defaultdict[str, Unfinished] = field(default_factory=lambda: defaultdict(Unfinished))

    async def look_or_give_up(
        self, known: NodeDirectory, rolling: RollingCapture, keep: Keep = _keep_nothing
    ) -> CaptureLookResult:
        """Look once, as `look`; one whose node has not answered since its time is over.

        Whoever has ended one, what this program has seen of it is on record.
        Raises: as `look`; InventoryError where the node is not in the inventory.
        """
        news = CaptureLookResult(rolling)
        try:
            if not rolling.is_over:
                news = await self.look(known.find(rolling.node), rolling, keep)
        except (InventoryError, Unreachable, CannotRead, CannotTell) as no:
            unread = self._unfinished[rolling.id].unread
            news = CaptureLookResult(await self.control.end_lost(rolling, no.sentence, "", unread))
            if not news.rolling.is_over:
                raise
        return replace(news, rolling=await self._settle(news.rolling)) if news.rolling.is_over else news

    async def look_for_person(
        self,
        known: NodeDirectory,
        rolling: RollingCapture,
        by: str = "",
        os_user: str = "",
        keep: Keep = _keep_nothing,
    ) -> CaptureLookResult:
        """Look, stopping it first where the person says so (`by`); what they are shown is on record, as far as it goes.

        Raises: as `look_or_give_up` and `stopped`.
        """
        news = await (
            self.stopped(known, rolling, by, os_user, keep) if by else self.look_or_give_up(known, rolling, keep)
        )
        return replace(news, rolling=await self._settle(news.rolling))

    async def note_away(self, rolling: RollingCapture, because: str) -> CaptureLookResult:
        """Keep why no look is possible until there is one; return what is known without it."""
        mine = self._unfinished[rolling.id]
        since = f" since {mine.looked_at:%H:%M} UTC" if mine.looked_at is not None else ""
        mine.away = f"it could not be looked at{since}: {because.rstrip('.')}"
        rolling = await self._settle(await self.control.find(rolling.id))  # nobody may ever read it again
        return CaptureLookResult(rolling, waits=tuple(mine.unread))

    async def finish(self) -> None:
        """Put on record how far holds that go on were read: this program is about to end."""
        for capture in list(self._unfinished):
            await self._settle(await self.control.find(capture))

    async def _settle(self, rolling: RollingCapture) -> RollingCapture:
        """Put on record what was seen and is not on it, be the capture over or not; return its state."""
        mine = self._unfinished[rolling.id]
        for each in (*mine.seen, *mine.grown(rolling)):
            rolling = await self.control.record_symptom(each)
        return rolling

    async def stopped(
        self,
        known: NodeDirectory,
        rolling: RollingCapture,
        by: str,
        os_user: str = "",
        keep: Keep = _keep_nothing,
    ) -> CaptureLookResult:
        """Stop it, then look: the last samples are read before the ring is removed.

        Whoever keeps text reads it before that, too, or stops nothing: once its recorder has ended, any program may
        remove the ring.
        Raises: as `RollingControl.stop` and `look_or_give_up`, the former unless its time is over: then its recorder
        has ended by itself.
        """
        rolling = await self.control.find(rolling.id)
        if keep is not _keep_nothing and not rolling.is_overdue(self.control.now()):
            rolling = (await self.look_or_give_up(known, rolling, keep)).rolling
        try:
            rolling = await self.control.stop(known.find(rolling.node), rolling, by, os_user)
        except (InventoryError, Unreachable, CannotTell) as no:
            rolling = await self.control.end_lost(rolling, no.sentence, by, self._unfinished[rolling.id].unread)
            if not rolling.is_over:
                raise
        return await self.look_or_give_up(known, rolling, keep)

    async def look(self, node: Node, rolling: RollingCapture, keep: Keep = _keep_nothing) -> CaptureLookResult:
        """Look once: record what was caught, and close a capture that has ended on the node.

        Shape: `keep` takes perf's text around each symptom.
        Raises: Unreachable; CannotRead; CannotTell when another machine answers: nothing is sent to it.
        """
        if rolling.is_over or rolling.started is None:
            return CaptureLookResult(rolling)
        whom, look = await self.control.access.look(node)
        check_same_machine(node, rolling, whom)
        if whom.boot_id != rolling.started.boot_id:
            because = "the node rebooted, and what was recorded before it is lost"
            return await self._close_ended(node, rolling, because, AFTER_LAST_LOOK)
        mine = self._unfinished[rolling.id]
        ours = is_recorder_of(rolling, whom, look)
        if not ours and not rolling.since_usec and not is_start_settled(rolling.started, whom):
            return CaptureLookResult(rolling, waits=("whether its recorder has started: the command may still arrive",))
        if ours and not rolling.since_usec:
            rolling = await self.control.record_begun(rolling, look.since_usec)
        halted = await self._halt_if_stopped(node, whom) if ours and rolling.stopping is not None else []
        if not look.is_whole:  # which is never "its ring is gone"
            try_next = "Is it short of processes or of memory? Whether the capture still runs: zombie capture list"
            raise CannotRead("the node did not list all segments of the ring", try_next)
        mine.looked_at, mine.away = self.control.now(), ""
        look = mine.dated(look, whom.uptime, 60 * rolling.request.segment_minutes)
        await self._note_log(rolling, look)
        waits = [*halted, *await self._read_ring(node, rolling, look, ours, keep)]
        if waits and not ours:  # once more: its ring is removed next
            waits = await self._read_ring(node, rolling, look, ours, keep)
        rolling = await self.control.find(rolling.id)
        if not ours and look.is_active and not rolling.is_overdue(self.control.now()):
            # It may be ours: a node that was suspended counts its time anew. It ends by itself in the end.
            return CaptureLookResult(
                rolling, waits=(*waits, "whether it is over: a recorder runs there, by another start")
            )
        if not ours:
            return await self._close_ended(node, rolling, self._why_ended(rolling, look))
        error = look.kernel_log.error if look.kernel_log is not None else None
        recorded = max(0.0, whom.uptime - rolling.since_usec / 1e6)
        return CaptureLookResult(
            *(rolling, look.spent_seconds, recorded, look.ring_bytes, len(look.segments), error),
            *(tuple(waits), tuple(mine.grown(rolling))),
        )

    async def _halt_if_stopped(self, node: Node, whom: MachineIdentity) -> list[str]:
        """Stop a recorder that somebody has stopped on record: their program may have ended before it did so."""
        try:
            await self.control.stop_unit(node, whom)
        except (CannotRead, MissingRight, StateChanged, Unreachable) as no:
            return [f"its recorder was told to stop, and runs: {one_line(no.sentence, 160)}"]
        return []

    def _why_ended(self, rolling: RollingCapture, look: RollingStatus) -> str:
        if rolling.stopped_by:
            return f"{rolling.stopped_by} stopped it"
        if not rolling.since_usec and not look.segments:
            return "it did not start: the node shows no recorder of it, and no segment"
        if look.is_active:
            return "its recorder ended, and a recorder that this record does not know runs there"
        mine, now, segment = self._unfinished[rolling.id], self.control.now(), 60 * rolling.request.segment_minutes
        reached = max((ended for _, ended in look.closed), default=rolling.since_mono)
        is_early = bool(look.segments) and rolling.until_mono - reached > segment
        if rolling.until is not None and now >= rolling.until and not is_early:
            return "its time was over"
        is_past = is_early and now - mine.wall(reached) > timedelta(seconds=segment)
        about = f", about {mine.wall(reached):%H:%M} UTC" if is_past else ""
        if look.room_kib is not None and look.room_kib < 64 * 1024:
            return f"its recorder ended early{about}: {look.room_kib / 1024:.0f} MB are free on its disk"
        return f"its recorder ended early{about} ({look.reason or 'systemd does not say why'})"

    async def _close_ended(
        self, node: Node, rolling: RollingCapture, because: str, after: Sequence[str] = ()
    ) -> CaptureLookResult:
        whom, look = await self.control.access.look(node)  # again: reading segments takes longer than a fence lasts
        check_same_machine(node, rolling, whom)
        mine = self._unfinished[rolling.id]
        if is_recorder_of(rolling, whom, look):
            return CaptureLookResult(rolling, waits=(*mine.unread, "whether it is over: its recorder runs"))
        left = await self.control.remove_ring(node, rolling, whom, look)
        unread = (*mine.unread, *after)
        return CaptureLookResult(await self.control.record_end(rolling, because, left, unread))

    async def _note_log(self, rolling: RollingCapture, look: RollingStatus) -> None:
        """Record what the kernel's log tells of, with segments that wait; only then it counts as read."""
        mine, around = self._unfinished[rolling.id], set(rolling.request.around) - {"core-held"}
        mine.log = ""
        if look.clock.minus_mono is None:
            mine.log = "the kernel's log and the ring: the node did not say its time of day"
        if look.log_unread and around:
            mine.log = f"the kernel's log is unread ({look.log_unread}), so resets and lockups are not seen"
        if mine.log or not around:
            return
        error, unread = _time_error(look), "the segment around it"
        told = (
            SymptomCaught(
                rolling.id, name, mine.wall(at), at, f"{what} at {mine.words(at)} UTC", unread, error, unfinished=True
            )
            for name, what, at in look.symptoms
            if name in around and at >= rolling.since_mono
        )
        mine.seen = [each for each in (*mine.seen, *told) if not rolling.knows(each)]
        for seen in mine.seen:
            await self.control.record_symptom(seen)
        until = rolling.since_mono if mine.log_read is None else mine.log_read
        begins = look.log_begins_after(until)
        if begins is not None:
            left_out = f"the kernel's log from {mine.words(until)} to {mine.words(begins)} UTC"
            if mine.log_read is None:  # an earlier program may have read it: that stays unread at the end
                mine.first_gap = f"{left_out} by this program, which reads its last {JOURNAL_LINES} lines"
            else:
                says = f"the kernel logged more than {JOURNAL_LINES} lines between two looks"
                gap = SymptomCaught(rolling.id, LOG_UNREAD, mine.wall(begins), begins, says, left_out, error)
                await self.control.record_symptom(gap)
        if look.stamped:
            mine.log_read = max(until, look.stamped[-1][0])

    async def _read_ring(
        self, node: Node, rolling: RollingCapture, look: RollingStatus, runs: bool, keep: Keep
    ) -> list[str]:
        """Record what the ring shows of symptoms and of held cores; return what is not known yet."""
        mine, waits = self._unfinished[rolling.id], list[str]()
        if mine.clock.minus_mono is None:  # which segment was written when is not known
            return mine.unread
        for seen in (await self.control.find(rolling.id)).found:
            names, is_whole = _segments_around(look, rolling, seen.at_mono, runs)
            # What another program has read is read again for whoever keeps the text; the record stays.
            is_kept = keep is _keep_nothing or seen.ends_mono or seen.name in mine.read
            if not is_whole or (is_kept and not seen.waits):
                continue
            try:
                caught = await self._read_cores_before(node, rolling, seen, names, keep)
                mine.read.add(seen.name)
            except CannotRead as no:
                caught = replace(seen, unread=one_line(no.sentence, 200), unfinished=False)
                if seen.name not in mine.done:  # tried once more: the ring keeps it until then
                    mine.done.add(seen.name)
                    waits.append(f"{caught.sentence}: {caught.unread}")
                    continue
            await self.control.record_symptom(caught)
        if "core-held" in rolling.request.around:
            look = look if runs or not look.is_active else replace(look, segments=())  # another recorder's
            mine.since = rolling.since_mono
            await self._search_held_cores(node, rolling, look, keep)
            mine.note_rest(rolling, look, runs)
        return [*waits, *mine.unread]

    async def _read_cores_before(
        self,
        node: Node,
        rolling: RollingCapture,
        seen: SymptomCaught,
        names: Sequence[str],
        keep: Keep,
    ) -> SymptomCaught:
        """Return a symptom with a sentence about the cores just before it. Raises: CannotRead."""
        lost = replace(seen, unread="the ring no longer reaches back to it, or recorded nothing then", unfinished=False)
        if not names:
            return lost
        at = seen.at_mono
        between = (at - BEFORE_SECONDS, at + AFTER_SECONDS)
        found = HeldCoreFinder()
        runs, unread = await self._read_segments(node, rolling, names, between, seen.name, keep, found)
        held = [each for each in found.finish() if each.begins < at and each.seconds >= LEAST_SECONDS]
        missing = sum(ends - begins for begins, ends in without_samples(found.sampled, between[0], at))
        if not held and missing > BEFORE_SECONDS - 1:
            return lost
        before = f"the {BEFORE_SECONDS:.0f} s before it"
        sentence = f"{seen.sentence}; {_who_held(held[0], at) if held else f'in {before} {_NOBODY}'}"
        sentence += f"; {missing:.0f} of {before} have no sample" if missing else ""
        drawn = await self._store_sketch(rolling, held[0].core, runs, sentence) if held and seen.waits else ""
        return replace(seen, sentence=sentence, unread=unread, sketch=drawn, unfinished=False)

    async def _search_held_cores(self, node: Node, rolling: RollingCapture, look: RollingStatus, keep: Keep) -> None:
        """Search the newly closed segments for held cores."""
        mine = self._unfinished[rolling.id]
        segments, lasts = mine.segments, 60 * rolling.request.segment_minutes
        oldest = min((ended for _, ended in look.closed), default=inf)
        mine.done |= {name for name, (_, until) in mine.failed.items() if until < oldest}  # the ring has lost them
        # New ones first, and each failed one once more: perf must not keep a sick node busy all the time.
        for name, ended in sorted(look.closed, key=lambda each: each[0] in segments):
            if name in mine.done:
                continue
            found = HeldCoreFinder()
            try:
                runs, unread = await self._read_segments(node, rolling, [name], None, name, keep, found)
            except CannotRead as no:
                if name not in mine.done:  # else another look of this program has read it meanwhile
                    mine.done |= {name} & segments.keys()
                    segments[name], mine.failed[name] = one_line(no.sentence, 160), (ended - lasts, ended)
                continue
            mine.held = joined([*mine.held, *found.finish()])
            mine.sampled += found.sampled
            mine.failed.pop(name, None)
            mine.cores_read = max([mine.cores_read, *(ends for _, ends in found.sampled)])
            await self._record_new_holds(rolling, mine.held, found.sampled, runs)
            segments[name] = unread
            mine.done.add(name)
        for grown in mine.grown(await self.control.find(rolling.id), rolling.request.half_ring_seconds):
            await self.control.record_symptom(grown)
        mine.held = [each for each in mine.held if each.ends > mine.reached - SEGMENTS * lasts]  # it may go on

    async def _record_new_holds(
        self,
        rolling: RollingCapture,
        held: Sequence[HeldStretch],
        sampled: Sequence[tuple[float, float]],
        runs: CoreRuns,
    ) -> None:
        """Record the longest of those that were `sampled` now and are not on record."""
        record = await self.control.find(rolling.id)
        new = [
            self._unfinished[rolling.id].core_held(rolling.id, each)
            for each in held
            if each.seconds >= HELD_SECONDS
            and any(each.begins <= to and each.ends >= at for at, to in sampled)
            and not record.holds(each)
        ]
        cores = sorted({event.core for event in new[_MOST_HELD:]})
        more = f"{TOO}{listed([*map(str, cores)], _MOST_NAMED_CORES)}" if cores else ""
        for event in new[:_MOST_HELD]:
            drawn = await self._store_sketch(rolling, event.core, runs, event.sentence)
            await self.control.record_symptom(replace(event, sentence=event.sentence + more, sketch=drawn))
            more = ""  # said once, of the longest

    async def _read_segments(
        self,
        node: Node,
        rolling: RollingCapture,
        names: Sequence[str],
        between: tuple[float, float] | None,
        called: str,
        keep: Keep,
        found: HeldCoreFinder,
    ) -> tuple[CoreRuns, str]:
        """Read the text; return what each core ran, and what perf says that it lost.

        Raises: CannotRead when there is no text, or not all of it.
        """
        runs = CoreRuns()

        def taken(sample: Sample) -> None:
            found(sample)
            runs(sample)

        reader = Reader(each=taken)

        with keep(called) as kept:

            def hand_on(text: bytes) -> None:
                reader.feed(text)
                kept(text)

            lost = await self.control.access.text(node, names, between, hand_on)
            try:
                reader.finish()
            except ProfileError as no:
                raise CannotRead(f"there is no text from perf ({one_line(no.sentence, 120)})") from no
        return runs, lost

    async def _store_sketch(self, rolling: RollingCapture, core: int, runs: CoreRuns, says: str) -> str:
        """Store a sketch of the held core; return its content hash, empty where none is stored."""
        if self.sketches is None or core not in runs.cores:
            return ""
        drawn = await asyncio.to_thread(sketch, rolling.node, core, runs.cores[core], says)
        return await self.sketches.keep(rolling.id, drawn)


def rolling_watch(
    settings: Settings,
    database: Database,
    environment: Mapping[str, str],
    cases: CaseStore,
    log: Log,
) -> RollingWatch:
    """Return what starts, stops and looks at captures, with the limits of the settings."""
    access = RingAccess(ssh_transport(environment), ssh_scripts(environment), nonce)
    control = RollingControl(access, CaptureStore(database), settings.of(CaptureSettings), now, incident_id)
    return RollingWatch(control, Sketches(cases, now, program_name(), log))


def _segments_around(look: RollingStatus, rolling: RollingCapture, at: float, runs: bool) -> tuple[list[str], bool]:
    """Return the closed segments around a second of CLOCK_MONOTONIC, and whether all of them are closed."""
    lasts = 60 * rolling.request.segment_minutes + 2  # file times are whole seconds
    names = [name for name, end in look.closed if end >= at - BEFORE_SECONDS and end - lasts <= at + AFTER_SECONDS]
    return names, not runs or any(end >= at + AFTER_SECONDS for _, end in look.closed)


def _who_held(held: HeldStretch, at_mono: float) -> str:
    """Say who held a core before a symptom.

    Example:
    >>> _who_held(HeldStretch(39, "kubelet", 77, "f", 0.97, 300, 1.0, 7.6), 7.6)
    'in the 6.6 s before it core 39 ran kubelet (77) in f for 97 % of samples'
    """
    if at_mono - held.ends <= NEAR_SECONDS:
        return f"in the {at_mono - held.begins:.1f} s before it {held.says}"
    return f"from {at_mono - held.begins:.1f} s to {at_mono - held.ends:.1f} s before it {held.says}"


def _time_error(look: RollingStatus) -> float | None:
    """Possible error of a symptom's time, in seconds: kernel log against perf's clock, and that to the bot's."""
    log = look.kernel_log.error if look.kernel_log is not None else None
    return None if log is None or look.clock.error is None else log + look.clock.error
