"""A rolling capture with the real perf: what the kernel ran comes home by name, and its sudoers line cannot be bent."""

import shlex
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.root_command import root_argv
from bot.extras.captures.recorder_commands import (
    CapturePaths,
    RollingRequest,
    make_folder_argv,
    read_argv,
    remove_argv,
    start_argv,
)
from tests.nodes.ring import Patient
from tests.nodes.sshd import OWN_LOGIN
from tests.waiting import until

REAL_PERF = Path("/usr/bin/perf")
pytestmark = [
    *OWN_LOGIN,
    pytest.mark.skipif(not REAL_PERF.exists(), reason="perf is not installed (Debian: apt install linux-perf)"),
]


def test_what_the_kernel_ran_comes_home_by_name_and_nothing_stays(patient: Patient) -> None:
    shutil.copy(REAL_PERF, patient.perf)
    request = RollingRequest(1, 1, ("core-held",))
    short = [root_argv(start_argv(request, event, 252, patient.places, 8), 10)[2:] for event in ("cycles", "cpu-clock")]
    patient.allow(*map(shlex.join, short), "timeout -k 1 8 /usr/bin/cat /proc/kallsyms")
    capture = patient.start("core-held", seconds=8)
    burner = ["timeout", "-k", "1", "5", "dd", "if=/dev/zero", "of=/dev/null", "bs=64k"]
    subprocess.run(burner, stderr=subprocess.DEVNULL, timeout=30, check=False)
    running = patient.show(capture)
    assert running.load_percent is not None
    until(lambda: not patient.recording(), within=timedelta(seconds=20), what="the end of the recorder")
    assert patient.show(capture).rolling.is_over
    text = b"".join(patient.texts.values())
    assert b"read_zero" in text or b"vfs_read" in text, text[:2000]
    patient.must_be_clean()


def test_no_other_cut_of_the_line_writes_outside_of_the_ring(tmp_path: Path) -> None:
    """sudo compares arguments as one text: whoever may run the line may cut it into other words."""
    ring, cwd = tmp_path / "ring", tmp_path / "cwd"
    cwd.mkdir()
    argv = start_argv(RollingRequest(), "cpu-clock", 252, CapturePaths(folder=str(ring)), seconds=2)
    words = list(argv[argv.index(str(REAL_PERF)) :])
    for start in range(1, len(words)):
        for end in range(start + 2, len(words) + 1):
            shutil.rmtree(ring, ignore_errors=True)
            ring.mkdir()
            cut = [*words[:start], " ".join(words[start:end]), *words[end:]]
            subprocess.run(["timeout", "-k", "1", "0.4", *cut], cwd=cwd, capture_output=True, timeout=20, check=False)
            assert not list(cwd.iterdir()), cut


def test_no_other_cut_of_the_lines_for_its_folder_touches_another(tmp_path: Path) -> None:
    ring, cwd = tmp_path / "ring", tmp_path / "cwd"
    cwd.mkdir()
    (cwd / "mine").write_text("mine")
    places = CapturePaths(folder=str(ring))
    lines = (make_folder_argv(places), ("/usr/bin/tar", *read_argv(places)[1:]), ("/bin/rm", *remove_argv(places)[1:]))
    for argv in lines:
        for start in range(1, len(argv)):
            for end in range(start + 2, len(argv) + 1):
                ring.mkdir(exist_ok=True)
                cut = [*argv[:start], " ".join(argv[start:end]), *argv[end:]]
                ran = subprocess.run(cut, cwd=cwd, capture_output=True, timeout=20, check=False)
                assert [path.name for path in cwd.iterdir()] == ["mine"], cut
                assert b"mine" not in ran.stdout, cut
                assert {path.name for path in tmp_path.iterdir()} <= {"ring", "cwd"}, cut
