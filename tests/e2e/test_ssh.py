"""Every way to and not to reach a node by SSH: each failure has its own class and sentence, and ends in time."""

import asyncio
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.batch import Batch, Sampling
from bot.domain.command import Command, Completed
from bot.domain.errors import (
    BannerStalled,
    ConnectionLost,
    ConnectionRefused,
    ConnectTimedOut,
    HostKeyRejected,
    LoginRefused,
    MissingFile,
    NameUnknown,
    StoodStill,
    Unreachable,
    ZombieError,
)
from bot.domain.node import Node
from bot.transport.ssh import SshTransport
from bot.transport.ssh_options import Keyring
from tests.contract.ways import nonce, promised
from tests.e2e import faulty_servers
from tests.nodes.sshd import IS_ROOT, SSHD, Sshd

pytestmark = [
    pytest.mark.real_sshd,
    pytest.mark.skipif(SSHD is None, reason="sshd is not installed (Debian: apt install openssh-server)"),
]

DEADLINE = timedelta(seconds=3)
HELLO = Command("hello", ("echo", "hello"))


def node_of(sshd: Sshd, **more: object) -> Node:
    node = Node("node-1", sshd.address, sshd.port, sshd.user, sshd.client_key, sshd.known_hosts, None,
                timedelta(seconds=1))  # fmt: skip
    return replace(node, **more)  # type: ignore[arg-type]


async def read(node: Node, *commands: Command, agent: str | None = None) -> list[Completed]:
    transport = SshTransport(Keyring(Path("/nonexistent/known_hosts"), agent), nonce)
    batch = Batch.of([("p", command) for command in commands or (HELLO,)], Sampling(1))
    for _ in range(5):
        with suppress(StoodStill):  # this machine gave the test no processor, which says nothing of the node
            return [run async for run in transport.read(node, batch, DEADLINE)]
    raise AssertionError("no processor was left for this test")


@dataclass
class Failure:
    sentence: str = ""
    try_next: str = ""
    kind: str = ""


@contextmanager
def fails(with_class: type[ZombieError], sentence: str) -> Iterator[Failure]:
    """What is inside must fail with exactly this class and a sentence like this, in time."""
    failure, started = Failure(), time.monotonic()
    with pytest.raises(ZombieError) as caught:
        yield failure
    assert time.monotonic() - started < promised(DEADLINE.total_seconds())
    error = caught.value
    assert isinstance(error, with_class), repr(error)
    assert re.search(sentence, error.sentence), error.sentence
    assert error.sentence.endswith(".")
    assert "\n" not in error.sentence
    failure.sentence, failure.try_next = error.sentence, error.try_next
    failure.kind = error.kind if isinstance(error, Unreachable) else ""


def run(*argv: str, **environment: str) -> None:
    subprocess.run(argv, check=True, timeout=30, env=os.environ | environment, capture_output=True)


def keygen(path: Path, *more: str) -> Path:
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path), *more)
    return path


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


# --- keys


async def test_missing_key(shared: Sshd, tmp_path: Path) -> None:
    with fails(MissingFile, rf"^There is no private key {tmp_path}/key\.$"):
        await read(node_of(shared, key=tmp_path / "key"))


async def test_key_that_is_a_folder(shared: Sshd, tmp_path: Path) -> None:
    with fails(MissingFile, rf"^The private key {tmp_path} cannot be read\.$"):
        await read(node_of(shared, key=tmp_path))


@pytest.mark.skipif(IS_ROOT, reason="root may read everything")
async def test_unreadable_key(shared: Sshd, tmp_path: Path) -> None:
    keygen(tmp_path / "key").chmod(0)
    with fails(MissingFile, r"cannot be read\.$"):
        await read(node_of(shared, key=tmp_path / "key"))


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
async def test_key_that_is_open_to_others(shared: Sshd, tmp_path: Path, mode: int) -> None:
    keygen(tmp_path / "key").chmod(mode)
    with fails(MissingFile, rf"is open to others \(mode {mode:o}\)\.$") as failure:
        await read(node_of(shared, key=tmp_path / "key"))
    assert failure.try_next == f"chmod 600 {tmp_path}/key"


