"""A sketch: as much of a core's profile as two pictures show, small enough to keep for years.

It is made once, when the samples are read, and drawn whenever it is shown: in a chat thread or a report.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from bot.domain.json_form import NotOfForm, read, to_json_types
from bot.domain.safe_text import decode, one_line, redacted_line
from bot.extras.profiles.by_core import CoreRun
from bot.extras.profiles.flame_tree import Node, flame_tree
from bot.extras.profiles.profile import ROWS

MOST_BARS = 700
MOST_DEEP = 40
MOST_SECONDS = 150
_NARROWEST = 1 / 400  # of the whole: three pixels of the picture
_NAME = 100
_SAID = 400


@dataclass(frozen=True, slots=True)
class Bar:
    """A frame: its depth, its start and width in samples, and its name."""

    depth: int
    at: int
    wide: int
    name: str


@dataclass(frozen=True, slots=True)
class Sketch:
    """The data of the pictures.

    Shape: `says` is their sentence; `bars` are the frames from the outermost on; `seconds` have 50 counts each; `hot`
    is the function that most samples ended in.
    """

    node: str
    core: int
    says: str
    samples: int
    hot: str
    bars: tuple[Bar, ...]
    seconds: tuple[tuple[int, ...], ...]

    @property
    def title(self) -> str:
        """The title of the pictures."""
        return f"Core {self.core} of {one_line(self.node, 60)}"

    @property
    def alt_texts(self) -> tuple[str, str]:
        """Descriptions of the flame graph and of the heat map of its seconds."""
        ended = sum(bar.wide for bar in self.bars if bar.name == self.hot)
        share = min(100, round(100 * ended / max(1, self.samples)))
        flame = f"Flame graph of core {self.core} of {self.node}: {share} % of {self.samples:,} samples in {self.hot}."
        busiest = [number for number, rows in enumerate(self.seconds) if sum(rows) >= 0.9 * self._most_samples]
        busy = f"; busiest in {len(busiest)} of them" if busiest else ""
        seconds = f"Heat map of {len(self.seconds)} seconds of core {self.core} of {self.node}{busy}."
        return f"{flame} {self.says}", f"{seconds} {self.says}"

    @property
    def _most_samples(self) -> int:
        return max((sum(rows) for rows in self.seconds), default=0)

    def text(self) -> str:
        """Return it as text for storage."""
        return json.dumps(to_json_types(self), ensure_ascii=True, separators=(",", ":"))


def sketch(node: str, core: int, run: CoreRun, says: str) -> Sketch | None:
    """Sketch what a core ran; None if it ran nothing.

    Shape: frames too narrow or too deep to be seen are left out. Names are safe to show, and hold no secrets.
    """
    if not run.stacks:
        return None
    cut, leaves = CoreRun(), Counter[bytes]()
    for key, times in run.stacks.items():
        leaves[key.rpartition(b";")[2]] += times
        cut.stacks[b";".join(key.split(b";", MOST_DEEP + 1)[: MOST_DEEP + 1])] += times  # visible frames only
    root = flame_tree(cut)
    bars = sorted(_bars(root), key=lambda bar: (-bar.wide, bar.depth, bar.at))[:MOST_BARS]
    return Sketch(
        one_line(node, 253),
        core,
        redacted_line(says, _SAID),
        run.samples,
        _name(max(leaves, key=lambda leaf: (leaves[leaf], leaf))),
        tuple(sorted(bars, key=lambda bar: (bar.depth, bar.at))),
        run.rows()[:MOST_SECONDS],
    )


def read_sketch(text: str) -> Sketch:
    """Return the sketch of a stored text.

    Raises: NotOfForm when it is not a sketch: another version may have stored it.
    """
    try:
        return sketch_of(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise NotOfForm(str(error)) from error


def sketch_of(value: object) -> Sketch:
    """Return a sketch from JSON types. Raises: NotOfForm when it is not a sketch, or too large."""
    found = read(Sketch, value)
    if len(found.bars) > MOST_BARS or len(found.seconds) > MOST_SECONDS:
        raise NotOfForm("it is larger than a sketch")
    if any(len(rows) != ROWS or min(rows) < 0 for rows in found.seconds):
        raise NotOfForm("its seconds have other rows than a sketch's")
    if any(bar.depth not in range(MOST_DEEP + 1) or bar.at < 0 or bar.wide < 1 for bar in found.bars):
        raise NotOfForm("its frames lie outside of a sketch")
    return found


def _bars(root: Node) -> Iterator[Bar]:
    """Yield the frames below the root, side by side."""
    least = max(1.0, root.now * _NARROWEST)
    waiting = [(root, 0, 0)]
    while waiting:
        node, depth, at = waiting.pop()
        if depth:
            yield Bar(depth - 1, at, max(1, round(node.now)), _name(node.name))
        if depth > MOST_DEEP:
            continue
        begins = at
        for called in sorted(node.called.values(), key=lambda called: called.name):
            if called.now >= least:
                waiting.append((called, depth + 1, begins))
            begins += round(called.now)


def _name(name: bytes) -> str:
    return redacted_line(decode(name), _NAME)
