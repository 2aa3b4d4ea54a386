"""Probes and causes of packages that are installed beside this program; `[extras] on` lets each into it by its name.

Shape: entry points of the groups `zombie.probes` and `zombie.causes`, each naming a `Probe` or a `Cause` of its own
name. One with a mistake is left out, and what stands for it among the causes says so, with file and line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bot.actions import ACTIONS
from bot.app.extras import RULES
from bot.causes import CAUSES
from bot.domain.cause import Cause, left_out
from bot.domain.errors import PlaybookError
from bot.domain.nearest import did_you_mean
from bot.domain.probe import Probe
from bot.domain.problems import python_fault_words
from bot.library.remedies import remedy_fault
from bot.probes import PROBES

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T", Probe, Cause)


@dataclass(slots=True)
class _Wanted:
    names: frozenset[str] = field(default_factory=frozenset)


_WANTED = _Wanted()


def enable_plugins(names: Iterable[str]) -> None:
    """Let the packages of these names in, from the next library on; a process that helps is told by its arguments."""
    _WANTED.names = frozenset(names)


def enabled_plugins() -> tuple[str, ...]:
    """Return the names that are let in."""
    return tuple(sorted(_WANTED.names))


def probes_and_causes() -> tuple[Mapping[str, Probe], Mapping[str, Cause]]:
    """Return the probes and causes that are let in, by their names."""
    return _rules(_WANTED.names)


@cache
def _rules(names: frozenset[str]) -> tuple[Mapping[str, Probe], Mapping[str, Cause]]:
    probes: dict[str, Probe] = {}
    causes: dict[str, Cause] = {}
    if not names:
        return probes, causes
    of_probes, of_causes = ([point for point in _points(group) if point.name in names] for group in RULES)
    for point in of_probes:
        try:
            probe = _loaded_rule(point, Probe, PROBES | probes)
            probes[point.name] = replace(probe, definition=probe.definition or _definition(point))
        except Exception as no:  # noqa: BLE001 - whatever is wrong with it, the rest is asked
            causes[f"probe {point.name}"] = left_out(f"probe {point.name}", _failure_words(no))
    for point in of_causes:
        try:
            cause = _loaded_rule(point, Cause, CAUSES | causes)
            for fault in _faults(cause, PROBES | probes):
                raise PlaybookError(f"{_place_made(point)}: {fault}")
            causes[point.name] = replace(cause, definition=cause.definition or _definition(point))
        except Exception as no:  # noqa: BLE001 - whatever is wrong with it, the rest is judged
            name = f"cause {point.name}" if point.name in CAUSES else point.name
            causes[name] = left_out(name, _failure_words(no))
    return probes, causes


def _loaded_rule(point: EntryPoint, kind: type[T], taken: Mapping[str, object]) -> T:
    """Load it, and hold it to what its name says; whatever it raises says what is wrong."""
    if point.name in taken:
        raise PlaybookError(f"{point.value}: there is a {point.name}, and none is replaced; choose another name")
    found = point.load()
    if not isinstance(found, kind) or found.name != point.name:
        raise PlaybookError(f"{_place_made(point)}: {point.attr} is no {kind.__name__} of the name {point.name}")
    return found


def _faults(cause: Cause, probes: Mapping[str, Probe]) -> Iterator[str]:
    """Yield what would be a fault of every playbook that takes it."""
    for probe in cause.probes:
        if probe not in probes:
            yield f"{cause.name} needs the probe {probe}, which nobody has. {did_you_mean(probe, probes)}"
    thresholds: object = cause.thresholds  # nobody has checked the types of their package
    if not isinstance(thresholds, Mapping):
        yield f"thresholds of {cause.name} have no values; write each as name: Threshold(value, reason)"
    if fault := remedy_fault(cause, cause.remedy, ACTIONS, CAUSES):
        yield f"remedy of {cause.name}: {fault}"
    if "\n" in cause.lasting_fix:
        yield f"lasting_fix of {cause.name} should be one line"


def _failure_words(no: Exception) -> str:
    return str(no) if isinstance(no, PlaybookError) else python_fault_words(no)


def _place_made(point: EntryPoint) -> str:
    """Return the file, and the line where it is made."""
    file = Path(sys.modules[point.module].__file__ or point.module)
    lines = file.read_text("utf-8", "replace").splitlines() if file.is_file() else []
    made = re.compile(rf"{re.escape(point.attr)}\s*[:=]")
    return f"{file}:{next((number for number, line in enumerate(lines, 1) if made.match(line)), 1)}"


def _definition(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value


def _points(group: str) -> list[EntryPoint]:
    from importlib.metadata import entry_points  # to look for packages takes longer than a small command

    return [*entry_points(group=group)]
