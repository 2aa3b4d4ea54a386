"""A look at a rolling capture: whose recorder runs on a node, which segments there are, what the kernel logged."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.clock_offset import ClockOffset, clock_offset
from bot.domain.command import Command, Completed, Outputs
from bot.domain.errors import CannotRead
from bot.domain.root_command import in_folders, root_line
from bot.domain.safe_text import redacted_line
from bot.extras.captures.recorder_commands import UNIT, CapturePaths
from bot.extras.profiles.capture_wire import Facts, WallClock
from bot.extras.profiles.perf_command import JOURNAL_LINES, JOURNAL_SECONDS, READS_JOURNAL
from bot.probes.formats.kernel_line import KernelLine
from bot.probes.formats.kernel_table import table

_SEGMENT = re.compile(r"(perf\.data(?:\.\d{10,20})?) (\d{1,15}) (\d{1,12})\Z")
_FIELD = re.compile(r"(MESSAGE|__MONOTONIC_TIMESTAMP|_SOURCE_MONOTONIC_TIMESTAMP)=(.*)\Z")
_MOST_DIGITS = 18  # of microseconds
# By the kind of a line of the kernel log: the symptom that it tells of, and words for it.
_OF: dict[str, tuple[str, str]] = {
    "nic-reset": ("nic-reset", "reset"),
    "nic-reset-failed": ("nic-reset", "failed reset"),
    "soft-lockup": ("lockup", "soft lockup"),
    "hard-lockup": ("lockup", "hard lockup"),
    "rcu-stall": ("lockup", "RCU stall"),
}
_RUNS = ("active", "activating", "reloading", "deactivating")


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of the ring: `ended` is the time of day at which it was closed; None while perf writes it, or unknown."""

    name: str
    size_bytes: int
    ended: float | None


@dataclass(frozen=True, slots=True)
class LogLine:
    """A kernel log line, empty where it is no text. Units: printk's own stamp, in seconds; None where it has none."""

    stamp: float | None
    says: str


@dataclass(frozen=True, slots=True)
class RollingStatus:
    """What the node said; `log_unread` is why its kernel log is not known, empty where it was read.

    Shape: `systemd` is its version, 0 without systemd; `since_usec` is the main process's start, by CLOCK_MONOTONIC,
    0 where no unit runs; `keeps_ring`: perf supports it; `is_whole`: the node listed all `segments`, be it none.
    """

    facts: Facts
    systemd: int = 0
    is_active: bool = False
    since_usec: int = 0
    result: str = ""
    spent_seconds: float = 0.0
    keeps_ring: bool = False
    segments: tuple[Segment, ...] = ()
    is_whole: bool = True
    room_kib: int | None = None
    clock: WallClock = WallClock()
    kernel_log: ClockOffset | None = None
    lines: tuple[LogLine, ...] = ()
    log_unread: str = ""

    @property
    def reason(self) -> str:
        """Why the recorder ended, in systemd's word; empty where it says none, as for a unit that it has forgotten."""
        return "" if self.result == "success" else self.result

    @property
    def ring_bytes(self) -> int:
        """The ring's size on disk."""
        return sum(segment.size_bytes for segment in self.segments)

    @property
    def closed(self) -> list[tuple[str, float]]:
        """The names of the segments that are whole, with when they were closed by CLOCK_MONOTONIC; the oldest first."""
        offset = self.clock.minus_mono or 0.0
        return [(segment.name, segment.ended - offset) for segment in self.segments if segment.ended is not None]

    @property
    def stamped(self) -> list[tuple[float, str]]:
        """The kernel log's lines with a stamp, the oldest first; by CLOCK_MONOTONIC, with the log clock's distance."""
        offset = self.kernel_log.seconds if self.kernel_log is not None else 0.0
        return sorted((line.stamp + offset, line.says) for line in self.lines if line.stamp is not None)

    @property
    def symptoms(self) -> Iterator[tuple[str, str, float]]:
        """The symptoms that the kernel log tells of, the oldest first: the name, words for it, and when."""
        for at, says in self.stamped:
            event = table().event(KernelLine(says, says))
            if event is not None and event.kind in _OF:
                yield (*_OF[event.kind], at)

    def log_begins_after(self, mono: float) -> float | None:
        """When the lines begin that were read, where the log may have more after `mono`: only its last are read."""
        stamped = self.stamped if len(self.lines) >= JOURNAL_LINES else []
        return next((at for at, _ in stamped[:1] if at > mono), None)


