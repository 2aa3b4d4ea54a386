"""What a chat delivers, as values: a click, a submitted dialog. Their payloads are not trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bot.chat.people import Person
from bot.domain.json_form import NotOfForm, read
from bot.domain.safe_text import redacted_text

UNKNOWN_BUTTON = "This button does nothing: the bot does not know it."


@dataclass(frozen=True, slots=True)
class Click:
    """A clicked button, or a chosen menu entry.

    Shape: `key` is the chat's id of the click: two deliveries with the same key are one click. `value` is the button's
    value, or the chosen entry; `block` is its row's name. `trigger` opens a dialog. `channel` and `ts` are the
    message's, both empty in a person's home.
    """

    key: str
    person: Person
    action: str
    value: str
    block: str
    trigger: str
    channel: str = ""
    ts: str = ""
    thread_ts: str = ""
    in_home: bool = False

    @property
    def thread(self) -> str:
        """The thread in which the person is answered; empty for a message in the channel itself."""
        return self.thread_ts if self.thread_ts != self.ts else ""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submitted dialog: its signed metadata, and the reason that was typed."""

    key: str
    person: Person
    metadata: str
    reason: str

    @property
    def text(self) -> str:
        """The submission in its stored form, redacted."""
        return json.dumps({**asdict(self), "reason": redacted_text(self.reason)}, separators=(",", ":"))


def parse_submission(text: str) -> Submission | None:
    """Return the submission stored as this text; None where it cannot be read."""
    try:
        return read(Submission, json.loads(text))
    except (ValueError, RecursionError, NotOfForm):
        return None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a payload's value if it is a mapping, else an empty mapping."""
    return value if isinstance(value, Mapping) else {}
