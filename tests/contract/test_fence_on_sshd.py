"""A fence on a real node: elsewhere than it was approved for, in another boot or too late, a command does nothing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.domain.action import Step
from bot.domain.errors import HostKeyRejected
from bot.domain.fence import SENT_WITHIN, Fence, FenceRefusal
from bot.domain.node import Node
from bot.response.execution.node_access import NodeAccess, RefusedByFence
from bot.transport.ssh import SshTransport
from tests.contract.ways import over_ssh
from tests.nodes.sshd import Sshd

TOUCHING = replace(ACTIONS["disable_unit"], name="touch", rights=())
SHELLS = ("dash", "bash", "busybox")


@dataclass
class Reached:
    """A real node, the fence that fits it, and whether a command of ours came through."""

    reach: NodeAccess
    node: Node
    fence: Fence
    sign: Path

    async def sent(self, fence: Fence) -> bool:
        """Send a command behind a fence, and return whether it ran."""
        step = Step("touch", {"unit": "x"}, (f"echo ran >{self.sign}",))
        ended = await self.reach.run(self.node, step, fence)
        assert ended is not None
        assert (ended.exit_status, ended.stderr) == (0, "")
        return self.sign.exists()


async def reached(sshd: Sshd) -> Reached:
    way = over_ssh(sshd)
    transport = way.transport
    assert isinstance(transport, SshTransport)
    reach = NodeAccess(transport, {"touch": TOUCHING})
    seen = await reach.look(way.node)
    assert seen.uptime is not None
    until = int(seen.uptime + SENT_WITHIN.total_seconds() * 4)
    sshd.home.chmod(0o777)
    return Reached(reach, way.node, Fence(seen.boot_id, seen.machine_id, seen.host_key, until), sshd.home / "sign")


@pytest.mark.real_sshd
async def test_command_runs_on_the_machine_in_the_boot_and_in_the_time_that_were_approved(sshd: Sshd) -> None:
    here = await reached(sshd)
    assert await here.sent(here.fence)


@pytest.mark.real_sshd
@pytest.mark.parametrize(
    ("other", "why"),
    [
        (lambda fence: replace(fence, machine_id="0" * 32), FenceRefusal.MACHINE),
        (lambda fence: replace(fence, boot_id="0" * 8 + fence.boot_id[8:]), FenceRefusal.BOOT),
        (lambda fence: replace(fence, until=fence.until - int(SENT_WITHIN.total_seconds() * 4)), FenceRefusal.LATE),
    ],
    ids=["another machine", "another boot", "too late"],
)
async def test_command_for_another_machine_boot_or_time_does_nothing(
    sshd: Sshd, other: Callable[[Fence], Fence], why: FenceRefusal
) -> None:
    here = await reached(sshd)
    with pytest.raises(RefusedByFence) as kept_back:
        await here.sent(other(here.fence))
    assert kept_back.value.why is why
    assert not here.sign.exists()


@pytest.mark.real_sshd
async def test_connection_that_shows_another_trusted_host_key_is_sent_nothing(sshd: Sshd) -> None:
    """The address was given to another machine, which known_hosts trusts as well."""
    here = await reached(sshd)
    before = sshd.known_hosts.read_text()
    sshd.replace_host_key()
    sshd.known_hosts.write_text(before + sshd.known_hosts_line())
    with pytest.raises(HostKeyRejected, match="not the approved"):
        await here.sent(here.fence)
    assert not here.sign.exists()
    assert (await here.reach.look(here.node)).machine_id == here.fence.machine_id, "it answers, and is trusted"


# --- the text itself


def fits() -> Fence:
    """The fence of this very machine."""
    words = [Path(path).read_text().strip() for path in ("/proc/sys/kernel/random/boot_id", "/etc/machine-id")]
    up = float(Path("/proc/uptime").read_text().split()[0])
    return Fence(words[0], words[1], "", int(up) + 3600)


def shell(name: str, line: str, **more: Any) -> subprocess.CompletedProcess[str]:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"no {name} here")
    argv = [program, "sh", "-c", line] if name == "busybox" else [program, "-c", line]
    return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False, **more)


@pytest.mark.parametrize("name", SHELLS)
def test_fence_is_plain_sh_and_lets_its_own_machine_through(name: str) -> None:
    done = shell(name, fits().fenced_line("echo ran; exit 3"))
    assert (done.stdout, done.stderr, done.returncode) == ("ran\n", "", 3)


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize(
    "value", ["$(echo ran)", "`echo ran`", "x' || echo ran; '", '" || echo ran; "', "a;echo ran", ""]
)
def test_nothing_in_a_fence_is_run_by_the_shell(name: str, value: str) -> None:
    done = shell(name, replace(fits(), machine_id=value).fenced_line("echo through"))
    assert (done.stdout, done.stderr, done.returncode) == ("", "not run: another machine\n", 91)


@pytest.mark.parametrize("name", SHELLS)
def test_machine_is_the_same_in_whatever_letter_case_its_file_has_its_id(name: str, tmp_path: Path) -> None:
    fence, file = replace(fits(), machine_id="0123456789abcdef" * 2), tmp_path / "machine-id"
    for written in ("0123456789ABCDEF", "0123456789abcdef", "0123456789aBcDeF"):
        file.write_text(f"{written * 2}\n")
        done = shell(name, fence.fenced_line("echo ran").replace("/etc/machine-id", str(file)))
        assert (done.stdout, done.stderr, done.returncode) == ("ran\n", "", 0)
    file.write_text("0123456789ABCDEE" * 2)
    assert shell(name, fence.fenced_line("echo ran").replace("/etc/machine-id", str(file))).returncode == 91


@pytest.mark.parametrize("name", SHELLS)
def test_fence_that_cannot_read_what_it_compares_lets_nothing_run(name: str) -> None:
    line = fits().fenced_line("echo ran").replace("cat /proc/uptime", "cat /nowhere")
    done = shell(name, line)
    assert (done.stdout, done.returncode) == ("", 93)
    assert done.stderr.endswith("not run: too late\n")


def test_deadline_is_by_the_nodes_own_uptime_and_not_a_second_longer() -> None:
    fence = fits()
    files = {"/etc/machine-id": fence.machine_id, "/proc/sys/kernel/random/boot_id": fence.boot_id}
    assert fence.refusal({**files, "/proc/uptime": f"{fence.until - 1}.99 5.00\n"}) is None
    assert fence.refusal({**files, "/proc/uptime": f"{fence.until}.00 5.00\n"}) is FenceRefusal.LATE
    assert timedelta(seconds=20) > SENT_WITHIN, "what is cut is sent again, and proved, within a minute"
