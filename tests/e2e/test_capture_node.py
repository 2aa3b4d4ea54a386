"""A rolling capture over real SSH: what it finds, how it ends, and that nothing of it stays behind."""

import asyncio
import re
import shutil
import subprocess
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.domain.clock_offset import ClockOffset
from bot.domain.errors import (
    CannotRead,
    MissingRight,
    NodeBusy,
)
from bot.domain.node import Node
from bot.domain.root_command import root_argv
from bot.extras.captures.capture_fold import RollingState
from bot.extras.captures.capture_watch import CaptureLookResult, RollingWatch
from bot.extras.captures.chat_cards import CaptureClaims
from bot.extras.captures.recorder_commands import RollingRequest, start_argv
from bot.extras.captures.ring_access import RingAccess
from bot.extras.captures.ring_status import LogLine
from bot.extras.captures.serving import CapturePoller
from bot.extras.captures.settings import CaptureSettings
from bot.extras.captures.words import lines
from bot.extras.profiles import capture_wire
from bot.ledger import Leases
from bot.ledger.chat_requests import ChatRequestStore
from bot.response.incident_record import null_log
from tests.nodes.ring import ANN, FAKE, Patient
from tests.nodes.sshd import OWN_LOGIN
from tests.nodes.units import make_units
from tests.waiting import until

pytestmark = OWN_LOGIN


def test_a_planted_burst_is_found_by_another_program_and_nothing_stays(patient: Patient) -> None:
    patient.allow()
    patient.plant(3.0)
    capture = patient.start("core-held")
    assert patient.recording()
    news = patient.show(capture)
    assert [caught.symptom for caught in news.rolling.caught] == ["core-held"]
    sentence = news.rolling.caught[0].sentence
    assert "core 39 ran kubelet (77) in mem_cgroup_nr_lru_pages for 100 % of samples" in sentence
    assert sentence.startswith("core held for 3.0 s from ")
    assert patient.texts["perf.data.2026112200000001"].count(b"kubelet") > 100
    assert news.load_percent is not None
    assert len(patient.show(capture).rolling.caught) == 1, "it is caught once"
    news = patient.stop(capture)
    assert news.rolling.state is RollingState.ENDED
    assert news.rolling.ended is not None
    assert news.rolling.ended.because == f"{ANN} stopped it"
    assert "of one core" in "\n".join(lines(news))
    assert patient.kinds() == [
        "CaptureAsked",
        "CaptureStarting",
        "CaptureBegan",
        "SymptomCaught",
        "CaptureStopping",
        "CaptureEnded",
    ]
    patient.must_be_clean()


