"""Profiles a node: checks its resources, lets perf record, and passes on perf's text as it arrives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from bot.domain.capture import PERF, CaptureRequest
from bot.domain.capture_shell import TEXT_SECONDS_MORE, capture_script
from bot.domain.capture_wire import CaptureEnd, CaptureWire, Facts
from bot.domain.contracts import Fresh, TakesBytes
from bot.domain.errors import CannotRead, ConnectionLost, Unreachable
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.domain.script_session import ScriptSession, ScriptTransport
from bot.profile import Selection
from bot.response.capture.capacity import folder_for_symbols, too_starved
from bot.response.capture.missing_profile import perf_missing, why_nothing

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


def of_the_node(selected: Selection | None = None) -> Selection:
    """Return the selection for a capture: without perf's own work, unless it is asked for.

    Example:
    >>> of_the_node().without
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
        async with self.transport.run_script(node, script, timedelta(seconds=lasts)) as session:
            await _until_ready(session, wire, node)
            facts = wire.facts
            event, place = _decided(facts, anyway)
            session.say(f"go {event} {place}\n".encode())
            taken, broke = await _recorded(session, wire, hand_on)
        end = wire.end()
        if not taken:
            if broke is not None and not wire.ended:
                raise broke
            raise why_nothing(facts, end)
        return Captured(node.name, request, event, facts, end, _remarks(facts, end), _incomplete(wire, end, broke))


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


def _decided(facts: Facts, anyway: bool) -> tuple[str, str]:
    """Return the event, and the folder for symbols: `-` where none is needed or none has room."""
    if (missing := perf_missing(facts)) is not None:
        raise missing
    if not anyway and (why := too_starved(facts)):
        raise CannotRead(f"not profiled: {why}", "Profiling adds to its load; --anyway does it all the same.")
    return "cycles" if facts.text("pmu") == "yes" else "cpu-clock", folder_for_symbols(facts)


async def _recorded(session: ScriptSession, wire: CaptureWire, hand_on: TakesBytes) -> tuple[int, Unreachable | None]:
    """Pass on all text; return its size in bytes, and what broke the connection."""
    taken = 0
    try:
        while not (wire.ended or wire.cut) and (chunk := await session.read()):
            for text in wire.feed(chunk):
                taken += len(text)
                hand_on(text)
    except Unreachable as broke:
        return taken, broke
    return taken, None if wire.ended else ConnectionLost("The session ended in the middle of the capture.")


def _remarks(facts: Facts, end: CaptureEnd) -> tuple[str, ...]:
    found = []
    if facts.text("pmu") != "yes":
        found.append(
            "It has no performance counters: sampled by the clock, which misses code that runs with interrupts off."
        )
    if end.kernel_log is None:
        found.append("The kernel log's clock was not compared with perf's: the journal has no new line of the kernel.")
    return tuple(found)


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
