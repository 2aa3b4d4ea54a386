"""What a doctor is told of sudo by a real OpenSSH and a real sudo: it wants the lines that `zombie sudoers` prints."""

from __future__ import annotations

import pytest

from bot.app.doctor.nodes import NodeExamination
from bot.app.factories import nonce
from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.probes import PROBES
from bot.response.execution.sudoers import acting_lines, reading_sudoers_text
from bot.transport.ssh import SshTransport
from bot.transport.ssh_options import Keyring
from tests.nodes.sshd import IS_ROOT, Sshd

pytestmark = [
    pytest.mark.real_sshd,
    pytest.mark.skipif(not IS_ROOT, reason="only root can make a user of the test's own, and give it rights"),
]
ACTS = (("systemctl", "disable", "--now", "--", "ecs.service"), ("systemctl", "reboot"))


async def examined(sshd: Sshd) -> dict[str, DoctorFinding]:
    examination = NodeExamination(SshTransport(Keyring(sshd.known_hosts), nonce), tuple(PROBES.values()), {}, ACTS)
    return {one.name: one for one in await examination.look(sshd.node)}


def commands(lines: str) -> list[str]:
    """The commands of sudoers lines, as sudoers writes them."""
    rules = [line.partition(" NOPASSWD: ")[2] for line in lines.splitlines() if " NOPASSWD: " in line]
    return [rule.partition("  #")[0] for rule in rules]


async def test_login_without_rights_is_told_which_it_lacks(sshd: Sshd) -> None:
    found = await examined(sshd)
    assert found["node real"].mark is Mark.OK
    assert found["node real"].seen.startswith(f"logged in as {sshd.user}")
    assert found["clock of real"].mark is Mark.OK
    assert found["sudo real"].mark is Mark.NOTE
    assert "dmesg" in found["sudo real"].seen
    assert found["sudo, acting real"].mark is Mark.WRONG
    assert "systemctl reboot" in found["sudo, acting real"].seen


async def test_lines_that_sudoers_prints_are_all_that_it_wants(sshd: Sshd) -> None:
    reading = commands(reading_sudoers_text("zombie", PROBES.values()))
    acting = commands("\n".join(acting_lines("zombie", ACTS)))
    assert reading
    sshd.allow_sudo(*reading)
    found = await examined(sshd)
    assert found["sudo real"].mark is Mark.OK, found["sudo real"]
    assert found["sudo, acting real"].mark is Mark.WRONG, "reading gives no right to act"
    sshd.allow_sudo(*reading, *acting)
    found = await examined(sshd)
    assert (found["sudo real"].mark, found["sudo, acting real"].mark) == (Mark.OK, Mark.OK), found
