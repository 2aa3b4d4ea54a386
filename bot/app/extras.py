"""Which extras take part: those of this program that are not off, and packages beside it that are on."""

from __future__ import annotations

import contextlib
import importlib
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.domain.errors import CannotTell
from bot.domain.safe_text import one_line
from bot.extras import EXTRAS
from bot.seats import Extra, Named, loaded

GROUP = "zombie.extras"  # of entry points: packages that are installed beside this one
_MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ExtrasInForce:
    """The extras that take part.

    Shape: `left_out` says of each other one why it does not; `off` are the names in the settings. `absent` are the
    tables of zombie.toml that are not there with it, each with the extra that has it.
    """

    on: tuple[Extra, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    off: frozenset[str] = frozenset()
    absent: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> Mapping[str, type[Any]]:
        """Every table of zombie.toml that a source, a surface or an extra has."""
        from bot.surfaces import member_settings

        return {**member_settings(), **{name: kind for extra in self.on for name, kind in extra.settings.items()}}

    @property
    def commands(self) -> Mapping[str, str]:
        """The module of each of their commands, by its words."""
        return {words: module for extra in self.on for words, module in extra.commands.items()}


def extras_in_force(argv: Sequence[str], environment: Mapping[str, str], folder: Path) -> ExtrasInForce:
    """Return the extras by `[extras]` of the settings' file, of which all else is read later, with its faults."""
    said = _said(_config(argv, environment, folder))
    off, wanted = _names(said.get("off")), _names(said.get("on"))
    found, left_out, absent = list[Extra](), dict[str, str](), dict[str, str]()
    for name, door in _doors(wanted):
        try:
            extra = door.load() if hasattr(door, "load") else importlib.import_module(str(door)).EXTRA
            if not isinstance(extra, Extra):
                raise TypeError("its door is no Extra")
        except Exception as no:  # noqa: BLE001 - whatever is wrong with an extra, the program runs without it
            left_out[name] = one_line(f"it cannot be loaded: {type(no).__name__}: {no}", 300)
            continue
        if name in off:
            left_out[name] = "[extras] off leaves it out"
            absent |= dict.fromkeys(extra.settings, name)
        else:
            found.append(extra)
    for name in wanted - {extra.name for extra in found} - left_out.keys():
        left_out[name] = "no package that is installed here has it"
    while lacking := [extra for extra in found if not set(extra.needs) <= {each.name for each in found}]:
        for extra in lacking:
            found.remove(extra)
            left_out[extra.name] = f"it needs {', '.join(extra.needs)}"
            absent |= dict.fromkeys(extra.settings, extra.name)
    return ExtrasInForce(tuple(found), left_out, off, absent)


def shipped() -> ExtrasInForce:
    """Return the extras of this program, with none of them off."""
    return extras_in_force((), {}, Path(os.devnull))


def beside() -> tuple[str, ...]:
    """Return the names of the extras of packages that are installed beside this one, on or not."""
    from importlib.metadata import entry_points

    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


def holders_of(extras: Sequence[Extra]) -> dict[str, Callable[..., object]]:
    """Return what may hold a step, by the extra's name; one that cannot be loaded holds every step."""
    return {extra.name: _holder(extra.name, extra.holds) for extra in extras if extra.holds}


def _holder(name: str, holds: Named) -> Callable[..., object]:
    try:
        found: Callable[..., object] = loaded(holds)
    except Exception as no:  # noqa: BLE001 - whatever is wrong with an extra: what it would hold is not known
        because = one_line(f"{type(no).__name__}: {no}", 300)

        def nothing_begins(*_: object) -> None:
            raise CannotTell(
                f"The extra {name} may hold this step, and cannot be loaded: {because}", f'[extras] off = ["{name}"]'
            )

        return nothing_begins
    return found


def followers_of(extras: Sequence[Extra]) -> dict[str, Any]:
    """Return what follows the extras' own streams in an audit, by the extra's name."""
    found = {}
    for extra in extras:
        if extra.follows:
            with contextlib.suppress(Exception):  # whatever is wrong with an extra, the audit goes on without it
                found[extra.name] = loaded(extra.follows)
    return found


def _doors(wanted: frozenset[str]) -> Iterator[tuple[str, Any]]:
    for module in EXTRAS:
        yield module.rpartition(".")[2], module
    if wanted:  # to look for packages takes longer than a small command
        from importlib.metadata import entry_points

        yield from ((point.name, point) for point in entry_points(group=GROUP) if point.name in wanted)


def _config(argv: Sequence[str], environment: Mapping[str, str], folder: Path) -> Path:
    for at, word in enumerate(argv):
        if word == "--config" and at + 1 < len(argv):
            return folder / argv[at + 1]
        if word.startswith("--config="):
            return folder / word.partition("=")[2]
    return folder / (environment.get("ZOMBIE_CONFIG", "").strip() or "zombie.toml")


def _said(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            said = tomllib.loads(file.read(_MOST_BYTES).decode()).get("extras", {})
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _names(value: Any) -> frozenset[str]:
    return frozenset(name for name in value if isinstance(name, str)) if isinstance(value, list) else frozenset()
