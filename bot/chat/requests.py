"""What people type to the bot, as values, and the sentences of its answers. Pure functions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias, runtime_checkable

from bot.chat.document import Document, Paragraph, Pieces, bullets
from bot.chat.people import Person
from bot.chat.post_state import MessageTarget
from bot.domain.errors import InventoryError, UnknownNode, UsageError
from bot.domain.node import Node
from bot.domain.safe_text import one_line, redacted_line, redacted_text
from bot.domain.selector import Selector, SelectorKind
from bot.view.words import Channel, series

MOST_NODES = 100
MOST_UNKNOWN = 8  # unknown names that get a sentence; the rest is counted
LONGEST_REQUEST = 8000
SUBCOMMANDS = ("status", "cancel", "undo", "brake")
LONGEST_REASON = 500
_PULL = re.compile(r"#([0-9]{1,12})\Z")
USAGE = {
    "cancel": "Say which: `/zombie cancel ID`, with a reason if you like. `/zombie status` lists what is open.",
    "undo": "Say which: `/zombie undo ID`, with a reason if you like. The ID is on the card.",
    "brake": "Say `/zombie brake on` or `/zombie brake off`, with a reason.",
}
GONE = {
    "policy": "`/zombie policy` is gone. A button that would refuse you says so, and why.",
    "pagerduty": "`/zombie pagerduty` is gone. A disabled webhook is enabled in PagerDuty itself: docs/pagerduty.md",
}
VERBS = ("check", *SUBCOMMANDS, "help")

_CAN = "What I can do"
_CHECK = "/zombie check NODE… — log in to each node, read what matters, and post one verdict"
_OTHERS = """/zombie status — what is open, what is being done, and whether the brake is on
/zombie cancel ID [reason] — cancel an incident before its first step begins
/zombie undo ID [reason] — propose to undo what an incident did; another person approves it
/zombie brake on|off [#PULL] [reason] — stop anything new from beginning, or allow it again
/zombie help — this text"""
_HINTS = (
    "In a thread, where slash commands do not work, mention me: @zombie check NODE",
    "A check only reads and changes nothing. A remedy is carried out only after another person approves it.",
)


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """What a person typed, who they are and where they typed it.

    Shape: `key` is the chat's id of the command or message: deliveries with the same key are one request. `answer_at`
    is the address that answers a slash command in private. `asked_at` is None where the chat does not say when it was
    typed. `direct`: in a chat with the bot alone.
    """

    key: str
    person: Person
    channel: str
    text: str
    thread_ts: str = ""
    answer_at: str = field(default="", repr=False)  # who has it can answer there
    asked_at: datetime | None = None
    direct: bool = False

    @property
    def by(self) -> str:
        """The person as the ledger names them."""
        return self.person.by

    @property
    def target(self) -> MessageTarget:
        """Where it is answered."""
        return MessageTarget(self.channel, self.thread_ts, self.answer_at)


@dataclass(frozen=True, slots=True)
class Subcommand:
    """A request that is not about reading nodes.

    Shape: `incident` is for cancel and undo; `on` for the brake; `pull` is the number of the pull to be released, 0
    where none was typed.
    """

    verb: str
    incident: str = ""
    reason: str = ""
    on: bool = False
    pull: int = 0


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """A request to check nodes.

    Shape: `missing` counts the unknown names, `unknown` explains the first of them; `near` are nodes that they may have
    meant.
    """

    nodes: tuple[Node, ...]
    unknown: tuple[str, ...] = ()
    missing: int = 0
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HelpRequest:
    """A request for help, with a sentence about what was not understood."""

    sentence: str = ""


@dataclass(frozen=True, slots=True)
class WorkRequest:
    """A request for something that an extra begins for whoever may ask for checks; `begin` raises UsageError."""

    begin: Callable[[CommandRequest], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ExtraQuestion:
    """A question to an extra, answered in private; `answer` raises Refused, UsageError or LedgerError.

    Shape: `verb` and `about` say on record what was refused.
    """

    verb: str
    answer: Callable[[Person], Awaitable[str]]
    about: str = ""


class KnownNodes(Protocol):
    """The nodes that may be asked for."""

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in the inventory's order."""

    def knows(self, name: str) -> bool:
        """True when there is a node of that name."""

    def find(self, name: str) -> Node:
        """Return the node of that name. Raises: InventoryError, with near names, when there is none."""


Request: TypeAlias = CheckRequest | WorkRequest | ExtraQuestion | HelpRequest | Subcommand


@runtime_checkable
class Typed(Protocol):
    """Takes what people type of an extra's."""

    @property
    def verbs(self) -> Mapping[str, str]:
        """Return its own words, each with its lines of the help, `COMMAND — what it does`; empty for a second name."""

    def typed(self, verb: str, words: list[str], /) -> Request | None:
        """Return what is asked by its own words, or by `check`; None for what is not its own.

        Raises: UsageError, which says how to write it.
        """


def help_document(sentence: str = "", others: Sequence[Typed] = ()) -> Document:
    """Return what the bot can do, with what extras add, below a sentence about what was not understood."""
    of_extras = (lines for other in others for lines in other.verbs.values() if lines)
    rows = "\n".join((_CHECK, *of_extras, _OTHERS)).splitlines()
    listed = bullets((command, words) for command, _, words in (row.partition(" — ") for row in rows))
    said = map(Paragraph, (*filter(None, (sentence,)), _CAN))
    text = sentence or "\n".join((_CAN, *rows, *_HINTS))
    return Document(text, (*said, listed, *map(Paragraph, _HINTS)))


def parse(text: str, known: KnownNodes, others: Sequence[Typed] = ()) -> Request:
    """Parse what follows `/zombie` or the mention; `others` take what extras are asked."""
    if len(text) > LONGEST_REQUEST:
        return HelpRequest(f"That was {len(text)} characters long; I read at most {LONGEST_REQUEST}.")
    words = text.split()
    if not words:
        return HelpRequest()
    verb, names = words[0].lower(), list(dict.fromkeys(words[1:]))
    if verb in GONE:
        return HelpRequest(GONE[verb])
    verbs = (*VERBS, *(word for other in others for word in other.verbs))
    if verb not in verbs:
        near = difflib.get_close_matches(verb, verbs, n=1, cutoff=0.5)
        meant = f" Did you mean `{near[0]}`?" if near else ""
        return HelpRequest(f"I do not know the command `{_quoted_word(words[0])}`.{meant}")
    if verb == "help":
        return HelpRequest()
    if verb in SUBCOMMANDS:
        asked = parse_subcommand(verb, words[1:])
        return HelpRequest(asked) if isinstance(asked, str) else asked
    try:
        for other in others:
            if (found := other.typed(verb, words[1:])) is not None:
                return found
    except UsageError as no:
        return HelpRequest(redacted_line(str(no), 400))  # it may quote what a person typed
    if several := next(filter(is_selector, names), ""):
        return HelpRequest(
            f"Name each node: what reads `{_quoted_word(several)}`, which may mean many, is left out here."
        )
    if not names:
        return HelpRequest("Which node? Say `/zombie check NODE`.")
    if len(names) > MOST_NODES:
        return HelpRequest(f"{len(names)} nodes at once are too many; the limit is {MOST_NODES}.")
    missing = [name for name in names if not known.knows(name)]
    nodes = tuple(known.find(name) for name in names if known.knows(name))
    lines = [_not_known(name, known) for name in missing[:MOST_UNKNOWN]]
    offered = dict.fromkeys(node for _, others in lines for node in others if node not in names)
    return CheckRequest(nodes, tuple(sentence for sentence, _ in lines), len(missing), tuple(offered))


def parse_subcommand(verb: str, words: list[str]) -> Subcommand | str:
    """Return the subcommand of a verb and the words after it, or a sentence on how to type it.

    Example:
    >>> parse_subcommand("brake", ["on", "rollout", "today"])
    Subcommand(verb='brake', incident='', reason='rollout today', on=True, pull=0)
    """
    if verb == "status":
        return Subcommand(verb)
    if verb in ("cancel", "undo"):
        return Subcommand(verb, words[0], " ".join(words[1:])[:LONGEST_REASON]) if words else USAGE[verb]
    if not words or words[0].lower() not in ("on", "off"):
        return USAGE[verb]
    on, said = words[0].lower() == "on", words[1:]
    number = _PULL.match(said[0]) if said and not on else None
    reason = " ".join(said[1:] if number else said)[:LONGEST_REASON]
    return Subcommand(verb, reason=reason, on=on, pull=int(number[1]) if number else 0)


def unknown_node(name: str, known: KnownNodes) -> CheckRequest:
    """Return the request about a node that is not known, which is answered with what may have been meant."""
    return CheckRequest((), (_not_known(name, known)[0],), 1)


def _not_known(name: str, known: KnownNodes) -> tuple[str, tuple[str, ...]]:
    """Return a sentence about an unknown name, and the nodes that may have been meant."""
    try:
        known.find(name)
    except UnknownNode as error:  # the inventory's own sentence names its file, which a chat need not see
        return f"“{one_line(name, 80)}” is not in the inventory. {error.try_next}", error.near
    except InventoryError as error:
        return str(error), ()
    return f"“{one_line(name, 80)}” was added to the inventory just now: ask again.", ()


def unknown_words(asked: CheckRequest) -> str:
    """Return the sentences about names missing from the inventory; they quote the names, so no markup is allowed."""
    more = asked.missing - len(asked.unknown)
    sentences = [*asked.unknown, *([f"{more} more names are not in the inventory either."] if more else [])]
    return redacted_text("\n".join(sentences))


def wrong_channel_words(channels: Collection[str]) -> Pieces:
    """Return the answer in a channel where checks may not be asked for."""
    places = series(" Ask in ", map(Channel, sorted(channels)))
    return ("Checks may not be asked for in this channel.", *places, ", or me in a direct message.")


def is_selector(word: str) -> bool:
    """True for a word that is a selector, not a node's name."""
    try:
        return Selector.of(word).kind is not SelectorKind.NAME
    except UsageError:
        return False


def _quoted_word(word: str) -> str:
    """A person's word between backticks: short, and on one line."""
    return redacted_line(word, 60).replace("`", "'")
