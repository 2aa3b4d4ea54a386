"""What can be done on a node, and plans of it.

An action has exact commands, a proof of its effect, and an undo. A plan is steps in order, bound by a digest that an
approval names.
"""

from __future__ import annotations

import enum
import hashlib
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, TypeAlias

from bot.domain.command import Command, Outputs
from bot.domain.probe import Snapshot

Args: TypeAlias = Mapping[str, str]
Facts: TypeAlias = Mapping[str, str]  # what a look saw, by name: what decides whether an action took effect
Rights: TypeAlias = Callable[[Args], tuple[tuple[str, ...], ...]]


ALSO = "also, step "  # and its number: by this name a plan is bound to what else that step does


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


class Surroundings(Protocol):
    """What an action does on its node beside what it is for."""

    def looks(self, args: Args) -> tuple[Command, ...]:
        """Return the commands by which that is read."""
        ...

    def affects(self, args: Args, outputs: Outputs) -> str:
        """Return it in words, the same whenever the node is the same; nothing where there is nothing.

        Raises: WouldStopProtected where that may not be; CannotRead when the node does not say.
        """
        ...


@dataclass(frozen=True, slots=True)
class RemedyRules:
    """Where an action may stand in a playbook's remedy. Each rule is the reason that an author is told, "" for no rule.

    Shape: `before_reboot`: it comes before a reboot. `last`: it comes last. `after_stopping`: it comes after a step
    that stops a unit, except for a cause that it cures alone (`Cause.cured_alone_by`). `only_where`: it is only for
    causes that say so (`Cause.eased_by`).
    """

    before_reboot: str = ""
    last: str = ""
    after_stopping: str = ""
    only_where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that can be done, and everything that the rest of the program has to know of it.

    What people read: `title` ("Disable {unit}"), `verb` ("disable") and `impact`, what it does to the node and what
    runs there ("{unit} stops now …"); braces stand for arguments. `targets` are the arguments that name what it acts
    on. `note` is a sentence beside every plan that has it.

    How it is done: `commands(args, snapshot)` returns the command lines, quoted for a POSIX shell, in order. `rights`
    are the argument lists that it runs as root. `limit` bounds one command. `by_calls` is set where an API does it.
    `around` reads what else it does on the node; whoever approves is shown that, and it is part of what is approved.

    How it is proved: `looks(args)` are the commands by which its effect is seen, and `facts(args, outputs)` what they
    said. `judge(args, before, now)` compares facts. `patience(before)` is how long the effect may take, None where the
    settings say it; where `settles`, it is also how far apart two looks are that both have to prove it.

    How it is undone: `undo(args, before)` are the commands that bring back what was, `inverse(args, before)` the same
    as steps of a plan.

    How it goes with others: `reboots`: its effect is another boot. `stops_a_unit`: it keeps a unit from running and
    from starting. `remedy` says where playbooks may name it, None: nowhere. `in_place_of` is the action whose place it
    takes where a playbook offers this one and not the other. `only_for_reboot`: it is pointless without a reboot that
    is still to come. `ended_by` is the action that takes it back within the same plan; from there on it need not hold.
    `starts_a_unit`: it starts a unit and changes nothing else, so a protected one may be named to it, in a list of its
    own. `contains`: it keeps work away from the fault and cures nothing, so the fault may be there afterwards.

    Raises: `commands` raises CannotRead when the snapshot lacks what the action must be fenced by; `facts` when the
    looks do not say.
    """

    name: str
    title: str
    verb: str
    impact: str
    targets: tuple[str, ...] = ()
    note: str = ""

    commands: Callable[[Args, Snapshot], tuple[str, ...]]
    rights: Rights
    limit: timedelta = timedelta(seconds=100)
    by_calls: ByCalls | None = None
    around: Surroundings | None = None

    looks: Callable[[Args], tuple[Command, ...]]
    facts: Callable[[Args, Outputs], Facts]
    judge: Callable[[Args, Facts, Facts], Proof]
    patience: Callable[[Facts], timedelta | None] = lambda before: None
    settles: bool = True

    undo: Callable[[Args, Facts], tuple[str, ...]] = lambda args, before: ()
    inverse: Callable[[Args, Facts], tuple[Step, ...]] = lambda args, before: ()

    reboots: bool = False
    stops_a_unit: bool = False
    starts_a_unit: bool = False
    contains: bool = False
    remedy: RemedyRules | None = RemedyRules()
    in_place_of: str = ""
    only_for_reboot: bool = False
    ended_by: str = ""

    def said(self, args: Args) -> str:
        """Its title with its arguments, for people."""
        return self.title.format_map(dict(args))

    def words(self, args: Args) -> str:
        """What it does, in a few words for the middle of a sentence: "disable ecs.service"."""
        return " ".join([self.verb, *(args[name] for name in self.targets if name in args)])

    def impact_of(self, args: Args) -> str:
        """What it does to the node and what runs there; "?" for an argument that is not known."""
        return self.impact.format_map(_Args(args))


def by_sudo(rights: Rights) -> Callable[[Args, Snapshot], tuple[str, ...]]:
    """Return the commands of an action that runs just what it has the rights for, each through sudo."""
    return lambda args, snapshot: tuple(shlex.join(("sudo", "-n", *argv)) for argv in rights(args))


class _Args(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


@dataclass(frozen=True, slots=True)
class Step:
    """One doing on one node: the action's name, its arguments, and the exact commands it would run."""

    action: str
    args: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Ordered steps for one node, and the lasting fix that they do not replace.

    Shape: `notes` are sentences on what is not among the steps, and why; no part of the digest.
    """

    node: str
    steps: tuple[Step, ...]
    lasting_fix: str = ""
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 over node, steps and commands, in hex: two plans are the same exactly when their digests are."""
        body = [self.node, [[s.action, dict(sorted(s.args.items())), list(s.commands)] for s in self.steps]]
        return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()

    @property
    def remedy(self) -> str:
        """SHA-256, in hex, over node, actions and arguments: the same again after a reboot, where commands differ."""
        body = [self.node, [[s.action, dict(sorted(s.args.items()))] for s in self.steps]]
        return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()

    @property
    def cure(self) -> str:
        """The same over actions and arguments alone: one remedy, whatever the machine is called."""
        body = [[s.action, dict(sorted(s.args.items()))] for s in self.steps]
        return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()


def bound_digest(plan: Plan, binds: Mapping[str, str]) -> str:
    """SHA-256, in hex, over a plan and what else an approver saw, by name: what an approval names."""
    body = [plan.digest, dict(sorted(binds.items()))]
    return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()