def test_text_that_is_not_whole_is_said_and_its_segment_is_read_again(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient.allow()
    patient.plant(3.0)
    capture = patient.start("core-held")
    for script, limit, says in (
        ('head -c 400 "$3"; exit 124', 1 << 20, "(exit status 124)"),
        ('cat "$3"', 300, "the text of the segments is cut"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(capture_wire, "PACKED_LIMIT_BYTES", limit)
            patient.become(FAKE.replace('cat "$3"', script))
            news = patient.show(capture)
        assert (news.rolling.caught, [says in wait for wait in news.waits]) == ((), [True])
    patient.become(FAKE.replace('cat "$3"', 'cat "$3"; echo "Processed 9 samples and lost 56.26%!" >&2'))
    news = patient.show(capture)
    lost = "perf.data.2026112200000001: perf says of its samples: Processed 9 samples and lost 56.26%"
    assert (len(news.rolling.caught), news.waits) == (1, (lost,))
    (text,) = (text for name, text in patient.texts.items() if name.endswith("0001"))
    assert text == patient.samples.read_bytes(), "what was kept of it is as whole"
    patient.stop(capture)
    patient.must_be_clean()


def test_text_of_two_segments_is_whole_only_if_that_of_each_is(patient: Patient) -> None:
    patient.allow()
    patient.plant(3.0)
    patient.start()
    patient.become(FAKE.replace('cat "$3"', 'cat "$3"; ! test -s "$3"'))
    both = ["perf.data.2026112200000001", "perf.data"]
    with pytest.raises(CannotRead, match="exit status 1"):
        asyncio.run(patient.control().access.text(patient.node, both, None, lambda _: None))


def test_what_came_last_is_read_when_it_is_stopped(patient: Patient) -> None:
    patient.allow()
    patient.become(
        FAKE.replace(': >"$out"', 'cp @SAMPLES@ "$out"').replace('cp @SAMPLES@ "$out.2026112200000001"', "true")
    )
    patient.plant(2.5, core=3)
    capture = patient.start("core-held")
    assert patient.show(capture).rolling.caught == ()
    assert "core 3 ran kubelet" in patient.stop(capture).rolling.caught[0].sentence
    patient.must_be_clean()


@pytest.mark.parametrize("ends", ["sleep 3", "sleep 3; kill -KILL $$"], ids=["by itself", "killed"])
def test_one_that_ended_is_read_and_cleaned_by_the_next_look(patient: Patient, ends: str) -> None:
    patient.allow()
    patient.plant(3.0)
    patient.become(FAKE.replace("while :; do sleep 0.1; done", ends))
    capture = patient.start("core-held")
    until(lambda: not patient.recording(), within=timedelta(seconds=30), what="the end of the recorder")
    rolling = patient.show(capture).rolling
    assert rolling.state is RollingState.ENDED
    assert rolling.ended is not None
    assert rolling.ended.because == "its recorder ended early (systemd does not say why)"
    assert len(rolling.caught) == 1, "what was recorded until then counts"
    patient.must_be_clean()


def test_what_keeps_one_from_starting_is_said_and_leaves_nothing(patient: Patient) -> None:
    patient.limits = CaptureSettings(a_day=9)
    with pytest.raises(MissingRight) as no:
        patient.start()
    assert "zombie sudoers --profile" in no.value.try_next
    assert patient.kinds()[-1] == "CaptureEnded"
    patient.must_be_clean()
    patient.allow()
    for perf, says in (
        ("#!/bin/sh\nexit 1\n", "perf is missing"),
        (FAKE.replace("--switch-max-files <n>", "--switch-output"), "keeps no ring"),
        (FAKE.replace("cp @SAMPLES@", "echo 'No space left on device' >&2; false"), "ended at once"),
    ):
        patient.become(perf)
        with pytest.raises(CannotRead, match=says):
            patient.start()
        patient.must_be_clean()
    patient.become(FAKE)
    make_units(patient.sshd.folder, version=208)
    with pytest.raises(CannotRead, match="runs systemd 208"):
        patient.start()
    patient.must_be_clean()
    make_units(patient.sshd.folder, version=219)  # it gets only what it knows
    capture = patient.start()
    ran = Path("/proc").joinpath(patient.recording().split()[0], "cmdline").read_bytes()
    assert b"perf" in ran
    assert patient.stop(capture).rolling.is_over
    patient.must_be_clean()


def test_a_recorder_of_somebody_else_is_left_alone(patient: Patient) -> None:
    patient.allow()
    patient.ring.mkdir()
    argv = root_argv(start_argv(RollingRequest(1, 1), "cpu-clock", 252, patient.places), 10)
    subprocess.run(argv[2:], check=True, timeout=30)
    runs = patient.recording()
    with pytest.raises(NodeBusy, match="this record does not know"):
        patient.start()
    assert patient.recording() == runs
    subprocess.run([patient.places.systemctl[0], "stop", "zombie-capture.service"], check=True, timeout=30)
    shutil.rmtree(patient.ring)


def test_a_unit_that_was_started_anew_by_somebody_is_not_ours(patient: Patient) -> None:
    patient.allow()
    capture = patient.start()
    subprocess.run([patient.places.systemctl[0], "stop", "zombie-capture.service"], check=True, timeout=30)
    argv = root_argv(start_argv(RollingRequest(1, 1), "cpu-clock", 252, patient.places), 10)
    subprocess.run(argv[2:], check=True, timeout=30)
    runs = patient.recording()
    news = patient.stop(capture)
    assert (news.rolling.is_over, "by another start" in news.waits[-1]) == (False, True)
    assert patient.recording() == runs
    patient.ahead = timedelta(hours=2)  # its own recorder has ended by then, whichever runs
    ended = patient.show(capture).rolling.ended
    assert ended is not None
    assert "does not know" in ended.left
    assert patient.recording() == runs
    subprocess.run([patient.places.systemctl[0], "stop", "zombie-capture.service"], check=True, timeout=30)
    shutil.rmtree(patient.ring)


# --- how it may end before its time


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


# --- symptoms of the log, and a bot that looks by itself


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
