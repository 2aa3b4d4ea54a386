"""A recorded node: its commands' output is read from a file."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncGenerator, Iterable
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.errors import MissingFile
from bot.domain.node import Node

FORMAT = 1


class ReplayTransport:
    """Answers batches from a recording. A command that was not recorded gets no answer."""

    def __init__(self, recording: Path) -> None:
        self._recording = recording

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        """Yield the recorded runs that the batch asks for, at once."""
        asked = {(question.probe, question.command.name, question.look) for question in batch.questions}
        for run in load(self._recording):
            if (run.probe, run.name, run.look) in asked:
                yield run


def dump(runs: Iterable[Completed]) -> str:
    """Return runs as the text of a recording: a JSON object per line, the first with the format version."""
    rows: list[dict[str, Any]] = [{"recording": FORMAT}]
    for run in runs:
        row = asdict(run)
        row["took"] = None if run.took is None else run.took.total_seconds()
        rows.append(row)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def load(path: Path) -> tuple[Completed, ...]:
    """Read a recording. A name that ends in `.gz` means that it is compressed.

    Raises: MissingFile when the file is missing, or is no recording.
    """
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
        rows = [json.loads(line) for line in text.split("\n") if line]
        if not rows or rows[0].get("recording") != FORMAT:
            raise MissingFile(f"{path} is not a recording of format {FORMAT}.", "Make one with: zombie check --record")
        runs = []
        for row in rows[1:]:
            took = row.pop("took")
            run = Completed(**row, took=None if took is None else timedelta(seconds=took))
            if not all(isinstance(text, str) for text in (run.probe, run.name, run.stdout, run.stderr)):
                raise ValueError("an output is not text")
            runs.append(run)
        return tuple(runs)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise MissingFile(f"{path} cannot be read as a recording: {error}.") from error
