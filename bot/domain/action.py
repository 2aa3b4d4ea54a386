"""An action is something that can be done on a node: its exact commands, how its effect is proved, how it is undone."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from bot.domain.command import Command, Outputs
from bot.domain.probe import Snapshot

Args: TypeAlias = Mapping[str, str]
Facts: TypeAlias = Mapping[str, str]  # what a look saw, by name: what decides whether an action took effect


class Proof(enum.Enum):
    """What a look says of an action's effect."""

    PROVEN = "proven"
    NOT_YET = "not yet"
    REFUTED = "refuted"  # it was there, and is not any more


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be done.

    Shape: `commands(args, snapshot)` returns the command lines, quoted for a POSIX shell, in order. `looks(args)` are
    the commands by which its effect is seen, and `facts(args, outputs)` what they said. `judge(args, before, now)`
    compares facts. `patience(before)` is how long the effect may take, None where the settings say it; where `settles`,
    it is also how far apart two looks are that both have to prove it. `undo(args, before)` are the commands that bring
    back what was. `rights(args)` are the argument lists that it runs as root. `limit` bounds one command.
    Raises: `commands` raises CannotRead when the snapshot lacks what the action must be fenced by; `facts` when the
    looks do not say.
    """

    name: str
    title: str
    commands: Callable[[Args, Snapshot], tuple[str, ...]]
    looks: Callable[[Args], tuple[Command, ...]]
    facts: Callable[[Args, Outputs], Facts]
    judge: Callable[[Args, Facts, Facts], Proof]
    patience: Callable[[Facts], timedelta | None]
    undo: Callable[[Args, Facts], tuple[str, ...]]
    rights: Callable[[Args], tuple[tuple[str, ...], ...]]
    settles: bool = True
    limit: timedelta = timedelta(seconds=100)

    def said(self, args: Args) -> str:
        """Its title with its arguments, for people."""
        return self.title.format_map(dict(args))