@pytest.mark.parametrize("form", [[], ["-m", "PEM", "-t", "rsa"]])
async def test_key_with_a_passphrase(shared: Sshd, tmp_path: Path, form: list[str]) -> None:
    keygen(tmp_path / "key", *form, "-N", "secret")
    with fails(MissingFile, "has a passphrase, which the bot cannot type") as failure:
        await read(node_of(shared, key=tmp_path / "key"))
    assert failure.try_next == f"Load it into an agent first: ssh-add {tmp_path}/key"


@pytest.mark.parametrize("text", [b"", b"not a key\n", b"-----BEGIN OPENSSH PRIVATE KEY-----\n", os.urandom(500)])
async def test_file_that_is_no_key(shared: Sshd, tmp_path: Path, text: bytes) -> None:
    (tmp_path / "key").write_bytes(text)
    (tmp_path / "key").chmod(0o600)
    with fails(MissingFile, rf"^{tmp_path}/key is not a private key: "):
        await read(node_of(shared, key=tmp_path / "key"))


# --- login


async def test_wrong_user(shared: Sshd) -> None:
    with fails(LoginRefused, r"^node-1 .* refused the login as nobody-of-that-name: Permission denied") as failure:
        await read(node_of(shared, user="nobody-of-that-name"))
    assert failure.kind == "authentication"


async def test_wrong_key(shared: Sshd, tmp_path: Path) -> None:
    with fails(LoginRefused, rf"refused the login as {shared.user}: "):
        await read(node_of(shared, key=keygen(tmp_path / "key")))


@pytest.mark.skipif(not IS_ROOT, reason="sshd runs such a command as another user only as root")
async def test_login_that_hangs(tmp_path: Path) -> None:
    config = f"AuthorizedKeysCommand {shutil.which('sleep')} 600\nAuthorizedKeysCommandUser root"
    with Sshd(extra_config=config) as node:
        (node.folder / "authorized_keys").write_text("")
        with fails(LoginRefused, r"did not finish the login in time\.$"):
            await read(node_of(node))


async def test_session_that_is_not_opened() -> None:
    with Sshd(extra_config="MaxSessions 0") as node, fails(ConnectionLost, r"^The connection to node-1 .* broke: "):
        await read(node_of(node))


# --- certificates and agent


async def test_user_certificate_and_host_authority(tmp_path: Path) -> None:
    users, hosts, key = (keygen(tmp_path / name) for name in ("users", "hosts", "key"))
    with Sshd() as node:
        run("ssh-keygen", "-q", "-s", str(users), "-I", "me", "-n", node.user, "-V", "+1h", f"{key}.pub")
        run("ssh-keygen", "-q", "-s", str(hosts), "-I", "host", "-h", "-n", node.address, f"{node.host_key}.pub")
        shutil.copy(f"{users}.pub", node.folder / "users.pub")  # where sshd may read it
        (node.folder / "authorized_keys").write_text("")
        node.stop()
        node.configure(f"TrustedUserCAKeys {node.folder}/users.pub\nHostCertificate {node.host_key}-cert.pub")
        node.start()
        known = tmp_path / "known_hosts"
        known.write_text(f"@cert-authority [127.0.0.1]:{node.port} {text_of(hosts)}")
        assert [run.stdout for run in await read(node_of(node, key=key, known_hosts=known))] == ["hello\n"]
        known.write_text(f"@cert-authority [127.0.0.1]:{node.port} {text_of(users)}")
        with fails(HostKeyRejected, "is not the one in"):
            await read(node_of(node, key=key, known_hosts=known))


def text_of(key: Path) -> str:
    return Path(f"{key}.pub").read_text()


@contextmanager
def agent(folder: Path) -> Iterator[str]:
    where = str(folder / "agent.sock")
    with subprocess.Popen(["ssh-agent", "-D", "-a", where], stdout=subprocess.DEVNULL) as running:
        try:
            while not Path(where).exists():
                assert running.poll() is None
            yield where
        finally:
            running.terminate()


def add(where: str, *keys: Path) -> None:
    run("ssh-add", "-q", *map(str, keys), SSH_AUTH_SOCK=where)


async def test_key_of_an_agent(shared: Sshd, tmp_path: Path) -> None:
    with agent(tmp_path) as where:
        add(where, shared.client_key)
        assert [run.stdout for run in await read(node_of(shared, key=None), agent=where)] == ["hello\n"]


