"""Keys, users, certificates and agents: what lets in, and what a refusal says."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.domain.errors import (
    ConnectionLost,
    HostKeyRejected,
    LoginRefused,
    MissingFile,
)
from tests.e2e.connecting import fails, keygen, node_of, read, run
from tests.nodes.sshd import IS_ROOT, SSHD, Sshd

pytestmark = [
    pytest.mark.real_sshd,
    pytest.mark.skipif(SSHD is None, reason="sshd is not installed (Debian: apt install openssh-server)"),
]

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
