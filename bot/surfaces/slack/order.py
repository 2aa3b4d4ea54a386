"""What people type about incidents, the policy and the brake, as a value. Pure functions."""

from __future__ import annotations

import re
from dataclasses import dataclass

VERBS = ("status", "cancel", "undo", "policy", "brake", "pagerduty")
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
class Order:
    """A wish that is not about reading nodes.

    Shape: `incident` of cancel and undo; `person` of policy is a Slack id, or a name where Slack brought none, `action`
    and `node` what they would do where; `on` of the brake and of PagerDuty.
    """

    verb: str
    incident: str = ""
    reason: str = ""
    person: str = ""
    action: str = ""
    node: str = ""
    on: bool = False


def order_of(verb: str, words: list[str]) -> Order | str:
    """Return what is ordered by a verb and the words after it, or a sentence where that cannot be told.

    Example:
    >>> order_of("brake", ["on", "rollout", "today"])
    Order(verb='brake', incident='', reason='rollout today', person='', action='', node='', on=True)
    >>> order_of("policy", ["<@U0BOB00001|bob>", "reboot", "node-1"]).person
    'U0BOB00001'
    """
    if verb == "status":
        return Order(verb)
    if verb in ("cancel", "undo"):
        return Order(verb, words[0], " ".join(words[1:])[:LONGEST_REASON]) if words else USAGE[verb]
    if verb == "brake":
        if not words or words[0].lower() not in ("on", "off"):
            return USAGE[verb]
        return Order(verb, reason=" ".join(words[1:])[:LONGEST_REASON], on=words[0].lower() == "on")
    if verb == "pagerduty":
        return Order(verb, on=True) if [word.lower() for word in words] == ["on"] else USAGE[verb]
    if len(words) != 3 and not (len(words) == 2 and words[1] in ("brake", "release")):
        return USAGE["policy"]
    return Order(verb, person=_person(words[0]), action=words[1].lower(), node="".join(words[2:]))


def is_user_id(person: str) -> bool:
    """True for what Slack calls somebody, as against what people call them."""
    return _USER_ID.match(person) is not None


def _person(word: str) -> str:
    found = _PERSON.match(word)
    return found[1] if found else word.removeprefix("@")
