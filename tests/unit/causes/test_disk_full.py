"""File systems without room: blocks and inodes, by the kubelet's limits where there is one."""

import pytest

from bot.domain.verdict import Status
from bot.probes.essential_units import EssentialUnit, EssentialUnitsReading
from bot.probes.filesystems import FilesystemsReading, Mount, Room
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

FULL = "disk-full"
MOUNT = Mount("/", "nvme0n1p1", "ext4", ("rw",), "rw")


def disks(*rooms: Room, kubelet: bool = True, **limits: float) -> FilesystemsReading:
    named = tuple((name.replace("_", "."), value) for name, value in limits.items())
    return FilesystemsReading((MOUNT,), rooms, kubelet, named)


@pytest.mark.parametrize(
    ("room", "status"),
    [
        (Room("/", 9.0, 90.0), Status.DEGRADED),
        (Room("/", 0.4, 90.0), Status.CRITICAL),
        (Room("/", 60.0, 4.0), Status.DEGRADED),
        (Room("/", 60.0, 0.0), Status.CRITICAL),
        (Room("/var/lib/containerd", 14.0, 90.0, has_images=True), Status.DEGRADED),
    ],
)
def test_less_room_than_the_kubelet_leaves(room: Room, status: Status) -> None:
    finding = found(FULL, disks(room))
    assert finding.status is status
    assert room.point in finding.summary
    assert finding.remedy == ()


@pytest.mark.parametrize(
    "reading",
    [
        disks(Room("/", 11.0, 90.0)),
        disks(Room("/", 10.0, 5.0)),  # the kubelet evicts below its limit, not at it
        disks(Room("/", 60.0, 6.0)),
        disks(Room("/", 60.0, None)),  # btrfs counts no inodes
        disks(Room("/", 12.0, 90.0, has_images=True)),  # images on the root disk: nodefs decides
        disks(Room("/", 7.0, 90.0), nodefs_available=5.0),  # k3s and RKE2
        disks(Room("/", 6.0, 90.0), kubelet=False),
        disks(Room("/var/lib/containerd", 13.0, 90.0, has_images=True), imagefs_available=12.0),
    ],
)
def test_room_by_its_own_measure_is_ruled_out(reading: FilesystemsReading) -> None:
    assert "free" in ruled_out(FULL, reading).because


def test_the_kubelets_own_limit_counts_where_it_is_stricter() -> None:
    assert "20 % is the least" in found(FULL, disks(Room("/", 18.0, 90.0), nodefs_available=20.0)).summary
    assert found(FULL, disks(Room("/", 4.0, 90.0), kubelet=False)).status is Status.DEGRADED


@pytest.mark.parametrize("name", ["k3s", "k3s-agent", "rke2-server", "rke2-agent"])
def test_k3s_and_rke2_leave_five_percent(name: str) -> None:
    here = EssentialUnitsReading(True, (EssentialUnit(f"{name}.service", "kubelet"),))
    seven, four = (
        disks(Room("/", left, 90.0), Room("/var/lib/docker", 9.0, 90.0, has_images=True)) for left in (7.0, 4.0)
    )
    ruled_out(FULL, seven, here)
    assert "/ has 4.0 % of its blocks left; 5.0 % is the least" in found(FULL, four, here).summary
    assert found(FULL, seven).status is Status.DEGRADED


def test_what_was_not_read_is_open() -> None:
    assert "not read" in undecided(FULL, b.unread("filesystems")).because
    assert "listed no file system" in undecided(FULL, disks()).because


@pytest.mark.parametrize(("free", "found_it"), [(3.0, False), (0.4, True)])
def test_disk_of_data_is_degraded_where_hardly_anything_is_left(free: float, found_it: bool) -> None:
    rooms = (Room("/", 60.0), Room("/srv/data", free, 80.0, is_data=True))
    reading = FilesystemsReading(rooms=rooms)
    if not found_it:
        assert "/srv/data, has 3.0 % free" in ruled_out(FULL, reading).because
        return
    finding = found(FULL, reading)
    assert (finding.status, finding.summary) == (
        Status.DEGRADED,
        "/srv/data has 0.4 % of its blocks left; 1.0 % is the least",
    )
