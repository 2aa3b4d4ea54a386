"""What samples tell of a node's cores: who held one in the kernel without a break, and when one was not sampled.

Both are stretches of its time. Outside of them it was sampled, and nobody held it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from bot.domain.safe_text import decode, redacted_line
from bot.extras.profiles.reader import Sample

SECOND = 1_000_000_000
HELD_SECONDS = 2.0
LEAST_SECONDS = 0.5
ALL_CORES = -1
_MOST_APART = SECOND // 4  # a dozen samples at 49 Hz: a held core may miss ticks with interrupts off
_MOST_OTHERS = 3  # samples of others in a row that do not end a stretch, such as an interrupt or a short thread
MOST_KEPT = 1000  # the longest, of each kind


@dataclass(frozen=True, slots=True)
class HeldStretch:
    """A stretch; of one without `samples` nobody knows who held the core, which may be ALL_CORES.

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
        if not self.samples:
            return "no core has a sample" if self.core == ALL_CORES else f"core {self.core} has no sample"
        who = f"{redacted_line(self.process, 40)} ({self.pid}) in {redacted_line(self.function, 100)}"
        return f"core {self.core} ran {who} for {100 * self.share:.0f} % of samples"


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
    """Takes samples in order of time, and finds the stretches.

    Shape: each of `cores` should have samples where perf counts the clock's ticks; where it counts cycles, an idle one
    has none.
    """

    def __init__(self, cores: Collection[int] = ()) -> None:
        self._cores = cores
        self._first = 0
        self._sampled: dict[int, int] = {}  # until when
        self._now: dict[int, _Stretch] = {}
        self._found: list[HeldStretch] = []
        self._edges: list[HeldStretch] = []

    @property
    def span(self) -> tuple[float, float]:
        """When the first and the last sample was."""
        return self._first / SECOND, self._sampled.get(ALL_CORES, 0) / SECOND

    def __call__(self, sample: Sample) -> None:
        """Take a sample."""
        who, at = sample.who, sample.at_ns
        if who.core is None or at is None:
            return
        self._first = self._first or at
        for core in (ALL_CORES, who.core) if sample.event.startswith(b"cpu-clock") else (ALL_CORES,):
            if at - self._sampled.get(core, self._first) >= _MOST_APART:
                self._note_silence(core, at)
            self._sampled[core] = at
        stretch = self._now.get(who.core)
        is_kernel = not (who.is_swapper and sample.stack.idles) and _in_kernel(sample.lines)
        is_same = stretch is not None and is_kernel and who.pid == stretch.pid
        if stretch is not None and (
            at - stretch.ends > _MOST_APART or (stretch.others >= _MOST_OTHERS and not is_same)
        ):
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
        for core in {*self._sampled, *self._cores} if len(self._sampled) > 1 else ():
            self._note_silence(core, self._sampled[ALL_CORES], is_edge=True)
        return longest([*longest(self._found)[:MOST_KEPT], *self._edges])

    def _note_silence(self, core: int, at: int, is_edge: bool = False) -> None:
        """Keep for how long the core had no sample until now."""
        since = self._sampled.get(core, self._first)
        is_edge = is_edge or since == self._first
        if at - since >= (_MOST_APART if is_edge else HELD_SECONDS * SECOND):
            self._keep(silence(core, since / SECOND, at / SECOND), is_edge)

    def _end_stretch(self, core: int, is_edge: bool = False) -> None:
        stretch = self._now.pop(core, None)
        if stretch is None:
            return
        is_edge = is_edge or stretch.begins - self._first <= _MOST_APART
        if not is_edge and stretch.ends - stretch.begins < LEAST_SECONDS * SECOND:
            return
        samples = stretch.samples - stretch.others
        function, times = stretch.functions.most_common(1)[0]
        begins, ends = stretch.begins / SECOND, stretch.ends / SECOND
        share = times / samples
        ((process, _),) = stretch.names.most_common(1)
        self._keep(HeldStretch(core, process, stretch.pid, decode(function), share, samples, begins, ends), is_edge)

    def _keep(self, stretch: HeldStretch, is_edge: bool) -> None:
        (self._edges if is_edge else self._found).append(stretch)
        if len(self._found) > 2 * MOST_KEPT:
            self._found = longest(self._found)[:MOST_KEPT]


def silence(core: int, begins: float, ends: float) -> HeldStretch:
    """Return a time without samples of a core, or of all of them."""
    return HeldStretch(core, "", 0, "", 0.0, 0, begins, ends)


def longest(stretches: Iterable[HeldStretch]) -> list[HeldStretch]:
    """Return them, the longest first."""
    return sorted(stretches, key=lambda held: (-held.seconds, held.begins, held.core))


def joined(stretches: Iterable[HeldStretch]) -> list[HeldStretch]:
    """Return them, the longest first; one that goes on in the next, as across two segments, is one with it."""
    found = dict[tuple[int, int, bool], list[HeldStretch]]()
    for each in sorted(stretches, key=lambda held: held.begins):
        of_same = found.setdefault((each.core, each.pid, each.samples > 0), [])
        if of_same and each.begins - of_same[-1].ends <= _MOST_APART / SECOND:
            before = of_same.pop()
            less, more = sorted((before, each), key=lambda held: held.samples)
            times = sum(part.share * part.samples for part in (less, more) if part.function == more.function)
            samples, ends = less.samples + more.samples, max(before.ends, each.ends)
            each = replace(more, share=times / max(1, samples), samples=samples, begins=before.begins, ends=ends)
        of_same.append(each)
    return longest(each for of_same in found.values() for each in of_same)


def silences(stretches: Iterable[HeldStretch]) -> list[HeldStretch]:
    """Return the longest times without samples, of 2 s and more: of all cores, and of one while others have some.

    Shape: the longest of `stretches` comes first.
    """
    silent = [each for each in stretches if not each.samples and each.seconds >= HELD_SECONDS][:MOST_KEPT]
    of_all = [each for each in silent if each.core == ALL_CORES]

    def seconds(silence: HeldStretch) -> float:
        shared = (min(silence.ends, other.ends) - max(silence.begins, other.begins) for other in of_all)
        return silence.seconds - sum(each for each in shared if each > 0)

    return [each for each in silent if each.core == ALL_CORES or seconds(each) >= HELD_SECONDS]


def _in_kernel(lines: bytes) -> bool:
    """True if the innermost frame's address is in the upper half, which is the kernel's."""
    address = lines.lstrip().partition(b" ")[0]
    return len(address) == 16 and address[:1] == b"f"
