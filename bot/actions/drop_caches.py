"""Drop the kernel's caches, so that dying cgroups can be freed: a temporary relief, not a cure.

Defined in: Linux, Documentation/admin-guide/sysctl/vm.rst (drop_caches: 1 the page cache, 2 reclaimable slab, 3 both).
No data is lost, because unwritten pages are not dropped; reads come from the disk until the cache is warm. Page cache
charged to a dying cgroup keeps it alive, or slab memory on kernels before 5.9. Which of them cannot be seen from
outside, so both are dropped.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain.action import Action, Args, Facts, Proof, RemedyRules, by_sudo
from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import Snapshot, Unread
from bot.probes.cgroups import PROBE
from bot.probes.reclaim import ReclaimReading

_LET_GO = 0.1  # a tenth fewer is more than the usual variation
_DYING = "dying"
_IO_IS_FULL = 20.0  # percent of ten seconds in which nothing could run for lack of I/O: io-stall's limit (ours)
RIGHTS = (("sysctl", "-w", "vm.drop_caches=3"),)


def commands(args: Args, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the command that drops them.

    Raises: CannotRead when everything waits for the disks already: every read would wait, too.
    """
    reclaim = snapshot.get(ReclaimReading)
    if not isinstance(reclaim, Unread) and (reclaim.io_full_avg10 or 0) >= _IO_IS_FULL:
        raise CannotRead("the disks are behind already, and without caches every read is one more")
    return by_sudo(RIGHTS)(args, snapshot)


def dying_count_commands(args: Args) -> tuple[Command, ...]:
    """Return the probe's commands that count dying cgroups, for a single look; they need no root."""
    return tuple(replace(command, looks=SampleTimes.ONCE) for command in PROBE.commands)


def facts(args: Args, outputs: Outputs) -> Facts:
    """Return how many cgroups are dying.

    Raises: CannotRead when the number is not known.
    """
    reading = PROBE.parse(outputs)
    if not reading.dying_is_known:
        raise CannotRead("how many cgroups are dying is not known")
    return {_DYING: str(reading.dying)}


def judge(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether fewer are dying than before: smaller caches for a moment prove nothing."""
    return Proof.PROVEN if int(now[_DYING]) <= int(before[_DYING]) * (1 - _LET_GO) - 1 else Proof.NOT_YET


ACTION = Action(
    name="drop_caches",
    title="Drop caches",
    verb="drop caches",
    impact="the page cache is emptied: reads are slow until it is warm again",
    note="In place of a reboot caches are dropped: that frees dying cgroups for now, often not all, and stops no leak. "
    "Until the cache is warm again, reads come from the disk.",
    commands=commands,
    looks=dying_count_commands,
    facts=facts,
    judge=judge,
    patience=lambda before: timedelta(seconds=15),
    rights=RIGHTS,
    remedy=RemedyRules(
        after_stopping="it helps only for now, and stops no leak",
        only_where="it frees dying memory cgroups",
    ),
    in_place_of="reboot",
)
