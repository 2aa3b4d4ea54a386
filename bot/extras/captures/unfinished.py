"""What a program has seen of a rolling capture and not finished, and what of its time is not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from bot.domain.safe_text import listed
from bot.extras.captures.capture_fold import RollingCapture
from bot.extras.captures.events import SymptomCaught
from bot.extras.captures.held_cores import HELD_SECONDS, NEAR_SECONDS, HeldStretch, without_samples
from bot.extras.captures.ring_status import RollingStatus
from bot.extras.profiles.capture_wire import WallClock

TOO = "; held in this segment, too: core "
_MOST_NAMED = 3  # segments that could not be read for the same reason, and times without samples
_LAST = 1e11  # seconds: the year 5138, far from the last that a time of day can be
_LATEST_BEGIN = 30.0  # seconds: a slow node's first segment begins late


@dataclass(slots=True)
class Unfinished:
    """What this program has read of a capture so far. What it has seen is on record as soon as the ledger takes it.

    Shape: `log_read` and `cores_read` are until when the log and segments were read, `first_gap` and `log` what of it
    was not; `seen` are symptoms of the last look; `segments` were searched for held cores, each with what was not read
    of it; `done` are segments, and symptoms by their names, that are not tried a third time, and `read` symptoms whose
    segments were read; `ends` is when each segment was closed; `sampled` are the times with samples since `since`, and
    `failed` all of the time of each segment that could not be read; `held` is who held a core in them, and `rest` what
    none shows at the end; `clock` is what the node said last, in case that it does not say it; `away` is why no look
    was possible after that of `looked_at`.
    """

    log_read: float | None = None
    cores_read: float = 0.0
    first_gap: str = ""
    log: str = ""
    seen: list[SymptomCaught] = field(default_factory=list)
    segments: dict[str, str] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    ends: dict[str, float] = field(default_factory=dict)
    since: float = 0.0
    sampled: list[tuple[float, float]] = field(default_factory=list)
    failed: dict[str, tuple[float, float]] = field(default_factory=dict)
    held: list[HeldStretch] = field(default_factory=list)
    rest: str = ""
    clock: WallClock = WallClock()
    looked_at: datetime | None = None
    away: str = ""

    def dated(self, look: RollingStatus, uptime: float, lasts: float) -> RollingStatus:
        """Return a look with the time of day that was said last, and with each segment's end as it was first known.

        A clock that is set back moves the ends of older files. One that is still to come is taken to have been as long
        after the one before it as a segment `lasts`.
        """
        self.clock = self.clock if look.clock.minus_mono is None else look.clock
        offset = self.clock.minus_mono
        if offset is None:
            return look
        for name, end in sorted(replace(look, clock=self.clock).closed, key=lambda each: each[1]):
            if end > uptime + HELD_SECONDS:
                end = min(max(self.ends.values(), default=uptime) + lasts, uptime)
            self.ends.setdefault(name, end)
        segments = [
            segment if segment.ended is None else replace(segment, ended=self.ends[segment.name] + offset)
            for segment in look.segments
        ]
        return replace(look, clock=self.clock, segments=tuple(segments))

    @property
    def unread(self) -> list[str]:
        """What was not read, be it that a later look reads it."""
        failed: dict[str, list[str]] = {}
        for name, why in self.segments.items():
            failed.setdefault(why, []).append(name)
        segments = [f"{listed(names, _MOST_NAMED)}: {why}" for why, names in failed.items() if why]
        return [each for each in (self.away, self.first_gap, self.log, *self._unsampled, *segments, self.rest) if each]

    @property
    def reached(self) -> float:
        """Until when segments were read, or are known to be unread."""
        return max((ends for _, ends in (*self.sampled, *self.failed.values())), default=0.0)

    @property
    def _unsampled(self) -> Iterator[str]:
        """The times of which this program has no sample, the longest first."""
        times = without_samples((*self.sampled, *self.failed.values()), self.since, self.reached)
        times = [each for each in times if each[0] > self.since or each[1] - self.since > _LATEST_BEGIN]
        times.sort(key=lambda each: each[0] - each[1])
        for begins, ends in times[:_MOST_NAMED]:
            yield f"{self._cores_words(begins, ends)}: this program has no sample of it"
        if more := len(times[_MOST_NAMED:]):
            yield f"and {more:,} more times without a sample"

    def wall(self, mono: float) -> datetime:
        """Return the time of day of a value of the node's CLOCK_MONOTONIC; a node may say any."""
        since = mono + (self.clock.minus_mono or 0.0)
        return datetime.fromtimestamp(0, UTC) + timedelta(seconds=min(max(0.0, since), _LAST))

    def words(self, mono: float) -> str:
        """The same in words."""
        at = self.wall(mono)
        return f"{at:%H:%M:%S}.{at.microsecond // 1000:03d}"

    def _cores_words(self, begins: float, ends: float | None = None) -> str:
        """Say of which time it is not known what the cores did."""
        until = "UTC on" if ends is None else f"to {self.words(ends)} UTC"
        return f"what the cores did from {self.words(begins)} {until}"

    def core_held(self, capture: str, held: HeldStretch) -> SymptomCaught:
        """Return what goes on record of a held core."""
        at, said = held.begins, f"core held for {held.seconds:.1f} s from {self.words(held.begins)} UTC: {held.says}"
        return SymptomCaught(
            *(capture, "core-held", self.wall(at), at, said),
            error=self.clock.error,
            core=held.core,
            ends_mono=held.ends,
            unfinished=self._may_go_on(held.ends),
        )

    def _may_go_on(self, ends: float) -> bool:
        """True where nothing was read of what came after it, and a look may read it yet."""
        return self.cores_read - ends <= NEAR_SECONDS or any(
            begins < ends + HELD_SECONDS and ends < until and name not in self.done
            for name, (begins, until) in self.failed.items()
        )

    def grown(self, rolling: RollingCapture, least: float = 0.0) -> Iterator[SymptomCaught]:
        """Yield the holds on record that lasted longer or are over, and of those that are not `least` seconds more.

        Before the ring has lost what is on record of one: whoever reads it joins them then. One that no segment shows
        any more is over, too. Where there is no sample of what came after it, that is said. It has what each entry had
        whose place it takes: the cores that are only named there, and the longest one's sketch.
        """
        wholes = list[tuple[SymptomCaught, Sequence[SymptomCaught]]]()
        for held in self.held:
            known = rolling.holds(held)
            if known and held.seconds >= HELD_SECONDS:
                begins = min(held.begins, *(each.at_mono for each in known))
                held = replace(held, begins=begins, ends=max(held.ends, *(each.ends_mono for each in known)))
                wholes.append((self.core_held(rolling.id, held), known))
        seen = {each for _, known in wholes for each in known}
        wholes += [
            (replace(each, unfinished=self._may_go_on(each.ends_mono)), [each])
            for each in rolling.caught
            if each.unfinished and each.ends_mono and each not in seen
        ]
        for whole, known in wholes:
            ends = whole.ends_mono
            whole = replace(whole, unfinished=whole.unfinished and not rolling.is_over)
            if rolling.knows(whole) or (whole.unfinished and ends - max(each.ends_mono for each in known) < least):
                continue
            said, _, _ = whole.sentence.partition(TOO)
            after = (ends + NEAR_SECONDS, ends + NEAR_SECONDS + HELD_SECONDS)  # other cores are sampled a moment longer
            if not whole.unfinished and all(until <= after[0] or begins >= after[1] for begins, until in self.sampled):
                said += "; this program has no sample of what came after it"
            cores = dict.fromkeys(
                core for each in known for core in each.sentence.partition(TOO)[2].split(", ") if core
            )
            said += TOO + ", ".join(cores) if cores else ""
            drawn = max((each for each in known if each.sketch), key=lambda each: each.until - each.at, default=whole)
            yield replace(whole, sentence=said, sketch=drawn.sketch)

    def note_rest(self, rolling: RollingCapture, look: RollingStatus, runs: bool) -> None:
        """Keep since when no segment shows what the cores did, where the recorder has ended (not `runs`)."""
        self.rest = ""
        reached, unclosed = max(self.reached, rolling.since_mono), len(look.closed) < len(look.segments)
        if not runs and rolling.since_usec and (unclosed or rolling.until_mono - reached > _LATEST_BEGIN):
            why = "its recorder ended before it closed the segment" if unclosed else "its recorder had ended"
            if not look.segments:
                why = "another recorder's ring is there" if look.is_active else "its ring is gone"
            self.rest = f"{self._cores_words(reached)}: {why}"
