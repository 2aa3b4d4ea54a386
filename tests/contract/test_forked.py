"""Tests run in forks are reported as if they had run here, also where a fork dies, hangs or somebody interrupts."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import until

ROOT = Path(__file__).parents[2]
CONFTEST = """
import os, pytest
from tests import forked
from tests.conftest import pytest_addoption, pytest_runtestloop

forked.HANGS_AFTER = int(os.environ.get("HANGS_AFTER", 30))

@pytest.fixture(scope="session")
def server():
    yield
    with open("ended", "a") as ended:
        ended.write("x")
"""
FILES = {
    "one": "def test_fine(server, record_property):\n    record_property('table', 'a table')\n"
    "def test_wrong(server):\n    print('as it was')\n    assert 1 == 2\n",
    "two": "import os, pytest\ndef test_left_out():\n    pytest.skip('not here')\ndef test_dies():\n    os._exit(7)\n",
    "three": "def test_fine(server, tmp_path):\n    assert tmp_path.is_dir()\n",
    "waits": "import pathlib, time\ndef test_waits(server):\n    pathlib.Path('waits').touch()\n"
    "    while True: time.sleep(0.1)\n",  # signal.pause() would miss a signal that comes just before it
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name, text in FILES.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    return tmp_path


def start(project: Path, *words: str) -> "subprocess.Popen[str]":
    environ = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}
    # Folders of its own: pytest removes what older runs left, which takes longer than a fork may hang here.
    folders = {"PYTEST_DEBUG_TEMPROOT": str(project), "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "pytest", "--forks", "3", *words],
        cwd=project,
        env={**environ, **folders},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_every_outcome_is_told_a_death_and_a_stop_too_and_what_the_session_started_is_ended(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANGS_AFTER", "4")
    names = [f"test_{name}.py" for name in FILES]
    with start(project, "-ra", "--junitxml=report.xml", *names) as run:
        said, _ = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "3 failed, 2 passed, 1 skipped" in said
    assert "FAILED test_one.py::test_wrong - assert 1 == 2" in said
    assert "as it was" in said
    assert "FAILED test_two.py::test_dies - the process that ran this test" in said
    assert "and what was left of its file, ended with 7" in said
    assert "FAILED test_waits.py::test_waits - the process that ran this test" in said
    assert 'test_waits.py", line 4 in test_waits' in said, "what hangs is named with its stack"
    assert "not here" in said
    assert 1 <= len((project / "ended").read_text()) <= 2  # once in each that used it
    report = (project / "report.xml").read_text()
    assert 'tests="6"' in report
    assert 'value="a table"' in report


def test_first_failure_ends_the_run_where_that_is_asked_for(project: Path) -> None:
    with start(project, "-x", "test_one.py") as run:
        said, _ = run.communicate(timeout=120)
    assert (run.returncode, "stopping after 1 failures" in said) == (1, True)
    assert (project / "ended").read_text() == "x"


def test_interrupt_ends_the_forks_and_what_they_started(project: Path) -> None:
    with start(project, "test_waits.py", "test_three.py") as run:
        until((project / "waits").exists)
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate(timeout=120)
    assert (run.returncode, "KeyboardInterrupt" in said) == (2, True), said
    assert (project / "ended").exists(), said
