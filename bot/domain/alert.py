"""An alert is what a source told us: that somebody asked, or that something watches and was alarmed."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

BOT = "bot"
_WHO = re.compile(r"(slack|terminal|pagerduty|alertmanager|grafana):[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,128}\Z")


class SourceKind(enum.StrEnum):
    """Where alerts come from."""

    SLACK = "slack"
    TERMINAL = "terminal"
    PAGERDUTY = "pagerduty"
    ALERTMANAGER = "alertmanager"
    GRAFANA = "grafana"


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
    """True when `text` can stand for whoever made an entry: `bot`, or a source's kind, a colon and its name for them.

    Example:
    >>> is_who("bot"), is_who("slack:T024/U123"), is_who("terminal:ann"), is_who("ann")
    (True, True, True, False)
    """
    return text == BOT or _WHO.match(text) is not None
