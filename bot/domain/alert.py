"""An alert is what a source told us: that somebody asked, or that something watches and was alarmed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

BOT = "bot"
TERMINAL = "terminal"
_WHO = re.compile(r"[a-z][a-z0-9-]{0,31}:[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,128}\Z")

# What told us: the name of a source, or of the surface where somebody asked. The ledger keeps it as it is.
SourceKind: TypeAlias = str


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert.

    Shape: `id` is what the source calls it. `asked_by` is the person who asked, as the record writes people
    (`slack:TEAM/USER`, `terminal:NAME`); empty where no person did, as with an alarm. `text` is the alert's own words.
    """

    kind: SourceKind
    id: str
    asked_by: str = ""
    text: str = ""


def is_who(text: str) -> bool:
    """True when `text` can stand for whoever made an entry: `bot`, or a kind of people, a colon and a name.

    Example:
    >>> is_who("bot"), is_who("slack:T024/U123"), is_who("terminal:ann"), is_who("ann")
    (True, True, True, False)
    """
    return text == BOT or _WHO.match(text) is not None


def person_of(who: str) -> str:
    """Return a person without the place where they were met.

    Example:
    >>> person_of("slack:T024/U123"), person_of("terminal:ann")
    ('slack:U123', 'terminal:ann')
    """
    kind, colon, name = who.partition(":")
    return f"{kind}{colon}{name.rpartition('/')[2]}"
