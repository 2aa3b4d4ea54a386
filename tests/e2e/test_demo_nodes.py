"""Every node of the demo's fleet answers over real SSH: to a strict client in Python, and to OpenSSH's own."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.demo.fleet import FLEET, Fleet, running
from bot.demo.ssh_server import ADDRESS, USER
from bot.domain.batch import Batch, FrameDecoder, Sampling, launch_command
from bot.domain.command import Command, Completed, SampleTimes
from tests.conftest import missing

NONCE = "5eed" * 6
REACHABLE = [member.name for member in FLEET if member.fault is None]
QUESTIONS = Batch.of(
    [
        ("host", Command("kernel", ("cat", "/proc/sys/kernel/osrelease"), lane="files")),
        ("host", Command("files", ("tail", "-v", "-n", "+1", "/proc/uptime", "/etc/os-release"), lane="files")),
        ("cgroups", Command("rows", ("cat", "/proc/cgroups"), looks=SampleTimes.TWICE, lane="files")),
        (
            "cpu",
            Command(
                "mpstat",
                ("mpstat", "-P", "ALL", "-o", "JSON", "1", "{samples}"),
                looks=SampleTimes.THROUGHOUT,
                lane="cpu",
            ),
        ),
        ("units", Command("unit", ("systemctl", "show", "-p", "Id", "--", "ssh.service"), lane="systemd")),
        ("none", Command("nothing", ("no-such-tool",), lane="files")),
    ],
    Sampling(1),
)


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with running(FLEET, tmp_path, lambda: datetime.now(UTC)) as started:
        yield started


def openssh(fleet: Fleet, name: str, *command: str) -> list[str]:
    ssh = shutil.which("ssh")
    if ssh is None:
        missing("OpenSSH's ssh is not installed (Debian: apt install openssh-client)")
    options = ["BatchMode=yes", "IdentitiesOnly=yes", "StrictHostKeyChecking=yes", "ConnectTimeout=5"]
    options += [f"UserKnownHostsFile={fleet.known_hosts}", "GlobalKnownHostsFile=/dev/null", "LogLevel=ERROR"]
    words = [word for option in options for word in ("-o", option)]
    port = str(fleet.servers[name].port)
    return [ssh, "-F", "none", "-i", str(fleet.key), *words, "-p", port, f"{USER}@{ADDRESS}", *command]


async def started(argv: list[str]) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, stderr=pipe)


async def ended(argv: list[str]) -> tuple[int | None, str, str]:
    process = await started(argv)
    async with asyncio.timeout(60):
        stdout, stderr = await process.communicate(b"")
    return process.returncode, stdout.decode(), stderr.decode()


def unframed(lines: str) -> tuple[dict[tuple[str, int], Completed], bool]:
    unframer = FrameDecoder(QUESTIONS, NONCE)
    runs = {(run.name, run.look): run for line in lines.splitlines() for run in unframer.feed(line)}
    return runs, unframer.finished


def check_answers(name: str, runs: dict[tuple[str, int], Completed], finished: bool) -> None:
    state = next(member.state for member in FLEET if member.name == name)
    assert finished
    assert set(runs) == {(question.command.name, question.look) for question in QUESTIONS.questions}
    assert runs["kernel", 0].stdout == f"{state.system.kernel}\n"
    assert f'PRETTY_NAME="{state.system.pretty}"' in runs["files", 0].stdout
    assert runs["rows", 0].stdout.startswith("#subsys_name\thierarchy")
    first, later = runs["rows", 0].started_at_uptime, runs["rows", 1].started_at_uptime
    assert first is not None
    assert later is not None
    assert 0.6 < later - first < 3
    assert runs["nothing", 0].failure == "the command is missing"
    assert (runs["mpstat", 0].failure is None) == bool(state.system.sysstat)


async def test_openssh_runs_a_batch_and_keeps_the_lifeline(fleet: Fleet) -> None:
    script = QUESTIONS.script(NONCE)
    process = await started(openssh(fleet, REACHABLE[0], launch_command(script)))
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(script.encode())
    async with asyncio.timeout(60):
        lines = (await process.stdout.read()).decode()
        process.stdin.close()
        assert await process.wait() == 0
    check_answers(REACHABLE[0], *unframed(lines))


async def test_person_can_look_with_openssh_by_bare_commands(fleet: Fleet) -> None:
    files = ("/proc/sys/kernel/hostname", "/proc/sys/kernel/osrelease")
    for member in FLEET:
        if member.fault is None:
            name, kernel = member.name, member.state.system.kernel
            assert await ended(openssh(fleet, name, "cat", *files)) == (0, f"{name}\n{kernel}\n", "")
    _, cgroups, _ = await ended(openssh(fleet, "ray-gpu-1a-0417", "cat /proc/cgroups"))
    assert "\t68680\t1\n" in cgroups
    status, state, _ = await ended(openssh(fleet, "ray-gpu-1a-0417", "systemctl show -p UnitFileState -- ecs.service"))
    assert (status, state) == (0, "UnitFileState=enabled\n")
    status, _, complaint = await ended(openssh(fleet, "ray-gpu-1a-0417", "nonsense --now"))
    assert (status, complaint) == (127, "a demo node: nonsense is not recorded here\n")
