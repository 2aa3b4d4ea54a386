"""Who had a node changed stands in the node's own journal, and a journal that is not there holds nothing up."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.action import Step
from bot.domain.command import Command
from bot.domain.fence import JOURNAL_BYTES, SENT_WITHIN, Fence, journal_command, journal_line
from bot.response.execution.node_access import NodeAccess, RefusedByFence
from bot.transport.ssh import SshTransport
from tests.contract.test_fence_on_sshd import SHELLS, TOUCHING, fits, shell
from tests.contract.ways import Way, local, over_ssh
from tests.nodes.sshd import IS_ROOT, Sshd

HOSTILE = "\n".join(
    (
        "$(touch HERE) `reboot` \\$(reboot) %s",
        "it's \"quoted\" ' ; reboot #",
        "Nov 23 03:00:00 node zombie[other]: approved by the CEO\r\n<0>kernel panic",
        "\u202efi\u2066 \x1b]0;x\x07 \0 \udc80 zürich",
        "x" * 10_000,
    )
)
needs_mounts = pytest.mark.skipif(not IS_ROOT or shutil.which("unshare") is None, reason="needs root and unshare")


@contextmanager
def node_with(logger: str) -> Iterator[tuple[Sshd, Path]]:
    """A node whose logger is this script; and the file in which it may leave what it was given."""
    with tempfile.TemporaryDirectory(prefix="zombie-logger-") as name:
        folder = Path(name)
        folder.chmod(0o777)  # the node's login is none of ours
        (folder / "logger").write_text(f"#!/bin/sh\ntold={folder}/told\n{logger}\n")
        (folder / "logger").chmod(0o755)
        script = folder / "logger" if logger else "/dev/null"
        with Sshd(mounts=f"mount --bind {script} {shutil.which('logger')}") as sshd:
            sshd.home.chmod(0o777)
            yield sshd, folder / "told"


async def acted(sshd: Sshd, why: str, late: int = 0) -> float:
    """Send a command with its line, and return how long that took, in seconds."""
    way = over_ssh(sshd)
    assert isinstance(way.transport, SshTransport)
    reach = NodeAccess(way.transport, {"touch": TOUCHING})
    seen = await reach.look(way.node)
    assert seen.uptime is not None
    until = int(seen.uptime + SENT_WITHIN.total_seconds() * 4) - late
    fence = Fence(seen.boot_id, seen.machine_id, seen.host_key, until, "7k3m9x2qpv")
    step = Step("touch", {"unit": "x"}, (f"cat >{sshd.home}/stdin; echo ran >{sshd.home}/sign",))
    began = time.monotonic()
    ended = await reach.run(way.node, step, fence, why=why)
    assert ended is not None
    assert (ended.exit_status, ended.stdout, ended.stderr) == (0, "", "")
    assert (sshd.home / "sign").read_text() == "ran\n"
    assert (sshd.home / "stdin").read_bytes() == b"", "the command reads nothing of it"
    return time.monotonic() - began


@needs_mounts
@pytest.mark.real_sshd
async def test_journal_is_told_on_its_input_and_the_command_line_has_the_id_alone() -> None:
    with node_with('printf "%s\\n" "$@" >"$told"; cat >>"$told"') as (sshd, told):
        await acted(sshd, HOSTILE.replace("HERE", str(sshd.home / "here")))
        argv, line = told.read_bytes().split(b"zombie[7k3m9x2qpv]\n")
        assert argv == b"-p\nuser.notice\n-t\n"
        assert line == journal_line(HOSTILE.replace("HERE", str(sshd.home / "here"))).encode()
        assert not (sshd.home / "here").exists()


@needs_mounts
@pytest.mark.real_sshd
async def test_refused_command_leaves_no_line() -> None:
    with node_with('cat >>"$told"') as (sshd, told):
        with pytest.raises(RefusedByFence):
            await acted(sshd, "why", late=3600)
        assert not (sshd.home / "sign").exists()
        assert not told.exists()
        await acted(sshd, "why")
        assert told.read_text() == "why\n"


@needs_mounts
@pytest.mark.real_sshd
@pytest.mark.parametrize(
    "logger",
    ["", "exit 1", "trap '' TERM; exec sleep 60", "echo noise; echo noise >&2; kill -9 $PPID"],
    ids=["cannot be run", "fails", "hangs", "kills what waits for it"],
)
async def test_logger_that_does_not_serve_holds_nothing_up(logger: str) -> None:
    with node_with(logger) as (sshd, _):
        assert await acted(sshd, HOSTILE) < 20


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("logger", ["", "#!/bin/sh\nexec sleep 60\n"], ids=["missing", "hangs"])
def test_command_runs_in_every_shell_without_a_logger_that_serves(name: str, logger: str, tmp_path: Path) -> None:
    for tool in ("cat", "tr", "timeout", "sleep", "sh"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    if logger:
        (tmp_path / "logger").write_text(logger)
        (tmp_path / "logger").chmod(0o755)
    began = time.monotonic()
    line = replace(fits(), incident="7k3").fenced_line("echo ran; cat; exit 3")
    done = shell(name, line, env={"PATH": str(tmp_path)}, input="why\n")
    assert (done.stdout, done.stderr, done.returncode) == ("ran\n", "", 3)
    assert time.monotonic() - began < (15 if logger else 2)


def test_line_is_one_line_and_the_nodes_own_logger_does_not_split_it(tmp_path: Path) -> None:
    if (logger := shutil.which("logger")) is None:
        pytest.skip("no logger here")
    line = journal_line(HOSTILE.replace("x" * 10_000, "€" * 10_000))
    assert len(line.encode()) <= JOURNAL_BYTES
    assert line.isprintable() is False
    assert line.removesuffix("\n").isprintable()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(str(tmp_path / "log"))
        journal.settimeout(10)
        words = journal_command("7k3m9x2qpv").replace("logger ", f"{logger} -u {tmp_path / 'log'} ", 1)
        subprocess.run(["sh", "-c", words], input=line.encode(), check=True, timeout=10, env={"LC_ALL": "C"})
        told = journal.recv(65536)
        journal.setblocking(False)
        with pytest.raises(BlockingIOError):
            journal.recv(65536)
    assert told.startswith(b"<13>")
    assert told.endswith(b" zombie[7k3m9x2qpv]: " + line.rstrip("\n").encode())


@pytest.fixture(params=["here", pytest.param("over ssh", marks=pytest.mark.real_sshd)])
def way(request: pytest.FixtureRequest) -> Way:
    return local() if request.param == "here" else over_ssh(request.getfixturevalue("sshd"))


async def test_input_arrives_byte_for_byte_and_only_where_it_belongs(way: Way) -> None:
    given = "$(id) `id` 'a' \"b\"\n\\\n%s\tzürich" + "y" * 3000
    runs = await way.ask(Command("with", ("cat",), stdin=given), Command("without", ("cat",)), Command("id", ("id",)))
    assert runs["with", 0].stdout == given
    assert (runs["without", 0].stdout, runs["without", 0].exit_status) == ("", 0)
    assert runs["id", 0].stdout.startswith("uid=")


async def test_command_with_an_input_ends_with_its_connection(way: Way) -> None:
    seconds = f"297.{time.monotonic_ns() % 10**6:06}"

    def running() -> bool:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                if path.read_bytes() == f"sleep\0{seconds}\0".encode():
                    return True
        return False

    asked = asyncio.create_task(way.ask(Command("long", ("sleep", seconds), stdin="why")))
    async with asyncio.timeout(20):
        while not running():  # noqa: ASYNC110 - another session's process reports nothing to us
            await asyncio.sleep(0.05)
    asked.cancel()
    async with asyncio.timeout(20):
        while running():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
