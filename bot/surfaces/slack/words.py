"""What people type to the bot, and the sentences it answers with. Pure functions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass

from bot.domain.errors import InventoryError
from bot.domain.node import Node
from bot.domain.safe_text import one_line

MOST_NODES = 100
LONGEST_REQUEST = 8000
VERBS = ("check", "help")
_LINK = re.compile(r"<(?:https?://[^|>]*\|)([^>]*)>")  # Slack turns names like node.example.com into links

HELP = """*What I can do*
`/zombie check NODE…` — log in to each node, read what matters, and post one verdict
`/zombie help` — this text
In a thread, where slash commands do not work, mention me: `@zombie check NODE`
I only look. Nothing on a node is changed by a check."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """A wish to check nodes; `unknown` are sentences about names that are no nodes of ours."""

    nodes: tuple[Node, ...]
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HelpRequest:
    """A wish for help, with a sentence about what was not understood."""

    sentence: str = ""


def parse(text: str, find: Callable[[str], Node]) -> CheckRequest | HelpRequest:
    """Understand what follows `/zombie` or the mention; `find` raises InventoryError for an unknown name."""
    if len(text) > LONGEST_REQUEST:
        return HelpRequest(f"That was {len(text)} characters long; {LONGEST_REQUEST} is the most I read.")
    words = _LINK.sub(r"\1", text).split()
    if not words:
        return HelpRequest()
    verb, names = words[0].lower(), list(dict.fromkeys(words[1:]))
    if verb not in VERBS:
        near = difflib.get_close_matches(verb, VERBS, n=1, cutoff=0.5)
        meant = f" Did you mean `{near[0]}`?" if near else ""
        return HelpRequest(f"I do not know the command “{_quoted(words[0])}”.{meant}")
    if verb == "help":
        return HelpRequest()
    if not names:
        return HelpRequest("Which node? Say `/zombie check NODE`.")
    if len(names) > MOST_NODES:
        return HelpRequest(f"{len(names)} nodes at once are too many; {MOST_NODES} is the most.")
    nodes: list[Node] = []
    unknown: list[str] = []
    for name in names:
        try:
            nodes.append(find(name))
        except InventoryError as error:
            unknown.append(str(error))
    return CheckRequest(tuple(nodes), tuple(unknown))


def _quoted(word: str) -> str:
    """A person's word shown back: short, on one line, and with nothing in it that Slack would obey."""
    return one_line(word, 60).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("`", "'")
