"""The JSON document while nodes are still being read: a node is written once all nodes before it are."""

from __future__ import annotations

import asyncio
import contextlib
import json
import zlib
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from typing import TextIO

from bot.domain.growth import Growth
from bot.domain.verdict import Verdict
from bot.surfaces.document import BEGINNING, BETWEEN, END, document, node_document, node_text
from bot.surfaces.json_converter import JsonConverter

AS_THEY_ARE = 100  # documents that wait for their turn, about 40 kB each; further ones are compressed
PAUSE_SECONDS = 0.1  # between looks for ready nodes: writing several at a time costs less


class DocumentStream:
    """Writes verdicts in the order of `names`, however they arrive; most of those that wait are compressed.

    Shape: the document is valid whenever `end` is called; nodes without a verdict are missing. The document of a
    single node is laid out for people, and written at the end. Without `readings` what was read is left out.
    """

    def __init__(self, names: Iterable[str], out: TextIO, *, readings: bool = True) -> None:
        self._ahead = deque(names)
        self._alone = len(self._ahead) == 1
        self._only: list[Verdict] = []
        self._growths: dict[str, Growth] = {}
        self._out = out
        self._readings = readings
        self._waiting: dict[str, str | bytes] = {}
        self._written = 0
        self._converter = JsonConverter()
        self._more = asyncio.Event()
        self._ended = asyncio.Event()
        self._failed: OSError | None = None

    def add(self, verdict: Verdict, growth: Growth | None = None) -> None:
        """Take in a node's verdict and its growth; only their text is kept."""
        if self._failed is not None:
            raise self._failed
        if not self._readings:
            verdict = replace(verdict, snapshot=None)
        if self._alone:
            self._only.append(verdict)
            if growth is not None:
                self._growths[verdict.node] = growth
            return
        self.add_text(verdict.node, node_text(node_document(verdict, None, self._converter, growth)))

    def add_text(self, node: str, text: str) -> None:
        """Take in a node's part of a document of several, as `node_text` made it."""
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
                await asyncio.to_thread(self._write_ready)
            except OSError as no:
                self._failed = no
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), PAUSE_SECONDS)

    def end(self, incidents: Mapping[str, str] | None = None) -> None:
        """Write the rest, with the incidents that were opened, by node."""
        if self._alone:
            self._out.write(document(self._only, incidents, self._growths) + "\n")
            return
        while self._ahead:
            self._write_ready(incidents)
            if self._ahead:
                self._ahead.popleft()  # it has no verdict
        self._out.write((END if self._written else BEGINNING + END.lstrip("\n")) + "\n")

    def _write_ready(self, incidents: Mapping[str, str] | None = None) -> None:
        while self._ahead and (packed := self._waiting.pop(self._ahead[0], None)) is not None:
            name = self._ahead.popleft()
            text = packed if isinstance(packed, str) else zlib.decompress(packed).decode()
            if incidents and name in incidents:
                text = f'{text[:-1]}, "incident": {json.dumps(incidents[name])}}}'
            self._out.write((BETWEEN if self._written else BEGINNING) + text)
            self._written += 1
        self._out.flush()
