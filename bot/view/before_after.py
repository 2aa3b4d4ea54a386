"""What changed on a cured node, in plain words; the record keeps the node's own words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TypeAlias

from bot.domain.duration import span_words
from bot.domain.events import Compared
from bot.domain.safe_text import one_line
from bot.response.diagnosis.figures import AT_REST, PAUSE, UNREAD, UPTIME
from bot.response.execution.watched_growth import WatchedGrowth
from bot.view.words import Sentence

LONGEST = 120
MOST_CHANGES = 6  # on a node's card, which has to fit a phone
SINCE = " since the reboot"
_VERDICT, _BOOT, _RESETS = "verdict", "boot", "network device resets"
_NEW_BOOT = "the node was rebooted"
_NAMES = {
    "dying memory cgroups": "dying memory cgroups",
    "busiest core in the kernel": "kernel time, busiest core",
    _RESETS: "network card resets",
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
    "masked-runtime": "cannot be started before the next boot",
    "static": "starts only when something needs it",
}


FigureRow: TypeAlias = tuple[str, str, str]  # a figure's name, its value before and after


def before_and_after(compared: Sequence[Compared], watched: timedelta = timedelta(0)) -> tuple[FigureRow, ...]:
    """Return each figure's name, its value before and after; the verdict itself is left out.

    Shape: what people ask after first comes first, and the boot last, however the record has them. `watched` is for how
    long the node was watched: what is counted from its boot on says so. It proves nothing before it was longer than the
    longest time without a reset before.

    Example:
    >>> before_and_after((Compared("boot", "3b1c", "77aa"), Compared("ecs.service", "x", "at rest")))
    (('ecs.service', 'x', 'not running'), ('boot', '', 'the node was rebooted'))
    """
    order = {name: at for at, name in enumerate(_NAMES)} | {_BOOT: len(_NAMES) + 1}
    rows = sorted(compared, key=lambda row: order.get(row.name, len(_NAMES)))
    boots = next((_boot_words(row.before, row.after) for row in rows if row.name == _BOOT), "")
    paused = next((row.before.removesuffix(" s") for row in rows if row.name == PAUSE), "")
    pause = timedelta(seconds=int(paused)) if paused.isdecimal() else watched
    lasted = f", {span_words(watched)}" if watched else ""
    quiet = f"; not yet proof, {span_words(watched)} of {span_words(pause)} watched" if watched < pause else lasted
    since = (f"none{SINCE}{quiet}", f"{SINCE}{lasted}") if boots == _NEW_BOOT else ()
    return tuple(_figure_row(row, boots, since) for row in rows if row.name not in (_VERDICT, PAUSE, UPTIME))


def missing_proof(
    compared: Sequence[Compared], watched: timedelta, growth: WatchedGrowth | None = None
) -> tuple[str, timedelta | None]:
    """Return what a cure's figures do not prove yet, and how long the node has to be watched for it, if that is known.

    Example:
    >>> rows = (Compared(_RESETS, "20", "0"), Compared(PAUSE, "5460 s", ""), Compared("boot", "3b1c", "77aa"))
    >>> missing_proof(rows, timedelta(seconds=20))
    ('network card resets: none in 20 s, proof needs 1 h 31 min', datetime.timedelta(seconds=5460))
    >>> missing_proof(rows, timedelta(hours=2))
    ('', None)
    """
    resets, lacks = _missing_of_resets(compared, watched)
    if growth is None or not growth.lacks_proof:
        return resets, lacks
    needs = growth.proof_needs
    grown = f"{growth.grows.what}: {growth.more:,.0f} more in {span_words(growth.watched)}"
    grown = f"{grown}, proof needs {span_words(needs)}" if needs is not None else grown
    return "; ".join(filter(None, (resets, grown))), max((each for each in (needs, lacks) if each), default=None)


def _missing_of_resets(compared: Sequence[Compared], watched: timedelta) -> tuple[str, timedelta | None]:
    rows = {row.name: row for row in compared}
    resets, pause = rows.get(_RESETS), rows[PAUSE].before.removesuffix(" s") if PAUSE in rows else ""
    if resets is None or resets.before in ("0", UNREAD):
        return "", None
    name, needs = _NAMES[_RESETS], timedelta(seconds=int(pause)) if pause.isdecimal() else None
    boot = rows.get(_BOOT)
    is_new = boot is not None and _boot_words(boot.before, boot.after) == _NEW_BOOT
    if resets.after == UNREAD:
        return f"{name}: not read", None
    if resets.after != ("0" if is_new else resets.before):
        return f"{name}: {resets.after}{SINCE}" if is_new else f"{name}: {resets.before} → {resets.after}", None
    if needs is None or watched >= needs:
        return "", None
    return f"{name}: none in {span_words(watched)}, proof needs {span_words(needs)}", needs


def changes(rows: Sequence[FigureRow]) -> tuple[tuple[str, str], ...]:
    """Return each figure's name and `before → after`, in the same order.

    Example:
    >>> changes([("dying memory cgroups", "68,440", "12"), ("network card resets", "20", "none since the reboot")])[1:]
    (('network card resets', 'none since the reboot (20 in the whole boot before)'),)
    """
    return tuple((name, _change_words(before, after)) for name, before, after in rows)


def change_words(rows: Sequence[FigureRow]) -> Sentence:
    """Return the same as a sentence, for screen readers; empty where nothing was measured.

    Example:
    >>> change_words([("dying memory cgroups", "68,440", "12"), ("boot", "", "a new boot")])
    ('dying memory cgroups: 68,440 → 12; boot: a new boot.',)
    """
    changed = changes(rows)
    return (f"{'; '.join(f'{name}: {value}' for name, value in changed)}.",) if changed else ()


def unit_words(active: str, unit_file: str = "", load: str = "") -> str:
    """Return a unit's states in plain words; a state unknown here stays as systemd names it.

    Example:
    >>> unit_words("inactive", "disabled"), unit_words("activating", "enabled"), unit_words("maintenance")
    ('stopped, does not start at boot', 'is starting, starts at boot', 'maintenance')
    >>> unit_words("inactive", "masked-runtime", "masked"), unit_words("inactive", "bad", "masked")
    ('stopped, cannot be started before the next boot', 'stopped, cannot be started')
    """
    start = "masked" if load == "masked" and unit_file != "masked-runtime" else unit_file
    return ", ".join(part for part in (_RUNS.get(active, active), _STARTS.get(start, start)) if part)


def _figure_row(row: Compared, boots: str, since: Sequence[str]) -> FigureRow:
    name = one_line(row.name, LONGEST)
    if row.name == _BOOT:
        return name, "", boots
    before, after = (one_line(_value_words(row.name, value), LONGEST) for value in (row.before, row.after))
    if row.name == _RESETS and since and after != UNREAD:  # they are counted from the boot on, so that none was cured
        none, some = since
        after = none if after == "0" else f"{after}{some}"
    return _NAMES.get(row.name, name), before, after


def _change_words(before: str, after: str) -> str:
    if not before:
        return after
    if SINCE in after:
        return f"{after} ({before if before != '0' else 'none'} in the whole boot before)"
    return f"{before} → {after}" if before != after else f"{before}, as before"


def _boot_words(before: str, after: str) -> str:
    """Whether the node was rebooted; the ids of its boots say nothing to people."""
    if UNREAD in (before, after):
        return "not read: it is not known whether the node was rebooted"
    return "the same boot: the node was not rebooted" if before == after else _NEW_BOOT


def _value_words(name: str, value: str) -> str:
    """A unit's figure is `inactive (dead), disabled`, as `response/diagnosis/figures.py` words it."""
    if value == AT_REST:
        return "not running"
    if "." not in name or "(" not in value:
        return value
    active, _, rest = value.partition(" (")
    return unit_words(active, rest.partition("), ")[2])
