"""What a program has seen of a rolling capture and not finished, and what of its time is not known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from bot.domain.safe_text import listed
from bot.extras.captures.capture_fold import RollingCapture
from bot.extras.captures.events import SymptomCaught
from bot.extras.captures.held_cores import ALL_CORES, HeldStretch, silences
from bot.extras.captures.ring_status import RollingStatus
from bot.extras.profiles.capture_wire import WallClock

_MOST_NAMED = 3  # segments that could not be read for the same reason, and times without samples
_LATEST_BEGIN = 30.0  # seconds: a slow node's first segment begins late


@dataclass(slots=True)
class Unfinished:
    """What this program has seen of a capture and not finished: only what the ledger took leaves it.

    Shape: `log_read` is until when the log was read, `first_gap` and `log` what of it was not; `seen` are symptoms, as
    they go on record if their segments are never read; `segments` were searched for held cores, each with what
    was not read of it, `done` are not tried again; `spans` are the times of first and last sample of those that were
    read, and `held` what the samples told; `ended` is when segments were closed, and `missing` what none of them shows;
    `clock` is what the node said last, in case that it does not say it; `away` is why no look was possible after that
    of `looked_at`.
    """

    log_read: float | None = None
    first_gap: str = ""
    log: str = ""
    seen: list[SymptomCaught] = field(default_factory=list)
    segments: dict[str, str] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    spans: list[tuple[float, float]] = field(default_factory=list)
    held: list[HeldStretch] = field(default_factory=list)
    ended: dict[str, float] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    clock: WallClock = WallClock()
    looked_at: datetime | None = None
    away: str = ""

    @property
    def unread(self) -> list[str]:
        """What was not read, be it that a later look reads it."""
        failed: dict[str, list[str]] = {}
        for name, why in self.segments.items():
            failed.setdefault(why, []).append(name)
        segments = [f"{listed(names, _MOST_NAMED)}: {why}" for why, names in failed.items() if why]
        return [each for each in (self.away, self.first_gap, self.log, *self._silent, *segments, *self.missing) if each]

    @property
    def _silent(self) -> Iterator[str]:
        """The times without samples of segments that were read, the longest first."""
        silent = silences(self.held)
        for each in silent[:_MOST_NAMED]:
            yield f"{self.cores_words(each.begins, each.ends, each.core)}: there is no sample"
        if more := len(silent[_MOST_NAMED:]):
            yield f"and {more:,} more times without a sample"

    def wall(self, mono: float) -> datetime:
        """Return the time of day of a value of the node's CLOCK_MONOTONIC."""
        return datetime.fromtimestamp(0, UTC) + timedelta(seconds=mono + (self.clock.minus_mono or 0.0))

    def words(self, mono: float) -> str:
        """The same in words."""
        at = self.wall(mono)
        return f"{at:%H:%M:%S}.{at.microsecond // 1000:03d}"

    def cores_words(self, begins: float, ends: float | None = None, core: int = ALL_CORES) -> str:
        """Say of which time it is not known what the cores, or one of them, did."""
        until = "UTC on" if ends is None else f"to {self.words(ends)} UTC"
        return f"what {'the cores' if core == ALL_CORES else f'core {core}'} did from {self.words(begins)} {until}"

    @property
    def lost(self) -> list[SymptomCaught]:
        """The symptoms, as they stand on record when the ring is gone."""
        return [replace(caught, unread=caught.unread or "its segment was lost") for caught in self.seen]

    def core_held(self, rolling: RollingCapture, held: HeldStretch) -> SymptomCaught:
        """Return what goes on record of a held core."""
        at, said = held.begins, f"core held for {held.seconds:.1f} s from {self.words(held.begins)} UTC: {held.says}"
        error = self.clock.error
        return SymptomCaught(rolling.id, "core-held", self.wall(at), at, said, "", error, "", held.core, held.ends)

    def note_missing(self, rolling: RollingCapture, look: RollingStatus, is_last: bool) -> None:
        """Keep of which times no segment shows what the cores did."""
        reached = rolling.since_mono
        self.ended, self.missing = dict(look.closed) | self.ended, []
        for ended in sorted(self.ended.values()):
            begins = ended - 60 * rolling.request.segment_minutes
            if begins - reached > _LATEST_BEGIN:
                lost = "this program had not read it when the ring lost it"
                self.missing.append(f"{self.cores_words(reached, begins)}: {lost}")
            reached = max(reached, ended)
        unclosed = len(look.closed) < len(look.segments)
        if is_last and rolling.since_usec and (unclosed or rolling.until_mono - reached > _LATEST_BEGIN):
            why = "its recorder ended before it closed the segment" if unclosed else "its recorder had ended"
            if not look.segments:
                why = "another recorder's ring is there" if look.is_active else "its ring is gone"
            self.missing.append(f"{self.cores_words(reached)}: {why}")
