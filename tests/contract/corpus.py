"""What a recording of the corpus must become: one row a recording."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.domain.command import Outputs
from bot.domain.safe_text import decode

CORPUS = Path(os.environ.get("ZOMBIE_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))


@dataclass(frozen=True, slots=True)
class Refused:
    """The recording must be refused, with these words in the reason."""

    because: str


@dataclass(frozen=True, slots=True)
class Row:
    """One recording: which probe meets it, how it reaches that probe, and what must come out.

    Shape: `expected` is Refused, or what `figures` makes of the reading, read off the file by eye.
    """

    path: str
    probe: str
    outputs: Callable[[str], Outputs]
    expected: Any
    figures: Callable[[Any], Any]


def text_of(path: str) -> str:
    """The recording as a parser gets it."""
    return decode((CORPUS / path).read_bytes())


def from_zero(text: str) -> str:
    """The same counters as they were when nothing had happened yet."""
    return re.sub(r"(?<= )[0-9]+(?= |$)", "0", text, flags=re.MULTILINE)
