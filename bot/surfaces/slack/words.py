"""What people type to the bot, and the sentences it answers with. Pure functions."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from bot.domain.errors import InventoryError, UnknownNode
from bot.domain.node import Node
from bot.domain.redaction import redacted_text
from bot.domain.safe_text import one_line
from bot.surfaces.slack.message import escaped
from bot.surfaces.slack.subcommands import SUBCOMMANDS, Subcommand, subcommand_of

MOST_NODES = 100
MOST_UNKNOWN = 8  # sentences about names that are no nodes; the rest is counted
LONGEST_REQUEST = 8000
VERBS = ("check", *SUBCOMMANDS, "help")

HELP = """*What I can do*
`/zombie check NODE…` — log in to each node, read what matters, and post one verdict
`/zombie status` — what is open, what is being done, and whether the brake is on
`/zombie cancel ID [reason]` — call an incident off, as long as nothing was done
`/zombie undo ID [reason]` — propose to take back what an incident did; somebody else approves it
`/zombie policy @user VERB NODE` — why somebody may do something there, or may not: approve, decline, undo, …
`/zombie brake on|off [reason]` — keep whatever has not begun from beginning, or let it
`/zombie pagerduty on` — switch PagerDuty's webhook subscription on again, where it was disabled
`/zombie help` — this text
In a thread, where slash commands do not work, mention me: `@zombie check NODE`
I only look. Nothing on a node is changed by a check: what would help is done once somebody else approves it."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """A request to check nodes; `missing` counts the names that are no nodes, `unknown` explains the first few."""

    nodes: tuple[Node, ...]
    unknown: tuple[str, ...] = ()
    missing: int = 0


@dataclass(frozen=True, slots=True)
class HelpRequest:
    """A request for help, with a sentence about what was not understood."""

    sentence: str = ""


class Known(Protocol):
    """The nodes that may be asked for."""

    def knows(self, name: str) -> bool:
        """True when there is a node of that name."""
        ...

    def find(self, name: str) -> Node:
        """Return the node of that name. Raises: InventoryError, with near names, when there is none."""
        ...


def parse(text: str, known: Known) -> CheckRequest | HelpRequest | Subcommand:
    """Understand what follows `/zombie` or the mention."""
    if len(text) > LONGEST_REQUEST:
        return HelpRequest(f"That was {len(text)} characters long; {LONGEST_REQUEST} is the most I read.")
    words = text.split()
    if not words:
        return HelpRequest()
    verb, names = words[0].lower(), list(dict.fromkeys(words[1:]))
    if verb not in VERBS:
        near = difflib.get_close_matches(verb, VERBS, n=1, cutoff=0.5)
        meant = f" Did you mean `{near[0]}`?" if near else ""
        return HelpRequest(f"I do not know the command “{_quoted(words[0])}”.{meant}")
    if verb == "help":
        return HelpRequest()
    if verb in SUBCOMMANDS:
        asked = subcommand_of(verb, words[1:])
        return HelpRequest(asked) if isinstance(asked, str) else asked
    if not names:
        return HelpRequest("Which node? Say `/zombie check NODE`.")
    if len(names) > MOST_NODES:
        return HelpRequest(f"{len(names)} nodes at once are too many; {MOST_NODES} is the most.")
    missing = [name for name in names if not known.knows(name)]
    nodes = tuple(known.find(name) for name in names if known.knows(name))
    return CheckRequest(nodes, tuple(_not_known(name, known) for name in missing[:MOST_UNKNOWN]), len(missing))


def _not_known(name: str, known: Known) -> str:
    try:
        known.find(name)
    except UnknownNode as error:  # the inventory's own sentence says where its file is, which is nobody's business here
        return f"“{one_line(name, 80)}” is not in the inventory. {error.try_next}"
    except InventoryError as error:
        return str(error)
    return f"“{one_line(name, 80)}” has just come into the inventory: ask again."


def help_words(asked: HelpRequest) -> str:
    """Return the help, after what was not understood."""
    return f"{asked.sentence}\n{HELP}".strip()


def unknown_words(asked: CheckRequest) -> str:
    """Return what is said about names that are no nodes of ours."""
    more = asked.missing - len(asked.unknown)
    told = [*asked.unknown, *([f"Nor are {more} more of the names."] if more else [])]
    return escaped(redacted_text("\n".join(told)))


def not_here(channels: Collection[str]) -> str:
    """Return what is said in a channel where checks may not be asked for."""
    places = ", ".join(f"<#{channel}>" for channel in sorted(channels))
    return f"Checks may not be asked for in this channel. Ask in {places}, or me in a direct message."


def _quoted(word: str) -> str:
    """A person's word shown back: short, on one line, and with nothing in it that Slack would obey."""
    return escaped(one_line(redacted_text(word), 60)).replace("`", "'")
