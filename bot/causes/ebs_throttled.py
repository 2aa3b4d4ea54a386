"""EBS throttles a volume, or all volumes of the instance: they request more than was bought.

Confirms: the device's own counters of time above a limit rise by a good part of the window.
Refutes: counters that do not rise, or rise a little; a machine without EBS volumes. The first minutes after a boot are
left out, because the image is then read from a snapshot.
Remedy: none planned: a larger volume or instance; after a reboot the same work requests the same.
"""

from __future__ import annotations

from datetime import timedelta

from bot.causes._figures import count, percent
from bot.causes._finding import found
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Undecided
from bot.probes.ebs import EbsReading, Volume
from bot.probes.host import HostReading

NAME = "ebs-throttled"


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether a limit of EBS slows the node down."""
    reading, host = snapshot.get(EbsReading), snapshot.get(HostReading)
    if isinstance(reading, Unread):
        return Undecided(NAME, f"EBS's counts were not read ({reading.reason})")
    if not reading.volumes:
        return RuledOut(NAME, "no EBS volume is attached as an NVMe device")
    evidence = [
        Evidence("ebs-held", "ebs", says, volume.lines)
        for volume in reading.volumes
        for says in _held(volume, tuning["held_percent"])
    ]
    young = not isinstance(host, Unread) and host.uptime < timedelta(minutes=tuning["boot_minutes"])
    if evidence and young:
        return Undecided(NAME, "the node booted minutes ago and reads its image", would_decide="a later look")
    if evidence:
        return found(NAME, Status.DEGRADED, Confidence.CONFIRMED, evidence)
    volumes = count(len(reading.volumes), "EBS volume")
    return RuledOut(NAME, f"{volumes} above no limit for more than {percent(reading.held_percent)} of the window")


def _held(volume: Volume, least: float) -> list[str]:
    limits = (
        (volume.volume_iops_percent, "the volume's own IOPS"),
        (volume.volume_throughput_percent, "the volume's own throughput"),
        (volume.instance_iops_percent, "the instance's IOPS for EBS"),
        (volume.instance_throughput_percent, "the instance's throughput for EBS"),
    )
    return [
        f"{volume.device} asked for more than {what} {percent(held)} of the time"
        for held, what in limits
        if held >= least
    ]


CAUSE = Cause(
    name=NAME,
    title="EBS volume at its limit",
    probes=("ebs", "host"),
    thresholds=("held_percent", "boot_minutes"),
    weigh=weigh,
    worst=Status.DEGRADED,
)
