"""An action is something that can be done on a node: its exact commands, how its effect is proved, how it is undone."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from bot.domain.command import Command, Outputs
from bot.domain.plan import Step
from bot.domain.probe import Snapshot

Args: TypeAlias = Mapping[str, str]
Facts: TypeAlias = Mapping[str, str]  # what a look saw, by name: what decides whether an action took effect


class Proof(enum.Enum):
    """What a look says of an action's effect."""

    PROVEN = "proven"
    NOT_YET = "not yet"
    REFUTED = "refuted"  # it was there, and is not any more


@dataclass(frozen=True, slots=True)
class ByCalls:
    """How an action is done by calls of its cluster's API: in rounds, until its proof is seen or its time is over.

    Shape: such an action's looks are calls too, `("GET", path)`, and its commands are lines of `call.py`, in which
    blanks stand for what is not known beforehand. `calls(args, before, now)` are those of one round; each must fit one
    of the commands. `refuses(args, now)` says why it may not begin. `affects(args, now)` is what else it touches, one
    line each, for whoever approves. `given(facts, earlier)` adds to what it begins from what the steps before it began
    from, by action. `lasts(args, before, now)` says what speaks against it while the node is watched, and
    `leaves(args, before, now)` what stays as it is where it fails.
    """

    calls: Callable[[Args, Facts, Facts], tuple[str, ...]]
    lasts: Callable[[Args, Facts, Facts], str]
    refuses: Callable[[Args, Facts], str] = lambda args, now: ""
    affects: Callable[[Args, Facts], tuple[str, ...]] = lambda args, now: ()
    given: Callable[[Facts, Mapping[str, Facts]], Facts] = lambda facts, earlier: facts
    leaves: Callable[[Args, Facts, Facts], str] = lambda args, before, now: ""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be done.

    Shape: `commands(args, snapshot)` returns the command lines, quoted for a POSIX shell, in order. `looks(args)` are
    the commands by which its effect is seen, and `facts(args, outputs)` what they said. `judge(args, before, now)`
    compares facts. `patience(before)` is how long the effect may take, None where the settings say it; where `settles`,
    it is also how far apart two looks are that both have to prove it. `undo(args, before)` are the commands that bring
    back what was, `inverse(args, before)` the same as steps of a plan. `rights(args)` are the argument lists that it
    runs as root. `limit` bounds one command.
    `only_for_reboot`: without a reboot that is still to come it is pointless. `ended_by` is the action that takes it
    back within the same plan; from there on it need not hold. `by_calls` is set where it is done by an API.
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
    inverse: Callable[[Args, Facts], tuple[Step, ...]] = lambda args, before: ()

    only_for_reboot: bool = False
    ended_by: str = ""
    by_calls: ByCalls | None = None

    @property
    def reboots(self) -> bool:
        """True when its effect is another boot."""
        return not self.settles and self.by_calls is None

    def said(self, args: Args) -> str:
        """Its title with its arguments, for people."""
        return self.title.format_map(dict(args))
