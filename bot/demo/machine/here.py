"""Where a command runs on a simulated node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bot.demo.answer import Answer
from bot.demo.machine.files import Files
from bot.demo.machine.state import Moment, State


@dataclass(frozen=True, slots=True)
class Here:
    """The node's state, its files, its clock, and with whose rights the command runs."""

    state: State
    files: Files
    now: Callable[[], Moment]
    root: bool = False


Tool: TypeAlias = Callable[[Here, Sequence[str]], Answer | Awaitable[Answer]]
