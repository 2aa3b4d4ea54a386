"""The counts of a profile, and its JSON document."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from bot.domain.safe_text import decode, redacted_text
from bot.extras.profiles.counts import Counts
from bot.extras.profiles.selection import Selection
from bot.probes.formats.functions import LOCK, MOST_FRAMES, Signature, signature_of

ROWS = 50  # of a second, as in FlameScope: 20 ms each
LONGEST_SECONDS = 86_400
MOST_TOP = 20
SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class CoreCount:
    """How many samples a core had, and how many of them were idle."""

    core: int
    samples: int
    idle: int

    @property
    def busy(self) -> int:
        """Samples that were not idle."""
        return self.samples - self.idle


@dataclass(frozen=True, slots=True)
class HotFunction:
    """An innermost function: its core, its process, how often it ran, and its share of the non-idle samples.

    Shape: its names are safe to show, and hold no secrets: a program names itself and what it compiles as it likes.
    """

    core: int | None
    process: str
    pid: int
    function: str
    samples: int
    share: float

    def document(self) -> dict[str, Any]:
        """Return it as JSON's own types."""
        return asdict(self) | {"share": round(self.share, 4)}


@dataclass(frozen=True, slots=True)
class ProfileMeaning:
    """What the hottest core's function means.

    Shape: `share_of_core` is of the samples of that core (of all non-idle samples, if the text has no cores); `under`
    are the callers, innermost first; `signature` is None if no row has the function; `lock_of` is the row above a lock.
    """

    share_of_core: float
    under: tuple[str, ...]
    signature: Signature | None
    lock_of: Signature | None = None

    @property
    def points_at(self) -> str:
        """The slug of a cause, empty if the function points at none."""
        rows = (self.lock_of, self.signature)
        return next((row.points_at for row in rows if row is not None and row.points_at), "")

    @property
    def says(self) -> str:
        """What it means, as the end of a sentence; empty if no row has the function."""
        if self.signature is None:
            return ""
        if self.signature.name == LOCK:
            above = self.lock_of.does if self.lock_of is not None else f"taken in {self.under[0]}" if self.under else ""
            return f"{self.signature.does}{': ' if above else ''}{above}"
        return self.signature.does

    def document(self) -> dict[str, Any] | None:
        """Return it as JSON types; None if no row has the function."""
        return (
            None
            if self.signature is None
            else {
                "signature": self.signature.name,
                "does": self.says,
                "points_at": self.points_at or None,
                "share_of_core": round(self.share_of_core, 4),
                "under": list(self.under[:MOST_FRAMES]),
                "source": self.signature.source,
            }
        )


@dataclass(frozen=True)
class Profile:
    """The counts of a profile.

    Shape: `events` counts all events of the first kind, `samples` the selected events, idle samples included; `cores`
    is empty if the text names none. `stacks` are the periods of each folded stack, `leaves` the non-idle samples by
    core, pid, process and innermost function. `seconds_counted` has the rows of each second with samples, by the clock
    of the text. `is_cut` if the text ends within an event, which is left out.
    Units: times in nanoseconds of the text's own clock; `first_ns` is None if it has none.
    """

    selection: Selection
    event: str
    events: int
    samples: int
    idle_samples: int
    first_ns: int | None
    last_ns: int
    skipped_lines: int
    skipped_events: int
    is_cut: bool
    cores: tuple[CoreCount, ...]
    seconds_counted: Mapping[int, array[int]]
    stacks: Counts
    leaves: Counts

    @property
    def seconds(self) -> float:
        """The time from the first event to the last."""
        return 0.0 if self.first_ns is None else round((self.last_ns - self.first_ns) / SECOND, 9)

    @property
    def whole_seconds(self) -> int:
        """How many seconds the heat map has."""
        return 0 if self.first_ns is None else self.last_ns // SECOND - self.first_ns // SECOND + 1

    @property
    def busy_samples(self) -> int:
        """Selected samples that were not idle."""
        return self.samples - self.idle_samples

    @cached_property
    def hottest(self) -> CoreCount | None:
        """The core with most non-idle samples; None where the text names no cores."""
        return max(self.cores, key=lambda core: (core.busy, -core.core), default=None)

    @cached_property
    def hot(self) -> HotFunction | None:
        """The top function of the hottest core; without cores the whole node counts as a core."""
        return None if self._hot_leaf is None else self._hot_function(*self._hot_leaf)

    @cached_property
    def top(self) -> tuple[HotFunction, ...]:
        """The top functions of all cores, most samples first."""
        return tuple(self._hot_function(*counted) for counted in self.leaves.most(MOST_TOP))

    @cached_property
    def meaning(self) -> ProfileMeaning | None:
        """What the hottest core's function means; None if everything is idle."""
        if (hot := self.hot) is None or self._hot_leaf is None:
            return None
        under = self._heaviest_callers(self._hot_leaf[0])
        first, above = signature_of([hot.function, *under])
        share = hot.share if self.hottest is None else hot.samples / self.hottest.samples
        return ProfileMeaning(share, under, first, above)

    def heatmap(self) -> Iterator[list[int]]:
        """Yield the 50 rows of each second, from the whole second of the first event to that of the last."""
        if self.first_ns is None:
            return
        for second in range(self.first_ns // SECOND, self.last_ns // SECOND + 1):
            rows = self.seconds_counted.get(second)
            yield [0] * ROWS if rows is None else list(rows)

    def folded(self) -> Iterator[str]:
        """Yield each stack as `process;outermost;...;innermost count`, as stackcollapse-perf.pl prints it."""
        for key, times in self.stacks.items():
            yield f"{decode(key)} {times}"

    def document(self) -> dict[str, Any]:
        """Return the profile as JSON's own types: schema 1 of `zombie profile --format json`."""
        hot = None if self.hot is None else self.hot.document()
        return {
            "schema": 1,
            "event": self.event,
            "events": self.events,
            "samples": self.samples,
            "seconds": self.seconds,
            "first": None if self.first_ns is None else self.first_ns / SECOND,
            "skipped_lines": self.skipped_lines,
            "skipped_events": self.skipped_events,
            "cut": self.is_cut,
            "cores": [asdict(core) for core in self.cores],
            "hot": hot and {name: said for name, said in hot.items() if name != "samples"},
            "reading": None if self.meaning is None else self.meaning.document(),
            "top": [burner.document() for burner in self.top],
            "heatmap": {"rows": ROWS, "counts": list(self.heatmap())},
        }

    def _hot_function(self, key: bytes, times: int) -> HotFunction:
        core, pid, process, function = key.split(b"\t", 3)
        number = int(core)
        return HotFunction(
            core=None if number < 0 else number,
            process=redacted_text(decode(process)),
            pid=int(pid),
            function=redacted_text(decode(function)),
            samples=times,
            share=times / self.busy_samples,
        )

    @cached_property
    def _hot_leaf(self) -> tuple[bytes, int] | None:
        beginning = b"-1\t" if self.hottest is None else b"%d\t" % self.hottest.core
        return next(iter(self.leaves.most(1, beginning)), None)

    def _heaviest_callers(self, leaf: bytes) -> tuple[str, ...]:
        """The callers in the heaviest stack of this process that ends in this function, innermost first."""
        process, function = leaf.split(b"\t", 3)[2:]
        start, end = process.replace(b" ", b"_"), b";" + function
        heaviest, most = b"", 0
        for key, times in self.stacks.items():
            if times > most and key.endswith(end) and key.startswith(start):
                heaviest, most = key, times
        return tuple(redacted_text(decode(name)) for name in reversed(heaviest.split(b";")[1:-1]))
