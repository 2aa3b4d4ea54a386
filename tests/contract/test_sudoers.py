"""The lines of `zombie sudoers` under a real sudo: whoever has the reading key gets root for nothing else."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bot.app.extras import rights_of, shipped
from bot.domain.command import Command
from bot.domain.root_command import needs_secure_path, root_line, root_ways
from bot.probes import PROBES
from bot.response.execution.sudoers import capture_sudoers_text, reading_sudoers_text
from tests.nodes.sshd import IS_ROOT, Sshd

pytestmark = [
    pytest.mark.real_sshd,
    pytest.mark.skipif(not IS_ROOT, reason="only root can make a user of the test's own, and give it rights"),
]
TUTORIAL = (Path(__file__).parents[2] / "docs/tutorial.md").read_text()
WAYS = sorted({way for probe in PROBES.values() for command in probe.commands for way in root_ways(command)})
RIGHTS = [way for way in WAYS if not needs_secure_path(way)]


def allowed(sshd: Sshd) -> None:
    """Give the login what `zombie sudoers` prints, on a node whose sudoers sets no PATH of its own."""
    rules = re.findall(r" NOPASSWD: (.*?)(?:  #.*)?$", reading_sudoers_text("zombie", PROBES.values()), re.MULTILINE)
    assert len(rules) == len(RIGHTS)
    sshd.allow_sudo(*rules, defaults="!secure_path")


def fakes(sshd: Sshd, *names: str) -> tuple[Path, Path]:
    """Return a folder of the login's own programs by these names, and the file in which they write who ran them."""
    folder, ran_by = sshd.home / "fakes", sshd.home / "ran-by"
    folder.mkdir()
    ran_by.touch()
    ran_by.chmod(0o666)
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\n/usr/bin/id -u >>{ran_by}\n")
        (folder / name).chmod(0o755)
    return folder, ran_by


