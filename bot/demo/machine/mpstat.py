"""mpstat on a simulated node, in the format of its sysstat version.

Defined in: sysstat, mpstat.c; JSON since 11.5.1, the aggregate row named "all" there since 12.1.4.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from bot.demo.machine.command import Answer
from bot.demo.machine.state import Moment, State

_JSON_SINCE = (11, 5, 1)
_JSON_NAMES = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle")
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


def render(state: State, began: Moment, seconds: int, json: bool) -> str:
    """Return mpstat's output after sampling for `seconds`."""
    instants = [began.uptime + second for second in range(seconds + 1)]
    looks = [[state.load.ticks(core, uptime) for core in range(state.load.cores)] for uptime in instants]
    samples = [_rows(before, after) for before, after in itertools.pairwise(looks)]
    stamps = [began.wall(uptime).strftime("%H:%M:%S") for uptime in instants]
    return _json(state, began, samples, stamps[1:]) if json else _text(state, began, samples, looks, stamps)


def _rows(before: Sequence[tuple[int, ...]], after: Sequence[tuple[int, ...]]) -> list[_Row]:
    """The aggregate and then each core: usr nice sys iowait irq soft steal guest gnice idle, in percent."""
    cores = [[max(0, new - old) for old, new in zip(*pair, strict=True)] for pair in zip(before, after, strict=True)]
    total = [sum(column) for column in zip(*cores, strict=True)]
    return [_percent(ticks) for ticks in (total, *cores)]


def _percent(ticks: Sequence[int]) -> _Row:
    whole = sum(ticks) or 1
    shares = [100 * tick / whole for tick in ticks]
    return (*shares[:7], 0.0, 0.0, shares[7])


def _json(state: State, began: Moment, samples: Sequence[list[_Row]], stamps: Sequence[str]) -> str:
    aggregate = "all" if version(state.system.sysstat) >= (12, 0, 4) else "-1"
    names = [aggregate, *map(str, range(state.load.cores))]
    shape = "\t\t\t\t\t\t" + "{{" + '"cpu": "{}", ' + ", ".join(f'"{name}": {{:.2f}}' for name in _JSON_NAMES) + "}}"
    blocks = []
    for rows, stamp in zip(samples, stamps, strict=True):
        lines = ",\n".join(shape.format(name, *row) for name, row in zip(names, rows, strict=True))
        blocks.append(
            f'\t\t\t\t{{\n\t\t\t\t\t"timestamp": "{stamp}",\n\t\t\t\t\t"cpu-load": [\n{lines}\n\t\t\t\t\t]\n\t\t\t\t}}'
        )
    return (
        '{"sysstat": {\n\t"hosts": [\n\t\t{\n'
        f'\t\t\t"nodename": "{state.name}",\n\t\t\t"sysname": "Linux",\n'
        f'\t\t\t"release": "{state.system.kernel}",\n\t\t\t"machine": "x86_64",\n'
        f'\t\t\t"number-of-cpus": {state.load.cores},\n\t\t\t"date": "{began.at:%m/%d/%y}",\n'
        '\t\t\t"statistics": [\n' + ",\n".join(blocks) + "\n\t\t\t]\n\t\t}\n\t]\n}}\n"
    )


def _text(
    state: State,
    began: Moment,
    samples: Sequence[list[_Row]],
    looks: Sequence[Sequence[tuple[int, ...]]],
    stamps: Sequence[str],
) -> str:
    names = ["all", *map(str, range(state.load.cores))]
    heads = "  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
    line: Callable[..., str] = ("{:<11} {:>4} " + " ".join(["{:>7.2f}"] * 10) + "\n").format
    text = f"Linux {state.system.kernel} ({state.name}) \t{began.at:%m/%d/%y} \t_x86_64_\t({state.load.cores} CPU)\n"
    for number, rows in enumerate(samples):
        text += f"\n{stamps[number]:<11}{heads}"
        text += "".join(line(stamps[number + 1], name, *row) for name, row in zip(names, rows, strict=True))
    text += f"\n{'Average:':<11}{heads}"
    text += "".join(line("Average:", name, *row) for name, row in zip(names, _rows(looks[0], looks[-1]), strict=True))
    return text
