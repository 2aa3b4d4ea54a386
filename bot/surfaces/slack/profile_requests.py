"""What people type about profiles and captures, as values. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.capture import SECONDS, CaptureRequest
from bot.domain.node import Node
from bot.domain.rolling import HOURS, RollingRequest, hours_of, is_capture_id

_ABOUT = {"show": "Say which: `/zombie capture show ID`.", "stop": "Say which: `/zombie capture stop ID`."}


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """A request to profile a node."""

    node: Node
    capture: CaptureRequest


@dataclass(frozen=True, slots=True)
class RecordRequest:
    """A request to record a node for hours."""

    node: Node
    rolling: RollingRequest


@dataclass(frozen=True, slots=True)
class CapturesRequest:
    """A request about existing captures: `verb` is list, show or stop."""

    verb: str
    capture: str = ""


def seconds_of(words: list[str]) -> CaptureRequest | str:
    """Return how long to profile, from the words after the node's name, or a sentence that lists the choices."""
    seconds = words[0].removesuffix("s") if words else "10"
    try:
        return CaptureRequest(seconds=int(seconds) if seconds.isdecimal() and len(seconds) < 6 else 0)
    except ValueError:
        return f"A profile lasts {', '.join(map(str, SECONDS))} seconds, and nothing else."


def record_of(words: list[str]) -> RollingRequest | str:
    """Return how long to record, from the words after the node's name, or a sentence that lists the choices."""
    try:
        return RollingRequest(hours_of(words[0] if words else "12h"))
    except ValueError:
        return f"A capture runs for {', '.join(f'{hours}h' for hours in HOURS)}, and nothing else."


def captures_of(words: list[str]) -> CapturesRequest | str | None:
    """Return the request about captures, or a sentence on how to type it; None for other words.

    Example:
    >>> captures_of(["stop", "7k3m9x2qpv"])
    CapturesRequest(verb='stop', capture='7k3m9x2qpv')
    >>> captures_of(["node-123", "12h"])
    """
    verb = words[0].lower() if words else ""
    if verb == "list" and len(words) == 1:
        return CapturesRequest("list")
    if verb not in _ABOUT:
        return None
    is_one = len(words) == 2 and is_capture_id(words[1])
    return CapturesRequest(verb, words[1]) if is_one else _ABOUT[verb]
