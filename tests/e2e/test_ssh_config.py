"""A node by an OpenSSH client configuration: jump hosts, proxies, aliases, and no host trusted unseen."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.errors import (
    BannerStalled,
    ConnectionLost,
    ConnectionRefused,
    HostKeyRejected,
    MissingFile,
)
from bot.domain.node import Node
from tests.e2e import faulty_servers
from tests.e2e.connecting import fails, read
from tests.nodes.sshd import SSHD, Sshd

pytestmark = [
    pytest.mark.real_sshd,
    pytest.mark.skipif(SSHD is None, reason="sshd is not installed (Debian: apt install openssh-server)"),
]

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
