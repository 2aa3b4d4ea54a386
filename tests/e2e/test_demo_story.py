"""`zombie demo` as a person meets it: in a terminal of 80 columns, with keys pressed, and gone without a trace."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from tests.program import environment, zombie
from tests.waiting import until

ROOT = Path(__file__).parents[2]
PROMPT = "zombie demo> "
# A process of its own session whose controlling terminal is what its stdin is: only then does Ctrl-C reach it.
TAKES_THE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.executable, "
    "[sys.executable, '-P', '-m', 'bot', 'demo', '--samples', '2'])"
)
DEMO = (sys.executable, "-P", "-c", TAKES_THE_TERMINAL)


class Terminal:
    """A terminal of 80 columns with the demo in it, by any command that starts it."""

    def __init__(self, temporary: Path, command: Sequence[str] = DEMO, folder: Path | None = None) -> None:
        self.temporary = temporary
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 80))
        environment = {"PATH": os.environ["PATH"], "HOME": str(temporary), "TERM": "xterm", "TMPDIR": str(temporary)}
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**environment, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
            start_new_session=True,
        )
        os.close(slave)
        os.set_blocking(self._master, False)
        self.shown = ""

    def _read(self) -> str:
        with contextlib.suppress(OSError):  # nothing there yet, or nobody writes any more
            self.shown += os.read(self._master, 65536).decode(errors="replace")
        return self.shown

    def waits_for(self, text: str, since: int = 0, within: float = 40) -> int:
        """Wait until the text is shown, and return where it ends."""
        until(lambda: text in self._read()[since:], within=timedelta(seconds=within), what=f"{text!r} in the terminal")
        return self.shown.index(text, since) + len(text)

    def presses(self, keys: str) -> int:
        """Type, and return where the screen stood."""
        stood = len(self._read())
        os.write(self._master, keys.encode())
        return stood

    def kills(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def status(self) -> int:
        """Wait for the end and return the exit status."""

        def ended() -> bool:
            self._read()
            return self._process.poll() is not None

        until(ended, within=timedelta(seconds=120), what="the end of the demo")
        return self._process.returncode

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path)
    yield opened
    opened.close()


def ends_well(terminal: Terminal) -> None:
    assert terminal.status() == 0
    assert [path.name for path in terminal.temporary.iterdir() if path.name.startswith("zombie-demo-")] == []
    assert "Traceback" not in terminal.shown


def test_person_sees_the_fleet_judged_asks_for_more_also_elsewhere_and_leaves_by_ctrl_d(terminal: Terminal) -> None:
    at = terminal.waits_for(PROMPT)
    opening = terminal.shown[:at]
    assert re.search(r"ray-gpu-1a-0417 +CRITICAL +leaked-memory-cgroups \(confirmed\)", opening)
    assert re.search(r"train-gpu-1a-0102 +HEALTHY", opening)
    assert "Traceback" not in opening
    inventory = re.search(r"--inventory (\S+)", opening)
    assert inventory is not None
    assert Path(inventory.group(1)).is_file()
    at = terminal.presses("show batch-1\t\n")  # completed by the tab key
    at = terminal.waits_for(PROMPT, terminal.waits_for("ecs.service", at))
    at = terminal.presses("check quiet-1a-0061\n")
    at = terminal.waits_for(PROMPT, terminal.waits_for("present, not proven", at))
    at = terminal.presses("json train-gpu-1a-0102\n")
    terminal.waits_for(PROMPT, terminal.waits_for('"status": "healthy"', at))

    elsewhere = re.search(r"check (\S+) --inventory (\S+)", opening)
    assert elsewhere is not None
    words = ("check", elsewhere[1], "--inventory", elsewhere[2], "--samples", "2")
    done = zombie(*words, env=environment(terminal.temporary))
    assert (done.returncode, "CRITICAL" in done.stdout) == (1, True), done.stderr
    terminal.presses("\x04")
    ends_well(terminal)


def test_ctrl_c_during_the_check_ends_it_within_seconds(terminal: Terminal) -> None:
    terminal.waits_for("reading")
    pressed = time.monotonic()
    terminal.presses("\x03")
    ends_well(terminal)
    assert time.monotonic() - pressed < 20, "a person does not press it a second time"


def test_closed_terminal_leaves_nothing(terminal: Terminal) -> None:
    """As by SIGTERM, which test_image.py sends."""
    terminal.waits_for("reading")
    terminal.kills(signal.SIGHUP)
    ends_well(terminal)
