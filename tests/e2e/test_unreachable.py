"""Every way not to reach a node has its own class and sentence, and ends in time."""

import asyncio
import re
import socket
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.batch import Batch, Sampling
from bot.domain.command import Command
from bot.domain.errors import (
    BannerStalled,
    ConnectionLost,
    ConnectionRefused,
    ConnectTimedOut,
    HostKeyRejected,
    MissingFile,
    NameUnknown,
)
from bot.transport.ssh import SshTransport
from bot.transport.ssh_options import Keyring
from tests.contract.ways import nonce
from tests.e2e import faulty_servers
from tests.e2e.connecting import DEADLINE, HELLO, fails, node_of, read, run
from tests.nodes.sshd import SSHD, Sshd

pytestmark = [
    pytest.mark.real_sshd,
    pytest.mark.skipif(SSHD is None, reason="sshd is not installed (Debian: apt install openssh-server)"),
]

# --- name and TCP


@pytest.mark.parametrize("address", ["no-such-host.invalid", "a..b", "x" * 64 + ".example"])
async def test_address_that_does_not_resolve(shared: Sshd, address: str) -> None:
    with fails(NameUnknown, rf"^The address of node-1 \({re.escape(address)}:\d+\) does not resolve: ") as failure:
        await read(node_of(shared, address=address))
    assert failure.kind == "name-unknown"


async def test_nobody_listens(shared: Sshd) -> None:
    with (
        faulty_servers.refusing() as port,
        fails(ConnectionRefused, rf"^node-1 \(127.0.0.1:{port}\) refused the connection\.$"),
    ):
        await read(node_of(shared, port=port))


async def test_every_address_of_a_name_is_tried(shared: Sshd) -> None:
    shared.known_hosts.write_text(
        shared.known_hosts_line() + shared.known_hosts_line().replace("127.0.0.1", "localhost")
    )
    assert [run.stdout for run in await read(node_of(shared, address="localhost"))] == ["hello\n"]


async def test_connect_that_is_dropped(shared: Sshd) -> None:
    with faulty_servers.full() as port, fails(ConnectTimedOut, r"did not answer in time\.$") as failure:
        await read(node_of(shared, port=port))
    assert failure.kind == "timed-out"


# --- banner and keys


async def test_silence_after_the_connect(shared: Sshd) -> None:
    with (
        faulty_servers.listening() as door,
        fails(BannerStalled, r"accepted the connection and then said nothing\.$") as failure,
    ):
        await read(node_of(shared, port=door.getsockname()[1]))
    assert failure.kind == "banner-stall"
    assert "console" in failure.try_next


@pytest.mark.parametrize("text", [b"SSH-2.0-OpenSSH_9.2\r\n", b"hello\r\nSSH-2.0-x\r\n"])
async def test_silence_after_the_banner(shared: Sshd, text: bytes) -> None:
    with (
        faulty_servers.answering(faulty_servers.saying(text)) as port,
        fails(BannerStalled, r"showed its SSH banner and then stopped"),
    ):
        await read(node_of(shared, port=port))


@pytest.mark.parametrize("after_bytes", [60, 1300])
async def test_silence_during_the_key_exchange(shared: Sshd, after_bytes: int) -> None:
    stalling = faulty_servers.stalling(shared.port, after_bytes)
    with faulty_servers.answering(stalling) as port, fails(BannerStalled, r"showed its SSH banner and then stopped"):
        await read(node_of(shared, port=port))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n" * 2000, "is not an SSH server"),
        (b"SSH-1.5-ancient\r\n", "is not an SSH server"),
        (b"SSH-2.0-\xff\xfe\r\n", "hung up before the login|is not an SSH server"),
        (b"\0" * 100_000, "is not an SSH server"),
        (b"SSH-2.0-x\r\n" + b"\xff" * 100_000, "hung up before the login"),
    ],
)
async def test_something_else_answers(shared: Sshd, text: bytes, sentence: str) -> None:
    with faulty_servers.answering(faulty_servers.saying(text)) as port, fails(ConnectionLost, sentence):
        await read(node_of(shared, port=port))


async def test_no_algorithm_in_common() -> None:
    with (
        Sshd(extra_config="KexAlgorithms diffie-hellman-group-exchange-sha256") as node,
        # The second where sshd, which sees it too, has reset the connection before its offer was read.
        fails(ConnectionLost, "shares no SSH algorithm with us|hung up before the login: Connection lost"),
    ):
        await read(node_of(node))


