"""mpstat on a simulated node, in the format of its sysstat version.

Defined in: sysstat, mpstat.c; JSON since 11.5.1, the aggregate row named "all" there since 12.1.4.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.demo.machine.command import Answer
from bot.demo.machine.state import Moment, State

_JSON_SINCE = (11, 5, 1)
_JSON_NAMES = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle")
_SHAPE = "\t\t\t\t\t\t" + "{{" + '"cpu": "{}", ' + ", ".join(f'"{name}": {{:.2f}}' for name in _JSON_NAMES) + "}}"
_HEADS = "  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
_LINE = "{:<11} {:>4} " + " ".join(["{:>7.2f}"] * 10) + "\n"
_Row = tuple[float, ...]


def version(sysstat: str) -> tuple[int, ...]:
    """Return sysstat's version as numbers."""
    return tuple(int(part) for part in sysstat.split("."))


def parse_count(argv: Sequence[str]) -> tuple[bool, int]:
    """Return whether to print JSON, and how many seconds to sample (0: since boot)."""
    json = "-o" in argv
    numbers = [word for word in argv[1:] if word.isdigit()]
    return json, int(numbers[1]) if len(numbers) > 1 else 0


def error(state: State, json: bool) -> Answer | None:
    """Return the error of an mpstat that is missing or too old, None if it works."""
    if not state.system.sysstat:
        return Answer.error("timeout: failed to run command 'mpstat': No such file or directory", 127)
    if json and version(state.system.sysstat) < _JSON_SINCE:
        return Answer.error("Usage: mpstat [ options ] [ <interval> [ <count> ] ]", 1)
    return None


class Report:
    """What mpstat prints from `began` on; each second is worded when it is over, as mpstat does."""

    def __init__(self, state: State, began: Moment, json: bool) -> None:
        self._state, self._began, self._json = state, began, json
        self._looks = [self._look(began.uptime)]
        self._stamps = [self._stamp(0)]
        self._blocks: list[str] = []

    def add_second(self) -> None:
        """Sample another second."""
        second = len(self._blocks) + 1
        before, now, stamp = self._looks[-1], self._look(self._began.uptime + second), self._stamp(second)
        worded = _json_block if self._json else _text_block
        self._blocks.append(worded(self._state, _rows(before, now), self._stamps[-1], stamp))
        self._looks.append(now)
        self._stamps.append(stamp)

    def text(self) -> str:
        """Return all of it."""
        if self._json:
            return _json(self._state, self._began, self._blocks)
        return _text(self._state, self._began, self._blocks, _rows(self._looks[0], self._looks[-1]))

    def _look(self, uptime: float) -> list[tuple[int, ...]]:
        load = self._state.load
        return [load.ticks(core, uptime) for core in range(load.cores)]

    def _stamp(self, second: int) -> str:
        return self._began.wall(self._began.uptime + second).strftime("%H:%M:%S")


def _rows(before: Sequence[tuple[int, ...]], after: Sequence[tuple[int, ...]]) -> list[_Row]:
    """The aggregate and then each core: usr nice sys iowait irq soft steal guest gnice idle, in percent."""
    cores = [[max(0, new - old) for old, new in zip(*pair, strict=True)] for pair in zip(before, after, strict=True)]
    total = [sum(column) for column in zip(*cores, strict=True)]
    return [_percent(ticks) for ticks in (total, *cores)]


def _percent(ticks: Sequence[int]) -> _Row:
    whole = sum(ticks) or 1
    shares = [100 * tick / whole for tick in ticks]
    return (*shares[:7], 0.0, 0.0, shares[7])


def _json_block(state: State, rows: Sequence[_Row], _: str, stamp: str) -> str:
    aggregate = "all" if version(state.system.sysstat) >= (12, 0, 4) else "-1"
    names = [aggregate, *map(str, range(state.load.cores))]
    lines = ",\n".join(_SHAPE.format(name, *row) for name, row in zip(names, rows, strict=True))
    return f'\t\t\t\t{{\n\t\t\t\t\t"timestamp": "{stamp}",\n\t\t\t\t\t"cpu-load": [\n{lines}\n\t\t\t\t\t]\n\t\t\t\t}}'


def _json(state: State, began: Moment, blocks: Sequence[str]) -> str:
    return (
        '{"sysstat": {\n\t"hosts": [\n\t\t{\n'
        f'\t\t\t"nodename": "{state.name}",\n\t\t\t"sysname": "Linux",\n'
        f'\t\t\t"release": "{state.system.kernel}",\n\t\t\t"machine": "x86_64",\n'
        f'\t\t\t"number-of-cpus": {state.load.cores},\n\t\t\t"date": "{began.at:%m/%d/%y}",\n'
        '\t\t\t"statistics": [\n' + ",\n".join(blocks) + "\n\t\t\t]\n\t\t}\n\t]\n}}\n"
    )


def _text_block(state: State, rows: Sequence[_Row], before: str, stamp: str) -> str:
    return f"\n{before:<11}{_HEADS}" + _lines(state, stamp, rows)


def _text(state: State, began: Moment, blocks: Sequence[str], average: Sequence[_Row]) -> str:
    text = f"Linux {state.system.kernel} ({state.name}) \t{began.at:%m/%d/%y} \t_x86_64_\t({state.load.cores} CPU)\n"
    return text + "".join(blocks) + f"\n{'Average:':<11}{_HEADS}" + _lines(state, "Average:", average)


def _lines(state: State, first: str, rows: Sequence[_Row]) -> str:
    names = ["all", *map(str, range(state.load.cores))]
    return "".join(_LINE.format(first, name, *row) for name, row in zip(names, rows, strict=True))
