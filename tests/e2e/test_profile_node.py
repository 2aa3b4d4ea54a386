"""A node is profiled over real SSH: what perf told arrives whole, and however it ends, nothing stays on the node."""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.app.extras import rights_of, shipped
from bot.domain.errors import CannotRead, ConnectionLost
from bot.extras.profiles.perf_command import CaptureRequest, capture_rights
from bot.extras.profiles.profiler import Captured, Profiler
from bot.response.execution.sudoers import capture_sudoers_text
from bot.transport.ssh_options import Keyring
from bot.transport.ssh_script import SshScriptTransport
from tests.contract.ways import nonce
from tests.nodes import patient as patients
from tests.nodes.sshd import OWN_LOGIN, Sshd
from tests.waiting import until

pytestmark = OWN_LOGIN
REAL_PERF = Path("/usr/bin/perf")
READS = "while dd if=/dev/zero of=/dev/null bs=64k count=3000; do sleep 0.1; done"  # often enough to be sampled

# It records as perf does, until TERM, and its text has one event for each line that was recorded.
FAKE = r"""#!/bin/sh
case $1 in
  version) echo "perf version 5.10.0";;
  record) [ "$(id -u)" = 0 ] || { echo "Permission denied" >&2; exit 255; }
    trap 'exit 0' TERM; n=0
    while echo "sample $n"; do n=$((n + 1)); sleep 0.1; done;;
  script) while read -r _ n; do
      printf 'kubelet 77/78 [039] %s.500000000: cpu-clock/freq=49/: \n' "$n"
      printf '\tffffffff81000000 mem_cgroup_nr_lru_pages ([kernel.kallsyms])\n\n'
    done;;
esac
"""


class Patient(patients.Patient):
    """One that is profiled, and what perf told."""

    def __init__(self, sshd: Sshd) -> None:
        super().__init__(sshd, FAKE)
        self.text = bytearray()

    def allow(self) -> None:
        """Give exactly the rights of a capture."""
        self.give(capture_rights(str(self.perf)))

    async def profile(self, seconds: int = 5, anyway: bool = False) -> Captured:
        keyring = Keyring(self.sshd.known_hosts)
        profiler = Profiler(SshScriptTransport(keyring), nonce, str(self.perf))
        return await profiler.profile(self.node, CaptureRequest(49, seconds), self.text.extend, anyway)


@pytest.fixture
def patient() -> Iterator[Patient]:
    with Sshd() as sshd:
        yield Patient(sshd)


def test_what_perf_told_arrives_whole_and_nothing_stays(patient: Patient) -> None:
    patient.allow()
    patient.become(FAKE.replace("n=0", "echo 'Processed 9 events and lost 2 chunks!' >&2; n=0"))
    captured = asyncio.run(patient.profile())
    assert not captured.incomplete
    assert "perf says of its samples: Processed 9 events and lost 2 chunks." in captured.remarks
    assert patient.text.count(b"mem_cgroup_nr_lru_pages") > 20
    assert captured.event in ("cycles", "cpu-clock")
    assert captured.end.clock.minus_mono is not None
    assert captured.end.clock.error is not None
    assert captured.end.clock.error < 0.5
    patient.must_be_clean()


def test_what_keeps_perf_from_recording_is_said_and_leaves_nothing(patient: Patient) -> None:
    with pytest.raises(CannotRead, match="may not be run as root") as no:
        asyncio.run(patient.profile())
    assert "zombie sudoers --profile" in no.value.try_next
    patient.must_be_clean()
    patient.become('#!/bin/sh\necho "WARNING: perf not found for kernel 5.4.0-1084" >&2\nexit 2\n')
    with pytest.raises(CannotRead, match="perf not found for kernel"):
        asyncio.run(patient.profile())
    patient.become(FAKE.replace("trap 'exit 0' TERM; n=0", "echo 'No space left on device' >&2; exit 255"))
    patient.allow()
    with pytest.raises(CannotRead, match="No space left on device"):
        asyncio.run(patient.profile())
    patient.must_be_clean()
    patient.perf.unlink()
    with pytest.raises(CannotRead, match="perf is missing") as no:
        asyncio.run(patient.profile())
    assert "install" in no.value.try_next
    patient.must_be_clean()


