"""Arrays of md: the fragment, run by real shells over invented trees, and what is read of its answer."""

from pathlib import Path

import pytest

from bot.domain.command import Completed, Outputs
from bot.probes.storage import PROBE, StorageReading
from tests.independent.answers import files
from tests.known import known_as
from tests.readings.node_tools import Way, every_shell
from tests.unit.probes.test_unfinished import printed_by, write

RAID5 = {"level": "raid5", "raid_disks": "3", "degraded": "1", "sync_action": "recover", "sync_completed": "12 / 48"}
TREE = {
    "md0": {"array_state": "clean", "metadata_version": "1.2", **RAID5, "dev-sda1/state": "in_sync"},
    "md1": {"array_state": "active", "level": "raid0", "raid_disks": "2"},
    "md2": {"array_state": "inactive", "level": "", "raid_disks": "0"},
    "md126": {"array_state": "clear", "level": "", "raid_disks": "0"},
    "md127": {"array_state": "inactive", "level": "container", "metadata_version": "external:imsm"},
}
DISKS = ("sda", "sda1", *TREE, "md3", "mdisk")


def read(arrays: str | None) -> StorageReading:
    rows = files({"/proc/diskstats": "\n".join(f"9 0 {name} {'0 ' * 11}" for name in DISKS)})
    runs = [Completed("storage", "disks", look, rows) for look in (0, 1)]
    runs += [] if arrays is None else [Completed("storage", "arrays", 0, arrays)]
    return known_as(PROBE.read(Outputs(*runs)), StorageReading)


@every_shell
def test_shells_read_each_array(tmp_path: Path, shell: Way) -> None:
    for name, told in TREE.items():
        for file, text in told.items():
            write(tmp_path, f"sys/block/{name}/md/{file}", f"{text}\n")
    write(tmp_path, "sys/block/md0/md/dev-sdb1/state", "faulty,blocked\n")
    whole, stripe, idle, unread = read(printed_by(PROBE.commands[1], tmp_path, shell)).arrays
    assert (whole.name, whole.left, whole.faulty, whole.is_rebuilding, whole.done_percent) == (
        *("md0", 2, ("sdb1",), True, 25.0),
    )
    assert (stripe.name, stripe.degraded) == ("md1", 0)
    assert (idle.name, idle.state, idle.degraded) == ("md2", "inactive", None)
    assert (unread.name, unread.degraded) == ("md3", None)


@pytest.mark.parametrize("answer", [None, "", "==> /md0 <==\nlevel raid1\ndegraded 0\n"], ids=["never", "empty", "cut"])
def test_array_that_was_not_read_is_known_by_its_name_alone(answer: str | None) -> None:
    assert [(array.name, array.degraded) for array in read(answer).arrays] == [
        (name, None) for name in DISKS if name.startswith("md") and name != "mdisk"
    ]
