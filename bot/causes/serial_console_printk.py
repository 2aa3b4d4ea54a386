"""The kernel wrote so much to a slow serial console that the network card was not served, and was reset.

Confirms: nothing alone; likely where a reset and an out-of-memory dump, or a burst of other messages, lie within two
minutes of each other and the kernel prints such messages to a serial console.
Refutes: no serial console; a console level that keeps warnings off it; resets without such messages near them.
Remedy: none planned: the same dump does it again after a reboot. Lower the console's level, or dump less.
"""

from __future__ import annotations

from datetime import timedelta

from bot.causes import _recent
from bot.causes._figures import count, sentence, span
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.formats.kernel_line import KernelEvent, KernelEventKind
from bot.probes.host import HostReading
from bot.probes.kernel_log import KernelLogReading

NAME = "serial-console-printk"
_RESETS = (KernelEventKind.NIC_RESET, KernelEventKind.NIC_RESET_FAILED)
_OF_THE_CARD = ("nic-", "netdev-")


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether resets and bursts of messages come together on a node with a serial console."""
    host, log = snapshot.get(HostReading), snapshot.get(KernelLogReading)
    if isinstance(log, Unread):
        return Undecided(NAME, f"the kernel log was not read ({log.reason})")
    resets = _recent.recent(snapshot, log.of(*_RESETS), tuning["recent_hours"])
    if not resets:
        return RuledOut(NAME, "the network card was not reset within the last day")
    told = [(reset, near) for reset in resets if (near := _near(reset, log.events, tuning))]
    if not told:
        return RuledOut(NAME, "no reset lies near an out-of-memory dump or a burst of other messages")
    if isinstance(host, Unread):
        return Undecided(NAME, f"the consoles were not read ({host.reason})")
    if not host.consoles:
        return Undecided(NAME, "the node does not tell its consoles", would_decide="/proc/consoles")
    if not host.serial_consoles:
        return RuledOut(NAME, f"no serial console: the kernel prints to {', '.join(host.consoles)}")
    level = host.console_level
    if level is not None and level < tuning["console_level"]:
        return RuledOut(NAME, f"the console's level {level} keeps warnings off {host.serial_consoles[0]}")
    reset, near = told[-1]
    apart = span(min(_apart(reset, event) for event in near))
    says = f"{count(len(told), 'reset')} within {apart} of {_what(near)}"
    where = f"the kernel prints to the serial console {', '.join(host.serial_consoles)}"
    row = (f"console_loglevel {level}",) if level is not None else ()
    return Finding(
        cause=NAME,
        status=Status.DEGRADED,
        confidence=Confidence.LIKELY,
        summary=sentence(says, where),
        evidence=(
            Evidence("reset-beside-messages", "kernel_log", says, (*_recent.lines(near, 2), reset.text)),
            Evidence("serial-console", "host", where, (*host.consoles, *row)),
        ),
    )


def _near(reset: KernelEvent, events: tuple[KernelEvent, ...], tuning: Tuning) -> list[KernelEvent]:
    """What was printed near a reset: out-of-memory kills, or a burst of others. Lines without a time are not near."""
    if reset.since_boot is None:
        return []
    within = timedelta(minutes=tuning["apart_minutes"])
    near = [
        event
        for event in events
        if event.since_boot is not None and _apart(reset, event) <= within and not event.kind.startswith(_OF_THE_CARD)
    ]
    kills = [event for event in near if event.kind is KernelEventKind.OOM_KILL]
    return kills or (near if len(near) >= tuning["burst_lines"] else [])


def _apart(first: KernelEvent, second: KernelEvent) -> timedelta:
    return abs((first.since_boot or timedelta(0)) - (second.since_boot or timedelta(0)))


def _what(near: list[KernelEvent]) -> str:
    if near[0].kind is KernelEventKind.OOM_KILL:
        return "an out-of-memory dump"
    return f"a burst of {count(len(near), 'other message')}"


CAUSE = Cause(
    name=NAME,
    title="Serial console held the kernel up",
    probes=("kernel_log", "host"),
    thresholds=("recent_hours", "apart_minutes", "burst_lines", "console_level"),
    signature=("kernel_log", "host"),
    weigh=weigh,
    worst=Status.DEGRADED,
)
