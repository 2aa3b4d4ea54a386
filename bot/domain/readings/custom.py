"""The answer of a probe that a playbook's author defined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CustomReading:
    """Named fields out of one command's output."""

    probe: str
    fields: Mapping[str, float | str | bool]
    source: tuple[str, ...] = field(default=())
