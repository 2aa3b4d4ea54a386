"""The heat of cores: the share of one kind of CPU time in each sample of every core, if one core stands out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bot.domain.safe_text import listed

HOT_PERCENT = 90  # from here on a core counts as hot in a sample
_NAMED = 3  # how many further hot cores are named


@dataclass(frozen=True, slots=True)
class CoreHeat:
    """The cores by number, the samples oldest first, and the core that stands out.

    Shape: `percents[c][s]` is the share of sample `s` that `cores[c]` spent in `what`; None if it was not read.
    Units: whole percent; `spans` are the samples' lengths in seconds.
    """

    what: str  # "kernel time"
    hot: int  # the number of the core that stands out
    cores: tuple[int, ...]
    spans: tuple[float, ...]
    percents: tuple[tuple[int | None, ...], ...]

    @property
    def seconds(self) -> int:
        """How long the samples are together."""
        return round(sum(self.spans))

    @property
    def hot_row(self) -> tuple[int | None, ...]:
        """The shares of the core that stands out, by sample."""
        return self.percents[self.cores.index(self.hot)]

    @property
    def unread_samples(self) -> int:
        """How many samples of all cores were not read."""
        return sum(percent is None for row in self.percents for percent in row)

    def mean(self, row: Iterable[int | None]) -> float | None:
        """Return a core's mean over the samples that were read, None if none was.

        Example:
        >>> CoreHeat("kernel time", 0, (0,), (1.0, 1.0, 2.0), ((100, None, 70),)).mean((100, None, 70))
        80.0
        """
        read = [(percent, span) for percent, span in zip(row, self.spans, strict=True) if percent is not None]
        length = sum(span for _, span in read)
        return sum(percent * span for percent, span in read) / length if length else None

    @property
    def words(self) -> str:
        """What the samples show, as a sentence without a full stop, made from the samples alone.

        Example:
        >>> CoreHeat("kernel time", 1, (0, 1), (1.0, 1.0), ((3, 11), (100, 100))).words
        'core 1: 100 % kernel time in 2 of 2 s; the other core below 20 %'
        """
        held = [
            (percent, span)
            for percent, span in zip(self.hot_row, self.spans, strict=True)
            if percent is not None and percent >= HOT_PERCENT
        ]
        span = sum(length for _, length in held)
        percent = sum(percent * length for percent, length in held) / span if span else 0.0
        said = [
            f"core {self.hot}: {percent:.0f} % {self.what} in {round(span)} of {self.seconds} s",
            *self._other_cores_words(),
        ]
        if unread := self.unread_samples:
            said.append(f"{unread} of {len(self.cores) * len(self.spans)} samples not read")
        return "; ".join(said)

    @property
    def alt_text(self) -> str:
        """A picture's alternative text, for those who cannot see it."""
        return f"Heat map of {len(self.cores)} cores over {self.seconds} s; {self.words}."

    def _other_cores_words(self) -> list[str]:
        worst = {
            core: max((percent for percent in row if percent is not None), default=None)
            for core, row in zip(self.cores, self.percents, strict=True)
            if core != self.hot
        }
        read = {core: percent for core, percent in worst.items() if percent is not None}
        hot = [core for core, percent in read.items() if percent >= HOT_PERCENT]
        rest = [percent for percent in read.values() if percent < HOT_PERCENT]
        said = []
        if hot:
            numbers = listed(list(map(str, hot)), _NAMED)
            said.append(f"for a while also core{'s' if len(hot) > 1 else ''} {numbers}")
        if rest:
            count = "core" if len(rest) == 1 else str(len(rest))
            said.append(f"the other {count} below {math.floor(max(rest) / 10) * 10 + 10} %")
        return said
