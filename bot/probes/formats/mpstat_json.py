"""The document that `mpstat -P ALL -o JSON 1 N` prints since sysstat 11.5.1.

Defined in: sysstat, mpstat(1) and json_stats.c; its clock depends on the locale, its decimals do not since 11.5.2.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from bot.domain.errors import CannotRead
from bot.domain.safe_text import one_line, safe
from bot.probes.formats.core_second import CoreSecond, core_second, sample_seconds

_ALL = ("all", "-1")  # the row of averages over cores; "-1" before 12.0.4
_NEEDED = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "idle")
_LATER = ("guest", "gnice")  # absent on old kernels and sysstats
_ALL_KEYS = (*_NEEDED, *_LATER)
_NEEDED_KEYS = frozenset(_NEEDED)
_FIGURES = frozenset({int, float})  # exact types, because True is an int
_STATISTICS = re.compile(r'"statistics"\s*:\s*\[')


def mpstat_json(text: str, took_seconds: float | None) -> tuple[tuple[CoreSecond, ...], ...]:
    """Return the samples, oldest first.

    Shape: if the document ends too early (mpstat was terminated), the complete samples are returned. A single sample
    may be the average since boot, which looks the same: it counts only if mpstat ran long enough.

    Raises: CannotRead when there is no sample, or a figure is wrong.
    """
    samples = _samples(text)
    if not samples:
        raise CannotRead("cpu: mpstat printed no sample")
    if len(samples) == 1 and (took_seconds is None or took_seconds < 0.9):
        raise CannotRead("cpu: mpstat printed a single sample, which may be its average since boot")
    clocks = [sample.get("timestamp") for sample in samples]
    span = sample_seconds([clock if isinstance(clock, str) else "" for clock in clocks])
    lines = [line.strip().rstrip(",") for line in text.split("\n")]
    rows = iter([line for line in lines if line.startswith('{"cpu":') and '"usr":' in line])
    read = tuple(_sample(sample, rows, span) for sample in samples)
    if not any(read):
        raise CannotRead("cpu: mpstat printed no row for a single core")
    return read


def _samples(text: str) -> list[dict[str, Any]]:
    try:
        document = json.loads(text)
        hosts = document["sysstat"]["hosts"]
        samples = hosts[0]["statistics"]
    except json.JSONDecodeError as broken:
        samples = _whole_samples(text, broken)
    except (ValueError, RecursionError, LookupError, TypeError) as error:
        raise CannotRead("cpu: mpstat's JSON is not a report of mpstat") from error
    else:
        if len(hosts) != 1:
            raise CannotRead("cpu: mpstat's JSON has several hosts")
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
        raise CannotRead("cpu: mpstat's JSON holds no list of samples")
    return samples


def _whole_samples(text: str, broken: json.JSONDecodeError) -> list[dict[str, Any]]:
    """Return the samples before the place where the document stops; other malformed text is refused."""
    start = _STATISTICS.search(text)
    if start is None or "\n" in text[broken.pos :].strip():
        raise CannotRead(f"cpu: mpstat's JSON cannot be read ({one_line(str(broken), 80)})") from broken
    samples: list[dict[str, Any]] = []
    decoder = json.JSONDecoder()
    at = start.end()
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        try:
            sample, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        samples.append(sample)
    if not samples:
        raise CannotRead("cpu: mpstat's JSON was cut short before its first sample was complete")
    return samples


def _sample(sample: dict[str, Any], rows: Any, span: float) -> tuple[CoreSecond, ...]:
    load = sample.get("cpu-load")
    if not isinstance(load, list):
        raise CannotRead("cpu: a sample in mpstat's JSON has no cpu-load")
    cores: dict[int, CoreSecond | None] = {}
    for row in load:
        name = row.get("cpu") if isinstance(row, dict) else None
        raw = next(rows, "")
        if name in _ALL:
            continue
        if not isinstance(name, str) or not _is_number(name) or (core := int(name)) in cores:
            raise CannotRead("cpu: mpstat's JSON names an impossible core")
        if f'"{name}"' not in raw:  # not printed with each core on its own line
            raw = safe(json.dumps(row))
        cores[core] = core_second(core, _shares(row), raw, span)
    return tuple(core for _, core in sorted(cores.items()) if core is not None)


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) <= 5


def _shares(row: dict[str, Any]) -> dict[str, float]:
    """Return a row's figures by name; checked together, because a large node has thousands."""
    shares = {key: row[key] for key in _ALL_KEYS if key in row}
    figures, kinds = shares.values(), set(map(type, shares.values()))
    usable = shares.keys() >= _NEEDED_KEYS and kinds <= _FIGURES
    if not (usable and min(figures) > -1e6 and max(figures) < 1e6 and not math.isnan(sum(figures))):
        raise CannotRead(f"cpu: mpstat's JSON has no figure for {_wrong(shares)}")
    return shares if kinds == {float} else {key: float(figure) for key, figure in shares.items()}


def _wrong(shares: dict[str, Any]) -> str:
    """Return the first name without a figure."""
    wrong = (key for key in (*_NEEDED, *shares) if type(shares.get(key)) not in _FIGURES or not abs(shares[key]) < 1e6)
    return next(wrong, "a core")
