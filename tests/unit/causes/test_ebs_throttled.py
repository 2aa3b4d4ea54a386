"""EBS volumes that are held at a limit, and those that only touch it."""

import re

import pytest

from bot.domain.command import Outputs
from bot.domain.errors import CannotRead
from bot.domain.root_command import root_ways
from bot.domain.verdict import Status
from bot.probes.ebs import PROBE, EbsReading, Volume, parse
from tests.readings.recorded import CAPTURES, recorded, run, twice
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

EBS = "ebs-throttled"
QUIET = Volume("nvme0n1", 0.0, 0.0, 0.0, 0.0)


def held(at: int, percent: float) -> Volume:
    """A volume of which one of the four limits is passed for this share of the window."""
    first, second, third, fourth = (percent if number == at else 0.0 for number in range(4))
    return Volume("nvme1n1", first, second, third, fourth)


HELD = recorded(CAPTURES / "ebs" / "synthetic--second-volume-held.out")


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (0, "the volume's own IOPS"),
        (1, "the volume's own throughput"),
        (2, "the instance's IOPS"),
        (3, "the instance's throughput"),
    ],
)
def test_volume_that_is_held_for_a_fifth_of_the_window_is_degraded(limit: int, words: str) -> None:
    finding = found(EBS, EbsReading((QUIET, held(limit, 20.0))))
    assert (finding.status, finding.remedy) == (Status.DEGRADED, ())
    assert finding.summary.startswith(f"nvme1n1 asked for more than {words}")
    ruled_out(EBS, EbsReading((held(limit, 19.0),)))


def test_recorded_volume_is_held_by_its_own_throughput() -> None:
    reading = parse(HELD)
    assert [round(volume.volume_throughput_percent) for volume in reading.volumes] == [0, 70]
    assert (reading.volumes[1].queue_length, round(reading.volumes[1].instance_throughput_percent, 1)) == (64, 4.8)
    finding = found(EBS, reading)
    assert finding.summary == "nvme1n1 asked for more than the volume's own throughput 70 % of the time"
    assert finding.evidence[0].source[0] == "nvme1n1 volume_throughput exceeded +3507000 us"


def test_first_minutes_after_a_boot_read_the_image() -> None:
    busy = EbsReading((held(0, 90.0),))
    assert "booted minutes ago" in undecided(EBS, busy, b.host(days=5 / 1440)).because
    ruled_out(EBS, EbsReading((QUIET,)), b.host(days=5 / 1440))


def test_machine_without_volumes_is_ruled_out_and_one_that_may_not_be_asked_is_open() -> None:
    assert "no EBS volume" in ruled_out(EBS, EbsReading()).because
    assert "not read" in undecided(EBS, b.unread("ebs")).because


def changed(old: str, new: str) -> Outputs:
    texts = [said.stdout for look in (0, 1) if (said := HELD.get("log", look)) is not None]
    assert old in texts[1]
    return twice("log", texts[0], texts[1].replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"), [("10 b5 23 3c", "00 00 00 00"), ("0030:", "0040:"), ("-- end --", ""), ("0050: ", "NVMe status: ")]
)
def test_what_is_not_amazons_page_is_unread(old: str, new: str) -> None:
    with pytest.raises(CannotRead, match="ebs"):
        parse(changed(old, new))


def test_volume_that_root_alone_may_ask_is_unread_with_sudos_words() -> None:
    refused = [run("log", "", look, stderr="sudo: a password is required", exit_status=1) for look in (0, 1)]
    with pytest.raises(CannotRead, match="sudo refused"):
        parse(Outputs(*refused))


def test_rights_are_exact_and_only_read() -> None:
    (command,) = PROBE.commands
    for way in root_ways(command):
        words = " ".join(way[6:])
        assert re.fullmatch(r"/usr/sbin/nvme get-log /dev/nvme[0-7]n1 --log-id=0xd0 --log-len=4096", words)