async def test_named_key_is_tried_before_an_agent_full_of_others(shared: Sshd, tmp_path: Path) -> None:
    with agent(tmp_path) as where:
        add(where, *(keygen(tmp_path / f"other-{number}") for number in range(8)))
        assert [run.stdout for run in await read(node_of(shared), agent=where)] == ["hello\n"]
        with fails(LoginRefused, "refused the login as .*: Too many authentication failures"):
            await read(node_of(shared, key=None), agent=where)


async def test_key_with_a_passphrase_that_an_agent_holds(shared: Sshd, tmp_path: Path) -> None:
    with agent(tmp_path) as where:
        locked = tmp_path / "locked"
        shutil.copy(shared.client_key, locked)
        shutil.copy(f"{shared.client_key}.pub", f"{locked}.pub")
        add(where, locked, *(keygen(tmp_path / f"other-{number}") for number in range(8)))
        run("ssh-keygen", "-q", "-p", "-N", "secret", "-f", str(locked))
        for key in (locked, Path(f"{locked}.pub")):
            assert [run.stdout for run in await read(node_of(shared, key=key), agent=where)] == ["hello\n"]


async def test_agent_that_is_gone(shared: Sshd, tmp_path: Path) -> None:
    with fails(LoginRefused, "refused the login"):
        await read(node_of(shared, key=None), agent=str(tmp_path / "gone"))


# --- OpenSSH client configuration


@contextmanager
def configured(tmp_path: Path, text: str) -> Iterator[Path]:
    path = tmp_path / "ssh_config"
    path.write_text(text)
    yield path


def host(name: str, sshd: Sshd, *more: str) -> str:
    lines = [f"HostName {sshd.address}", f"Port {sshd.port}", f"User {sshd.user}", f"IdentityFile {sshd.client_key}",
             *more]  # fmt: skip
    if not any(line.startswith("UserKnownHostsFile") for line in more):
        lines.append(f"UserKnownHostsFile {sshd.known_hosts}")
    return f"Host {name}\n" + "".join(f"  {line}\n" for line in lines)


def by_config(path: Path, name: str = "target") -> Node:
    return Node(name, name, ssh_config=path, connect_timeout=timedelta(seconds=1))


async def test_node_by_an_openssh_config(shared: Sshd, tmp_path: Path) -> None:
    with configured(tmp_path, host("target", shared)) as path:
        assert [run.stdout for run in await read(by_config(path))] == ["hello\n"]


@pytest.mark.parametrize("switch", ["none", "/dev/null"])
async def test_config_that_switches_host_keys_off_is_refused(shared: Sshd, tmp_path: Path, switch: str) -> None:
    text = host("target", shared, f"UserKnownHostsFile {switch}", "StrictHostKeyChecking no")
    with configured(tmp_path, text) as path, fails(MissingFile, "switches host key checking off for target"):
        await read(by_config(path))


async def test_config_that_switches_host_keys_off_for_a_jump_host_is_refused(shared: Sshd, tmp_path: Path) -> None:
    text = host("target", shared, "ProxyJump bastion") + host("bastion", shared, "UserKnownHostsFile none")
    with configured(tmp_path, text) as path, fails(MissingFile, "switches host key checking off for bastion"):
        await read(by_config(path))


async def test_node_behind_a_jump_host(shared: Sshd, tmp_path: Path) -> None:
    with Sshd() as bastion:
        text = host("target", shared, "ProxyJump bastion") + host("bastion", bastion)
        with configured(tmp_path, text) as path:
            assert [run.stdout for run in await read(by_config(path))] == ["hello\n"]
        assert f"Accepted publickey for {bastion.user}" in bastion.log_text()


async def test_node_behind_two_jump_hosts_given_by_address(shared: Sshd, tmp_path: Path) -> None:
    with Sshd() as one, Sshd() as two:
        jumps = ",".join(f"{sshd.user}@{sshd.address}:{sshd.port}" for sshd in (one, two))
        known = tmp_path / "known_hosts"
        known.write_text("".join(sshd.known_hosts_line() for sshd in (shared, one, two)))
        keys = tmp_path / "keys"
        shutil.copy(shared.client_key, keys)
        for sshd in (one, two):
            shutil.copy(shared.folder / "authorized_keys", sshd.folder / "authorized_keys")
        with configured(tmp_path, host("target", shared, f"ProxyJump {jumps}", "UserKnownHostsFile none")) as path:
            node = replace(by_config(path), known_hosts=known, key=keys)
            assert [run.stdout for run in await read(node)] == ["hello\n"]
        for sshd in (one, two):
            assert "Accepted publickey" in sshd.log_text()


