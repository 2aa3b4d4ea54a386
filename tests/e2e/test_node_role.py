"""The node's side on many nodes: the role of the packed sources by ansible-core, against a real OpenSSH server."""

from __future__ import annotations

import json
import os
import pwd
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_installed import built
from tests.nodes.accounts import change_accounts
from tests.nodes.sshd import OWN_LOGIN, Sshd
from tests.program import zombie
from tests.tool_environment import programs_of

pytestmark = [pytest.mark.slow, pytest.mark.long, *OWN_LOGIN]


@pytest.fixture(scope="module")
def ansible(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The program, and the playbook as a release packs it: nothing of this checkout stands around it."""
    folder = tmp_path_factory.mktemp("ansible")
    with tarfile.open(built("sdist", folder)) as packed:
        packed.extractall(folder, filter="data")
    (playbook,) = folder.glob("zombie_bot-*/deploy/ansible/nodes.yml")
    return [programs_of("requirements-deploy.lock", folder) / "ansible-playbook", playbook]


@pytest.fixture
def admin() -> Iterator[Sshd]:
    """The way in of whoever runs Ansible: root's own."""
    with Sshd(login_as_root=True) as sshd:
        yield sshd


@pytest.fixture
def node() -> Iterator[Sshd]:
    """The same machine as every login finds it, which brings its keys in its home."""
    with Sshd(extra_config="AuthorizedKeysFile .ssh/authorized_keys\n") as sshd:
        yield sshd


@pytest.fixture
def user(tmp_path: Path) -> Iterator[str]:
    """A name for the login that the role makes; whatever is left of it goes."""
    name = f"zr-{os.getpid() % 10000}-{abs(hash(tmp_path)) % 10000}"
    yield name
    setup = tmp_path / "node-setup.sh"
    if setup.exists():
        change_accounts(["sh", str(setup), "--remove"])


def played(ansible: list[Path], folder: Path, admin: Sshd, *more: str) -> dict[str, int]:
    """Run the playbook, as its first lines say, and return what changed."""
    hosts = {
        "ansible_host": admin.address,
        "ansible_port": admin.port,
        "ansible_user": admin.user,
        "ansible_ssh_private_key_file": str(admin.client_key),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={admin.known_hosts} -o IdentitiesOnly=yes",
        "ansible_python_interpreter": sys.executable,
    }
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": {"node-1": hosts}}}))
    environment = {**os.environ, "ANSIBLE_HOME": str(folder / "a"), "ANSIBLE_NOCOLOR": "1", "PWD": str(folder)}
    done = run([*ansible, "-i", folder / "hosts.json", *more], folder, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    (recap,) = (line for line in done.stdout.splitlines() if line.startswith("node-1 "))
    return {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", recap)}


def run(command: Sequence[object], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)


def is_there(user: str) -> bool:
    try:
        return bool(pwd.getpwnam(user))
    except KeyError:
        return False


def setup(folder: Path, user: str, *words: str) -> None:
    made = zombie("sudoers", "--user", user, "--script", *words)
    assert made.returncode == 0, made.stderr
    (folder / "node-setup.sh").write_text(made.stdout)


def checked(folder: Path, node: Sshd, user: str) -> tuple[int, dict[str, Any]]:
    inventory = folder / "inventory.toml"
    inventory.write_text(
        f'[ssh]\nuser = "{user}"\nkey = "zombie_key"\nknown_hosts = "{node.known_hosts}"\n'
        f'[nodes.node-1]\naddress = "{node.address}"\nport = {node.port}\n'
    )
    done = zombie("check", "node-1", "--json", "--inventory", str(inventory), env={**os.environ, "HOME": str(folder)})
    found: dict[str, Any] = json.loads(done.stdout)["nodes"][0]
    return done.returncode, found


def keys(folder: Path, *names: str) -> None:
    for name in names:
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], folder, dict(os.environ))


def test_role_makes_the_login_says_what_it_changed_and_takes_it_away_again(
    ansible: list[Path], admin: Sshd, node: Sshd, user: str, tmp_path: Path
) -> None:
    keys(tmp_path, "zombie_key")
    setup(tmp_path, user, str(tmp_path / "zombie_key.pub"))
    assert played(ansible, tmp_path, admin, "--check")["skipped"] == 1
    assert not is_there(user)
    assert played(ansible, tmp_path, admin)["changed"] == 1
    status, verdict = checked(tmp_path, node, user)
    assert status in (0, 1), verdict
    assert "kernel_log" not in [each["probe"] for each in verdict["unread"]]
    assert played(ansible, tmp_path, admin)["changed"] == 0, "a second run changes nothing"
    lines = Path(f"/etc/sudoers.d/zombie-{user}")
    whole = lines.read_text()
    lines.write_text(whole.partition("\n")[2])
    assert played(ansible, tmp_path, admin)["changed"] == 1
    assert lines.read_text() == whole
    assert played(ansible, tmp_path, admin, "-e", "zombie_node_state=absent")["changed"] == 1
    assert not is_there(user)
    assert not lines.exists()
    assert played(ansible, tmp_path, admin, "-e", "zombie_node_state=absent")["changed"] == 0


def test_certificate_of_an_authority_lets_in_and_only_for_that_login(
    ansible: list[Path], admin: Sshd, node: Sshd, user: str, tmp_path: Path
) -> None:
    keys(tmp_path, "ca", "zombie_key")
    setup(tmp_path, user, str(tmp_path / "ca.pub"), "--ca")
    played(ansible, tmp_path, admin)
    assert checked(tmp_path, node, user)[0] == 4, "the key alone is not trusted"
    for principal, status in (("other", (4,)), (user, (0, 1))):
        sign = ["ssh-keygen", "-q", "-s", tmp_path / "ca", "-I", "zombie", "-n", principal, "-V", "+1h"]
        run([*sign, tmp_path / "zombie_key.pub"], tmp_path, dict(os.environ))
        assert checked(tmp_path, node, user)[0] in status, principal


def test_state_that_is_none_and_a_script_that_is_not_there_are_refused(
    ansible: list[Path], admin: Sshd, tmp_path: Path
) -> None:
    for more in (["-e", "zombie_node_state=gone"], []):
        with pytest.raises(AssertionError, match=r"zombie_node_state|node-setup\.sh"):
            played(ansible, tmp_path, admin, *more)
