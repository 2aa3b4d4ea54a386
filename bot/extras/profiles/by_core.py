"""What each core of a node ran, counted separately while a profile is read: for pictures of a single core.

A burst on one core of 96 is a hundredth of a node's flame graph, but nearly all of its own core's.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bot.extras.profiles.profile import ROWS, SECOND
from bot.extras.profiles.reader import NO_ROWS, ROW, Sample

MOST_STACKS = 100_000  # of all cores together: later stacks are counted, but have no frames in the picture
MOST_SECONDS = 900  # of a core


@dataclass(slots=True)
class CoreRun:
    """What a core ran, without idling.

    Shape: `stacks` are samples by folded stack, as `process;outermost;...;innermost`; `seconds` has the 50 rows of each
    second with samples.
    """

    samples: int = 0
    stacks: Counter[bytes] = field(default_factory=Counter)
    seconds: dict[int, array[int]] = field(default_factory=dict)

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Yield each stack once with its count, in the order of the stacks' bytes."""
        return iter(sorted(self.stacks.items()))

    def rows(self) -> tuple[tuple[int, ...], ...]:
        """Return the rows of every second from the first to the last with samples; a long range is cut at its end."""
        if not self.seconds:
            return ()
        first = min(self.seconds)
        last = min(max(self.seconds), first + MOST_SECONDS - 1)
        return tuple(tuple(self.seconds.get(second, NO_ROWS)) for second in range(first, last + 1))


class CoreRuns:
    """Takes samples and counts what each core ran; without a core column it stays empty."""

    def __init__(self) -> None:
        self._runs: dict[int, CoreRun] = {}
        self._stacks = 0

    def __call__(self, sample: Sample) -> None:
        """Take a sample."""
        who, at = sample.who, sample.at_ns
        if who.core is None or (who.is_swapper and sample.stack.idles):
            return
        run = self._runs.setdefault(who.core, CoreRun())
        run.samples += 1
        key = who.folded + sample.stack.tail
        if key in run.stacks or self._stacks < MOST_STACKS:
            self._stacks += key not in run.stacks
            run.stacks[key] += 1
        if at is None:
            return
        rows = run.seconds.get(at // SECOND)
        if rows is None and len(run.seconds) < MOST_SECONDS:
            rows = run.seconds[at // SECOND] = array("L", NO_ROWS)
        if rows is not None:
            rows[at // ROW % ROWS] += 1

    @property
    def cores(self) -> Mapping[int, CoreRun]:
        """The counts by core."""
        return self._runs
