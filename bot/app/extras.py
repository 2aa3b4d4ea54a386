"""Which extras take part: those of this program that are not off, and packages beside it that are on."""

from __future__ import annotations

import contextlib
import importlib
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.domain.claim import Doubts
from bot.domain.errors import CannotTell, SettingsError
from bot.domain.nearest import did_you_mean
from bot.domain.safe_text import one_line
from bot.extras import EXTRAS
from bot.seats import Extra, Named, loaded

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from bot.settings.tables import ExtrasSettings

GROUP = "zombie.extras"  # of entry points: packages that are installed beside this one
RULES = ("zombie.probes", "zombie.causes")  # the same, of what takes part in each verdict
_MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ExtrasInForce:
    """The extras that take part.

    Shape: `left_out` says of each other one why it does not; `off` and `wanted` are the names in the settings, and
    `chosen` those that are left out by them, with what needs them. `absent` are the tables of zombie.toml that are not
    there with it, each with the extra that has it.
    """

    on: tuple[Extra, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    off: frozenset[str] = frozenset()
    wanted: frozenset[str] = frozenset()
    chosen: frozenset[str] = frozenset()
    absent: Mapping[str, str] = field(default_factory=dict)

    @property
    def serving(self) -> tuple[Extra, ...]:
        """Those that are on, and one that holds every step for each that was wanted and could not be loaded."""
        lost = self.left_out.keys() & self.wanted - self.chosen
        return (
            *self.on,
            *(
                Extra(name, "what is not known", holds=f"{__name__}:{hold_every_step.__name__}")
                for name in sorted(lost)
            ),
        )

    @property
    def settings(self) -> Mapping[str, type[Any]]:
        """Every table of zombie.toml that a source, a surface or an extra has."""
        from bot.surfaces import member_settings

        return {**member_settings(), **{name: kind for extra in self.on for name, kind in extra.settings.items()}}

    @property
    def commands(self) -> Mapping[str, str]:
        """The module of each of their commands, by its words."""
        return {words: module for extra in self.on for words, module in extra.commands.items()}

    def check_settings(self, said: ExtrasSettings, config: Path | None) -> None:
        """Hold them to the settings, which are loaded later.

        Raises: SettingsError where `[extras]` names an extra that nobody has, or was looked for in another file.
        """
        if (said.off, said.on) != (self.off, self.wanted):
            raise SettingsError(
                f"[extras] of {config} was not heeded: what holds it was not found in time.",
                "Name a file, whole: --config FILE, or ZOMBIE_CONFIG=FILE. It cannot stand in a pipe.",
            )
        known = {*(extra.name for extra in self.on), *self.left_out}
        if nobody := sorted(said.off - known):
            name = one_line(nobody[0], 60)
            raise SettingsError(f"[extras] off in {config} names “{name}”.", did_you_mean(name, sorted(known)))


def extras_in_force(argv: Sequence[str], environment: Mapping[str, str], folder: Path) -> ExtrasInForce:
    """Return the extras by `[extras]` of the settings' file, of which all else is read later, with its faults."""
    said = _extras_table(_config(argv, environment, folder))
    off, wanted = _texts_of(said.get("off")), _texts_of(said.get("on"))
    chosen = off
    found, left_out, absent = dict[str, Extra](), dict[str, str](), dict[str, str]()
    for name, door in _available_doors(wanted):
        try:
            extra = _loaded_extra(name, door, found)
        except (Exception, SystemExit) as no:  # noqa: BLE001 - whatever is wrong with an extra, the program runs without it
            left_out[name] = load_failure_words(no)
            continue
        if name in off:
            left_out[name] = "[extras] off leaves it out"
            absent |= dict.fromkeys(extra.settings, name)
        else:
            found[name] = extra
    for name in wanted - found.keys() - left_out.keys() - set(_plugin_rule_names(wanted)):
        left_out[name] = "no package that is installed here has it"
    while lacking := [extra for extra in found.values() if not found.keys() >= set(extra.needs)]:
        for extra in lacking:
            del found[extra.name]
            left_out[extra.name] = f"it needs {', '.join(extra.needs)}"
            chosen |= {extra.name} if chosen & set(extra.needs) else set()
            absent |= dict.fromkeys(extra.settings, extra.name)
    return ExtrasInForce(tuple(found.values()), left_out, off, wanted, chosen, absent)


def shipped() -> ExtrasInForce:
    """Return the extras of this program, with none of them off."""
    return extras_in_force((), {}, Path(os.devnull))


def installed_names() -> tuple[str, ...]:
    """Return the names of what packages that are installed beside this one bring, on or not."""
    from importlib.metadata import entry_points

    return tuple(sorted({point.name for group in (GROUP, *RULES) for point in entry_points(group=group)}))


def load_failure_words(no: BaseException) -> str:
    """Say why an extra, or what a seat of it names, is left out."""
    return one_line(f"it cannot be loaded: {type(no).__name__}: {no}", 300)


def step_blockers(extras: Sequence[Extra]) -> dict[str, Callable[..., object]]:
    """Return what may hold a step, by the extra's name; one that cannot be loaded holds every step."""
    return {extra.name: _holder(extra.name, extra.holds) for extra in extras if extra.holds}


def _holder(name: str, holds: Named) -> Callable[..., object]:
    try:
        found: Callable[..., object] = loaded(holds)
    except Exception as no:  # noqa: BLE001 - whatever is wrong with an extra: what it would hold is not known
        because = load_failure_words(no)

        def nothing_begins(*_: object) -> None:
            raise CannotTell(f"The extra {name} may hold this step: {because}", f'[extras] off = ["{name}"]')

        return nothing_begins
    return found


def cause_doubters(extras: Sequence[Extra]) -> list[Callable[..., Doubts]]:
    """Return what may doubt a cause, for one open record; one that cannot be loaded doubts every cause."""
    return [_doubter(extra.name, extra.doubts) for extra in extras if extra.doubts]


def _doubter(name: str, doubts: Named) -> Callable[..., Doubts]:
    try:
        found: Callable[..., Doubts] = loaded(doubts)()
    except Exception as no:  # noqa: BLE001 - whatever is wrong with an extra: what it would doubt is not known
        because = (
            f"Whether its cause is in doubt is for the extra {name} to say, which does not: {load_failure_words(no)}"
        )
        return lambda _: lambda __, ___: because
    return found


def hold_every_step(*_: object) -> None:
    """Hold a step, in place of an extra that could not be loaded: nobody knows what that would hold."""
    raise CannotTell(
        "An extra that [extras] on names may hold this step, and could not be loaded.", "zombie doctor names it."
    )


def seat_values(extras: Sequence[Extra], seat: str) -> dict[str, Any]:
    """Return what the extras name in a seat, by the extra's name; one that cannot be loaded is left out."""
    found = {}
    for extra in extras:
        if named := getattr(extra, seat):
            with contextlib.suppress(Exception):  # whatever is wrong with an extra, the command goes on without it
                found[extra.name] = loaded(named)
    return found


def rights_of(extras: Sequence[Extra]) -> tuple[tuple[str, ...], ...]:
    """Return the argument lists that the extras run as root on nodes."""
    return tuple(argv for rights in seat_values(extras, "rights").values() for argv in rights())


def _plugin_rule_names(wanted: frozenset[str]) -> Iterator[str]:
    """Yield the names of probes and causes that packages bring; what `plugins.py` loads is left out there."""
    if wanted:
        from importlib.metadata import entry_points

        yield from (point.name for group in RULES for point in entry_points(group=group))


def _available_doors(wanted: frozenset[str]) -> Iterator[tuple[str, str | EntryPoint]]:
    for module in EXTRAS:
        yield module.rpartition(".")[2], module
    if wanted:  # to look for packages takes longer than a small command
        from importlib.metadata import entry_points

        yield from ((point.name, point) for point in entry_points(group=GROUP) if point.name in wanted)


def _loaded_extra(name: str, door: str | EntryPoint, found: Mapping[str, Extra]) -> Extra:
    """Load a door, and hold what it says to `bot/seats.py`; whatever it raises says what is wrong."""
    if isinstance(door, str):
        ours: Extra = importlib.import_module(door).EXTRA
        return ours
    from bot.settings import table_names

    extra = door.load()
    if not isinstance(extra, Extra) or extra.name != name or name in found:
        raise TypeError(f"its door is no Extra of the name {name}, or there is another")
    texts = [getattr(extra, each.name) for each in fields(extra) if isinstance(each.default, str)]
    texts += [*extra.needs, *extra.buttons, *extra.commands, *extra.commands.values(), *extra.settings]
    if not all(isinstance(text, str) for text in texts) or not all(map(str.split, extra.commands)):
        raise TypeError("a seat of its door holds something else than bot/seats.py says")
    taken = {*table_names(), *(table for other in found.values() for table in other.settings)}
    if not all(map(is_dataclass, extra.settings.values())) or taken & extra.settings.keys():
        raise TypeError("its tables are no dataclasses of settings, or have names that are taken")
    return extra


def _config(argv: Sequence[str], environment: Mapping[str, str], folder: Path) -> Path:
    """The settings' file, found as the settings find it: the last flag, the environment, the current folder."""
    text = environment.get("ZOMBIE_CONFIG", "").strip() or "zombie.toml"
    for at, word in enumerate(argv):
        if word == "--config" and at + 1 < len(argv):
            text = argv[at + 1]
        elif word.startswith("--config="):
            text = word.partition("=")[2]
    home = environment.get("HOME", "")
    return Path(home) / text[2:] if home and text.startswith("~/") else folder / text


def _extras_table(path: Path) -> Mapping[str, Any]:
    """What `[extras]` says in a file; nothing where it cannot be read, which the settings report, nor of a pipe."""
    try:
        if not path.is_file():
            return {}
        said = tomllib.loads(path.read_bytes()[:_MOST_BYTES].decode("utf-8-sig")).get("extras", {})
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _texts_of(value: Any) -> frozenset[str]:
    return frozenset(name for name in value if isinstance(name, str)) if isinstance(value, list) else frozenset()
