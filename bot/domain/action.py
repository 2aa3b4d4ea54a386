"""Actions on a node, and plans made of them.

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
from typing import ClassVar, Protocol, TypeAlias

from bot.domain.command import Command, Outputs
from bot.domain.probe import Snapshot, Unread

Args: TypeAlias = Mapping[str, str]
Facts: TypeAlias = Mapping[str, str]  # what the commands of `looks` saw, by name: decides whether an action took effect
ArgvLists: TypeAlias = tuple[tuple[str, ...], ...]
Rights: TypeAlias = ArgvLists | Callable[[Args], ArgvLists]

ALSO = "also, step "  # and its number: the name under which a plan's digest holds the step's side effects


class Proof(enum.Enum):
    """What the node shows of an action's effect."""

    PROVEN = "proven"
    NOT_YET = "not yet"
    REFUTED = "refuted"  # the effect was there and is gone again


@dataclass(frozen=True, slots=True)
class ClusterCalls:
    """How an action is done through its cluster's API: in rounds of calls, until its proof is seen or time runs out.

    Shape: its looks are calls too, `("GET", path)`. Its commands are lines of `call.py`; blanks in them stand for names
    that are not known beforehand. `calls(args, before, now)` returns the calls of a round; each must fit a command;
    `spares(args, before, now)` what it leaves alone, a line each, although it is in the way of the proof.
    `refuses(args, now)` says why it may not begin. `affects(args, now)` returns what else it touches, a line each, for
    the approver; True: what goes with it nothing brings back, so whoever says yes has to have seen it.
    `given(facts, earlier)` adds to its facts before it begins those of the earlier steps, by action.
    `lasts(args, before, now)` says why the effect no longer holds, while the node is watched;
    `leaves(args, before, now)` says what it leaves behind when it fails.
    """

    calls: Callable[[Args, Facts, Facts], tuple[str, ...]]
    lasts: Callable[[Args, Facts, Facts], str]
    spares: Callable[[Args, Facts, Facts], tuple[str, ...]] = lambda args, before, now: ()
    refuses: Callable[[Args, Facts], str] = lambda args, now: ""
    affects: Callable[[Args, Facts], Mapping[str, bool]] = lambda args, now: {}
    given: Callable[[Facts, Mapping[str, Facts]], Facts] = lambda facts, earlier: facts
    leaves: Callable[[Args, Facts, Facts], str] = lambda args, before, now: ""


class SideEffects(Protocol):
    """Side effects of an action on its node."""

    def looks(self, args: Args) -> tuple[Command, ...]:
        """Return the commands that read them."""

    def affects(self, args: Args, outputs: Outputs) -> str:
        """Return the side effects in words, empty if there are none. The same node state gives the same words.

        Raises: WouldStopProtected when a side effect is not allowed; WouldCutOff when it is not allowed yet; CannotRead
        when the node does not tell.
        """


@dataclass(frozen=True, slots=True)
class RemedyRules:
    """Where an action may stand in a playbook's remedy. Each rule is the reason shown to the author; "" means no rule.

    Shape: `before_reboot`: it must come before a reboot. `last`: it must come last. `after_stopping`: it must come
    after a step that stops a unit, except for a cause that it cures alone (`Cause.cured_alone_by`). `only_where`: it is
    only for causes that name it (`Cause.eased_by`).
    """

    before_reboot: str = ""
    last: str = ""
    after_stopping: str = ""
    only_where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something the bot can do on a node, and all that the rest of the program needs to know about it.

    What people read: `title` ("Disable {unit}"), `verb` ("disable") and `impact`, what it does to the node and to what
    runs there ("{unit} stops now …"); braces stand for arguments. `targets` are the arguments that name what it acts
    on. `note` is a sentence shown with every plan that has this action.

    How it is done: `commands(args, snapshot)` returns the command lines in order, quoted for a POSIX shell. `rights`
    are the argument lists that it runs as root, with braces for arguments; a function where they depend on more.
    `limit` is the time limit of each command. `by_calls` is set if an API does it. `around` reads its side effects; the
    approver sees them, and they are part of what is approved.

    How it is proved: `looks(args)` are the commands that show its effect; `facts(args, outputs)` parses what they
    printed. `judge(args, before, now)` compares facts. `patience(before)` is how long the effect may take, None if the
    settings say it. If `settles` is true, two looks that far apart must both prove it.

    How it is undone: `inverse(args, before)` returns the steps that restore the old state.

    How it combines with others: `reboots`: its effect is a new boot. `stops_a_unit`: it stops a unit and keeps it from
    starting. `remedy` says where playbooks may name it; None: nowhere. `in_place_of` is the action that it replaces if
    a playbook offers this action and not the other. `only_for_reboot`: it is pointless unless a reboot follows.
    `ended_by` is the action that takes it back in the same plan; after that its effect need not hold. `starts_a_unit`:
    it starts a unit and changes nothing else, so it may act on a protected unit, if `[act] start_units` names it.
    `contains`: it keeps work away from the fault and cures nothing, so the fault may remain afterwards.
    `once_cured`: it gives the node back to its work; after other steps it waits until the cure has held under watch.

    Raises: `commands` raises CannotRead when the snapshot lacks a value that the fence needs; `facts` raises it when
    the outputs do not tell.
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
    by_calls: ClusterCalls | None = None
    around: SideEffects | None = None

    looks: Callable[[Args], tuple[Command, ...]]
    facts: Callable[[Args, Outputs], Facts]
    judge: Callable[[Args, Facts, Facts], Proof]
    patience: Callable[[Facts], timedelta | None] = lambda before: None
    settles: bool = True

    inverse: Callable[[Args, Facts], tuple[Step, ...]] = lambda args, before: ()

    reboots: bool = False
    stops_a_unit: bool = False
    starts_a_unit: bool = False
    contains: bool = False
    once_cured: bool = False
    remedy: RemedyRules | None = RemedyRules()
    in_place_of: str = ""
    only_for_reboot: bool = False
    ended_by: str = ""

    def title_of(self, args: Args) -> str:
        """Its title with its arguments, for people."""
        return self.title.format_map(dict(args))

    def words(self, args: Args) -> str:
        """What it does, in a few words for the middle of a sentence: "disable ecs.service"."""
        return " ".join([self.verb, *(args[name] for name in self.targets if name in args)])

    def impact_of(self, args: Args) -> str:
        """What it does to the node and what runs there; "?" for an argument that is not known."""
        return self.impact.format_map(_Args(args))

    def rights_of(self, args: Args) -> ArgvLists:
        """The argument lists that it runs as root with these arguments; of a cluster's API, verb and resource."""
        return _filled_rights(self.rights, args)