def ssh(sshd: Sshd, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["ssh", *sshd.ssh_options, sshd.address, script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_program_of_the_callers_own_never_runs_as_root(sshd: Sshd) -> None:
    allowed(sshd)
    programs = {Path(right[6]).name for right in RIGHTS}
    assert {"dmesg", "journalctl", "docker", "crictl", "ctr"} <= programs
    folder, ran_by = fakes(sshd, *programs)
    by_name = {(*right[:6], Path(right[6]).name, *right[7:]) for right in RIGHTS}
    lines = [shlex.join(argv) for argv in (*RIGHTS, *sorted(by_name))]
    ssh(sshd, f"PATH={folder}:$PATH; export PATH; {'; '.join(lines)}")
    ssh(sshd, f"PATH={folder}:$PATH dmesg")
    assert ran_by.read_text().split() == [ssh(sshd, "id -u").stdout.strip()], "the login's own run alone was its own"


def test_bots_own_line_runs_the_real_program_as_root(sshd: Sshd) -> None:
    command = Command("who", ("sh", "-c", root_line(("id", "-u"), 8)), sudo=(("/usr/bin/id", "-u"),))
    (right,) = root_ways(command)
    sshd.allow_sudo(f"/usr/bin/{shlex.join(right[2:])}", defaults="!secure_path")
    folder, ran_by = fakes(sshd, "id")
    assert ssh(sshd, f"PATH={folder}:$PATH; export PATH; {command.argv[2]}").stdout == "0\n"
    assert ran_by.read_text() == ""


def test_every_root_line_of_a_probe_is_among_the_rights() -> None:
    lines = {
        way[2]
        for probe in PROBES.values()
        for command in probe.commands
        for way in command.alternatives
        if way[:2] == ("sh", "-c") and "sudo -n" in way[2]
    }
    assert lines
    said = set()
    for line in lines:
        for places, argv in re.findall(
            r"for p in ([^;]+); do \[ -x \$p \] && break; done; (sudo -n (?:[^;']|'[^']*')+); }", line
        ):
            said |= {tuple(place if word == "$p" else word for word in shlex.split(argv)) for place in places.split()}
        assert line.count("sudo -n") == line.count("for p in"), "each is run by its full path"
    assert said == set(WAYS)


# Prints whether sudo, built or told to know its node's full name (`fqdn`), asked the only name server, which is silent.
ASKS = r"""
import pathlib, socket, subprocess, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
subprocess.run(["hostname", "node-without-an-address"], check=True)
subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/etc/sudoers.d"], check=True)
for name, text in (
    ("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"),
    ("hosts", "127.0.0.1 localhost\n"),
    ("nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"),
    ("sudoers", "Defaults fqdn\n@includedir /etc/sudoers.d\n"),
    ("sudoers.d/lines", sys.stdin.read()),
):
    here, there = pathlib.Path(sys.argv[1], pathlib.Path(name).name), pathlib.Path("/etc", name)
    here.write_text(text)
    here.chmod(0o444)
    if not there.exists():
        there.touch()
    subprocess.run(["mount", "--bind", here, there], check=True)
done = subprocess.run(["setpriv", "--reuid", "nobody", "--clear-groups", "sudo", "-n", "-l"], stdout=subprocess.DEVNULL)
server.setblocking(False)
try:
    asked = bool(server.recv(512))
except BlockingIOError:
    asked = False
print(done.returncode, asked)
"""


@pytest.mark.parametrize("has_line", [True, False])
def test_sudo_of_the_login_waits_for_no_name_server(tmp_path: Path, has_line: bool) -> None:
    """Debian 11's sudo waits 10 s where names fail: with its log unread, the node that is sick so was only unknown."""
    lines = reading_sudoers_text("nobody", PROBES.values())
    if not has_line:
        lines = lines.replace("Defaults:nobody !fqdn\n", "")
    inside = "ip link set lo up && exec " + shlex.join([sys.executable, "-c", ASKS, str(tmp_path)])
    said = subprocess.run(
        ["unshare", "--mount", "--net", "--uts", "sh", "-c", inside],
        input=lines,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert said.stdout == f"0 {not has_line}\n", said.stderr


def test_program_that_runs_others_by_their_names_stands_only_under_a_secure_path(sshd: Sshd) -> None:
    """On a kernel without BTF and headers bpftrace runs `modprobe` and `tar`: by the caller's PATH, theirs as root."""
    assert {Path(way[6]).name for way in set(WAYS) - set(RIGHTS)} == {"bpftrace"}
    assert "bpftrace" not in reading_sudoers_text("zombie", PROBES.values())
    lines = capture_sudoers_text("zombie", rights_of(shipped().on)).splitlines()
    (path,) = re.findall(r"^Defaults:zombie (secure_path=\S+)$", lines[1])
    assert sum("/bpftrace " in line for line in lines) == len(set(WAYS) - set(RIGHTS))
    folder, ran_by = fakes(sshd, "modprobe", "tar")
    script = f"PATH={folder}:$PATH; export PATH; sudo -n sh -c 'modprobe kheaders; tar --version >/dev/null'"
    sshd.allow_sudo("/bin/sh, /usr/bin/sh", defaults="!secure_path")
    ssh(sshd, script)
    assert ran_by.read_text().split() == ["0", "0"], "so it is without"
    sshd.allow_sudo("/bin/sh, /usr/bin/sh", defaults=path)
    ssh(sshd, script)
    assert ran_by.read_text().split() == ["0", "0"], "and not with it"


@pytest.mark.parametrize(
    ("lines", "is_installed"), [("zt ALL=(root) NOPASSWD: /bin/true\n", True), ("zt ALL=(\n", False)]
)
def test_tutorial_installs_only_lines_that_visudo_takes(tmp_path: Path, lines: str, is_installed: bool) -> None:
    """What is under /etc/sudoers.d and no sudoers file locks everybody out of sudo."""
    (script,) = re.findall(r"\./zombie sudoers \| ssh \S+ '([^']+)'", TUTORIAL)
    place = tmp_path / "installed"
    assert script.count("/etc/sudoers.d/zombie") == 1
    done = subprocess.run(
        ["sh", "-c", script.replace("/etc/sudoers.d/zombie", str(place))],
        input=lines,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": str(tmp_path)},
    )
    assert place.exists() == is_installed, done.stderr
    assert (done.returncode == 0) == is_installed
    if is_installed:
        assert (place.read_text(), place.stat().st_mode & 0o777, place.stat().st_uid) == (lines, 0o440, 0)
    assert not list(tmp_path.glob("tmp.*")), "nothing is left behind"
