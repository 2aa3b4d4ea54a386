"""filesystems: which device a mount is on, as the kernel's log names it; through the fragment, on a made table."""

from pathlib import Path

from bot.probes.filesystems import PROBE, FilesystemsReading, parse
from tests.readings.node_tools import printed, tool
from tests.readings.recorded import once


def look(tmp_path: Path, *rows: str) -> FilesystemsReading:
    """Read a table of mounts through the fragment, by the tools that lie beside it before all others."""
    table = tmp_path / "mountinfo"
    table.write_text("".join(f"{row}\n" for row in rows))
    (command,) = PROBE.commands
    script = command.argv[2].replace("/proc/self/mountinfo", str(table))
    return parse(once("look", printed(script, tools=tmp_path)))


def test_btrfs_on_a_mapped_device_has_the_kernels_own_name(tmp_path: Path) -> None:
    (tmp_path / "dm-4").write_text("")
    (tmp_path / "mapper").mkdir()
    (tmp_path / "mapper" / "vg-data").symlink_to("../dm-4")
    found = look(
        tmp_path,
        f"41 1 0:4035 / /srv/data rw,relatime shared:2 - btrfs {tmp_path}/mapper/vg-data rw,space_cache=v2",
        "42 1 0:4036 / /srv/plain rw,relatime shared:3 - btrfs /dev/none-such1 rw,space_cache=v2",
        "43 1 0:4037 / /srv/$(id) rw,relatime shared:4 - btrfs $(id)`id`;id rw",
    )
    assert {mount.point: mount.device for mount in found.mounts} == {
        "/srv/data": "dm-4",
        "/srv/plain": "none-such1",
        "/srv/$(id)": "$(id)`id`;id",
    }


def test_etc_is_on_the_upper_layer_of_the_overlay_that_holds_it(tmp_path: Path) -> None:
    upper = "lowerdir=/etc,upperdir=/tmp,workdir=/tmp/w"
    tool(tmp_path / "stat", '[ "$3" = /etc ] && echo overlayfs; [ "$3" = /tmp ] && echo tmpfs; exit 0')
    found = look(
        tmp_path,
        "22 1 259:1 / / rw,relatime - ext4 /dev/root rw",
        f"40 22 0:40 / /etc rw,relatime shared:9 - overlay overlay rw,{upper}",
        "41 22 0:41 / /etc/resolv.conf rw - tmpfs tmpfs rw",
    )
    assert (found.etc_type, found.forgets_etc) == ("tmpfs", True)


def test_room_on_a_disk_of_data_is_told_apart_and_no_place_twice() -> None:
    heading = "Filesystem 1024-blocks Used Available Capacity Mounted on"
    root, data = "/dev/vda1 1000 400 600 40% /", "/dev/vdb 1000 999 1 100% /srv/data"
    text = "\n".join(
        [
            "==> /blocks <==",
            heading,
            root,
            "==> /inodes <==",
            "==> /data-blocks <==",
            heading,
            root,
            data,
            "-- end --",
            "",
        ]
    )
    rooms = parse(once("look", text)).rooms
    assert [(room.point, room.free_percent, room.is_data) for room in rooms] == [
        ("/", 60.0, False),
        ("/srv/data", 0.1, True),
    ]
    assert parse(once("look", text)).least_free_percent == 60.0


def test_beyond_hundreds_of_file_systems_the_node_counts_those_left_out(tmp_path: Path) -> None:
    for disks, left_out in ((400, (0, 200)), (407, (7, 207))):
        rows = (f"41 1 8:{n} / /data{n} rw - xfs /dev/x{n} rw" for n in range(disks))
        found = look(tmp_path, *rows)
        assert (found.mounts_left_out, found.rooms_left_out) == left_out


def test_only_plain_names_outside_of_pods_are_asked_for_their_room(tmp_path: Path) -> None:
    table, asked = tmp_path / "mountinfo", tmp_path / "asked"
    rows: tuple[str, ...] = (
        "/ 8:1",
        "/srv/data 8:2",
        "/var/lib/kubelet/pods/7c1/volumes/x 8:3",
        "/mnt/two\\040words 8:4",
        "/boot 8:5",
    )
    rows += ("/srv/*/$(id) 8:6", "/var/lib/kubelet/pods/1/y 8:7", "/data 8:7")
    table.write_text("".join(f"41 1 {row.split()[1]} / {row.split()[0]} rw - ext4 /dev/x rw\n" for row in rows))
    tool(tmp_path / "df", f'echo "$@" >>{asked}')
    printed(PROBE.commands[0].argv[2].replace("/proc/self/mountinfo", str(table)), tools=tmp_path)
    places, _, data, _ = asked.read_text().splitlines()
    assert set(places.split()) >= {"-Pk", "/", "/var/lib/kubelet"}
    assert set(data.split()) == {"-Pk", "/srv/data", "/srv/*/$(id)", "/data"}, (
        "the node's own places were asked already"
    )
