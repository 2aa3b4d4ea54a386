"""How long soft interrupts wait for their core, and network queues for their next poll: bpftrace, for 3 s.

Defined in: Linux, include/trace/events/irq.h (softirq_raise, softirq_entry) and napi.h (napi_poll); bpftrace(8). Until
0.18 bpftrace takes `args->vec`, since 0.19 `args.vec`; both were tried with 0.17 and 0.23.

It runs only if a playbook asks for it, because tracing every packet costs a node more than a check may.
sudo compares a command's arguments as one joined text, so a login that may run a line may also split it into other
words. No word of the program begins with `-`, so every other split starts the same program, which ends as early.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.root_command import in_folders, root_line
from bot.domain.safe_text import one_line
from bot.probes.formats.core_list import MOST_CORES

SECONDS = 3
KINDS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")


@dataclass(frozen=True, slots=True)
class SoftirqWait:
    """How long a kind of soft interrupt waited on a core between being raised and being run.

    Shape: `ended` False: the longest wait had not ended when tracing stopped. Units: microseconds.
    """

    core: int
    kind: str
    times: int
    worst_us: int
    ended: bool = True


@dataclass(frozen=True, slots=True)
class SoftirqWaitsReading:
    """Waits by core and kind, longest first; `gaps` are the longest times, by network card, between two polls of a
    queue with packets left; `backlog` is the same for packets that come from no card.

    Units: microseconds.
    """

    probe: ClassVar[str] = "softirq_waits"

    waits: tuple[SoftirqWait, ...]
    gaps: Mapping[str, int]
    seconds: int = SECONDS

    def of(self, core: int) -> SoftirqWait | None:
        """Return the longest wait on a core."""
        return next((wait for wait in self.waits if wait.core == core), None)

    @property
    def worst_ms(self) -> float:
        """The longest wait of all, in milliseconds."""
        return self.waits[0].worst_us / 1000 if self.waits else 0.0

    @property
    def worst_gap_ms(self) -> float:
        """The longest time without a poll of a card's queue that held packets, in milliseconds."""
        return max(self.gaps.values(), default=0) / 1000


def _program(arg: str) -> str:
    """The program in the syntax of a version; `arg` is the prefix of an argument's name."""
    raised = f"@raised[cpu,{arg}vec]"
    return " ".join(
        (
            f"tracepoint:irq:softirq_raise /!{raised}/ {{ {raised} = nsecs; }}",
            f"tracepoint:irq:softirq_entry /{raised}/ {{ @waits[cpu,{arg}vec] = count();",
            f"@worst[cpu,{arg}vec] = max((nsecs-{raised})/1000); {raised} = 0; }}",
            f"tracepoint:napi:napi_poll {{ if (@polled[{arg}napi] != 0)",
            f"{{ @gap[str({arg}dev_name)] = max((nsecs-@polled[{arg}napi])/1000); }}",
            f"@polled[{arg}napi] = {arg}work == {arg}budget ? nsecs : 0; }}",
            f"interval:s:{SECONDS} {{ @ended = nsecs; clear(@polled); exit(); }}",
        )
    )


_LIMIT = timedelta(seconds=10)  # it took 4 to 7 s on a busy machine: compiling and detaching, niced
_FOLDERS = ("/usr/bin", "/usr/sbin", "/usr/local/bin")
_OLD, _NEW = (("bpftrace", "-f", "json", "-e", _program(arg)) for arg in ("args->", "args."))
_BACKLOG = "(no_device)"  # packets from a core's own backlog: loopback, RPS, packets between network namespaces
_ROW = re.compile(r"([0-9]{1,5}),([0-9]{1,2})", re.ASCII)
_MOST_NS = 1 << 63


def _script_by_version(old: str, new: str, before: str = "") -> tuple[str, ...]:
    """Choose the syntax by the version; prints nothing if it may not run, so that the next way is tried."""
    places = " ".join(way[0] for way in in_folders(_NEW, _FOLDERS))
    script = (
        f"{before}for q in {places}; do [ -x $q ] && break; done; "
        '[ -x $q ] || { echo "bpftrace is missing" >&2; exit 127; }; '
        f"case $($q --version) in *v0.[0-9].*|*v0.1[0-8].*) {old};; *) {new};; esac"
    )
    return ("sh", "-c", script)


