"""What NVMe devices say of EBS volumes; what follows from it stands in playbooks/causes/ebs-throttled.yaml."""

import re
from pathlib import Path

import pytest

from bot.domain.command import Outputs
from bot.domain.errors import CannotRead
from bot.domain.root_command import root_ways
from bot.probes.ebs import PROBE, parse
from tests.readings.node_tools import printed, tool
from tests.readings.recorded import CAPTURES, recorded, run, twice
from tests.unit.causes.builders import found

EBS = "ebs-throttled"
HELD = recorded(CAPTURES / "ebs" / "synthetic--second-volume-held.out")


def test_recorded_volume_is_held_by_its_own_throughput() -> None:
    reading = parse(HELD)
    assert [round(volume.volume_throughput_percent) for volume in reading.volumes] == [0, 70]
    assert (reading.volumes[1].queue_length, round(reading.volumes[1].instance_throughput_percent, 1)) == (64, 4.8)
    finding = found(EBS, reading)
    assert finding.summary == "nvme1n1 asked for more than the volume's own throughput 70 % of the time"
    assert finding.evidence[0].source[0] == "nvme1n1 volume_throughput exceeded +3507000 us"


def test_volumes_that_may_not_be_asked_are_counted(tmp_path: Path) -> None:
    for number in range(11):
        (tmp_path / f"nvme{number}").mkdir()
        (tmp_path / f"nvme{number}" / "model").write_text("Amazon Elastic Block Store              \n")
    page = changed("-- end --", "").text("log", 1).partition("==> /dev/nvme1n1")[0].partition("\n")[2]
    tool(tmp_path / "sudo", f"cat <<'E'\n{page}E")
    script = PROBE.commands[0].alternatives[0][2].replace("/sys/class/nvme", str(tmp_path))
    said = printed(script, tools=tmp_path)
    reading = parse(twice("log", said, said))
    assert (len(reading.volumes), reading.left_out) == (8, 3)


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
