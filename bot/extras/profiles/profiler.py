"""Profiles a node: checks its resources, lets perf record, and passes on perf's text as it arrives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from gzip import GzipFile

from bot.domain.contracts import Fresh, TakesBytes
from bot.domain.errors import CannotRead, ConnectionLost, ProfileError, Unreachable
from bot.domain.node import Node
from bot.domain.safe_text import one_line, redacted_line
from bot.domain.script_session import ScriptSession, ScriptTransport
from bot.extras.profiles.capture_wire import CaptureEnd, CaptureWire, Facts
from bot.extras.profiles.perf_command import PERF, TEXT_SECONDS_MORE, CaptureRequest, capture_script
from bot.extras.profiles.profile import Profile
from bot.extras.profiles.reader import Reader
from bot.extras.profiles.selection import Selection

LEAST_MEMORY_KIB = 200 * 1024  # perf's buffers take 0.5 MB for each core, and reading symbols takes about 60 MB
LEAST_ROOM_KIB = 64 * 1024  # the names of a kernel with all its modules take about 15 MB
MOST_STALL_PERCENT = 40.0
MOST_LOAD_PER_CORE = 10.0


def too_starved(facts: Facts) -> str:
    """Return why the node should not be profiled now; empty where it may be. Unknown facts refuse nothing.

    Example:
    >>> too_starved(Facts({"memory": "16000000 90000"}))
    'it has 88 MB of memory left, and perf would take from that'
    """
    free = facts.number("memory", 1)
    if free is not None and free < LEAST_MEMORY_KIB:
        return f"it has {free / 1024:.0f} MB of memory left, and perf would take from that"
    stall = facts.number("stall")
    if stall is not None and stall > MOST_STALL_PERCENT:
        return f"all its tasks wait for memory {stall:.0f} % of the time"
    load, cores = facts.number("load"), facts.number("cores")
    if load is not None and cores and load > MOST_LOAD_PER_CORE * cores:
        return f"its load is {load:.0f} on {cores:.0f} cores"
    return ""


def folder_for_symbols(facts: Facts) -> str:
    """Return the folder with room for the names of kernel functions; `-` where there is none.

    Example:
    >>> folder_for_symbols(Facts(rooms={"/tmp": 10, "/dev/shm": 900_000}))
    '/dev/shm'
    """
    return next((folder for folder, free in facts.rooms.items() if free >= LEAST_ROOM_KIB), "-")


# By ID of os-release(5): the package with perf.
_PACKAGES = {
    "debian": "apt install linux-perf",
    "ubuntu": "apt install linux-tools-$(uname -r)",
    "amzn": "yum install perf",
    "rhel": "dnf install perf",
    "centos": "dnf install perf",
    "rocky": "dnf install perf",
    "fedora": "dnf install perf",
    "sles": "zypper install perf",
}
RIGHTS = "Give the login its rights there: zombie sudoers --profile prints the lines."


def perf_missing(facts: Facts) -> CannotRead | None:
    """Return the refusal where perf is missing, or is not for this kernel.

    Example:
    >>> str(perf_missing(Facts({"perf": "", "system": "debian"})))
    'perf is missing On the node: apt install linux-perf'
    """
    said = facts.text("perf")
    if said.startswith("perf version"):
        return None
    install = _PACKAGES.get(facts.text("system"), "install the package with /usr/bin/perf")
    if not said:
        return CannotRead("perf is missing", f"On the node: {install}")
    return CannotRead(f"perf does not run there ({redacted_line(said, 100)})", f"On the node: {install}")


def nothing_recorded_error(facts: Facts, end: CaptureEnd) -> CannotRead:
    """Return why perf recorded nothing."""
    said = redacted_line(end.said, 160)
    lowered = said.lower()
    if "sudo" in lowered and ("password" in lowered or "not allowed" in lowered or "may not" in lowered):
        return CannotRead(f"perf may not be run as root ({said})", RIGHTS)
    if "permission" in lowered or "perf_event_paranoid" in lowered:
        return CannotRead(
            f"the kernel does not allow recording there ({said})",
            "Look at kernel.perf_event_paranoid, and at lockdown: cat /sys/kernel/security/lockdown",
        )
    if end.record_status in (137, 139):
        return CannotRead(
            f"perf was killed before it printed anything (exit status {end.record_status})",
            "Try again; dmesg on the node says whether memory ran out.",
        )
    if not said and end.record_status is None:
        return CannotRead("the node recorded nothing, and gave no reason", "Try again.")
    return CannotRead(f"perf recorded nothing ({said or f'exit status {end.record_status}'})", "Is every core idle?")


BEFORE_SECONDS = 25.0  # logging in, facts and clocks
AFTER_SECONDS = 8.0  # between the bot's deadline and the script's

_OBSERVER = "perf"  # on a slow or idle node perf itself may be what runs most


@dataclass(frozen=True, slots=True)
class Captured:
    """A finished capture of a node. Its samples went to whoever took its text.

    Shape: `remarks` are sentences about what is not as it should be; `incomplete` says why it is cut, empty if whole.
    """

    node: str
    request: CaptureRequest
    event: str
    facts: Facts
    end: CaptureEnd
    remarks: tuple[str, ...] = ()
    incomplete: str = ""

    @property
    def load_percent(self) -> float:
        """The cost of recording and making text, in percent of one core over the time recorded."""
        return 100 * (self.end.spent_seconds + self.end.text_spent_seconds) / self.request.seconds


def default_selection(selected: Selection | None = None) -> Selection:
    """Return the selection for a capture: without perf's own work, unless it is asked for.

    Example:
    >>> default_selection().without
    'perf'
    """
    selected = selected or Selection()
    return replace(selected, without=None if selected.process == _OBSERVER else _OBSERVER)


@dataclass(frozen=True, slots=True)
class Profiler:
    """Profiles nodes. `nonce` makes a new secret for each capture; `perf` is its path on nodes."""

    transport: ScriptTransport
    nonce: Fresh
    perf: str = PERF

    async def profile(self, node: Node, request: CaptureRequest, hand_on: TakesBytes, anyway: bool = False) -> Captured:
        """Capture once; `hand_on` takes perf's text in pieces. With `anyway` a starved node is profiled too.

        Raises: Unreachable when nobody could talk to the node; CannotRead, with how to get it, when there is no
        profile: perf or a right is missing, or the node is too starved.
        """
        nonce = self.nonce()
        lasts = request.seconds + TEXT_SECONDS_MORE + BEFORE_SECONDS
        script = capture_script(request, nonce, timedelta(seconds=lasts - AFTER_SECONDS), self.perf)
        wire = CaptureWire(nonce)
        async with self.transport.start_script(node, script, timedelta(seconds=lasts)) as session:
            await _until_ready(session, wire, node)
            facts = wire.facts
            _check_resources(facts, anyway)
            session.say(f"go {facts.event} {folder_for_symbols(facts)}\n".encode())
            broke: Unreachable | None = None
            try:
                await wire.take(session, hand_on)
            except Unreachable as no:
                broke = no
        end = wire.end()
        if broke is None and not wire.ended:
            broke = ConnectionLost("The session ended in the middle of the capture.")
        if not wire.taken:
            raise broke or nothing_recorded_error(facts, end)
        return Captured(
            node.name, request, facts.event, facts, end, _remarks(facts, end), _incomplete(wire, end, broke)
        )


async def profiled(
    profiler: Profiler,
    node: Node,
    request: CaptureRequest,
    reader: Reader,
    *,
    copy: GzipFile | None = None,
    anyway: bool = False,
) -> tuple[Captured, Profile]:
    """Capture once, and have the text read as it arrives; `copy` is a file that it is written into, too.

    Raises: as `Profiler.profile`; CannotRead, too, when there is no sample.
    """

    def hand_on(text: bytes) -> None:
        reader.feed(text)
        if copy is not None:
            copy.write(text)

    captured = await profiler.profile(node, request, hand_on, anyway)
    try:
        return captured, reader.finish()
    except ProfileError as no:
        raise CannotRead("perf took no sample", "Is the node idle? A longer profile may see more.") from no


async def _until_ready(session: ScriptSession, wire: CaptureWire, node: Node) -> None:
    while not wire.ready:
        chunk = await session.read()
        if not chunk:
            raise ConnectionLost(
                f"{node.name} accepted the login and then closed the session.",
                "Does the user have a real shell, and does the key have no forced command?",
            )
        for _ in wire.feed(chunk):
            pass  # nothing is recorded yet


def _check_resources(facts: Facts, anyway: bool) -> None:
    if (missing := perf_missing(facts)) is not None:
        raise missing
    if not anyway and (why := too_starved(facts)):
        raise CannotRead(f"not profiled: {why}", "Profiling adds to its load; --anyway does it all the same.")


def _remarks(facts: Facts, end: CaptureEnd) -> tuple[str, ...]:
    found = []
    if facts.event != "cycles":
        found.append(
            "It has no performance counters: sampled by the clock, which misses code that runs with interrupts off."
        )
    if end.kernel_log is None:
        found.append("The kernel log's clock was not compared with perf's: the journal has no new line of the kernel.")
    return (*found, *([f"{end.lost}."] if end.lost else []))


def _incomplete(wire: CaptureWire, end: CaptureEnd, broke: Unreachable | None) -> str:
    if wire.cut:
        return "It is cut: there was more text than the limit."
    if broke is not None:
        return f"It is cut: {one_line(broke.sentence, 160)} What had arrived by then is shown."
    if end.record_status in (125, 126, 127, 137, 139):
        return f"perf ended early (exit status {end.record_status})."
    if end.text_status not in (0, None):
        return f"perf could not make text of all samples (exit status {end.text_status})."
    return ""
