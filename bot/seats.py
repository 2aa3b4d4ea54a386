"""Every seat that an extra may take, on one page: there is no other way in.

An extra is a folder of `bot/extras`, or a package that is installed beside this one. Its door is `EXTRA`. What a seat
names as text, `module:name`, is loaded when it is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from bot.domain.errors import NothingProposed

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from bot.domain.chat_request import ChatRequest
    from bot.domain.contracts import Listener
    from bot.domain.growth import CountSample
    from bot.domain.node import Node
    from bot.domain.playbook import Playbook
    from bot.domain.policy import Policy
    from bot.domain.verdict import Verdict

    Diagnose: TypeAlias = Callable[[Node, Playbook, Listener], Awaitable[Verdict]]

Named: TypeAlias = str  # `module:name`


class Explains(Protocol):
    """Says what would have changed a verdict; nothing where it cannot tell."""

    async def __call__(self, verdict: Verdict, /) -> Sequence[str]:
        """Return a sentence for each change, proven by a replay."""
        ...


class Serves(Protocol):
    """Work of an extra while the bot serves; `posts` are its paths of the web edge, each with what answers them."""

    @property
    def posts(self) -> Sequence[tuple[str, Any]]:
        """Return paths and handlers, as `bot.surfaces.web.WebEdge` takes them."""
        ...

    async def start(self) -> None:
        """Be ready for requests, and begin."""
        ...

    async def stop(self) -> None:
        """Begin nothing more, and end."""
        ...


class ReadsMore(Protocol):
    """What reads more of a node beside each of the bot's checks; it explains a verdict, and never judges."""

    def beside(self, diagnose: Diagnose) -> Diagnose:
        """Return a diagnosis that has it beside its verdict."""
        ...

    async def counted(self, node: str, cause: str, until: datetime) -> tuple[CountSample, ...]:
        """Return the cause's counts from before the record began, oldest first; empty if none are known.

        Raises: CannotRead.
        """
        ...

    def knows(self, nodes: Sequence[Node]) -> None:
        """Use these nodes as the inventory from now on."""
        ...

    async def close(self) -> None:
        """End; nothing is asked afterwards."""
        ...


class KeepsFacts(Protocol):
    """Stores what whole checks of many nodes read, for later checks."""

    async def keep(self, node: Node, is_healthy: bool, facts: Mapping[str, str | float]) -> None:
        """Store the facts of a node that was just read; `is_healthy` by all causes. It raises nothing of the record."""
        ...


@runtime_checkable
class Drains(Protocol):
    """Work that is in the middle of something when the bot stops; it is drained before it is stopped."""

    async def drain(self, seconds: float) -> None:
        """Begin nothing more, and finish within that time what has begun."""
        ...


class Chat(Protocol):
    """Takes what comes from an extra's own cards in a chat: clicks, dialogs, and work that an earlier run began.

    One that has the methods of `bot.chat.requests.Typed` also takes what people type after `/zombie`. A subclass
    without a dialog, or with nothing to go on with, need not say so.
    """

    @property
    def family(self) -> str:
        """Return what the actions of its buttons begin with that are counted as one where a click is refused, or ""."""
        return ""

    def is_about(self, action: str, value: str) -> bool:
        """True for a button or a dialog of its cards, and for a button of the bot's own that its door names."""
        ...

    async def ask(self, click: Any) -> None:
        """Open the dialog of a click, or do what needs none. Raises: Refused, UsageError, LedgerError."""
        ...

    async def decide(self, intent: Any, person: Any, reason: str, *, again: bool = False) -> str:
        """Record what a dialog asks for, and return what to tell the person; `again`: an earlier run began with it."""
        raise NothingProposed("This button does nothing: the bot does not know it.")

    def takes(self, kept: ChatRequest, /) -> bool:
        """Go on with it; False for what is not its own."""
        return False