@pytest.mark.long
def test_a_perf_that_is_late_to_say_its_version_is_no_missing_one(patient: Patient) -> None:
    patient.allow()
    patient.become(FAKE.replace('version) echo "perf version 5.10.0"', "version) exec sleep 30"))
    captured = asyncio.run(patient.profile())
    assert captured.facts.text("perf") == "perf version not told within 5 s"
    assert patient.text.count(b"mem_cgroup_nr_lru_pages") > 20
    patient.must_be_clean()


def test_a_perf_that_is_killed_leaves_what_it_told(patient: Patient) -> None:
    patient.become(FAKE.replace("n=$((n + 1))", "n=$((n + 1)); [ $n = 9 ] && kill -KILL $$"))
    patient.allow()
    captured = asyncio.run(patient.profile())
    assert "perf ended early (exit status 137)" in captured.incomplete
    assert patient.text.count(b"kubelet") == 9
    patient.must_be_clean()


def test_a_cut_connection_leaves_what_arrived_and_nothing_on_the_node(patient: Patient) -> None:
    patient.become(FAKE.replace("sleep 0.1", "seq 1 5000 | sed 's/^/sample /'"))  # gzip sends whole blocks
    patient.allow()

    async def cut() -> Captured:
        asking = asyncio.create_task(patient.profile(30))
        await asyncio.to_thread(until, lambda: len(patient.text) > 5000, within=timedelta(seconds=40), what="text")
        patient.sshd.kill_sessions()
        return await asking

    captured = asyncio.run(cut())
    assert "It is cut" in captured.incomplete
    assert patient.text.startswith(b"kubelet")
    patient.must_be_clean()


def test_a_node_that_goes_down_before_anything_came_is_unreachable(patient: Patient) -> None:
    patient.become(FAKE.replace("script) while", "script) sleep 60; while"))
    patient.allow()

    async def down() -> None:
        asking = asyncio.create_task(patient.profile(10))
        await asyncio.to_thread(until, patient.recording, what="the recorder")
        patient.sshd.stop()
        await asking

    with pytest.raises(ConnectionLost):
        asyncio.run(down())
    patient.must_be_clean()


def test_whoever_stops_listening_ends_it(patient: Patient) -> None:
    patient.allow()

    async def given_up() -> None:
        asking = asyncio.create_task(patient.profile(60))
        await asyncio.to_thread(until, patient.recording, what="the recorder")
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(given_up())
    patient.must_be_clean()


def test_the_printed_lines_are_sudos_own_form(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text(capture_sudoers_text("zombie", rights_of(shipped().on)))
    checked = subprocess.run(["visudo", "-cf", lines], capture_output=True, text=True, timeout=30, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "*" not in lines.read_text()


@pytest.mark.skipif(not REAL_PERF.exists(), reason="perf is not installed (Debian: apt install linux-perf)")
class TestRealPerf:
    def test_a_login_without_rights_of_its_own_sees_the_kernels_functions(self, patient: Patient) -> None:
        shutil.copy(REAL_PERF, patient.perf)
        patient.allow()
        with subprocess.Popen(["sh", "-c", READS], stderr=subprocess.DEVNULL) as burns:
            captured = asyncio.run(patient.profile())
            burns.kill()
        assert not captured.incomplete, captured
        assert b"read_zero" in patient.text or b"vfs_read" in patient.text, patient.text[:2000]
        assert captured.end.spent_seconds + captured.end.text_spent_seconds > 0
        patient.must_be_clean()

    def test_no_other_cut_of_the_sudoers_line_writes_a_file(self, tmp_path: Path) -> None:
        """sudo compares arguments as one text: whoever may run the line may cut it into other words."""
        words = list(capture_rights()[0][4:])
        assert words[0] == str(REAL_PERF)
        words[-2] = words[-2].replace("cycles", "cpu-clock")
        for start in range(1, len(words)):
            for end in range(start + 2, len(words) + 1):
                cut = [*words[:start], " ".join(words[start:end]), *words[end:]]
                ran = subprocess.run(
                    ["timeout", "-k", "15", "0.5", *cut], cwd=tmp_path, capture_output=True, timeout=20, check=False
                )
                assert not list(tmp_path.iterdir()), cut
                assert ran.returncode in (1, 124, 129), cut
