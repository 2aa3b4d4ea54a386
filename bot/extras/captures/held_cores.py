"""Who held a core: stretches of samples in which the same process ran in the kernel without a break."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from bot.domain.safe_text import decode, redacted_line
from bot.extras.profiles.reader import Sample

SECOND = 1_000_000_000
HELD_SECONDS = 2.0
_MOST_APART = SECOND // 4  # a dozen samples at 49 Hz: a held core may miss ticks with interrupts off
_MOST_OTHERS = 3  # samples of others in a row that do not end a stretch, such as an interrupt or a short thread
_MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class HeldStretch:
    """A stretch. Shape: `function` is where most of its samples were; `share` is of all its samples.

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
    """Takes samples in order of time, and finds stretches of half a second and more."""

    def __init__(self, least_seconds: float = 0.5) -> None:
        self._least = round(least_seconds * SECOND)
        self._now: dict[int, _Stretch] = {}
        self._found: list[HeldStretch] = []

    def __call__(self, sample: Sample) -> None:
        """Take a sample."""
        who, at = sample.who, sample.at_ns
        if who.core is None or at is None:
            return
        stretch = self._now.get(who.core)
        is_kernel = not (who.is_swapper and sample.stack.idles) and _in_kernel(sample.lines)
        if stretch is not None and at - stretch.ends > _MOST_APART:
            self._end_stretch(who.core)
            stretch = None
        if stretch is not None and is_kernel and who.pid == stretch.pid:
            stretch.ends, stretch.others = at, 0
            stretch.samples += 1
            stretch.functions[sample.stack.leaf] += 1
            stretch.names[who.process] += 1
        elif stretch is not None and stretch.others < _MOST_OTHERS:
            stretch.others += 1
            stretch.samples += 1
        else:
            self._end_stretch(who.core)
            if is_kernel and not who.is_swapper:
                started = self._now[who.core] = _Stretch(who.pid, at, at, 1)
                started.functions[sample.stack.leaf] += 1
                started.names[who.process] += 1

    def finish(self) -> list[HeldStretch]:
        """Return what was found, the longest first."""
        for core in list(self._now):
            self._end_stretch(core)
        return sorted(self._found, key=lambda held: (-held.seconds, held.begins, held.core))

    def _end_stretch(self, core: int) -> None:
        stretch = self._now.pop(core, None)
        if stretch is None or stretch.ends - stretch.begins < self._least or len(self._found) >= _MOST_KEPT:
            return
        samples = stretch.samples - stretch.others
        function, times = stretch.functions.most_common(1)[0]
        begins, ends = stretch.begins / SECOND, stretch.ends / SECOND
        share = times / samples
        ((process, _),) = stretch.names.most_common(1)
        self._found.append(HeldStretch(core, process, stretch.pid, decode(function), share, samples, begins, ends))


def _in_kernel(lines: bytes) -> bool:
    """True if the innermost frame's address is in the upper half, which is the kernel's."""
    address = lines.lstrip().partition(b" ")[0]
    return len(address) == 16 and address[:1] == b"f"
