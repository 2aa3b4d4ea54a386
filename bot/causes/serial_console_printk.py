"""The kernel wrote so much to a slow serial console that the network card was not served, and was reset.

Confirms: nothing alone; likely if a reset and an out-of-memory dump, or a burst of other messages, lie within two
minutes of each other and the kernel prints such messages to a serial console. A burst is recognised by our lines, each
of which starts a trace, or by more bytes of any lines than the console can print in that time.
Refutes: no serial console; a console level that keeps warnings off it; resets without such messages near them.
Remedy: none planned: the same dump would do it again after a reboot. Lower the console's level, or dump less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.causes import _recent
from bot.causes._figures import sentence, span
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.formats.kernel_line import RESETS, KernelEvent
from bot.probes.formats.log_burst import SECONDS
from bot.probes.host import HostReading
from bot.probes.kernel_log import KernelLogReading

NAME = "serial-console-printk"
_OF_THE_CARD = ("nic-", "netdev-")


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether resets and bursts of messages coincide on a node with a serial console."""
    host, log = snapshot.get(HostReading), snapshot.get(KernelLogReading)
    if isinstance(log, Unread):
        return Undecided(NAME, f"the kernel log was not read ({log.reason})")
    resets = _recent.recent(snapshot, log.of(*RESETS), tuning["recent_hours"])
    if not resets:
        none = "the network card was not reset within the last day"
        return _recent.none_told(snapshot, NAME, none, RESETS, tuning["recent_hours"])
    timed = _timed_messages(log)
    printed = [
        (reset, near) for reset in resets if (near := _printed_near_reset(reset, timed, log, tuning)) is not None
    ]
    if not printed:
        return RuledOut(NAME, "no reset lies near an out-of-memory dump or a burst of other messages")
    if isinstance(host, Unread):
        return Undecided(NAME, f"the consoles were not read ({host.reason})")
    if not host.consoles:
        return Undecided(NAME, "the node's consoles are not known", would_decide="/proc/consoles")
    if not host.serial_consoles:
        return RuledOut(NAME, f"no serial console: the kernel prints to {', '.join(host.consoles)}")
    level = host.console_level
    if level is not None and level < tuning["console_level"]:
        return RuledOut(NAME, f"the console's level {level} keeps warnings off {host.serial_consoles[0]}")
    reset, near = printed[-1]
    says = f"{counted(len(printed), 'reset')} within {span(near.apart)} of {near.what}"
    where = f"the kernel prints to the serial console {', '.join(host.serial_consoles)}"
    row = (f"console_loglevel {level}",) if level is not None else ()
    return Finding(
        cause=NAME,
        status=Status.DEGRADED,
        confidence=Confidence.LIKELY,
        summary=sentence(says, where),
        evidence=(
            Evidence("reset-beside-messages", "kernel_log", says, (*near.lines[-2:], reset.text)),
            Evidence("serial-console", "host", where, (*host.consoles, *row)),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Printed:
    """Messages printed near a reset, and how near."""

    what: str
    apart: timedelta
    lines: tuple[str, ...]


def _timed_messages(log: KernelLogReading) -> list[tuple[timedelta, KernelEvent]]:
    """The messages that are not about the network card, with their times. Lines without a time do not count."""
    events = (event for event in log.events if not event.kind.startswith(_OF_THE_CARD))
    return [(event.since_boot, event) for event in events if event.since_boot is not None]


def _printed_near_reset(
    reset: KernelEvent, timed: Sequence[tuple[timedelta, KernelEvent]], log: KernelLogReading, tuning: Tuning
) -> _Printed | None:
    """Messages near a reset: out-of-memory kills, or a burst of others."""
    at = reset.since_boot
    if at is None:
        return None
    within = timedelta(minutes=tuning["apart_minutes"])
    first, last = at - within, at + within
    near = [(abs(when - at), event) for when, event in timed if first <= when <= last]
    kills = [(apart, event) for apart, event in near if event.kind == "oom-kill"]
    if kills or len(near) >= tuning["burst_lines"]:
        what = "an out-of-memory dump" if kills else f"a burst of {counted(len(near), 'other message')}"
        apart = min(apart for apart, _ in kills or near)
        return _Printed(what, apart, tuple(event.text for _, event in kills or near))
    slow = tuning["console_bytes_a_second"] * SECONDS
    bursts = [burst for burst in log.bursts if burst.apart(at) <= within and burst.size_bytes >= slow]
    if not bursts:
        return None
    most = max(bursts, key=lambda burst: burst.size_bytes)
    what = f"{counted(most.line_count, 'line')} in {SECONDS} s, {most.size_bytes // 1000:,} kB"
    within = min(burst.apart(at) for burst in bursts) + timedelta(seconds=SECONDS)
    return _Printed(what, within, (most.text,))


CAUSE = Cause(
    name=NAME,
    title="Serial console delayed the kernel",
    probes=("kernel_log", "host"),
    settled_by="a lower level of the console (`dmesg -n 4`): whether the resets stay away",
    thresholds={
        "recent_hours": Threshold(
            24,
            "A reset of days ago on a node that is still up is not a present symptom; jobs run up to 12 hours. A day "
            "is ours.",
        ),
        "apart_minutes": Threshold(
            2,
            "A dump of a thousand tasks is some 100 kB, and a console at 115,200 baud prints 11 kB a second; the "
            "card's watchdogs wait for five seconds more, and the rest is ours.",
        ),
        "burst_lines": Threshold(
            40,
            "Ours. Lines that we know, each of which begins a trace of some thirty more: a thousand lines take the "
            "console 15 s.",
        ),
        "console_bytes_a_second": Threshold(
            11520,
            "115,200 baud at ten bits a byte (Documentation/admin-guide/serial-console.rst). If ten seconds brought "
            "more bytes than that, of any lines, the console was behind, and so was the core that prints.",
        ),
        "console_level": Threshold(
            5,
            "The kernel prints messages graver than this level, and an out-of-memory dump begins as a warning, which "
            "is level 4 (mm/oom_kill.c).",
        ),
    },
    signature=("kernel_log", "host"),
    evaluate=evaluate,
    worst=Status.DEGRADED,
    lasting_fix="Lower the console's level (`loglevel=4`), set vm.oom_dump_tasks=0, or take `console=ttyS0` out.",
)
