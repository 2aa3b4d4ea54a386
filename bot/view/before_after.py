"""What changed on a cured node, in plain words; the record keeps the node's own words."""

from __future__ import annotations

from bot.domain.events import Compared, Resolved
from bot.domain.safe_text import one_line
from bot.response.diagnosis.figures import AT_REST, UNREAD
from bot.view.words import Sentence

LONGEST = 120
MOST_CHANGES = 6  # on a node's card, which has to fit a phone
_VERDICT, _BOOT = "verdict", "boot"
_NAMES = {
    "dying memory cgroups": "zombie memory cgroups",
    "busiest core in the kernel": "kernel time of the busiest core",
    "network device resets": "network card resets",
}
_RUNS = {
    "active": "runs",
    "activating": "is starting",
    "reloading": "runs",
    "deactivating": "is stopping",
    "inactive": "stopped",
    "failed": "failed",
}
_STARTS = {
    "enabled": "starts at boot",
    "enabled-runtime": "starts at boot",
    "disabled": "does not start at boot",
    "masked": "cannot be started",
    "masked-runtime": "cannot be started",
    "static": "starts only when something needs it",
}


def before_and_after(resolved: Resolved) -> tuple[tuple[str, str, str], ...]:
    """Return each figure's name, its value before and after; the verdict itself is left out.

    Shape: what people ask after first comes first, and the boot last, however the record has them.

    Example:
    >>> before_and_after(Resolved("cured", (Compared("boot", "3b1c", "77aa"), Compared("ecs.service", "x", "at rest"))))
    (('ecs.service', 'x', 'not running'), ('boot', '', 'a new boot: the node was rebooted'))
    """
    order = {name: at for at, name in enumerate(_NAMES)} | {_BOOT: len(_NAMES) + 1}
    rows = sorted(resolved.compared, key=lambda row: order.get(row.name, len(_NAMES)))
    return tuple(_row(row) for row in rows if row.name != _VERDICT)


def changes(resolved: Resolved) -> tuple[tuple[str, str], ...]:
    """Return each figure's name and `before → after`, in the same order.

    Example:
    >>> changes(Resolved("cured", (Compared("dying memory cgroups", "68,440", "12"), Compared("boot", "3b1c", "77aa"))))
    (('zombie memory cgroups', '68,440 → 12'), ('boot', 'a new boot: the node was rebooted'))
    """
    return tuple((name, _change(before, after)) for name, before, after in before_and_after(resolved))


def change_words(resolved: Resolved) -> Sentence:
    """Return the same as a sentence, for screen readers; empty where nothing was measured.

    Example:
    >>> change_words(Resolved("cured", (Compared("network device resets", "3", "0"),)))
    ('network card resets: 3 → 0.',)
    """
    changed = changes(resolved)
    return (f"{'; '.join(f'{name}: {value}' for name, value in changed)}.",) if changed else ()


def unit_words(active: str, unit_file: str = "", load: str = "") -> str:
    """Return a unit's states in plain words; a state unknown here stays as systemd names it.

    Example:
    >>> unit_words("inactive", "disabled"), unit_words("activating", "enabled"), unit_words("maintenance")
    ('stopped, does not start at boot', 'is starting, starts at boot', 'maintenance')
    """
    start = "masked" if load == "masked" else unit_file
    return ", ".join(part for part in (_RUNS.get(active, active), _STARTS.get(start, start)) if part)


def _row(row: Compared) -> tuple[str, str, str]:
    name = one_line(row.name, LONGEST)
    if row.name == _BOOT:
        return name, "", _boot_words(row.before, row.after)
    before, after = (one_line(_said(row.name, value), LONGEST) for value in (row.before, row.after))
    return _NAMES.get(row.name, name), before, after


def _change(before: str, after: str) -> str:
    if not before:
        return after
    return f"{before} → {after}" if before != after else f"{before}, as before"


def _boot_words(before: str, after: str) -> str:
    """Whether the node was rebooted; the ids of its boots say nothing to people."""
    if UNREAD in (before, after):
        return "not read: it is not known whether the node was rebooted"
    return "the same boot: the node was not rebooted" if before == after else "a new boot: the node was rebooted"


def _said(name: str, value: str) -> str:
    """A unit's figure is `inactive (dead), disabled`, as `response/diagnosis/figures.py` words it."""
    if value == AT_REST:
        return "not running"
    if "." not in name or "(" not in value:
        return value
    active, _, rest = value.partition(" (")
    return unit_words(active, rest.partition("), ")[2])