def status_commands(places: CapturePaths) -> tuple[Command, ...]:
    """Return the commands; only the kernel log may need root, by a sudoers line that profiles need too."""
    return (
        Command("unit", ("sh", "-c", _unit_script(places)), lane="unit", output_limit_bytes=8192),
        Command("node", ("sh", "-c", _node_script(places)), lane="node", output_limit_bytes=32 * 1024),
        Command(
            "log",
            ("sh", "-c", _journal_script()),
            lane="log",
            limit=timedelta(seconds=2 * JOURNAL_SECONDS + 2),
            sudo=in_folders(READS_JOURNAL),
        ),
    )


def parse_status(outputs: Outputs) -> RollingStatus:
    """Parse the answers; a figure that the node did not say counts as absent.

    Raises: CannotRead where systemd did not say how the recorder is: that is never "it does not run".
    """
    unit, node = Facts(_key_values(outputs.text("unit"))), Facts(_key_values(outputs.text("node")))
    if unit.text("systemctl") == "there" and not unit.text("ActiveState"):
        raise CannotRead("systemd does not say whether the recorder runs", "systemctl status zombie-capture says more.")
    systemd = re.match(r"systemd (\d{1,4})", unit.text("version"))
    is_active = unit.text("ActiveState") in _RUNS
    since = unit.text("ExecMainStartTimestampMonotonic")
    found = (_SEGMENT.match(line) for line in outputs.text("node").splitlines())
    segments = [Segment(part[1], int(part[2]), int(part[3]) if "." in part[1][5:] else None) for part in found if part]
    log, room = outputs.get("log"), node.number("room")
    pairs, lines = _journal_entries(log.stdout if log is not None else "")
    return RollingStatus(
        facts=node,
        systemd=int(systemd[1]) if systemd else 0,
        is_active=is_active,
        since_usec=int(since) if is_active and since.isdecimal() and len(since) <= _MOST_DIGITS else 0,
        result=unit.text("Result"),
        spent_seconds=unit.number("spent") or 0.0,
        keeps_ring=(node.text("ring") or "0") != "0",
        segments=tuple(sorted(segments, key=lambda segment: (segment.ended is None, segment.ended or 0, segment.name))),
        is_whole=node.text("list") == "whole",
        room_kib=None if room is None else int(room),
        clock=node.wall_clock,
        kernel_log=clock_offset(pairs, node.wall_clock.mono),
        lines=tuple(lines),
        log_unread="" if lines else _why_unread(log),
    )


def _unit_script(places: CapturePaths) -> str:
    show = f"$p show -p ActiveState -p MainPID -p ExecMainStartTimestampMonotonic -p Result {UNIT}.service"
    # The recorder is `timeout`, and perf below it: both count.
    spent = (
        '{ pid = $1; sub(/^.*\\) /, ""); if (p > 0 && (pid == p || $2 == p)) s += $12 + $13 + $14 + $15 } '
        'END { print "spent=" s / t }'
    )
    return (
        f"for p in {' '.join(map(shlex.quote, places.systemctl))}; do [ -x $p ] && break; done; "
        f'[ -x $p ] && echo systemctl=there; echo "version=$($p --version | head -n 1)"; {show}; '
        f"m=$($p show -p MainPID {UNIT}.service); "
        f'cat /proc/[0-9]*/stat | awk -v p="${{m#*=}}" -v t="$(getconf CLK_TCK)" {shlex.quote(spent)}'
    )


