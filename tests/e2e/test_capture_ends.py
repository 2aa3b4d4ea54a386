"""How a rolling capture may end before its time: a reboot, a full disk, a kill; each is said, and nothing stays."""

import asyncio
import subprocess
from dataclasses import replace
from datetime import timedelta
from typing import Any

from bot.domain.node import Node
from bot.extras.captures.capture_watch import CaptureLookResult, RollingWatch
from bot.extras.captures.ring_access import RingAccess
from tests.nodes.ring import FAKE, Patient
from tests.nodes.sshd import OWN_LOGIN
from tests.waiting import until

pytestmark = OWN_LOGIN


def test_a_node_that_rebooted_meanwhile_is_said_and_what_it_left_is_removed(patient: Patient) -> None:
    patient.allow()
    patient.plant(3.0)
    capture = patient.start("core-held")
    subprocess.run([patient.places.systemctl[0], "stop", "zombie-capture.service"], check=True, timeout=30)
    assert patient.ring.exists(), "a reboot ends the recorder, and leaves its folder"

    async def looked() -> CaptureLookResult:
        control = patient.control()
        rolling = await control.find(capture)
        assert rolling.started is not None
        before = replace(rolling, started=replace(rolling.started, boot_id="0" * 32))
        return await RollingWatch(control).look(patient.node, before)

    rolling = asyncio.run(looked()).rolling
    assert rolling.ended is not None
    assert rolling.ended.because == "the node rebooted, and what was recorded before it is lost"
    assert (rolling.ended.left, rolling.caught) == ("", ())
    patient.must_be_clean()


def test_a_recorder_that_was_killed_is_said_and_what_it_had_is_read(patient: Patient) -> None:
    patient.allow()
    patient.plant(3.0)
    patient.become(FAKE.replace("while :; do sleep 0.1; done", "sleep 3; kill -KILL $$"))
    capture = patient.start("core-held")
    until(lambda: not patient.recording(), within=timedelta(seconds=30), what="the end of the recorder")
    rolling = patient.show(capture).rolling
    assert rolling.ended is not None
    assert rolling.ended.because == "its recorder ended early (systemd does not say why)"
    assert len(rolling.caught) == 1, "what was recorded until then counts"
    patient.must_be_clean()


def test_a_disk_that_filled_up_is_named(patient: Patient) -> None:
    patient.allow()
    patient.plant(3.0)
    patient.become(FAKE.replace("while :; do sleep 0.1; done", "sleep 3; exit 255"))
    capture = patient.start("core-held")
    until(lambda: not patient.recording(), within=timedelta(seconds=30), what="the end of the recorder")

    async def looked() -> CaptureLookResult:
        control = patient.control()
        object.__setattr__(control, "access", Full(control.access))
        return await RollingWatch(control).look(patient.node, await control.find(capture))

    rolling = asyncio.run(looked()).rolling
    assert rolling.ended is not None
    assert rolling.ended.because == "its recorder ended early: 3 MB are free on its disk"
    assert len(rolling.caught) == 1, "nothing is lost that was recorded"
    patient.must_be_clean()


class Full:
    """An access to a node whose disk is full."""

    def __init__(self, access: RingAccess) -> None:
        self.access, self.run, self.text, self.places = access, access.run, access.text, access.places

    async def look(self, node: Node) -> Any:
        whom, look = await self.access.look(node)
        return whom, replace(look, room_kib=3 * 1024)
