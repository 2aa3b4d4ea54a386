"""What a rolling capture catches: symptoms of the log laid over the samples; and a bot that looks by itself."""

import asyncio
import re
import time
from dataclasses import replace
from typing import Any

from bot.domain.clock_offset import ClockOffset
from bot.domain.node import Node
from bot.extras.captures.capture_watch import CaptureLookResult, RollingWatch
from bot.extras.captures.chat_cards import CaptureClaims
from bot.extras.captures.recorder_commands import RollingRequest
from bot.extras.captures.ring_access import RingAccess
from bot.extras.captures.ring_status import LogLine
from bot.extras.captures.serving import CapturePoller
from bot.ledger import Leases
from bot.ledger.chat_requests import ChatRequestStore
from bot.response.incident_record import null_log
from tests.nodes.ring import ANN, Patient
from tests.nodes.sshd import OWN_LOGIN

pytestmark = OWN_LOGIN


def test_a_reset_is_laid_over_the_samples_by_the_measured_clocks(patient: Patient) -> None:
    patient.allow()
    patient.plant(6.6)
    capture = patient.start()
    drift = 2.0
    reset = LogLine(time.monotonic() - drift, "ena 0000:00:05.0 eth0: Trigger reset is on")

    async def looked() -> CaptureLookResult:
        control = patient.control()
        object.__setattr__(control, "access", Telling(control.access, reset, drift))
        return await RollingWatch(control).look(patient.node, await control.find(capture))

    waiting = asyncio.run(looked())
    assert [found.waits for found in waiting.rolling.caught] == [True]
    asyncio.run(patient.stopped(capture))
    caught = asyncio.run(looked()).rolling.caught
    assert [found.symptom for found in caught] == ["nic-reset"]
    assert re.fullmatch(
        r"reset at \d\d:\d\d:\d\d\.\d{3} UTC; (?:in the|from [\d.]+ s to) [\d.]+ s before it core 39 ran "
        r"kubelet \(77\) in mem_cgroup_nr_lru_pages for 100 % of samples; 2\d of the 30 s before it have no sample",
        caught[0].sentence,
    ), caught[0]
    patient.must_be_clean()


class Telling:
    """An access whose node's kernel log says one more line, and drifted so far."""

    def __init__(self, access: RingAccess, line: LogLine, drift: float) -> None:
        self.access, self.line, self.drift = access, line, drift
        self.run, self.text, self.places = access.run, access.text, access.places

    async def look(self, node: Node) -> Any:
        whom, look = await self.access.look(node)
        offset = ClockOffset(self.drift, 0.004, 12)
        return whom, replace(look, lines=(self.line,), log_unread="", kernel_log=offset)


def looks_of(patient: Patient, runner: str) -> tuple[CaptureClaims, Leases]:
    """What one of several programs at the record looks at."""
    leases = Leases(patient.database, runner)
    leases.beat.now()
    chat_requests = ChatRequestStore(leases)
    return CaptureClaims(chat_requests), leases


async def test_a_serving_bot_looks_by_itself_and_says_what_it_found(patient: Patient) -> None:
    patient.allow()
    patient.plant(3.0)
    capture = (await patient.control().ask(patient.node, RollingRequest(1, 1, ("core-held",)), ANN)).id
    said: list[str] = []
    turns, _ = looks_of(patient, "one")
    keeper = CapturePoller(
        RollingWatch(patient.control()), Directory(patient.node), turns, lambda event, **_: said.append(event)
    )
    await keeper.turn()
    assert said == ["capture_caught"]
    patient.sshd.stop()
    await keeper.turn()
    await keeper.turn()
    assert said == ["capture_caught", "capture_unread"], "the same is said once"
    patient.sshd.start()
    await patient.stopped(capture)
    await keeper.turn()
    assert said[-1] == "capture_ended"


async def test_of_two_programs_one_looks_and_the_other_goes_on_when_it_is_gone(patient: Patient) -> None:
    patient.allow()
    capture = (await patient.control().ask(patient.node, RollingRequest(1, 1), ANN)).id
    heard: list[str] = []

    def program(name: str) -> tuple[CapturePoller, Leases]:
        turns, leases = looks_of(patient, name)
        watch = RollingWatch(patient.control())

        async def hears(_: CaptureLookResult) -> None:
            heard.append(name)

        return CapturePoller(watch, Directory(patient.node), turns, null_log, hears), leases

    (one, leases), (other, _) = program("one"), program("other")
    for keeper in (one, other, one):
        await keeper.turn()
    assert heard == ["one", "one"]
    leases.leave.now()
    await other.turn()
    assert heard == ["one", "one", "other"]
    await patient.stopped(capture)
    for keeper in (other, one, other, one):
        await keeper.turn()
    assert heard == ["one", "one", "other", "other", "one"], "each that looked at it says once that it is over"


class Directory:
    """The one node."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def find(self, name: str, /) -> Node:
        return self.node