def _direct_script(argv: tuple[str, ...]) -> str:
    return f"$q {shlex.join(argv[1:])}"


def _sudo_line(argv: tuple[str, ...]) -> str:
    return root_line(argv, _LIMIT.total_seconds(), _FOLDERS)


def parse(outputs: Outputs) -> SoftirqWaitsReading:
    """Read what bpftrace counted.

    Unread when: bpftrace, the right to run it or the kernel's tracepoints are missing, or it was ended too early.
    """
    maps = _maps_by_name(outputs.text("bpftrace"))
    if "@ended" not in maps:
        raise CannotRead("softirq_waits: bpftrace was ended too early")
    ended = _checked_nanoseconds(maps["@ended"])
    waits, worst, raised = (_by_core_and_kind(maps.get(name, {})) for name in ("@waits", "@worst", "@raised"))
    if not waits:
        raise CannotRead(f"softirq_waits: bpftrace saw no soft interrupt in {SECONDS} s")
    found = {}
    for key in {**worst, **{key: 0 for key, since in raised.items() if 0 < since <= ended}}:
        since = raised.get(key, 0)
        open_us = (ended - since) // 1000 if 0 < since <= ended else 0
        core, kind = key
        found[key] = SoftirqWait(
            core, KINDS[kind], waits.get(key, 0), max(worst.get(key, 0), open_us), open_us <= worst.get(key, 0)
        )
    gaps = maps.get("@gap", {})
    if not isinstance(gaps, dict):
        raise CannotRead("softirq_waits: bpftrace's table of gaps is malformed")
    return SoftirqWaitsReading(
        tuple(sorted(found.values(), key=lambda wait: (-wait.worst_us, wait.core, wait.kind))),
        {
            "backlog" if card == _BACKLOG else one_line(str(card), 40): _checked_nanoseconds(gap)
            for card, gap in gaps.items()
        },
    )


def _maps_by_name(text: str) -> dict[str, Any]:
    """Return bpftrace's maps by name; each of its lines is a JSON object."""
    found: dict[str, Any] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            parsed = json.loads(line)
            if parsed["type"] == "map":
                found |= parsed["data"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CannotRead(f"softirq_waits: a line of bpftrace is malformed ({one_line(line, 60)})") from error
    return found


def _by_core_and_kind(parsed: Any) -> dict[tuple[int, int], int]:
    """Return a map by core and kind."""
    if not isinstance(parsed, dict):
        raise CannotRead("softirq_waits: a table of bpftrace is malformed")
    table = {}
    for key, value in parsed.items():
        row = _ROW.fullmatch(key)
        if row is None or int(row[1]) >= MOST_CORES or int(row[2]) >= len(KINDS):
            raise CannotRead(f"softirq_waits: bpftrace shows an impossible core or kind ({one_line(key, 40)})")
        table[int(row[1]), int(row[2])] = _checked_nanoseconds(value)
    return table


def _checked_nanoseconds(parsed: Any) -> int:
    if type(parsed) is not int or not 0 <= parsed < _MOST_NS:
        raise CannotRead(f"softirq_waits: bpftrace shows something that is not a number ({one_line(str(parsed), 40)})")
    return parsed


PROBE = Probe(
    name="softirq_waits",
    title="how long soft interrupts wait (bpftrace)",
    commands=(
        Command(
            "bpftrace",
            _script_by_version(_direct_script(_OLD), _direct_script(_NEW), '[ "$(id -u)" = 0 ] || exit 0; '),
            alternatives=(_script_by_version(_sudo_line(_OLD), _sudo_line(_NEW)),),
            lane="bpftrace",
            limit=_LIMIT,
            output_limit_bytes=128 * 1024,
            sudo=(*in_folders(_OLD, _FOLDERS), *in_folders(_NEW, _FOLDERS)),
        ),
    ),
    parse=parse,
    reading=SoftirqWaitsReading,
)
