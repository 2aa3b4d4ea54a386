"""The recorder of rolling captures on a simulated node: the unit, its ring, and what a look at them tells.

The words that it answers are those of bot/extras/captures/ring_status.py and recorder.py there; its samples are
synthetic, made when a segment is read.
"""

from __future__ import annotations

import re

from bot.demo.machine import kernel_log
from bot.demo.machine.command import Answer
from bot.demo.machine.state import Moment, State

_START = re.compile(r"systemd-run .*--switch-output=(\d+)m --switch-max-files=(\d+) .* sleep (\d+)\Z")
_COSTS = 0.004  # of a core, while it records
_SEGMENT_BYTES = 21_000_000
_REFUSED = Answer.error("sudo: a password is required", 1)


def may_be_recorder(line: str) -> bool:
    """True where a recorder may have an answer to a command line."""
    return any(words in line for words in ("zombie-capture", "grep -c switch-max-files", "_SOURCE_MONOTONIC_TIMESTAMP"))


class Recorder:
    """The only recorder that a node may have."""

    def __init__(self) -> None:
        self._since: float | None = None  # uptimes in seconds
        self._until = 0.0
        self._lasts = 120.0
        self._most = 12

    def answer(self, line: str, state: State, now: Moment) -> Answer | None:
        """Return what a command line prints; None where it is about something else."""
        if "getconf CLK_TCK" in line and "zombie-capture.service" in line:
            return Answer.text(self._unit_status(state, now.uptime))
        if "grep -c switch-max-files" in line:
            return Answer.text(self._node_status(state, now))
        if "grep -aE" in line and "_SOURCE_MONOTONIC_TIMESTAMP" in line:
            return Answer.text(_journal_export(state, now))
        if "zombie-capture" not in line or "sudo -n" not in line:
            return None
        if not state.sudo:
            return _REFUSED
        if " -rf " in line and self._is_recording(now.uptime):
            return Answer.error("a recorder may run there already", 1)
        if (start := _START.search(line)) is not None:
            self._since, self._until = now.uptime, now.uptime + int(start[3])
            self._lasts, self._most = 60.0 * int(start[1]), int(start[2])
        elif " stop " in line:
            self._until = min(self._until, now.uptime)
        elif " -rf " in line:
            self._since = None
        return Answer()

    def between(self, name: str, now: float) -> tuple[float, float] | None:
        """Return the uptimes between which a segment was recorded; None where it is not in the ring."""
        return next((times for called, times in self._segments(now) if called == name), None)

    def forget(self) -> None:
        """End it, as a reboot does."""
        self._since = None

    def _is_recording(self, now: float) -> bool:
        return self._since is not None and now < self._until

    def _segments(self, now: float) -> list[tuple[str, tuple[float, float]]]:
        """The closed segments, the oldest first, each with its uptimes."""
        if self._since is None:
            return []
        end, found, at, number = min(now, self._until), [], self._since, 1
        while at + self._lasts <= end or (at < end and not self._is_recording(now)):
            until = min(at + self._lasts, end)
            found.append((f"perf.data.20261122{number:08}", (at, until)))
            at, number = until, number + 1
        return found[-self._most :]

    def _unit_status(self, state: State, now: float) -> str:
        version = f"version=systemd {state.system.systemd} (simulated)\n"
        if not self._is_recording(now) or self._since is None:
            return f"{version}Result=success\nActiveState=inactive\nMainPID=0\nspent=0\n"
        spent = _COSTS * (now - self._since)
        since = round(self._since * 1e6)
        unit = f"ActiveState=active\nMainPID=4711\nExecMainStartTimestampMonotonic={since}\nResult=success\n"
        return f"{version}{unit}spent={spent:.3f}\n"

    def _node_status(self, state: State, now: Moment) -> str:
        text = f"memory={state.memory.total} {state.memory.available}\nload=1.0\ncores={state.load.cores}\n"
        text += f"system={state.system.os_id}\nroom=41000000\npmu=yes\n"
        if state.perf:
            text += f"perf=perf version {state.system.kernel.split('-')[0]}\nring=1\n"
        wall = now.at.timestamp() - now.uptime
        for name, (_, ended) in self._segments(now.uptime):
            text += f"{name} {_SEGMENT_BYTES} {int(wall + ended)}\n"
        return f"{text}list=whole\nclock={now.at.timestamp():.6f} {now.uptime:.2f} {now.uptime:.2f}\n"


def _journal_export(state: State, now: Moment) -> str:
    text = ""
    for at, _, says in kernel_log.entries(state, now)[-200:]:
        text += f"__MONOTONIC_TIMESTAMP={round(at * 1e6) + 200}\nMESSAGE={says}\n"
        text += f"_SOURCE_MONOTONIC_TIMESTAMP={round(at * 1e6)}\n"
    return text
