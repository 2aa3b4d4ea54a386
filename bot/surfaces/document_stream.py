"""The JSON document while nodes are still being read: a node is written once all nodes before it are."""

from __future__ import annotations

import asyncio
import contextlib
import json
import zlib
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import TextIO

from bot.surfaces.document import BEGINNING, BETWEEN, END, laid_out

AS_THEY_ARE = 1_000  # documents that wait for their turn, about 40 kB each; further ones are compressed
PAUSE_SECONDS = 0.1  # between looks for ready nodes: writing several at a time costs less


class DocumentStream:
    """Writes nodes' parts in the order of `names`, however they arrive; most of those that wait are compressed.

    Shape: the document is valid whenever `end` is called; nodes of which nothing came are missing. The document of a
    single node is laid out for people, and written at the end.
    """

    def __init__(self, names: Iterable[str], out: TextIO) -> None:
        self._ahead = deque(names)
        self._alone = len(self._ahead) == 1
        self._out = out
        self._waiting: dict[str, str | bytes] = {}
        self._written = 0
        self._more = asyncio.Event()
        self._ended = asyncio.Event()
        self._failed: OSError | None = None

    def add(self, node: str, text: str) -> None:
        """Take in a node's part of the document, as `node_text` made it."""
        if self._failed is not None:
            raise self._failed
        few = len(self._waiting) < AS_THEY_ARE
        self._waiting[node] = text if few else zlib.compress(text.encode(), 1)
        self._more.set()

    @contextlib.asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Write what is ready while the block runs, in a thread: a slow reader must not keep nodes waiting.

        Raises: OSError once nothing can be written; from then on `add` raises it too.
        """
        if self._alone:
            yield
            return
        writer = asyncio.create_task(self._write_on())
        try:
            yield
        finally:
            self._ended.set()
            self._more.set()
            await writer
        if self._failed is not None:
            raise self._failed

    async def _write_on(self) -> None:
        while not self._ended.is_set() and self._failed is None:
            await self._more.wait()
            self._more.clear()
            try:
                await asyncio.to_thread(self._write_ready, {})
            except OSError as no:
                self._failed = no
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), PAUSE_SECONDS)

    def end(self, incidents: Mapping[str, str] | None = None) -> None:
        """Write the rest, with the incidents that were opened, by node."""
        if self._alone:
            came = [json.loads(self._take_text(name, incidents or {})) for name in self._ahead if name in self._waiting]
            self._out.write(laid_out(came) + "\n")
            return
        while self._ahead:
            self._write_ready(incidents or {})
            if self._ahead:
                self._ahead.popleft()  # it has no verdict
        self._out.write((END if self._written else BEGINNING + END.lstrip("\n")) + "\n")

    def _write_ready(self, incidents: Mapping[str, str]) -> None:
        while self._ahead and self._ahead[0] in self._waiting:
            text = self._take_text(self._ahead.popleft(), incidents)
            self._out.write((BETWEEN if self._written else BEGINNING) + text)
            self._written += 1
        self._out.flush()

    def _take_text(self, node: str, incidents: Mapping[str, str]) -> str:
        packed = self._waiting.pop(node)
        text = packed if isinstance(packed, str) else zlib.decompress(packed).decode()
        return f'{text[:-1]},"incident":{json.dumps(incidents[node])}}}' if node in incidents else text
