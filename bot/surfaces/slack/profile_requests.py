"""What people type about profiles, as values. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.capture import SECONDS, CaptureRequest
from bot.domain.node import Node


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """A request to profile a node."""

    node: Node
    capture: CaptureRequest


def seconds_of(words: list[str]) -> CaptureRequest | str:
    """Return how long to profile, from the words after the node's name, or a sentence that lists the choices."""
    seconds = words[0].removesuffix("s") if words else "10"
    try:
        return CaptureRequest(seconds=int(seconds) if seconds.isdecimal() and len(seconds) < 6 else 0)
    except ValueError:
        return f"A profile lasts {', '.join(map(str, SECONDS))} seconds, and nothing else."
