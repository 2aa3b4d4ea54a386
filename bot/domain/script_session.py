"""A session on a node: a script that sends facts, waits for a word, and sends a stream."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Protocol

from bot.domain.node import Node


class ScriptSession(Protocol):
    """A script that runs on a node."""

    async def read(self) -> bytes:
        """Return the bytes that came; empty at the end.

        Raises: ShellStalled when the deadline passes; ConnectionLost when the connection breaks.
        """

    def say(self, words: bytes) -> None:
        """Send bytes to the script; they are dropped if the script has ended."""


class ScriptTransport(Protocol):
    """A transport that can run a script and talk with it."""

    def start_script(self, node: Node, script: str, deadline: timedelta) -> AbstractAsyncContextManager[ScriptSession]:
        """Run a script on the node over its own connection; the end of the block ends both.

        Raises: Unreachable when the node could not be talked to; MissingFile when a key or known_hosts file is missing.
        """