async def test_hanging_up_before_the_login_is_tried_again(shared: Sshd) -> None:
    times = []
    through = faulty_servers.stalling(shared.port, 10**9)

    def answer(connection: socket.socket) -> None:
        times.append(1)
        (faulty_servers.hanging_up if len(times) < 3 else through)(connection)

    with faulty_servers.answering(answer) as port:
        shared.known_hosts.write_text(shared.known_hosts_line().replace(f":{shared.port}", f":{port}"))
        assert [run.stdout for run in await read(node_of(shared, port=port))] == ["hello\n"]
    assert len(times) == 3
    shared.known_hosts.write_text(shared.known_hosts_line())


async def test_hanging_up_again_and_again(shared: Sshd) -> None:
    with (
        faulty_servers.answering(faulty_servers.hanging_up) as port,
        fails(ConnectionLost, r"hung up before the login: ") as failure,
    ):
        await read(node_of(shared, port=port))
    assert failure.kind == "connection-lost"


# --- host keys


async def test_changed_host_key() -> None:
    with Sshd() as node:
        node.replace_host_key()
        with fails(HostKeyRejected, rf"^The host key of node-1 .* is not the one in {node.known_hosts}") as failure:
            await read(node_of(node))
        assert failure.kind == "host-key"
        assert f"ssh-keygen -R '[127.0.0.1]:{node.port}' -f {node.known_hosts}" in failure.try_next
        assert f"ssh-keyscan -p {node.port} 127.0.0.1 >> {node.known_hosts}" in failure.try_next


async def test_unknown_host_key_shows_how_to_take_it(shared: Sshd, tmp_path: Path) -> None:
    known = tmp_path / "known hosts"
    known.write_text("elsewhere ssh-ed25519 AAAA\n")
    with fails(HostKeyRejected, r"is unknown: .* has no line for it\.$") as failure:
        await read(node_of(shared, known_hosts=known))
    assert f"ssh-keyscan -p {shared.port} 127.0.0.1 >> '{known}'" in failure.try_next
    run("sh", "-c", failure.try_next.split("trust it: ")[1])
    assert [run.stdout for run in await read(node_of(shared, known_hosts=known))] == ["hello\n"]


async def test_revoked_host_key(shared: Sshd, tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    known.write_text(f"{shared.known_hosts_line()}@revoked {shared.known_hosts_line()}")
    with fails(HostKeyRejected, r"is not the one in .*revoked"):
        await read(node_of(shared, known_hosts=known))


async def test_missing_known_hosts_shows_how_to_make_it(shared: Sshd, tmp_path: Path) -> None:
    with fails(
        MissingFile, rf"^There is no known_hosts file {tmp_path}/none, and unknown hosts are not trusted"
    ) as failure:
        await read(node_of(shared, known_hosts=tmp_path / "none"))
    assert failure.try_next.endswith(f"ssh-keyscan -p {shared.port} 127.0.0.1 >> {tmp_path}/none")


@pytest.mark.parametrize("text", ["nonsense\n", "@what a b\n", "\0\n"])
async def test_known_hosts_that_is_none(shared: Sshd, tmp_path: Path, text: str) -> None:
    (tmp_path / "known_hosts").write_text(text)
    with fails(MissingFile, "is not a known_hosts file: Invalid known hosts"):
        await read(node_of(shared, known_hosts=tmp_path / "known_hosts"))


async def test_known_hosts_that_changed_is_read_again(shared: Sshd, tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    known.write_text("")
    keyring = Keyring(known)
    transport, batch = SshTransport(keyring, nonce), Batch.of([("p", HELLO)], Sampling(1))
    with fails(HostKeyRejected, "unknown"):
        _ = [run async for run in transport.read(node_of(shared, known_hosts=None), batch, DEADLINE)]
    known.write_text(shared.known_hosts_line())
    runs = [run async for run in transport.read(node_of(shared, known_hosts=None), batch, DEADLINE)]
    assert [run.stdout for run in runs] == ["hello\n"]


# --- in the middle


@pytest.mark.parametrize("how", ["sessions", "server"])
async def test_what_was_read_before_the_connection_broke_is_kept(how: str) -> None:
    with Sshd() as node:
        transport = SshTransport(Keyring(node.known_hosts), nonce)
        slow = Command("slow", ("sleep", "60"), lane="slow", limit=timedelta(seconds=50))
        batch = Batch.of([("p", HELLO), ("q", slow)], Sampling(1))
        runs = []
        with fails(ConnectionLost, r"^(The connection to )?node-1 .*(broke|closed the session): ?"):
            async for run in transport.read(node_of(node), batch, DEADLINE):
                runs.append(run)
                # Aside: who reads has to go on, or it is this program that stood still.
                await asyncio.to_thread(node.kill_sessions if how == "sessions" else node.stop)
        assert [run.stdout for run in runs] == ["hello\n"]