def by_sudo(rights: Rights) -> Callable[[Args, Snapshot], tuple[str, ...]]:
    """Return the commands of an action that runs just what it has the rights for, each through sudo."""
    return lambda args, snapshot: tuple(shlex.join(("sudo", "-n", *argv)) for argv in _filled_rights(rights, args))


def _filled_rights(rights: Rights, args: Args) -> ArgvLists:
    if callable(rights):
        return rights(args)
    return tuple(tuple(word.format_map(args) for word in argv) for argv in rights)


class _Args(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


@dataclass(frozen=True, slots=True)
class Step:
    """An action on a node: the action's name, its arguments, and the exact commands it would run."""

    action: str
    args: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()


KEEPS = "keeps"  # the kind of an end that others wait for: a database, or a member of a quorum


@dataclass(frozen=True, slots=True)
class EndedItem:
    """Something that ends when a plan is carried out: all of one name.

    Shape: `kind` is `keeps` (data, or a vote in a cluster), `guest` (a virtual machine), `gpu` (processes on GPUs),
    `jobs` (a unit that runs them), `process`, `containers` (all others, named in `what`) or `unit` (the one that is
    stopped). `age` is of the oldest; None: not known.
    """

    what: str
    kind: str
    count: int = 1
    gpus: int = 0
    age: int | None = None  # seconds; the record cannot hold a duration that may be missing


@dataclass(frozen=True, slots=True)
class PlanImpact:
    """What ends with a plan, gravest first; `more` is not named, and `unread` is what could not be looked at.

    Shape: `unseen` is what could not be looked at of what a reboot must not cut off; what could be forbids the plan.
    """

    rows: tuple[EndedItem, ...] = ()
    more: int = 0
    unread: tuple[Unread, ...] = ()
    unseen: tuple[Unread, ...] = ()


@dataclass(frozen=True, slots=True)
class ProvenOn:
    """On which kernels a cure was proven for its cause.

    Shape: `kernels` are series such as 6.1. `here`: on the node's own, with the figures by which its playbook judges,
    and it healed each time. `says` is all of it in words.
    """

    kernels: tuple[str, ...]
    here: bool
    says: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Ordered steps for a node, and the lasting fix that they do not replace.

    Shape: `notes` are sentences about what was left out of the steps, and why; `ends` is what would end, None if
    nothing is stopped or it was not looked at; `proven` is None for a plan that is no cause's. None of them is part of
    the digest.
    """

    node: str
    steps: tuple[Step, ...]
    lasting_fix: str = ""
    notes: tuple[str, ...] = ()
    ends: PlanImpact | None = None
    proven: ProvenOn | None = None
    ALSO_SHOWN: ClassVar = ("digest",)

    @property
    def digest(self) -> str:
        """SHA-256 over node, steps and commands, in hex: plans are equal exactly if their digests are."""
        body = [self.node, [[s.action, dict(sorted(s.args.items())), list(s.commands)] for s in self.steps]]
        return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()

    @property
    def remedy(self) -> str:
        """SHA-256, in hex, over node, actions and arguments: unchanged by a reboot, which changes the commands."""
        body = [self.node, [[s.action, dict(sorted(s.args.items()))] for s in self.steps]]
        return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()

    @property
    def cure(self) -> str:
        """SHA-256, in hex, over actions and arguments only: the same remedy under every name of the machine."""
        body = [[s.action, dict(sorted(s.args.items()))] for s in self.steps]
        return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()


def bound_digest(plan: Plan, binds: Mapping[str, str]) -> str:
    """SHA-256, in hex, over a plan and everything else the approver saw, by name: an approval names this digest."""
    body = [plan.digest, dict(sorted(binds.items()))]
    return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()
