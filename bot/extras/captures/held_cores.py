"""What samples tell of a node's cores: who held one in the kernel without a break, and when no core was sampled.

A core without samples is idle or has its interrupts off, which nobody can tell apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from bot.domain.safe_text import decode, redacted_line
from bot.extras.profiles.reader import Sample

SECOND = 1_000_000_000
HELD_SECONDS = 2.0
LEAST_SECONDS = 0.5
NEAR_SECONDS = 1.5  # a core released this shortly before a symptom, or a segment's end, counts as held until then
MOST_APART = SECOND // 4  # a dozen samples at 49 Hz: a held core may miss ticks with interrupts off
_MOST_OTHERS = 3  # samples of others in a row that do not end a stretch, such as an interrupt or a short thread
_MOST_CORES = 8192
_MOST_KEPT = 1000  # the longest stretches, and times with samples, of which a segment has at most 60


@dataclass(frozen=True, slots=True)
class HeldStretch:
    """A time in which a process held a core.

    Shape: `function` is where most of its samples were; `share` is of all its samples.

    Units: CLOCK_MONOTONIC in seconds.
    """

    core: int
    process: str
    pid: int
    function: str
    share: float
    samples: int
    begins: float
    ends: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.ends - self.begins

    @property
    def says(self) -> str:
        """Say who held the core.

        Example:
        >>> HeldStretch(39, "kubelet", 77, "mem_cgroup_nr_lru_pages", 0.97, 300, 1.0, 7.6).says
        'core 39 ran kubelet (77) in mem_cgroup_nr_lru_pages for 97 % of samples'
        """
        who = f"{redacted_line(self.process, 40)} ({self.pid}) in {redacted_line(self.function, 100)}"
        return f"core {self.core} ran {who} for {100 * self.share:.0f} % of samples"

    def is_named_in(self, sentence: str) -> bool:
        """True where `says` of the same process is part of it, which may have another name and function by then."""
        return f" ({self.pid}) in " in sentence


@dataclass(slots=True)
class _Stretch:
    pid: int
    begins: int
    ends: int
    samples: int = 0
    others: int = 0
    functions: Counter[bytes] = field(default_factory=Counter)
    names: Counter[str] = field(default_factory=Counter)  # a new process still has its parent's name


class HeldCoreFinder:
    """Takes samples, those of each core in order of time, and finds the stretches.

    Shape: `sampled` are the times with samples of any core, in seconds; they may overlap.
    """

    def __init__(self) -> None:
        self.sampled: list[tuple[float, float]] = []
        self._now: dict[int, _Stretch] = {}
        self._found: list[HeldStretch] = []
        self._edges: list[HeldStretch] = []

    def __call__(self, sample: Sample) -> None:
        """Take a sample."""
        who, at = sample.who, sample.at_ns
        if who.core is None or at is None or who.core >= _MOST_CORES:
            return
        second = at / SECOND
        if self.sampled and abs(second - self.sampled[-1][1]) < HELD_SECONDS:
            begins, ends = self.sampled[-1]
            self.sampled[-1] = begins, max(ends, second)
        elif len(self.sampled) < _MOST_KEPT:  # nothing was sampled meanwhile, or another segment begins and overlaps
            self.sampled.append((second, second))
        stretch = self._now.get(who.core)
        is_kernel = not (who.is_swapper and sample.stack.idles) and _in_kernel(sample.lines)
        is_same = stretch is not None and is_kernel and who.pid == stretch.pid
        if stretch is not None and (at - stretch.ends > MOST_APART or (stretch.others >= _MOST_OTHERS and not is_same)):
            self._end_stretch(who.core)
            stretch = None
        if stretch is None:
            if not is_kernel or who.is_swapper:
                return
            stretch, is_same = self._now.setdefault(who.core, _Stretch(who.pid, at, at)), True
        stretch.samples += 1
        stretch.others = 0 if is_same else stretch.others + 1
        if is_same:
            stretch.ends = at
            stretch.functions[sample.stack.leaf] += 1
            stretch.names[who.process] += 1

    def finish(self) -> list[HeldStretch]:
        """Return what was found, the longest first: of half a second and more, and what touches an end, be it short."""
        for core in list(self._now):
            self._end_stretch(core, is_edge=True)
        return longest([*longest(self._found)[:_MOST_KEPT], *self._edges])

    def _end_stretch(self, core: int, is_edge: bool = False) -> None:
        stretch = self._now.pop(core, None)
        if stretch is None:
            return
        is_edge = is_edge or stretch.begins / SECOND - self.sampled[0][0] <= MOST_APART / SECOND
        if not is_edge and stretch.ends - stretch.begins < LEAST_SECONDS * SECOND:
            return
        samples = stretch.samples - stretch.others
        function, times = stretch.functions.most_common(1)[0]
        begins, ends = stretch.begins / SECOND, stretch.ends / SECOND
        ((process, _),) = stretch.names.most_common(1)
        (self._edges if is_edge else self._found).append(
            HeldStretch(core, process, stretch.pid, decode(function), times / samples, samples, begins, ends)
        )
        for kept, most in ((self._found, _MOST_KEPT), (self._edges, _MOST_CORES)):
            if len(kept) > 2 * most:
                kept[:] = longest(kept)[:most]


def longest(stretches: Iterable[HeldStretch]) -> list[HeldStretch]:
    """Return them, the longest first."""
    return sorted(stretches, key=lambda held: (-held.seconds, held.begins, held.core))


def joined(stretches: Iterable[HeldStretch]) -> list[HeldStretch]:
    """Return them, the longest first; one that goes on in the next, as across two segments, is one with it."""
    found = dict[tuple[int, int], list[HeldStretch]]()
    for each in sorted(stretches, key=lambda held: held.begins):
        of_same = found.setdefault((each.core, each.pid), [])
        if of_same and each.begins - of_same[-1].ends <= MOST_APART / SECOND:
            before = of_same.pop()
            less, more = sorted((before, each), key=lambda held: held.samples)
            times = sum(part.share * part.samples for part in (less, more) if part.function == more.function)
            samples, ends = less.samples + more.samples, max(before.ends, each.ends)
            each = replace(more, share=times / samples, samples=samples, begins=before.begins, ends=ends)
        of_same.append(each)
    return longest(each for of_same in found.values() for each in of_same)


def without_samples(sampled: Iterable[tuple[float, float]], begins: float, ends: float) -> list[tuple[float, float]]:
    """Return the times between `begins` and `ends` of 2 s and more of which nothing was sampled."""
    found = []
    for since, until in (*sorted(sampled), (ends, ends)):
        if min(since, ends) - begins >= HELD_SECONDS:
            found.append((begins, min(since, ends)))
        begins = max(begins, until)
    return found


def _in_kernel(lines: bytes) -> bool:
    """True if the innermost frame's address is in the upper half, which is the kernel's."""
    address = lines.lstrip().partition(b" ")[0]
    return len(address) == 16 and address[:1] == b"f"
