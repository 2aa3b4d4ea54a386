"""A click on a card, a private answer or the App Home, as a value.

Its payload is not trusted: https://docs.slack.dev/reference/interaction-payloads
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.surfaces.slack.people import Person, mapping

UNKNOWN_BUTTON = "This button does nothing: the bot does not know it."


@dataclass(frozen=True, slots=True)
class Click:
    """A clicked button, or a chosen menu entry.

    Shape: `key` is Slack's id of the click: two deliveries with the same key are one click. `value` is the button's
    value, or the chosen entry. `channel` and `ts` are the message's, both empty in the App Home, which sends its
    signed `metadata` instead.
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
    metadata: str = ""

    @property
    def thread(self) -> str:
        """The thread in which the person is answered; empty for a message in the channel itself."""
        return self.thread_ts if self.thread_ts != self.ts else ""


def click_of(body: Mapping[str, Any]) -> Click:
    """Return the click that a payload describes; a missing field is empty."""
    actions = body.get("actions")
    action = mapping(actions[0] if isinstance(actions, list) and actions else None)
    container, channel = mapping(body.get("container")), mapping(body.get("channel"))
    message = mapping(body.get("message"))
    chosen = mapping(action.get("selected_option"))
    return Click(
        key=f"click-{action.get('action_ts', '')}-{body.get('trigger_id', '')}",
        person=Person.of(body),
        action=str(action.get("action_id", "")),
        value=str(chosen.get("value") if chosen else action.get("value", "")),
        block=str(action.get("block_id", "")),
        trigger=str(body.get("trigger_id", "")),
        channel=str(channel.get("id") or container.get("channel_id") or ""),
        ts=str(container.get("message_ts") or message.get("ts") or ""),
        thread_ts=str(container.get("thread_ts") or message.get("thread_ts") or ""),
        in_home=container.get("type") == "view",
        metadata=str(mapping(body.get("view")).get("private_metadata") or ""),
    )
