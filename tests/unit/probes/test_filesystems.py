"""filesystems: which device a mount is on, as the kernel's log names it; through the fragment, on a made table."""

import subprocess
from pathlib import Path

from bot.probes.filesystems import PROBE, parse
from tests.readings.recorded import once


def devices(tmp_path: Path, *rows: str) -> dict[str, str]:
    """Return the device of each mount point of a table."""
    table = tmp_path / "mountinfo"
    table.write_text("".join(f"{row}\n" for row in rows))
    (command,) = PROBE.commands
    script = command.argv[2].replace("/proc/self/mountinfo", str(table))
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return {mount.point: mount.device for mount in parse(once("look", done.stdout)).mounts}


def test_btrfs_on_a_mapped_device_has_the_kernels_own_name(tmp_path: Path) -> None:
    (tmp_path / "dm-4").write_text("")
    (tmp_path / "mapper").mkdir()
    (tmp_path / "mapper" / "vg-data").symlink_to("../dm-4")
    found = devices(
        tmp_path,
        f"41 1 0:4035 / /srv/data rw,relatime shared:2 - btrfs {tmp_path}/mapper/vg-data rw,space_cache=v2",
        "42 1 0:4036 / /srv/plain rw,relatime shared:3 - btrfs /dev/none-such1 rw,space_cache=v2",
        "43 1 0:4037 / /srv/$(id) rw,relatime shared:4 - btrfs $(id)`id`;id rw",
    )
    assert found == {"/srv/data": "dm-4", "/srv/plain": "none-such1", "/srv/$(id)": "$(id)`id`;id"}
