"""What a person typed to the bot, and the subcommands that are not about reading nodes, as values. Pure functions."""

from __future__ import annotations

import re
from dataclasses import dataclass

SUBCOMMANDS = ("status", "cancel", "undo", "policy", "brake", "pagerduty")
LONGEST_REASON = 500
_PERSON = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>\Z")
_USER_ID = re.compile(r"[UW][A-Z0-9]{6,}\Z")
USAGE = {
    "cancel": "Say which: `/zombie cancel ID`, with a reason if you like. `/zombie status` lists what is open.",
    "undo": "Say which: `/zombie undo ID`, with a reason if you like. The ID stands on the card.",
    "policy": "Say `/zombie policy @user VERB NODE`, such as `/zombie policy @bob approve node-123`.",
    "brake": "Say `/zombie brake on` or `/zombie brake off`, with a reason.",
    "pagerduty": "Say `/zombie pagerduty on` to have a disabled webhook subscription switched on again.",
}


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """What a person typed, who they are and where they typed it.

    Shape: `key` is Slack's own id of the command or message: two deliveries with one key are one request. `answer_at`
    is the address that answers a slash command in private. `team` is the enterprise's id where there is one;
    `workspace` and `enterprise` say which workspace the request came from.
    """

    key: str
    team: str
    user: str
    channel: str
    text: str
    thread_ts: str = ""
    answer_at: str = ""
    workspace: str = ""
    enterprise: str = ""

    @property
    def by(self) -> str:
        """The person as the ledger names them."""
        return f"slack:{self.team}/{self.user}"


@dataclass(frozen=True, slots=True)
class Subcommand:
    """A request that is not about reading nodes.

    Shape: `incident` is for cancel and undo. `person` (a Slack id, or a name where Slack sent no id), `action` and
    `node` are for policy. `on` is for the brake and for PagerDuty.
    """

    verb: str
    incident: str = ""
    reason: str = ""
    person: str = ""
    action: str = ""
    node: str = ""
    on: bool = False


def subcommand_of(verb: str, words: list[str]) -> Subcommand | str:
    """Return the subcommand that a verb and the words after it mean, or a sentence that says how to type it.

    Example:
    >>> subcommand_of("brake", ["on", "rollout", "today"])
    Subcommand(verb='brake', incident='', reason='rollout today', person='', action='', node='', on=True)
    >>> subcommand_of("policy", ["<@U0BOB00001|bob>", "reboot", "node-1"]).person
    'U0BOB00001'
    """
    if verb == "status":
        return Subcommand(verb)
    if verb in ("cancel", "undo"):
        return Subcommand(verb, words[0], " ".join(words[1:])[:LONGEST_REASON]) if words else USAGE[verb]
    if verb == "brake":
        if not words or words[0].lower() not in ("on", "off"):
            return USAGE[verb]
        return Subcommand(verb, reason=" ".join(words[1:])[:LONGEST_REASON], on=words[0].lower() == "on")
    if verb == "pagerduty":
        return Subcommand(verb, on=True) if [word.lower() for word in words] == ["on"] else USAGE[verb]
    if len(words) != 3 and not (len(words) == 2 and words[1] in ("brake", "release")):
        return USAGE["policy"]
    return Subcommand(verb, person=_person(words[0]), action=words[1].lower(), node="".join(words[2:]))


def is_user_id(person: str) -> bool:
    """True for Slack's id of a person, False for the name that people use."""
    return _USER_ID.match(person) is not None


def _person(word: str) -> str:
    found = _PERSON.match(word)
    return found[1] if found else word.removeprefix("@")