async def test_what_fails_is_the_jump_host_and_it_is_said(shared: Sshd, tmp_path: Path) -> None:
    with Sshd() as bastion:
        text = host("target", shared, "ProxyJump bastion") + host("bastion", bastion)
        with configured(tmp_path, text) as path:
            bastion.known_hosts.write_text("")
            with fails(HostKeyRejected, r"^The host key of the jump host bastion \(127.0.0.1:\d+\) is unknown"):
                await read(by_config(path))
            bastion.stop()
            with fails(ConnectionRefused, r"^the jump host bastion \(127.0.0.1:\d+\) refused the connection\.$"):
                await read(by_config(path))


async def test_node_that_its_jump_host_cannot_reach(shared: Sshd, tmp_path: Path) -> None:
    with faulty_servers.refusing() as port, faulty_servers.listening() as silent:
        for at, error, sentence in (
            (port, ConnectionRefused, r"^target .* refused the connection\.$"),
            (silent.getsockname()[1], BannerStalled, r"^target .* said nothing\.$"),
        ):
            text = host("target", shared, "ProxyJump bastion").replace(f"Port {shared.port}", f"Port {at}")
            with configured(tmp_path, text + host("bastion", shared)) as path, fails(error, sentence):
                await read(by_config(path))


async def test_jump_hosts_in_a_circle_come_to_an_end(shared: Sshd, tmp_path: Path) -> None:
    text = host("target", shared, "ProxyJump a") + host("a", shared, "ProxyJump b") + host("b", shared, "ProxyJump a")
    with configured(tmp_path, text) as path, fails(MissingFile, "more than 8 jump hosts"):
        await read(by_config(path))


async def test_jump_host_for_every_host_is_not_reached_over_itself(shared: Sshd, tmp_path: Path) -> None:
    text = host("*", shared, "ProxyJump bastion")
    with configured(tmp_path, text) as path:
        assert [run.stdout for run in await read(by_config(path))] == ["hello\n"]


async def test_proxy_command(shared: Sshd, tmp_path: Path) -> None:
    proxy = f"ProxyCommand ssh {' '.join(shared.ssh_options)} -W %h:%p {shared.address}"
    with configured(tmp_path, host("target", shared, proxy)) as path:
        assert [run.stdout for run in await read(by_config(path))] == ["hello\n"]
    with (
        configured(tmp_path, host("target", shared, "ProxyCommand /bin/false")) as path,
        fails(ConnectionLost, "^target .* hung up before the login"),
    ):
        await read(by_config(path))


async def test_host_key_under_an_alias(shared: Sshd, tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    known.write_text(f"the-alias {shared.known_hosts_line().split(' ', 1)[1]}")
    text = host("target", shared, "HostKeyAlias the-alias", f"UserKnownHostsFile {known}")
    with configured(tmp_path, text) as path:
        assert [run.stdout for run in await read(by_config(path))] == ["hello\n"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("Port not-a-number", r"ssh_config cannot be used: "),
        ("IdentityFile /nonexistent/key", r"^There is no private key /nonexistent/key\.$"),
        ('HostName "unclosed', r"ssh_config cannot be used: "),
        ("UserKnownHostsFile /nonexistent/known_hosts", r"^There is no known_hosts file /nonexistent/known_hosts, "),
    ],
)
async def test_config_that_cannot_be_used(tmp_path: Path, line: str, sentence: str) -> None:
    (tmp_path / "known_hosts").write_text("")
    text = f"Host target\n  {line}\n  HostName 127.0.0.1\n  UserKnownHostsFile {tmp_path}/known_hosts\n"
    with configured(tmp_path, text) as path, fails(MissingFile, sentence):
        await read(by_config(path))


async def test_config_that_is_missing(tmp_path: Path) -> None:
    with fails(MissingFile, rf"^There is no OpenSSH client config {tmp_path}/none\.$"):
        await read(by_config(tmp_path / "none"))
