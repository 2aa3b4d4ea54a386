"""A real OpenSSH server on loopback, as a test's node.

The configuration's words are defined in sshd_config(5).
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from bot.domain.node import Node
from tests.nodes.accounts import change_accounts
from tests.ports import free_port
from tests.waiting import until

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin:/sbin")
IS_ROOT = os.geteuid() == 0
OWN_LOGIN = [  # the marks of tests whose server gives a login of its own rights to act as root
    pytest.mark.real_sshd,
    pytest.mark.skipif(SSHD is None, reason="sshd is not installed (Debian: apt install openssh-server)"),
    pytest.mark.skipif(not IS_ROOT, reason="only root can give a login of the test's own its sudo rights"),
]
MARK = "ZOMBIE_TEST_SSHD"  # in the environment of every session, so that what outlives its connection is still found


class Sshd:
    """One OpenSSH server with keys of its own; its login is a fresh unprivileged user as root, else whoever tests.

    Example: `with Sshd() as node: run(["ssh", *node.ssh_options, node.address, "uptime"])`
    """

    address = "127.0.0.1"

    def __init__(
        self,
        *,
        extra_config: str = "",
        login_as_root: bool = False,
        shell: str = "/bin/sh",
        mounts: str = "",
    ) -> None:
        """Prepare, without starting. `extra_config` lines go first, and in sshd_config the first word counts.

        `shell` is the login shell of the test's own user. `mounts` are lines of sh that mount something over the
        node's files, for this server and its sessions alone; only root can.
        """
        if SSHD is None:
            raise FileNotFoundError("sshd is not installed (Debian: apt install openssh-server)")
        self.folder = Path(tempfile.mkdtemp(prefix="zombie-sshd-"))
        self.folder.chmod(0o755)  # the login must read its authorized_keys here
        self.port = 0
        self.log = self.folder / "sshd.log"
        self.client_key = self.folder / "client_key"
        self.host_key = self.folder / "host_key"
        self.known_hosts = self.folder / "known_hosts"
        self._extra_config = extra_config
        self._shell = shell
        self._in_mounts = ["unshare", "--mount", "sh", "-ec", f'{mounts}\nexec "$@"', "sh"] if mounts else []
        self._process: subprocess.Popen[bytes] | None = None
        self._sudoers = Path(f"/etc/sudoers.d/{self.folder.name}")
        self._own_user = IS_ROOT and not login_as_root
        self.user = f"zt-{self.folder.name.removeprefix('zombie-sshd-')}".lower() if self._own_user else _current_user()
        self.home = self.folder / "home"
        self.home.mkdir()

    # --- its life

    def __enter__(self) -> "Sshd":
        try:
            if self._own_user:
                self._make_user()
            _make_key(self.client_key)
            _make_key(self.host_key)
            shutil.copy(f"{self.client_key}.pub", self.folder / "authorized_keys")
            self.start()
            self.known_hosts.write_text(self.known_hosts_line())
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start listening and wait for the banner; on the same port when it was started before."""
        for attempt in range(5):  # between choosing a free port and taking it, another process may be quicker
            self.port = self.port or free_port()
            configuration = self._write_configuration()
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(
                    [*self._in_mounts, str(SSHD), "-D", "-e", "-f", str(configuration)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            if until(self._answers_or_died, what=f"sshd's banner (log: {self.log})") == "answers":
                return
            if attempt == 4 or "Address already in use" not in self.log_text():
                break
            self.port = 0
        raise RuntimeError(f"sshd did not start:\n{self.log_text()}")

    @property
    def pid(self) -> int:
        """The listening server's process."""
        return self._process.pid if self._process is not None else 0

    def stop(self) -> None:
        """End the server and every session of it, as a node does that loses its power; `start` brings it back."""
        process, self._process = self._process, None
        if process is None:
            return
        family = self.processes()
        process.kill()
        process.wait()
        _kill(family)
        until(lambda: not _kill(self.processes()), what="the sessions' end")

    def close(self) -> None:
        """End everything and leave nothing behind: processes, sudo rights, the user, files."""
        self.stop()
        if IS_ROOT:
            self._sudoers.unlink(missing_ok=True)
        if self._own_user and _user_exists(self.user):
            change_accounts(["userdel", self.user])
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- what a test does to it

    def configure(self, extra_config: str) -> None:
        """Change the extra lines of its configuration, for the next start."""
        self._extra_config = extra_config

    def replace_host_key(self) -> None:
        """Come back with another host key, as a rebuilt machine does; known_hosts keeps the old one."""
        self.stop()
        self.host_key.unlink()
        _make_key(self.host_key)
        self.start()

    def kill_sessions(self) -> None:
        """Cut every connection and leave the server listening."""
        listener = self._process.pid if self._process else 0
        _kill([pid for pid in self.processes() if pid != listener])

    def allow_sudo(self, *commands: str, defaults: str = "") -> None:
        """Let the login run these commands (as in sudoers(5)) as root; `defaults` are options, as `!secure_path`.

        Raises: RuntimeError when not root; ValueError with visudo's words.
        """
        if not (IS_ROOT and self._own_user):
            raise RuntimeError("sudo rights are given to a test's own user only, and only root can give them")
        draft = self.folder / "sudoers"
        lines = [f"Defaults:{self.user} {defaults}"] * bool(defaults)
        draft.write_text("\n".join([*lines, *(f"{self.user} ALL=(root) NOPASSWD: {line}" for line in commands), ""]))
        checked = subprocess.run(["visudo", "-cf", draft], capture_output=True, text=True, timeout=30, check=False)
        if checked.returncode:
            raise ValueError(checked.stdout + checked.stderr)
        shutil.copy(draft, self._sudoers)  # sudo ignores names with a dot; this one has none
        self._sudoers.chmod(0o440)

    # --- what a test asks it

    @property
    def ssh_options(self) -> list[str]:
        """What OpenSSH's own client needs to get in, and nothing of its user's configuration."""
        pairs = {
            "Port": self.port,
            "User": self.user,
            "IdentityFile": self.client_key,
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": self.known_hosts,
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "yes",
            "BatchMode": "yes",
        }
        return ["-F", "/dev/null", *(part for name, value in pairs.items() for part in ("-o", f"{name}={value}"))]

    @property
    def node(self) -> Node:
        """What an inventory would say of it; its host key is elsewhere."""
        return Node("real", self.address, self.port, self.user, self.client_key)

    def inventory(self, folder: Path, *names: str) -> Path:
        """Write an inventory in which it stands under these names, or as node-1, and return its path."""
        path, where = folder / "inventory.toml", f'address = "{self.address}"\nport = {self.port}\n'
        access = f'[ssh]\nuser = "{self.user}"\nkey = "{self.client_key}"\nknown_hosts = "{self.known_hosts}"\n'
        path.write_text(access + "".join(f"[nodes.{name}]\n{where}" for name in names or ("node-1",)))
        return path

    def known_hosts_line(self) -> str:
        """Its present host key, as ssh-keyscan would print it."""
        kind, key, *_ = self.host_key.with_suffix(".pub").read_text().split()
        return f"[{self.address}]:{self.port} {kind} {key}\n"

    def log_text(self) -> str:
        """What the server wrote so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def processes(self) -> list[int]:
        """The server, its sessions and all they started that is still alive, also what outlived its connection."""
        table = _process_table()
        known = {self._process.pid} if self._process else set()
        uid = pwd.getpwnam(self.user).pw_uid if self._own_user and _user_exists(self.user) else None
        mark = f"{MARK}={self.folder.name}".encode()
        known |= {pid for pid in table if _uid(pid) == uid or mark in _environment(pid)}
        while more := {pid for pid, parent in table.items() if parent in known} - known:
            known |= more
        return sorted(known & table.keys())

    # --- inside

    def _answers_or_died(self) -> str:
        assert self._process is not None
        if self._process.poll() is not None:
            return "died"
        try:
            with socket.create_connection((self.address, self.port), timeout=5) as connection:
                return "answers" if connection.recv(8).startswith(b"SSH-2.0-") else ""
        except OSError:
            return ""

    def _make_user(self) -> None:
        # '*' and not a locked '!': sshd refuses locked accounts when it does not use PAM
        command = ["useradd", "--system", "--no-create-home", "--home-dir", str(self.home)]
        change_accounts([*command, "--shell", self._shell, "--password", "*", self.user])
        shutil.chown(self.home, self.user)

    def _write_configuration(self) -> Path:
        if IS_ROOT:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # for privilege separation; the service unit makes it
        path = self.folder / "sshd_config"
        text = f"""\
{self._extra_config}
ListenAddress {self.address}:{self.port}
HostKey {self.host_key}
AuthorizedKeysFile {self.folder}/authorized_keys
PidFile none
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
LogLevel VERBOSE
MaxStartups 500
SetEnv {MARK}={self.folder.name}
"""
        # OpenSSH 9.8 and later punish an address that keeps failing; all tests come from one. Older: unknown word.
        for penalties in ("PerSourcePenalties no\n", ""):
            path.write_text(text + penalties)
            if not _run_quietly([str(SSHD), "-t", "-f", str(path)]):
                break
        return path


def is_alive(pid: int) -> bool:
    """Whether the process still runs; one that has ended and waits to be collected does not."""
    return pid in _process_table()


def _make_key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)], check=True, timeout=30)


def _run_quietly(command: list[str]) -> int:
    return subprocess.run(command, capture_output=True, timeout=30, check=False).returncode


def _current_user() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


def _user_exists(name: str) -> bool:
    try:
        return bool(pwd.getpwnam(name))
    except KeyError:
        return False


def _process_table() -> dict[int, int]:
    """Every living process and its parent; zombies are left out, for they run nothing.

    Shape: /proc/PID/stat, proc(5); the name in parentheses may itself hold spaces and parentheses.
    """
    table = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            state, parent, *_ = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except (OSError, ValueError):
            continue  # ended while we looked
        if state not in "ZX":
            table[int(process.name)] = int(parent)
    return table


def _uid(pid: int) -> int:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return -1


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _kill(pids: list[int]) -> list[int]:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # ended by itself; or a root child of sudo
            continue
    return pids