class Counts(Protocol):
    """Gauges of an extra, read from the record at each scrape of `/metrics`, in one transaction with all others."""

    @property
    def gauges(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return what each says, and its labels, by its name."""
        ...

    def read(self, connection: Any, /) -> Mapping[str, Mapping[tuple[str, ...], float]]:
        """Return the present values, by gauge, and by the values of its labels."""
        ...


@dataclass(frozen=True, slots=True)
class CureRequest:
    """Somebody wants many nodes cured of these causes, which were found by these selectors.

    Shape: the same `key` is the same request; `channel` is empty for one from a terminal, whose login is `os_user`.
    """

    selectors: tuple[str, ...]
    causes: tuple[str, ...]
    key: str
    channel: str
    by: str
    os_user: str = ""


class Cures(Protocol):
    """Proposes a cure for many nodes, on a card of its own."""

    async def begin(self, request: CureRequest, nodes: Sequence[Node]) -> None:
        """Begin. Raises: LedgerError."""
        ...


@runtime_checkable
class Rules(Protocol):
    """A table of an extra's settings that is part of who may act, and for how long."""

    def over(self, policy: Policy) -> Policy:
        """Return the policy with what the table says."""
        ...


@dataclass(frozen=True, slots=True)
class Moment:
    """What happened, when, and who says so: a line of the timeline in a report.

    Shape: `at` is on the record's clock; `error` is how far it may be off, None where nobody measured it, zero where it
    comes from the record's own clock.
    """

    at: datetime
    source: str
    what: str
    words: str
    error: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in a report, as PNG; `alt` says in words what it shows."""

    png: bytes
    alt: str


@dataclass(frozen=True, slots=True)
class Extra:
    """What can be left out.

    Shape: `about` completes “… is left out”. `needs` are the extras without which it is left out, too. `commands`
    are modules by the words of what their `add(commands)` adds: a command, or a verb of one of the core's.
    `settings` are its tables of zombie.toml, each with the dataclass of its keys (`bot/domain/setting.py`), which
    `Settings.of` returns, or `Settings.every` where it is one of `Several`; one of `Rules` is part of the policy.
    `buttons` are the action_ids of buttons on incidents' cards that are there with it. `explains` names a function
    of the running bot (`bot.app.bot.Bot`) that returns `Explains`. `thread_files` names one that returns the kinds
    of files that it adds to cards' threads (`bot.chat.thread_files.ThreadFileKind`). `serves` names one
    that returns its work, or None where it is not set up. `serves_alone` names a function that serves it where no
    chat is set up: of settings, inventory, the record's address and the environment; it returns the exit status, or
    None. `reads_more` names a function of the running bot that returns what reads more of a node (`ReadsMore`), or
    None where it is not set up. `reads_more_alone` names one of the record's database, settings and the log that
    returns it for `check --open`. `keeps_facts` names one of the running bot that returns what stores the facts of
    whole checks of many nodes (`KeepsFacts`). `looks` names a function of settings, some nodes and the clock that
    returns what `doctor` checks (`DoctorChecks` of `bot/surfaces/descriptor.py`).

    `holds` names what may hold a step, asked in the transaction that begins it: a function of the connection, the
    incident, whether nothing of its plan has begun, and the time; it raises Refused. `doubts` names what, made without
    arguments for each open record, is called with its connection, and returns a function of a policy and a cause that
    says why no plan of it is offered or approved, empty where they are (`bot.domain.claim.Doubts`). `follows` names
    what follows the extra's own streams in an audit (`bot.ledger.audited_stream.StreamFollower`). `chat` names a
    function of the running bot and of what decisions there use (`ChatContext`) that returns its `Chat`. `asks` names a
    function of the running bot that returns its question about each verdict of a closed card
    (`bot.view.context.ClosingQuestion`), whose answers its `chat` takes. `counts` names one that returns its `Counts`.
    `cures` names one that returns what proposes a cure for many nodes (`Cures`), for an extra that finds such. `rights`
    names a function that returns the argument lists that it runs as root on nodes, for `sudoers --profile`. `reports`
    names a function of the record's database, an incident, its entries and when it ended that yields what a report of
    it shows beside the record: `Moment` and `Picture`.
    """

    name: str
    about: str
    _: KW_ONLY
    needs: tuple[str, ...] = ()
    commands: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, type[Any]] = field(default_factory=dict)
    buttons: tuple[str, ...] = ()
    explains: Named = ""
    thread_files: Named = ""
    serves: Named = ""
    serves_alone: Named = ""
    reads_more: Named = ""
    reads_more_alone: Named = ""
    keeps_facts: Named = ""
    looks: Named = ""
    holds: Named = ""
    doubts: Named = ""
    follows: Named = ""
    chat: Named = ""
    asks: Named = ""
    counts: Named = ""
    cures: Named = ""
    rights: Named = ""
    reports: Named = ""


def loaded(named: Named) -> Any:
    """Return what a seat names. Raises: ImportError, AttributeError, or whatever its module raises."""
    module, _, name = named.partition(":")
    return getattr(importlib.import_module(module), name)
