"""A profile in speedscope's format: each thread with its stacks over time.

Source: https://www.speedscope.app/file-format-schema.json, profiles of type `sampled`. A sample lasts until the next
sample of its thread, but no longer than the sampling interval; the rest is an empty stack. So each thread starts at
the profile's first event, the threads line up, and a thread that runs now and then is not drawn as long.
"""

from __future__ import annotations

import itertools
import json
from array import array
from collections.abc import Iterator

from bot.domain.errors import ProfileError
from bot.domain.safe_text import decode
from bot.extras.profiles.reader import Sample

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
MOST_FRAMES = 4_000_000  # of all distinct stacks together, which are kept in memory
_UNKNOWN_INTERVAL = 1_000_000  # nanoseconds, where no core has two samples


class Speedscope:
    """Takes samples; after the last, `pieces` yields the document.

    Raises: ProfileError for a text without times, and for more distinct stacks than a browser can show.
    """

    def __init__(self) -> None:
        self._frames: dict[bytes, int] = {}
        self._stacks: dict[bytes, int] = {}
        self._frames_of: list[array[int]] = []
        self._held = 0
        self._threads: dict[str, tuple[array[int], array[int]]] = {}
        self._by_core: dict[int | str, array[int]] = {}  # times, of a thread where the text has no core

    def __call__(self, sample: Sample) -> None:
        """Keep a sample."""
        if sample.at_ns is None:
            raise ProfileError("This text has no times.", "Make it with its times: perf script -F +time")
        who = sample.who
        name = f"{who.process} {who.pid}" if who.tid is None else f"{who.process} {who.pid}/{who.tid}"
        times, stacks = self._threads.setdefault(name, (array("q"), array("l")))
        times.append(sample.at_ns)
        stacks.append(self._stack(sample.stack.tail))
        if who.core is not None or not who.is_swapper:  # which is on every core at once
            self._by_core.setdefault(name if who.core is None else who.core, array("q")).append(sample.at_ns)

    def pieces(self, name: str) -> Iterator[str]:
        """Yield the document in pieces."""
        frames = [{"name": decode(frame)} for frame in self._frames]
        start = min((min(times) for times, _ in self._threads.values()), default=0)
        head = {"$schema": SCHEMA, "exporter": "zombie profile", "name": name, "activeProfileIndex": 0}
        yield json.dumps(head, ensure_ascii=False)[:-1]
        yield ', "shared": {"frames": ' + json.dumps(frames, ensure_ascii=False) + '}, "profiles": ['
        interval = _usual_gap(max(self._by_core.values(), key=len, default=array("q"))) or _UNKNOWN_INTERVAL
        for at, (thread, (times, stacks)) in enumerate(self._threads.items()):
            yield ", " if at else ""
            yield json.dumps(self._profile(thread, times, stacks, start, interval), ensure_ascii=False)
        yield "]}\n"

    def _stack(self, tail: bytes) -> int:
        known = self._stacks.get(tail)
        if known is None:
            names = tail.split(b";")[1:]
            self._held += len(names)
            if self._held > MOST_FRAMES:
                raise ProfileError(
                    "The stacks differ too much to be shown in a browser.",
                    "Take a part: --core N, --process COMM or --between A B.",
                )
            known = self._stacks[tail] = len(self._stacks)
            self._frames_of.append(array("l", [self._frames.setdefault(name, len(self._frames)) for name in names]))
        return known

    def _profile(
        self, name: str, times: array[int], stacks: array[int], start: int, interval: int
    ) -> dict[str, object]:
        usual = min(_usual_gap(times) or interval, interval)
        samples: list[list[int]] = []
        weights: list[int] = []
        now = start
        following = [*times[1:], times[-1] + usual]
        for at, later, stack in zip(times, following, stacks, strict=True):
            if at > now:
                samples.append([])
                weights.append(at - now)
                now = at
            lasts = min(usual, later - at) if later > at else usual
            samples.append(self._frames_of[stack].tolist())
            weights.append(lasts)
            now += lasts
        return {
            "type": "sampled",
            "name": name,
            "unit": "nanoseconds",
            "startValue": 0,
            "endValue": now - start,
            "samples": samples,
            "weights": weights,
        }


def _usual_gap(times: array[int]) -> int:
    """Return the median gap between times, 0 where there is none: on the busiest core, the sampling interval."""
    gaps = sorted(later - at for at, later in itertools.pairwise(times) if later > at)
    return gaps[len(gaps) // 2] if gaps else 0
