"""A talk with a node: one script that tells something, hears a word, and sends a stream."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Protocol

from bot.domain.node import Node


class Talk(Protocol):
    """One script that runs on a node."""

    async def read(self) -> bytes:
        """Return what came; empty once nothing more comes.

        Raises: ShellStalled when the deadline passes; ConnectionLost when the connection breaks.
        """
        ...

    def say(self, words: bytes) -> None:
        """Send something to the script. What cannot arrive any more is dropped."""
        ...


class TalkingTransport(Protocol):
    """A way on which one can talk with a node."""

    def talk(self, node: Node, script: str, deadline: timedelta) -> AbstractAsyncContextManager[Talk]:
        """Run a script on the node over a connection of its own; at the end of the block both are over.

        Raises: Unreachable when nobody could talk to the node; MissingFile when a key or known_hosts file is missing.
        """
        ...
