"""A rolling capture over real SSH: it outlives whoever asked, finds what was planted, and leaves nothing behind."""

import asyncio
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.errors import (
    CannotRead,
    MissingRight,
    NodeBusy,
)
from bot.domain.root_command import root_argv
from bot.extras.captures.capture_fold import RollingState
from bot.extras.captures.recorder_commands import RollingRequest, start_argv
from bot.extras.captures.settings import CaptureSettings
from bot.extras.captures.words import lines
from bot.extras.profiles import capture_wire
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
    assert patient.texts["real-perf.data.2026112200000001.perf.txt.gz"].count(b"kubelet") > 100
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


@pytest.mark.parametrize(
    ("script", "limit", "says"),
    [
        ('head -c 400 "$3"; exit 124', 1 << 20, "(exit status 124)"),
        ('cat "$3"', 300, "the text of the segments is cut"),
    ],
)
def test_text_that_is_not_whole_is_said_and_its_segment_is_read_again(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, script: str, limit: int, says: str
) -> None:
    patient.allow()
    patient.plant(3.0)
    capture = patient.start("core-held")
    with monkeypatch.context() as patched:
        patched.setattr(capture_wire, "PACKED_LIMIT_BYTES", limit)
        patient.become(FAKE.replace('cat "$3"', script))
        news = patient.show(capture)
    assert (news.rolling.caught, [says in wait for wait in news.waits]) == ((), [True])
    patient.become(FAKE.replace('cat "$3"', 'cat "$3"; echo "Processed 9 samples and lost 56.26%!" >&2'))
    news = patient.show(capture)
    lost = "perf.data.2026112200000001: perf says of its samples: Processed 9 samples and lost 56.26%"
    assert (len(news.rolling.caught), news.waits) == (1, (lost,))
    (text,) = (text for name, text in patient.texts.items() if name.endswith("0001.perf.txt.gz"))
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


def test_one_that_ended_by_itself_is_read_and_cleaned_by_the_next_look(patient: Patient) -> None:
    patient.allow()
    patient.plant(3.0)
    patient.become(FAKE.replace("while :; do sleep 0.1; done", "sleep 3"))
    capture = patient.start("core-held")
    until(lambda: not patient.recording(), within=timedelta(seconds=15), what="the end of the recorder")
    rolling = patient.show(capture).rolling
    assert rolling.state is RollingState.ENDED
    assert len(rolling.caught) == 1
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
