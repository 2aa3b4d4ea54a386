"""How long EBS held a volume, or the whole instance, at its limit, as counted by the NVMe device.

Defined in: AWS, "Amazon EBS detailed performance statistics" (log page 0xD0); nvme-get-log(1), whose plain output is a
hexadecimal dump. Only root may query an NVMe device.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.root_command import in_folders, root_line
from bot.domain.safe_text import one_line
from bot.probes.formats.fragment import END
from bot.probes.formats.sections import sections


@dataclass(frozen=True, slots=True)
class Volume:
    """An EBS volume. Units: percent of the window in which more was requested than each limit allows."""

    device: str
    volume_iops_percent: float
    volume_throughput_percent: float
    instance_iops_percent: float
    instance_throughput_percent: float
    queue_length: int = 0
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldVolume:
    """One limit of a volume, and the percent of the window in which it held the volume."""

    device: str
    limit: str
    percent: float
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EbsReading:
    """The EBS volumes whose counters were read; empty if the machine has no such volume."""

    probe: ClassVar[str] = "ebs"

    volumes: tuple[Volume, ...] = ()
    left_out: int = 0  # volumes beyond those that sudoers names

    @property
    def held_percent(self) -> float:
        """The largest share of the window in which a limit held a volume."""
        return max((held.percent for held in self.limits), default=0.0)

    @property
    def limits(self) -> tuple[HeldVolume, ...]:
        """Each limit of each volume."""
        return tuple(
            HeldVolume(volume.device, limit, percent, volume.lines)
            for volume in self.volumes
            for limit, percent in (
                ("the volume's own IOPS", volume.volume_iops_percent),
                ("the volume's own throughput", volume.volume_throughput_percent),
                ("the instance's IOPS for EBS", volume.instance_iops_percent),
                ("the instance's throughput for EBS", volume.instance_throughput_percent),
            )
        )


MOST_VOLUMES = 8  # sudoers names each device; few nodes attach more
_LIMIT = timedelta(seconds=6)
_FOLDERS = ("/usr/sbin",)  # every distribution has nvme-cli there, so each device needs only a single sudoers line
_MODEL = "Amazon Elastic Block Store"
_NONE = "no volume"
_ALL = "/all"
_ARGVS = tuple(
    ("nvme", "get-log", f"/dev/nvme{number}n1", "--log-id=0xd0", "--log-len=4096") for number in range(MOST_VOLUMES)
)
# The counters are in the first 96 of its 4096 bytes: one or two heading lines, and six lines of sixteen bytes.
_LINES = 8
_TOLD = (
    ("volume_iops", 56),
    ("volume_throughput", 64),
    ("instance_iops", 72),
    ("instance_throughput", 80),
)
_MAGIC, _QUEUE, _BYTES = 0x3C23B510, 88, 96
_ROW = re.compile(r"([0-9a-f]{4,8}):((?: [0-9a-f]{2}){1,16})(?: .*)?")


# Of all volumes, which anybody may count.
_COUNT = f"echo '==> {_ALL} <==' && grep -ls '{_MODEL}' /sys/class/nvme/nvme[0-9]*/model | wc -l"


def _look_script(said: Callable[[tuple[str, ...]], str], before: str) -> tuple[str, ...]:
    """A look at every volume; prints nothing if none may be read, so that the next way is tried."""
    asked = " ".join(
        f"if grep -qs '{_MODEL}' /sys/class/nvme/nvme{number}/model; then d=$({said(argv)} | head -n {_LINES}); "
        f"""[ -n "$d" ] || exit 1; n=1; echo '==> {argv[2]} <=='; echo "$d"; fi;"""
        for number, argv in enumerate(_ARGVS)
    )
    return ("sh", "-c", f"{before} n=; {asked} [ -n \"$n\" ] && {_COUNT} && echo '{END}'")


def _sudo_line(argv: tuple[str, ...]) -> str:
    return root_line(argv, _LIMIT.total_seconds(), _FOLDERS)


def parse(outputs: Outputs) -> EbsReading:
    """Read how far each counter rose between the looks.

    Unread when: a volume exists but the right to query it as root is missing, the looks are too close together, or the
    device's answer is not Amazon's page.
    """
    first, later = outputs.text("log", 0), outputs.text("log", 1)
    if first.strip() == _NONE:
        return EbsReading()
    if not all(text.rstrip("\n").endswith(END) for text in (first, later)):
        raise CannotRead("ebs: the answer is cut short")
    seconds = outputs.seconds_between("log")
    if not seconds:
        raise CannotRead("ebs: the looks are too close together")
    before, after = sections(first), sections(later)
    every = next(iter(before.pop(_ALL, ())), "").strip()
    volumes = [_volume(path, before[path], after[path], seconds) for path in before if path in after and before[path]]
    count = int(every) if re.fullmatch(r"[0-9]{1,4}", every) else 0
    return EbsReading(tuple(volumes), max(0, count - len(before)))


def _volume(path: str, before: tuple[str, ...], after: tuple[str, ...], seconds: float) -> Volume:
    device = one_line(path.removeprefix("/dev/"), 40)
    first, later = _log_page(device, before), _log_page(device, after)
    rises = {name: max(0, _number_at(later, at) - _number_at(first, at)) for name, at in _TOLD}
    held = {name: min(100.0, rise / seconds / 10_000) for name, rise in rises.items()}
    return Volume(
        device=device,
        volume_iops_percent=held["volume_iops"],
        volume_throughput_percent=held["volume_throughput"],
        instance_iops_percent=held["instance_iops"],
        instance_throughput_percent=held["instance_throughput"],
        queue_length=_number_at(later, _QUEUE),
        lines=tuple(f"{device} {name} exceeded +{rise} us" for name, rise in rises.items() if rise),
    )


def _log_page(device: str, lines: tuple[str, ...]) -> bytes:
    rows = [found for line in lines if (found := _ROW.fullmatch(line.rstrip()))]
    page = b"".join(bytes.fromhex(row.group(2)) for row in rows)
    whole = [int(row.group(1), 16) for row in rows] == list(range(0, 16 * len(rows), 16))
    if not whole or len(page) < _BYTES or int.from_bytes(page[:4], "little") != _MAGIC:
        raise CannotRead(f"ebs: {device} does not answer with EBS's statistics")
    return page


def _number_at(page: bytes, at: int) -> int:
    return int.from_bytes(page[at : at + 8], "little")


PROBE = Probe(
    name="ebs",
    title="EBS volumes at their limits",
    commands=(
        Command(
            "log",
            _look_script(
                shlex.join,
                f"[ -d /sys/class/nvme ] && grep -qs '{_MODEL}' /sys/class/nvme/nvme[0-9]*/model || "
                f"{{ echo '{_NONE}'; exit; }}; "
                '[ "$(id -u)" = 0 ] || exit 0;',
            ),
            alternatives=(_look_script(_sudo_line, ""),),
            looks=SampleTimes.TWICE,
            lane="devices",
            limit=_LIMIT,
            output_limit_bytes=32 * 1024,
            sudo=tuple(way for argv in _ARGVS for way in in_folders(argv, _FOLDERS)),
        ),
    ),
    parse=parse,
    reading=EbsReading,
)