def _node_script(places: CapturePaths) -> str:
    perf, folder = shlex.quote(places.perf), shlex.quote(places.folder)
    memory = "awk '/^(MemTotal|MemAvailable):/ { print $2 }' /proc/meminfo"
    stall = "awk -F'[= ]' '/^full/ { print $3 }' /proc/pressure/memory"
    units = "cpu cpu_core armv8_pmuv3 armv8_pmuv3_0"
    # A node that is short of processes or of memory may list a part of them, or end its shell meanwhile.
    listed = '[ -f "$f" ] || continue; stat -c "%n %s %Y" "$f" || [ ! -e "$f" ] || l=cut'
    pmu = f"for u in {units}; do [ -e /sys/bus/event_source/devices/$u ] && echo pmu=yes; done"
    return "; ".join(
        (
            f"echo memory=$({memory})",
            f"echo stall=$({stall})",
            'echo "load=$(cat /proc/loadavg)"',
            "echo cores=$(grep -c ^processor /proc/cpuinfo)",
            "echo system=$(sed -n s/^ID=//p /etc/os-release | tr -d '\"')",
            # A node that is too slow to answer still has perf, which is taken for a new version.
            f'told() {{ {{ timeout -k 1 5 {perf} "$@" 2>&1; echo "ended $?"; }} | tail -c 20000; }}',
            'in_time() { case $1 in *"ended 124"|*"ended 137") return 1;; esac; }',
            "late='perf version not told within 5 s'",
            f"if [ -x {perf} ]; then v=$(told version); h=$(told record -h)",
            "first() { printf '%s\\n' \"$v\" | grep -v '^ended ' | head -n 1; }",
            'if in_time "$v"; then echo "perf=$(first)"; else echo "perf=$late"; fi',
            "options() { printf '%s\\n' \"$h\" | grep -c switch-max-files; }",
            'if in_time "$h"; then echo ring=$(options); else echo ring=1; fi; fi',
            pmu,
            f"echo room=$(df -Pk $(dirname {folder}) | awk 'END {{ print $4 }}')",
            f"cd {folder} && for f in perf.data*; do {listed}; done || [ ! -e {folder} ] || l=cut",
            'echo "list=${l:-whole}"',
            "read -r b _ </proc/uptime; w=$(date +%s.%N); read -r a _ </proc/uptime; echo clock=$w $b $a",
        )
    )


def _journal_script() -> str:
    wanted = "^(MESSAGE|__MONOTONIC_TIMESTAMP|_SOURCE_MONOTONIC_TIMESTAMP)="
    read = f"timeout -k 1 {JOURNAL_SECONDS:g} {shlex.join(READS_JOURNAL)}"
    take = f"grep -aE {shlex.quote(wanted)}"
    # A login that sees only its own journal gets no lines and no error.
    return f"{read} | {take} || {root_line(READS_JOURNAL, JOURNAL_SECONDS)} | {take}"


def _why_unread(log: Completed | None) -> str:
    """Say why there is no kernel line: a node logs thousands at boot, so an empty answer means unread."""
    if log is None:
        return "the answer never came"
    return log.failure or redacted_line(log.stderr, 120) or "the journal had no line of the kernel"


def _key_values(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, sign, value = line.partition("=")
        if sign:
            found.setdefault(name, value.strip())
    return found


def _journal_entries(text: str) -> tuple[Sequence[tuple[float, float]], Sequence[LogLine]]:
    """Read journal entries: `__MONOTONIC_TIMESTAMP` begins each (journal-export format)."""
    pairs: list[tuple[float, float]] = []
    lines: list[LogLine] = []
    entry: dict[str, str] = {}

    def ended() -> None:
        stamp, mono = (_micros(entry.get(name, "")) for name in (_FIELD_SOURCE, _FIELD_MONO))
        if stamp is not None and mono is not None:
            pairs.append((stamp, mono))
        if entry:
            lines.append(LogLine(stamp, entry.get("MESSAGE", "")))

    for line in text.splitlines():
        if (found := _FIELD.match(line)) is None:
            continue
        if found[1] == _FIELD_MONO and entry:
            ended()
            entry = {}
        entry.setdefault(found[1], found[2])
    ended()
    return pairs, lines


_FIELD_SOURCE, _FIELD_MONO = "_SOURCE_MONOTONIC_TIMESTAMP", "__MONOTONIC_TIMESTAMP"


def _micros(text: str) -> float | None:
    return int(text) / 1e6 if text.isdecimal() and len(text) < 19 else None
