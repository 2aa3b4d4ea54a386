"""Reads `perf script` text as it arrives, in a single pass with bounded memory, and counts its events."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bot.domain.errors import ProfileError
from bot.extras.profiles.counts import Counts
from bot.extras.profiles.event_splitter import SECOND, Event, EventSplitter, SampledThread
from bot.extras.profiles.profile import LONGEST_SECONDS, ROWS, CoreCount, Profile
from bot.extras.profiles.selection import Selection
from bot.extras.profiles.stack import Stack

NO_ROWS = [0] * ROWS
ROW = SECOND // ROWS
_AT_ONCE = 1 << 18  # bytes that are read at once
_CACHE_LIMIT_BYTES = 48_000_000
_MOST_THREADS = 20_000
_MOST_APART = 400_000  # events, before their counts are merged


class TimesFallBack(ProfileError):
    """The earliest event is not the first in the text, so a range of seconds is only known at the end."""

    def __init__(self, first_ns: int) -> None:
        super().__init__(
            "The times of this text fall back before its first event, so --between cannot be applied while it is read.",
            "Write it into a file first, and read that.",
        )
        self.first_ns = first_ns


@dataclass(frozen=True, slots=True)
class Sample:
    """A selected event, as given to an exporter.

    Shape: `at_ns` is None if the text has no times; `stamp` is the time as printed; `lines` are the unparsed lines of
    the frames, innermost first, not made safe to show.
    """

    who: SampledThread
    event: bytes
    period: int
    at_ns: int | None
    stamp: bytes
    lines: bytes
    stack: Stack


class Reader:
    """Takes the bytes of a profile in any pieces, and returns the counts.

    `each` is called with every selected event in the order of the text. `origin_ns` is the earliest time, where known.
    `is_cut` is set by whoever knows that the text goes on.
    """

    def __init__(
        self,
        selection: Selection | None = None,
        each: Callable[[Sample], None] | None = None,
        *,
        origin_ns: int | None = None,
    ) -> None:
        self._selection = selection or Selection()
        self._each = each
        self._origin_ns = origin_ns
        self.is_cut = False
        self._pieces: list[bytes] = []  # pieces that wait until there is enough to read
        self._waiting = 0
        self._splitter = EventSplitter(self._selection)

        self._stacks = Counts()
        self._leaves = Counts()
        self._cores: dict[int, list[int]] = {}
        self._seconds: dict[int, array[int]] = {}
        self._idle = self._busy = 0
        self._events = self._since = self._odd_lines = 0
        self._first, self._last = 1, 0  # no events yet
        self._window: tuple[int, int] | None = None
        self._window_origin = 0

    def feed(self, chunk: bytes) -> None:
        """Read the next piece.

        Raises: ProfileError for perf.data, events more than a day apart, and stacks that fit nowhere.
        """
        self._pieces.append(chunk)
        self._waiting += len(chunk)
        if self._waiting >= _AT_ONCE:
            self._read_waiting()

    def finish(self) -> Profile:
        """Return the counts. An event without a final empty line is left out.

        Raises: ProfileError when the text is not a profile; TimesFallBack if `between` started from a wrong beginning.
        """
        self._read_waiting()
        self._count(self._splitter.finish())
        self._flush()
        if not self._events and self._splitter.has_begun:
            raise ProfileError("The text ends within its first event.", "It was cut: make it, or fetch it, again.")
        if not self._events:
            raise ProfileError(
                "This is not a profile: no line of it begins an event of perf script.",
                "Make a profile: perf record -a -g sleep 10 && perf script > perf.txt",
            )
        if self._window is not None and self._first < self._window_origin:
            raise TimesFallBack(self._first)
        assert self._splitter.event is not None
        return Profile(
            selection=self._selection,
            event=self._splitter.event.decode("utf-8", "backslashreplace"),
            events=self._events,
            samples=self._busy + self._idle,
            idle_samples=self._idle,
            first_ns=self.first_ns,
            last_ns=self._last,
            skipped_lines=self._splitter.skipped_lines + self._odd_lines,
            skipped_events=self._splitter.skipped_events,
            is_cut=self._splitter.is_cut or self.is_cut,
            cores=tuple(CoreCount(core, counted[0], counted[1]) for core, counted in sorted(self._cores.items())),
            seconds_counted=self._seconds,
            stacks=self._stacks,
            leaves=self._leaves,
        )

    @property
    def first_ns(self) -> int | None:
        """The earliest time so far; None if there is none."""
        return self._first if self._first <= self._last else None

    def _read_waiting(self) -> None:
        text = b"".join(self._pieces)
        self._pieces.clear()
        self._waiting = 0
        self._count(self._splitter.events(text))
        too_many = len(self._splitter.threads) > _MOST_THREADS
        if too_many or self._splitter.held_bytes > _CACHE_LIMIT_BYTES or self._events - self._since > _MOST_APART:
            self._flush()
            self._splitter.forget(threads=too_many)

    def _count(self, events: Iterable[Event]) -> None:
        """Count events. Everything done for each event is here and in the cutter's `_blocks`."""
        each, window = self._each, self._window
        first, last = self._first, self._last
        counted = 0
        busy: list[int] = []  # the row of each non-idle sample
        for thread, period, at, stack, stamp, lines in events:
            counted += 1
            if at is not None:
                if at > last:
                    if first > last:
                        first = at
                        window = self._window = self._window_from(first)
                    last = at
                elif at < first:
                    first = at
            if stack.odd_lines:
                self._odd_lines += stack.odd_lines
            if not thread.is_selected:
                continue
            if window is not None and (at is None or not window[0] <= at < window[1]):
                continue
            sums = thread.sums
            sums[stack] = sums.get(stack, 0) + period
            if stack.idles and thread.is_swapper:
                thread.idle += 1
            else:
                leaf, leaves = stack.leaf, thread.leaves
                leaves[leaf] = leaves.get(leaf, 0) + 1
                if at is not None:
                    busy.append(at // ROW)
            if each is not None:
                printed = b"" if stamp is None else stamp[1] + b"." + stamp[2]
                each(Sample(thread.who, self._splitter.event or b"", period, at, printed, lines, stack))
        self._events += counted
        self._first, self._last = first, last
        self._refuse_long()
        for row, times in Counter(busy).items():
            rows = self._seconds.get(row // ROWS)
            if rows is None:
                rows = self._seconds[row // ROWS] = array("L", NO_ROWS)
            rows[row % ROWS] += times

    def _refuse_long(self) -> None:
        if self._last - self._first > LONGEST_SECONDS * SECOND:
            raise ProfileError(
                f"The events lie more than {LONGEST_SECONDS:,} seconds apart, from {self._first / SECOND:.3f} to "
                f"{self._last / SECOND:.3f}: a profile covers a day at most.",
                "Was the clock changed, or does the file hold two recordings? Split it.",
            )

    def _window_from(self, first: int) -> tuple[int, int] | None:
        if (between := self._selection.between) is None:
            return None
        origin = self._window_origin = first if self._origin_ns is None else self._origin_ns
        return origin + round(between[0] * SECOND), origin + round(between[1] * SECOND)

    def _flush(self) -> None:
        """Merge the events into the counts, which are all that is kept."""
        for thread in self._splitter.threads.values():
            who = thread.who
            core = -1 if who.core is None else who.core
            start = b"%d\t%d\t%s\t" % (core, who.pid, who.raw_process.replace(b"\t", b" "))
            busy = sum(thread.leaves.values())
            if thread.leaves:
                self._leaves.add((start + leaf, times) for leaf, times in thread.leaves.items())
            if who.core is not None and (busy or thread.idle):
                counted = self._cores.setdefault(who.core, [0, 0])
                counted[0] += busy + thread.idle
                counted[1] += thread.idle
            self._busy += busy
            self._idle += thread.idle
            thread.leaves.clear()
            thread.idle = 0
        self._stacks.add(
            (name + stack.tail, periods)
            for name, sums in self._splitter.sums.items()
            for stack, periods in sums.items()
        )
        for sums in self._splitter.sums.values():
            sums.clear()
        self._since = self._events
