"""A bond or team runs on fewer links than it has: the next one that fails takes the network with it.

Confirms: a port without a link that had one since it joined, or that the kernel's log says was lost and has not come
back; no port with a link at all; a link that is lost again and again. Ports in different aggregators of 802.3ad: only
one of them carries traffic.
Possible: a port that never had a link since it joined: a cable that was never plugged in, or a switch that is down
since before the boot.
Refutes: a link on every port. A port that somebody switched off is no fault: it cannot have a link.
Remedy: none planned: cable, transceiver and switch are the same after a reboot.
"""

from __future__ import annotations

from collections.abc import Iterable

from bot.causes import _recent
from bot.causes._figures import sentence
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.formats.bonds import Bond, Port
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.kernel_log import KernelLogReading
from bot.probes.nic import NicReading

NAME = "bond-degraded"


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether a bond or team lacks a link."""
    reading, log = snapshot.get(NicReading), snapshot.get(KernelLogReading)
    told = () if isinstance(log, Unread) else log.of("link-lost", "link-back")
    if isinstance(reading, Unread):
        return _evaluate_by_log(snapshot, reading, told, isinstance(log, Unread))
    if not reading.bonds:
        return RuledOut(NAME, "the node has no bond or team with ports", applies=False)
    evidence, never, dead = [], [], []
    for bond in reading.bonds:
        lost, fresh = _lost_and_unlinked_ports(bond, told)
        without_any = not any(port.linked for port in bond.ports) and bool(bond.lost)
        if lost:
            last = [event for event in told if event.device in {port.name for port in lost}]
            lines = (*(line for port in lost for line in port.lines), *_recent.lines(last, 2))
            since = f", the last {_recent.ago(snapshot, last[-1])}" if last else ""
            left = (
                "it has no link left" if without_any else f"{_linked_count(bond)} of {len(bond.ports)} links are left"
            )
            blind = [port for port in lost if port.unnoticed]
            unaware = f"; {bond.name} does not watch its links and still sends there" if blind else ""
            says = f"{bond.name} lost the link of {_names_of(lost)}{since}: {left}{unaware}"
            evidence.append(Evidence("link-lost", "nic", says, lines))
        if lost and without_any:
            dead.append(bond.name)
        if fresh:
            says = f"{bond.name} has had no link on {_names_of(fresh)} since it was added"
            never.append(Evidence("link-never", "nic", says, tuple(line for port in fresh for line in port.lines)))
        if apart := _ports_in_other_aggregators(bond):
            says = (
                f"only a part of {bond.name} carries traffic: {_names_of(apart)} joined different aggregators (802.3ad)"
            )
            source = tuple(line for port in apart for line in port.lines)
            evidence.append(Evidence("link-apart", "nic", says, source))
    evidence += _flapping_links(snapshot, reading, told, tuning)
    if evidence or never:
        return Finding(
            cause=NAME,
            status=Status.CRITICAL if dead else Status.DEGRADED,
            confidence=Confidence.CONFIRMED if evidence else Confidence.POSSIBLE,
            summary=sentence(*(seen.says for seen in (*evidence, *never)[:2])),
            evidence=(*evidence, *never),
        )
    off = [port for bond in reading.bonds for port in bond.ports if port.switched_off]
    but = f", but for {_names_of(off)}, which was switched off" if off else ""
    return RuledOut(NAME, f"{_names_of(reading.bonds)}: each port has its link{but}")


def _lost_and_unlinked_ports(bond: Bond, told: Iterable[KernelEvent]) -> tuple[list[Port], list[Port]]:
    """The ports that lost their link, and those that never had any."""
    had = {event.device for event in told}
    lost = [port for port in bond.lost if port.had_link or port.unnoticed or port.name in had]
    return lost, [port for port in bond.lost if port not in lost]


def _ports_in_other_aggregators(bond: Bond) -> list[Port]:
    linked = [port for port in bond.ports if port.linked and port.aggregator]
    return linked if len({port.aggregator for port in linked}) > 1 else []


def _flapping_links(
    snapshot: Snapshot, reading: NicReading, told: tuple[KernelEvent, ...], tuning: Tuning
) -> list[Evidence]:
    """The links that are there again, and were lost time and again."""
    up = {port.name for bond in reading.bonds for port in bond.ports if port.linked}
    lost = [event for event in told if event.kind == "link-lost" and event.device in up]
    recent = _recent.events_surely_within(snapshot, lost, tuning["flaps_minutes"])
    found = []
    for name in dict.fromkeys(event.device for event in recent):
        mine = [event for event in recent if event.device == name]
        if len(mine) >= tuning["flaps_few"]:
            says = f"{name} lost its link {counted(len(mine), 'time')}, the last {_recent.ago(snapshot, mine[-1])}"
            found.append(Evidence("link-flaps", "kernel_log", says, _recent.lines(mine, 3)))
    return found


def _evaluate_by_log(snapshot: Snapshot, reading: Unread, told: tuple[KernelEvent, ...], is_mute: bool) -> CauseResult:
    last = {event.device: event for event in told}
    lost = [event for event in last.values() if event.kind == "link-lost"]
    if not lost:
        # The bonding driver tells each link that it loses: where the log is silent, no bond has lost all of them.
        worst = Status.CRITICAL if is_mute else Status.DEGRADED
        return Undecided(NAME, f"the ports of bonds were not read ({reading.reason})", worst=worst)
    names = ", ".join(event.device for event in lost)
    says = (
        f"the kernel says that the link of {names} was lost, {_recent.ago(snapshot, lost[-1])}, and not that it is back"
    )
    return Finding(
        cause=NAME,
        status=Status.DEGRADED,
        confidence=Confidence.LIKELY,
        summary=sentence(says),
        evidence=(Evidence("link-lost", "kernel_log", says, _recent.lines(lost, 3)),),
    )


def _linked_count(bond: Bond) -> int:
    return sum(1 for port in bond.ports if port.linked)


def _names_of(some: Iterable[Port | Bond]) -> str:
    return " and ".join(each.name for each in some)


CAUSE = Cause(
    name=NAME,
    title="Bond lost a link",
    probes=("nic", "kernel_log", "host"),
    settled_by="the state of its ports in /proc/net/bonding",
    thresholds={
        "flaps_few": Threshold(
            3,
            "Ours. A switch that is restarted takes a link down once, or twice while it starts; a third time within "
            "the hour is a bad cable or transceiver.",
        ),
        "flaps_minutes": Threshold(60, "Ours. A link that was last lost longer ago is there again, and stays."),
    },
    evaluate=evaluate,
    lasting_fix=(
        "Look at the port's cable, transceiver and switch port; with 802.3ad also at the switch's channel group."
    ),
)
