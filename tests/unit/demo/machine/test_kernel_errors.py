"""A simulated node tells which of its lines the kernel calls errors, as the filter of a real one does."""

import shutil
import subprocess
from dataclasses import replace

import pytest

from bot.demo.fleet_leaks import AUTO_RESTART
from bot.demo.machine.command import Asked
from bot.demo.machine.kernel_log import entries, kernel_lines
from bot.demo.machine.state import Line, State
from bot.probes.formats.kernel_filter import FILTER, GRAVE, LEVELS_END, WHOLE
from bot.probes.kernel_log import PROBE, parse
from tests.readings.recorded import once
from tests.unit.demo.machine.moments import moment

UP = AUTO_RESTART.uptime
STRANGE = Line(UP - 600, "zyx 0000:3b:00.0: mailbox not served", 3, every=90.0)
HABIT = Line(UP - 600, "kvm [4118]: vcpu0, guest rIP: 0x1 ignored rdmsr: 0x1a2", 3, every=30.0)
GRAVE_ONE = Line(UP - 300, "zyx: the board is at its end", 1)


def answered(state: State) -> str:
    (command,) = PROBE.commands
    return kernel_lines(Asked(command.argv, state, lambda: moment(state)))


def filtered(state: State) -> str:
    """What the real filter makes of this node's log."""
    printed = [
        (level, f"[{at:12.6f}] {state.name} kernel: {text}") for at, level, text in entries(state, moment(state))
    ]
    levels = [[line for level, line in printed if level <= most] for most in (3, 2)]
    text = "\n".join([*(line for _, line in printed), WHOLE, *levels[0], GRAVE, *levels[1], LEVELS_END, ""])
    argv = ["awk", "-v", "o=journal", FILTER]
    return subprocess.run(argv, input=text, capture_output=True, text=True, timeout=30, check=True).stdout


@pytest.mark.skipif(not shutil.which("awk"), reason="no awk")
@pytest.mark.parametrize("log", [(), (STRANGE, HABIT), (GRAVE_ONE,)], ids=["leak", "errors", "critical"])
def test_simulated_answer_is_the_filters(log: tuple[Line, ...]) -> None:
    state = replace(AUTO_RESTART, log=log, nics=())
    assert answered(state) == filtered(state)


def test_simulated_error_is_heard() -> None:
    reading = parse(once("log", answered(replace(AUTO_RESTART, log=(STRANGE, HABIT, GRAVE_ONE), nics=()))))
    assert reading.last_complaint_seconds > UP - 90
    assert reading.last_grave_seconds == UP - 300
